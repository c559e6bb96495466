package client

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client/internal/homes"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// home is where a client knows the names from: a memory server that offers the name
// system, or the backbone.
type home struct {
	address string
	names   mns.Registry
	robot   string // this robot's name, if it is known from the beginning
	server  *rpc.Client
	dial    rpc.DialOptions // of the server
	claims  *claims         // that the names make about the server
	revoked *revoked

	backbone *homes.Backbone // nil if the home is a server
}

// dialHome reaches the home at o's address, and sets how servers on the backbone are
// reached if that is the home.
func dialHome(ctx context.Context, o *Options) (h *home, err error) {
	if err := o.loadCredentials(); err != nil {
		return nil, err
	}
	gone, err := attendServers(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			gone.close()
		} else {
			h.revoked = gone
		}
	}()
	address := o.Address
	if address == "" {
		address = os.Getenv(AddressVariable)
	}
	if strings.HasPrefix(address, "nats://") || strings.HasPrefix(address, "tls://") {
		b, err := homes.Join(ctx, address, o.Dial.Credentials)
		if err != nil {
			return nil, err
		}
		o.Dial.Backbone = b.Dial
		return &home{address: b.Address, names: b.Names, robot: b.Robot, claims: new(claims), backbone: b}, nil
	}
	dial, said := o.Dial, new(claims)
	dial.Server, dial.Serves = "", said.get
	serverHome := func(c *rpc.Client, err error) (*home, error) {
		if err != nil {
			return nil, err
		}
		return &home{address: c.Address(), names: c.Names(), server: c, dial: dial, claims: said}, nil
	}
	if address != "" {
		return serverHome(rpc.Dial(ctx, address, dial))
	}
	looked := rpc.DefaultAddresses()
	var first error
	for _, address := range looked {
		home, err := serverHome(rpc.Dial(ctx, address, dial))
		if err == nil {
			return home, nil
		}
		if engram.CodeOf(err) != engram.Unavailable {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, engram.Errorf(engram.Unavailable, "", "no memory server answers at %s; start one with \"engram serve\", or say where it is with %s: %w",
		strings.Join(looked, " or "), AddressVariable, first)
}

func (h *home) close() error {
	var errs []error
	h.revoked.close()
	if h.server != nil {
		errs = append(errs, h.server.Close())
	}
	if h.backbone != nil {
		errs = append(errs, h.backbone.Close())
	}
	return errors.Join(errs...)
}

// ownRobot returns the name of the robot that the names are of, "" if that is not known.
func (h *home) ownRobot(ctx context.Context) string {
	if h.robot != "" {
		return h.robot
	}
	entries, err := h.names.List(ctx)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.Robot != "" && !e.Foreign() && e.Server != "" {
			return e.Robot
		}
	}
	return ""
}

// homeServer returns the identity of the server that is the client's home, or "".
func (c *router) homeServer() string {
	if c.home.server == nil {
		return ""
	}
	return c.home.server.Server().Server
}
