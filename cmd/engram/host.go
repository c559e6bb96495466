package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/ops/systemd"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport"
	"github.com/seed-301d4374/engram/transport/meter"
	"github.com/seed-301d4374/engram/transport/rpc"
	"github.com/seed-301d4374/engram/transport/secure"
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
	store     *ltm.Store  // the server's, which closes it; nil without one
	ops       *operations // what operators are offered
	copies    *copies.Holder
	security  hostSecurity
	held      heldCopies    // as it announces them
	robot     string        // its name, "" if it has none
	within    time.Duration // may pass until it has ended, once it is told to
}

// startHost starts a server and listens on the addresses. It serves once
// [host.serve] is called.
func startHost(ctx context.Context, s settings) (h *host, err error) {
	h = &host{options: s.edge, within: endWithin}
	h.options.Now, h.options.Grace, h.options.Meter = s.now, grace, new(meter.Meter)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.ops, err = startOperations(s.operations); err != nil {
		return h, err
	}
	h.options.Operations = h.ops.mux
	if h.security, err = startSecurity(s.security); err != nil {
		return h, err
	}
	if h.endpoint, err = transport.ListenSecurely(h.security.Options, s.addresses...); err != nil {
		return h, listenError(err)
	}
	for _, l := range h.endpoint.Listeners() {
		h.addresses = append(h.addresses, rpc.AddressOf(l))
	}
	computer, _ := os.Hostname()
	h.robot = s.backbone.embedded.Robot
	if s.backbone.on {
		if h.backbone, err = startBackbone(ctx, s.backbone, h.security.Options); err != nil {
			return h, err
		}
		h.robot = h.backbone.robot
	}
	if s.data != nil {
		o := *s.data
		o.Robot = cmp.Or(h.robot, computer)
		if h.store, err = ltm.Open(ctx, o); err != nil {
			return h, err
		}
	}
	if h.Server, err = server.New(server.Config{Memories: s.memories, Now: s.now, Limits: s.limits, Store: h.store}); err != nil {
		return h, err
	}
	h.security.begin(h.Server)
	// The same after a restart, so that clients know the server again.
	h.options.Server = cmp.Or(s.backbone.name, strings.TrimSpace(h.robot+" "+cmp.Or(computer, "localhost")+" "+h.addresses[0]))
	reach := append(h.endpoint.Addresses(), s.backbone.advertise...)
	if s.backbone.on {
		if err = h.backbone.join(ctx, h.options.Server); err != nil {
			return h, err
		}
		h.names, h.options.Backbone = h.backbone.names, h.backbone.Dial
		for _, l := range h.endpoint.Listeners() {
			reach = append(reach, outside(l)...)
		}
		if err = h.endpoint.Add(h.backbone.listener); err != nil {
			return h, err
		}
		reach = append(reach, rpc.AddressOf(h.backbone.listener)) // the slowest way comes last
		h.backbone.publish(h.Server, h.options.Server, s.backbone.withData(h.store))
	} else {
		h.local = mns.NewLocalOf(h.robot)
		h.names = h.local
	}
	if err = h.mayServe(h.Memories(), false); err != nil {
		return h, err
	}
	h.held.memories = h.Copies()
	if h.security.Credentials != nil {
		h.held.cert = h.security.Credentials.Current().Cert
	}
	keep := func(ctx context.Context) (err error) {
		h.kept, err = mns.Keep(ctx, h.names, mns.Registration{
			Server: h.options.Server, Memories: h.Memories(), Copies: h.believedCopies(h.held.memories), Addresses: reach, TTL: 10 * time.Second, Standby: s.backbone.standby,
		})
		return err
	}
	if h.backbone != nil {
		err = h.backbone.Names(ctx, keep)
	} else {
		err = keep(ctx)
	}
	if err != nil {
		return h, err
	}
	h.heedCredentials()
	if h.copies, err = holdCopies(h, s); err != nil {
		return h, err
	}
	if h.copies != nil {
		h.options.Copies = h.copies
	}
	h.ops.watch(h)
	return h, nil
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
	scheme := "http://"
	if secure.SecureListener(l) {
		scheme = "https://"
	}
	var out []string
	for _, i := range interfaces {
		n, ok := i.(*net.IPNet)
		if ok && n.IP.IsGlobalUnicast() && len(out) < most {
			out = append(out, scheme+net.JoinHostPort(n.IP.String(), strconv.Itoa(a.Port)))
		}
	}
	return out
}

// serve answers calls until ctx ends, then closes everything.
func (h *host) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, h.ops.drain)()
	err := h.endpoint.Serve(ctx, h.Server, h.names, h.options)
	return errors.Join(err, h.close())
}

// How long calls may go on once the server is told to end, and how long all of it may
// take.
const (
	grace     = 1500 * time.Millisecond
	endWithin = 4500 * time.Millisecond
)

// serveUntil serves until ctx ends. If what is to be closed then hangs, it is given up:
// what was acknowledged as logged or synced is in the log, and what the recorder had open
// is salvaged when the server starts again.
func (h *host) serveUntil(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- h.serve(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = systemd.Notify(systemd.Stopping) // it sees the end anyway
	timer := time.NewTimer(h.within)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
	}
	unrecorded := ""
	if h.store != nil {
		unrecorded = fmt.Sprintf("; %d updates of volatile segments may not be recorded", h.store.Figures().Behind)
	}
	return &lossError{fmt.Sprintf("the server could not end in good order within %v%s. What was acknowledged as logged or synced is on disk", h.within, unrecorded)}
}

func (h *host) close() error {
	var err error
	if h.endpoint != nil {
		err = h.endpoint.Close()
	}
	h.ops.rest()
	if h.copies != nil {
		err = errors.Join(err, h.copies.Close())
	}
	err = errors.Join(err, h.security.close())
	h.held.rest()
	h.backbone.rest()
	// A backbone that is away must not take the time that the disk needs.
	names := make(chan error, 1)
	go func() { names <- h.leave() }()
	switch {
	case h.Server != nil:
		err = errors.Join(err, h.Server.Close())
	case h.store != nil:
		err = errors.Join(err, h.store.Close())
	}
	return errors.Join(err, <-names, h.ops.close())
}

// leave leaves the name system and the backbone.
func (h *host) leave() error {
	var err error
	if h.kept != nil {
		// Where the name system is away, the lease runs out by itself.
		if err = h.kept.Close(); engram.CodeOf(err) == engram.Unavailable || engram.CodeOf(err) == engram.Canceled {
			err = nil
		}
	}
	if h.local != nil {
		err = errors.Join(err, h.local.Close())
	}
	return errors.Join(err, h.backbone.close())
}
