package doctor

import (
	"context"
	"fmt"

	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/ops/health"
)

// Self is what a server tells the doctor of itself.
type Self struct {
	Server string
	Health health.Report
	Names  mns.Registry
	Data   string // its data folder; "" without one
	Held   int64  // bytes of payloads in its working memory
}

// Own looks at a server from within: what [Server], [Servers], [Folder] and [Host] look at
// from elsewhere.
func Own(ctx context.Context, s Self, o Options) (found Findings) {
	found.health(s.Server, s.Health)
	found = append(found, servers(ctx, vantage{where: fmt.Sprintf("server %q", s.Server), names: s.Names, server: s.Server, release: "this server", version: o.Version}, o)...)
	if s.Data != "" {
		found.inUse(s.Data)
	}
	host := ThisHost(ctx)
	return append(append(found, host.Look(s.Data != "")...), host.Usage(s.Held)...)
}
