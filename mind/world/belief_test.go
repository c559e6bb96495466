package world

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// ahead looks along the kitchen's x axis from a point, at a time in seconds.
func ahead(sec, x, y, z float64, seen ...string) Look {
	// z ahead is x, x right is -y, y down is -z
	forward := pose.Quat{W: 0.5, X: -0.5, Y: 0.5, Z: -0.5}
	return Look{
		Sensor: "camera", Said: Said{Provider: "rover", Time: engram.Time(sec * 1e9)}, Frame: "kitchen",
		Pose: pose.Pose{T: pose.Vec3{X: x, Y: y, Z: z}, R: forward},
		View: View{Horizontal: 1, Vertical: 1, MinRange: 0.1, MaxRange: 5}, Seen: seen, LookedFor: LookedFor{Kinds: []string{KindObject}},
	}
}

// looked is Bayes' rule for a look, a time after the one before, with a half-life of the cup's hour.
func looked(p, sinceSec float64, seen bool) float64 {
	p += (1 - p) * 0.05 * (1 - math.Exp2(-sinceSec/3600))
	there, away := 0.7, 0.01
	if !seen {
		there, away = 0.3, 0.99
	}
	return min(max(p*there/(p*there+(1-p)*away), 0.001), 0.999)
}

func believe(t *testing.T, f *Forest, name string, sec float64, looks ...Look) Belief {
	t.Helper()
	b, err := f.Belief(name, engram.Time(sec*1e9), looks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBelief(t *testing.T) {
	f := forest(t, kitchen()...) // the cup is at 0.2, 2.1, 0.75, since 2 s
	near := func(what string, got Belief, p float64, looked int) {
		t.Helper()
		if math.Abs(got.P-p) > 1e-9 || got.Looked != looked {
			t.Errorf("%s: %+v, want %g after %d looks", what, got, p, looked)
		}
	}
	near("at once", believe(t, f, "cup", 2), 1, 0)
	near("after an hour", believe(t, f, "cup", 3602), 0.5, 0)
	near("the table", believe(t, f, "table", 1+30*24*3600), 0.5, 0)
	p := math.Exp2(-10.0 / 3600)
	missed := looked(0.95, 10, false)
	near("looked and not seen", believe(t, f, "cup", 12, ahead(12, -2, 2.1, 0.75)), missed, 1)
	second2 := ahead(12, -2, 2.1, 0.75)
	second2.Sensor = "other"
	near("two looked, told backwards", believe(t, f, "cup", 12, ahead(12, -2, 2.1, 0.8), second2), looked(missed, 0, false), 2)
	near("one looked twice in a second", believe(t, f, "cup", 12, ahead(11.1, -2, 2.1, 0.75), ahead(12, -2, 2.1, 0.75)),
		looked(0.95, 9.1, false)*math.Exp2(-0.9/3600), 1)
	near("one looked twice in two seconds", believe(t, f, "cup", 12, ahead(12, -2, 2.1, 0.75), ahead(10, -2, 2.1, 0.75)),
		looked(looked(0.95, 8, false)*math.Exp2(-2.0/3600), 2, false), 2)
	blind := ahead(12, -2, 2.1, 0.75)
	blind.LookedFor = LookedFor{}
	near("nothing was looked for", believe(t, f, "cup", 12, blind), p, 0)
	blind.LookedFor = LookedFor{Items: []string{"table"}, Classes: []string{"table"}, Kinds: []string{"furniture"}}
	near("others were looked for", believe(t, f, "cup", 12, blind), p, 0)
	blind.LookedFor.Items = []string{"cup"}
	near("it was looked for by name", believe(t, f, "cup", 12, blind), missed, 1)
	near("the table, while the cup on it was seen", believe(t, f, "table", 12, ahead(12, -2, 2, 0, "cup")), 0.999, 0)
	near("the table, before the cup was on it", believe(t, f, "table", 2, ahead(1.5, -2, 2, 0, "cup")), looked(0.95, 0, false)*math.Exp2(-0.5/(30*24*3600)), 1)
	near("looked away", believe(t, f, "cup", 12, ahead(12, 2, 2.1, 0.75)), p, 0)
	near("looked from too far", believe(t, f, "cup", 12, ahead(12, -6, 2.1, 0.75)), p, 0)
	near("looked past it", believe(t, f, "cup", 12, ahead(12, -2, -2, 0.75)), p, 0)
	near("looked before", believe(t, f, "cup", 12, ahead(1, -2, 2.1, 0.75)), p, 0)
	near("looks later", believe(t, f, "cup", 12, ahead(13, -2, 2.1, 0.75)), p, 0)
	seen := believe(t, f, "cup", 12, ahead(12, -2, 2.1, 0.75), ahead(12.5, -2, 2.1, 0.75, "cup"))
	near("not yet seen", seen, missed, 1)
	seen = believe(t, f, "cup", 13, ahead(12, -2, 2.1, 0.75), ahead(13, -2, 2.1, 0.75, "cup"))
	if seen.Looked != 0 || seen.Seen != 13*second || seen.P < 0.9 {
		t.Errorf("seen again: %+v", seen)
	}
	if _, err := f.Belief("moon", 0, nil); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	near("a place without a pose, looked at", believe(t, f, "flat", 1+3650*24*3600, ahead(12, 0, 0, 0)), 0.5, 0)
	f = forest(t, Statement{"dream", Said{Provider: "a", Time: 1, Confidence: 1}, &Item{Description: &Description{}}})
	if _, err := f.Belief("dream", 0, nil); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("the place of what has none: %v", err)
	}
}

// A localiser states what it sees after each image, the parent too: what bears it is there, though a detector
// that looks for it misses it each time.
func TestRestatingLocaliser(t *testing.T) {
	on := func(parent string, source Source) Item {
		it := thing(parent, 0, 0, 0.1, KindObject)
		it.Source = source
		return it
	}
	for _, c := range []struct {
		what   string
		source Source
		on     string // what bears the cup
		stays  bool
	}{
		{"the table", Perception, "table", true},
		{"a tray on the table", Perception, "tray", true},
		{"nobody perceives it", PriorKnowledge, "table", false},
		{"another thing", Perception, "cupboard", false},
	} {
		said := append(kitchen(), at("tray", "plan", 1.5, on("table", PriorKnowledge)))
		var looks []Look
		for sec := 2.0; sec <= 10; sec++ {
			l := ahead(sec, -2, 2, 0, "cup")
			l.Sensor, l.Provider = "eye", "eye"
			looks = append(looks, l)
			said = append(said, at("cup", "eye", sec+0.1, on(c.on, c.source)))
			f := forest(t, said...)
			slices.Reverse(said)
			b := believe(t, f, "table", sec+0.1, looks...)
			if again := believe(t, forest(t, said...), "table", sec+0.1, looks...); again != b {
				t.Errorf("%s: told backwards %+v, else %+v", c.what, again, b)
			}
			if sec > 4 && (b.P >= PresentBelief) != c.stays {
				t.Errorf("%s, after %g s: %+v", c.what, sec, b)
			}
			if c.stays && (b.Looked != 0 || b.By != "eye") {
				t.Errorf("%s, after %g s: it is there by what is said of the cup: %+v", c.what, sec, b)
			}
		}
	}
	vague := at("cup", "eye", 5, on("table", Perception))
	vague.Confidence = 0.3
	f := forest(t, append(kitchen()[:6], vague)...)
	if b := believe(t, f, "table", 6); b.P < 0.99 || b.Seen != 5*second {
		t.Errorf("who is not sure of the cup makes nobody less sure of the table: %+v", b)
	}
	tray := at("tray", "plan", 7, on("table", PriorKnowledge))
	old := at("cup", "eye", 5, on("tray", Perception))
	if b := believe(t, forest(t, append(kitchen()[:5], tray, old)...), "table", 8); b.Seen != 1*second {
		t.Errorf("the cup was on the tray before that came onto the table: %+v", b)
	}
}

// Behind a cupboard nobody has looked, nor in it; a room hides nothing.
func TestHiddenIsNotLookedAt(t *testing.T) {
	inside := thing("cupboard", 0, 0, 1, KindObject)
	behind := thing("kitchen", 3, 0, 1, KindObject)
	room := place("flat", "room", "", "kitchen")
	room.Description.Box = &Box{pose.Identity(), pose.Vec3{X: 20, Y: 20, Z: 20}}
	f := forest(t, append(kitchen(), at("plate", "eye", 2, inside), at("pan", "eye", 2, behind), at("kitchen", "plan", 2, room))...)
	for _, name := range []string{"plate", "pan"} {
		if b := believe(t, f, name, 3, ahead(3, -1, 0, 1)); b.Looked != 0 {
			t.Errorf("the %s was looked at through the cupboard: %+v", name, b)
		}
		if b := believe(t, f, name, 3, ahead(3, 1.8, 0, 1)); b.Looked != 1 {
			t.Errorf("the %s was not looked at from inside the cupboard: %+v", name, b)
		}
	}
	if b := believe(t, f, "cupboard", 3, ahead(3, -1, 0, 0)); b.Looked != 1 {
		t.Errorf("the cupboard hides itself: %+v", b)
	}
	outside := ahead(3, -1, 0, 1)
	outside.Frame = "moon"
	if b := believe(t, f, "pan", 3, outside); b.Looked != 0 {
		t.Errorf("from the moon: %+v", b)
	}
	bad := outside
	bad.View.MaxRange = 0
	if outside.Check() != nil || engram.CodeOf(bad.Check()) != engram.Invalid {
		t.Errorf("%v, %v", outside.Check(), bad.Check())
	}
}

func TestHalfLives(t *testing.T) {
	rules := DefaultRules()
	rules.HalfLives["KIT/mug"] = time.Second
	for _, c := range []struct {
		class string
		kinds []string
		want  time.Duration
	}{
		{"", nil, day}, {"", []string{KindObject, "furniture"}, 30 * day}, {"", []string{KindMap, KindObject}, 3650 * day},
		{"KIT/mug", []string{"furniture"}, time.Second}, {"unknown", []string{"person"}, time.Minute},
	} {
		it := Item{Description: &Description{Kinds: c.kinds}}
		if c.class != "" {
			class, _ := engram.NewID("Object", "Class", "PriorKnowledge", c.class)
			it.Description.Class = &class
		}
		if got := rules.HalfLife(&it); got != c.want {
			t.Errorf("%s %q: %v, want %v", c.class, c.kinds, got, c.want)
		}
	}
}

func TestProvisional(t *testing.T) {
	once := Item{Structure: &Structure{Parent: "table"}, Views: 1}
	twice := Item{Structure: &Structure{Parent: "table"}, Views: 2}
	vague := Item{Placement: &Placement{Frame: "table", Pose: pose.Identity(), Cov: pose.DiagonalCov(1, 1)}}
	lost := Item{Placement: &Placement{Frame: "moon", Pose: pose.Identity()}}
	waits := Item{Structure: &Structure{Parent: "tray"}, Placement: &Placement{Pose: pose.Identity()}}
	f := forest(t, append(kitchen(), at("once", "eye", 2, once), at("twice", "eye", 2, twice),
		at("vague", "eye", 2, vague), at("lost", "eye", 2, lost), at("waits", "eye", 2, waits), at("both", "eye", 2, once), at("both", "nose", 2, once))...)
	// What a robot calls by the name of an item is that item, also if nothing else is said to be in it.
	for _, m := range []struct{ name, frame string }{{"known", "table"}, {"unknown", "moon"}} {
		s := at(m.name, "eye", 2, Item{Placement: &Placement{Frame: m.frame, Pose: pose.Identity()}})
		s.Robot = "solo"
		alone := forest(t, append(kitchen(), s)...)
		if why, got, err := alone.Provisional(m.name); got != (m.name == "unknown") || err != nil {
			t.Errorf("%s of a robot: %v (%s), %v", m.name, got, why, err)
		}
	}
	for name, want := range map[string]bool{"once": true, "twice": false, "vague": true, "lost": true, "waits": true, "both": false, "cup": false} {
		if why, got, err := f.Provisional(name); got != want || err != nil || want != (why != "") {
			t.Errorf("%s: %v (%s), %v", name, got, why, err)
		}
	}
}

func TestStates(t *testing.T) {
	b := build(t, kitchen()...)
	put := func(provider string, sec float64, s State) {
		said := Said{Provider: provider, Time: engram.Time(sec * 1e9), Confidence: 0.8}
		if err := b.PutState(StateStatement{"", said, &s}); err != nil {
			t.Fatal(err)
		}
	}
	put("eye", 1, State{Item: "cupboard", Name: "open", Value: true, HalfLife: 10 * time.Second})
	put("nose", 2, State{Item: "cupboard", Name: "open", Value: false, HalfLife: 10 * time.Second})
	put("nose", 1, State{Item: "cupboard", Name: "open", Value: nil}) // older
	put("eye", 1, State{Item: "cupboard", Name: "clean", Value: 0.5})
	states, err := b.Forest().States("cupboard")
	if err != nil || len(states) != 2 || states[0].State.Name != "clean" || states[1].State.Value != false {
		t.Fatalf("%v, %v", states, err)
	}
	if c := states[1].ConfidenceAt(12 * second); math.Abs(c-0.4) > 1e-12 {
		t.Errorf("after a half-life it is sure to %g", c)
	}
	if c := states[0].ConfidenceAt(12 * second); c != 0.8 {
		t.Errorf("what does not fade is sure to %g", c)
	}
	put("nose", 3, State{Item: "cupboard", Name: "open"})
	put("anna", 0, State{Item: "cupboard", Name: "clean", Value: 1.0, Source: Operator})
	states, _ = b.Forest().States("cupboard")
	if len(states) != 2 || states[0].Provider != "anna" || states[1].State.Value != true {
		t.Errorf("%v", states)
	}
}

// What stands on a box is seen from above and along its top.
func TestStandingOnABoxIsNotHidden(t *testing.T) {
	table := thing("kitchen", 2, 0, 0, KindObject)
	table.Description.Box = &Box{pose.Translation(0, 0, 0.37), pose.Vec3{X: 1.6, Y: 1, Z: 0.74}}
	f := forest(t, append(kitchen()[:2], at("table", "plan", 1, table), at("cup", "eye", 2, thing("table", 0.1, 0.1, 0.74, KindObject)))...)
	for _, height := range []float64{0.74, 0.9, 1.3} {
		if b := believe(t, f, "cup", 12, ahead(12, 0, 0.1, height)); b.Looked != 1 {
			t.Errorf("looked at from a height of %g m: %+v", height, b)
		}
	}
}

// What a sensor cannot reach so is told in words, of looks and of components.
func TestViewsInWords(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		view      View
		want      string
		component bool // it is right for a component
	}{
		{View{1, 1, 0, 5}, "", true},
		{View{2 * math.Pi, 0, 0, 5}, "its field of view is 0 rad high", true}, // a flat scanner
		{View{0, 1, 0, 5}, "its field of view is 0 rad wide", false},
		{View{-1, 1, 0, 5}, "its field of view is -1 rad wide", false},
		{View{nan, 1, 0, 5}, "its field of view is NaN rad wide", false},
		{View{math.Inf(1), 1, 0, 5}, "its field of view is +Inf rad wide", false},
		{View{1, -0.5, 0, 5}, "its field of view is -0.5 rad high", false},
		{View{1, nan, 0, 5}, "its field of view is NaN rad high", false},
		{View{1, 1, -1, 5}, "its field of view begins at -1 m", false},
		{View{1, 1, nan, 5}, "its field of view begins at NaN m", false},
		{View{1, 1, 3, 2}, "its field of view goes from 3 m to 2 m", false},
		{View{1, 1, 0, nan}, "its field of view goes from 0 m to NaN m", false},
	} {
		says := func(what string, err error, want string) {
			t.Helper()
			if want == "" && err != nil || want != "" && (engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "eye: "+want) || strings.Contains(err.Error(), "{")) {
				t.Errorf("%s with %+v: %v, not %q", what, c.view, err, want)
			}
		}
		l := ahead(1, 0, 0, 0)
		l.Sensor, l.View = "eye", c.view
		says("a look", l.Check(), c.want)
		want := c.want
		if c.component {
			want = ""
		}
		says("a component", (&Component{Kind: "camera", View: &c.view}).Check("eye"), want)
	}
	l := ahead(1, 0, 0, 0)
	l.Pose.R = pose.Quat{}
	if err := l.Check(); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), "quaternion") {
		t.Error(err)
	}
	if err := (&Component{Kind: "camera", View: &View{1, 1, 0, math.Inf(1)}}).Check("eye"); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}
