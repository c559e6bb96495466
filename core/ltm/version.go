package ltm

import (
	"cmp"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// version is what the disk holds at one moment: episodes, and what was forgotten and
// damaged. It does not change, and is shared. Who reads pins one from beginning to end;
// sealing, compaction, dropping and forgetting publish the next.
type version struct {
	number     uint64
	sealed     map[string]*handle // by name
	writing    []*handle          // the open one last; those before it are being sealed
	tombstones []*tombstone
	forgotten  map[engram.ID]forgottenOf            // in all epochs
	damaged    map[string]map[engram.ID]forgottenOf // what cannot be read any more, by episode
	segments   map[engram.ID]uint64                 // versions that were forgotten, by core segment
	noted      uint64                               // the last version in which one of these three changed
	unread     map[string]unknownLoss               // what episodes hold of which nobody knows what it is
	removed    []removal                            // of segments
	lives      []uint64                             // of the server, by their epochs, in their order

	set  *episodeSet
	pins int       // by set.mu
	left []*handle // that the version before named
	// rewritten says that the sealed episodes are not those of the version before and new ones.
	rewritten bool
}

// episodeSet has the versions of a store's episodes. Safe for concurrent use.
type episodeSet struct {
	dir     string
	options episode.Options
	log     *slog.Logger
	// rewriting is called before a version is published whose episodes were rewritten.
	rewriting func(number uint64)

	now atomic.Pointer[version]
	mu  struct { // held for no I/O; before a handle's own
		sync.Mutex
		pinned  []*version // that somebody reads
		leaving []*handle  // whose files go; a version may still name them
	}
	idle     idleFiles
	givesWay chan struct{} // somebody wants to edit an episode
}

func newEpisodeSet(dir string, o episode.Options, log *slog.Logger) *episodeSet {
	s := &episodeSet{dir: dir, options: o, log: log, rewriting: func(uint64) {}, givesWay: make(chan struct{}, 1)}
	s.now.Store(&version{set: s, sealed: map[string]*handle{}})
	return s
}

// current returns the newest version, for who opens no episode of it.
func (s *episodeSet) current() *version { return s.now.Load() }

// pin returns the newest version, whose episodes stay readable until it is released.
func (s *episodeSet) pin() *version {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.now.Load()
	if v.pins++; v.pins == 1 {
		s.mu.pinned = append(s.mu.pinned, v)
	}
	return v
}

// release ends a pin.
func (v *version) release() {
	s := v.set
	s.mu.Lock()
	if v.pins--; v.pins == 0 {
		s.mu.pinned = slices.DeleteFunc(s.mu.pinned, func(p *version) bool { return p == v })
	}
	gone := s.sweepLocked()
	s.mu.Unlock()
	retire(gone)
}

// publish makes what change makes of the newest version the newest one.
func (s *episodeSet) publish(change func(next *version)) {
	s.mu.Lock()
	was := s.now.Load()
	next := &version{
		set: s, number: was.number + 1, sealed: maps.Clone(was.sealed), writing: was.writing,
		tombstones: was.tombstones, forgotten: was.forgotten, damaged: was.damaged, segments: was.segments, noted: was.noted, unread: was.unread,
		removed: was.removed, lives: was.lives,
	}
	change(next)
	for _, h := range next.left {
		h.until = next.number
		if !slices.Contains(s.mu.leaving, h) {
			s.mu.leaving = append(s.mu.leaving, h)
		}
	}
	if next.rewritten {
		s.rewriting(next.number)
	}
	s.now.Store(next)
	gone := s.sweepLocked()
	s.mu.Unlock()
	retire(gone)
}

// sweepLocked takes those that no version names any more off the episodes that leave.
func (s *episodeSet) sweepLocked() (gone []*handle) {
	s.mu.leaving = slices.DeleteFunc(s.mu.leaving, func(h *handle) bool {
		named := h.until == math.MaxUint64 ||
			slices.ContainsFunc(s.mu.pinned, func(v *version) bool { return h.since <= v.number && v.number < h.until })
		if !named {
			gone = append(gone, h)
		}
		return !named
	})
	return gone
}

func retire(gone []*handle) {
	for _, h := range gone {
		h.retire()
	}
}

// hold keeps an episode readable, although its file is about to be replaced or deleted,
// for the versions that name it. Of one that leaves, the catalogue does not tell what it
// holds: it tells that itself.
func (s *episodeSet) hold(h *handle) error {
	err := h.hold()
	if err == nil || isDamage(err) { // of what cannot be read nothing is to be kept
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.leaving = append(s.mu.leaving, h)
		return nil
	}
	return err
}

// letGo takes back that an episode's file is about to go.
func (s *episodeSet) letGo(h *handle) {
	s.mu.Lock()
	s.mu.leaving = slices.DeleteFunc(s.mu.leaving, func(l *handle) bool { return l == h })
	s.mu.Unlock()
	h.letGo()
}

// leaving returns the episodes of a version that tell themselves what they hold.
func (v *version) leaving() []*handle {
	v.set.mu.Lock()
	defer v.set.mu.Unlock()
	var list []*handle
	for _, h := range v.set.mu.leaving {
		if v.sealed[h.name] == h {
			list = append(list, h)
		}
	}
	return list
}

// add adds a sealed episode, whose versions have numbers up to upTo in the epoch that
// recorded it, in the place of what had its name.
func (v *version) add(info episode.Info, upTo uint64) {
	v.remove(info.Name)
	h := &handle{name: info.Name, info: info, set: v.set, left: !info.Sealed, upTo: upTo, since: v.number, until: math.MaxUint64}
	if info.Damage != nil {
		v.set.damaged(h, engram.Errorf(engram.Corrupt, info.Name, "%s", info.Damage.Why))
	}
	v.sealed[info.Name] = h
	v.rewritten = true
}

// remove removes a sealed episode, if there is one of that name.
func (v *version) remove(name string) {
	if h := v.sealed[name]; h != nil {
		delete(v.sealed, name)
		v.left = append(v.left, h)
		v.rewritten = true
	}
}

// all returns all episodes: the sealed ones in no order, then those being written.
func (v *version) all() []*handle {
	return append(slices.AppendSeq(make([]*handle, 0, len(v.sealed)+len(v.writing)), maps.Values(v.sealed)), v.writing...)
}

// ofEpoch returns the episodes of one epoch, sealed or not, in the order in which they
// were begun: by their numbers, whatever the clock said. Where older programs took
// several together, that is not known, and the times in their names tell it.
func (v *version) ofEpoch(epoch uint64) []*handle {
	list := slices.DeleteFunc(v.all(), func(h *handle) bool { return h.info.Epoch != epoch })
	numbered := !slices.ContainsFunc(list, func(h *handle) bool { return h.info.Supersedes != "" && h.info.First == "" })
	slices.SortFunc(list, func(a, b *handle) int {
		if numbered {
			if c := cmp.Compare(a.number(), b.number()); c != 0 {
				return c
			}
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// number returns the number of an episode, or that of the first one taken together into it.
func (h *handle) number() uint64 { return sequenceOf(cmp.Or(h.info.First, h.name)) }

// find returns an episode by its name, sealed or not.
func (v *version) find(name string) (*handle, error) {
	if h, ok := v.sealed[name]; ok {
		return h, nil
	}
	for _, h := range v.writing {
		if h.name == name {
			return h, nil
		}
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such episode")
}

// begin adds an episode that is being written.
func (s *episodeSet) begin(w *episode.Writer, info episode.Info) (h *handle) {
	s.publish(func(next *version) {
		h = &handle{name: info.Name, info: info, set: s, upTo: math.MaxUint64, since: next.number, until: math.MaxUint64}
		h.mu.writer = w
		next.writing = append(slices.Clip(next.writing), h)
	})
	return h
}

// sealed puts a sealed episode, whose versions have numbers up to upTo, in the place of
// what was written.
func (s *episodeSet) sealed(h *handle, info episode.Info, upTo uint64) {
	s.publish(func(next *version) {
		next.add(info, upTo)
		next.abandon(h)
		next.rewritten = false // what it holds is of this epoch
	})
}

// abandon takes an episode that was written out of the set.
func (s *episodeSet) abandon(h *handle) { s.publish(func(next *version) { next.abandon(h) }) }

func (v *version) abandon(h *handle) {
	v.writing = slices.DeleteFunc(slices.Clone(v.writing), func(w *handle) bool { return w == h })
	v.left = append(v.left, h)
}

// get returns a sealed episode of the newest version.
func (s *episodeSet) get(name string) (*handle, bool) {
	h, ok := s.current().sealed[name]
	return h, ok
}

// all returns all episodes of the newest version.
func (s *episodeSet) all() []*handle { return s.current().all() }

// writing returns the episodes that are being written or sealed.
func (s *episodeSet) writing() []*handle { return s.current().writing }

// close closes all files. Episodes that are being written stay as they are.
func (s *episodeSet) close() { retire(s.all()) }

// damaged notes that something of an episode cannot be read.
func (s *episodeSet) damaged(h *handle, err error) {
	if isDamage(err) && h.damage.CompareAndSwap(nil, &err) {
		s.log.Error("an episode is damaged; what can be read of it is served", "episode", h.name, "error", err)
	}
}
