package ltm

import (
	"container/list"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// handle is an episode of the store: a sealed one, whose file is open while somebody
// reads it and a while longer, or one that is being written. A version that is pinned
// names it; until no version does, it can be read.
type handle struct {
	name string
	info episode.Info
	set  *episodeSet
	// left says that a crash left it open and that it could not be sealed yet: its file
	// bears the name of an open one.
	left bool
	// upTo is the highest number that a version in it can have in the epoch that
	// recorded it.
	upTo uint64
	// since is the first version of the set that names it, until the first one that does
	// not; the set's.
	since, until uint64

	// edit is held by who rewrites or drops the episode, verifies it, or writes what is kept
	// beside it. It is taken before any other lock of the store.
	edit    sync.Mutex
	wanted  atomic.Int32         // by how many, for whom the digester gives way
	digests atomic.Pointer[kept] // what is kept beside it; nil if nobody has looked yet

	mu struct {
		sync.Mutex
		writer *episode.Writer // while it is written, and afterwards until nobody reads it
		reader *episode.Reader // nil while nobody reads a sealed one
		users  int
		held   bool  // it is a user itself
		broken error // why it could not be held: its file may be another one by now
		gone   bool  // no version names it
	}
	damage atomic.Pointer[error] // what was found first that cannot be read of it
	place  *list.Element         // among the open ones that nobody reads; idle's
}

// path returns the path of a sealed episode's file, or of one that a crash left open.
func (h *handle) path() string {
	if h.left {
		return filepath.Join(h.set.dir, openName(h.name))
	}
	return filepath.Join(h.set.dir, h.name)
}

// open opens the episode for reading; close is to be called afterwards. What cannot be
// read of its file is Corrupt.
func (h *handle) open() (episode.Source, error) {
	h.set.idle.busy(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.openLocked()
}

func (h *handle) openLocked() (episode.Source, error) {
	if h.mu.writer != nil {
		h.mu.users++
		return h.mu.writer, nil
	}
	if h.mu.broken != nil {
		return nil, h.mu.broken
	}
	if h.mu.gone {
		return nil, engram.Errorf(engram.NotFound, h.name, "the episode was dropped or replaced")
	}
	if h.mu.reader == nil {
		r, err := episode.Open(h.path(), h.set.options)
		if engram.CodeOf(err) == engram.NotFound { // nobody has dropped it
			return nil, engram.Errorf(engram.Corrupt, h.name, "its file is missing: %w", err)
		}
		if err != nil {
			return nil, err
		}
		if now := r.Info(); !isOf(&now, &h.info) {
			return nil, errors.Join(engram.Errorf(engram.Corrupt, h.name, "its file is another one than was sealed: it holds %d versions of %v, and held %d of %v", now.Snapshots, now.Span, h.info.Snapshots, h.info.Span), r.Close())
		}
		h.mu.reader = r
	}
	h.mu.users++
	return h.mu.reader, nil
}

// isOf reports whether a file that says now of itself can be what is left of an episode.
func isOf(now, was *episode.Info) bool {
	if now.Damage == nil || was.Damage != nil {
		return now.Epoch == was.Epoch && now.Span == was.Span && now.Snapshots == was.Snapshots
	}
	return (now.Epoch == was.Epoch || now.Epoch == 0) && (now.Snapshots == 0 || was.Span.Start <= now.Span.Start && now.Span.End <= was.Span.End)
}

// look notes what is found to be damaged of an open episode. That one which a crash left
// has no end is no damage.
func (h *handle) look(src episode.Source) {
	if h.left {
		return
	}
	if r, ok := src.(*episode.Reader); ok && h.damage.Load() == nil {
		if d := r.Info().Damage; d != nil {
			h.set.damaged(h, engram.Errorf(engram.Corrupt, h.name, "%s", d.Why))
		}
	}
}

// withDamage returns what is told of the episode with the damage that was met while it was
// read, too.
func (h *handle) withDamage(info episode.Info) episode.Info {
	if err := h.damage.Load(); err != nil && info.Damage == nil {
		info.Damage = &episode.Damage{Why: (*err).Error()}
	}
	return info
}

// close ends what open began.
func (h *handle) close() {
	h.mu.Lock()
	h.mu.users--
	idle := h.mu.users == 0 && h.mu.writer == nil && !h.mu.gone
	if h.mu.users == 0 && h.mu.gone {
		h.closeLocked()
	}
	h.mu.Unlock()
	if idle {
		h.set.idle.add(h)
	}
}

// hold keeps the file open that the episode has now.
func (h *handle) hold() error {
	h.set.idle.busy(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.openLocked()
	h.mu.held, h.mu.broken = err == nil, err
	return err
}

// letGo takes hold back.
func (h *handle) letGo() {
	h.mu.Lock()
	held := h.mu.held
	h.mu.held, h.mu.broken = false, nil
	h.mu.Unlock()
	if held {
		h.close()
	}
}

// retire makes the handle one that no version names: it is closed when nobody reads it.
func (h *handle) retire() {
	h.set.idle.busy(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.held {
		h.mu.held = false
		h.mu.users--
	}
	h.mu.gone = true
	if h.mu.users == 0 {
		h.closeLocked()
	}
}

// closeIdle closes the file if nobody reads it.
func (h *handle) closeIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.users == 0 {
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

// entities returns what an episode of a pinned version holds of each entity; nothing if
// it cannot be read.
func (h *handle) entities() []episode.Entity {
	src, err := h.open()
	if err != nil {
		return nil
	}
	defer h.close()
	return src.Entities()
}

// current returns what an episode says of itself now. It is not sealed before the store
// has it as such: until then it cannot be verified or edited.
func (h *handle) current() episode.Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.writer != nil {
		info := h.mu.writer.Info()
		info.Sealed = false
		return info
	}
	return h.info
}

// maxIdle bounds the open episodes that nobody reads just now.
const maxIdle = 128

// idleFiles are the open episodes that nobody reads, the one read last at the front. Its
// zero value has none. Safe for concurrent use.
type idleFiles struct {
	mu   sync.Mutex // taken alone
	list list.List  // of *handle
}

// busy takes a handle off the idle ones.
func (f *idleFiles) busy(h *handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.place != nil {
		f.list.Remove(h.place)
		h.place = nil
	}
}

// add notes that nobody reads h, and closes what was idle for longest.
func (f *idleFiles) add(h *handle) {
	var old *handle
	f.mu.Lock()
	if h.place == nil {
		h.place = f.list.PushFront(h)
	}
	if f.list.Len() > maxIdle {
		old = f.list.Remove(f.list.Back()).(*handle)
		old.place = nil
	}
	f.mu.Unlock()
	if old != nil {
		old.closeIdle()
	}
}
