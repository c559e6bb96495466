package robots

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Options configure a [Fleet]. Zero fields mean the defaults.
type Options struct {
	// Robot is this robot's name. Without one nothing of it is announced.
	Robot string
	// Lease is how long the names of a server hold that is not heard; default 15 s.
	Lease time.Duration
	// Every is how often servers are announced, where few robots are heard; default 1 s.
	// Where many are, it is less often, down to three times in a lease.
	Every time.Duration
	// DetectionTimeout is how long a server may be unheard before it is suspected to be
	// down; default 3 s. A server that is heard late now and then is given longer.
	DetectionTimeout time.Duration
	// Alive asks a server, at one of its addresses, whether it is up. It is asked of
	// servers that are not heard on the backbone. Nil means that nobody is asked.
	Alive func(ctx context.Context, server string, addresses []string) error
	// Heard counts, by server, what has come from servers beside announcements. A server
	// whose count has grown is up: over a slow link its announcements may wait behind its
	// answers. backbone.Backbone.Heard counts so. Nil means that nothing is counted.
	Heard func() map[string]uint64
	// Restarted is told of a server that has begun anew and did not leave before: it was
	// killed. It is called in a goroutine of its own, which Close waits for. Nil means that
	// nobody is told.
	Restarted func(ctx context.Context, server string)
	Log       *slog.Logger // nil means slog.Default()
}

// Fleet is a robot's name system that knows the names of other robots, too. It
// implements mns.Registry: what is registered with it is the robot's own, and
// announced to the others as long as its lease runs. Safe for concurrent use.
type Fleet struct {
	mns.Registry // the robot's own
	others
}

// others knows the names of other robots by what they announce on the backbone, announces
// this one's, and suspects servers that are not heard.
type others struct {
	o        Options
	nc       *nats.Conn
	subs     []*nats.Subscription
	ctx      context.Context // of the goroutines; ends with Close
	cancel   context.CancelFunc
	done     sync.WaitGroup
	announce chan struct{} // holds a token when there is something to be announced

	mu        sync.Mutex
	own       map[uint64]*announced // by lease
	versions  map[string]*Announcement
	due       map[string]bool // servers that are to be announced in full, by tokens
	peers     map[string]*peer
	entries   int // of all peers
	heard     uint64
	table     *mns.Table                  // of the peers; nil when it is to be made again
	left      mns.Departures              // of the peers, and of the own name system when it began anew
	changed   chan struct{}               // closed and replaced when what watches tell changes
	following following                   // the own name system
	merged    map[string]mns.Entry        // what watches tell; nil when it is to be made again
	fabric    fabric                      // whether the backbone is there
	signs     map[signKey]*sign           // of other servers
	counted   map[string]uint64           // what Heard returned last
	departed  map[string]engram.Time      // robots that were known, and when they were last heard
	hosted    map[string]mns.Registration // what was registered here and not released, by server
	restarts  map[string]bool             // servers whose restart is being told; true if they began anew once more meanwhile
	problems  map[string]problem
	warned    map[string]time.Time
	asked     time.Time // the last time that questions were counted from 0
	questions int
	checked   time.Time // the last time that names were looked at for what is wrong
	looked    time.Time // the last time that servers of this robot's name were looked for
}

var _ mns.Registry = (*Fleet)(nil)

// announced is a registration of this robot that was made here.
type announced struct {
	server   string
	ttl      time.Duration
	deadline time.Time
}

// peer is a server of another robot, or of another backbone that calls itself like
// this robot.
type peer struct {
	Announcement
	order    uint64 // of being heard first
	deadline time.Time
	told     time.Time       // it announced itself last
	since    time.Time       // this epoch is heard without a break
	earlier  map[uint64]bool // its epochs before this one
	known    bool            // it is in this robot's own name system
	unknown  int             // how often in a row it was not in this robot's own name system
}

// problem is what is wrong with the names, and until when that is believed.
type problem struct {
	text  string
	until time.Time
}

// Join begins to announce what is registered with own through the fleet, and to
// listen to others. The fleet does not own the connection or the registry, and works
// until Close.
func Join(nc *nats.Conn, own mns.Registry, o Options) (*Fleet, error) {
	if o.Robot != "" {
		if err := backbone.CheckRobot(o.Robot); err != nil {
			return nil, err
		}
	}
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.Every = cmp.Or(o.Every, time.Second)
	o.DetectionTimeout = cmp.Or(o.DetectionTimeout, 3*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	f := &Fleet{Registry: own, others: others{
		o: o, nc: nc, announce: make(chan struct{}, 1),
		own: map[uint64]*announced{}, versions: map[string]*Announcement{}, due: map[string]bool{},
		peers: map[string]*peer{}, changed: make(chan struct{}), problems: map[string]problem{}, restarts: map[string]bool{}, warned: map[string]time.Time{},
		hosted: map[string]mns.Registration{}, following: following{entries: map[string]mns.Entry{}},
		fabric: fabric{heard: engram.Now()}, signs: map[signKey]*sign{}, departed: map[string]engram.Time{},
	}}
	for on, handle := range map[string]nats.MsgHandler{askSubject: f.answer, askSubject + ".*.*": f.hear} {
		s, err := nc.Subscribe(on, handle)
		if err != nil {
			f.unsubscribe()
			return nil, engram.Errorf(engram.Unavailable, on, "the backbone refuses the subscription: %w", err)
		}
		f.subs = append(f.subs, s)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.done.Go(func() { f.run(f.ctx) })
	f.done.Go(func() { f.echo(f.ctx) })
	f.done.Go(func() { f.follow(f.ctx) })
	return f, nil
}

func (f *Fleet) unsubscribe() {
	for _, s := range f.subs {
		_ = s.Unsubscribe() // fails only on a closed connection
	}
}

// Robot returns this robot's name, "" if it has none.
func (f *Fleet) Robot() string { return f.o.Robot }

// Close says that what was registered here is gone, and ends the fleet. The robot's
// own registry stays.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.cancel() // under the mutex, so that nothing is begun any more
	f.mu.Unlock()
	f.done.Wait()
	f.unsubscribe()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.versions {
		f.publishLocked(&Announcement{Robot: a.Robot, Server: a.Server, Epoch: a.Epoch, Version: a.Version, Gone: true})
	}
	clear(f.versions)
	return nil
}

// Problems returns what is wrong with the names, such as two robots of one name; each
// as a sentence that says what to do.
func (f *Fleet) Problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	var out []string
	for key, p := range f.problems {
		if now.After(p.until) {
			delete(f.problems, key)
			continue
		}
		out = append(out, p.text)
	}
	slices.Sort(out)
	return out
}

// problemLocked notes what is wrong, and logs it now and then.
func (f *others) problemLocked(key, format string, args ...any) {
	const repeat, most = 5 * time.Minute, 100
	if len(f.problems) >= most {
		return
	}
	now := time.Now()
	text := fmt.Sprintf(format, args...)
	if old, known := f.problems[key]; !known || now.After(old.until) || now.Sub(f.warned[key]) > repeat {
		f.warned[key] = now
		f.o.Log.Warn("names", "problem", text)
	}
	f.problems[key] = problem{text, now.Add(2 * f.o.Lease)}
}

// run announces and expires until ctx ends.
func (f *Fleet) run(ctx context.Context) {
	const together = 20 * time.Millisecond // changes in quick succession are announced once
	status := f.nc.StatusChanged(nats.CONNECTED)
	defer f.nc.RemoveStatusListener(status)
	tick := time.NewTicker(f.o.Every)
	defer tick.Stop()
	next := time.Now() // when the next heartbeat is due
	f.inquire("")
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.announce:
			select {
			case <-time.After(together):
			case <-ctx.Done():
				return
			}
			f.speak(false)
		case now := <-tick.C:
			if !now.Before(next) {
				f.speak(true)
				next = now.Add(f.pace())
			}
			f.listen()
			f.expire(ctx)
		case _, open := <-status:
			if !open {
				status = nil
				continue
			}
			f.inquire("")
			f.mu.Lock()
			for tokens := range f.versions {
				f.due[tokens] = true
			}
			f.mu.Unlock()
			f.speak(true)
		}
	}
}

// pace returns how long to wait before the next heartbeat: who hears many must expect to be
// heard by many, over links that are slow.
func (f *others) pace() time.Duration {
	const few = 32
	f.mu.Lock()
	defer f.mu.Unlock()
	pause := f.o.Every * time.Duration(1+len(f.peers)/few)
	return min(pause, max(f.o.Lease/3, f.o.Every)) - f.o.Every/2 // ticks come every now and then
}

// inquire asks for the announcement of a server, or of all.
func (f *others) inquire(tokens string) {
	// What is lost is asked again: a heartbeat of an unknown version follows.
	_ = f.nc.Publish(askSubject, []byte(tokens))
}

// answer makes what was asked for be announced.
func (f *Fleet) answer(m *nats.Msg) {
	if len(m.Data) > 4096 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for tokens := range f.versions {
		if len(m.Data) == 0 || tokens == string(m.Data) {
			f.due[tokens] = true
		}
	}
	f.wakeLocked()
}

func (f *others) wakeLocked() {
	select {
	case f.announce <- struct{}{}:
	default:
	}
}

// speak announces what is due in full, and, with beats, that all else still holds.
func (f *others) speak(beats bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tokens, a := range f.versions {
		switch {
		case f.due[tokens]:
			f.publishLocked(a)
		case beats:
			f.publishLocked(&Announcement{Robot: a.Robot, Server: a.Server, Epoch: a.Epoch, Version: a.Version, Heartbeat: true})
		}
	}
	clear(f.due)
}

func (f *others) publishLocked(a *Announcement) {
	data, err := json.Marshal(a)
	if err != nil {
		return // it consists of texts
	}
	// Without a connection it is said again when there is one.
	_ = f.nc.Publish(a.subject(), data)
}

// Register implements mns.Registry. What is registered is announced.
func (f *Fleet) Register(ctx context.Context, r mns.Registration) (mns.Lease, error) {
	for _, m := range r.Memories {
		if robot, name := engram.SplitName(m); robot != "" {
			return mns.Lease{}, engram.Errorf(engram.Invalid, m, "a memory of this name could not be told from %s of robot %s; take a name without a colon", name, robot)
		}
	}
	lease, err := f.Registry.Register(ctx, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if engram.CodeOf(err) == engram.Conflict && !f.holdsLocked(r.Server) {
			delete(f.hosted, r.Server)
		}
		return lease, err
	}
	f.hosted[r.Server] = r
	for id, old := range f.own {
		if old.server == r.Server {
			delete(f.own, id)
		}
	}
	f.own[lease.ID] = &announced{server: r.Server, ttl: lease.TTL, deadline: time.Now().Add(lease.TTL)}
	f.announceLocked(r)
	return lease, nil
}

// holdsLocked reports whether a server has a lease, as one does that was refused more memories.
func (f *Fleet) holdsLocked(server string) bool {
	for _, a := range f.own {
		if a.server == server && time.Now().Before(a.deadline) && a.ttl > 0 {
			return true
		}
	}
	return false
}

// announceLocked announces a registration, if it says anything new.
func (f *Fleet) announceLocked(r mns.Registration) {
	a := &Announcement{
		Robot: f.o.Robot, Server: r.Server, Epoch: rand.Uint64(),
		Memories: slices.Clone(r.Memories), Copies: slices.Clone(r.Copies), Addresses: reachable(r.Addresses),
		born: time.Now(),
	}
	if a.Robot == "" || len(a.Addresses) == 0 {
		return
	}
	tokens := a.tokens()
	if old := f.versions[tokens]; old != nil {
		if slices.Equal(old.Memories, a.Memories) && slices.Equal(old.Copies, a.Copies) && slices.Equal(old.Addresses, a.Addresses) {
			return
		}
		a.Epoch, a.Version, a.born = old.Epoch, old.Version+1, old.born
	} else {
		f.changedLocked() // another robot's server of this name counts no more
	}
	f.versions[tokens] = a
	f.due[tokens] = true
	f.wakeLocked()
}

// Renew implements mns.Registry. A server that renews its lease is there, however long the
// robot's own name system takes to say so: others are told that it has gone when it says
// so, and when it has not registered again though that has lost its lease.
func (f *Fleet) Renew(ctx context.Context, lease uint64) error {
	f.mu.Lock()
	a := f.own[lease]
	if a != nil {
		a.deadline = time.Now().Add(a.ttl)
	}
	f.mu.Unlock()
	err := f.Registry.Renew(ctx, lease)
	if a != nil && engram.CodeOf(err) == engram.NotFound {
		f.mu.Lock()
		a.ttl = 0 // this lease is not renewed again
		f.mu.Unlock()
	}
	return err
}

// Release implements mns.Registry.
func (f *Fleet) Release(ctx context.Context, lease uint64) error {
	err := f.Registry.Release(ctx, lease)
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.own[lease]; a != nil {
		delete(f.hosted, a.server)
	}
	f.leaveLocked(lease)
	return err
}

// leaveLocked says that the server of a lease has gone.
func (f *others) leaveLocked(lease uint64) {
	a := f.own[lease]
	if a == nil {
		return
	}
	delete(f.own, lease)
	gone := Announcement{Robot: f.o.Robot, Server: a.server, Gone: true}
	tokens := gone.tokens()
	if last := f.versions[tokens]; last != nil {
		gone.Epoch, gone.Version = last.Epoch, last.Version
		delete(f.versions, tokens)
		f.publishLocked(&gone)
	}
}

// Gather waits until others have answered the question for their names that Join
// asked: until for a third of the longest time nobody new was heard, or ctx ends.
func (f *Fleet) Gather(ctx context.Context, longest time.Duration) {
	deadline := time.After(longest)
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(longest / 3):
			return
		case <-deadline:
			return
		case <-ctx.Done():
			return
		}
	}
}
