package ltm

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
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
	files *smallFiles
	mu    struct { // held while the file is written: changes are rare
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
	Hosted  []Hosted       `json:"hosted,omitempty"` // memories that programs host
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
	Epoch   uint64      `json:"epoch"`   // … and of this epoch, all up to Number
	Number  uint64      `json:"number"`

	lives []uint64 // of the server, while it is used
}

// hidden says which versions of an entity are hidden because its segment was removed.
type hidden []removal

func (h hidden) hides(v arrival) bool {
	for i := range h {
		if r := &h[i]; v.epoch == r.Epoch && v.number <= r.Number || v.epoch != r.Epoch && r.isAfter(v.epoch, v.arrived) {
			return true
		}
	}
	return false
}

// follows reports whether it came after a removal in another epoch.
func (r *removal) follows(old *removal) bool {
	life, mine := slices.Index(old.lives, old.Epoch), slices.Index(old.lives, r.Epoch)
	if life < 0 || mine < 0 {
		return old.Arrived <= r.Arrived
	}
	return life < mine
}

// isAfter reports whether it came after what arrived in another epoch: that is told by
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
func (v *version) hiddenOf(id engram.ID) hidden {
	var out hidden
	for _, r := range v.removed {
		if r.Segment.Contains(id) {
			r.lives = v.lives
			out = append(out, r)
		}
	}
	return out
}

// publishState has readers know what was removed, and the epochs of the server.
func (p *past) publishState() {
	noted := p.state.content()
	p.disk.episodes.publish(func(next *version) { next.removed, next.lives, next.rewritten = noted.Removed, noted.Lives, true })
}

// change changes the state and writes it; if it cannot be written nothing has changed.
func (s *state) change(change func(*stateContent)) error {
	return s.changeWith(change, vfs.ReplaceFile)
}

// changeOrders is change for what was ordered to be forgotten, which is noted on a full
// disk, too.
func (s *state) changeOrders(change func(*stateContent)) error {
	return s.changeWith(change, s.files.reserve.replaceFile)
}

func (s *state) changeWith(change func(*stateContent), replaceFile func(fsys vfs.FS, path string, text []byte) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.mu.stateContent
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
	if err := s.files.write(stateFile, vfs.WithChecksum(text), replaceFile); err != nil {
		return err
	}
	s.mu.stateContent = next
	return nil
}

// content returns what is noted; it is not to be changed.
func (s *state) content() stateContent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stateContent
}

// keeps reports whether an episode is kept.
func (s *state) keeps(name string) bool {
	_, kept := slices.BinarySearch(s.content().Kept, name)
	return kept
}

// smallFiles are the files in a store's folder that are written anew whenever something
// in them changes, with a copy of each.
type smallFiles struct {
	fs      vfs.FS
	dir     string
	health  *health
	reserve *reserve // of room on the disk, for what is noted of forgetting
}

func (f *smallFiles) path(file string) string { return filepath.Join(f.dir, file) }

func (f *smallFiles) write(file string, text []byte, replaceFile func(fsys vfs.FS, path string, text []byte) error) error {
	err := vfs.WriteKept(f.fs, f.path(file), text, replaceFile)
	if err == nil {
		return nil
	}
	if vfs.IsFull(err) {
		return engram.Errorf(engram.Exhausted, file, "it cannot be written, the disk is full; free some space and try again: %w", err)
	}
	return engram.Errorf(engram.Unavailable, file, "it cannot be written; check the disk and try again: %w", err)
}

// read reads a file. What is wrong with it is told by health; if neither it nor its copy
// can be read it is begun anew, without what would be gone.
func (f *smallFiles) read(file, gone string, read func(text []byte) error) (trouble bool, err error) {
	wrong, err := vfs.ReadKept(f.fs, f.path(file), maxStateFile, read, isUnsupported)
	if wrong != nil {
		f.health.set(file, engram.Errorf(engram.Corrupt, file, "%w; without its last changes, or without it, there may be lacking %s", wrong, gone))
	}
	if err != nil && !isUnsupported(err) {
		err = engram.Errorf(engram.Unavailable, file, "the system refuses to read it, and without it there would be lacking %s; give the server the right to read it, or move it and its copy away to go on without: %w", gone, err)
	}
	return wrong != nil, err
}

func isUnsupported(err error) bool { return engram.CodeOf(err) == engram.Unsupported }

// readJSON reads the text of one of the store's small files, whose versions it checks.
func readJSON(file string, text []byte, version int, content any, versionOf func() int) error {
	if _, err := vfs.CheckChecksum(text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, content); err != nil {
		return err
	}
	if got := versionOf(); got != version {
		return engram.Errorf(engram.Unsupported, file, "its version is %d; this program knows %d", got, version)
	}
	return nil
}

func (s *state) load() error {
	trouble, err := s.files.read(stateFile, "marks, which are looked for in the episodes, rules, kept episodes, what was removed, and orders to forget", func(text []byte) error {
		var content stateContent
		err := readJSON(stateFile, text, stateVersion, &content, func() int { return content.Version })
		if err == nil {
			s.mu.stateContent = content
		}
		return err
	})
	if trouble && err == nil {
		_ = s.change(func(*stateContent) {}) // if it cannot be written now, the copy is there
	}
	return err
}
