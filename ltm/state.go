package ltm

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// stateFile holds what was noted at run-time and lies in no episode.
const (
	stateFile    = "state.json"
	stateVersion = 1
)

// maxStateFile bounds the file: what is written can be read. Tests change it.
var maxStateFile int64 = 64 << 20

// state is what was noted at run-time: what is to be kept, what was removed, rules.
type state struct {
	mu struct { // held while the file is written: changes are rare
		sync.Mutex
		stateContent
	}
}

type stateContent struct {
	Version int            `json:"version"`
	Marks   []episode.Mark `json:"marks,omitempty"`
	Rules   []Rule         `json:"rules,omitempty"`
	Removed []removal      `json:"removed,omitempty"`
	Kept    []string       `json:"kept,omitempty"`   // names of episodes, sorted
	Orders  []order        `json:"orders,omitempty"` // to forget, that are not done yet
	Lives   []uint64       `json:"lives,omitempty"`  // of the server, by their epochs, in their order
	Copies  []string       `json:"copies,omitempty"` // memories that are copies of other servers'
	// Requests are the last orders, done or not, for holders of copies that were away.
	Requests []request `json:"requests,omitempty"`
	// Of the last one that is not among them any more.
	Dropped      engram.Time `json:"requests_dropped,omitempty"`
	DroppedEpoch uint64      `json:"requests_dropped_epoch,omitempty"`
}

// removal hides what was recorded of a segment before it was removed.
type removal struct {
	Segment engram.ID   `json:"segment"`
	Arrived engram.Time `json:"arrived"` // what arrived up to it is hidden …
	Epoch   uint64      `json:"epoch"`   // … and of this life, all up to Number
	Number  uint64      `json:"number"`

	lives []uint64 // of the server, while it is used
}

// hidden says which versions of an entity are hidden because its segment was removed.
type hidden []removal

func (h hidden) hides(v version) bool {
	for i := range h {
		if r := &h[i]; v.epoch == r.Epoch && v.number <= r.Number || v.epoch != r.Epoch && r.isAfter(v.epoch, v.arrived) {
			return true
		}
	}
	return false
}

// follows reports whether it came after a removal in another life.
func (r *removal) follows(old *removal) bool {
	life, mine := slices.Index(old.lives, old.Epoch), slices.Index(old.lives, r.Epoch)
	if life < 0 || mine < 0 {
		return old.Arrived <= r.Arrived
	}
	return life < mine
}

// isAfter reports whether it came after what arrived in another life: that is told by
// the order of the lives, for clocks are set back, and copies have their owners'; by
// the arrival where that is not known.
func (r *removal) isAfter(epoch uint64, arrived engram.Time) bool {
	life, mine := slices.Index(r.lives, epoch), slices.Index(r.lives, r.Epoch)
	if life < 0 || mine < 0 {
		return arrived <= r.Arrived
	}
	return life < mine
}

// hiddenOf returns what is hidden of an entity or segment.
func (s *Store) hiddenOf(id engram.ID) hidden {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	var out hidden
	for _, r := range s.state.mu.Removed {
		if r.Segment.Contains(id) {
			r.lives = s.state.mu.Lives
			out = append(out, r)
		}
	}
	return out
}

// changeState changes the state and writes it; if it cannot be written nothing has
// changed.
func (s *Store) changeState(change func(*stateContent)) error {
	return s.changeStateWith(change, vfs.ReplaceFile)
}

// changeOrders is changeState for what was ordered to be forgotten, which is noted on a
// full disk, too.
func (s *Store) changeOrders(change func(*stateContent)) error {
	return s.changeStateWith(change, s.forgetting.reserve.replaceFile)
}

func (s *Store) changeStateWith(change func(*stateContent), replaceFile func(fsys vfs.FS, path string, text []byte) error) error {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	next := s.state.mu.stateContent
	next.Marks, next.Rules = slices.Clone(next.Marks), slices.Clone(next.Rules)
	next.Removed, next.Kept = slices.Clone(next.Removed), slices.Clone(next.Kept)
	next.Orders, next.Requests = slices.Clone(next.Orders), slices.Clone(next.Requests)
	change(&next)
	next.Version = stateVersion
	text, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return engram.Errorf(engram.Internal, stateFile, "it cannot be encoded: %w", err)
	}
	if int64(len(text)) > maxStateFile {
		return engram.Errorf(engram.Exhausted, stateFile, "it would have %d bytes, of %d at most; remove marks with 'engram episode unmark', or standing rules", len(text), maxStateFile)
	}
	if err := replaceFile(s.options.FS, filepath.Join(s.options.Dir, stateFile), text); err != nil {
		return unwritten(stateFile, err)
	}
	s.state.mu.stateContent = next
	return nil
}

// unwritten is the error of a file that could not be written.
func unwritten(file string, err error) error {
	if vfs.IsFull(err) {
		return engram.Errorf(engram.Exhausted, file, "it cannot be written, the disk is full; free some space and try again: %w", err)
	}
	return engram.Errorf(engram.Unavailable, file, "it cannot be written; check the disk and try again: %w", err)
}

func (s *Store) loadState() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.options.Dir, stateFile), maxStateFile)
	if err != nil || text == nil {
		return err
	}
	content := &s.state.mu.stateContent
	if err := json.Unmarshal(text, content); err != nil {
		return engram.Errorf(engram.Corrupt, stateFile, "it holds marks, rules and what was removed, and cannot be read: %w; mend it or move it away", err)
	}
	if content.Version != stateVersion {
		return engram.Errorf(engram.Unsupported, stateFile, "its version is %d; this program knows %d", content.Version, stateVersion)
	}
	return nil
}

func (s *Store) loadPolicies() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.options.Dir, policiesFile), maxStateFile)
	if err != nil || text == nil {
		return err
	}
	overrides, err := policy.ParseFile(text)
	if err == nil {
		err = s.policies.SetOverrides(overrides)
	}
	if err != nil {
		return engram.Errorf(engram.CodeOf(err), policiesFile, "%w; mend the file or move it away", err)
	}
	return nil
}

func (s *Store) savePolicies() error {
	text, err := policy.PrintFile(s.policies.Overrides())
	if err != nil {
		return err
	}
	if err := vfs.ReplaceFile(s.options.FS, filepath.Join(s.options.Dir, policiesFile), text); err != nil {
		return unwritten(policiesFile, err)
	}
	return nil
}
