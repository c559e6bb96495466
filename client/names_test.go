package client_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// slowNews is a name system whose watchers hear of no change after they have heard
// what there was.
type slowNews struct{ *mns.Local }

func (s slowNews) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		for e, err := range s.Local.Watch(ctx) {
			if !yield(e, err) {
				return
			}
			if e.Synced {
				<-ctx.Done()
			}
		}
	}
}

// What a program knows of the name system its client knows, too, though the news have
// not come.
func TestNewsMayComeLate(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	home := start(t, "home", names, slowNews{names}, serving.Socket(t), memory("A"))
	waited, listed, asked := connect(t, home.address), connect(t, home.address), connect(t, home.address)
	late := start(t, "late", names, nil, serving.Socket(t), memory("E"))
	def := gripType(t)
	if err := late.AddType(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, late, testkit.Update(t, entity("E"), 1, "x"))

	if _, err := waited.Names().Wait(t.Context(), "E"); err != nil {
		t.Fatal(err)
	}
	if _, err := listed.Names().List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := asked.Type(t.Context(), def.Name); err != nil {
		t.Errorf("a type that a new server knows: %v", err)
	}
	for _, c := range []engram.Reader{waited, listed, asked} {
		r, err := c.Query(t.Context(), engram.Pattern{}.Select(engram.All()))
		if err != nil || ids(r) != entity("E") {
			t.Errorf("%q, %v", ids(r), err)
		}
	}
	late.stop()
	if _, err := waited.Names().Resolve(t.Context(), "E"); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("what has left: %v", err)
	}
	r, err := waited.Query(t.Context(), engram.Pattern{}.Select(engram.All()))
	if err != nil || ids(r) != "" || len(r.Missing) > 0 {
		t.Errorf("%q, missing %v, %v", ids(r), r.Missing, err)
	}
}

// lateAnswers is a name system whose first answers are from before something that its
// watchers hear first.
type lateAnswers struct {
	*told
	listed, resolved sync.Once
	meanwhile        func()
}

func (l *lateAnswers) List(ctx context.Context) ([]mns.Entry, error) {
	entries, err := l.told.List(ctx)
	l.listed.Do(l.meanwhile)
	return entries, err
}

func (l *lateAnswers) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	e, err := l.told.Resolve(ctx, memory)
	l.resolved.Do(l.meanwhile)
	return e, err
}

// What was removed stays so, though an answer comes later that still has it, and what was
// moved stays where it is: no more news would put that right.
func TestAnswersMayBeOlderThanTheNews(t *testing.T) {
	at := func(memory, server string) mns.Entry {
		return mns.Entry{Memory: memory, Server: server, Addresses: []string{"unix:/nowhere"}}
	}
	for name, question := range map[string]func(*testing.T, *client.Client){
		"list": func(t *testing.T, c *client.Client) {
			if _, err := c.Names().List(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"resolve": func(t *testing.T, c *client.Client) {
			if _, err := c.Names().Resolve(t.Context(), "Gone"); engram.CodeOf(err) != engram.NotFound {
				t.Errorf("what is gone: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			names := &lateAnswers{told: &told{}}
			names.say(at("Gone", "s"), at("Stays", "s"))
			home := start(t, "home", mns.NewLocal(), names, serving.Socket(t), memory("A"))
			c := connect(t, home.address)
			heard := false
			names.meanwhile = func() {
				names.say(at("Stays", "s"), at("New", "s"))
				testkit.Until(t, func() (string, bool) {
					heard = !client.Knows(c, "Gone") && client.Knows(c, "New")
					return "the client has not heard the news", heard
				})
			}
			question(t, c)
			if !heard || client.Knows(c, "Gone") || !client.Knows(c, "New") || !client.Knows(c, "Stays") {
				t.Errorf("an old answer counts: %v, gone %v, new %v, stays %v", heard, client.Knows(c, "Gone"), client.Knows(c, "New"), client.Knows(c, "Stays"))
			}
		})
	}
}
