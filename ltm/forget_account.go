package ltm

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/wm"
)

// accountFile holds what was forgotten of each entity, for answers to tell, and what
// was recalled.
const (
	accountFile    = "account.json"
	accountVersion = 1
	maxAccounts    = 50_000 // entities; of more, those of the oldest data are let go of
)

// account knows what was forgotten and what is recalled. Safe for concurrent use.
type account struct {
	any   atomic.Bool // something was ever forgotten
	names nameTree    // of the entities something was forgotten of
	// earlier is the content's LeftOut, since the store was opened.
	earlier map[engram.ID]forgottenOf
	mu      struct {
		sync.Mutex
		accountContent
		changed bool // since it was written
	}
}

type accountContent struct {
	Version  int                       `json:"version"`
	Entities map[engram.ID]forgottenOf `json:"entities,omitempty"`
	Segments map[engram.ID]uint64      `json:"segments,omitempty"` // versions, by core segment
	// LeftOut is what policies left out in earlier lives.
	LeftOut map[engram.ID]forgottenOf `json:"left_out,omitempty"`
	// Damaged is what episodes held that cannot be read any more, by their names.
	Damaged map[string]map[engram.ID]forgottenOf `json:"damaged,omitempty"`
	// Recalled has the times of the last recalls, by episode and entity.
	Recalled map[string]map[engram.ID][]engram.Time `json:"recalled,omitempty"`
	// Untold are notes of forgetting that could not be committed yet.
	Untold []note `json:"untold,omitempty"`
}

// forgottenOf is what was forgotten of an entity in all lives.
type forgottenOf struct {
	Versions uint64      `json:"versions"`
	First    engram.Time `json:"first"` // times of their snapshots
	Last     engram.Time `json:"last"`
	Arrived  engram.Time `json:"arrived"` // when the first of them arrived
	// Since is when the last of them was forgotten, or found to be damaged: what arrived
	// after that may be some of them again. 0 is not known.
	Since engram.Time `json:"since,omitempty"`
}

// loss returns it as something lost.
func (f forgottenOf) loss() wm.Loss {
	return wm.Loss{Evictions: f.Versions, Snapshots: f.Versions, First: f.First, Last: f.Last, Arrived: f.Arrived}
}

func (f forgottenOf) plus(o forgottenOf) forgottenOf {
	switch {
	case o.Versions == 0:
		return f
	case f.Versions == 0:
		return o
	}
	return forgottenOf{f.Versions + o.Versions, min(f.First, o.First), max(f.Last, o.Last), min(f.Arrived, o.Arrived), max(f.Since, o.Since)}
}

// add counts a version.
func (f *forgottenOf) add(s *engram.Snapshot) {
	*f = f.plus(forgottenOf{1, s.Time, s.Time, s.Arrived, 0})
}

func (s *Store) loadAccount() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.options.Dir, accountFile), maxStateFile)
	if err != nil || text == nil {
		return err
	}
	a := &s.account
	content := &a.mu.accountContent
	if err := json.Unmarshal(text, content); err != nil {
		return engram.Errorf(engram.Corrupt, accountFile, "it tells what was forgotten, and cannot be read: %w; move it away", err)
	}
	if content.Version != accountVersion {
		return engram.Errorf(engram.Unsupported, accountFile, "its version is %d; this program knows %d", content.Version, accountVersion)
	}
	for id := range content.Entities {
		a.names.add(id)
	}
	for _, of := range content.Damaged {
		for id := range of {
			a.names.add(id)
		}
	}
	a.any.Store(len(content.Entities)+len(content.Damaged) > 0)
	a.earlier = content.LeftOut
	return nil
}

// saveAccount writes the account if it has changed.
func (s *Store) saveAccount() error {
	a := &s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mu.changed {
		return nil
	}
	a.mu.Version = accountVersion
	content := a.mu.accountContent
	if s.begun.Load() { // the next life is to know of this one
		content.LeftOut = s.recorder.counts.leftOut(content.LeftOut)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return engram.Errorf(engram.Internal, accountFile, "it cannot be encoded: %w", err)
	}
	if err := s.forgetting.reserve.replaceFile(s.options.FS, filepath.Join(s.options.Dir, accountFile), text); err != nil {
		return unwritten(accountFile, err)
	}
	a.mu.changed = false
	return nil
}

// forgot notes what was forgotten of entities until now.
func (a *account) forgot(of map[engram.ID]forgottenOf, now engram.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.Entities == nil {
		a.mu.Entities, a.mu.Segments = map[engram.ID]forgottenOf{}, map[engram.ID]uint64{}
	}
	for id, f := range of {
		if f.Versions == 0 {
			continue
		}
		f.Since = now
		a.mu.Entities[id] = a.mu.Entities[id].plus(f)
		a.mu.Segments[id.Truncate(engram.LevelCoreSegment)] += f.Versions
		a.names.add(id)
		a.any.Store(true)
		a.mu.changed = true
	}
	for _, id := range bounded(a.mu.Entities) {
		a.names.remove(id)
	}
}

// bounded lets go of the entities of the oldest data if there are too many, and returns
// those.
func bounded(of map[engram.ID]forgottenOf) (gone []engram.ID) {
	if len(of) <= maxAccounts {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(of), func(x, y engram.ID) int { return cmp.Compare(of[x].Last, of[y].Last) })
	gone = ids[:len(ids)-maxAccounts*9/10]
	for _, id := range gone {
		delete(of, id)
	}
	return gone
}

// forgotten tells what was forgotten of an entity.
func (a *account) forgotten(id engram.ID) forgottenOf {
	if !a.any.Load() {
		return forgottenOf{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.Entities[id]
}

// heldBy returns what an episode holds of each entity now, but for values in force.
func heldBy(entities []episode.Entity, now engram.Time) map[engram.ID]forgottenOf {
	of := map[engram.ID]forgottenOf{}
	for _, e := range entities {
		if n := e.Snapshots - min(e.InForce, e.Snapshots); n > 0 {
			of[e.ID] = forgottenOf{n, e.Span.Start, e.Span.End - 1, e.Arrived.Start, now}
		}
	}
	return of
}

// lost notes what an episode held that cannot be read.
func (a *account) lost(episode string, held map[engram.ID]forgottenOf) {
	if len(held) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.damagedLocked(episode, held)
}

func (a *account) damagedLocked(episode string, of map[engram.ID]forgottenOf) {
	for id := range of {
		a.names.add(id)
	}
	if a.mu.Damaged == nil {
		a.mu.Damaged = map[string]map[engram.ID]forgottenOf{}
	}
	a.mu.Damaged[episode], a.mu.changed = of, true
	for n := 0; ; n = 0 {
		for _, of := range a.mu.Damaged {
			n += len(of)
		}
		if n <= maxAccounts || len(a.mu.Damaged) == 1 {
			break
		}
		delete(a.mu.Damaged, slices.Min(slices.Collect(maps.Keys(a.mu.Damaged)))) // the oldest
	}
	a.any.Store(true)
}

// found takes back that an episode cannot be read, and returns what stays lost of what it
// held: what is not there now. That is noted under the name of the file that is put aside.
func (a *account) found(episode string, held, now map[engram.ID]forgottenOf) (stays map[engram.ID]forgottenOf) {
	stays = map[engram.ID]forgottenOf{}
	for id, was := range held {
		if n := now[id].Versions; n < was.Versions {
			was.Versions -= n
			stays[id] = was
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.mu.Damaged[episode]; ok {
		delete(a.mu.Damaged, episode)
		a.mu.changed = true
	}
	if len(stays) > 0 {
		all := maps.Clone(stays)
		for id, before := range a.mu.Damaged[episode+putAside] {
			all[id] = all[id].plus(before)
		}
		a.damagedLocked(episode+putAside, all)
	}
	return stays
}

// dropped takes back that an episode cannot be read: it is forgotten.
func (a *account) dropped(episode string) {
	a.found(episode, nil, nil)
}

// lostWith returns what an episode held that cannot be read.
func (a *account) lostWith(episode string) map[engram.ID]forgottenOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.mu.Damaged[episode])
}

// damage tells what of an entity cannot be read any more.
func (a *account) damage(id engram.ID) (sum forgottenOf) {
	if !a.any.Load() {
		return sum
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.mu.Damaged {
		sum = sum.plus(of[id])
	}
	return sum
}

// leftOut tells what policies left out of an entity in earlier lives as of something
// lost. That does not change in this life.
func (a *account) leftOut(id engram.ID) wm.Loss {
	return a.earlier[id].loss()
}

// change has the account written the next time.
func (a *account) change() {
	a.mu.Lock()
	a.mu.changed = true
	a.mu.Unlock()
}

// segments returns how many versions of each core segment were forgotten.
func (a *account) segments() map[engram.ID]uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.mu.Segments)
}

// untold returns the notes that could not be committed yet.
func (a *account) untold() []note {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.mu.Untold)
}

func (a *account) setUntold(notes []note) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.Untold, a.mu.changed = notes, true
}

// What was recalled so often in so long is not forgotten.
const (
	oftenRecalled  = 3
	recalledWithin = 30 * 24 * time.Hour
)

// recalled notes that something of an entity in an episode was recalled.
func (a *account) recalled(episode string, id engram.ID, now engram.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.Recalled == nil {
		a.mu.Recalled = map[string]map[engram.ID][]engram.Time{}
	}
	of := a.mu.Recalled[episode]
	if of == nil {
		of = map[engram.ID][]engram.Time{}
		a.mu.Recalled[episode] = of
	}
	times := append(slices.Clone(of[id]), now)
	of[id] = times[max(0, len(times)-oftenRecalled):]
	a.mu.changed = true
}

// isRecalledOften reports whether something of an entity in an episode is.
func (a *account) isRecalledOften(episode string, id engram.ID, now engram.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	times := a.mu.Recalled[episode][id]
	return len(times) >= oftenRecalled && times[0] >= now.Add(-recalledWithin)
}

// episodeGone lets go of what is known of an episode that is no more.
func (a *account) episodeGone(episode string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.mu.Recalled[episode]; ok {
		delete(a.mu.Recalled, episode)
		a.mu.changed = true
	}
}
