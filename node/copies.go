package node

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/copies"
	administration "github.com/seed-301d4374/engram/fleet/copies/api"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
)

// holdCopies begins to hold copies in the node's server.
func (n *Node) holdCopies(c *Config) (err error) {
	o := copies.Options{
		Memory: n.srv, Server: n.options.Server, Owned: n.srv.Memories(), Configured: c.Copies, Held: n.holds,
		Owners: &copyOwners{names: n.names, dial: rpc.DialOptions{
			Backbone: n.options.Backbone, MaxMessage: c.Edge.MaxMessage, Credentials: n.security.Credentials,
		}},
	}
	if n.backbone != nil {
		o.Robot = n.robot
	}
	if c.Data != nil {
		o.Dir = filepath.Join(c.Data.Dir, "copies")
	}
	if n.copies, err = copies.Open(o); n.copies != nil {
		n.options.Features = append(n.options.Features, administration.Feature(n.copies))
	}
	return err
}

// copyOwners finds the owners of what is copied with the name system.
type copyOwners struct {
	names mns.Registry
	dial  rpc.DialOptions

	mu    sync.Mutex
	known map[string]foundOwner // by memory: what was found last
}

// foundOwner is where a memory was found.
type foundOwner struct {
	mns.Entry
	gone bool // it was not, when it was looked for last
}

// Find implements copies.Owners.
func (o *copyOwners) Find(ctx context.Context, memory string) (string, error) {
	e, err := o.names.Resolve(ctx, memory)
	if err == nil && e.Server == "" {
		err = engram.Errorf(engram.NotFound, memory, "its owner is not there, only copies are")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		_, left := mns.HasLeft(err)
		if found, ok := o.known[memory]; ok && (left || engram.CodeOf(err) == engram.NotFound) {
			found.gone = true
			o.known[memory] = found
		}
		return "", err
	}
	if o.known == nil {
		o.known = map[string]foundOwner{}
	}
	o.known[memory] = foundOwner{Entry: e}
	return e.Server, nil
}

// Memories implements copies.Owners.
func (o *copyOwners) Memories(ctx context.Context) ([]string, error) {
	list, err := o.names.List(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if e.Server != "" {
			names = append(names, e.Memory)
		}
	}
	return names, nil
}

// entry returns where a server is that was found to own a memory. After a cut the way is
// back before the names are; the server says itself whether it is the one.
func (o *copyOwners) entry(ctx context.Context, memory, server string) (mns.Entry, error) {
	look, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	now, err := o.Find(look, memory)
	o.mu.Lock()
	e := o.known[memory].Entry
	o.mu.Unlock()
	switch {
	case err != nil && e.Server == server:
		return e, nil
	case err == nil && now != server:
		err = engram.Errorf(engram.Unavailable, memory, "it is not at server %q any more", server)
	}
	return e, err
}

// claims returns what a server was found to own of what is copied. What it does
// not own any more, while it owns others, is not claimed: it may not be allowed that any
// more. If it owns nothing any more, it is the names that are away, and all holds.
func (o *copyOwners) claims(server string) []credentials.Claim {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found, gone []credentials.Claim
	for _, m := range slices.Sorted(maps.Keys(o.known)) {
		e := o.known[m]
		switch claim := secure.ClaimOf(m, e.Robot, false); {
		case e.Server != server:
		case e.gone:
			gone = append(gone, claim)
		default:
			found = append(found, claim)
		}
	}
	if len(found) == 0 {
		return gone
	}
	return found
}

// Dial implements copies.Owners.
func (o *copyOwners) Dial(ctx context.Context, memory, server string) (copies.Owner, error) {
	e, err := o.entry(ctx, memory, server)
	if err != nil {
		return nil, err
	}
	dial := o.dial
	dial.Server, dial.Serves = server, func() []credentials.Claim { return o.claims(server) }
	c, err := reach(ctx, e.Addresses, dial)
	if err != nil {
		return nil, err
	}
	return copyOwner{c, pull.NewClient(c)}, nil
}

// copyOwner is a server that owns what is copied.
type copyOwner struct {
	*rpc.Client
	contract.Source
}

// Watch implements copies.Owners.
func (o *copyOwners) Watch(ctx context.Context, changed func()) {
	changed()
	for ctx.Err() == nil {
		for _, err := range o.names.Watch(ctx) {
			if err != nil {
				break
			}
			changed()
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// copiesHealth tells whether something is in the way of copies that does not pass by
// itself. Owners that are away are none of the server's troubles. problems are those of
// the copies' files.
func copiesHealth(problems []string, list []contract.Status, err error) (health.Status, string) {
	if len(problems) > 0 {
		return health.Degraded, strings.Join(problems, "; ")
	}
	if err != nil {
		return health.Degraded, err.Error()
	}
	for i := range list {
		s := &list[i]
		if s.State != contract.StateFailed {
			continue
		}
		// What is wrong with one that a rule made is told of that.
		ofMade := func(made contract.Status) bool {
			return made.Rule == s.Pattern.String() && made.State == contract.StateFailed && made.Error == s.Error
		}
		if !s.OfMany() || !slices.ContainsFunc(list, ofMade) {
			return health.Degraded, s.Pattern.String() + ": " + s.Error
		}
	}
	return health.OK, ""
}
