package base

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/semmap"
	"github.com/seed-301d4374/engram/world"
)

// WorldOptions say how a semantic map becomes a part of the world.
type WorldOptions struct {
	Provider string
	// At is since when it is so, but for what was perceived at a time.
	At   engram.Time
	Join bool // make one place of those with the same address
	// Frame is that of poses of which no map is known; "" is "map".
	Frame  string
	DryRun bool // only say what would be stated
}

// WorldSummary tells what was stated.
type WorldSummary struct {
	Items, Joints, Maps, States, Components int
	Poses                                   int // perceptions, of all times
	Withdrawn                               int // items that the map does not have any more
	Notes                                   []semmap.Note
}

// ImportWorld states what is a thing, a place, a joint or a map in a graph in the memory World, as
// prior knowledge of a provider: each with the poses at which it was perceived, at those times, and
// all else from the first of them on. What the provider has stated from an earlier import and the
// graph does not have, it withdraws. The graph has the facts of one document, and the classes and
// properties that help to understand it.
func ImportWorld(ctx context.Context, svc engram.Service, g *knowledge.Graph, o WorldOptions) (sum WorldSummary, err error) {
	now := o.At
	w, err := world.Over(ctx, svc, o.Provider, world.DefaultRules(), world.FromSource(world.PriorKnowledge), world.Clock(func() engram.Time { return now }))
	if err != nil {
		return sum, err
	}
	defer w.Close()
	f, err := w.View(ctx)
	if err != nil {
		return sum, err
	}
	names := semmap.NewNames(w.Robot())
	names.Learn(f)
	imp := semmap.Read(g, semmap.ReadOptions{Names: names, World: f, Join: o.Join, Frame: o.Frame})
	sum = WorldSummary{
		Items: len(imp.Items), Joints: len(imp.Joints), Maps: len(imp.Maps), States: len(imp.States), Components: len(imp.Components),
		Poses: len(imp.Poses), Notes: imp.Notes,
	}
	gone := gone(f, o.Provider, w.Robot(), imp)
	sum.Withdrawn = len(gone)
	if o.DryRun {
		return sum, nil
	}
	earlier := earlierPoses(f, o.Provider, w.Robot(), imp)
	for _, p := range imp.Poses {
		if p.Time > 0 && len(earlier) > 0 {
			now = min(now, p.Time)
		}
	}
	state := func(items ...world.NamedItem) error {
		refused, _, err := w.Update(ctx, items...)
		for _, r := range refused {
			if err == nil {
				err = engram.Errorf(engram.CodeOf(r.Err), r.Name, "%w", r.Err)
			}
		}
		return err
	}
	// What is said of an item without its pose comes first: poses are said at their times.
	first := slices.Clone(imp.Items)
	if len(earlier) > 0 {
		for i := range first {
			first[i].Placement = nil
		}
	}
	if err := state(first...); err != nil {
		return sum, err
	}
	for _, p := range earlier {
		now = max(now, p.Time)
		it := world.NamedItem{Name: p.Item}
		it.Placement = &world.Placement{Frame: p.Frame, Pose: p.Pose, Cov: p.Cov, Time: p.Time}
		it.Source = world.PriorKnowledge
		if err := state(it); err != nil {
			return sum, err
		}
	}
	now = max(now, o.At)
	for _, j := range imp.Joints {
		if _, err := w.Articulate(ctx, j.Name, j.Articulation); err != nil {
			return sum, err
		}
	}
	for _, m := range imp.Maps {
		if _, err := w.SetMap(ctx, m.Name, m.Map, nil); err != nil {
			return sum, err
		}
	}
	for _, s := range imp.States {
		if _, err := w.SetState(ctx, s.State, s.Confidence); err != nil {
			return sum, err
		}
	}
	for _, c := range imp.Components {
		if _, err := w.SetComponent(ctx, c.Name, c.Component); err != nil {
			return sum, err
		}
	}
	for _, name := range gone {
		if _, err := w.Withdraw(ctx, name); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// says reports whether a provider of a robot says something of an item in the memory World.
func says(f *world.Forest, name, provider, robot string) bool {
	return slices.ContainsFunc(f.Statements(name), func(s *world.Statement) bool {
		return s.Provider == provider && s.Robot == robot && s.Home == world.InWorld && s.Item.Description != nil
	})
}

// gone returns the items of which the provider says something and the import does not.
func gone(f *world.Forest, provider, robot string, imp *semmap.Import) (names []string) {
	stays := map[string]bool{}
	for _, it := range imp.Items {
		stays[it.Name] = true
	}
	for name := range f.Spoken() {
		if !stays[name] && says(f, name, provider, robot) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// earlierPoses returns the poses to be stated one by one, by time: all of what the provider has said nothing of
// yet. Of other items only the newest pose is new, and stands with them.
func earlierPoses(f *world.Forest, provider, robot string, imp *semmap.Import) (poses []semmap.Pose) {
	for _, p := range imp.Poses {
		if !says(f, p.Item, provider, robot) {
			poses = append(poses, p)
		}
	}
	slices.SortStableFunc(poses, func(a, b semmap.Pose) int { return cmp.Compare(a.Time, b.Time) })
	return poses
}
