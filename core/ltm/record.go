package ltm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/policy/record"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// recorder records what the working memory is told. Once it runs, its fields belong to its
// goroutine, but for progress, counts, sealer and what is atomic.
type recorder struct {
	options  *Options
	health   *health
	policies *policies
	account  *account
	disk     *disk
	folder   *episodeFolder
	logs     *logs
	marked   *markedSpans // all in them is recorded

	wm      *wm.WM
	stream  engram.UpdateStream
	batches chan []engram.Update // from the feeder, which waits on taken for its turn
	taken   chan struct{}
	orders  chan func()   // what others want done between two updates
	settled chan func()   // notes a checkpoint
	over    chan struct{} // closed when run has ended
	stop    chan struct{} // closed when the store closes in earnest
	ended   sync.WaitGroup
	ctx     context.Context // ends after all was recorded
	cancel  context.CancelFunc

	filters   *record.Filters
	entities  map[engram.ID]*recorded
	lossCount lossCount // of what no log has
	handle    *handle   // the open episode; nil before its first version
	writer    *episode.Writer
	began     engram.Time
	channels  int
	trained   dictionaries // of the open episode
	added     uint64
	seal      *sealing
	last      uint64      // the number of the last update seen
	arrived   engram.Time // when the newest of those seen arrived
	gaps      gaps
	catchUp   *catchUp    // from the log; nil if none is prepared
	notAgain  engram.Time // until then
	gaveUp    bool        // something was not recorded as the store closes: the log keeps it
	left      left        // of that, how much
	// withheld says that something that was promised to survive is in no episode: the log
	// is not cut off in this epoch.
	withheld  bool
	uncoded   map[engram.ID]bool // core segments of which something was stored plain instead of by their codec
	beginning bool               // the log is being read back

	progress progress
	counts   counts
	sealer   sealer
}

// recorded is what the recorder knows of an entity.
type recorded struct {
	channel *episode.Channel
	durable bool // its segment's commits are logged
	in      *handle
	// newest is the newest state, if it was not recorded: of durable segments.
	newest *engram.Snapshot
	tally  *tally
	of     *providerCount
	copied bool        // it is a copy: what arrives is of its owner's clock …
	came   engram.Time // … and this is when the last version was offered, by that of this server
}

// queueLength and the working memory's Limits.MaxQueueBytes bound what waits for the
// recorder.
const queueLength = 65_536

func newRecorder(s *Store, w *wm.WM) *recorder {
	r := &recorder{
		options: &s.options, health: &s.health, policies: &s.policies, account: &s.account, disk: &s.disk,
		folder: &s.episodeFolder, logs: &s.logs, marked: &s.keeper.marked, wm: w,
		batches: make(chan []engram.Update), taken: make(chan struct{}),
		orders: make(chan func()), settled: make(chan func()), over: make(chan struct{}),
		stop: make(chan struct{}), filters: record.NewFilters(s.policies.Table, s.options.Types),
		entities: map[engram.ID]*recorded{}, lossCount: newLossCount(), left: left{}, uncoded: map[engram.ID]bool{},
	}
	r.counts.tallies = map[engram.ID]*tally{}
	r.progress.changed = make(chan struct{})
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.sealer = sealer{
		options: r.options, health: r.health, account: r.account, disk: r.disk, logs: r.logs,
		jobs: make(chan job), ctx: r.ctx, stop: r.stop, unsealed: map[engram.ID]uint64{},
	}
	return r
}

// start subscribes and records from then on. The sealer runs already.
func (r *recorder) start(ctx context.Context) error {
	r.lossCount.begin(r.wm, r.options.Now())
	limit := r.wm.Limits()
	var err error
	r.stream, err = r.wm.Subscribe(ctx, engram.Subscription{WithData: true, Slow: engram.SlowDropOldest, Queue: min(queueLength, limit.MaxQueue)})
	if err != nil {
		return err
	}
	r.last = r.wm.Number()
	r.progress.set(r.last)
	r.ended.Go(r.feed)
	r.ended.Go(r.run)
	return nil
}

// feed hands the updates over, batch by batch, until the working memory is closed and
// its queue is empty.
func (r *recorder) feed() {
	defer close(r.batches)
	for {
		batch, err := r.stream.Next(r.ctx)
		if err != nil {
			return
		}
		r.batches <- batch
		<-r.taken
	}
}

// tick is how often the recorder looks after what depends on time.
const tick = time.Second

func (r *recorder) run() {
	defer close(r.sealer.jobs)
	defer close(r.over)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case batch, ok := <-r.batches:
			if !ok {
				r.finish()
				return
			}
			for i := range batch {
				r.update(&batch[i])
			}
			r.taken <- struct{}{}
			r.progress.set(r.last)
			r.checkSize()
		case order := <-r.orders:
			order()
		case note := <-r.settled:
			note()
		case <-ticker.C:
			r.filters.Expire(r.options.Now())
			r.checkSize()
			r.prepareCatchUp()
			r.lossCount.note(r.ctx, r)
		}
		r.sealIfDue()
		r.catchUpIfDue()
	}
}

// attend does what others want done, and what is due, in the middle of a long piece of
// work between two updates.
func (r *recorder) attend() {
	for {
		select {
		case order := <-r.orders:
			order()
			continue
		case note := <-r.settled:
			note()
			continue
		default:
		}
		r.checkSize()
		r.sealIfDue()
		return
	}
}

// stopped reports whether the store may not wait any more: nothing more is recorded.
func (r *recorder) stopped() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// do has the recorder's goroutine call f between two updates, and waits for it. It
// returns Unavailable when the recorder has ended.
func (r *recorder) do(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	select {
	case r.orders <- func() { done <- f() }:
	case <-r.over:
		return engram.Errorf(engram.Unavailable, "", "the long-term memory is closed")
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
	}
}

// update records one update, if its policy wants it.
func (r *recorder) update(u *engram.Update) {
	if u.Number <= r.last {
		return // it came while catching up
	}
	if u.Dropped > 0 {
		r.readHistory(u)
	}
	r.see(u)
}

// see offers an update to its policy, unless it is too late.
func (r *recorder) see(u *engram.Update) {
	r.last, r.arrived = u.Number, max(r.arrived, u.Arrived)
	entity := u.ID.Truncate(engram.LevelEntity)
	if r.stopped() {
		r.leave(entity)
		return
	}
	r.lossCount.give(r.entity(entity).of, u)
	r.offer(entity, u.Snapshot)
}

// readHistory takes what the queue dropped before u from the working memory, which may be
// closed, as far as it has it, and counts the rest. What of that was promised to survive
// is taken from the log later.
func (r *recorder) readHistory(u *engram.Update) {
	lost := uint64(0)
	err := r.wm.Kept(r.ctx, r.last, u.Number-1, func(batch []engram.Update) error {
		lost += r.missed(&batch[len(batch)-1], uint64(len(batch)))
		for i := range batch {
			r.see(&batch[i])
		}
		r.progress.set(r.last)
		r.attend()
		return nil
	})
	if err != nil { // it was canceled
		return
	}
	lost += r.missed(u, 1)
	r.last = max(r.last, u.Number-1)
	if lost > 0 {
		r.lose(lost, fmt.Sprintf("%d updates before number %d, which arrived at %v, were gone from the working memory before the recorder came to them; those of logged and synced segments follow from the log", lost, u.Number, u.Arrived))
	}
}

// lose counts and names what is not recorded though its policy wants it.
func (r *recorder) lose(n uint64, why string) {
	r.counts.lost.Add(n)
	r.note(why)
}

// note names something that is not recorded. What repeats itself is logged ever more
// rarely.
func (r *recorder) note(why string) {
	var times uint64
	if r.writer != nil {
		times = r.writer.Lose(why)
	} else {
		times = r.counts.losses.Add(why)
	}
	if times&(times-1) == 0 {
		r.options.Log.Warn("the long-term memory could not record all", "why", why, "times", times)
	}
}

// unrecordedVersion is the note of loss of a version. It does not name it, so that they
// are counted together.
func unrecordedVersion(entity engram.ID, err error) string {
	why := err.Error()
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Thing == entity.String() {
		why = e.Msg
	}
	return fmt.Sprintf("a version of %v was not recorded: %s", entity.Truncate(engram.LevelCoreSegment), why)
}

// offer offers a version to its policy.
func (r *recorder) offer(entity engram.ID, s *engram.Snapshot) {
	e := r.entity(entity)
	if e.copied {
		e.came = r.options.Now()
	}
	if r.marked.contain(s.Time) && r.policies.Of(entity).Record != policy.Never {
		r.filters.Of(entity).Recorded(s)
		r.keep(entity, s)
		return
	}
	d, _ := r.filters.Offer(entity, s, func(entity engram.ID, s *engram.Snapshot) error {
		r.keep(entity, s)
		return nil
	})
	if d.Verdict != record.Record {
		e.leaveOut(r, entity, s)
	}
}

// leaveOut notes a version that the policy does not want.
func (e *recorded) leaveOut(r *recorder, entity engram.ID, s *engram.Snapshot) {
	e.tally.filter(s)
	if e.durable && (e.newest == nil || !query.Newer(e.newest.Time, s.Time, r.wm.Present(entity))) {
		e.newest = s
	}
}

// keep records a version that its policy wants.
func (r *recorder) keep(entity engram.ID, s *engram.Snapshot) {
	e := r.entity(entity)
	if e.newest != nil && !query.Newer(e.newest.Time, s.Time, r.wm.Present(entity)) {
		e.newest = nil
	}
	if r.add(entity, e, s, false) {
		e.tally.record(s)
	}
}

// add puts a version into the open episode. It tries again while the disk refuses,
// until the store is closed: meanwhile updates wait in the working memory. It reports
// whether the version was stored.
func (r *recorder) add(entity engram.ID, e *recorded, s *engram.Snapshot, inForce bool) bool {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if r.beginning && !r.gaps.none() {
			if !inForce {
				r.gaps.postpone(s)
			}
			return false
		}
		err := r.open()
		if err == nil {
			if e.in != r.handle {
				if r.channels >= maxChannels {
					r.rotate("the episode has too many entities for one file", nil)
					continue
				}
				e.in = r.handle
				r.channels++
				r.disk.recent.add(entity)
			}
			channel := e.channel
			if !inForce {
				channel = r.trained.channel(channel, s)
			}
			err = r.writer.Add(r.ctx, channel, s, inForce)
			if refuses(err) && !inForce && channel.Codec.Codec != codec.Plain {
				if plain := r.writer.AddPlain(r.ctx, channel, s); !refuses(plain) {
					r.leaveUncoded(entity, channel, err)
					err = plain
				}
			}
		}
		if err == nil {
			if r.added++; r.added%addedStep == 0 {
				r.progress.tell()
			}
			r.health.set(recording, nil)
			return true
		}
		switch code := engram.CodeOf(err); {
		case code == engram.Corrupt:
			r.rotate("the disk refused to sync the episode before", err)
		case errors.Is(err, episode.ErrFull):
			r.rotate("the episode has too many channels for one file", nil)
			continue
		case refuses(err):
			r.lose(1, unrecordedVersion(entity, err))
			if !inForce {
				e.of.failed++
			}
			if e.durable && !inForce {
				r.withheld = true
				r.health.set(withholding, engram.Errorf(code, entity.At(s.Time).String(), "it can be in no episode; the log keeps it, and all that comes, until the server is begun anew: %w", err))
			}
			return false
		}
		r.health.set(recording, err)
		if r.beginning && pause > beginPatience {
			r.gaps.list = append(r.gaps.list, gap{from: engram.MaxTime, to: engram.MinTime})
			continue
		}
		if engram.CodeOf(err) != engram.Corrupt { // else the episode is being repaired
			r.sealer.impatient.refused(err)
		}
		r.progress.stall(true)
		closing := !r.wait(pause)
		r.progress.stall(false)
		if closing {
			r.gaveUp = true
			r.note(unrecordedVersion(entity, err))
			if !inForce {
				r.left.add(entity, 1, e.durable)
				e.of.failed++
			}
			return false
		}
	}
}

// addedStep is after how many versions who waits is told that the recorder comes on: one
// update may begin an episode with the values in force of very many entities.
const addedStep = 16

// refuses reports whether an error of a writer says that it is this version that cannot
// be stored as it was to be.
func refuses(err error) bool {
	switch engram.CodeOf(err) {
	case engram.Invalid, engram.TypeMismatch, engram.OutOfRange:
		return true
	}
	return false
}

// leaveUncoded tells that something is stored plain, since the codec that its policy
// names refuses it.
func (r *recorder) leaveUncoded(entity engram.ID, ch *episode.Channel, err error) {
	if core := entity.Truncate(engram.LevelCoreSegment); !r.uncoded[core] {
		r.uncoded[core] = true
		r.health.set(coding+core.String(), engram.Errorf(engram.CodeOf(err), ch.Codec.Codec, "it is recorded plain; set another codec: %w", err))
	}
}

// beginPatience bounds the pause between tries while a store begins: the server is to
// start, also on a full disk, and the log keeps what it has.
const beginPatience = 200 * time.Millisecond

// What is about the recorder in the store's health.
const (
	recording   = "recording"
	withholding = "recording what was promised to survive"
	coding      = "the codec of " // a core segment
)

// maxChannels is how many entities an episode holds at most. Tests change it.
var maxChannels = 60_000

// wait waits, and does meanwhile what others want done; false if the store is closing.
func (r *recorder) wait(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case order := <-r.orders:
			order()
		case <-r.stop:
			return false
		}
	}
}

// entity returns what the recorder knows of an entity.
func (r *recorder) entity(id engram.ID) *recorded {
	e := r.entities[id]
	if e == nil {
		e = &recorded{tally: r.counts.of(id), of: r.lossCount.of(id), copied: r.wm.Copies().Has(id), came: engram.MinTime}
		e.channel, e.durable = r.channel(id)
		r.entities[id] = e
	}
	return e
}

// progress tells readers how far the recorder is.
type progress struct {
	done    atomic.Uint64
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever the recorder comes on
	stalled bool
	silent  []numbers
}

// numbers is a span of update numbers, both ends inclusive.
type numbers struct{ first, last uint64 }

func (p *progress) set(number uint64) {
	p.done.Store(number)
	p.tell()
}

func (p *progress) stall(stalled bool) {
	p.mu.Lock()
	p.stalled = stalled
	p.mu.Unlock()
	p.tell()
}

// tell wakes who waits, to look anew.
func (p *progress) tell() {
	p.mu.Lock()
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
}

// skip notes numbers that the recorder is not told of: those of restored versions.
func (p *progress) skip(first, last uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done.Load()
	p.silent = slices.DeleteFunc(p.silent, func(n numbers) bool { return n.last <= done })
	p.silent = append(p.silent, numbers{first, last})
}

// news returns how many of the numbers from first to last the recorder is told of.
func (p *progress) news(first, last uint64) (n uint64) {
	if first > last {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n = last + 1 - first
	for _, s := range p.silent {
		if from, to := max(s.first, first), min(s.last, last); from <= to {
			n -= to + 1 - from
		}
	}
	return n
}

// told returns the newest number up to n that the recorder is told of.
func (p *progress) told(n uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.silent) - 1; i >= 0; i-- {
		if s := p.silent[i]; s.first <= n && n <= s.last {
			n = s.first - 1
		}
	}
	return n
}

// patience bounds how long a reader waits for a recorder that does not come on.
const patience = 5 * time.Second

// await waits until the recorder has recorded everything up to a number, as long as it
// comes on: what it has still to do is bounded by its queue. It reports whether it has.
func (p *progress) await(ctx context.Context, number uint64) bool {
	if p.done.Load() >= number {
		return true
	}
	number = p.told(number)
	var timer *time.Timer
	for {
		p.mu.Lock()
		changed, stalled := p.changed, p.stalled
		p.mu.Unlock()
		if done := p.done.Load() >= number; done || stalled {
			return done
		}
		if timer == nil {
			timer = time.NewTimer(patience)
			defer timer.Stop()
		}
		select {
		case <-changed:
			timer.Reset(patience)
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// checkpoint is a moment up to which log and working memory agree. What then was on its
// way to the disk has got its number later, when others had come.
type checkpoint struct {
	ends   map[string]wal.Position // all records before these …
	number uint64                  // … are updates up to it,
	whole  uint64                  // and all updates up to it are records before these
	moves  uint64                  // of records, until then
	err    error
}
