package files_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

const kitchen = `# a kitchen
- name: kitchen
  kinds: [map]
  place: {level: room, number: 3006}
  spoken_names: [kitchen, cook room]
  shape:
    kind: polygon
    outline: [[0, 0], [4, 0], [4, 3], [0, 3]]
  maps:
    - name: words
      kind: semantic
      format: text
      url: https://example.org/words
      created: 2026-01-02T03:04:05Z
  children:
    - name: cupboard
      kinds: [object, furniture]
      pose: {position: [1, 2, 0], rpy: [0, 0, 1.5707963267948966]}
      box: {size: [0.6, 0.4, 0.8], pose: [0, 0, 0.4]}
      children:
        - name: door
          kinds: object
          pose: [0.3, 0, 0.4]
          articulations:
            - kind: revolute
              pose: [0.3, 0.3, 0.4]
              limits: [0, 1.6]
              radius: 0.45
              value: 0.8
              sigma: 0.01
          states:
            open: true
            locked: {value: false, confidence: 0.9, half_life: 1h}
    - name: table
      kinds: [object, furniture]
      pose: {x: 2, y: 1, yaw: 0.5}
      covariance: [0.01, 0.01, 0.01, 0.001, 0.001, 0.001]
- name: cup
  parent: table
  label: the cup
  class: cup
  pose: {position: {x: 0, y: 0, z: 0.7}, orientation: [0, 0, 0, 1]}
  shape: {kind: cylinder, radius: 0.04, height: 0.1}
  detection: {methods: [apriltag], tags: ["36h11:7"]}
  properties: {weight: 0.25, red: true, count: 3, made: {by: me, in: [1, 2.0, x]}}
- name: rover/camera
  parent: kitchen
  pose: [0, 0, 2]
  component:
    kind: camera
    outputs: [/image]
    field_of_view: {horizontal: 1.2, vertical: 0.9, max_range: 5}
    running: true
    started_by: camera.launch
`

func read(t testing.TB, text, file string) *files.Content {
	t.Helper()
	c, err := files.Read([]byte(text), file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// state returns the world of a content alone.
func state(t testing.TB, c *files.Content) *world.Forest {
	t.Helper()
	m := world.NewLocal("me", world.DefaultRules())
	return stated(t, m, c)
}

func stated(t testing.TB, m world.Model, c *files.Content) *world.Forest {
	t.Helper()
	f, err := m.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(f, "me"); err != nil {
		t.Fatal(err)
	}
	mark, err := c.State(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = m.View(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t testing.TB, f *world.Forest, o files.Options) string {
	t.Helper()
	text, _, err := files.Write(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKitchen(t *testing.T) {
	f := state(t, read(t, kitchen, "kitchen.yaml"))
	if f.Len() != 6 {
		t.Errorf("there are %d items", f.Len())
	}
	at, err := f.Pose("kitchen", "door")
	if err != nil {
		t.Fatal(err)
	}
	// The cupboard is turned by 90 degrees, the door by 0.8 rad about its hinge.
	hinge := pose.Vec3{X: 0.3, Y: 0.3, Z: 0.4}
	door := hinge.Add(pose.AxisAngle(pose.Vec3{Z: 1}, 0.8).Rotate(pose.Vec3{Y: -0.3}))
	want := pose.Vec3{X: 1 - door.Y, Y: 2 + door.X, Z: door.Z}
	if d := at.Pose.T.Sub(want).Norm(); d > 1e-9 {
		t.Errorf("the door is at %v, not at %v", at.Pose.T, want)
	}
	cup, err := f.Get("cup")
	if err != nil || *cup.Description.Class != engram.MustID("Object/Class/PriorKnowledge/cup") || cup.Description.Shape.Size != (pose.Vec3{X: 0.08, Y: 0.08, Z: 0.1}) {
		t.Errorf("%+v, %v", cup.Description, err)
	}
	if m, err := f.Maps().Get("words"); err != nil || m.Map.Describes[0] != "kitchen" {
		t.Errorf("%+v, %v", m, err)
	}
	if c, err := f.Components().Get("rover/camera"); err != nil || c.Component.View.MaxRange != 5 {
		t.Errorf("%+v, %v", c, err)
	}
	if s, err := f.States("door"); err != nil || len(s) != 2 || s[0].Confidence != 0.9 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestRootIsBelieved has an item that a file says nothing of but its name: it is by itself, so
// that it can be believed to be there, and is present.
func TestRootIsBelieved(t *testing.T) {
	f := state(t, read(t, "- name: kitchen\n  kinds: [map]\n- name: site\n", "f.yaml"))
	for _, name := range []string{"kitchen", "site"} {
		if a, err := f.Account(name, engram.Now(), nil); err != nil || !a.Present() {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

// TestRoundTrip writes a world, reads it and writes it again, in all forms, through a memory,
// too.
func TestRoundTrip(t *testing.T) {
	first := state(t, read(t, kitchen, "kitchen.yaml"))
	for _, o := range []files.Options{{}, {Nested: true}, {JSON: true}, {JSON: true, Nested: true}, {Item: "cupboard"}} {
		text := write(t, first, o)
		file := "again.yaml"
		if o.JSON {
			file = "again.json"
		}
		if again := write(t, state(t, read(t, text, file)), o); again != text {
			t.Errorf("%+v: written\n%s\nand then\n%s", o, text, again)
		}
		m, err := world.Over(t.Context(), serving.New(t, memories.World()), "me", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		if again := write(t, stated(t, m, read(t, text, file)), o); again != text {
			t.Errorf("%+v: written\n%s\nand through a memory\n%s", o, text, again)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if text := write(t, first, files.Options{Nested: true}); strings.Count(text, "parent:") != 0 || strings.Count(text, "children:") != 3 {
		t.Errorf("not nested:\n%s", text)
	}
	if text := write(t, first, files.Options{}); strings.Count(text, "children:") != 0 || !strings.Contains(text, "  parent: table\n") {
		t.Errorf("not flat:\n%s", text)
	}
	if _, _, err := files.Write(first, files.Options{Item: "none"}); !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
}

// TestAnyWorldRoundTrips writes random worlds.
func TestAnyWorldRoundTrips(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &files.Content{}
		number := rapid.Float64Range(-1e6, 1e6)
		text := rapid.StringMatching(`[a-zA-Z0-9 :#'"\n\té-]{0,12}`)
		n := rapid.IntRange(0, 8).Draw(rt, "items")
		for i := range n {
			it := files.Item{NamedItem: world.NamedItem{Name: fmt.Sprintf("%s%d", rapid.StringMatching(`[a-z#: ]{1,3}`).Draw(rt, "name"), i)}}
			if i > 0 && rapid.Bool().Draw(rt, "child") {
				it.Structure = &world.Structure{Parent: c.Items[rapid.IntRange(0, i-1).Draw(rt, "parent")].Name}
			}
			if rapid.Bool().Draw(rt, "placed") {
				p := pose.Pose{T: pose.Vec3{X: number.Draw(rt, "x"), Y: number.Draw(rt, "y")}, R: pose.RPY(number.Draw(rt, "r"), number.Draw(rt, "p"), number.Draw(rt, "w"))}
				it.Placement = &world.Placement{Pose: p}
				if rapid.Bool().Draw(rt, "sure") {
					s := rapid.Float64Range(0.001, 2)
					it.Placement.Cov = pose.DiagonalCov(s.Draw(rt, "metres"), s.Draw(rt, "radians"))
					it.Placement.Cov.S[0] *= 3
				}
			}
			d := &world.Description{Label: text.Draw(rt, "label")}
			for range rapid.IntRange(0, 3).Draw(rt, "names") {
				d.SpokenNames = append(d.SpokenNames, text.Draw(rt, "spoken")+"!")
			}
			if rapid.Bool().Draw(rt, "properties") {
				d.Properties = map[string]any{
					text.Draw(rt, "key"): number.Draw(rt, "value"), "k": text.Draw(rt, "text"),
					"l": []any{int64(1), 1.0, nil, true, map[string]any{"a": []any{}}},
				}
			}
			it.Description = d
			c.Items = append(c.Items, it)
			if it.Structure != nil && rapid.Bool().Draw(rt, "joint") {
				j := files.Joint{Name: rapid.SampledFrom([]string{it.Name, it.Name + "/joint"}).Draw(rt, "joint name")}
				j.Base, j.Moved, j.Kind, j.Pose = it.Structure.Parent, it.Name, world.JointKind(rapid.IntRange(0, 2).Draw(rt, "kind")), pose.Identity()
				if j.Kind == world.Prismatic {
					j.SetDirection(pose.Vec3{X: 1, Y: number.Draw(rt, "dy"), Z: number.Draw(rt, "dz")})
				}
				if j.Kind == world.Revolute {
					j.SetAxis(pose.Vec3{X: 1, Y: number.Draw(rt, "ay"), Z: number.Draw(rt, "az")})
				}
				c.Joints = append(c.Joints, j)
			}
		}
		for _, o := range []files.Options{{}, {Nested: true}, {JSON: true, Nested: true}} {
			first := write(t, state(t, c), o)
			back, err := files.Read([]byte(first), "f")
			if err != nil {
				rt.Fatalf("%v in\n%s", err, first)
			}
			if again := write(t, state(t, back), o); again != first {
				rt.Fatalf("%+v: written\n%s\nand then\n%s", o, first, again)
			}
		}
	})
}

// TestWhatIsNotSaidStays imports files into a world that has more.
func TestWhatIsNotSaidStays(t *testing.T) {
	m := world.NewLocal("me", world.DefaultRules())
	stated(t, m, read(t, kitchen, "kitchen.yaml"))
	before := write(t, stated(t, m, read(t, "- name: cup\n- name: door\n  states: {open: true}\n", "names.yaml")), files.Options{})
	if after := write(t, state(t, read(t, kitchen, "kitchen.yaml")), files.Options{}); before != after {
		t.Errorf("names alone change the world to\n%s", before)
	}
	f := stated(t, m, read(t, "- name: cup\n  label: a mug\n  class: null\n- name: table\n  parent: null\n", "some.yaml"))
	cup, _ := f.Get("cup")
	if d := cup.Description; d.Label != "a mug" || d.Class != nil || d.Shape == nil || cup.Placement == nil || cup.Structure.Parent != "table" {
		t.Errorf("%+v", cup)
	}
	if at, err := f.Pose("kitchen", "table"); err != nil || at.Pose.T != (pose.Vec3{X: 2, Y: 1}) {
		t.Errorf("the table without a parent is at %v, %v", at, err)
	}
	c := read(t, "- name: cup\n  parent: cupboard\n", "moved.yaml")
	if err := c.Check(f, "me"); !errors.Is(err, engram.Conflict) || !strings.Contains(err.Error(), `moved.yaml:1: cup: it has a place already, in "table"`) {
		t.Error(err)
	}
}

// TestNullTakesBack takes back what stands in items beside what is said of them, and one member for another.
func TestNullTakesBack(t *testing.T) {
	left := func(f *world.Forest) string {
		states, _ := f.States("door")
		return fmt.Sprint(len(slices.Collect(f.Joints().All())), " ", len(states), " ", len(slices.Collect(f.Maps().All())), " ", len(slices.Collect(f.Components().All())))
	}
	for text, want := range map[string]string{
		"- name: door\n":                                                        "1 2 1 1",
		"- name: door\n  articulations: null\n":                                 "0 2 1 1",
		"- name: door\n  articulations: []\n":                                   "0 2 1 1",
		"- name: cupboard\n  articulations: null\n":                             "1 2 1 1", // it is not moved
		"- name: door\n  states: null\n":                                        "1 0 1 1",
		"- name: door\n  states: {open: null}\n":                                "1 1 1 1",
		"- name: kitchen\n  maps: null\n":                                       "1 2 0 1",
		"- name: rover/camera\n  component: null\n":                             "1 2 1 0",
		"- name: door\n  articulations: null\n  states: {open: false}\n":        "0 2 1 1",
		`[{"name": "door", "states": {}, "articulations": null}]`:               "0 0 1 1",
		"- name: door\n  states: []\n":                                          "1 0 1 1",
		"items: [{name: kitchen, maps: []}]\nmaps: [{name: new, describes: a}]": "1 2 1 1",
	} {
		for _, by := range []string{"me", "another"} {
			svc := serving.New(t, memories.World())
			first, err := world.Over(t.Context(), svc, "me", world.DefaultRules())
			if err != nil {
				t.Fatal(err)
			}
			stated(t, first, read(t, kitchen, "kitchen.yaml"))
			m, err := world.Over(t.Context(), svc, by, world.DefaultRules())
			if err != nil {
				t.Fatal(err)
			}
			got := left(stated(t, m, read(t, text, "f.yaml")))
			if expected := want; by == "me" && got != expected {
				t.Errorf("%s: left are %s, not %s", text, got, expected)
			} else if by == "another" && !strings.Contains(text, "false") && !strings.Contains(text, "new") && got != "1 2 1 1" {
				t.Errorf("%s: of what another one stated %s is left", text, got)
			}
			for _, m := range []*world.Memory{first, m} {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestNotes tells that an item becomes something else, and that a parent is not there any more.
func TestNotes(t *testing.T) {
	m := world.NewLocal("me", world.DefaultRules())
	stated(t, m, read(t, "- name: rover\n  kinds: robot\n- name: fridge\n  kinds: [object]\n- name: shelf\n- name: box\n", "f.yaml"))
	if _, err := m.Remove(t.Context(), "shelf", "sold", world.RefuseChildren); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Withdraw(t.Context(), "box"); err != nil {
		t.Fatal(err)
	}
	f, err := m.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"- name: rover\n  kinds: [map]\n":         `f.yaml:1: rover was of the kind robot, and is map now; if these are two things, give one another name`,
		"- name: rover\n  kinds: [robot, map]\n":  "",
		"- name: rover\n  kinds: [vehicle]\n":     "",
		"- name: fridge\n  kinds: null\n":         "",
		"- name: cup\n  parent: shelf\n":          "f.yaml:1: the parent shelf of cup is not there any more, since me removed it (sold); cup waits for it",
		"- name: cup\n  parent: box\n":            "f.yaml:1: the parent box of cup is not there any more, since nobody states it any more; cup waits for it",
		"- name: cup\n  parent: moon\n":           "f.yaml:1: the parent moon of cup does not exist yet; cup waits for it",
		"- name: cup\n  parent: x\n- {name: x}\n": "",
	} {
		c := read(t, text, "f.yaml")
		if err := c.Check(f, "me"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Notes, "; "); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

// TestCalled has the word of the command line beside that of files.
func TestCalled(t *testing.T) {
	f := state(t, read(t, "- name: cup\n  called: [mug, beaker]\n", "f.yaml"))
	if m, err := f.Get("cup"); err != nil || !slices.Equal(m.Description.SpokenNames, []string{"mug", "beaker"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := files.Read([]byte("- name: cup\n  called: mug\n  spoken_names: [mug]\n"), "f.yaml"); !errors.Is(err, engram.Invalid) {
		t.Error(err)
	}
}

// TestImportIsWhole states all of a content or nothing, and a dry run says the same, also of what only the server knows.
func TestImportIsWhole(t *testing.T) {
	wide := `[{"name": "first"}, ` + "\n" + `{"name": "second", "shape": {"kind": "polygon", "outline": [` + strings.Repeat("[1.5, 2.5], ", 110_000) + `[0, 0]]}}, {"name": "third"}]`
	long := strings.Repeat("x", 2<<20+1)
	for name, c := range map[string]struct{ text, want string }{
		"outline":    {wide, "f:2: second: what is said of it takes "},
		"properties": {"- name: first\n- name: second\n  properties: {text: " + long + "}\n- name: third\n", "f:2: second: what is said of it takes "},
		"state":      {"- name: first\n  states: {text: " + long + "}\n- name: second\n", "f:2: first/text: what is said of it takes "},
	} {
		svc := serving.New(t, memories.World())
		m, err := world.Over(t.Context(), svc, "me", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		content := read(t, c.text, "f")
		if err := content.Check(f, "me"); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			if dry {
				err = content.DryRun(t.Context(), m)
			} else {
				_, err = content.State(t.Context(), m)
			}
			if _, partly := errors.AsType[*files.Partly](err); partly || !errors.Is(err, engram.Exhausted) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, dry run %v: %.200v", name, dry, err)
			}
		}
		if f, err = m.View(t.Context()); err != nil || f.Len() != 0 {
			t.Errorf("%s: %d items are stated, %v", name, f.Len(), err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// refusing is a server that refuses what has a name, when it is committed.
type refusing struct {
	engram.Service
	name string
}

func (r refusing) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	at := slices.IndexFunc(c.Updates, func(u engram.EntityUpdate) bool { return u.Entity.Entity() == r.name })
	if at < 0 {
		return r.Service.Commit(ctx, c)
	}
	c.Updates = slices.Delete(slices.Clone(c.Updates), at, at+1)
	results, err := r.Service.Commit(ctx, c)
	if err != nil {
		return nil, err
	}
	return slices.Insert(results, at, engram.UpdateResult{Err: engram.Errorf(engram.Exhausted, r.name, "no room")}), nil
}

// TestPartly names what was stated where the server refuses something unforeseen.
func TestPartly(t *testing.T) {
	m, err := world.Over(t.Context(), refusing{serving.New(t, memories.World()), "table"}, "me", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, "- name: kitchen\n- name: table\n  parent: kitchen\n- name: cup\n  parent: table\n  states: {full: true}\n", "f.yaml")
	if err := c.Check(f, "me"); err != nil {
		t.Fatal(err)
	}
	mark, err := c.State(t.Context(), m)
	partly, is := errors.AsType[*files.Partly](err)
	if !is || mark.Number == 0 || !slices.Equal(partly.Stated, []string{"item kitchen", "item cup", "state cup/full"}) || err.Error() != "f.yaml:2: table: no room" || !errors.Is(err, engram.Exhausted) {
		t.Errorf("%v, %+v", err, partly)
	}
}

// TestRobotsPlaceThemselves leaves out, and tells, where a robot is, but for the robot itself.
func TestRobotsPlaceThemselves(t *testing.T) {
	const text = "- name: kitchen\n- name: rover\n  kinds: robot\n  parent: kitchen\n  pose: [1, 0, 0]\n"
	for _, c := range []struct {
		provider, robot string
		counts          bool
	}{{"me", "", false}, {"rover", "", true}, {"me", "rover", true}, {"me", "tug", false}} {
		content := read(t, text, "f.yaml")
		content.Robot = c.robot
		m := world.NewLocal(c.provider, world.DefaultRules())
		f, _ := m.View(t.Context())
		if err := content.Check(f, c.provider); err != nil {
			t.Fatal(err)
		}
		if got := content.Items[1].Placement != nil; got != c.counts || len(content.Notes) == 0 != c.counts {
			t.Errorf("by %s of %q: placed %v, %q", c.provider, c.robot, got, content.Notes)
		}
		if _, err := content.State(t.Context(), m); err != nil && c.robot == "" { // a world in RAM is of no robot
			t.Error(err)
		}
	}
}

// TestDeep has a chain of items, parents first and children first.
func TestDeep(t *testing.T) {
	var lines []string
	for i := range 10_000 {
		lines = append(lines, fmt.Sprintf("- {name: i%d, parent: i%d}\n", i+1, i))
	}
	lines[0] = "- {name: i1}\n"
	for range 2 {
		c := read(t, strings.Join(lines, ""), "deep.yaml")
		f, _ := world.NewLocal("me", world.DefaultRules()).View(t.Context())
		if err := c.Check(f, "me"); err != nil {
			t.Error(err)
		}
		slices.Reverse(lines)
	}
}

// TestRefused has files that are wrong, and what is said of them.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		code       engram.Code
	}{
		"unknown member":    {"- name: cup\n  colour: red\n", `f.yaml:2: item "cup": unknown member "colour"; the members are name`, engram.Invalid},
		"almost a member":   {"- name: cup\n  kind: object\n", `f.yaml:2: item "cup": unknown member "kind"; did you mean kinds?`, engram.Invalid},
		"twice":             {"- name: cup\n  label: a\n  label: b\n", `f.yaml:3: the YAML cannot be parsed: mapping key "label" already defined`, engram.Invalid},
		"no name":           {"- kinds: [object]\n", `f.yaml:1: item: it has no name`, engram.Invalid},
		"name of a list":    {"- name: [1]\n", `f.yaml:1: item "a list of 1": name is a list of 1; a text is expected`, engram.Invalid},
		"no list":           {"name: cup\n", `unknown member "name"`, engram.Invalid},
		"not YAML":          {"- name: [\n", "cannot be parsed", engram.Invalid},
		"length zero":       {"- name: cup\n  pose: {orientation: [0, 0, 0, 0]}\n", `f.yaml:2: item "cup": pose: the quaternion`, engram.Invalid},
		"NaN":               {"- name: cup\n  pose: [.nan, 0, 0]\n", `not finite`, engram.Invalid},
		"two numbers":       {"- name: cup\n  pose: [1, 2]\n", `f.yaml:2: item "cup": pose is a list of 2; 3 or 6 or 7 numbers are expected`, engram.Invalid},
		"a word":            {"- name: cup\n  pose: [1, 2, x]\n", `pose holds the text "x"`, engram.Invalid},
		"turned twice":      {"- name: cup\n  pose: {rpy: [0, 0, 0], yaw: 1}\n", `turned in 2 ways`, engram.Invalid},
		"frame alone":       {"- name: cup\n  frame: map\n", `it has a frame and no pose`, engram.Invalid},
		"own parent":        {"- name: cup\n  parent: cup\n", `f.yaml:1: cup: its parent is itself`, engram.Invalid},
		"own frame":         {"- name: cup\n  pose: [0, 0, 0]\n  frame: cup\n", `its pose is in its own frame`, engram.Invalid},
		"stated twice":      {"- name: cup\n- name: table\n- name: cup\n", `f.yaml:3: cup: the item is stated twice, first at f.yaml:1`, engram.AlreadyExists},
		"loop":              {"- name: a\n  parent: b\n- name: b\n  parent: c\n- name: c\n  parent: a\n", `f.yaml:1: a: it would be above itself: [a b c a]`, engram.Conflict},
		"two parents":       {"- name: a\n  children: [{name: b, parent: c}]\n", `its parent is "c", and it stands among the children of "a"`, engram.Invalid},
		"scale":             {"- name: cup\n  shape: {kind: mesh, mesh: a.stl, scale: [1, 0, 1]}\n", `the scale is 1, 0, 1; it is not 0`, engram.Invalid},
		"shape":             {"- name: cup\n  shape: {kind: cube}\n", `kind is the text "cube"; it is one of box`, engram.Invalid},
		"size":              {"- name: cup\n  box: [1, -1, 1]\n", `its box has the size`, engram.Invalid},
		"outline":           {"- name: cup\n  shape: {kind: polygon, outline: [[0, 0], [1, 1]]}\n", `2 corners`, engram.Invalid},
		"covariance":        {"- name: cup\n  pose: [0, 0, 0]\n  covariance: [1, 2, 3]\n", `6 or 36 numbers`, engram.Invalid},
		"no covariance":     {"- name: cup\n  pose: [0, 0, 0]\n  covariance: [1, -1, 1, 1, 1, 1]\n", `covariance`, engram.Invalid},
		"limits":            {"- name: a\n- name: b\n  articulations: [{base: a, kind: revolute, limits: [2, 1]}]\n", `the lower limit comes first`, engram.Invalid},
		"value":             {"- name: a\n- name: b\n  articulations: [{base: a, kind: revolute, limits: [0, 1], value: 2}]\n", `its value cannot be 2 rad: it goes from 0 to 1`, engram.OutOfRange},
		"direction":         {"- name: a\n- name: b\n  articulations: [{base: a, kind: prismatic}]\n", `needs a direction`, engram.Invalid},
		"no axis":           {"- name: a\n- name: b\n  articulations: [{base: a, kind: revolute, axis: [0, 0, 0]}]\n", `gives no direction`, engram.Invalid},
		"joined to nothing": {"- name: b\n  articulations: [{kind: revolute}]\n", `which items it joins`, engram.Invalid},
		"state":             {"- name: b\n  states: {open: {value: true, confidence: 2}}\n", `the confidence is 2`, engram.Invalid},
		"map":               {"- name: b\n  maps: [{name: m, kind: picture}]\n", `it is one of occupancy grid, semantic`, engram.Invalid},
		"resolution":        {"- name: b\n  maps: [{name: m, resolution: -1}]\n", `resolution is -1 m`, engram.Invalid},
		"far away":          {"- name: b\n  pose: [2e12, 0, 0]\n", `f.yaml:1: b: it is 2e+12 m away from the frame that its pose is in`, engram.OutOfRange},
		"empty kind":        {"- name: b\n  kinds: [object, \"\"]\n", `f.yaml:1: b: one of its kinds or spoken names is empty`, engram.Invalid},
		"component":         {"components: [{kind: camera, colour: red}]\n", `f.yaml:1: component: unknown member "colour"`, engram.Invalid},
		"named component":   {"components: [{name: eye, kind: camera, running: 5}]\n", `f.yaml:1: component "eye": running is 5`, engram.Invalid},
		"joint of nothing":  {"articulations: [{kind: revolute, base: a}]\n", `f.yaml:1: articulation: it has no name`, engram.Invalid},
		"field of view":     {"components: [{name: eye, kind: camera, field_of_view: {horizontal: -1, vertical: 1, max_range: 2}}]\n", `f.yaml:1: eye: its field of view is -1 rad wide; horizontal is the full angle`, engram.Invalid},
		"class":             {"- name: b\n  class: a/b/c/d/e/f/g\n", `class`, engram.Invalid},
	} {
		got, err := files.Read([]byte(c.text), "f.yaml")
		if err == nil {
			f, _ := world.NewLocal("me", world.DefaultRules()).View(t.Context())
			err = got.Check(f, "me")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.code) {
			t.Errorf("%s: %v (%v), not %q (%v)", name, err, engram.CodeOf(err), c.want, c.code)
		}
	}
}

// All that is wrong with a file is told at once, in the order of its lines: what cannot be read, and what cannot be.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := files.Read([]byte("- name: cup\n  kinds: [\"\"]\n  parent: cup\n  pose: [2e12, 0, 0]\n  frame: cup\n  box: [-1, 0, 1]\n  shape: {kind: box, size: [-1, 0, 1]}\n"+
		"  colour: red\n  covariance: [1]\n- name: a\n  articulations: [{base: a, kind: revolute, axis: [0, 0, 1]}]\n- name: b\n  label: [1]\n"), "f.yaml")
	want := []string{
		"f.yaml:1: cup: its parent is itself", "f.yaml:1: cup: its pose is in its own frame", "f.yaml:1: cup: it is 2e+12 m away", "f.yaml:1: cup: one of its kinds",
		"f.yaml:1: cup: its box has the size -1,0,1 m", "f.yaml:1: cup: its shape has the size -1,0,1;", `f.yaml:8: item "cup": unknown member "colour"`,
		`f.yaml:9: item "cup": covariance`, `f.yaml:11: a: it joins "a" to itself`, `f.yaml:13: item "b": label`,
	}
	lines := strings.Split(fmt.Sprint(err), "\n")
	for i, line := range lines {
		if len(lines) != len(want) || !strings.HasPrefix(line, want[i]) {
			t.Fatalf("%s", strings.Join(lines, "\n"))
		}
	}
}

// TestJSON has what JSON says otherwise than YAML.
func TestJSON(t *testing.T) {
	text := "{\n\t\"items\": [\n\t\t{\"name\": \"c\\u00fcp\", \"pose\": [1, 2, 3]},\n\t\t{\"name\": \"x\", \"nmae\": 1}\n\t]\n}"
	_, err := files.Read([]byte(text), "f.json")
	if err == nil || !strings.Contains(err.Error(), `f.json:4: item "x": unknown member "nmae"; did you mean name?`) {
		t.Error(err)
	}
	for _, bad := range []string{"[", "[] []", "[1e999]", `{"items": {}}`, "[" + strings.Repeat("[", 200), `[{"name": "a", "name": "b"}]`} {
		if _, err := files.Read([]byte(bad), "f.json"); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	f := state(t, read(t, strings.Replace(text, `, "nmae": 1`, "", 1), "f.json"))
	if !f.Has("c\u00fcp") {
		t.Error("the cup is not there")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(kitchen))
	f.Add([]byte(`[{"name": "a", "pose": [1, 2, 3]}]`))
	f.Add([]byte("- &a {name: x}\n- *a\n"))
	f.Add([]byte("- name: a\n- name: b\n  articulations: [{base: a, kind: revolute, limits: [0, 1], value: 2}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := files.Read(b, "f")
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Invalid && code != engram.OutOfRange && code != engram.Exhausted {
				t.Errorf("%v has the code %v", err, code)
			}
			return
		}
		m := world.NewLocal("me", world.DefaultRules())
		forest, err := m.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.Check(forest, "me") != nil {
			return
		}
		first := write(t, state(t, c), files.Options{})
		if again := write(t, state(t, read(t, first, "g")), files.Options{}); again != first {
			t.Errorf("written\n%s\nand then\n%s", first, again)
		}
	})
}
