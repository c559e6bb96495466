package node

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/fleet/ops/metrics"
	"github.com/seed-301d4374/engram/internal/release"
	"github.com/seed-301d4374/engram/mind/memories"
)

// operations is what a node offers its operators: metrics, health and the clocks of
// other servers.
type operations struct {
	settings Operations
	health   *health.Health
	mux      *http.ServeMux
	metrics  atomic.Pointer[http.Handler]
	listener net.Listener // of its own; nil without --metrics-listen
	server   *http.Server
	serving  sync.WaitGroup
	clocks   *clock.Watch // nil if they are not measured
}

// startOperations makes what operators are offered, and serves it at an address of its
// own from then on, if there is one: while the node starts it is alive and not ready.
func startOperations(s Operations, web secure.Web) (*operations, error) {
	o := &operations{settings: s, health: health.New(0), mux: http.NewServeMux()}
	o.health.State("memories", health.Failed, "the server is starting: it reads back what is on disk")
	o.mux.HandleFunc("GET /healthz", o.health.ServeLive)
	o.mux.HandleFunc("GET /readyz", o.health.ServeReady)
	o.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { (*o.metrics.Load()).ServeHTTP(w, r) })
	o.show(metrics.Sources{Health: o.health.Ready})
	if s.Listen == "" {
		return o, nil
	}
	var err error
	if o.listener, err = net.Listen("tcp", s.Listen); err != nil {
		return nil, engram.Errorf(engram.AlreadyExists, s.Listen, "nothing can listen at --metrics-listen; is it taken? %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	o.server = &http.Server{Handler: web.Handler(o.mux), Protocols: protocols, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, WriteTimeout: 30 * time.Second}
	o.serving.Go(func() { _ = o.server.Serve(o.listener) }) // it ends with close
	return o, nil
}

func (o *operations) show(s metrics.Sources) {
	h := metrics.Handler(s, cmp.Or(o.settings.Log, slog.Default()))
	o.metrics.Store(&h)
}

// watch begins to look after a node that is complete.
func (o *operations) watch(n *Node) {
	name := n.options.Server
	o.health.Describe(name, n.robot, release.Current().Version)
	o.health.Alive(func(context.Context) (health.Status, string) {
		n.srv.Figures() // hangs if the working memory does
		return health.OK, ""
	})
	o.health.Set("memories", func(context.Context) (health.Status, string) { return memoriesHealth(n.srv.Troubles()) })
	o.health.Set("names", func(context.Context) (health.Status, string) { return namesHealth(n.kept) })
	if n.security.Credentials != nil {
		o.health.Set("credentials", func(context.Context) (health.Status, string) { return n.servingHealth() })
	}
	s := metrics.Sources{Server: name, Robot: n.robot, Memory: n.srv.Figures, Meter: n.options.Meter, Health: o.health.Ready}
	s.Names = entriesOf(n)
	if n.store != nil {
		disk := health.NewDisk(n.store.Dir())
		o.health.Set("disk", disk.Check)
		o.health.Set("recording", func(context.Context) (health.Status, string) { return recordingHealth(n.store.Health()) })
		s.LongTerm, s.LongTermStats, s.Disk = n.store.Figures, n.store.LTMStats, disk.Write
	}
	if b := n.backbone; b != nil {
		o.health.Set("backbone", b.health)
		s.Backbone = b.metrics
		if b.names != nil {
			o.health.Set("fleet", func(context.Context) (health.Status, string) { return fleetHealth(b.names.Problems()) })
		}
	}
	if n.copies != nil {
		s.Copies = n.copies.CopyStatus
		o.health.Set("copies", func(ctx context.Context) (health.Status, string) {
			list, err := n.copies.CopyStatus(ctx)
			return copiesHealth(n.copies.Problems(), list, err)
		})
	}
	if n.recovery != nil {
		o.health.Set("recovery", n.recovery.health)
	}
	if o.settings.ClockEvery > 0 {
		o.clocks = clock.Begin(clock.WatchOptions{Peers: n.peers, Connect: n.askClock, Tell: n.tellClocks(cmp.Or(o.settings.Log, slog.Default())), Now: n.options.Now, Every: o.settings.ClockEvery})
		s.Skews = o.clocks.Skews
		o.health.Set("clocks", func(context.Context) (health.Status, string) { return clocksHealth(o.clocks.Skews()) })
	}
	if slices.Contains(n.srv.Memories(), worldMemory) {
		o.health.Set("future", n.futureHealth)
	}
	o.show(s)
}

// drain says that the server is about to end, so that nobody new is sent to it.
func (o *operations) drain() {
	if o != nil {
		o.health.State("memories", health.Failed, "the server is stopping")
	}
}

// rest ends what is done in the background.
func (o *operations) rest() {
	if o != nil && o.clocks != nil {
		o.clocks.Close()
	}
}

func (o *operations) close() error {
	if o == nil {
		return nil
	}
	o.rest()
	if o.server == nil {
		return nil
	}
	err := o.server.Close()
	o.serving.Wait()
	return err
}

// memoriesHealth tells how what is committed is, from what is wrong with it.
func memoriesHealth(troubles []string) (health.Status, string) {
	if len(troubles) == 0 {
		return health.OK, ""
	}
	return health.Degraded, strings.Join(troubles, "; ")
}

// namesHealth tells how a registration is.
func namesHealth(k *mns.Kept) (health.Status, string) {
	err := k.Err()
	select {
	case <-k.Active():
	default:
		return health.Degraded, "this server stands by: " + errorText(err)
	}
	switch engram.CodeOf(err) {
	case 0:
		if elsewhere := k.Elsewhere(); len(elsewhere) > 0 {
			return health.Degraded, elsewhereText(elsewhere)
		}
		return health.OK, ""
	case engram.Conflict:
		return health.Failed, "the memories are registered by another server: " + err.Error()
	}
	return health.Degraded, "the name system does not answer; those who know this server still reach it: " + errorText(err)
}

// elsewhereText says where memories are that programs hosted at this server before.
func elsewhereText(elsewhere map[string]string) string {
	var all []string
	for _, memory := range slices.Sorted(maps.Keys(elsewhere)) {
		all = append(all, fmt.Sprintf("%s is hosted by the server %q", memory, elsewhere[memory]))
	}
	return strings.Join(all, "; ") + ". What programs wrote to it at this server is kept, and is there again when the name is free"
}

// recordingHealth tells how recording is, from what does not work.
func recordingHealth(troubles []string) (health.Status, string) {
	if len(troubles) == 0 {
		return health.OK, ""
	}
	why := strings.Join(troubles, "; ")
	if slices.ContainsFunc(troubles, func(t string) bool { return strings.HasPrefix(t, "the log of ") }) {
		return health.Failed, why // commits to logged segments are refused
	}
	return health.Degraded, why
}

// fleetHealth tells how the names of other robots are, from what is wrong with them.
func fleetHealth(problems []string) (health.Status, string) {
	if len(problems) == 0 {
		return health.OK, ""
	}
	return health.Degraded, strings.Join(problems, "; ")
}

func errorText(err error) string {
	if err == nil {
		return "no reason is known"
	}
	return err.Error()
}

// health tells how the connection to the backbone is. Without it the robot works on
// alone.
func (b *fabric) health(ctx context.Context) (health.Status, string) {
	if f := b.Figures(ctx); !f.Connected {
		return health.Degraded, "the backbone is away; the server works on alone, and connects when it is back"
	} else if f.RoundTrip == 0 {
		return health.Degraded, "the backbone does not answer"
	}
	if b.embedded != nil {
		if f := b.embedded.Figures(); f.Leafs > 0 && f.LeafNodes == 0 {
			return health.Degraded, "there is no connection to the base station of --leaf-of; the robot works on alone"
		}
	}
	return health.OK, ""
}

func (b *fabric) metrics() metrics.Backbone {
	f := b.Figures(context.Background())
	m := metrics.Backbone{
		Connected: f.Connected, Reconnects: f.Reconnects, InMessages: f.InMessages, OutMessages: f.OutMessages,
		InBytes: f.InBytes, OutBytes: f.OutBytes, RoundTrip: f.RoundTrip,
	}
	if b.embedded != nil {
		e := b.embedded.Figures()
		m.Embedded, m.Clients, m.LeafNodes, m.Clusters, m.LeafExpected = true, e.Clients, e.LeafNodes, e.Routes, e.Leafs
	}
	return m
}

// entriesOf returns what tells how the name system is, which is asked for its entries
// once in a while only.
func entriesOf(n *Node) func() metrics.Names {
	const holds = 15 * time.Second
	var asked time.Time
	var entries int
	return func() metrics.Names {
		if time.Since(asked) > holds {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if all, err := n.names.List(ctx); err == nil {
				entries = len(all)
			}
			asked = time.Now()
		}
		status, _ := namesHealth(n.kept)
		return metrics.Names{Registered: status == health.OK, Entries: entries}
	}
}

// peers returns the other servers that the name system knows.
func (n *Node) peers(ctx context.Context) ([]clock.Peer, error) {
	entries, err := n.names.List(ctx)
	if err != nil {
		return nil, err
	}
	var peers []clock.Peer
	for _, e := range entries {
		if e.Server != n.options.Server {
			peers = append(peers, clock.Peer{Server: e.Server, Robot: e.Robot, Epoch: e.Epoch, Addresses: e.Addresses})
		}
	}
	return peers, nil
}

// tellClocks returns what commits measured clocks to the memory World or SystemState; nil if neither
// is here.
func (n *Node) tellClocks(log *slog.Logger) func(context.Context, []clock.Skew) {
	clocks := memories.NewClocks(n.srv, n.options.Server, n.srv.Memories())
	if clocks == nil {
		return nil
	}
	return func(ctx context.Context, skews []clock.Skew) {
		var told []memories.ClockSkew
		for _, s := range skews {
			if s.Known() && (s.Robot == "" || s.Robot != n.robot) { // a robot's servers have one clock
				told = append(told, memories.ClockSkew{Server: s.Server, Robot: s.Robot, Offset: s.Offset, Uncertainty: s.Uncertainty(), At: s.At})
			}
		}
		if err := clocks.Tell(ctx, told); err != nil {
			log.Warn("what was measured of other servers' clocks is not in the memory", "error", err)
		}
	}
}

// reach connects to the server that o names at the first of its addresses that answers.
func reach(ctx context.Context, addresses []string, o rpc.DialOptions) (*rpc.Client, error) {
	// It is asked over RPC; another computer's sockets are not here.
	addresses = slices.DeleteFunc(slices.Clone(addresses), transport.IsLocal)
	c, err := transport.First(ctx, addresses, client.DefaultDetectionTimeout, func(ctx context.Context, address string) (*rpc.Client, error) {
		return rpc.Dial(ctx, address, o)
	})
	if err != nil {
		return nil, transport.Unreached(o.Server, err)
	}
	return c, nil
}

// askClock reaches a server to ask for its clock.
func (n *Node) askClock(ctx context.Context, p clock.Peer) (clock.Ask, func(), error) {
	o := rpc.DialOptions{Server: p.Server, Backbone: n.options.Backbone, Credentials: n.security.Credentials}
	c, err := reach(ctx, p.Addresses, o)
	if err != nil {
		return nil, nil, err
	}
	ask := func(ctx context.Context) (received, sent engram.Time, err error) {
		info, err := c.Info(ctx)
		return info.Received, info.Sent, err
	}
	return ask, func() { c.Close() }, nil
}
