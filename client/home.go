package client

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access/credentials"
	"github.com/seed-301d4374/engram/backbone"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/mns/fleet"
	"github.com/seed-301d4374/engram/mns/kv"
	"github.com/seed-301d4374/engram/transport/rpc"
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

	// Of a home on the backbone:
	backbone *backbone.Backbone
	fleet    *fleet.Fleet
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
		h, err := backboneHome(ctx, address, o.Dial.Credentials)
		if err == nil {
			o.Dial.Backbone = h.backbone.Dial
		}
		return h, err
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

// listenFor is how long a client that has just come to the backbone waits for other
// robots to tell their names.
const listenFor = 300 * time.Millisecond

func backboneHome(ctx context.Context, address string, s *credentials.Store) (h *home, err error) {
	h = &home{address: backbone.Redacted(address), claims: new(claims)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
			h = nil
		}
	}()
	if h.backbone, err = backbone.Connect(ctx, backbone.Options{URL: address, Credentials: s}); err != nil {
		return h, err
	}
	if h.robot, err = h.backbone.Domain(ctx); err != nil {
		return h, err
	}
	if backbone.CheckRobot(h.robot) != nil {
		h.robot = ""
	}
	var own *kv.Registry
	err = h.backbone.Names(ctx, func(ctx context.Context) (err error) {
		own, err = kv.Open(ctx, h.backbone.JetStream(), 0)
		return err
	})
	if err != nil {
		return h, err
	}
	if h.fleet, err = fleet.Join(h.backbone.Conn(), own, fleet.Options{Robot: h.robot}); err != nil {
		return h, err
	}
	h.names = h.fleet
	h.fleet.Gather(ctx, listenFor)
	return h, nil
}

func (h *home) close() error {
	var errs []error
	h.revoked.close()
	if h.server != nil {
		errs = append(errs, h.server.Close())
	}
	if h.fleet != nil {
		errs = append(errs, h.fleet.Close())
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
func (c *Client) homeServer() string {
	if c.home.server == nil {
		return ""
	}
	return c.home.server.Server().Server
}
