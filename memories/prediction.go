package memories

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ops/pressure"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

// Prediction is what is predicted all the time, how good that is, and the models that were trained.
// An entity of Follow says that another one is followed; those of Score and Surprise tell of the
// predictions of that one; snapshots of Model are the versions of a model; those of Reset say when an
// entity was reset.
func Prediction() server.Memory {
	const name = service.Memory
	p := &predictions{}
	hours := engram.Bounds{MaxCount: 1_000, MaxAge: 12 * time.Hour}
	return server.Memory{
		Name:  name,
		Doc:   "what is predicted all the time, how well, what came as a surprise, and trained models",
		Types: typesIn("prediction"),
		Segments: []engram.CoreSegment{
			logged(segment(name, service.FollowSegment, "engram.prediction.Follow", forever(16))),
			segment(name, service.ScoreSegment, "engram.prediction.Score", hours),
			logged(segment(name, service.SurpriseSegment, "engram.prediction.Surprise", hours)),
			logged(segment(name, service.ModelSegment, "engram.prediction.Model", forever(8))),
			logged(segment(name, service.ResetSegment, "engram.prediction.Reset", forever(64))),
		},
		Bounds: engram.Bounds{MaxBytes: 48 * mib, MaxCount: 200_000},
		Hooks:  server.Hooks{Start: p.start, Run: p.run, Commit: p.committed, Stored: p.stored},
	}
}

// predictions hand on to the server's own.
type predictions struct {
	of atomic.Pointer[service.Service]
}

func (p *predictions) start(ctx context.Context, svc engram.Service) error {
	s, ok := svc.(interface{ Predictions() *service.Service })
	if !ok {
		return nil
	}
	p.of.Store(s.Predictions())
	return s.Predictions().Load(ctx)
}

func (p *predictions) run(ctx context.Context, svc engram.Service) error {
	if of := p.of.Load(); of != nil {
		cpu := pressure.NewCPU(os.DirFS("/proc"), os.DirFS("/sys/fs/cgroup"))
		return of.Run(ctx, svc, cpu.Wait)
	}
	return nil
}

func (p *predictions) committed(ctx context.Context, u *engram.EntityUpdate) error {
	if of := p.of.Load(); of != nil {
		return of.Check(ctx, u)
	}
	return nil
}

func (p *predictions) stored(ctx context.Context, u engram.Update) {
	if of := p.of.Load(); of != nil {
		of.Stored(ctx, u)
	}
}
