package ltm

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
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
	maxStateFile = 64 << 20
)

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
}

// removal hides what was recorded of a segment before it was removed.
type removal struct {
	Segment engram.ID   `json:"segment"`
	Arrived engram.Time `json:"arrived"` // what arrived up to it is hidden …
	Epoch   uint64      `json:"epoch"`   // … and of this life, all up to Number
	Number  uint64      `json:"number"`
}

// hidden says which versions of an entity are hidden because its segment was removed.
type hidden []removal

func (h hidden) hides(v version) bool {
	for i := range h {
		if r := &h[i]; v.epoch == r.Epoch && v.number <= r.Number || v.epoch != r.Epoch && v.arrived <= r.Arrived {
			return true
		}
	}
	return false
}

// hiddenOf returns what is hidden of an entity or segment.
func (s *Store) hiddenOf(id engram.ID) hidden {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	var out hidden
	for _, r := range s.state.mu.Removed {
		if r.Segment.Contains(id) {
			out = append(out, r)
		}
	}
	return out
}

// changeState changes the state and writes it; if it cannot be written nothing has
// changed.
func (s *Store) changeState(change func(*stateContent)) error {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	next := s.state.mu.stateContent
	next.Marks, next.Rules = slices.Clone(next.Marks), slices.Clone(next.Rules)
	next.Removed, next.Kept = slices.Clone(next.Removed), slices.Clone(next.Kept)
	next.Orders = slices.Clone(next.Orders)
	change(&next)
	next.Version = stateVersion
	text, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return engram.Errorf(engram.Internal, stateFile, "it cannot be encoded: %w", err)
	}
	if err := writeFile(s.options.FS, filepath.Join(s.options.Dir, stateFile), text); err != nil {
		return engram.Errorf(engram.Unavailable, stateFile, "it cannot be written: %w", err)
	}
	s.state.mu.stateContent = next
	return nil
}

func (s *Store) loadState() error {
	text, err := readFile(s.options.FS, filepath.Join(s.options.Dir, stateFile), maxStateFile)
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
	text, err := readFile(s.options.FS, filepath.Join(s.options.Dir, policiesFile), maxStateFile)
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
	if err := writeFile(s.options.FS, filepath.Join(s.options.Dir, policiesFile), text); err != nil {
		return engram.Errorf(engram.Unavailable, policiesFile, "it cannot be written: %w", err)
	}
	return nil
}

// readFile returns a file's content, nil if there is no such file.
func readFile(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, engram.Errorf(engram.Exhausted, path, "the file has more than %d bytes", limit)
	}
	return text, nil
}

// writeFile replaces a file so that a crash leaves the old or the new one.
func writeFile(fsys vfs.FS, path string, text []byte) error {
	temporary := path + ".new"
	f, err := fsys.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(temporary, path); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}
