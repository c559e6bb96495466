package clock

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Peer is another memory server.
type Peer struct {
	Server    string
	Robot     string // whose server it is; "" for none
	Epoch     uint64 // tells one run of the server from the next, whose clock may be another; 0 if that is not known
	Addresses []string
}

// Skew tells how far a server's clock is from this one's.
type Skew struct {
	Server, Robot string
	Sample
	Error string // why the last question was not answered; the sample is an older one, or none
}

// Known reports whether there is a sample.
func (s Skew) Known() bool { return s.At != 0 }

// WatchOptions configure a [Watch]. Zero durations mean the defaults.
type WatchOptions struct {
	Peers func(ctx context.Context) ([]Peer, error)
	// Connect reaches a peer; close ends the connection.
	Connect func(ctx context.Context, p Peer) (ask Ask, close func(), err error)
	// Tell is told after each round what is known of all peers; nil if nobody is.
	Tell  func(ctx context.Context, skews []Skew)
	Now   func() engram.Time // nil means the wall clock
	Every time.Duration      // default 30 s
	Warn  time.Duration      // from this offset on it is logged; default 100 ms
	Log   *slog.Logger       // nil means slog.Default()
}

// At most so many servers are asked in one round, and known: a fleet's servers need not
// all know each other's clocks.
const (
	perRound = 8
	maxPeers = 256
	samples  = 4
	patience = 2 * time.Second
)

// Watch measures the clocks of all peers every now and then. Make one with [Begin].
type Watch struct {
	o      WatchOptions
	cancel context.CancelFunc
	done   chan struct{}
	next   string // the server to begin the next round with; the goroutine's

	mu struct {
		sync.Mutex
		peers map[string]*peer
	}
}

type peer struct {
	robot  string
	epoch  uint64
	filter Filter
	err    error
	warned bool
	// One that was never measured is asked again from next on, and after a pause that doubles.
	next  time.Time
	pause time.Duration
}

// Begin begins to measure, until [Watch.Close].
func Begin(o WatchOptions) *Watch {
	if o.Now == nil {
		o.Now = engram.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Every = cmp.Or(o.Every, 30*time.Second)
	o.Warn = cmp.Or(o.Warn, Apart)
	w := &Watch{o: o, done: make(chan struct{})}
	w.mu.peers = map[string]*peer{}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go w.run(ctx)
	return w
}

func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	look := min(time.Second, w.o.Every) // others start just now, too
	tick := time.NewTicker(look)
	defer tick.Stop()
	for due := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if now := time.Now(); now.Before(due) {
			w.round(ctx, true)
		} else {
			due = now.Add(w.o.Every - look/2)
			w.Round(ctx)
		}
	}
}

// Round asks some of the peers, the others in later rounds.
func (w *Watch) Round(ctx context.Context) { w.round(ctx, false) }

// round is Round, or asks only peers that were never measured since they began, of these those first that were never
// asked: what they say is not put in order before their clocks are known.
func (w *Watch) round(ctx context.Context, fresh bool) {
	call, cancel := context.WithTimeout(ctx, patience)
	peers, err := w.o.Peers(call)
	cancel()
	if err != nil {
		return // the name system is away; what is known stays
	}
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Server, b.Server) })
	peers = slices.CompactFunc(peers, func(a, b Peer) bool { return a.Server == b.Server })
	peers = peers[:min(len(peers), maxPeers)]
	w.forget(peers)
	if fresh {
		peers = slices.DeleteFunc(peers, w.knows)
		slices.SortStableFunc(peers, func(a, b Peer) int { return w.due(a).Compare(w.due(b)) })
	}
	if len(peers) == 0 {
		return
	}
	first := 0
	if !fresh {
		first, _ = slices.BinarySearchFunc(peers, w.next, func(p Peer, name string) int { return strings.Compare(p.Server, name) })
	}
	for i := range min(perRound, len(peers)) {
		p := peers[(first+i)%len(peers)]
		if !fresh {
			w.next = peers[(first+i+1)%len(peers)].Server
		}
		w.ask(ctx, p)
		if ctx.Err() != nil {
			return
		}
	}
	if w.o.Tell != nil {
		call, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		w.o.Tell(call, w.Skews())
	}
}

// ask measures one peer.
func (w *Watch) ask(ctx context.Context, p Peer) {
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s Sample
	ask, closeConn, err := w.o.Connect(call, p)
	if err == nil {
		s, err = Measure(call, w.o.Now, samples, ask)
		closeConn()
	}
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.mu.peers[p.Server]
	if known == nil || known.epoch != p.Epoch && err == nil {
		known = &peer{epoch: p.Epoch}
		w.mu.peers[p.Server] = known
	}
	known.robot, known.err = p.Robot, err
	if err != nil {
		known.pause = min(max(2*known.pause, time.Second), w.o.Every)
		known.next = time.Now().Add(known.pause)
		return
	}
	known.filter.Add(s)
	best, _ := known.filter.Best()
	far := best.Least() > w.o.Warn
	if far && !known.warned {
		w.o.Log.Warn("the clock of another server is far from this one's; set both by NTP or PTP, times in the data are not changed",
			"server", p.Server, "offset", best.Offset.Round(time.Microsecond).String(), "uncertainty", best.Uncertainty().Round(time.Microsecond).String())
	}
	known.warned = far
}

// knows reports whether a peer was measured since it began, or is not to be asked again yet.
func (w *Watch) knows(p Peer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.mu.peers[p.Server]
	if known == nil {
		return false
	}
	_, measured := known.filter.Best()
	return measured && known.epoch == p.Epoch || time.Now().Before(known.next)
}

// due returns from when on a peer is to be asked that was never measured.
func (w *Watch) due(p Peer) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.mu.peers[p.Server]; known != nil {
		return known.next
	}
	return time.Time{}
}

// forget forgets the servers that are no peers any more.
func (w *Watch) forget(peers []Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.mu.peers {
		if !slices.ContainsFunc(peers, func(p Peer) bool { return p.Server == name }) {
			delete(w.mu.peers, name)
		}
	}
}

// Skews returns what is known of each peer that was asked, by its name.
func (w *Watch) Skews() []Skew {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Skew, 0, len(w.mu.peers))
	for name, p := range w.mu.peers {
		s := Skew{Server: name, Robot: p.robot}
		s.Sample, _ = p.filter.Best()
		if p.err != nil {
			s.Error = p.err.Error()
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Skew) int { return strings.Compare(a.Server, b.Server) })
	return out
}

// Close ends the measuring.
func (w *Watch) Close() {
	w.cancel()
	<-w.done
}
