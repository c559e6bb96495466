package sense

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/skill/condition"
)

// DefaultRing is how many bytes a ring takes if nothing else is said: two seconds of stereo images of 640x480
// at 20 Hz are 74 MB.
const DefaultRing = 128 << 20

// Config configures an [Attention].
type Config struct {
	// Producer is the name of the provider segments of what the attention writes: SystemState/Incident and
	// SystemState/Sensor. It is needed.
	Producer string
	// Present answers conditions about the world, poses and knowledge, and knows types; memories.Present is one. It is
	// needed.
	Present condition.Present
	// RingBytes bounds the memory of the ring; 0 means [DefaultRing], and the least is [MinRing].
	RingBytes int64
	// Now is the clock; nil is the system's.
	Now func() engram.Time
	Log *slog.Logger // nil is the default one
}

// Attention is the [engram.Writer] and [engram.CommitStreamer] of a producer before a memory: it lets through what rules
// want. Its methods are safe for concurrent use.
type Attention struct {
	svc     engram.Service
	config  Config
	types   *idf.Registry
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup
	wake    chan struct{} // something in the ring is wanted

	silent map[string]bool // what cannot be told, and was logged; of report, and of Close after it

	present sync.Mutex // one goroutine asks config.Present at a time

	// mu guards what follows; nothing waits under it.
	mu struct {
		sync.Mutex
		gate     *Gate
		rules    map[string]*followed
		problems map[string]string   // of rules, by name: to be told
		unplaced map[string]string   // and of their objects
		stream   engram.UpdateStream // of rules
		number   uint64              // of what was written last
	}
}

var (
	_ engram.Writer         = (*Attention)(nil)
	_ engram.CommitStreamer = (*Attention)(nil)
)

// followed is a rule that the attention knows.
type followed struct {
	id      engram.ID // its newest snapshot
	problem string    // told last by this producer
	told    bool      // it was
	stop    func()    // ends what watches for its conditions; nil if it has none
}

// New returns the attention of a producer before a memory, once it has read the rules. It follows them until [Attention.Close].
// ctx bounds the call.
func New(ctx context.Context, svc engram.Service, c Config) (*Attention, error) {
	if err := engram.CheckName(c.Producer); err != nil {
		return nil, engram.Errorf(engram.Invalid, "Producer", "%w", err)
	}
	if c.Present == nil {
		return nil, engram.Errorf(engram.Invalid, "Present", "nobody answers conditions; memories.Present does")
	}
	if c.RingBytes < 0 {
		return nil, engram.Errorf(engram.Invalid, "RingBytes", "%d is less than nothing", c.RingBytes)
	}
	c.RingBytes = cmp.Or(c.RingBytes, DefaultRing)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil {
		c.Now = engram.Now
	}
	a := &Attention{svc: svc, config: c, types: idf.NewRegistry(), wake: make(chan struct{}, 1), silent: map[string]bool{}}
	a.mu.gate = NewGate(c.RingBytes, a.types)
	a.mu.rules, a.mu.problems = map[string]*followed{}, map[string]string{}
	ctx = engram.WithAsker(ctx, engram.Nobody) // what rules look at is not asked for
	a.ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stream, err := a.readRules(ctx)
	if err != nil {
		a.cancel()
		a.working.Wait()
		return nil, err
	}
	a.working.Go(func() { a.followRules(stream) })
	a.working.Go(a.recall)
	a.working.Go(a.locate)
	a.working.Go(a.report)
	return a, nil
}

// Counts returns what became of each sensor's snapshots.
func (a *Attention) Counts() map[engram.ID]Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.gate.Sensors()
}

// Close ends the attention. What rules want of the ring is still written, and what became of all is told, for some seconds at most.
// Nothing is committed to it afterwards.
func (a *Attention) Close() error {
	a.cancel()
	a.working.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), closing)
	defer cancel()
	for a.recallSome(ctx, nil) {
	}
	a.tell(ctx, true)
	return nil
}

// closing bounds how long the end may take.
const closing = 5 * time.Second

// recall writes what is wanted of the ring, until the attention ends.
func (a *Attention) recall() {
	var buf []byte
	for {
		select {
		case <-a.wake:
		case <-a.ctx.Done():
			return
		}
		for a.ctx.Err() == nil {
			more := a.recallSome(a.ctx, &buf)
			if !more {
				break
			}
		}
	}
}

// recallBatch is how many bytes are written from the ring in one commit.
const recallBatch = 4 << 20

// recallSome writes some of what is wanted, and reports whether there was any.
func (a *Attention) recallSome(ctx context.Context, buf *[]byte) bool {
	var own []byte
	if buf == nil {
		buf = &own
	}
	if *buf == nil {
		*buf = make([]byte, 0, recallBatch)
	}
	a.mu.Lock()
	c, tickets, grown := a.mu.gate.Wanted(*buf)
	a.mu.Unlock()
	*buf = grown
	if len(tickets) == 0 {
		return false
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing) // so that it is known what became of it
	answers, err := a.svc.Commit(sending, c)
	cancel()
	again := engram.CodeOf(err) == engram.Unavailable
	if err != nil {
		a.config.Log.Warn("what the attention recalls cannot be written", "snapshots", len(tickets), "again", again, "error", err)
		*buf = nil // it is not known who uses it still
	}
	a.mu.Lock()
	for i, t := range tickets {
		a.mu.gate.Done(t, err == nil && i < len(answers) && answers[i].Err == nil, again)
	}
	a.mu.Unlock()
	if again {
		pause(ctx, repeat)
	}
	return ctx.Err() == nil
}

// repeat is how long something that failed rests.
const repeat = 500 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// awake has what is wanted of the ring written.
func (a *Attention) awake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// typeOf returns a type, which is asked for once; nil if it is not known.
func (a *Attention) typeOf(ctx context.Context, name string) *idf.Type {
	if t, ok := a.types.Get(name); ok {
		return t
	}
	def, err := a.svc.Type(ctx, name)
	if err != nil {
		return nil
	}
	t, err := a.types.Add(def)
	if err != nil {
		return nil
	}
	return t
}
