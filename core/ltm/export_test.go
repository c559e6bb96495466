package ltm

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// What the tests of the package from outside share with those from inside.
var (
	SlowSelect   = slowSelect
	DrawSelector = drawSelector
)

// EpisodeMark is a mark with the same time kept before and after.
func EpisodeMark(at engram.Time, label string, around time.Duration) episode.Mark {
	return episode.Mark{Time: at, Label: label, Before: around, After: around}
}

// InOrder returns the names of sealed episodes of one epoch in their order.
func InOrder(epoch uint64, infos ...episode.Info) (names []string) {
	v := &version{sealed: map[string]*handle{}}
	for _, info := range infos {
		v.sealed[info.Name] = &handle{name: info.Name, info: info}
	}
	for _, h := range v.ofEpoch(epoch) {
		names = append(names, h.name)
	}
	return names
}

// Orders are those that are not carried out yet.
func (s *Store) Orders() []order { return s.state.content().Orders }

// FinishOrders carries them out, as it is done by itself now and then.
func (s *Store) FinishOrders() { s.forgetter.finishOrders() }

// SetMaxChannels sets how many entities an episode holds at most.
func SetMaxChannels(n int) (restore func()) {
	before := maxChannels
	maxChannels = n
	return func() { maxChannels = before }
}

// SetMaxLinked sets how many snapshots are found to be linked at most.
func SetMaxLinked(n int) (restore func()) {
	before := maxLinked
	maxLinked = n
	return func() { maxLinked = before }
}

// SetMaxMarks sets from how many marks on an episode is sealed.
func SetMaxMarks(n int) (restore func()) {
	before := maxMarks
	maxMarks = n
	return func() { maxMarks = before }
}

// HoldRecorder has the recorder wait until it is let go.
func (s *Store) HoldRecorder() (release func()) {
	held, let := make(chan struct{}), make(chan struct{})
	go s.recorder.do(context.Background(), func() error { close(held); <-let; return nil })
	<-held
	return func() { close(let) }
}

// Progress returns what is closed when the recorder comes on.
func (s *Store) Progress() <-chan struct{} {
	p := &s.recorder.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// SpoilCodec has an entity stored by a codec that there is not, until policies change.
func (s *Store) SpoilCodec(ctx context.Context, entity engram.ID) error {
	return s.spoil(ctx, entity, func(ch *episode.Channel) { ch.Codec.Codec = "none" })
}

// SpoilEntity has all of an entity refused by every episode, until policies change.
func (s *Store) SpoilEntity(ctx context.Context, entity engram.ID) error {
	return s.spoil(ctx, entity, func(ch *episode.Channel) { ch.Entity = entity.Parent() })
}

func (s *Store) spoil(ctx context.Context, entity engram.ID, how func(*episode.Channel)) error {
	return s.recorder.do(ctx, func() error {
		e := s.recorder.entity(entity)
		spoiled := *e.channel
		how(&spoiled)
		e.channel = &spoiled
		return nil
	})
}

// LookBack has the recorder record what it lost, if the log has it, as it does by itself
// some time after it has caught up.
func (s *Store) LookBack(ctx context.Context) error {
	return s.recorder.do(ctx, func() error { s.recorder.prepareCatchUp(); return nil })
}

// GiveUp has the recorder be one that could not record something, which the log keeps.
func (s *Store) GiveUp(ctx context.Context) error {
	return s.recorder.do(ctx, func() error { s.recorder.gaveUp = true; return nil })
}

// SurveyOf tells what an order about what a pattern matches would forget; meanwhile is
// called when it has found the first entity.
func (s *Store) SurveyOf(ctx context.Context, pattern string, meanwhile func()) (Forgotten, error) {
	o := order{Patterns: []string{pattern}, Span: engram.Always(), Until: engram.MaxTime, Epoch: s.wm.Epoch(), Number: s.wm.Number(), Copies: true}
	u, err := s.orderBook.compile(o)
	if err != nil {
		return Forgotten{}, err
	}
	copied, once := u.copied, sync.OnceFunc(meanwhile)
	u.copied = func(id engram.ID) bool { once(); return copied(id) }
	return s.forgetter.surveyOrder(ctx, u)
}

// stateIn returns what is noted in the folder of a store that is closed.
func stateIn(dir string) (*state, error) {
	s := &state{files: &smallFiles{fs: vfs.OS, dir: dir, health: &health{log: slog.Default()}, reserve: newReserve(vfs.OS, dir)}}
	return s, s.load()
}

// AddOrder puts an order into the folder of a store that is closed, as a crash leaves
// it: to forget what the pattern matches, given in an epoch after two updates; of copies
// up to arrivals.
func AddOrder(dir, pattern string, epoch uint64, copied map[string]engram.Time) error {
	s, err := stateIn(dir)
	if err != nil {
		return err
	}
	return s.change(func(c *stateContent) {
		c.Orders = append(c.Orders, order{
			Patterns: []string{pattern}, Span: engram.Always(), Why: "asked", Until: engram.Now(), Epoch: epoch, Number: 2, Copied: copied,
		})
	})
}

// RunningRules returns how many standing rules are followed.
func (s *Store) RunningRules() int {
	s.ruleSet.mu.Lock()
	defer s.ruleSet.mu.Unlock()
	return len(s.ruleSet.mu.running)
}

// SetMaxAllMarks sets how many marks there are at most.
func SetMaxAllMarks(n int) (restore func()) {
	before := maxAllMarks
	maxAllMarks = n
	return func() { maxAllMarks = before }
}

// SetMaxStateFile sets how many bytes state.json has at most.
func SetMaxStateFile(n int64) (restore func()) {
	before := maxStateFile
	maxStateFile = n
	return func() { maxStateFile = before }
}

// HoldRules has standing rules wait before they set a mark.
func (s *Store) HoldRules() (release func()) {
	s.keeper.growth.mu.Lock()
	return s.keeper.growth.mu.Unlock
}

// SetBrokenRule sets a rule that is interrupted as soon as it is followed.
func (s *Store) SetBrokenRule(r Rule) error {
	run, err := s.ruleSet.newRun(r)
	if err != nil {
		return err
	}
	over, end := context.WithCancel(context.Background())
	end()
	if run.filter, err = s.ruleSet.wm.Compiler().Filter(over, r.When, s.ruleSet.options.Types, 0); err == nil {
		s.ruleSet.run(run)
	}
	return err
}

// AddRule puts a rule into the folder of a store that is closed, unchecked.
func AddRule(dir string, r Rule) error {
	s, err := stateIn(dir)
	if err != nil {
		return err
	}
	return s.change(func(c *stateContent) { c.Rules = append(c.Rules, r) })
}

// Stopped is closed when a store that is closed waits no more for its recorder.
func (s *Store) Stopped() <-chan struct{} { return s.recorder.stop }

// TryAgain tries what the system refused at the start, as it is done by itself now and then.
func (s *Store) TryAgain(ctx context.Context) error {
	if err := s.forgetting.lock(ctx); err != nil {
		return err
	}
	defer s.forgetting.unlock()
	for _, r := range s.repairer.refused {
		*r = retry{}
	}
	s.repairer.tryAgain(ctx)
	return nil
}

// NoteLosses has the recorder look for what was lost, as it does by itself now and then,
// after something else that it has not seen then.
func (s *Store) NoteLosses(ctx context.Context, meanwhile func()) error {
	return s.recorder.do(ctx, func() error {
		meanwhile()
		s.recorder.lossCount.looked = time.Time{}
		s.recorder.lossCount.note(ctx, s.recorder)
		return nil
	})
}

// Flush writes what of the open episode waits in RAM, as it is done every few seconds.
func (s *Store) Flush(ctx context.Context) error {
	return s.recorder.do(ctx, func() error { return s.recorder.writer.Flush(ctx) })
}

// ReplaceReserved writes a file, in the room that is reserved in dir if there is no other.
func ReplaceReserved(fs vfs.FS, dir, path string, text []byte) error {
	return newReserve(fs, dir).replaceFile(fs, path, text)
}

// KeepDigests writes what indexes keep beside episodes, as it is done by itself now and then.
func (s *Store) KeepDigests(ctx context.Context) {
	s.digester.passing.Lock()
	s.digester.refused, s.digester.swept = retry{}, false
	s.digester.passing.Unlock()
	s.digester.work(ctx)
}

// StopDigester has what indexes keep written by KeepDigests alone.
func (s *Store) StopDigester() { s.digester.close() }

// LookAgain has what is beside episodes looked at again, as after a start.
func (s *Store) LookAgain() {
	for _, h := range s.disk.episodes.current().sealed {
		h.digests.Store(nil)
	}
}

// IsWanted reports whether somebody waits to rewrite or to drop an episode.
func (s *Store) IsWanted() bool {
	for _, h := range s.disk.episodes.current().sealed {
		if h.wanted.Load() > 0 {
			return true
		}
	}
	return false
}
