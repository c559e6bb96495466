package main

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// TestChangesInWords states items one after another and reads what watch and diff would say.
func TestChangesInWords(t *testing.T) {
	w := world.NewLocal("anna", world.DefaultRules(), world.FromSource(world.Operator))
	before, err := w.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := func(what, want string) {
		t.Helper()
		after, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range world.Diff(before, after, pose.Threshold{}) {
			o := diffObject(new(view.Difference(after, &d)))
			for _, c := range o.changes() {
				got = append(got, o.Name+" "+c[0]+" "+c[1])
			}
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s: %q, want %q", what, text, want)
		}
		before = after
	}
	put := func(name string, it world.Item) {
		t.Helper()
		if refused, _, err := w.Update(t.Context(), world.NamedItem{Name: name, Item: it}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	on := func(parent string) *world.Structure { return &world.Structure{Parent: parent} }
	at := func(p pose.Pose) *world.Placement { return &world.Placement{Pose: p, Cov: pose.ExactCov()} }

	put("room", world.Item{Structure: on(""), Description: &world.Description{Kinds: []string{world.KindMap}}})
	put("cup", world.Item{Structure: on("room"), Description: &world.Description{}})
	said("two come", "cup came to room, said by anna; room came said by anna")
	put("cup", world.Item{Placement: at(pose.Translation(1, 0, 0))})
	said("a pose", "cup pose known now")
	put("cup", world.Item{Placement: at(pose.Pose{T: pose.Vec3{X: 1.5}, R: pose.RPY(0, 0, 0.1)})})
	said("moved and turned", "cup moved 0.500 m, 5.73°")
	put("cup", world.Item{Description: &world.Description{Label: "mug", Kinds: []string{world.KindObject}}})
	said("label and kinds", "cup label nothing → mug; cup described otherwise by anna")
	if _, err := w.SetState(t.Context(), world.State{Item: "cup", Name: "full", Value: true}, 1); err != nil {
		t.Fatal(err)
	}
	said("a state", "cup state full: unknown → true")
	put("shelf", world.Item{Structure: on("room"), Placement: at(pose.Translation(3, 0, 0))})
	said("a shelf", "shelf came to room, said by anna")
	if _, err := w.Attach(t.Context(), "cup", "shelf", nil); err != nil {
		t.Fatal(err)
	}
	said("attached without a jump", "cup parent room → shelf")
	put("shelf", world.Item{Placement: at(pose.Translation(4, 0, 0))})
	said("what it carries is not told of", "shelf moved 1.000 m")
	lens := pose.Pose{T: pose.Vec3{X: 0.1, Z: 1.3}, R: pose.RPY(-1.5707963267948966, 0.1, -1.5707963267948966)}
	put("camera", world.Item{Structure: on("room"), Placement: at(lens)})
	put("lens", world.Item{Structure: on("camera"), Placement: at(lens)})
	said("two that are turned", "camera came to room, said by anna; lens came to camera, said by anna")
	said("nothing", "")
	if _, err := w.Attach(t.Context(), "lens", "shelf", nil); err != nil {
		t.Fatal(err)
	}
	said("what is only rounded has not moved", "lens parent camera → shelf")
	if _, err := w.Attach(t.Context(), "lens", "room", nil); err != nil {
		t.Fatal(err)
	}
	said("back", "lens parent shelf → room")
	if _, err := w.Remove(t.Context(), "shelf", "sold", world.WithChildren); err != nil {
		t.Fatal(err)
	}
	said("removed", "cup went removed by anna: sold; shelf went removed by anna: sold")
	put("ball", world.Item{Structure: on("")})
	said("a ball", "ball came said by anna")
	if _, err := w.Withdraw(t.Context(), "ball"); err != nil {
		t.Fatal(err)
	}
	said("withdrawn", "ball went nobody says it any more")
	put("anna", world.Item{Structure: on(""), Description: &world.Description{Kinds: []string{world.KindRobot}}})
	said("a robot", "anna came said by anna")
	put("anna", world.Item{Description: &world.Description{Kinds: []string{world.KindMap}}})
	said("it is a place now", "anna kinds robot → map, by anna")
}

func TestJointsInWords(t *testing.T) {
	v := 1.5707963267948966
	for _, c := range []struct {
		joint answer.ItemJoint
		want  string
	}{
		{answer.ItemJoint{Base: "cupboard", Kind: "revolute", Value: &v, Sigma: 0.02, Limits: &answer.Limits{Lower: -1, Upper: 2}, Radius: 0.4},
			"revolute on cupboard, at 1.571 rad (90°) ± 0.02, from -1 rad (-57.296°) to 2 rad (114.592°), radius 0.4 m"},
		{answer.ItemJoint{Base: "shaft", Kind: "prismatic", Serves: []string{"floor1", "floor2"}}, "prismatic on shaft, serves floor1, floor2"},
		{answer.ItemJoint{Base: "wall", Kind: "fixed"}, "fixed on wall"},
	} {
		if got := jointObject(&c.joint).text(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Values are printed without the tags that they have in JSON.
func TestValuesInWords(t *testing.T) {
	for value, want := range map[string]string{
		`{"$int64":"9007199254740993"}`: "9007199254740993", `{"$uint64":"18446744073709551615"}`: "18446744073709551615", "5": "5", "0.5": "0.5", `"NaN"`: `"NaN"`, `"$int64"`: `"$int64"`,
		`{"$dict":{"$int64":[{"$int64":"9007199254740993"},"x"]}}`: `{"$int64":[9007199254740993,"x"]}`, `{"a":{"b":{"$int64":"9007199254740993"}},"c":null}`: `{"a":{"b":9007199254740993},"c":null}`,
	} {
		if got := valueText(json.RawMessage(value)); got != want {
			t.Errorf("%s is %s, not %s", value, got, want)
		}
	}
}

// Who says nothing any more says it of no source.
func TestWithdrawnInWords(t *testing.T) {
	s := answer.Statement{Provider: "op2"}
	if got := saidText(&s, s.Since); !strings.HasPrefix(got, "op2 just now, ") || !strings.HasSuffix(got, ": nothing any more") {
		t.Error(got)
	}
	s.Says, s.Source = []string{"parent"}, "operator"
	if got := saidText(&s, s.Since); !strings.HasPrefix(got, "op2 (operator) just now, ") {
		t.Error(got)
	}
}

func TestPosesAreRead(t *testing.T) {
	turned := pose.Pose{T: pose.Vec3{X: 1, Y: 2, Z: 3}, R: pose.RPY(0, 0, 1.5)}
	for text, want := range map[string]pose.Pose{
		"1,2,3": pose.Translation(1, 2, 3), " 1, 2 ,3": pose.Translation(1, 2, 3), "1,2,3,0,0,1.5": turned, "1,2,3,0,0,0,1": pose.Translation(1, 2, 3),
	} {
		if got, err := parsePose("--pose", text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1,2", "1,2,3,4", "1,2,3,4,5,6,7,8", "a,b,c", "1,2,NaN", "inf,0,0", "1,2,3,1,1,1,1", "1,2,3,0,0,0,0", "1,,2"} {
		if got, err := parsePose("--pose", text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestAgesAreShort(t *testing.T) {
	row := answer.Row{Known: true, Age: 3 * time.Minute, Belief: 0.25}
	if c := appendRow(nil, &row, true); c[1] != (cellOf("3 min", "180.000")) || c[2] != (cellOf("0.25", "0.25")) {
		t.Errorf("%+v", c)
	}
}

// A rotation by a pitch of 90° is told as one, however its quaternion is rounded.
func TestUprightPosesInWords(t *testing.T) {
	for q, want := range map[pose.Quat]string{
		{Y: 0.7071067811865476, W: 0.7071067811865476}: "roll 0°, pitch 90°, yaw 0°",
		pose.RPY(0, math.Pi/2, 0):                      "roll 0°, pitch 90°, yaw 0°",
		pose.RPY(0.5, math.Pi/2, 0.7):                  "roll 0°, pitch 90°, yaw 11.459°",
		pose.RPY(0.5, -math.Pi/2, 0.7):                 "roll 0°, pitch -90°, yaw 68.755°",
		pose.RPY(0.5, 0.25, 0.7):                       "roll 28.648°, pitch 14.324°, yaw 40.107°",
	} {
		p := itemPoseJSON{Rotation: quatObject(q)}
		if got := p.text(); !strings.Contains(strings.ReplaceAll(got, "-0°", "0°"), want) {
			t.Errorf("%v is %q, want %q", q, got, want)
		}
	}
}

// What is told of another robot's statements is by this robot's clock.
func TestAgesByTheOwnClock(t *testing.T) {
	now := engram.Time(1e18)
	it := answer.Item{
		Name: "cup", Time: now, Statements: []answer.Statement{{Provider: "eye", Robot: "tug", Source: "perception", Time: now.Add(20 * time.Second), Since: now.Add(-5 * time.Second), Says: []string{"parent"}, Counts: []string{"parent"}}},
		States: []answer.State{{Name: "full", Value: json.RawMessage("true"), Confidence: 0.5, SaidBy: "tug:eye", Time: now.Add(20 * time.Second), Since: now.Add(-5 * time.Second)}},
	}
	var text strings.Builder
	if err := printBlock(&text, &it); err != nil || !strings.Contains(text.String(), "tug:eye (perception) 5 s ago, ") || !strings.Contains(text.String(), "full = true (50 %, said 5 s ago by tug:eye)") {
		t.Errorf("%s, %v", text.String(), err)
	}
}

// Lines of a tree go on where something follows below the same parent, and end at a certain level.
func TestBranchesOfATree(t *testing.T) {
	tree := worldTree{out: itemTable()}
	rows := []answer.Row{{Name: "a", Level: 1}, {Name: "b", Level: 2}, {Name: "c", Level: 3, Last: true}, {Name: "d", Level: 2, Last: true}, {Name: "e", Level: 3, Last: true}, {Name: "f", Level: 1}}
	// What stands before x and z is as long, but not the same.
	rows = append(rows, answer.Row{Name: "v", Level: 2}, answer.Row{Name: "w", Level: 3, Last: true}, answer.Row{Name: "x", Level: 4, Last: true},
		answer.Row{Name: "v", Level: 2, Last: true}, answer.Row{Name: "y", Level: 3}, answer.Row{Name: "z", Level: 4, Last: true}, answer.Row{Name: "f", Level: 1})
	for level := 2; level <= indented+2; level++ {
		rows = append(rows, answer.Row{Name: "g", Level: level, Last: true})
	}
	rows = append(rows, answer.Row{Name: "away", Level: 1, Absent: "nobody has stated it"}, answer.Row{Name: "h", Level: 2, Last: true})
	if err := tree.add(rows); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range tree.out.rows {
		lines = append(lines, row[0].shown)
	}
	blank := strings.Repeat("   ", indented-2)
	want := []string{"a", "├─ b", "│  └─ c", "└─ d", "   └─ e", "f", "├─ v", "│  └─ w", "│     └─ x", "└─ v", "   ├─ y", "   │  └─ z", "f"}
	if got := lines[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	end := []string{blank + "└─ g", blank + "   └─ 25: g", blank + "   └─ 26: g", "away", "└─ h"}
	if got := lines[len(lines)-5:]; !slices.Equal(got, end) {
		t.Errorf("%q, want %q", got, end)
	}
}

// TestRefusedInPart tells what was stated and what was not, or may have been.
func TestRefusedInPart(t *testing.T) {
	away, full := engram.Errorf(engram.Unavailable, "", "no answer"), engram.Errorf(engram.Exhausted, "cup/full", "no room")
	for _, c := range []struct {
		tell func(*cobra.Command) error
		want string
	}{
		{func(cmd *cobra.Command) error { return refusedContent(cmd, away, false) }, "no answer; whether it was stated is not known; import it again, which changes nothing that was"},
		{func(cmd *cobra.Command) error { return refusedContent(cmd, away, true) }, "no answer; nothing was stated"},
		{func(cmd *cobra.Command) error { return refusedContent(cmd, full, false) }, "cup/full: no room; nothing was stated"},
		{func(cmd *cobra.Command) error {
			s := stated{name: "cup", states: []world.State{{Name: "full"}, {Name: "clean"}}}
			s.tellStated(cmd, []error{nil, full, nil})
			return full
		}, "stated: item cup\nstated: state cup/clean\ncup/full: no room"},
	} {
		var told strings.Builder
		cmd := &cobra.Command{}
		cmd.SetErr(&told)
		err := c.tell(cmd)
		if got := told.String() + err.Error(); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
