package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// explainer finds out why a target selected nothing.
type explainer struct {
	m        engram.Service
	types    *typeCache
	sel      selection
	target   target
	fallback engram.SnapshotSelector
	found    []engram.Item // without the instance that was asked for
	missing  []engram.Missing
}

// explain says on one line why nothing is selected, and what to do.
func (e *explainer) explain(ctx context.Context) (string, error) {
	levels := e.target.pattern.Levels
	nodes, err := e.m.Stats(ctx, e.target.pattern, engram.Level(max(len(levels), 1)))
	if err != nil {
		return "", err
	}
	nodes = slices.DeleteFunc(nodes, func(s engram.Stats) bool { return int(s.ID.Level()) < len(levels) })
	inRAM, onDisk, evicted, there := e.whatIs(nodes)
	switch {
	case inRAM+onDisk == 0 && e.lacks(engram.MissingFiltered):
		return e.say("it was not recorded (policy), and is gone from RAM; 'engram ltm policy get' shows what is recorded"), nil
	case inRAM+onDisk == 0 && e.lacks(engram.MissingDamaged):
		return e.say("what there was of it is damaged or lost; 'engram doctor' says more"), nil
	case len(nodes) == 0:
		reason, err := e.noName(ctx)
		if e.lacks(engram.MissingEvicted) { // whatever names are like it
			const lost = "it was there, perhaps: nobody knows the names of what was evicted before it was recorded"
			if err != nil {
				return e.say(lost), nil
			}
			reason += "; or " + lost
		}
		return reason, err
	case e.sel.target == engram.TargetLTM && onDisk == 0 && !e.lacks(engram.MissingForgotten):
		return e.say("there is no long-term memory of it; without --target ltm the working memory is asked"), nil
	case e.sel.target == engram.TargetWM && inRAM == 0 && onDisk > 0:
		return e.say("the working memory has nothing of it; without --target wm what is on disk is asked, too"), nil
	case inRAM+onDisk == 0 && e.lacks(engram.MissingForgotten):
		return e.say("it was forgotten; 'engram history SystemState/Forgetting' says why"), nil
	case inRAM+onDisk == 0 && evicted > 0:
		return e.say("all its snapshots were evicted, to keep within the segment's bounds"), nil
	case inRAM+onDisk == 0:
		return e.say("it is empty; 'engram ls' shows what is not"), nil
	case len(e.found) > 0:
		return e.say(fmt.Sprintf("there is no instance %d; its instances are 0 to %d", e.target.index, len(e.found[0].Instances)-1)), nil
	}
	if e.sel.ofType != "" || len(e.sel.linksTo) > 0 {
		if reason, err := e.noType(ctx); err != nil || reason != "" {
			return reason, err
		}
	}
	if e.sel.where != "" {
		if reason, err := e.noMatch(ctx); err != nil || reason != "" {
			return reason, err
		}
	}
	if e.lacks(engram.MissingForgotten) {
		return e.say("what was asked for is forgotten; " + there), nil
	}
	if e.lacks(engram.MissingEvicted) {
		return e.say("what was asked for is evicted; " + there), nil
	}
	if e.sel.asOf != nil {
		return e.say("nothing that is asked for had arrived then; " + there), nil
	}
	return e.say("there is no snapshot at that time; " + there), nil
}

// whatIs counts what nodes have of what the selection asks, in RAM and on disk, and
// says from when to when that is.
func (e *explainer) whatIs(nodes []engram.Stats) (inRAM, onDisk, evicted uint64, there string) {
	span := engram.Interval{Start: engram.MaxTime, End: engram.MinTime}
	for _, s := range nodes {
		evicted += s.Evicted
		if s.Snapshots > 0 && e.sel.target != engram.TargetLTM {
			inRAM += s.Snapshots
			span.Start, span.End = min(span.Start, s.First), max(span.End, s.Last)
		}
		if s.Disk.Snapshots > 0 {
			if onDisk += s.Disk.Snapshots; e.sel.target != engram.TargetWM {
				span.Start, span.End = min(span.Start, s.Disk.First), max(span.End, s.Disk.Last)
			}
		}
	}
	if onDisk > 0 && e.sel.target != engram.TargetWM {
		return inRAM, onDisk, evicted, fmt.Sprintf("its first snapshot is of %s, its last of %s", span.Start, span.End)
	}
	return inRAM, onDisk, evicted, fmt.Sprintf("the first of its %s is of %s, the last of %s", countOf(inRAM, "snapshot"), span.Start, span.End)
}

// lacks reports whether something that was asked for is missing for a reason.
func (e *explainer) lacks(reason string) bool {
	return slices.ContainsFunc(e.missing, func(m engram.Missing) bool { return m.Reason == reason })
}

func (e *explainer) say(reason string) string { return e.target.text + ": " + reason }

// noName says which name of the target does not exist, with a similar one.
func (e *explainer) noName(ctx context.Context) (string, error) {
	levels := e.target.pattern.Levels
	n, near, err := e.absent(ctx)
	switch level := engram.Level(n + 1); {
	case err != nil:
		return "", err
	case n == len(levels):
		return e.say("there is nothing like that; 'engram ls' shows what there is"), nil
	case levels[n].Kind != engram.NameOneOf:
		return e.say(fmt.Sprintf("no %s matches %s; 'engram ls --all' shows what there is", level, levels[n])), nil
	case near != "":
		return e.say(fmt.Sprintf("there is no %s %s; did you mean %s?", level, levels[n], engram.EscapeName(near))), nil
	default:
		return e.say(fmt.Sprintf("there is no %s %s; 'engram ls --all' shows what there is", level, levels[n])), nil
	}
}

// absent returns the index of the target's first name that does not exist, and the most
// similar existing name; the number of names if all exist.
func (e *explainer) absent(ctx context.Context) (n int, near string, err error) {
	levels := e.target.pattern.Levels
	for n := range levels {
		level := engram.Level(n + 1)
		found, err := e.names(ctx, levels[:n+1], level)
		if err != nil {
			return 0, "", err
		}
		if len(found) > 0 {
			continue
		}
		if levels[n].Kind != engram.NameOneOf {
			return n, "", nil
		}
		siblings, err := e.names(ctx, levels[:n], level)
		return n, spelling.Nearest(levels[n].Names[0], siblings), err
	}
	return len(levels), "", nil
}

// names returns the names at a level below what the pattern selects.
func (e *explainer) names(ctx context.Context, above []engram.NameSelector, level engram.Level) ([]string, error) {
	nodes, err := e.m.Stats(ctx, engram.Pattern{Levels: above}, level)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range nodes {
		if s.ID.Level() == level {
			names = append(names, s.ID.Name())
		}
	}
	return names, nil
}

// noType says that what the times select is not of --type, or does not link to --links-to; "" if some of it does, or they
// select nothing.
func (e *explainer) noType(ctx context.Context) (string, error) {
	without := e.sel
	without.where, without.filter, without.fields = "", nil, nil
	if r, err := without.query(ctx, e.m, e.target, e.fallback); err != nil || len(r.Memories) > 0 {
		return "", err
	}
	without.ofType, without.linksTo = "", nil
	r, err := without.query(ctx, e.m, e.target, e.fallback)
	if err != nil || len(r.Memories) == 0 {
		return "", err
	}
	var targets []string
	for _, id := range e.sel.linksTo {
		targets = append(targets, id.String())
	}
	what, to := "", listed(targets, "or")
	switch all := countOf(uint64(len(r.Items())), "snapshot"); {
	case len(e.sel.linksTo) == 0:
		what = fmt.Sprintf("none of the %s is of --type %s", all, e.sel.ofType)
	case e.sel.ofType == "":
		what = fmt.Sprintf("none of the %s links to %s", all, to)
	default:
		what = fmt.Sprintf("none of the %s is of --type %s and links to %s", all, e.sel.ofType, to)
	}
	return e.say(what + e.older()), nil
}

// older says how older snapshots are looked at, too.
func (e *explainer) older() string {
	if e.sel.order == engram.SelectThenFilter && e.sel.span == nil && e.fallback.Kind == engram.KindLatest {
		return "; --filter-first looks at older ones, too"
	}
	return ""
}

// noMatch says that what the times select does not satisfy --where; "" if they
// select nothing.
func (e *explainer) noMatch(ctx context.Context) (string, error) {
	without := e.sel
	without.where, without.filter, without.fields = "", nil, nil
	r, err := without.query(ctx, e.m, e.target, e.fallback)
	if err != nil || len(r.Memories) == 0 {
		return "", err
	}
	met := map[string]bool{}
	for it := range r.All() {
		for _, inst := range it.Instances {
			met[inst.Payload.Type] = true
		}
	}
	for _, member := range e.sel.filter.Members() {
		had := false
		for name := range met {
			had = had || name == engram.ValueType || e.types.has(ctx, name, []string{member})
		}
		if !had {
			return e.say(fmt.Sprintf("no payload has the member %s that --where asks for; 'engram type show' lists those of a type", member)), nil
		}
	}
	var types []*idf.Type
	for name := range met {
		t, err := e.types.get(ctx, name)
		if err != nil {
			return "", err
		}
		types = append(types, t)
	}
	if err := e.sel.filter.Doubts(types); err != nil {
		return e.say(fmt.Sprintf("nothing satisfies --where: %v", err)), nil
	}
	return e.say(fmt.Sprintf("none of the %s satisfies --where%s", countOf(uint64(len(r.Items())), "snapshot"), e.older())), nil
}
