package client

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// AccessVariable is the environment variable that names a file of access rules.
const AccessVariable = "ENGRAM_ACCESS"

// revoked knows which servers are revoked: connections to them are cut, and no more are
// made. It learns it from the file of access rules, if the program has one, and from the
// server that the client is at home with.
type revoked struct {
	file *access.Control // nil without a file
	told *access.Control // by the server at home
	// independent are credentials to which what was told does not apply: by them the server at
	// home is asked whether it takes back what it has told of itself.
	independent *credentials.Store
	leave       []func()
}

// attendServers has the connections that are made with o attended. Without credentials
// there is nothing by which servers are known.
func attendServers(o *Options) (*revoked, error) {
	r := &revoked{told: access.New(access.Options{})}
	if o.Dial.Credentials == nil {
		return r, nil
	}
	// Apart from other parts of the program, which may be at home elsewhere.
	r.independent = o.Dial.Credentials.Apart()
	o.Dial.Credentials = r.independent.Apart()
	if file := cmp.Or(o.Access, os.Getenv(AccessVariable)); file != "" {
		var err error
		if r.file, err = access.Load(file, access.Options{}); err != nil {
			return nil, err
		}
		r.leave = append(r.leave, secure.Options{Credentials: r.independent, Access: r.file}.AttendServers())
	}
	r.leave = append(r.leave, secure.Options{Credentials: o.Dial.Credentials, Access: r.told}.AttendServers())
	return r, nil
}

func (r *revoked) close() {
	if r == nil {
		return
	}
	for _, leave := range r.leave {
		leave()
	}
	if r.file != nil {
		r.file.Close()
	}
}

// followRevocations keeps what the server at home tells of revocations, until ctx ends. first, unless
// it is nil, is closed when it has told, or cannot.
func (h *home) followRevocations(ctx context.Context, first chan<- struct{}) {
	const shortest, longest = 50 * time.Millisecond, 2 * time.Second
	known := func() {
		if first != nil {
			close(first)
			first = nil
		}
	}
	defer known()
	for pause := shortest; ; pause = min(2*pause, longest) {
		heard := func() bool {
			pause = shortest
			known()
			return true
		}
		ended := h.hear(ctx, h.server, heard)
		if errors.Is(ended, credentials.ErrRevoked) { // as it has told itself, or by the file
			ended = h.hearIndependently(ctx)
		}
		known() // nor can it tell now
		if engram.CodeOf(ended) == engram.Unsupported {
			return // a server of an earlier version
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// hear keeps what a server tells of revocations, until that ends or heard, which is called
// each time, returns false.
func (h *home) hear(ctx context.Context, from *rpc.Client, heard func() bool) error {
	for list, err := range from.Revocations(ctx) {
		if err != nil {
			return err
		}
		// What is not to be understood is no reason to forget what was revoked before.
		_ = h.revoked.told.Set(access.Policy{Revoked: list})
		if !heard() {
			break
		}
	}
	return nil
}

// hearIndependently keeps what the server at home tells while it is revoked, until it is not. It
// is asked nothing else.
func (h *home) hearIndependently(ctx context.Context) error {
	o := h.dial
	o.Credentials, o.Serves = h.revoked.independent, nil
	apart, err := rpc.Dial(ctx, h.address, o)
	if err != nil {
		return err
	}
	defer apart.Close()
	return h.hear(ctx, apart, func() bool {
		_, err := h.server.Info(ctx)
		return errors.Is(err, credentials.ErrRevoked)
	})
}

// awaitRevocations begins to follow what the server at home tells of revocations, and waits
// for the first of it.
func (c *router) awaitRevocations(ctx context.Context) error {
	if c.home.server == nil || c.o.Dial.Credentials == nil {
		return nil
	}
	first := make(chan struct{})
	if !c.own(func() { c.home.followRevocations(c.ctx, first) }) {
		return nil
	}
	select {
	case <-first:
		return nil
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, c.home.address, "given up waiting for what is revoked: %w", ctx.Err())
	}
}
