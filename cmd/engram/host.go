package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// host is a memory server of this process with its name system, on the network.
type host struct {
	*server.Server
	local     *mns.Local    // without a backbone
	backbone  *hostBackbone // nil without one
	names     mns.Registry  // one of both
	kept      *mns.Kept
	endpoint  *transport.Endpoint
	addresses []string // given by the user, as clients of this computer write them
	options   rpc.Options
	store     *ltm.Store // the server's, which closes it; nil without one
}

// startHost starts a server and listens on the addresses. It serves once
// [host.serve] is called.
func startHost(ctx context.Context, s settings) (h *host, err error) {
	h = &host{options: s.edge}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.endpoint, err = transport.Listen(s.addresses...); err != nil {
		return h, listenError(err)
	}
	for _, l := range h.endpoint.Listeners() {
		h.addresses = append(h.addresses, rpc.AddressOf(l))
	}
	if s.data != nil {
		if h.store, err = ltm.Open(ctx, *s.data); err != nil {
			return h, err
		}
	}
	if h.Server, err = server.New(server.Config{Memories: s.memories, Limits: s.limits, Store: h.store}); err != nil {
		return h, err
	}
	// The same after a restart, so that clients know the server again.
	name, _ := os.Hostname()
	h.options.Server = cmp.Or(s.backbone.name, cmp.Or(name, "localhost")+" "+h.addresses[0])
	reach := append(h.endpoint.Addresses(), s.backbone.advertise...)
	if s.backbone.on {
		if h.backbone, err = startBackbone(ctx, s.backbone, h.options.Server); err != nil {
			return h, err
		}
		h.names, h.options.Backbone = h.backbone.names, h.backbone.Dial
		for _, l := range h.endpoint.Listeners() {
			reach = append(reach, outside(l)...)
		}
		h.endpoint.Add(h.backbone.listener)
		reach = append(reach, rpc.AddressOf(h.backbone.listener)) // the slowest way comes last
		h.backbone.publish(h.Server, h.options.Server)
	} else {
		h.local = mns.NewLocal()
		h.names = h.local
	}
	h.kept, err = mns.Keep(ctx, h.names, mns.Registration{
		Server: h.options.Server, Memories: h.Memories(), Addresses: reach, TTL: 10 * time.Second, Standby: s.backbone.standby,
	})
	return h, err
}

// outside returns the addresses at which other computers reach a listener on all
// interfaces.
func outside(l net.Listener) []string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok || !a.IP.IsUnspecified() {
		return nil
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil // they are reached through the backbone
	}
	const most = 8
	var out []string
	for _, i := range interfaces {
		n, ok := i.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() && len(out) < most {
			out = append(out, "http://"+net.JoinHostPort(n.IP.String(), strconv.Itoa(a.Port)))
		}
	}
	return out
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
	if h.local != nil {
		err = errors.Join(err, h.local.Close())
	}
	err = errors.Join(err, h.backbone.close())
	switch {
	case h.Server != nil:
		err = errors.Join(err, h.Server.Close())
	case h.store != nil:
		err = errors.Join(err, h.store.Close())
	}
	return err
}
