package wm

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// Indexes are the secondary indexes over a working memory and, if there is one, its
// archive. Packages register them; queries use those that know one of their conditions.
//
// A commit does not know of them. Each follows what the memory remembers of its last
// updates (Limits.Recent) on a goroutine of its own, which begins with the first query that
// could use it. Where it falls behind farther than that it is filled anew, from what the
// memory and the archive hold; until it is, queries look at everything. Safe for
// concurrent use.
//
// To write an index is to write the three functions of [query.Index] over snapshots,
// without locks, clock or I/O. The example registers one, asks it, takes a view, and looks
// at what it names; [query.TypeIndex] is another. An index that looks into payloads is a
// [query.Digester]: what it takes of them the archive may keep, so that it is not read from
// them each time.
type Indexes struct {
	w    *WM
	runs sync.WaitGroup
	mu   struct {
		sync.Mutex
		list    []*index // by name
		archive Archive  // nil if there is none
		closed  bool
	}
}

// IndexOptions say what is registered.
type IndexOptions struct {
	// New makes an empty index. It is called whenever the index is filled.
	New func() query.Index
	// MaxBytes bounds the index, as its Size tells it; one that grows beyond it is thrown
	// away and not filled again. Default 256 MiB.
	MaxBytes int64
}

// Archive is what keeps versions that the working memory has evicted.
type Archive interface {
	// Generation changes when the archive may have got something else than what was
	// committed since; ok is false while it gets such things.
	Generation() (g uint64, ok bool)
	// EachVersion calls visit with every version in the archive, superseded ones too, some
	// perhaps more than once, once it has all of this epoch's updates up to a number; and
	// unread with the entities of which it cannot read something. An error says that not
	// all were visited. Payloads have no bytes.
	EachVersion(ctx context.Context, upTo uint64, visit func(engram.ID, *engram.Snapshot), unread func(engram.ID)) error
	// EachDigest is EachVersion for a Digester: visit is called with the digests of all
	// versions that have one, which are valid during the call. A Digester of that format made
	// them, now or in an earlier run of the program, of payloads of the same types. If visit
	// finds one Corrupt, those that are made now are visited as well; any other error of it
	// ends the call.
	EachDigest(ctx context.Context, upTo uint64, of query.Digester, visit func(engram.ID, engram.Time, []byte) error, unread func(engram.ID)) error
}

// Indexes returns the memory's secondary indexes.
func (w *WM) Indexes() *Indexes { return &w.indexes }

// Register adds an index under a name, or returns AlreadyExists. It costs nothing before
// the first query that could use it.
func (x *Indexes) Register(name string, o IndexOptions) error {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 256 << 20
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at, there := slices.BinarySearchFunc(x.mu.list, name, func(i *index, name string) int { return strings.Compare(i.name, name) })
	if there {
		return engram.Errorf(engram.AlreadyExists, name, "an index of that name is registered; remove it first")
	}
	ctx, stop := context.WithCancel(context.Background())
	digester, _ := o.New().(query.Digester)
	x.mu.list = slices.Insert(x.mu.list, at, &index{
		of: x, name: name, o: o, digester: digester, ctx: ctx, stop: stop, wake: make(chan struct{}, 1), moved: make(chan struct{}),
	})
	return nil
}

// Digesters returns an empty one of each index that looks into payloads, for who keeps what
// they take of versions: only what may be called at any time is to be called.
func (x *Indexes) Digesters() (all []query.Digester) {
	list, _ := x.all()
	for _, i := range list {
		if i.digester != nil {
			all = append(all, i.digester)
		}
	}
	return all
}

// Remove throws an index away; it is no error if there is none of that name.
func (x *Indexes) Remove(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.list = slices.DeleteFunc(x.mu.list, func(i *index) bool {
		if i.name == name {
			i.stop()
		}
		return i.name == name
	})
}

// Keep has indexes cover what an archive keeps, too. It is called before the memory is
// queried.
func (x *Indexes) Keep(a Archive) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.archive = a
}

// close throws all indexes away, and waits until they read nothing any more.
func (x *Indexes) close() {
	x.mu.Lock()
	for _, i := range x.mu.list {
		i.stop()
	}
	x.mu.list, x.mu.closed = nil, true
	x.mu.Unlock()
	x.runs.Wait()
}

// begin runs an index, unless the memory is closed.
func (x *Indexes) begin(i *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.mu.closed {
		x.runs.Go(i.run)
	}
}

func (x *Indexes) all() ([]*index, Archive) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.mu.list), x.mu.archive
}

// IndexFigures are what operators watch of an index.
type IndexFigures struct {
	Name  string
	Asked bool // a query could have used it; before, it is empty
	Ready bool // queries use it
	query.IndexSize
	Behind   uint64 // updates that it has not seen yet
	Fills    uint64 // how often it was filled
	Missed   uint64 // updates that were gone before it came to them, each of which had it filled anew or an entity looked at always
	Unsure   int    // entities that are always looked at
	TooLarge bool   // it was thrown away for its size
}

// Figures returns the figures of all indexes, by name.
func (x *Indexes) Figures() []IndexFigures {
	list, _ := x.all()
	figures := make([]IndexFigures, len(list))
	for k, i := range list {
		i.mu.RLock()
		f := IndexFigures{Name: i.name, Asked: i.asked, Ready: i.built != nil, Fills: i.fills, Missed: i.missed, Unsure: len(i.unsure), TooLarge: i.tooLarge}
		if i.built != nil {
			f.IndexSize, f.Behind = i.built.Size(), x.w.number.Load()-i.upTo
		}
		i.mu.RUnlock()
		figures[k] = f
	}
	return figures
}

// Await waits until an index has seen every update up to the newest; Exhausted if it is too
// large, NotFound if there is none of that name.
func (x *Indexes) Await(ctx context.Context, name string) error {
	list, _ := x.all()
	k := slices.IndexFunc(list, func(i *index) bool { return i.name == name })
	if k < 0 {
		return engram.Errorf(engram.NotFound, name, "no index of that name is registered")
	}
	i, want := list[k], x.w.number.Load()
	for {
		i.mu.RLock()
		done, tooLarge, moved := i.built != nil && i.upTo >= want, i.tooLarge, i.moved
		i.mu.RUnlock()
		switch {
		case done:
			return nil
		case tooLarge:
			return engram.Errorf(engram.Exhausted, name, "the index is larger than %d bytes; register it with a larger bound", i.o.MaxBytes)
		}
		i.ask()
		select {
		case <-moved:
		case <-i.ctx.Done():
			return engram.Errorf(engram.Unavailable, name, "the index was removed")
		case <-ctx.Done():
			return canceled(ctx)
		}
	}
}

// Lookup is what an index has answered, for the state that it had then.
type Lookup struct {
	w          *WM
	archive    Archive // nil if it is not asked
	found      query.Candidates
	upTo       uint64
	generation uint64
}

// maxShare is which part of an index's entries candidates may be: with more of them a
// query is as fast without.
const maxShare = 4

// For is [Indexes.Look] for a query.
func (x *Indexes) For(a *query.Answer, asOf *engram.Time, archive bool) *Lookup {
	then := engram.MaxTime
	if asOf != nil {
		then = *asOf
	}
	r, ok := a.Request(then)
	if !ok {
		return nil
	}
	return x.Look(r, archive)
}

// Look asks the indexes, in the order of their names, for the candidates of a request, in
// the memory or in the archive, too; nil if none can say. Who asks takes the view that is
// looked at afterwards, so that what the index never saw, since it was evicted or forgotten,
// is not in the view either; and calls [Lookup.Until] then. Scopes are the caller's: it
// looks at no candidate that lies in none.
func (x *Indexes) Look(r query.Request, archive bool) *Lookup {
	list, keeps := x.all()
	for _, i := range list {
		l := &Lookup{w: x.w}
		if archive {
			l.archive = keeps
		}
		if i.look(r, l) {
			return l
		}
	}
	return nil
}

// Until returns the candidates for a view of the memory up to a number: what was written
// since the index looked is among them. It returns nil, which is everything, if that cannot
// be told.
func (l *Lookup) Until(highWater uint64) *query.Candidates {
	if l == nil {
		return nil
	}
	if l.archive != nil {
		if g, ok := l.archive.Generation(); !ok || g != l.generation {
			return nil
		}
	}
	var buf [followBatch]Change
	for l.upTo < highWater {
		list, upTo, ok := l.w.written(l.upTo, highWater, buf[:0])
		if !ok {
			return nil
		}
		for k := range list {
			l.found.Add(list[k].entity.id, nil)
		}
		l.upTo = upTo
	}
	return &l.found
}

// followBatch is how many updates are taken under one hold of the memory's lock.
const followBatch = 256

// written is [Feed.Changes] up to a number, with those of copies and what was recalled.
func (w *writer) written(after, last uint64, buf []Change) (list []Change, upTo uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &w.mu.feed
	if now := w.mu.number; now-after >= f.keep {
		return nil, after, false
	}
	for upTo = after; upTo < last && len(buf) < followBatch; {
		upTo++
		u := &f.recent[upTo%f.keep]
		buf = append(buf, Change{Number: upTo, time: u.time, entity: u.entity})
	}
	return buf, upTo, true
}

// index is a registered index.
type index struct {
	of   *Indexes
	name string
	o    IndexOptions
	// digester is an empty index, nil if it is none that looks into payloads.
	digester query.Digester
	ctx      context.Context // ends with the index
	stop     context.CancelFunc
	wake     chan struct{} // somebody asks

	mu       sync.RWMutex
	asked    bool
	built    query.Index // nil while it is not complete
	upTo     uint64      // it has seen all updates up to this
	unsure   map[engram.ID]bool
	moved    chan struct{} // closed when one of these changes
	tooLarge bool
	fills    uint64
	missed   uint64
	// Of the archive when it was filled.
	archive    Archive
	generation uint64
	full       int // entries when it was filled
}

// maxUnsure bounds the entities that are always looked at; beyond it the index is filled
// anew.
const maxUnsure = 10_000

// slack is how many entries an index may have beyond twice as many as when it was filled:
// beyond it, most are of what is gone, and it is filled anew.
const slack = 10_000

// pause is how long an index lets updates gather before it takes them; queries look at
// what it has not taken.
const pause = 20 * time.Millisecond

// look fills l with the candidates for r; false if the index cannot say.
func (i *index) look(r query.Request, l *Lookup) bool {
	i.mu.RLock()
	ok := i.lookLocked(r, l)
	asked := i.asked
	stale := i.built != nil && l.archive != nil && !i.covers(l.archive)
	i.mu.RUnlock()
	if !asked || stale {
		i.ask()
	}
	return ok && !stale
}

func (i *index) lookLocked(r query.Request, l *Lookup) bool {
	if i.built == nil {
		return false
	}
	most := max(1000, i.built.Size().Entries/maxShare)
	known := i.built.Candidates(r, func(entity engram.ID, times []engram.Time) bool {
		l.found.Add(entity, times)
		return l.found.Len() <= most
	})
	if !known || l.found.Len() > most {
		return false
	}
	for entity := range i.unsure {
		l.found.Add(entity, nil)
	}
	l.upTo, l.generation = i.upTo, i.generation
	return true
}

// covers reports whether the index was filled with what an archive holds now.
func (i *index) covers(a Archive) bool {
	g, ok := a.Generation()
	return i.archive == a && ok && g == i.generation
}

// ask has the index filled, if it is not, and brought up to date.
func (i *index) ask() {
	i.mu.Lock()
	first := !i.asked
	i.asked = true
	i.mu.Unlock()
	if first {
		i.of.begin(i)
	}
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// run fills the index and follows the memory until the index ends. Filling it takes at
// most a tenth of the time.
func (i *index) run() {
	watch := i.of.w.Feed().Watch()
	defer watch.Close()
	for i.ctx.Err() == nil {
		began := time.Now()
		filled := i.fill()
		took := time.Since(began)
		rest := time.NewTimer(min(10*max(took, pause), time.Minute))
		if filled {
			i.follow(watch)
		}
		i.mu.Lock()
		i.drop()
		over := i.tooLarge
		i.mu.Unlock()
		select {
		case <-rest.C:
		case <-i.ctx.Done():
		}
		if over {
			return
		}
	}
	i.mu.Lock()
	i.drop()
	i.mu.Unlock()
}

// drop throws away what the index holds.
func (i *index) drop() {
	i.built, i.unsure = nil, nil
	i.tell()
}

// tell wakes who waits.
func (i *index) tell() {
	close(i.moved)
	i.moved = make(chan struct{})
}

// fill makes a new index of what the memory and the archive hold; it reports whether that
// is all.
func (i *index) fill() bool {
	w := i.of.w
	_, archive := i.of.all()
	i.mu.Lock()
	i.fills++
	i.archive, i.unsure = archive, map[engram.ID]bool{}
	i.mu.Unlock()
	from := w.number.Load()
	f := &filling{i: i, next: i.o.New(), upTo: from}
	var generation uint64
	if archive != nil {
		var ok bool
		if generation, ok = archive.Generation(); !ok {
			return false
		}
	}
	for _, m := range w.memories.sorted() {
		for _, c := range m.value.cores.sorted() {
			for _, p := range c.value.providers.sorted() {
				for _, e := range p.value.entities.sorted() {
					for v := range e.value.versions() {
						f.add(e.value.id, &v.Snapshot)
					}
				}
			}
		}
	}
	if archive != nil {
		if f.addAll(archive, from) != nil {
			return false
		}
	}
	if !f.pull() || f.failed || i.ctx.Err() != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over(f.next) {
		return false
	}
	i.built, i.upTo, i.generation, i.full = f.next, f.upTo, generation, f.next.Size().Entries
	i.tell()
	return true
}

// filling is an index that is being filled.
type filling struct {
	i      *index
	next   query.Index
	upTo   uint64
	added  int
	failed bool
}

// addAll adds what an archive has.
func (f *filling) addAll(a Archive, upTo uint64) error {
	unread := func(entity engram.ID) {
		f.i.mu.Lock()
		f.i.unsure[entity] = true
		f.i.mu.Unlock()
	}
	d, ok := f.next.(query.Digester)
	if !ok {
		return a.EachVersion(f.i.ctx, upTo, f.add, unread)
	}
	return a.EachDigest(f.i.ctx, upTo, d, func(entity engram.ID, t engram.Time, digest []byte) error {
		if f.failed {
			return errFilling
		}
		err := d.AddDigest(entity, t, digest)
		f.count()
		return err
	}, unread)
}

// errFilling says that what is visited is not taken any more.
var errFilling = engram.Errorf(engram.Unavailable, "", "more came than the index could take while it was filled")

// add adds a version.
func (f *filling) add(entity engram.ID, s *engram.Snapshot) {
	if f.failed {
		return
	}
	f.next.Add(entity, s)
	f.count()
}

// count counts what was added, and now and then adds what has come meanwhile.
func (f *filling) count() {
	if f.added++; f.added%1024 == 0 {
		f.failed = !f.pull() || f.i.ctx.Err() != nil
	}
}

// pull takes what has come; false if the memory does not remember all of it.
func (f *filling) pull() bool {
	for last := f.i.of.w.number.Load(); f.upTo < last; {
		upTo, ok := f.i.take(f.next, f.upTo, last)
		if !ok {
			return false
		}
		f.upTo = upTo
	}
	return true
}

// take adds a batch of updates to an index, which may be one that is being filled.
func (i *index) take(to query.Index, after, last uint64) (upTo uint64, ok bool) {
	var buf [followBatch]Change
	list, upTo, ok := i.of.w.written(after, last, buf[:0])
	i.mu.Lock()
	defer i.mu.Unlock()
	if !ok {
		i.missed += last - after
		return after, false
	}
	for k := range list {
		s, removed := list[k].Find()
		switch {
		case s != nil:
			to.Add(list[k].entity.id, s)
		case i.archive != nil && !removed: // it may be there
			i.missed++
			i.unsure[list[k].entity.id] = true
		}
	}
	if to == i.built {
		i.upTo = upTo
		i.tell()
	}
	return upTo, true
}

// over reports whether an index is too large, and notes it. mu is held.
func (i *index) over(x query.Index) bool {
	i.tooLarge = x.Size().Bytes > i.o.MaxBytes
	return i.tooLarge
}

// follow takes what comes until the index is to be filled anew, or ends.
func (i *index) follow(watch *Watcher) {
	w := i.of.w
	timer := time.NewTimer(math.MaxInt64)
	for i.ctx.Err() == nil {
		changed := watch.Arm()
		for last := w.number.Load(); i.upTo < last; {
			if _, ok := i.take(i.built, i.upTo, last); !ok {
				return
			}
		}
		if i.isStale() {
			return
		}
		select {
		case <-i.ctx.Done():
			return
		case <-i.wake:
		case <-changed:
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-i.wake:
			case <-i.ctx.Done():
				return
			}
		}
	}
}

// isStale reports whether the index is to be filled anew.
func (i *index) isStale() bool {
	_, archive := i.of.all()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.over(i.built) || i.built.Size().Entries > 2*i.full+slack || len(i.unsure) > maxUnsure ||
		archive != nil && !i.covers(archive)
}
