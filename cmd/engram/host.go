package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"time"

	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// host is a memory server of this process with its name system, on the network.
type host struct {
	*server.Server
	names     *mns.Local
	kept      *mns.Kept
	handler   *rpc.Handler
	listeners []net.Listener
	addresses []string // as clients of this computer write them
}

// startHost starts a server and listens on the addresses. It serves once
// [host.serve] is called.
func startHost(ctx context.Context, c server.Config, addresses []string) (h *host, err error) {
	h = &host{}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	for _, a := range addresses {
		l, err := rpc.Listen(a)
		if err != nil {
			return h, err
		}
		h.listeners = append(h.listeners, l)
		h.addresses = append(h.addresses, rpc.AddressOf(l))
	}
	if h.Server, err = server.New(c); err != nil {
		return h, err
	}
	id := rand.Text()[:12]
	h.names = mns.NewLocal()
	h.kept, err = mns.Keep(ctx, h.names, mns.Registration{
		Server: id, Memories: h.Memories(), Addresses: h.addresses, TTL: 10 * time.Second,
	})
	if err != nil {
		return h, err
	}
	h.handler = rpc.NewHandler(h.Server, h.names, rpc.Options{Server: id})
	return h, nil
}

// serve answers calls until ctx ends, then closes everything.
func (h *host) serve(ctx context.Context) error {
	listeners := h.listeners
	h.listeners = nil // Serve closes them
	err := rpc.Serve(ctx, h.handler, listeners...)
	return errors.Join(err, h.close())
}

func (h *host) close() error {
	for _, l := range h.listeners {
		l.Close()
	}
	var err error
	if h.kept != nil {
		err = h.kept.Close()
	}
	if h.names != nil {
		err = errors.Join(err, h.names.Close())
	}
	if h.Server != nil {
		err = errors.Join(err, h.Server.Close())
	}
	return err
}
