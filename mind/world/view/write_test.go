package view_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// placed is an item in a parent.
func placed(name, parent string, x float64) world.Stated {
	return world.Stated{Name: name, What: world.Item{
		Source: world.Operator, Structure: &world.Structure{Parent: parent}, Description: &world.Description{Kinds: []string{world.KindObject}},
		Placement: &world.Placement{Pose: pose.Translation(x, 0, 0), Cov: pose.ExactCov()},
	}}
}

// things returns what is stated as it is asked.
func things(t testing.TB, types engram.Types, all ...world.Stated) []answer.Thing {
	t.Helper()
	c, err := world.NewCodec(t.Context(), types)
	if err != nil {
		t.Fatal(err)
	}
	var asked []answer.Thing
	for _, s := range all {
		thing, err := view.Thing(c, s)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, thing)
	}
	return asked
}

// by is a provider who is an operator.
func by(name string) answer.Provider { return answer.Provider{Name: name, Source: answer.Operator} }

func put(ctx context.Context, t testing.TB, l answer.Service, types engram.Types, provider string, all ...world.Stated) (answer.Mark, error) {
	t.Helper()
	o, err := l.State(ctx, by(provider), answer.Stating{Things: things(t, types, all...)})
	return o.Mark, errors.Join(err, errors.Join(o.Failed...))
}

func names(ctx context.Context, t testing.TB, l answer.Service) string {
	t.Helper()
	all, err := l.Names(ctx, answer.Question{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// Who states something does so with his own rights: what he may not write is refused as where he commits it himself, and he
// learns nothing of what he may not read.
func TestWritingIsWithinRights(t *testing.T) {
	s := serving.New(t, memories.World())
	state(t, s, true)
	l := running(t, s)
	rules := serving.Rules(t, `
rules:
  - {allow: read, to: [reader, own], on: World}
  - {allow: write, to: own, on: World/*/own}
  - {allow: write, to: blind, on: World/*/blind}
  - {allow: read, to: plan, on: World/*/plan}
  - {allow: write, to: plan, on: World/*/plan}
`)
	as := func(id access.Identity) context.Context {
		return rules.Within(access.WithIdentity(t.Context(), id), access.Read)
	}
	before := names(t.Context(), t, l)
	refused := func(what string, mark answer.Mark, err error, code engram.Code, thing string) {
		t.Helper()
		if engram.CodeOf(err) != code || mark != (answer.Mark{}) || !strings.Contains(err.Error(), thing) {
			t.Errorf("%s: %v (%v) and the mark %v; want %v of %s", what, err, engram.CodeOf(err), mark, code, thing)
		}
		if now := names(t.Context(), t, l); now != before {
			t.Errorf("%s: the world has %s, and had %s", what, now, before)
		}
	}
	mark, err := put(as("reader"), t, l, s, "reader", placed("spoon", "table", 1))
	refused("stated by who may only read", mark, err, engram.Forbidden, "the whole server")
	mark, err = l.Remove(as("reader"), by("plan"), "cup", "", answer.RefuseChildren)
	refused("removed by who may only read", mark, err, engram.Forbidden, "the whole server")
	mark, err = put(as("own"), t, l, s, "plan", placed("spoon", "table", 1))
	refused("stated as somebody else", mark, err, engram.Forbidden, "World/Item/plan/spoon")
	mark, err = l.Move(as("own"), by("plan"), "cup", "kitchen", nil)
	refused("moved as somebody else", mark, err, engram.Forbidden, "World/Item/plan/cup")
	mark, err = l.Withdraw(as("own"), by("guard"), "safe")
	refused("withdrawn as somebody else", mark, err, engram.Forbidden, "World/")

	for _, hidden := range []string{"safe", "nothing"} { // the same is told of both
		for who, hint := range map[access.Identity]string{"plan": "there is no such item; 'engram world tree' lists them", "blind": "the world is empty"} {
			mark, err = l.Move(as(who), by(string(who)), hidden, "kitchen", nil)
			refused("moved unseen", mark, err, engram.NotFound, hint)
			mark, err = l.Remove(as(who), by(string(who)), hidden, "", answer.RemoveChildren)
			refused("removed unseen", mark, err, engram.NotFound, hint)
			mark, err = l.Withdraw(as(who), by(string(who)), hidden)
			refused("withdrawn unseen", mark, err, engram.NotFound, "of this name; 'engram world tree'")
			known, err := l.Known(as(who), by(string(who)), []string{hidden})
			if want := (answer.Known{Name: hidden, Missing: "there is no item " + hidden + " yet"}); err != nil || fmt.Sprint(known) != fmt.Sprint([]answer.Known{want}) {
				t.Errorf("known of %s: %+v, %v", hidden, known, err)
			}
		}
	}

	if mark, err := put(as("own"), t, l, s, "own", placed("spoon", "table", 1)); err != nil || mark.Number == 0 {
		t.Errorf("by who may: %v, %v", mark, err)
	}
	if mark, err := put(as("blind"), t, l, s, "blind", placed("fork", "table", 1)); err != nil || mark.Number == 0 {
		t.Errorf("by who may only write: %v, %v", mark, err)
	}
	if got, want := names(t.Context(), t, l), before+" fork spoon"; len(got) != len(want) || !strings.Contains(got, "fork") || !strings.Contains(got, "spoon") {
		t.Errorf("the world has %s, want %s", got, want)
	}
}

// Several write through one world at once, also as the same provider, whose statements on one item take nothing back of each
// other, and each reads what he wrote at once.
func TestManyWrite(t *testing.T) {
	s := serving.New(t, memories.World())
	l := running(t, s)
	c, err := world.NewCodec(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	say := func(provider string, it world.Item) {
		it.Source = world.Operator
		thing, err := view.Thing(c, world.Stated{Name: "of " + provider, What: it})
		if err != nil {
			t.Error(err)
		}
		o, err := l.State(t.Context(), by(provider), answer.Stating{Things: []answer.Thing{thing}})
		if err != nil || o.Failed != nil || o.Mark.Number == 0 {
			t.Errorf("%+v, %v", o, err)
		}
	}
	read := func(provider string) (it *answer.Item) {
		err := l.Items(t.Context(), answer.Question{}, []string{"of " + provider}, true, func(rows []answer.Row) error {
			it = rows[0].Item
			return nil
		})
		if err != nil {
			t.Error(err)
			it = &answer.Item{}
		}
		return it
	}
	if _, err := put(t.Context(), t, l, s, "plan", placed("table", "", 0)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 {
		provider := fmt.Sprint("provider", i)
		all.Go(func() {
			for j := range 20 {
				label := fmt.Sprint("label ", j)
				say(provider, world.Item{Description: &world.Description{Label: label}})
				if got := read(provider).Label; got != label {
					t.Errorf("it is called %q after it was called %q", got, label)
				}
			}
		})
		all.Go(func() {
			for j := range 20 {
				say(provider, world.Item{Structure: &world.Structure{Parent: "table"}, Placement: &world.Placement{Pose: pose.Translation(float64(j), 0, 0)}})
				if at := read(provider).Pose; at == nil || at.Pose.T.X != float64(j) {
					t.Errorf("it is at %+v after it was put at %d", at, j)
				}
			}
		})
	}
	all.Wait()
}

// held is a server that holds up what a provider commits.
type held struct {
	engram.Service
	provider string
	came     chan struct{} // has something once it holds a commit
	free     chan struct{} // closed to hold nothing any more
}

func (h held) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if c.Updates[0].Entity.ProviderSegment() == h.provider {
		h.came <- struct{}{}
		select {
		case <-h.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return h.Service.Commit(ctx, c)
}

// Who writes slowly holds up others of his name only, who may give up and rest on what he wrote, and nobody who reads.
func TestASlowWriterHoldsUpHisOwnOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving.New(t, memories.World())
		h := held{s, "slow", make(chan struct{}, 3), make(chan struct{})}
		l := running(t, h)
		done := make(chan error, 2)
		say := func(ctx context.Context, it world.Item) {
			it.Source = world.Operator
			_, err := put(ctx, t, l, s, "slow", world.Stated{Name: "table", What: it})
			done <- err
		}
		go say(t.Context(), world.Item{Structure: &world.Structure{}})
		synctest.Wait()
		<-h.came
		go say(t.Context(), world.Item{Description: &world.Description{Label: "table"}})
		synctest.Wait()
		if len(h.came) > 0 {
			t.Error("it is stated what does not rest on what was being stated")
		}
		if _, err := put(t.Context(), t, l, s, "quick", placed("cup", "table", 1)); err != nil {
			t.Error(err)
		}
		if got := names(t.Context(), t, l); got != "cup" {
			t.Errorf("read meanwhile: %q", got)
		}
		impatient, giveUp := context.WithCancel(t.Context())
		asked := answer.Stating{Things: things(t, s, placed("chair", "", 1))}
		gone := make(chan error, 1)
		go func() {
			_, err := l.State(impatient, by("slow"), asked)
			gone <- err
		}()
		synctest.Wait()
		giveUp()
		if err := <-gone; engram.CodeOf(err) != engram.Canceled {
			t.Errorf("given up: %v", err)
		}
		close(h.free)
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		err := l.Items(t.Context(), answer.Question{}, []string{"table"}, true, func(rows []answer.Row) error {
			if is := rows[0].Item; is.Label != "table" || len(is.Statements[0].Says) != 2 {
				t.Errorf("the table is %+v", is)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// What is stated has the time of who states it, and is later than what it takes the place of.
func TestStatedByTheClockOfTheProvider(t *testing.T) {
	s := serving.New(t, memories.World())
	l := running(t, s)
	if _, err := put(t.Context(), t, l, s, "plan", placed("table", "", 0)); err != nil {
		t.Fatal(err)
	}
	at := engram.Now().Add(-time.Hour)
	for i := range 2 {
		then := by("plan")
		then.Now = new(at)
		if _, err := l.State(t.Context(), then, answer.Stating{Things: things(t, s, placed("cup", "table", float64(i)))}); err != nil {
			t.Fatal(err)
		}
	}
	err := l.Items(t.Context(), answer.Question{}, []string{"cup"}, true, func(rows []answer.Row) error {
		if said := rows[0].Item.Statements[0].Time; said <= at || said > at.Add(time.Minute) {
			t.Errorf("said at %v, want a little after %v", said, at)
		}
		if x := rows[0].Item.Pose.Pose.T.X; x != 1 {
			t.Errorf("it is at %v, where it was stated first", x)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
