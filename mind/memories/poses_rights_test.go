package memories

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/pose"
	posesfeature "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
)

// Who may read RobotState has the poses of robots' own frames; of items, and of ways that lead over them, only who may
// read those, too. To all others they do not exist.
func TestItemsArePosesForWhoMayReadThem(t *testing.T) {
	s, local := newWorldServer(t, "rover")
	st := newState(t, s)
	_, err := local.CommitRevision(t.Context(), lookup.Transaction{Author: "slam", Keys: []lookup.Key{{Parent: "rover/map", Child: "rover/odom", Time: 0, Pose: pose.Translation(100, 0, 0)}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range engram.Time(10) {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
		mustPut(t, s, "RobotState/Localization/lift/odom", i*second, placed("odom", "base", 0, float64(i)))
	}
	st.item("plan", "cupboard", second, in("", "rover/odom", 2, 0, world.KindObject))
	st.item("plan", "cup", second, in("cupboard", "", 0, 1, world.KindObject))
	st.item("plan", "lift/odom", second, in("cupboard", "", 5, 5, world.KindObject))
	st.item("plan", "hall", second, in("cup", "", 0, 0, world.KindObject))
	st.item("plan", "rover/base", second, in("cupboard", "", 0, 0, world.KindObject)) // which the poses leave out
	known := func(target, source string) func() bool {
		return func() bool {
			_, _, err := placedAt(t, local, target, source, 5*second)
			return err == nil
		}
	}
	eventually(t, "the cup", known("rover/map", "hall"))
	eventually(t, "the lift", known("rover/base", "lift/base"))
	eventually(t, "what is left out", func() bool {
		left, err := local.LeftOut(t.Context())
		return err == nil && len(left) > 0
	})

	guarded := feature.Guard(s, serving.Rules(t, `rules:
  - {allow: read, to: [driver, planner], on: RobotState}
  - {allow: read, to: planner, on: [World, Object]}
  - {allow: write, to: driver, on: RobotState}`))
	client := posesfeature.NewClient(feature.Within(guarded))
	at := func(target, source string) lookup.Question {
		return lookup.Question{Target: target, Source: source, Time: 5 * second}
	}
	revisions, err := local.Revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	latest, common, between := revisions.List[len(revisions.List)-1].Revision, at("rover/base", "lift/base"), at("rover/odom", "rover/base")
	common.When = lookup.LatestCommon
	between.When, between.SourceTime, between.Fixed = lookup.Between, 6*second, "cup"
	before := at("rover/map", "cup")
	before.AsOf = &latest
	joined := at("rover/base", "lift/base")
	joined.AsOf = &latest
	waiting := at("rover/map", "cup")
	waiting.Wait = true
	questions := []lookup.Question{at("rover/map", "cup"), at("cupboard", "cup"), at("rover/base", "lift/base"), at("cup", "cup"), common, between, before, joined, waiting}

	driver := access.WithIdentity(t.Context(), "driver")
	own := at("rover/map", "base")
	answers, err := client.LookUp(driver, append(slices.Clone(questions), own, at("rover/map", "none")))
	if err != nil {
		t.Fatal(err)
	}
	n := len(questions)
	if a := answers[n]; a.Err != nil || a.Source != "rover/base" || !near(a.Pose, 105, 0) {
		t.Errorf("the robot's own frames: %+v", a)
	}
	never := answers[n+1].Err
	for i, q := range questions {
		a := answers[i]
		if engram.CodeOf(a.Err) != engram.NotFound || a.Pose != (pose.Pose{}) {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	if got, want := answers[0].Err.Error(), strings.ReplaceAll(never.Error(), "none", "cup"); got != want {
		t.Errorf("it says %q instead of %q", got, want)
	}
	names := func(edges []pose.EdgeInfo) (all []string) {
		for _, e := range edges {
			all = append(all, e.Parent+" "+e.Child)
		}
		return all
	}
	for _, asOf := range []*pose.Revision{nil, &latest} {
		edges, err := client.Tree(driver, asOf)
		if all := names(edges); err != nil || !slices.Contains(all, "rover/odom rover/base") || strings.Contains(strings.Join(all, " "), "cup") {
			t.Errorf("the tree: %v, %v", all, err)
		}
	}
	if edges, err := client.Path(driver, "rover/base", "lift/base", 5*second); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a way over items: %v, %v", edges, err)
	}
	if _, err := client.Diff(driver, "rover/map", "cup", latest, latest, pose.Threshold{}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a difference: %v", err)
	}
	if _, err := client.Acquire(driver, lookup.Acquire{Sensor: "cup", Time: 5 * second}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("an acquisition: %v", err)
	}
	if left, err := client.LeftOut(driver); err != nil || len(left) != 0 {
		t.Errorf("what is left out: %v, %v", left, err)
	}
	if _, err := local.Watch(lookup.WithoutForeign(t.Context()), pose.Changes{Target: "rover/map", Source: "cup"}, nil); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a watch: %v", err)
	}

	planner := access.WithIdentity(t.Context(), "planner")
	answers, err = client.LookUp(planner, questions)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil {
			t.Errorf("%+v: %v", questions[i], a.Err)
		}
	}
	if edges, err := client.Tree(planner, nil); err != nil || !slices.Contains(names(edges), "cupboard cup") {
		t.Errorf("the tree: %v, %v", names(edges), err)
	}
	if left, err := client.LeftOut(planner); err != nil || len(left) == 0 {
		t.Errorf("what is left out: %v, %v", left, err)
	}
}
