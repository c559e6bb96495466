package node

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/seed-301d4374/engram/internal/release"
	"github.com/seed-301d4374/engram/ops/doctor"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// holdFindings is how long the doctor's findings are told before it looks again: that
// writes to the disk and asks other servers.
const holdFindings = 10 * time.Second

// examination is what the doctor finds, who looks at one time only once.
type examination struct {
	look  func(context.Context) doctor.Findings // nil while the node starts
	busy  chan struct{}                         // holds one while look is being called, or at and found are used
	at    time.Time
	found doctor.Findings
}

// begin lets it look, from now on.
func (e *examination) begin(look func(context.Context) doctor.Findings) {
	e.busy <- struct{}{}
	e.look = look
	<-e.busy
}

// serve tells what is found, as JSON.
func (e *examination) serve(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	select {
	case e.busy <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-e.busy }()
	if e.look == nil {
		http.Error(w, "the server is starting", http.StatusServiceUnavailable)
		return
	}
	if time.Since(e.at) > holdFindings {
		found := e.look(ctx)
		if ctx.Err() != nil {
			return // what was given up says nothing
		}
		e.at, e.found = time.Now(), found
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// The writer fails only if the client has gone.
	_ = json.NewEncoder(w).Encode(struct {
		At       time.Time       `json:"at"` // when it was looked
		Findings doctor.Findings `json:"findings"`
	}{e.at.UTC(), e.found})
}

// examine has the doctor look at the node, and at the servers that it knows.
func (n *Node) examine(ctx context.Context) doctor.Findings {
	s := doctor.Self{Server: n.options.Server, Health: n.ops.health.Ready(ctx), Names: n.names}
	if n.store != nil {
		s.Data = n.store.Dir()
	}
	for _, c := range n.srv.Figures().Segments {
		s.Held += c.Bytes
	}
	return doctor.Own(ctx, s, doctor.Options{
		Dial:    rpc.DialOptions{Backbone: n.options.Backbone, Credentials: n.security.Credentials},
		Version: release.Current().Version, Now: n.options.Now, Timeout: time.Second,
	})
}
