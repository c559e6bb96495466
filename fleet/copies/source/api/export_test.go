package api

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/stream"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// SetPullPatience sets how long a pull may be silent, until the function that it
// returns is called.
func SetPullPatience(d time.Duration) (reset func()) {
	before := pullPatience
	pullPatience = d
	return func() { pullPatience = before }
}

// PullAs pulls n versions as a program that knows formats of the stream up to one; 0
// is one that says nothing of it. It returns which format was used.
func PullAs(ctx context.Context, c feature.Conn, format uint32, r contract.Request, n int) (used uint32, items int, err error) {
	begin := pullMessage(&r)
	begin.Format = format
	p := &pullReader{silence: time.NewTimer(pullPatience)}
	if p.pull, err = c.Open(ctx, "/"+name+"/Pull", &engramv1.PullRequest{Begin: begin, Credit: pullWindow}); err != nil {
		return 0, 0, err
	}
	defer p.pull.Close()
	if used, err = p.receive(); err != nil {
		return 0, 0, err
	}
	dec, err := stream.NewDecoder(p, len(r.Shares), 1<<20, used)
	if err != nil {
		return used, 0, err
	}
	defer dec.Close()
	for items < n {
		b, err := dec.Decode()
		if err != nil {
			return used, items, err
		}
		items += len(b.Items)
	}
	return used, items, nil
}
