package copies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// stateJSON is a copy's file in the data folder: a position per server, and the ledger.
// Both are of the same moment, so that nothing is counted twice.
type stateJSON struct {
	Copy       string                  `json:"copy"` // its text
	Configured bool                    `json:"configured,omitempty"`
	Rule       string                  `json:"rule,omitempty"`      // the pattern of the one that made it
	Positions  map[string]positionJSON `json:"positions,omitempty"` // by server
	Missing    []missingJSON           `json:"missing,omitempty"`
}

type positionJSON struct {
	Epoch   uint64      `json:"epoch,string"`
	Number  uint64      `json:"number,string"`
	Arrived engram.Time `json:"arrived"`
	Latest  engram.Time `json:"latest,omitempty"`
	Before  engram.Time `json:"before,omitempty"`
}

type missingJSON struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	tally
	Newest    *engram.Time `json:"newest,omitempty"`
	Corrected bool         `json:"corrected,omitempty"`
}

// maxState bounds a file of this package, in bytes: a full ledger fits into it.
const maxState = 128 << 20

// fileOf returns the name of a copy's file.
func fileOf(pattern string) string {
	sum := sha256.Sum256([]byte(pattern))
	return "copy-" + hex.EncodeToString(sum[:8]) + ".json"
}

// encodeLocked returns the file of a replica. Its lock is held.
func (r *replica) encodeLocked() ([]byte, error) {
	s := stateJSON{Copy: Format(&r.copy), Configured: r.configured, Rule: r.rule, Positions: map[string]positionJSON{}}
	for server, p := range r.positions {
		had := r.newest[server]
		s.Positions[server] = positionJSON{p.Epoch, p.Number, p.Arrived, had.Latest, had.Before}
	}
	for id, of := range r.ledger.tallies {
		text := id.String()
		var last *engram.Time
		n, ok := r.ledger.newest[id]
		if ok {
			last = &n.at
		}
		for _, t := range of {
			s.Missing = append(s.Missing, missingJSON{ID: text, Reason: t.reason, tally: *t, Newest: last, Corrected: n.corrected})
		}
	}
	return json.Marshal(&s)
}

// decode reads the file of a replica, or of a rule: then there is no replica. present is that of
// the entities ([contract.Memory].Present).
func decode(text []byte, present func(engram.ID) engram.Time) (c contract.Copy, r *replica, err error) {
	var s stateJSON
	if err := json.Unmarshal(text, &s); err != nil {
		return c, nil, err
	}
	if c, err = Parse(s.Copy); err != nil || c.OfMany() {
		return c, nil, err
	}
	r = newReplica(c, present)
	r.configured, r.rule = s.Configured, s.Rule
	for server, p := range s.Positions {
		r.positions[server] = contract.Position{Epoch: p.Epoch, Number: p.Number, Arrived: p.Arrived}
		r.newest[server] = contract.Had{Latest: p.Latest, Before: p.Before}
	}
	for i := range s.Missing {
		m := &s.Missing[i]
		id, err := engram.Parse(m.ID)
		if err != nil {
			return c, nil, err
		}
		t := newTally(id, m.Reason)
		t.Count, t.Bytes, t.Spans, t.Noticed = m.Count, m.Bytes, m.Spans, m.Noticed
		if len(t.Spans) == 0 {
			t.widen(engram.Always()) // an earlier release has left them out
		}
		r.ledger.put(id, t)
		if m.Newest != nil {
			r.ledger.newest[id] = newest{*m.Newest, m.Corrected}
		}
	}
	return c, r, nil
}

// load reads the files of a folder. Of one that makes no sense, or is larger than any is, its
// copy is read; without either its copy of a memory begins anew if it is configured. What is
// wrong is told by Problems.
func (h *Holder) load() (out []*replica, rules []contract.Copy, err error) {
	if h.o.Dir == "" {
		return nil, nil, nil
	}
	fail := func(err error) error {
		return engram.Errorf(engram.Unavailable, h.o.Dir, "where the copies are cannot be read: %w", err)
	}
	if err := h.o.FS.MkdirAll(h.o.Dir, 0o700); err != nil {
		return nil, nil, fail(err)
	}
	entries, err := h.o.FS.ReadDir(h.o.Dir)
	if err != nil {
		return nil, nil, fail(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), vfs.CopySuffix)
		if strings.HasPrefix(name, "copy-") && strings.HasSuffix(name, ".json") {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c, r, err := h.loadFile(name)
		switch {
		case err != nil:
			return nil, nil, fail(err)
		case r != nil:
			out = append(out, r)
		case c.OfMany():
			rules = append(rules, c)
		}
	}
	return out, rules, nil
}

// loadFile reads one file. c is empty if neither it nor its copy can be read.
func (h *Holder) loadFile(name string) (c contract.Copy, r *replica, err error) {
	path := filepath.Join(h.o.Dir, name)
	var found []byte
	var sealed bool
	trouble, err := vfs.ReadKept(h.o.FS, path, maxState, func(text []byte) (err error) {
		if sealed, err = vfs.CheckChecksum(text); err != nil {
			return err
		}
		of, replica, err := decode(text, h.o.Memory.Present)
		if err == nil && fileOf(of.Pattern.String()) != name {
			err = fmt.Errorf("it is that of %s", of.Pattern)
		}
		if err == nil {
			c, r, found = of, replica, text
		}
		return err
	}, func(error) bool { return false })
	if trouble != nil {
		h.o.Log.Warn("a copy's file is damaged", "file", path, "error", trouble)
		h.problems = append(h.problems, fmt.Sprintf("%s: %v; a copy that is missing now can be added again with 'engram copy add'", path, trouble))
	}
	if found == nil || sealed && trouble == nil || err != nil {
		return c, r, err
	}
	if !sealed { // an earlier release wrote it
		found = vfs.WithChecksum(found)
	}
	_ = vfs.WriteKept(h.o.FS, path, found, vfs.ReplaceFile) // if it cannot be written now, it is read again as it is
	return c, r, nil
}

// saveRule writes a rule that was added.
func (h *Holder) saveRule(r *rule) error {
	if h.o.Dir == "" {
		return nil
	}
	h.mu.Lock()
	text, err := json.Marshal(&stateJSON{Copy: Format(&r.copy)})
	h.mu.Unlock()
	if err != nil {
		return err
	}
	h.saving.Lock()
	defer h.saving.Unlock()
	return h.write(fileOf(r.pattern), text)
}

// save writes what has changed, after the memory has it on disk, and returns how many
// bytes that were.
func (h *Holder) save(ctx context.Context, list []*replica) (written int, err error) {
	if h.o.Dir == "" {
		return 0, nil
	}
	h.saving.Lock()
	defer h.saving.Unlock()
	type file struct {
		replica *replica
		name    string
		text    []byte
		changes uint64
	}
	var files []file
	for _, r := range list {
		r.mu.Lock()
		if r.changes == r.saved || r.ended {
			r.mu.Unlock()
			continue
		}
		text, err := r.encodeLocked()
		f := file{r, fileOf(r.pattern), text, r.changes}
		r.mu.Unlock()
		if err != nil {
			return 0, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return 0, nil
	}
	// What the files say is on the way to the disk already; they must not come first.
	kept, err := h.o.Memory.SyncCopies(ctx)
	if err != nil || !kept {
		return 0, err
	}
	for _, f := range files {
		if f.replica.isEnded() {
			continue
		}
		if err := h.write(f.name, f.text); err != nil {
			return written, err
		}
		written += 2 * len(f.text) // and its copy
		f.replica.mu.Lock()
		f.replica.saved = f.changes
		f.replica.mu.Unlock()
	}
	return written, nil
}

// write writes a file and its copy.
func (h *Holder) write(name string, text []byte) error {
	return vfs.WriteKept(h.o.FS, filepath.Join(h.o.Dir, name), vfs.WithChecksum(text), vfs.ReplaceFile)
}

// forget removes the file of a copy.
func (h *Holder) forget(pattern string) error {
	if h.o.Dir == "" {
		return nil
	}
	h.saving.Lock()
	defer h.saving.Unlock()
	path := filepath.Join(h.o.Dir, fileOf(pattern))
	removed := false
	for _, name := range [...]string{path + vfs.CopySuffix, path} { // else a crash between the two has the copy back
		err := h.o.FS.Remove(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		removed = removed || err == nil
	}
	if !removed {
		return nil
	}
	return h.o.FS.SyncDir(h.o.Dir)
}
