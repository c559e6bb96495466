package base

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/world"
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
	Withdrawn                               int // items, joints, maps and components that the map does not have any more
	Notes                                   []semmap.Note
}

// ImportWorld states what is a thing, a place, a joint or a map in a graph in the memory World, as
// prior knowledge of a provider: each with the poses at which it was perceived, at those times, and
// all else from the first of them on. What the provider has stated from an earlier import and the
// graph does not have, it withdraws. The graph has the facts of one document, and the classes and
// properties that help to understand it. What cannot be stated is found out before anything is; then nothing is
// stated.
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
	leavePlaces(f, &sum, imp, o.Provider, w.Robot())
	earlier := earlierPoses(f, o.Provider, w.Robot(), imp)
	for _, p := range imp.Poses {
		if p.Time > 0 && len(earlier) > 0 {
			now = min(now, p.Time)
		}
	}
	// What is said of an item without its pose comes first: poses are said at their times.
	var first, rest []world.Stated
	for _, it := range imp.Items {
		if len(earlier) > 0 {
			it.Placement = nil
		}
		first = append(first, world.Stated{Name: it.Name, What: it.Item})
	}
	for _, j := range lastOf(imp.Joints, func(j semmap.Joint) string { return j.Name }) {
		rest = append(rest, world.Stated{Name: j.Name, What: j.Articulation})
	}
	for _, m := range imp.Maps {
		rest = append(rest, world.Stated{Name: m.Name, What: m.Map})
	}
	for _, s := range lastOf(imp.States, func(s semmap.State) [2]string { return [2]string{s.Item, s.Name} }) {
		rest = append(rest, world.Stated{What: s.State, Confidence: s.Confidence})
	}
	for _, c := range imp.Components {
		rest = append(rest, world.Stated{Name: c.Name, What: c.Component})
	}
	stated := 0
	state := func(dryRun bool, all ...world.Stated) error {
		failed, mark, err := w.StateAll(ctx, dryRun, all...)
		if failed != nil {
			err = engram.Errorf(engram.CodeOf(cmp.Or(failed...)), "", "%w", errors.Join(failed...))
		}
		if mark != (world.Mark{}) {
			stated += len(all) - len(slices.DeleteFunc(failed, func(err error) bool { return err == nil }))
		}
		if err != nil && stated > 0 {
			err = engram.Errorf(engram.CodeOf(err), "", "%w\n%d statements of the map were made all the same; import it again, which changes nothing that was stated", err, stated)
		}
		return err
	}
	for _, p := range earlier {
		if it := perceived(p); err == nil {
			err = it.Check(p.Item)
		}
	}
	if err := cmp.Or(err, state(true, slices.Concat(first, rest)...)); err != nil || o.DryRun {
		return sum, err
	}
	if err := state(false, first...); err != nil {
		return sum, err
	}
	for _, p := range earlier {
		now = max(now, p.Time)
		if err := state(false, world.Stated{Name: p.Item, What: perceived(p)}); err != nil {
			return sum, err
		}
	}
	now = max(now, o.At)
	if err := state(false, rest...); err != nil {
		return sum, err
	}
	return sum, state(false, gone...)
}

// lastOf returns the last of each key: of a joint or state that a map has twice it counts.
func lastOf[T any, K comparable](all []T, key func(T) K) (out []T) {
	last := map[K]int{}
	for i, x := range all {
		last[key(x)] = i
	}
	for i, x := range all {
		if last[key(x)] == i {
			out = append(out, x)
		}
	}
	return out
}

// perceived is what a pose says of its item.
func perceived(p semmap.Pose) world.Item {
	return world.Item{Source: world.PriorKnowledge, Placement: &world.Placement{Frame: p.Frame, Pose: p.Pose, Cov: p.Cov, Time: p.Time}}
}

// leavePlaces leaves out where robots are, which counts from themselves only, and notes it.
func leavePlaces(f *world.Forest, sum *WorldSummary, imp *semmap.Import, provider, robot string) {
	left := map[string]bool{}
	for i := range imp.Items {
		it := &imp.Items[i]
		if !world.PlacesItself(f, *it, provider, robot) {
			continue
		}
		left[it.Name] = true
		it.Placement, it.Structure = nil, &world.Structure{}
		sum.Notes = append(sum.Notes, semmap.Note{IRI: it.Name, Text: "where a robot is counts from itself only, so its place is not stated"})
	}
	imp.Poses = slices.DeleteFunc(imp.Poses, func(p semmap.Pose) bool { return left[p.Item] })
}

// says reports whether a provider of a robot says something of an item in the memory World.
func says(f *world.Forest, name, provider, robot string) bool {
	return slices.ContainsFunc(f.Statements(name), func(s *world.Statement) bool {
		return s.Provider == provider && s.Robot == robot && s.Home == world.InWorld && s.Item.Description != nil
	})
}

// gone returns what takes back what the provider says of items, joints, maps and components that the import does not have.
func gone(f *world.Forest, provider, robot string, imp *semmap.Import) (back []world.Stated) {
	type named struct {
		what world.Withdrawal
		name string
	}
	done := map[named]bool{} // it stays, or is taken back already
	take := func(what world.Withdrawal, name string) {
		if n := (named{what, name}); !done[n] {
			done[n] = true
			back = append(back, world.Stated{Name: name, What: what})
		}
	}
	by := func(s *world.Said) bool { return s.Provider == provider && s.Robot == robot }
	item, joint, aMap, part := world.Withdrawal{Item: true, States: true}, world.Withdrawal{Joint: true}, world.Withdrawal{Map: true}, world.Withdrawal{Component: true}
	for i := range imp.Items {
		done[named{item, imp.Items[i].Name}] = true
	}
	for i := range imp.Joints {
		done[named{joint, imp.Joints[i].Name}] = true
	}
	for i := range imp.Maps {
		done[named{aMap, imp.Maps[i].Name}] = true
	}
	for i := range imp.Components {
		done[named{part, imp.Components[i].Name}] = true
	}
	for _, name := range slices.Sorted(f.Spoken()) {
		if says(f, name, provider, robot) {
			take(item, name)
		}
	}
	beside := slices.SortedFunc(world.Stating(f, by), func(a, b world.Stated) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range beside {
		take(s.What.(world.Withdrawal), s.Name)
	}
	return back
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
