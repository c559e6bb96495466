package web_test

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

// One edits a copy of a payload in a form made from its type, is told what is wrong with it by the page and by the server,
// beside the member, and commits it; runs a skill by a form that the palette opens; finds texts in payloads; sets a mark.
func TestForms(t *testing.T) {
	testkit.Node(t, "app", "playwright-core")
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
	put := func(entity, name string, v map[string]any) {
		typ, ok := memories.Type(name)
		if !ok {
			t.Fatalf("there is no type %s", name)
		}
		b, err := typ.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, srv, engram.EntityUpdate{Entity: engram.MustID(entity), Time: engram.Now(), Instances: []engram.Instance{
			engram.NewInstance(engram.Payload{Type: name, Bytes: b})}})
	}
	put("Example/ExampleData/me/one", "engram.example.ExampleData", map[string]any{})
	put("Object/Instance/me/cup", "engram.object.Instance", map[string]any{"frame_id": "map", "joint_values": map[string]any{"lid": 0.5}})

	type grasp struct {
		Object  string
		Force   float64
		Tries   *int32
		Fingers []string
	}
	p := skill.NewProvider(srv, "Arm")
	skill.Handle(p, skill.Spec{Name: "Grasp", Description: "closes the hand around something", Defaults: map[string]any{"object": "cup", "force": 10.0}},
		func(_ *skill.Call, in grasp) (any, error) {
			if in.Object != "cup" || in.Force != 3 || in.Tries == nil || *in.Tries != 2 {
				t.Errorf("it is called with %+v", in)
			}
			return nil, nil
		})
	serving.Until(t, func(ctx context.Context) error { return p.Run(ctx) })

	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "forms.mjs", url, nil)

	// Who may only look is told so where it is committed.
	rules := serving.Rules(t, "rules: [{allow: [read, subscribe], to: anonymous, on: '*'}]")
	url, _ = serve(t, feature.Guard(srv, rules), serving.AnyPort)
	browser(t, "rights.mjs", url, nil)
}
