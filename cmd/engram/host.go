package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// host is a memory server of this process with its name system, on the network.
type host struct {
	*server.Server
	names     *mns.Local
	kept      *mns.Kept
	endpoint  *transport.Endpoint
	addresses []string // given by the user, as clients of this computer write them
	options   rpc.Options
}

// startHost starts a server and listens on the addresses. It serves once
// [host.serve] is called.
func startHost(ctx context.Context, c server.Config, o rpc.Options, addresses []string) (h *host, err error) {
	h = &host{options: o}
	defer func() {
		if err != nil {
			h.close()
			if c.Store != nil {
				c.Store.Close() // where no server owned it yet
			}
		}
	}()
	if h.endpoint, err = transport.Listen(addresses...); err != nil {
		return h, listenError(err)
	}
	for _, l := range h.endpoint.Listeners() {
		h.addresses = append(h.addresses, rpc.AddressOf(l))
	}
	if h.Server, err = server.New(c); err != nil {
		return h, err
	}
	// The same after a restart, so that clients know the server again.
	name, _ := os.Hostname()
	h.options.Server = cmp.Or(name, "localhost") + " " + h.addresses[0]
	h.names = mns.NewLocal()
	h.kept, err = mns.Keep(ctx, h.names, mns.Registration{
		Server: h.options.Server, Memories: h.Memories(), Addresses: h.endpoint.Addresses(), TTL: 10 * time.Second,
	})
	return h, err
}

// serve answers calls until ctx ends, then closes everything.
func (h *host) serve(ctx context.Context) error {
	err := h.endpoint.Serve(ctx, h.Server, h.names, h.options)
	return errors.Join(err, h.close())
}

func (h *host) close() error {
	var err error
	if h.endpoint != nil {
		err = h.endpoint.Close()
	}
	if h.kept != nil {
		err = errors.Join(err, h.kept.Close())
	}
	if h.names != nil {
		err = errors.Join(err, h.names.Close())
	}
	if h.Server != nil {
		err = errors.Join(err, h.Server.Close())
	}
	return err
}
