package memories

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What no sensor can have seen is refused where it is committed, as is such a field of view of a component.
func TestViewsAreRefused(t *testing.T) {
	svc := serving.New(t, World())
	turned := map[string]any{"w": 1.0}
	view := func(horizontal, vertical, from, to float64) map[string]any {
		return map[string]any{"horizontal": horizontal, "vertical": vertical, "min_range": from, "max_range": to}
	}
	for name, c := range map[string]struct {
		orientation, view map[string]any
		want              string
	}{
		"right":       {turned, view(1, 1, 0, 5), ""},
		"not turned":  {nil, view(1, 1, 0, 5), "quaternion"},
		"length zero": {map[string]any{"w": 0.0}, view(1, 1, 0, 5), "quaternion"},
		"negative":    {turned, view(-1, 1, 0, 5), "is -1 rad wide"},
		"NaN":         {turned, view(1, math.NaN(), 0, 5), "is NaN rad high"},
		"backwards":   {turned, view(1, 1, 3, 2), "goes from 3 m to 2 m"},
	} {
		for _, segment := range []string{"Observation", "Component"} {
			value := map[string]any{"kind": "camera", "field_of_view": c.view}
			if segment == "Observation" {
				value = map[string]any{"frame_id": "map", "pose": map[string]any{"orientation": c.orientation}, "field_of_view": c.view}
			}
			typ, _ := Type("engram.world." + segment)
			b, err := typ.Encode(value)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if segment == "Component" && want == "quaternion" {
				want = "" // it has no pose
			}
			r, err := svc.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
				Entity: engram.MustID("World/" + segment + "/rover/eye"), Time: engram.Now(),
				Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.world." + segment, Bytes: b})},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := r[0].Err; want == "" && got != nil || want != "" && (engram.CodeOf(got) != engram.Invalid || !strings.Contains(got.Error(), want)) {
				t.Errorf("%s, %s: %v, not %q", segment, name, got, want)
			}
		}
	}
}

// A joint that there cannot be is refused where it is committed; one that is withdrawn, and a value alone, are not.
func TestJointsAreRefused(t *testing.T) {
	svc := serving.New(t, World())
	typ, _ := Type("engram.world.Articulation")
	posed := func(w float64) map[string]any {
		return map[string]any{"position": map[string]any{}, "orientation": map[string]any{"w": w}}
	}
	for name, c := range map[string]struct {
		value map[string]any
		want  string
	}{
		"right":          {map[string]any{"base": "kitchen", "moved": "lid", "kind": "Revolute", "pose": posed(1)}, ""},
		"length zero":    {map[string]any{"base": "kitchen", "moved": "lid", "kind": "Revolute", "pose": posed(0)}, "quaternion"},
		"to itself":      {map[string]any{"base": "lid", "moved": "lid", "kind": "Revolute", "pose": posed(1)}, "itself"},
		"a value":        {map[string]any{"value": 0.5}, ""},
		"a value of NaN": {map[string]any{"value": math.NaN()}, "its value is NaN"},
		"withdrawn":      {map[string]any{}, ""},
	} {
		b, err := typ.Encode(c.value)
		if err != nil {
			t.Fatal(err)
		}
		r, err := svc.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID("World/Articulation/rover/hinge"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r[0].Err; c.want == "" && got != nil || c.want != "" && (engram.CodeOf(got) != engram.Invalid || !strings.Contains(got.Error(), c.want)) {
			t.Errorf("%s: %v, not %q", name, got, c.want)
		}
	}
}
