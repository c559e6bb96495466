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
	mu    struct {
		sync.Mutex
		accountContent
		changed bool // since it was written
	}
}

type accountContent struct {
	Version  int                       `json:"version"`
	Entities map[engram.ID]forgottenOf `json:"entities,omitempty"`
	Segments map[engram.ID]uint64      `json:"segments,omitempty"` // versions, by core segment
	// Recalled has the times of the last recalls, by episode and entity.
	Recalled map[string]map[engram.ID][]engram.Time `json:"recalled,omitempty"`
}

// forgottenOf is what was forgotten of an entity in all lives.
type forgottenOf struct {
	Versions uint64      `json:"versions"`
	First    engram.Time `json:"first"` // times of their snapshots
	Last     engram.Time `json:"last"`
	Arrived  engram.Time `json:"arrived"` // when the first of them arrived
}

func (f forgottenOf) plus(o forgottenOf) forgottenOf {
	switch {
	case o.Versions == 0:
		return f
	case f.Versions == 0:
		return o
	}
	return forgottenOf{f.Versions + o.Versions, min(f.First, o.First), max(f.Last, o.Last), min(f.Arrived, o.Arrived)}
}

// add counts a version.
func (f *forgottenOf) add(s *engram.Snapshot) { *f = f.plus(forgottenOf{1, s.Time, s.Time, s.Arrived}) }

func (s *Store) loadAccount() error {
	text, err := readFile(s.options.FS, filepath.Join(s.options.Dir, accountFile), maxStateFile)
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
	a.any.Store(len(content.Entities) > 0)
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
	text, err := json.Marshal(a.mu.accountContent)
	if err != nil {
		return engram.Errorf(engram.Internal, accountFile, "it cannot be encoded: %w", err)
	}
	if err := writeFile(s.options.FS, filepath.Join(s.options.Dir, accountFile), text); err != nil {
		return engram.Errorf(engram.Unavailable, accountFile, "it cannot be written: %w", err)
	}
	a.mu.changed = false
	return nil
}

// forgot notes what was forgotten of entities.
func (a *account) forgot(of map[engram.ID]forgottenOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.Entities == nil {
		a.mu.Entities, a.mu.Segments = map[engram.ID]forgottenOf{}, map[engram.ID]uint64{}
	}
	for id, f := range of {
		if f.Versions == 0 {
			continue
		}
		a.mu.Entities[id] = a.mu.Entities[id].plus(f)
		a.mu.Segments[id.Truncate(engram.LevelCoreSegment)] += f.Versions
		a.names.add(id)
		a.any.Store(true)
		a.mu.changed = true
	}
	if len(a.mu.Entities) <= maxAccounts {
		return
	}
	ids := slices.SortedFunc(maps.Keys(a.mu.Entities), func(x, y engram.ID) int {
		return cmp.Compare(a.mu.Entities[x].Last, a.mu.Entities[y].Last)
	})
	for _, id := range ids[:len(ids)-maxAccounts*9/10] {
		delete(a.mu.Entities, id)
		a.names.remove(id)
	}
}

// loss tells what was forgotten of an entity as of something lost.
func (a *account) loss(id engram.ID) wm.Loss {
	if !a.any.Load() {
		return wm.Loss{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.mu.Entities[id]
	return wm.Loss{Evictions: f.Versions, Snapshots: f.Versions, First: f.First, Last: f.Last, Arrived: f.Arrived}
}

// segment returns how many versions of a core segment were forgotten.
func (a *account) segments() map[engram.ID]uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.mu.Segments)
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
