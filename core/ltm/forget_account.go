package ltm

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// accountFile holds what was forgotten of each entity, for answers to tell, and what
// was recalled.
const (
	accountFile    = "account.json"
	accountVersion = 1
	maxAccounts    = 50_000 // entities; of more, those of the oldest data are let go of
)

// account knows what is recalled, and what is to be written beside what the newest version
// of the episodes says was forgotten and damaged. Safe for concurrent use.
type account struct {
	files    *smallFiles
	episodes *episodeSet
	now      func() engram.Time
	counts   atomic.Pointer[counts] // of this epoch, once it has begun

	logLosses []LogLoss // does not change after Begin

	names nameTree // of the entities something was ever forgotten of, or damaged
	// earlier is the content's LeftOut, since the store was opened.
	earlier map[engram.ID]forgottenOf
	// unrecorded is the content's Lost, since the store was opened.
	unrecorded map[engram.ID]forgottenOf
	// before is the content's Unwritten as the store was opened, until Begin has found out what
	// of it is lost.
	before map[engram.ID]forgottenOf
	saving sync.Mutex // held while the file is written; taken before mu
	mu     struct {
		sync.Mutex
		accountContent        // but for what the newest version of the episodes says
		changed        bool   // since it was written
		saved          uint64 // what that version had noted then
	}
}

type accountContent struct {
	Version  int                       `json:"version"`
	Entities map[engram.ID]forgottenOf `json:"entities,omitempty"`
	Segments map[engram.ID]uint64      `json:"segments,omitempty"` // versions, by core segment
	// LeftOut is what policies left out in earlier epochs.
	LeftOut map[engram.ID]forgottenOf `json:"left_out,omitempty"`
	// Lost is what was lost on its way to the disk in earlier epochs, by provider segment; in
	// memory, in this one.
	Lost map[engram.ID]forgottenOf `json:"lost,omitempty"`
	// Unwritten is what was acknowledged as logged and the disk refuses: a kill loses it.
	Unwritten map[engram.ID]forgottenOf `json:"unwritten,omitempty"`
	// Damaged is what episodes held that cannot be read any more, by their names.
	Damaged map[string]map[engram.ID]forgottenOf `json:"damaged,omitempty"`
	// Recalled has the times of the last recalls, by episode and entity.
	Recalled map[string]map[engram.ID][]engram.Time `json:"recalled,omitempty"`
	// Untold are notes of forgetting that could not be committed yet.
	Untold []note `json:"untold,omitempty"`
	// LogLosses are what logs have lost.
	LogLosses []LogLoss `json:"log_losses,omitempty"`
}

// forgottenOf is what was forgotten of an entity in all epochs.
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

func (a *account) load() error {
	content := &accountContent{}
	trouble, err := a.files.read(accountFile, "what was forgotten, left out and damaged, and what is recalled: queries do not say that it was", func(text []byte) error {
		var read accountContent
		err := readJSON(accountFile, text, accountVersion, &read, func() int { return read.Version })
		if err == nil {
			content = &read
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { a.mu.changed = trouble }()
	for id := range content.Entities {
		a.names.add(id)
	}
	for _, of := range content.Damaged {
		for id := range of {
			a.names.add(id)
		}
	}
	a.earlier, a.unrecorded, a.logLosses = content.LeftOut, content.Lost, content.LogLosses
	a.episodes.publish(func(next *version) {
		next.forgotten, next.segments, next.damaged = content.Entities, content.Segments, content.Damaged
	})
	a.before = content.Unwritten
	content.Entities, content.Segments, content.Damaged, content.Lost, content.Unwritten = nil, nil, nil, nil, nil
	a.mu.accountContent = *content
	return nil
}

// save writes the account if it has changed.
func (a *account) save() error {
	a.saving.Lock()
	defer a.saving.Unlock()
	v := a.episodes.current()
	a.mu.Lock()
	if !a.mu.changed && v.noted == a.mu.saved {
		a.mu.Unlock()
		return nil
	}
	content := a.mu.accountContent
	content.Recalled = make(map[string]map[engram.ID][]engram.Time, len(a.mu.Recalled))
	for episode, of := range a.mu.Recalled {
		content.Recalled[episode] = maps.Clone(of)
	}
	a.mu.changed = false
	a.mu.Unlock()
	content.Version, content.LogLosses = accountVersion, a.logLosses
	content.Lost = sumOf(a.unrecorded, content.Lost)
	if len(a.before) > 0 {
		content.Unwritten = sumOf(a.before, content.Unwritten)
	}
	content.Entities, content.Segments, content.Damaged = v.forgotten, v.segments, v.damaged
	if counts := a.counts.Load(); counts != nil { // the next epoch is to know of this one
		content.LeftOut = sumOf(content.LeftOut, counts.leftOut())
	}
	text, err := json.Marshal(content)
	if err != nil {
		return engram.Errorf(engram.Internal, accountFile, "it cannot be encoded: %w", err)
	}
	if err := a.files.write(accountFile, vfs.WithChecksum(text), a.files.reserve.replaceFile); err != nil {
		a.change()
		return err
	}
	a.mu.Lock()
	a.mu.saved = max(a.mu.saved, v.noted)
	a.mu.Unlock()
	return nil
}

// forgot notes in a version that is made what was forgotten of entities until now.
func (a *account) forgot(next *version, of map[engram.ID]forgottenOf) {
	now := a.now()
	forgotten, segments := map[engram.ID]forgottenOf{}, map[engram.ID]uint64{}
	maps.Copy(forgotten, next.forgotten)
	maps.Copy(segments, next.segments)
	for id, f := range of {
		if f.Versions == 0 {
			continue
		}
		f.Since = now
		forgotten[id] = forgotten[id].plus(f)
		segments[id.Truncate(engram.LevelCoreSegment)] += f.Versions
		a.names.add(id)
		next.noted = next.number
	}
	for _, id := range bounded(forgotten) {
		a.names.remove(id)
	}
	next.forgotten, next.segments = forgotten, segments
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

// sumOf sums up what was lost in earlier epochs and in this one.
func sumOf(before, now map[engram.ID]forgottenOf) map[engram.ID]forgottenOf {
	sum := map[engram.ID]forgottenOf{}
	maps.Copy(sum, before)
	for id, of := range now {
		sum[id] = sum[id].plus(of)
	}
	bounded(sum)
	return sum
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

// lost notes in a version that is made what an episode held that cannot be read.
func (a *account) lost(next *version, episode string, held map[engram.ID]forgottenOf) {
	if len(held) == 0 && next.damaged[episode] == nil {
		return
	}
	for id := range held {
		a.names.add(id)
	}
	damaged := map[string]map[engram.ID]forgottenOf{}
	maps.Copy(damaged, next.damaged)
	if damaged[episode] = held; len(held) == 0 {
		delete(damaged, episode)
	}
	for n := 0; ; n = 0 {
		for _, of := range damaged {
			n += len(of)
		}
		if n <= maxAccounts || len(damaged) == 1 {
			break
		}
		delete(damaged, slices.Min(slices.Collect(maps.Keys(damaged)))) // the oldest
	}
	next.damaged, next.noted = damaged, next.number
}

// found takes back in a version that is made that an episode cannot be read, and returns
// what stays lost of what it held: what is not there now. That is noted under the name of
// the file that is put aside.
func (a *account) found(next *version, episode string, held, now map[engram.ID]forgottenOf) (stays map[engram.ID]forgottenOf) {
	stays = map[engram.ID]forgottenOf{}
	for id, was := range held {
		if n := now[id].Versions; n < was.Versions {
			was.Versions -= n
			stays[id] = was
		}
	}
	if _, ok := next.damaged[episode]; ok {
		next.damaged = maps.Clone(next.damaged)
		delete(next.damaged, episode)
		next.noted = next.number
	}
	all := maps.Clone(stays)
	for id, before := range next.damaged[episode+putAside] {
		if more, had := now[id].Versions, held[id].Versions; more > had { // of these are some again
			before.Versions -= min(more-had, before.Versions)
		}
		if before.Versions > 0 {
			all[id] = all[id].plus(before)
		}
	}
	if len(all) > 0 || next.damaged[episode+putAside] != nil {
		a.lost(next, episode+putAside, all)
	}
	return stays
}

// damageOf tells what of an entity cannot be read any more.
func (v *version) damageOf(id engram.ID) (sum forgottenOf) {
	for _, of := range v.damaged {
		sum = sum.plus(of[id])
	}
	return sum
}

// leftOut tells what policies left out of an entity in earlier epochs as of something
// lost. That does not change in this epoch.
func (a *account) leftOut(id engram.ID) wm.Loss {
	return a.earlier[id].loss()
}

// saveSoon is save for who does not wait for it: health tells if it fails, and it is tried
// again with the next change.
func (a *account) saveSoon() { a.files.health.set("the account", a.save()) }

// change has the account written the next time.
func (a *account) change() {
	a.mu.Lock()
	a.mu.changed = true
	a.mu.Unlock()
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
