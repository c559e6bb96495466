package memories

import (
	"context"
	"os"
	"time"

	"github.com/seed-301d4374/engram"
)

// MonitorProvider is the provider segment that [MonitorSystem] commits to.
const MonitorProvider = "Monitor"

// MonitorSystem returns a Run hook for [SystemState]: once in each period it commits
// the load of the computer and of the process, their main memory, and what each
// memory of the server holds. What the operating system does not tell (it is read
// from Linux's /proc) is left out.
func MonitorSystem(every time.Duration) func(ctx context.Context, svc engram.Service) error {
	return func(ctx context.Context, svc engram.Service) error {
		host, err := os.Hostname()
		if err != nil || engram.CheckName(host) != nil {
			host = "localhost"
		}
		m, err := newMonitor(svc, os.DirFS("/proc"), host)
		if err != nil {
			return err
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			if err := m.commit(ctx, time.Now()); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	}
}
