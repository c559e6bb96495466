package memories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/world"
)

// Names in parameters become poses and IDs, poses names, and what is not known is named.
func TestSymbolsAreResolved(t *testing.T) {
	s := serving.New(t, All()...)
	st := newState(t, s)
	at := func(x float64) pose.Pose { return pose.Pose{T: pose.Vec3{X: x}, R: pose.Identity().R} }
	st.item("map", "room", second, world.Item{Description: &world.Description{Kinds: []string{world.KindMap}}})
	st.item("map", "table", second, world.Item{Placement: &world.Placement{Frame: "room", Pose: at(2)}})
	st.item("map", "cup", second, world.Item{Placement: &world.Placement{Frame: "table", Pose: at(0.25)}})
	st.other("Navigation/Location/map/dock", "engram.navigation.Location", second, map[string]any{"names": []any{"charger"}, "frame_id": "room", "pose": posevalue.To(at(7))})
	st.other("Object/Class/prior/cup", "engram.object.Class", second, map[string]any{"name": "cup", "spoken_names": []any{"mug"}})
	y := &symbols{newConditionPresent(s, &elsewhere{}, nil), newSkills().types}
	defer y.present.elsewhere.close()
	for _, c := range []struct {
		kind  string
		given any
		want  string
	}{
		{"location", "dock", "7 room"},
		{"location", "charger", "7 room"},
		{"location", "table", "2 room"},
		{"item", "cup", "2.25 room"},
		{"location", map[string]any{"frame_id": "room"}, "map[frame_id:room]"},
		{"class", "mug", "Object/Class/prior/cup"},
		{"location", "dcok", "there is no location of this name; did you mean dock?"},
		{"item", "spoon", "there is no item of this name"},
		{"class", "mgu", "did you mean mug?"},
		{"location_name", map[string]any{"frame_id": "room", "pose": posevalue.To(at(6.9))}, "charger dock"},
		{"location_name", map[string]any{"frame_id": "table", "pose": posevalue.To(at(0.2))}, "cup"},
		{"location_name", map[string]any{"frame_id": "room", "pose": posevalue.To(at(50))}, "within 0.5 m"},
		{"item_name", "cup", "cup"},
		{"item_name", "cpu", "did you mean cup?"},
	} {
		d := &skill.Description{Symbolic: map[string]string{"goal": c.kind}}
		v, err := y.resolve(t.Context(), d, map[string]any{"goal": c.given, "other": 1})
		got := fmt.Sprint(err)
		if err == nil {
			goal := v.(map[string]any)["goal"]
			got = fmt.Sprint(goal)
			if m, ok := goal.(map[string]any); ok && m["pose"] != nil {
				p, _ := posevalue.Of(m["pose"])
				got = fmt.Sprint(p.T.X, " ", m["frame_id"])
			}
		} else if !strings.HasPrefix(got, "goal: ") || engram.CodeOf(err) != engram.NotFound {
			t.Errorf("%v: %v", c.given, err)
		}
		if !strings.Contains(got, c.want) && !strings.Contains(c.want, got) {
			t.Errorf("%s of %v is %s, not %s", c.kind, c.given, got, c.want)
		}
	}
}

// A check looks up names in parameters as an execution does, and names each that nobody knows.
func TestCheckLooksNamesUp(t *testing.T) {
	s := serving.New(t, All()...)
	st := newState(t, s)
	st.other("Navigation/Location/map/dock", "engram.navigation.Location", second, map[string]any{"frame_id": "room", "pose": posevalue.To(pose.Identity())})
	st.other("Skill/Description/Base/Go", "engram.skill.Description", second, map[string]any{"name": "Go", "skill_provider": "Base",
		"symbolic": map[string]any{"to": "location", "past": "item"}})
	resolve, done := ResolveNames(s)
	defer done()
	check := func(to, past string) (wrong []string) {
		t.Helper()
		c, err := skill.Check(t.Context(), s, skill.Request{Skill: "Go", Parameters: map[string]any{"to": to, "past": past}}, resolve)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Findings {
			if f.What == "parameter" {
				wrong = append(wrong, f.Name+"="+f.Value)
			}
		}
		return wrong
	}
	if got := fmt.Sprint(check("dcok", "cup")); got != "[past=cup to=dcok]" {
		t.Error(got)
	}
	st.item("map", "cup", second, world.Item{Placement: &world.Placement{Frame: "room", Pose: pose.Identity()}})
	st.item("map", "room", second, world.Item{Description: &world.Description{Kinds: []string{world.KindMap}}})
	testkit.Until(t, func() (string, bool) { got := check("dock", "cup"); return fmt.Sprint(got), len(got) == 0 })
}
