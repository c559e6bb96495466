// Package homes is how package client finds names on the backbone without linking what
// the backbone is made of. Package client/backbone brings it in.
package homes

import (
	"context"
	"net"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Backbone is a client's connection to a backbone.
type Backbone struct {
	Address string       // without passwords
	Names   mns.Registry // of this robot and of those that announce theirs
	Robot   string       // this robot's name; "" if that is not known
	// Dial connects to the server of a name.
	Dial func(ctx context.Context, server string) (net.Conn, error)
	// Listen accepts connections to a server of that name.
	Listen func(server string) (net.Listener, error)
	// Close ends the connection.
	Close func() error
}

// join is set before main begins, if it is at all.
var join func(ctx context.Context, address string, s *credentials.Store) (*Backbone, error)

// Use sets how a backbone is joined. It is called while the program is initialised.
func Use(f func(ctx context.Context, address string, s *credentials.Store) (*Backbone, error)) {
	join = f
}

// Join connects to the backbone at an address. The error is Unsupported if this program
// does not link what that takes.
func Join(ctx context.Context, address string, s *credentials.Store) (*Backbone, error) {
	if join == nil {
		return nil, engram.Errorf(engram.Unsupported, "backbone", `this program does not link the backbone; add import _ "github.com/seed-301d4374/engram/client/backbone", or give it the address of a memory server`)
	}
	return join(ctx, address, s)
}
