package pose

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Config configures a [Store]. The zero Config is usable.
type Config struct {
	// MaxGap is that of edges that do not set their own: how far apart two samples
	// may be for the times between them to be answered. 0 means 1 s, negative any.
	MaxGap time.Duration
	// Retention is that of edges that do not set their own; zero keeps everything.
	Retention Retention
	// Revisions is how many past revisions can be asked for; 0 means 128. An anchor
	// whose past is revised needs about 300 bytes per key and revision.
	Revisions int
	// Acquisitions is how many are remembered; 0 means 1,000,000. Beyond it the
	// oldest are released.
	Acquisitions int
	// MaxFrames limits the number of frames; 0 means 100,000.
	MaxFrames int
	// MaxChanges limits the keys and calibrations of one transaction; 0 means
	// 1,000,000.
	MaxChanges int
}

func (c *Config) setDefaults() {
	if c.MaxGap == 0 {
		c.MaxGap = time.Second
	}
	setDefault := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	setDefault(&c.Revisions, 128)
	setDefault(&c.Acquisitions, 1_000_000)
	setDefault(&c.MaxFrames, 100_000)
	setDefault(&c.MaxChanges, 1_000_000)
}

// Store holds the frames and what is known about where they were. It is safe for
// concurrent use: look-ups take no lock, writes to different edges do not wait for
// each other, and changes of the structure and revisions are serialised.
type Store struct {
	cfg   Config
	ids   sync.Map // frame name -> int32, its number; only ever added to
	state atomic.Pointer[state]
	paths pathCache

	mu       sync.Mutex             // serialises changes of the state; taken before history.mu
	edges    map[[2]int32]*FreeEdge // the handles, by parent and child
	above    map[int32][]int32      // the parents in edges, by child
	past     []*state               // the retained revisions before the current, oldest first
	changed  chan struct{}          // closed when the state changes; nil if nobody waits
	acquired acquisitions
}

// state is what is believed: immutable, swapped as a whole, so that a reader sees
// all of a revision or nothing of it.
type state struct {
	rev     Revision
	author  string
	content *content
}

// revisionNow is later than every revision.
const revisionNow = ^Revision(0)

// New returns an empty store.
func New(c Config) *Store {
	c.setDefaults()
	s := &Store{cfg: c, edges: map[[2]int32]*FreeEdge{}, above: map[int32][]int32{}}
	s.state.Store(&state{content: &content{joints: map[string]*edge{}}})
	s.acquired.init()
	return s
}

// Revision returns the current revision.
func (s *Store) Revision() Revision { return s.state.Load().rev }

// RevisionInfo describes a revision.
type RevisionInfo struct {
	Revision Revision
	Author   string // as given to Begin; empty for revisions that a single write made
}

// Revisions lists the revisions that can be asked for, oldest first.
func (s *Store) Revisions() []RevisionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []RevisionInfo
	for _, st := range s.past {
		out = append(out, RevisionInfo{st.rev, st.author})
	}
	st := s.state.Load()
	return append(out, RevisionInfo{st.rev, st.author})
}

// setContentLocked makes c current without a new revision: frames or edges were
// added, and no answer already given changes.
func (s *Store) setContentLocked(c *content) {
	was := s.state.Load()
	s.publishLocked(&state{rev: was.rev, author: was.author, content: c})
}

// reviseLocked makes c current under the next revision.
func (s *Store) reviseLocked(c *content, author string) Revision {
	was := s.state.Load()
	s.past = append(s.past, was)
	if excess := len(s.past) - s.cfg.Revisions; excess > 0 {
		clear(s.past[:excess])
		s.past = s.past[excess:]
	}
	s.publishLocked(&state{rev: was.rev + 1, author: author, content: c})
	return was.rev + 1
}

func (s *Store) publishLocked(st *state) {
	s.state.Store(st)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// stateChanged returns a channel that the next change of the state closes.
func (s *Store) stateChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// oldestLocked returns the oldest revision that can be asked for.
func (s *Store) oldestLocked() Revision {
	if len(s.past) > 0 {
		return s.past[0].rev
	}
	return s.state.Load().rev
}

// stateOf returns the state of a revision. The error is TooOld if it is retained no
// more, TooNew if it is yet to come.
func (s *Store) stateOf(rev Revision) (*state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state.Load()
	switch oldest := s.oldestLocked(); {
	case rev == st.rev:
		return st, nil
	case rev > st.rev:
		return nil, engram.Errorf(engram.TooNew, "", "revision %d does not exist; the current one is %d", rev, st.rev)
	case rev < oldest:
		return nil, engram.Errorf(engram.TooOld, "", "revision %d is retained no more; the oldest is %d", rev, oldest)
	default:
		return s.past[rev-oldest], nil
	}
}

// frameID returns the number of a frame in the content.
func (s *Store) frameID(c *content, name string) (int32, bool) {
	v, ok := s.ids.Load(name)
	if !ok {
		return 0, false
	}
	id := v.(int32)
	return id, int(id) < len(c.frames)
}
