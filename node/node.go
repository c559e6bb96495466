package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/transport/rpc/reflection"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/mind/world"
)

// Node is a memory server with its name system, on the network. Safe for concurrent use.
type Node struct {
	srv       *serve.Server
	local     *mns.Local // without a backbone
	backbone  *fabric    // nil without one
	names     mns.Registry
	kept      *mns.Kept
	endpoint  *transport.Endpoint
	addresses []string // as clients of this computer write them
	options   rpc.Options
	store     *ltm.Store // the server's, which closes it; nil without one
	ops       *operations
	copies    *copies.Holder
	recovery  *recovery // nil where nothing can be recovered
	security  guard
	held      heldCopies // as it announces them
	robot     string     // its name, "" if it has none
	// within may pass until the node has ended, once it is told to, but for what the
	// recorder takes, which is recordWithin.
	within, recordWithin time.Duration
}

// ListenError says that a node cannot listen at an address.
type ListenError struct{ Err error }

// Error implements error.
func (e *ListenError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *ListenError) Unwrap() error { return e.Err }

// LossError says that a node could not end in good order, and what may be lost.
type LossError struct{ Reason string }

// Error implements error.
func (e *LossError) Error() string { return e.Reason }

// New starts a node: it reads back what is on disk, listens, joins the backbone and
// registers its memories. It answers calls once [Node.Serve] is called. A node that is not
// served must be closed. The error is a [*ListenError] if it cannot listen, Conflict if
// another server hosts one of its memories, Forbidden if its credentials do not let it,
// Invalid if it is to withdraw what it has on disk.
func New(ctx context.Context, c Config) (n *Node, err error) {
	if c.Data != nil && c.Recovery == world.RecoverWithdraw {
		return nil, engram.Errorf(engram.Invalid, c.Data.Dir, "a server that keeps data knows what it said: withdraw only where nothing is kept, or take what was lost")
	}
	n = &Node{options: c.Edge, robot: c.Robot, within: EndWithin}
	n.options.Web, n.options.Reflection = c.Security.Web, reflection.Handlers
	n.options.Now, n.options.Grace, n.options.Meter = c.Now, grace, new(meter.Meter)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
			n = nil
		}
	}()
	if n.ops, err = startOperations(c.Operations, c.Security.Web); err != nil {
		return n, err
	}
	n.options.Operations = n.ops.mux
	if n.security, err = startSecurity(c.Security); err != nil {
		return n, err
	}
	if len(c.Listen) == 0 {
		c.Listen = rpc.DefaultAddresses()
	}
	if n.endpoint, err = transport.ListenSecurely(n.security.Options, c.Listen...); err != nil {
		return n, &ListenError{err}
	}
	for _, l := range n.endpoint.Listeners() {
		n.addresses = append(n.addresses, rpc.AddressOf(l))
	}
	if c.Backbone != nil {
		if n.backbone, err = startBackbone(ctx, *c.Backbone, c.Robot, n.security.Options); err != nil {
			return n, err
		}
		n.robot = n.backbone.robot
	}
	computer, _ := os.Hostname()
	if c.Data != nil {
		o := c.Data.WithDefaults()
		n.recordWithin = o.CloseWithin
		o.Robot = cmp.Or(n.robot, computer)
		if o.Now == nil {
			o.Now = c.Now
		}
		if n.store, err = ltm.Open(ctx, o); err != nil {
			return n, err
		}
	}
	if n.srv, err = serve.New(server.Config{Robot: n.robot, Memories: c.Memories, Now: c.Now, Limits: c.Limits, Store: n.store, Announce: n.announce}); err != nil {
		return n, err
	}
	n.security.begin(n.srv.Server)
	n.options.Robot = n.robot
	if !c.NoPage {
		o := web.Options{Robot: n.robot, Assets: c.Assets, Now: c.Now, Log: c.Operations.Log}
		n.options.Page = func(svc feature.Server) (http.Handler, []string) { return web.New(svc, o), web.Paths }
	}
	// The same after a restart, so that clients know the server again.
	n.options.Server = cmp.Or(c.Name, strings.TrimSpace(n.robot+" "+cmp.Or(computer, "localhost")+" "+n.addresses[0]))
	if err = n.register(ctx, &c); err != nil {
		return n, err
	}
	n.heedCredentials()
	if err = n.holdCopies(&c); err != nil {
		return n, err
	}
	if err = n.recover(ctx, c.Recovery); err != nil {
		return n, err
	}
	n.ops.watch(n)
	return n, nil
}

// register joins the name system, that of the backbone if there is one, and registers the
// memories.
func (n *Node) register(ctx context.Context, c *Config) error {
	reach := slices.Concat(n.endpoint.Addresses(), c.Advertise)
	if n.backbone != nil {
		if err := n.backbone.join(ctx, n.options.Server); err != nil {
			return err
		}
		n.names, n.options.Backbone = n.backbone.names, n.backbone.Dial
		for _, l := range n.endpoint.Listeners() {
			reach = append(reach, outside(l)...)
		}
		if err := n.endpoint.Add(n.backbone.listener); err != nil {
			return err
		}
		reach = append(reach, rpc.AddressOf(n.backbone.listener)) // the slowest way comes last
		n.backbone.audit(&n.security)
		n.backbone.publish(n.srv, n.options.Server, n.backbone.withData(n.store))
	} else {
		n.local = mns.NewLocalOf(n.robot)
		n.names = n.local
	}
	if err := n.mayServe(n.srv.Memories(), false); err != nil {
		return err
	}
	n.held.memories = n.srv.Copies()
	if n.security.Credentials != nil {
		n.held.cert = n.security.Credentials.Current().Cert
	}
	keep := func(ctx context.Context) (err error) {
		n.kept, err = mns.Keep(ctx, n.names, mns.Registration{
			Server: n.options.Server, Memories: n.srv.Memories(), Copies: n.believedCopies(n.held.memories), Addresses: reach, TTL: 10 * time.Second, Standby: c.Standby, Yields: n.srv.Programs(),
		})
		return err
	}
	if n.backbone != nil {
		return n.backbone.Names(ctx, keep)
	}
	return keep(ctx)
}

// announce tells the name system of the memories when a program hosts one more.
func (n *Node) announce(ctx context.Context, memories func() []string) error {
	if err := n.mayServe(memories(), false); err != nil {
		return err
	}
	return n.kept.SetMemories(ctx, memories)
}

// Server returns the memory server, for calls inside the process. No access rules stand
// before it.
func (n *Node) Server() *serve.Server { return n.srv }

// Store returns the long-term memory; nil without one. The node closes it.
func (n *Node) Store() *ltm.Store { return n.store }

// Name returns the server's name.
func (n *Node) Name() string { return n.options.Server }

// Addresses returns where the node listens, as programs of this computer write it.
func (n *Node) Addresses() []string { return slices.Clone(n.addresses) }

// Listeners returns what the node listens with, in the order of Addresses.
func (n *Node) Listeners() []net.Listener { return n.endpoint.Listeners()[:len(n.addresses)] }

// Live returns an error if the working memory does not answer.
func (n *Node) Live(ctx context.Context) error { return n.ops.health.Live(ctx) }

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

// EndWithin is how long a node may take to end: twice that, and what Data.CloseWithin lets
// the recorder take, if there is something to record.
const EndWithin = 4500 * time.Millisecond

// grace is how long calls may go on once the node is told to end.
const grace = 1500 * time.Millisecond

// Serve answers calls until ctx ends, then closes the node. If what is to be closed hangs,
// it is given up after [EndWithin], and the recorder of the long-term memory after the
// CloseWithin of its options; the error is a [*LossError] then: what was acknowledged as
// logged or synced is in the log, and what the recorder had open is salvaged at the next
// start.
func (n *Node) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- n.serve(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	timer, tick := time.NewTimer(n.within), time.NewTicker(time.Second)
	defer timer.Stop()
	defer tick.Stop()
	for recording := false; ; {
		select {
		case err := <-ended:
			if errors.Is(err, ltm.ErrLeft) {
				return &LossError{err.Error()}
			}
			return err
		case <-tick.C:
			n.tellWaiting()
		case <-timer.C:
			if recording || !n.figures().Closing {
				return n.cannotEnd(recording)
			}
			// Nobody else keeps it: the recorder has its own limit, and seals afterwards.
			recording = true
			timer.Reset(n.recordWithin + n.within)
		}
	}
}

// serve answers calls until ctx ends, then closes everything.
func (n *Node) serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, n.ops.drain)()
	err := n.endpoint.Serve(ctx, n.srv, n.names, n.options)
	return errors.Join(err, n.Close())
}

// figures are the long-term memory's, if there is one.
func (n *Node) figures() (f ltm.Figures) {
	if n.store != nil {
		f = n.store.Figures()
	}
	return f
}

// tellWaiting says what the end waits for, if that is the recorder.
func (n *Node) tellWaiting() {
	f := n.figures()
	if !f.Closing {
		return
	}
	disk := "it writes them"
	if f.Stalled {
		disk = "it refuses them: " + strings.Join(n.store.Health(), "; ")
	}
	slog.Info("the end waits for the recorder; a second signal ends the server at once", "updates", f.Behind, "disk", disk, "limit", n.recordWithin)
}

// cannotEnd says that something hangs as the node ends; recording, that it is the disk.
func (n *Node) cannotEnd(recording bool) error {
	within, unrecorded := n.within, ""
	if recording {
		within = n.recordWithin + 2*n.within
	}
	kept := "What was acknowledged as logged or synced is on disk"
	if n.store != nil {
		f := n.store.Figures()
		unrecorded = fmt.Sprintf("; %d updates of volatile segments may not be recorded", f.Behind)
		if f.LogFailing > 0 {
			kept = "What was acknowledged as synced is on disk, and of what was logged what came before the disk refused"
		}
	}
	return &LossError{fmt.Sprintf("the server could not end in good order within %v%s. %s", within, unrecorded, kept)}
}

// Close ends a node that is not served.
func (n *Node) Close() error {
	var err error
	if n.endpoint != nil {
		err = n.endpoint.Close()
	}
	n.ops.rest()
	n.recovery.rest()
	if n.copies != nil {
		err = errors.Join(err, n.copies.Close())
	}
	err = errors.Join(err, n.security.close())
	n.held.rest()
	n.backbone.rest()
	// A backbone that is away must not take the time that the disk needs.
	names := make(chan error, 1)
	go func() { names <- n.leave() }()
	switch {
	case n.srv != nil:
		err = errors.Join(err, n.srv.Close())
	case n.store != nil:
		err = errors.Join(err, n.store.Close())
	}
	return errors.Join(err, <-names, n.ops.close())
}

// leave leaves the name system and the backbone.
func (n *Node) leave() error {
	var err error
	if n.kept != nil {
		// Where the name system is away, the lease runs out by itself.
		if err = n.kept.Close(); engram.CodeOf(err) == engram.Unavailable || engram.CodeOf(err) == engram.Canceled {
			err = nil
		}
	}
	if n.local != nil {
		err = errors.Join(err, n.local.Close())
	}
	return errors.Join(err, n.backbone.close())
}
