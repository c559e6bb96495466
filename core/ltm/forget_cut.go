package ltm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// verdict is what becomes of a version.
type verdict uint8

const (
	stays       verdict = iota
	goes                // it is forgotten
	isProtected         // it would be forgotten, but for what keeps it
)

// cutPlan says what goes of an episode.
type cutPlan struct {
	why      string // in words
	entities map[engram.ID]*entityCut
	labels   map[string]string // set in what is left of the episode
}

// entityCut says what goes of an entity. goes is given versions without payloads, and
// says the same each time.
type entityCut struct {
	cause string
	goes  func(v *engram.Snapshot, epoch uint64) verdict
}

// cut is what went, or would go, of an episode.
type cut struct {
	entities  map[engram.ID]forgottenOf
	causes    map[engram.ID]string
	protected map[engram.ID]protectedOf
	bytes     int64 // that became free
	all       bool  // nothing stays
	touched   bool
}

// protectedOf is what would go of an entity, but for what keeps it.
type protectedOf struct {
	versions uint64        // but for those in force
	inForce  []engram.Time // which an earlier episode may have, too
	last     engram.Time   // of all
}

// surveyEpisode tells what a plan would take out of an episode.
func (a *episodeFolder) surveyEpisode(ctx context.Context, name string, plan cutPlan) (cut, error) {
	c := cut{entities: map[engram.ID]forgottenOf{}, causes: map[engram.ID]string{}, protected: map[engram.ID]protectedOf{}, all: true}
	pinned := a.disk.episodes.pin()
	defer pinned.release()
	h, err := pinned.find(name)
	if err != nil {
		return c, err
	}
	src, err := h.open()
	if errors.Is(err, fs.ErrNotExist) { // somebody else has deleted its file
		return c, engram.Errorf(engram.NotFound, name, "%w", err)
	}
	if err != nil {
		return c, err
	}
	defer h.close()
	for _, e := range src.Entities() {
		p := plan.entities[e.ID]
		if p == nil {
			c.all = false
			continue
		}
		tl, err := src.Timeline(e.ID)
		if err != nil {
			return c, err
		}
		var of forgottenOf
		var early []engram.Time // of the earliest, which are the values in force
		var gone []*engram.Snapshot
		var kept []engram.Time
		for i := range tl.Blocks() {
			versions, err := tl.Index(ctx, i)
			if err != nil {
				return c, engram.Errorf(engram.CodeOf(err), name, "what it holds of %s cannot be read, so nothing of it can be forgotten; repair it, or drop it: %w", e.ID, err)
			}
			for n, v := range versions {
				if n < int(e.InForce) {
					early = append(early, v.Time)
				}
				switch p.goes(v, h.info.Epoch) {
				case goes:
					gone = append(gone, v)
				case isProtected:
					kept = append(kept, v.Time)
					c.all = false
				default:
					c.all = false
				}
			}
		}
		slices.Sort(early)
		inForce := engram.MinTime
		if n := min(int(e.InForce), len(early)); n > 0 {
			inForce = early[n-1] + 1
		}
		if len(kept) > 0 {
			c.protected[e.ID] = protectedFrom(kept, inForce)
		}
		if len(gone) == 0 {
			continue
		}
		c.touched = true
		for _, v := range gone {
			if v.Time >= inForce { // those in force belong to an earlier episode
				of.add(v)
			}
		}
		c.entities[e.ID], c.causes[e.ID] = of, p.cause
	}
	return c, nil
}

// protectedFrom counts versions that stay, by their times; those before inForce were in
// force when the episode began.
func protectedFrom(times []engram.Time, inForce engram.Time) (p protectedOf) {
	for _, t := range times {
		if t < inForce {
			p.inForce = append(p.inForce, t)
		} else {
			p.versions++
		}
	}
	p.last = slices.Max(times)
	return p
}

// cutEpisode takes what a plan says out of an episode: none of its bytes is in the
// file then. An episode of which nothing is left is deleted. The caller holds
// the lock of forgetting.
func (a *episodeFolder) cutEpisode(ctx context.Context, name string, plan cutPlan) (cut, error) {
	c, err := a.surveyEpisode(ctx, name, plan)
	switch {
	case engram.CodeOf(err) == engram.NotFound:
		return cut{}, nil // it was dropped meanwhile
	case err != nil, !c.touched && len(plan.labels) == 0:
		return c, err
	}
	h, ok := a.disk.episodes.get(name)
	if !ok {
		return cut{}, nil
	}
	before := h.info.Bytes
	if c.all {
		c.bytes = before
		return c, a.dropFile(ctx, h, &c)
	}
	err = a.edit(ctx, name, func(path string, o episode.Options) (episode.Info, error) {
		return episode.Rewrite(ctx, path, episode.Change{
			Keep: func(id engram.ID, v *engram.Snapshot) bool {
				p := plan.entities[id]
				return p == nil || p.goes(v, h.info.Epoch) != goes
			},
			Why: plan.losses(&c), Labels: plan.labels,
		}, o)
	}, func(next *version, _ []episode.Entity) { a.account.forgot(next, c.entities) })
	if err != nil {
		return c, engram.Errorf(engram.CodeOf(err), name, "what is to be forgotten of it is still there: %w", err)
	}
	if now, ok := a.disk.episodes.get(name); ok {
		c.bytes = max(0, before-now.info.Bytes) // its account of losses grew
	}
	return c, nil
}

// losses says in words what went of an episode, by segment and cause.
func (p *cutPlan) losses(c *cut) []string {
	type key struct {
		segment engram.ID
		cause   string
	}
	counts := map[key]uint64{}
	for id, of := range c.entities {
		counts[key{id.Truncate(engram.LevelCoreSegment), c.causes[id]}] += of.Versions
	}
	var out []string
	for k, n := range counts {
		text := fmt.Sprintf("%d versions of %s were forgotten (%s)", n, k.segment, k.cause)
		switch n {
		case 0: // it is counted where it began to be in force
			text = fmt.Sprintf("what was in force of %s when the episode began was forgotten (%s)", k.segment, k.cause)
		case 1:
			text = fmt.Sprintf("1 version of %s was forgotten (%s)", k.segment, k.cause)
		}
		if p.why != "" {
			text += ": " + p.why
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// forgetResult sums up what was forgotten of several episodes.
type forgetResult struct {
	forgotten Forgotten
	acts      map[actKey]*actSum
	protected map[engram.ID]engram.Time // the last that stays of each entity
}

type actKey struct {
	segment engram.ID
	cause   string
}

func (k actKey) compare(other actKey) int {
	return cmp.Or(k.segment.Compare(other.segment), strings.Compare(k.cause, other.cause))
}

type actSum struct {
	of       forgottenOf
	entities map[engram.ID]bool
}

func (a *actSum) act(k actKey) ForgettingAct {
	return ForgettingAct{
		Segment: k.segment, Cause: k.cause, Entities: uint64(len(a.entities)), Versions: a.of.Versions,
		Span: engram.Interval{Start: a.of.First, End: a.of.Last + 1},
	}
}

// add adds what went of an episode, the earlier ones first.
func (r *forgetResult) add(c cut) {
	if r.acts == nil {
		r.acts, r.protected = map[actKey]*actSum{}, map[engram.ID]engram.Time{}
	}
	for id, of := range c.protected {
		last, any := r.protected[id]
		for _, t := range of.inForce {
			if !any || t > last { // no earlier episode keeps it
				of.versions++
			}
		}
		r.forgotten.Protected += of.versions
		if !any || of.last > last {
			r.protected[id] = of.last
		}
	}
	r.forgotten.Bytes += c.bytes
	if c.touched {
		r.forgotten.Episodes++
	}
	for id, of := range c.entities {
		k := actKey{id.Truncate(engram.LevelCoreSegment), c.causes[id]}
		a := r.acts[k]
		if a == nil {
			a = &actSum{entities: map[engram.ID]bool{}}
			r.acts[k] = a
		}
		a.of = a.of.plus(of)
		a.entities[id] = true
		r.forgotten.Versions += of.Versions
	}
}

// count adds what went of an episode, and saves the account at once: what an error, a
// crash or the end of patience keeps from going does not make it untold.
func (f *forgetter) count(r *forgetResult, c cut) {
	r.add(c)
	f.account.saveSoon()
}

// finish makes the acts.
func (r *forgetResult) finish() {
	for _, k := range slices.SortedFunc(maps.Keys(r.acts), actKey.compare) {
		if a := r.acts[k]; a.of.Versions > 0 {
			r.forgotten.Acts = append(r.forgotten.Acts, a.act(k))
		}
	}
}
