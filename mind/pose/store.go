package pose

import (
	"sync"
	"time"
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
	// Present says which samples are of the present; nil says that all are.
	Present *Present
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
	if c.Present == nil {
		c.Present = NewPresent()
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
	cfg    Config
	ids    sync.Map // frame name -> int32, its number; only ever added to
	states states
	paths  pathCache

	mu       sync.Mutex             // serialises changes of the state; taken before history.mu and states.mu
	edges    map[[2]int32]*FreeEdge // the handles, by parent and child
	above    map[int32][]int32      // the parents in edges, by child
	acquired acquisitions

	detached [][]*poseHistory // by Detach, the newest last; guarded by mu
}

// New returns an empty store.
func New(c Config) *Store {
	c.setDefaults()
	s := &Store{cfg: c, edges: map[[2]int32]*FreeEdge{}, above: map[int32][]int32{}}
	s.states.init(c.Revisions)
	s.acquired.init(c.Acquisitions)
	return s
}

// Revision returns the current revision.
func (s *Store) Revision() Revision { return s.states.now().rev }

// RevisionInfo describes a revision.
type RevisionInfo struct {
	Revision Revision
	Author   string // as given to Begin; empty for revisions that a single write made
}

// Revisions lists the revisions that can be asked for, oldest first.
func (s *Store) Revisions() []RevisionInfo {
	var out []RevisionInfo
	for _, st := range s.states.all() {
		out = append(out, RevisionInfo{st.rev, st.author})
	}
	return out
}

// frameID returns the number of a frame in the content.
func (s *Store) frameID(c *content, name string) (int32, bool) {
	v, ok := s.ids.Load(name)
	if !ok {
		return 0, false
	}
	id := v.(int32)
	return id, int(id) < c.frames.len()
}
