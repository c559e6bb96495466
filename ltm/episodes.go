package ltm

import (
	"container/list"
	"math"
	"path/filepath"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// handle is an episode of the store: a sealed one, which is opened while somebody
// reads it and a while longer, or one that is being written.
//
// Whoever reads claims the handle first and releases it afterwards. An episode that is
// dropped or replaced meanwhile stays readable for those who have claimed it, and
// nobody can claim it any more.
type handle struct {
	name string
	info episode.Info
	set  *episodeSet
	// upTo is the highest number that a version in it can have in the life that
	// recorded it.
	upTo uint64

	// edit is held by who rewrites or drops the episode. It is taken before any other
	// lock of the store.
	edit sync.Mutex

	mu struct { // taken after set.mu's holder has let go of it
		sync.Mutex
		writer *episode.Writer // while it is written, and afterwards until nobody reads it
		reader *episode.Reader // nil while nobody reads a sealed one
		claims int
		gone   bool // dropped or replaced
	}
	place *list.Element // among the open ones that nobody reads; set.mu
}

// claim opens the episode for reading; NotFound if it was dropped.
func (h *handle) claim() error {
	h.set.busy(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.gone {
		return engram.Errorf(engram.NotFound, h.name, "the episode was dropped or replaced")
	}
	if h.mu.writer == nil && h.mu.reader == nil {
		r, err := episode.Open(filepath.Join(h.set.dir, h.name), h.set.options)
		if engram.CodeOf(err) == engram.NotFound { // nobody has dropped it
			return engram.Errorf(engram.Corrupt, h.name, "its file is missing: %w", err)
		}
		if err != nil {
			return err
		}
		h.mu.reader = r
	}
	h.mu.claims++
	return nil
}

// source returns the episode of a handle that is claimed.
func (h *handle) source() episode.Source {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.writer != nil {
		return h.mu.writer
	}
	return h.mu.reader
}

// release gives a claim back.
func (h *handle) release() {
	h.mu.Lock()
	h.mu.claims--
	idle := h.mu.claims == 0 && h.mu.writer == nil && !h.mu.gone
	if h.mu.claims == 0 && h.mu.gone {
		h.closeLocked()
	}
	h.mu.Unlock()
	if idle {
		h.set.idle(h)
	}
}

// retire makes the handle one that cannot be claimed any more.
func (h *handle) retire() {
	h.set.busy(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.gone = true
	if h.mu.claims == 0 {
		h.closeLocked()
	}
}

// closeIdle closes the file if nobody reads it.
func (h *handle) closeIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.claims == 0 {
		h.closeLocked()
	}
}

// closeLocked closes the file. What cannot be closed was only read.
func (h *handle) closeLocked() {
	if h.mu.reader != nil {
		h.mu.reader.Close()
		h.mu.reader = nil
	}
	if h.mu.writer != nil && h.mu.gone {
		h.mu.writer.Close()
		h.mu.writer = nil
	}
}

// maxIdle bounds the open episodes that nobody reads just now.
const maxIdle = 128

// episodeSet is all episodes of a store. Safe for concurrent use.
type episodeSet struct {
	dir     string
	options episode.Options

	mu struct {
		sync.RWMutex
		sealed  map[string]*handle
		writing []*handle // the open one last; those before it are being sealed
	}
	open struct { // taken alone
		sync.Mutex
		idle list.List // of *handle, the one released last at the front
	}
}

func newEpisodeSet(dir string, o episode.Options) *episodeSet {
	s := &episodeSet{dir: dir, options: o}
	s.mu.sealed = map[string]*handle{}
	return s
}

// busy takes a handle off the idle ones.
func (s *episodeSet) busy(h *handle) {
	s.open.Lock()
	defer s.open.Unlock()
	if h.place != nil {
		s.open.idle.Remove(h.place)
		h.place = nil
	}
}

// idle notes that nobody reads h, and closes what was idle for longest.
func (s *episodeSet) idle(h *handle) {
	var old *handle
	s.open.Lock()
	if h.place == nil {
		h.place = s.open.idle.PushFront(h)
	}
	if s.open.idle.Len() > maxIdle {
		old = s.open.idle.Remove(s.open.idle.Back()).(*handle)
		old.place = nil
	}
	s.open.Unlock()
	if old != nil {
		old.closeIdle()
	}
}

// add adds a sealed episode.
func (s *episodeSet) add(info episode.Info) *handle {
	h := &handle{name: info.Name, info: info, set: s, upTo: math.MaxUint64}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sealed[info.Name] = h
	return h
}

// begin adds an episode that is being written.
func (s *episodeSet) begin(w *episode.Writer, info episode.Info) *handle {
	h := &handle{name: info.Name, info: info, set: s, upTo: math.MaxUint64}
	h.mu.writer = w
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.writing = append(s.mu.writing, h)
	return h
}

// sealed puts a sealed episode, whose versions have numbers up to upTo, in the place of
// what was written.
func (s *episodeSet) sealed(h *handle, info episode.Info, upTo uint64) {
	s.mu.Lock()
	s.mu.sealed[info.Name] = &handle{name: info.Name, info: info, set: s, upTo: upTo}
	s.mu.Unlock()
	s.abandon(h)
}

// abandon takes an episode that was written out of the set.
func (s *episodeSet) abandon(h *handle) {
	s.mu.Lock()
	kept := make([]*handle, 0, len(s.mu.writing))
	for _, w := range s.mu.writing {
		if w != h {
			kept = append(kept, w)
		}
	}
	s.mu.writing = kept
	s.mu.Unlock()
	h.retire()
}

// remove takes a sealed episode out of the set.
func (s *episodeSet) remove(name string) {
	s.mu.Lock()
	h := s.mu.sealed[name]
	delete(s.mu.sealed, name)
	s.mu.Unlock()
	if h != nil {
		h.retire()
	}
}

// get returns a sealed episode.
func (s *episodeSet) get(name string) (*handle, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h, ok := s.mu.sealed[name]
	return h, ok
}

// all returns all episodes: the sealed ones in no order, then those being written.
func (s *episodeSet) all() []*handle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*handle, 0, len(s.mu.sealed)+len(s.mu.writing))
	for _, h := range s.mu.sealed {
		out = append(out, h)
	}
	return append(out, s.mu.writing...)
}

// writing returns the episodes that are being written or sealed; the slice does not
// change.
func (s *episodeSet) writing() []*handle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.writing
}

// close closes all files. Episodes that are being written stay as they are.
func (s *episodeSet) close() {
	for _, h := range s.all() {
		h.retire()
	}
}
