package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// without is a scope of all but what a provider says.
type without struct{ provider string }

func (s without) Visibility(id engram.ID) engram.Visibility {
	switch {
	case id.Level() < engram.LevelProviderSegment:
		return engram.Partial
	case id.ProviderSegment() == s.provider:
		return engram.Hidden
	}
	return engram.Visible
}

// state states a kitchen, as a provider that everybody may read, and in it what another one says.
func state(t *testing.T, s *server.Server, secret bool) {
	t.Helper()
	at := engram.Time(1e18)
	as := func(provider string, things ...world.Stated) {
		w, err := world.Over(t.Context(), s, provider, world.DefaultRules(), world.FromSource(world.Operator), world.Clock(func() engram.Time { return at }))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if failed, _, err := w.StateAll(t.Context(), false, things...); err != nil || len(failed) > 0 {
			t.Fatal(errors.Join(failed...), err)
		}
	}
	item := func(name, parent string, x float64) world.Stated {
		return world.Stated{Name: name, What: world.Item{
			Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Pose: pose.Translation(x, 0, 0), Cov: pose.ExactCov()},
			Description: &world.Description{Kinds: []string{world.KindObject}},
		}}
	}
	as("plan", world.Stated{Name: "kitchen", What: world.Item{Structure: &world.Structure{}, Description: &world.Description{Kinds: []string{world.KindMap}}}}, item("table", "kitchen", 1), item("cup", "table", 0.1))
	if !secret {
		return
	}
	as("guard", item("safe", "kitchen", 0.5), item("diamond", "safe", 0.1), world.Stated{Name: "cup", What: world.Item{Structure: &world.Structure{Parent: "safe"}, Placement: &world.Placement{Frame: "safe", Pose: pose.Identity(), Cov: pose.ExactCov()}}},
		world.Stated{What: world.State{Item: "table", Name: "bugged", Value: true}, Confidence: 1},
		world.Stated{Name: "lock", What: world.Articulation{Base: "safe", Moved: "diamond", Kind: world.Fixed, Pose: pose.Identity()}},
		world.Stated{Name: "camera", What: world.Component{Kind: "camera"}},
		world.Stated{Name: "plan of the vault", What: world.Map{Kind: world.SemanticMap, Describes: []string{"kitchen"}, Format: "x"}})
}

// answersOf asks all that can be asked.
func answersOf(ctx context.Context, s answer.Service) (all []string) {
	at := engram.Time(1e18).Add(time.Minute)
	past := answer.Question{At: &at}
	heard := func(what string, got any, err error) {
		text, problem := json.Marshal(got)
		all = append(all, fmt.Sprintf("%s: %s, %v", what, text, errors.Join(err, problem)))
	}
	rows := func(what string, ask func(part func([]answer.Row) error) error) {
		var all []answer.Row
		err := ask(func(rows []answer.Row) error {
			all = append(all, rows...)
			return nil
		})
		heard(what, all, err)
	}
	for _, of := range []answer.Tree{{Whole: true}, {Item: "kitchen", Whole: true}, {Item: "safe"}, {Item: "saf"}, {Item: "diamonds"}, {Place: "safe"}} {
		rows(fmt.Sprintf("tree %+v", of), func(part func([]answer.Row) error) error { return s.Tree(ctx, past, of, part) })
	}
	rows("cup", func(part func([]answer.Row) error) error {
		return s.Items(ctx, past, []string{"cup", "table"}, true, part)
	})
	rows("safe", func(part func([]answer.Row) error) error { return s.Items(ctx, past, []string{"safe"}, true, part) })
	for _, around := range []string{"table", "safe", "0,0,0@kitchen", "0,0,0@safe", "0,0,0"} {
		rows("near "+around, func(part func([]answer.Row) error) error {
			left, err := s.Near(ctx, past, answer.Near{Around: around, Radius: 10, Filter: answer.Filter{Presence: answer.Remembered}}, part)
			heard("left out", left, err)
			_, err = s.Near(ctx, past, answer.Near{Around: around, Radius: 10}, part)
			return err
		})
	}
	rows("in kitchen", func(part func([]answer.Row) error) error {
		left, err := s.In(ctx, past, answer.In{Place: "kitchen"}, part)
		heard("left out", left, err)
		return err
	})
	names, err := s.Names(ctx, past, "")
	heard("names", names, err)
	joints, err := s.Joints(ctx, past)
	heard("joints", joints, err)
	maps, err := s.Maps(ctx, past, answer.Maps{Place: "kitchen"})
	heard("maps", maps, err)
	data, err := s.MapData(ctx, past, "plan of the vault")
	heard("data", data, err)
	components, pipes, err := s.Components(ctx, past)
	heard("components", components, err)
	heard("pipes", pipes, err)
	covers, err := s.Covers(ctx, past, "safe")
	heard("covers", covers, err)
	differences, err := s.Diff(ctx, answer.Question{}, answer.Diff{From: at.Add(-time.Hour), To: &at})
	heard("diff", differences, err)
	text, notes, err := s.Export(ctx, past, answer.Export{})
	heard("export", string(text), err)
	heard("notes", notes, err)
	_, _, err = s.Export(ctx, past, answer.Export{Item: "diamond"})
	heard("export diamond", nil, err)
	return all
}

// running answers from a server until the test ends.
func running(t *testing.T, s engram.Service) *view.Local {
	t.Helper()
	l := view.NewLocal()
	ctx, stop := context.WithCancel(context.Background())
	if err := l.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- l.Run(ctx, s) }()
	t.Cleanup(func() { stop(); <-ended })
	return l
}

// What somebody may not read is in no answer, count, note, guess of a name and error: all is as if there was nothing of it.
func TestNothingIsToldOfWhatMayNotBeRead(t *testing.T) {
	with, less := serving.New(t, memories.World()), serving.New(t, memories.World())
	state(t, with, true)
	state(t, less, false)
	l := running(t, with)
	all := answersOf(t.Context(), l)
	scoped := answersOf(engram.WithScope(t.Context(), without{"guard"}), l)
	want := answersOf(t.Context(), running(t, less))
	same := func(a, b []string) (differing []string) {
		for i := range a {
			if a[i] != b[i] {
				differing = append(differing, a[i]+"\n\tand not\n"+b[i])
			}
		}
		return differing
	}
	if d := same(all, want); len(d) < 10 {
		t.Errorf("only %d answers tell of what is secret", len(d))
	}
	if d := same(scoped, want); len(d) > 0 {
		t.Errorf("answers differ by what may not be read:\n%s", strings.Join(d, "\n"))
	}
	if i := slices.IndexFunc(scoped, func(s string) bool { return strings.Contains(s, "guard") }); i >= 0 {
		t.Errorf("told of the guard: %s", scoped[i])
	}
}

// What the server answers is what the caller makes of the same memories.
func TestAnswersAreTheCallersOwn(t *testing.T) {
	s := serving.New(t, memories.World())
	state(t, s, true)
	w, err := world.Over(t.Context(), s, "me", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got, want := answersOf(t.Context(), running(t, s)), answersOf(t.Context(), view.Of(w)); !reflect.DeepEqual(got, want) {
		t.Errorf("%.500q\nwant\n%.500q", got, want)
	}
}
