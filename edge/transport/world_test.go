package transport_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/api"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// What is stated in the world, in however many messages, is stated within the rights of who calls.
func TestStatementsBehindRules(t *testing.T) {
	d := newDeployment(t)
	g := d.serve(`
rules:
  - {allow: [read, subscribe], to: [reader, plan], on: World}
  - {allow: write, to: plan, on: World/*/plan}
`, memories.World())
	client := func(id access.Identity) (*rpc.Client, answer.Service) {
		c := dial(t, g.tcp, d.client(id)).(*rpc.Client)
		return c, api.NewClient(c)
	}
	c, plan := client("plan")
	_, reader := client("reader")
	codec, err := world.NewCodec(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const many = 2_500 // more than one message has
	stating := func(broken string) (s answer.Stating) {
		for i := range many {
			it := world.Item{Source: world.Operator, Structure: &world.Structure{}}
			name := fmt.Sprint("thing", i)
			if name == broken {
				it.Structure = &world.Structure{Parent: name}
			}
			thing, err := view.Thing(codec, world.Stated{Name: name, What: it})
			if err != nil {
				t.Fatal(err)
			}
			s.Things = append(s.Things, thing)
		}
		return s
	}
	names := func(s answer.Service) int {
		all, err := s.Names(t.Context(), answer.Question{}, "thing")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	as := answer.Provider{Name: "plan", Source: answer.Operator}

	if _, err := reader.State(t.Context(), as, stating("")); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("stated by who may only read: %v", err)
	}
	if o, err := plan.State(t.Context(), answer.Provider{Name: "other"}, stating("")); err != nil || len(o.Failed) != many || engram.CodeOf(o.Failed[many-1]) != engram.Forbidden || o.Mark != (answer.Mark{}) {
		t.Errorf("stated as somebody else: %d errors, the mark %v, %v", len(o.Failed), o.Mark, err)
	}
	o, err := plan.State(t.Context(), as, stating("thing2100"))
	if err != nil || len(o.Failed) != many || o.Failed[0] != nil || engram.CodeOf(o.Failed[2100]) != engram.Invalid {
		t.Errorf("one that is its own parent: %d errors, %v", len(o.Failed), err)
	}
	if n := names(reader); n != 0 {
		t.Errorf("%d things after nothing was stated", n)
	}
	o, err = plan.State(t.Context(), as, stating(""))
	if err != nil || o.Failed != nil || o.Mark.Number == 0 || names(reader) != many {
		t.Errorf("%d errors, the mark %v, %v; %d things", len(o.Failed), o.Mark, err, names(reader))
	}
	for name, write := range map[string]func(ctx context.Context, s answer.Service) (answer.Mark, error){
		"moved": func(ctx context.Context, s answer.Service) (answer.Mark, error) {
			return s.Move(ctx, as, "thing1", "thing0", &answer.Pose{})
		},
		"removed": func(ctx context.Context, s answer.Service) (answer.Mark, error) {
			return s.Remove(ctx, as, "thing2", "", answer.RefuseChildren)
		},
		"withdrawn": func(ctx context.Context, s answer.Service) (answer.Mark, error) { return s.Withdraw(ctx, as, "thing3") },
	} {
		if name == "moved" { // a pose without a rotation is none
			if _, err := write(t.Context(), plan); engram.CodeOf(err) != engram.Invalid {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if _, err := write(t.Context(), reader); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "write") {
			t.Errorf("%s by who may only read: %v", name, err)
		}
		if mark, err := write(t.Context(), plan); err != nil || mark.Number <= o.Mark.Number {
			t.Errorf("%s: %v, %v", name, mark, err)
		}
	}
	if n := names(reader); n != many-2 {
		t.Errorf("%d things, want %d", n, many-2)
	}
	known, err := plan.Known(t.Context(), as, []string{"thing1", "thing2"})
	if err != nil || known[0].Own.Type != "engram.world.Item" || known[0].Missing != "" || known[1].Missing == "" || known[1].Item.Type != "" {
		t.Errorf("%+v, %v", known, err)
	}
}
