package follow

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// View is what a [Follower] keeps. Its methods are called by one goroutine at a time, and must
// not call those of the follower that wait.
type View interface {
	// Apply takes updates of one server, which bear its epoch, in the order of their numbers.
	// Some may come twice. It returns memories that are to be read anew for another reason than
	// a loss. After an error the follower subscribes again, after a pause, and the same updates
	// come again.
	Apply(epoch uint64, updates []engram.Update) (anew []string, err error)
}

// Reader is a view that can be read anew. One that cannot hears of losses in what it applies.
type Reader interface {
	View
	// Query asks for what the view is made of, in some memories; nil are all.
	Query(memories []string) engram.Query
	// Reset takes the answer. Missing are memories that were not reached: these are read again
	// later. After an error of code Unavailable, Exhausted or Canceled all is read again later.
	Reset(ctx context.Context, r *engram.Result, missing []string) error
}

// Service is what a follower needs of a server, or of a client.
type Service interface {
	engram.Reader
	engram.Subscriber
}

// Options say what is followed.
type Options struct {
	Patterns []engram.Pattern
	Start    engram.Start  // of the first subscription; a [Reader] is read as well
	Source   engram.Source // of the subscription
	// Queue is how many updates may wait; what it loses is read anew. 0 are 65,536, or as many
	// as the server allows.
	Queue int
	// Local says that the server is in the same process, so that [Follower.Pull] can be called.
	// Opening is Unsupported where it is not.
	Local bool
	// Trouble is called with the reason when the view is not up to date and that is tried
	// again later, and with nil when it is; nil is nobody.
	Trouble func(why error)
}

// Follower keeps a view up to date. All methods are safe for concurrent use.
type Follower struct {
	Marks
	svc  Service
	view View
	o    Options
	own  []string // memories of the own robot that the patterns name

	begun  bool
	cancel context.CancelFunc
	done   chan struct{}

	waiting atomic.Pointer[context.CancelFunc] // ends the background's waiting for the stream

	// taking is held by who takes from the stream. It guards what follows.
	taking chan struct{}
	local  local             // the stream, if it is in the same process
	last   engram.Start      // after what was taken
	owed   map[string]uint64 // memories to be read anew, with the epoch of who said so
	all    bool              // all are
	to     map[uint64]uint64 // by epoch, how far the view is once what is owed was read
	pause  time.Duration     // before what failed is tried again
	due    time.Time         // when that is
	failed error             // why what is owed was not read

	reading sync.Mutex
	stream  engram.UpdateStream // nil while there is none; it changes while taking is held, too
	known   map[string]bool     // memories that were read
	come    map[string]Mark     // by memory of another robot, how far its updates have come
	lost    atomic.Uint64
}

// local is a stream of a server in the same process: what was committed lies in it before who
// committed it is answered. Wait may be called beside Poll.
type local interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
}

// How long what failed waits for the next attempt: twice as long each time.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

// mostWaiting is how many updates wait to be taken if the options do not say.
const mostWaiting = 1 << 16

// New returns a follower that has not begun yet: see [Follower.Open] and [Follower.Start].
func New(svc Service, view View, o Options) *Follower {
	f := &Follower{
		svc: svc, view: view, o: o, last: o.Start, done: make(chan struct{}), taking: make(chan struct{}, 1),
		owed: map[string]uint64{}, to: map[uint64]uint64{}, known: map[string]bool{}, come: map[string]Mark{}, pause: firstPause,
	}
	f.own = ownOf(o.Patterns)
	return f
}

// Open subscribes and reads: the view has all then that was committed before the call, of
// memories of others as far as these are reached.
func (f *Follower) Open(ctx context.Context) error {
	f.taking <- struct{}{}
	defer f.release()
	if err := f.subscribe(ctx); err != nil {
		return err
	}
	f.all = true
	if err := f.read(ctx); err != nil {
		f.leave()
		return err
	}
	return nil
}

func (f *Follower) release() { <-f.taking }

// subscribe subscribes where what was taken ended.
func (f *Follower) subscribe(ctx context.Context) error {
	sub := engram.Subscription{Patterns: f.o.Patterns, WithData: true, Source: f.o.Source, Start: f.last, Queue: f.o.Queue}
	if sub.Queue == 0 {
		sub.Queue = mostWaiting
	}
	stream, err := f.svc.Subscribe(ctx, sub)
	if engram.CodeOf(err) == engram.Exhausted && f.o.Queue == 0 {
		sub.Queue = 0 // as many as the server allows
		stream, err = f.svc.Subscribe(ctx, sub)
	}
	if err != nil {
		return err
	}
	f.enter(stream)
	if f.local, _ = stream.(local); f.o.Local && f.local == nil {
		f.leave()
		return engram.Errorf(engram.Unsupported, "", "the view is kept of a server in the same process only")
	}
	return nil
}

func (f *Follower) enter(stream engram.UpdateStream) {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.stream = stream
}

// leave closes the stream; there is an error that counts more than one of that.
func (f *Follower) leave() {
	if f.stream != nil {
		_ = f.stream.Close()
	}
	f.enter(nil)
	f.local = nil
}

// Start follows in the background, until [Follower.Close] or until nothing new can come. What
// was not opened is opened then, as soon as that succeeds.
func (f *Follower) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.begun = cancel, true
	go func() {
		defer close(f.done)
		f.run(ctx)
	}()
}

// Done returns a channel that is closed when the follower follows no more.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Close ends the follower: who waits is told Canceled. It waits for what is done in the
// background.
func (f *Follower) Close() error {
	if f.begun {
		f.cancel()
		<-f.done
	}
	f.End(engram.Errorf(engram.Canceled, "", "the view was closed"))
	f.taking <- struct{}{}
	defer f.release()
	if f.stream == nil {
		return nil
	}
	return f.stream.Close()
}

// Lost returns how many updates did not come because they came too fast. Where the view could be
// read anew it has what they told.
func (f *Follower) Lost() uint64 { return f.lost.Load() }

// Epoch returns the epoch of the server at which a memory is followed; 0 if it is at none just
// now.
func (f *Follower) Epoch(memory string) uint64 { return epochOf(f.followed(), memory) }

func (f *Follower) followed() engram.UpdateStream {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.stream
}

func epochOf(stream engram.UpdateStream, memory string) uint64 {
	if of, ok := stream.(interface{ EpochOf(memory string) uint64 }); ok {
		return of.EpochOf(memory)
	}
	if stream == nil {
		return 0
	}
	return stream.Epoch()
}

// Come returns how far the updates of a memory of another robot have come, at whoever is
// followed for it.
func (f *Follower) Come(memory string) Mark {
	f.reading.Lock()
	defer f.reading.Unlock()
	return f.come[memory]
}

// FollowedIn returns the memories that are followed at the server of an epoch.
func (f *Follower) FollowedIn(epoch uint64) (memories []string) {
	f.reading.Lock()
	stream, known := f.stream, slices.Collect(maps.Keys(f.known))
	f.reading.Unlock()
	for _, memory := range known {
		if epochOf(stream, memory) == epoch {
			memories = append(memories, memory)
		}
	}
	return memories
}

// Wait waits until the view has all up to marks. The error is why nothing new comes, or Canceled
// when ctx ends.
func (f *Follower) Wait(ctx context.Context, marks ...Mark) error {
	for {
		news, ended := f.News()
		if !slices.ContainsFunc(marks, func(m Mark) bool { return !f.Has(m) }) {
			return nil
		}
		if ended != nil {
			return ended
		}
		select {
		case <-news:
		case <-ctx.Done():
			return engram.Errorf(engram.Canceled, "", "given up waiting for news: %w", ctx.Err())
		}
	}
}

// Pull takes all that was committed before the call at a server in the same process. What was
// lost is read anew; the error says why it could not be.
func (f *Follower) Pull(ctx context.Context) error {
	select {
	case f.taking <- struct{}{}:
		defer f.release()
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "given up before the view was up to date: %w", ctx.Err())
	}
	for taken := 0; f.local != nil && taken <= mostWaiting; { // what waited at the beginning
		updates, err := f.local.Poll()
		if err != nil {
			return err
		}
		if len(updates) == 0 {
			break
		}
		if taken += len(updates); !f.take(ctx, updates) {
			break
		}
	}
	if err := f.heal(ctx); err != nil {
		return err
	}
	_, ended := f.News()
	return ended
}

// run follows until ctx ends or nothing new comes.
func (f *Follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.advance(ctx); err != nil {
			return
		}
	}
}

// interrupt has the background look what is due.
func (f *Follower) interrupt() {
	if cancel := f.waiting.Load(); cancel != nil {
		(*cancel)()
	}
}

// advance does what there is to do, or else waits until something comes or is due. The error is why nothing new comes.
func (f *Follower) advance(ctx context.Context) error {
	wait, cancel := context.WithCancel(ctx)
	f.waiting.Store(&cancel)
	defer cancel()
	defer f.waiting.Store(nil)
	stream, due, some, err := f.present(ctx)
	if err != nil || some {
		return err
	}
	if !due.IsZero() {
		var cancel context.CancelFunc
		wait, cancel = context.WithDeadline(wait, due)
		defer cancel()
	}
	if stream == nil {
		<-wait.Done()
		return nil
	}
	if at, ok := stream.(local); ok {
		_ = at.Wait(wait) // why the stream ended tells who takes from it
		return nil
	}
	updates, err := stream.Next(wait)
	if err != nil && wait.Err() != nil {
		return nil
	}
	f.taking <- struct{}{}
	defer f.release()
	return f.process(ctx, updates, err)
}

// present does what can be done without waiting, and reports whether that was something. Else it returns the stream that is
// to be waited for, and until when at most; zero is for ever.
func (f *Follower) present(ctx context.Context) (stream engram.UpdateStream, due time.Time, some bool, err error) {
	f.taking <- struct{}{}
	defer f.release()
	if f.stream == nil && !time.Now().Before(f.due) {
		return nil, due, true, f.process(ctx, nil, f.reopen(ctx))
	}
	if f.local != nil {
		updates, err := f.local.Poll()
		if err != nil || len(updates) > 0 {
			return nil, due, true, f.process(ctx, updates, err)
		}
	}
	if f.stream == nil || f.owes() {
		if due = f.due; f.stream != nil && !time.Now().Before(due) {
			return nil, due, true, f.process(ctx, nil, nil)
		}
	}
	return f.stream, due, false, nil
}

// process takes what came of the stream, or why nothing did.
func (f *Follower) process(ctx context.Context, updates []engram.Update, err error) error {
	if err != nil {
		return f.broken(ctx, err)
	}
	if len(updates) > 0 && !f.take(ctx, updates) {
		return nil
	}
	if err = f.heal(ctx); err != nil && !MayPass(err) {
		f.End(err)
		return err
	}
	return nil
}

func (f *Follower) owes() bool { return f.all || len(f.owed) > 0 }

// take gives the view updates, and notes what is to be read anew, and how far the view is then. It reports whether the
// view has taken them; else they come again.
func (f *Follower) take(ctx context.Context, updates []engram.Update) bool {
	epoch := f.stream.Epoch()
	to := Mark{Epoch: epoch}
	var dropped uint64
	f.reading.Lock()
	for i := range updates {
		u := &updates[i]
		memory := u.ID.Memory()
		dropped += u.Dropped
		other := strings.Contains(memory, ":")
		if other {
			f.come[memory] = Mark{epoch, u.Number}
		}
		if !other || u.Dropped > 0 || !f.isHome(epoch) { // of copies there are no marks
			to.Number = max(to.Number, u.Number)
		}
		if u.Restarted || !f.known[memory] {
			f.owe(memory, epoch)
		}
	}
	f.reading.Unlock()
	if dropped > 0 { // of any memory of that server
		f.lost.Add(dropped)
		for _, memory := range f.FollowedIn(epoch) {
			f.owe(memory, epoch)
		}
	}
	anew, err := f.view.Apply(epoch, updates)
	if err != nil {
		f.leave()
		f.fail(ctx, err)
		return false
	}
	for _, memory := range anew {
		f.owe(memory, epoch)
	}
	f.to[epoch] = max(f.to[epoch], to.Number)
	f.last = engram.Start{Kind: engram.StartNumber, Number: updates[len(updates)-1].Number, Epoch: epoch}
	return true
}

// isHome reports whether an epoch is that of a server of the own robot.
func (f *Follower) isHome(epoch uint64) bool {
	return slices.ContainsFunc(f.own, func(memory string) bool { return epochOf(f.stream, memory) == epoch })
}

// ownOf returns the names of the memories of the own robot that patterns name.
func ownOf(patterns []engram.Pattern) (names []string) {
	for _, p := range patterns {
		if len(p.Levels) == 0 || p.Levels[0].Kind != engram.NameOneOf {
			continue
		}
		for _, name := range p.Levels[0].Names {
			if !strings.Contains(name, ":") {
				names = append(names, name)
			}
		}
	}
	return names
}

// owe notes that a memory is to be read anew.
func (f *Follower) owe(memory string, epoch uint64) {
	if _, reads := f.view.(Reader); !reads {
		return
	}
	if _, owed := f.owed[memory]; !owed {
		f.due = time.Time{}
	}
	f.owed[memory] = epoch
}

// heal reads what is owed, if it is due, and notes how far the view has come. The error says why
// something is still owed.
func (f *Follower) heal(ctx context.Context) error {
	err := f.failed
	if f.owes() && !time.Now().Before(f.due) {
		err = f.read(ctx)
		f.fail(ctx, err)
	}
	if !f.owes() {
		f.pause = firstPause
	}
	f.reach()
	return err
}

// fail notes why the view is not up to date, and when that is tried again; nil says that it is.
func (f *Follower) fail(ctx context.Context, err error) {
	if f.o.Trouble != nil && (err != nil || f.failed != nil) {
		f.o.Trouble(err)
	}
	if f.failed = err; err == nil || ctx.Err() == nil { // else who comes next tries
		f.due, f.pause = time.Now().Add(f.pause), min(2*f.pause, longestPause)
	}
	f.interrupt()
}

// reach tells how far the view has come: of epochs of which something is owed no further.
func (f *Follower) reach() {
	f.reading.Lock()
	for memory := range f.owed {
		delete(f.come, memory)
	}
	f.reading.Unlock()
	lacking := slices.Collect(maps.Values(f.owed)) // epochs
	var marks []Mark
	for epoch, number := range f.to {
		if !f.all && !slices.Contains(lacking, epoch) {
			marks = append(marks, Mark{epoch, number})
			delete(f.to, epoch)
		}
	}
	if len(marks) > 0 {
		f.Reach(marks...)
	}
}

// read has the view read anew what is owed. Memories that are not reached stay owed.
func (f *Follower) read(ctx context.Context) error {
	reader, reads := f.view.(Reader)
	if !reads {
		f.all = false
		return nil
	}
	var memories []string
	if !f.all {
		memories = slices.Sorted(maps.Keys(f.owed))
	}
	r, err := f.svc.Query(ctx, reader.Query(memories))
	if err != nil {
		return err
	}
	missing := Unreached(r)
	if err := reader.Reset(ctx, r, missing); err != nil {
		return err
	}
	if f.all {
		memories = slices.Clone(f.own) // the answer does not name one in which there is nothing yet
		clear(f.owed)
	}
	f.all = false
	for _, n := range r.Memories {
		memories = append(memories, n.Name)
	}
	f.reading.Lock()
	defer f.reading.Unlock()
	for _, memory := range memories {
		there := !slices.Contains(missing, memory)
		f.known[memory] = there
		if there {
			delete(f.owed, memory)
		}
	}
	return nil
}

// Unreached returns the memories that an answer lacks because they were not reached.
func Unreached(r *engram.Result) (missing []string) {
	for _, lack := range r.Missing {
		if lack.Reason == engram.MissingUnreachable || lack.Reason == engram.MissingNotBelieved {
			missing = append(missing, lack.ID.Memory())
		}
	}
	return missing
}

// MayPass reports whether an error may be gone when what failed is tried again.
func MayPass(err error) bool {
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.Exhausted, engram.Canceled:
		return true
	}
	return false
}

// reopen subscribes again where the stream broke.
func (f *Follower) reopen(ctx context.Context) error {
	if err := f.subscribe(ctx); err != nil {
		return err
	}
	f.all, f.due = true, time.Time{}
	return nil
}

// broken notes that the stream broke, or could not be had. It returns the error if it does not come again.
func (f *Follower) broken(ctx context.Context, err error) error {
	opened := f.stream != nil
	f.leave()
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.Canceled, engram.Forbidden:
		if opened || f.o.Local { // that of this process was closed
			f.End(err)
			return err
		}
	case engram.Conflict: // the server has begun a new epoch
		f.last = f.o.Start
	}
	f.fail(ctx, err)
	return nil
}
