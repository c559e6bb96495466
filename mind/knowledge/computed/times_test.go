package computed_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Exactly one of Allen's relations holds between any two proper intervals: the one that his
// definitions name.
func TestAllen(t *testing.T) {
	definitions := map[computed.Allen]func(a, b engram.Interval) bool{
		computed.Before:   func(a, b engram.Interval) bool { return a.End < b.Start },
		computed.Meets:    func(a, b engram.Interval) bool { return a.End == b.Start },
		computed.Overlaps: func(a, b engram.Interval) bool { return a.Start < b.Start && b.Start < a.End && a.End < b.End },
		computed.Starts:   func(a, b engram.Interval) bool { return a.Start == b.Start && a.End < b.End },
		computed.During:   func(a, b engram.Interval) bool { return b.Start < a.Start && a.End < b.End },
		computed.Finishes: func(a, b engram.Interval) bool { return b.Start < a.Start && a.End == b.End },
		computed.Equals:   func(a, b engram.Interval) bool { return a == b },
	}
	ends := []engram.Time{1, 2, 3, 4, 5, engram.MaxTime}
	seen := map[computed.Allen]int{}
	var all []engram.Interval
	for i, start := range ends {
		for _, end := range ends[i:] {
			all = append(all, engram.Interval{Start: start, End: end})
		}
	}
	for _, a := range all {
		for _, b := range all {
			got := computed.Between(a, b)
			seen[got]++
			if inverse := computed.Between(b, a); inverse != got.Inverse() {
				t.Errorf("%v and %v: %v, and the other way round %v", a, b, got, inverse)
			}
			if a.Start == a.End || b.Start == b.End {
				continue
			}
			var hold []computed.Allen
			for r, is := range definitions {
				if is(a, b) {
					hold = append(hold, r)
				}
				if r != computed.Equals && is(b, a) {
					hold = append(hold, r.Inverse())
				}
			}
			if !slices.Equal(hold, []computed.Allen{got}) {
				t.Errorf("%v and %v: %v, by definition %v", a, b, got, hold)
			}
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d relations: %v", len(seen), seen)
	}
	at := engram.Interval{Start: 3, End: 3}
	for want, b := range map[computed.Allen]engram.Interval{
		computed.Before: {Start: 4, End: 5}, computed.Starts: {Start: 3, End: 4}, computed.During: {Start: 2, End: 4},
		computed.Finishes: {Start: 1, End: 3}, computed.After: {Start: 1, End: 2}, computed.Equals: {Start: 3, End: 3},
	} {
		if got := computed.Between(at, b); got != want {
			t.Errorf("an instant at 3 and %v: %v, not %v", b, got, want)
		}
	}
}

func TestTimeOf(t *testing.T) {
	for text, want := range map[string]engram.Time{
		"<http://x/map#timepoint_1321540911>":                      1321540911e9,
		"<http://x/map#timepoint_1271159865.25>":                   1271159865.25e9,
		"<http://x/map#timepoint_1271159865.123456789>":            1271159865123456789,
		"<timepoint_-1.5>":                                         -1.5e9,
		"1.5":                                                      1.5e9,
		"2022-02-18T13:06:56Z^^dateTime":                           1645189616e9,
		"<http://x/map#timepoint_1e2>":                             100e9,
		"<http://x/map#timepoint_>":                                -1,
		"<http://x/map#timepoint_1/2>":                             -1,
		"<http://x/map#timepoint_1e999999999>":                     -1,
		"<http://x/map#timepoint_NaN>":                             -1,
		"<http://x/map#timepoint_99999999999>":                     -1,
		"<http://x/map#event>":                                     -1,
		"yesterday":                                                -1,
		"<http://x/map#timepoint_1e-400>":                          0,
		"<http://x/map#timepoint_" + strings.Repeat("1", 99) + ">": -1,
	} {
		term := rdf.NewText(text)
		if iri, ok := strings.CutPrefix(text, "<"); ok {
			term = rdf.NewIRI(strings.TrimSuffix(iri, ">"))
		} else if lexical, ok := strings.CutSuffix(text, "^^dateTime"); ok {
			term = rdf.NewTyped(lexical, rdf.NSXSD+"dateTime")
		}
		got, ok := computed.TimeOf(term)
		if ok != (want != -1) || ok && got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
}

// facts reads lines "subject property object" of KnowRob's names.
func facts(lines ...string) *knowledge.View {
	g := knowledge.NewGraph()
	for _, line := range lines {
		f := strings.Fields(line)
		term := func(name string) rdf.Term {
			switch {
			case name == "a":
				return rdf.NewIRI(rdf.NS + "type")
			case name == "sub":
				return rdf.NewIRI(rdf.NSRDFS + "subClassOf")
			case strings.ContainsAny(name[:1], "0123456789-"):
				return rdf.NewTyped(name, rdf.NSXSD+"double")
			}
			return rdf.NewIRI(computed.KnowRob + name)
		}
		g.Add(rdf.Triple{S: term(f[0]), P: term(f[1]), O: term(f[2])})
	}
	return &knowledge.View{Graph: g}
}

// ask returns the answers as "subject object", sorted, and fails if one comes twice.
func ask(t *testing.T, v knowledge.Computed, s, property, o string) (answers []string) {
	t.Helper()
	term := func(name string) rdf.Term {
		switch {
		case name == "":
			return rdf.Term{}
		case strings.Contains(name, "/"):
			return rdf.NewIRI(name)
		}
		return rdf.NewIRI(computed.KnowRob + name)
	}
	seq, ok := v.Compute(term(s), property, term(o))
	if !ok {
		t.Fatalf("%s is not computed", property)
	}
	for d := range seq {
		answers = append(answers, strings.TrimPrefix(d.S.Value, computed.KnowRob)+" "+strings.TrimPrefix(d.O.Value, computed.KnowRob))
	}
	slices.Sort(answers)
	if len(slices.Compact(slices.Clone(answers))) != len(answers) {
		t.Errorf("%s has an answer twice: %v", property, answers)
	}
	return answers
}

func TestEvents(t *testing.T) {
	v := facts(
		"cook startTime timepoint_10", "cook endTime timepoint_20.5",
		"stir startTime timepoint_12", "stir endTime timepoint_15",
		"eat startTime timepoint_20.5", "eat endTime timepoint_30",
		"wash startTime timepoint_40",
		"see startTime timepoint_12", "see a VisualPerception",
		"timepoint_12 a TimePoint", "timepoint_40 a TimePoint",
		"nothing endTime timepoint_3", "backwards startTime timepoint_3", "backwards endTime timepoint_2",
	)
	c := computed.New(v)
	for _, want := range []struct {
		s, property, o string
		answers        string
	}{
		{"stir", computed.NS + "during", "", "stir cook"},
		{"", computed.NS + "contains", "stir", "cook stir"},
		{"cook", computed.NS + "meets", "", "cook eat"},
		{"", computed.NS + "before", "wash", "cook wash,eat wash,see wash,stir wash,timepoint_12 wash"},
		{"wash", computed.NS + "before", "", ""},
		{"see", computed.NS + "starts", "", "see stir"},
		{"timepoint_13", computed.NS + "during", "", "timepoint_13 cook,timepoint_13 stir"},
		{"cook", computed.NS + "duration", "", "cook 10.5"},
		{"wash", computed.NS + "duration", "", ""},
		{"nothing", computed.NS + "before", "", ""},
		{"backwards", computed.NS + "before", "", ""},
		{"stir", computed.KnowRob + "duringI", "", "stir cook"},
		{"", computed.KnowRob + "duringInvI", "", "cook see,cook stir"},
		{"", computed.KnowRob + "startsI", "", "see stir"},
		{"", computed.KnowRob + "startInvI", "", "stir see"},
		{"", computed.KnowRob + "startsInvI", "", "stir see"},
		{"", computed.KnowRob + "meetsI", "", "cook eat,see see,see stir,wash wash"},
		{"", computed.KnowRob + "afterI", "eat", "wash eat"},
		{"", computed.KnowRob + "after", "", "timepoint_12 timepoint_40"},
		{"cook", computed.KnowRob + "temporallySubsumes", "", "cook cook,cook stir,cook timepoint_12"},
		{"cook", computed.KnowRob + "duration", "", "cook 10.5"},
		{"see", computed.KnowRob + "duration", "", ""},
	} {
		if got := strings.Join(ask(t, c, want.s, want.property, want.o), ","); got != want.answers {
			t.Errorf("%s %s %s: %s, not %s", want.s, want.property, want.o, got, want.answers)
		}
	}
	when, ok := computed.Interval(v, rdf.NewIRI(computed.KnowRob+"wash"))
	if !ok || when != (engram.Interval{Start: 40e9, End: engram.MaxTime}) {
		t.Errorf("the washing goes on: %v, %v", when, ok)
	}
}

// matrix is the facts of a perception of a thing at x, at a time.
func matrix(event, thing, at string, x float64) []string {
	lines := []string{event + " objectActedOn " + thing, event + " eventOccursAt m_" + event}
	if at != "" {
		lines = append(lines, event+" startTime timepoint_"+at)
	}
	for i := range 4 {
		for j := range 4 {
			e := 0.0
			if i == j {
				e = 1
			}
			if i == 0 && j == 3 {
				e = x
			}
			lines = append(lines, fmt.Sprintf("m_%s m%d%d %g", event, i, j, e))
		}
	}
	return lines
}

func TestPoseAtTime(t *testing.T) {
	lines := slices.Concat(matrix("e1", "cup", "10", 1), matrix("e2", "cup", "20", 2), matrix("e0", "cup", "", 0), matrix("e3", "plate", "30", 3))
	lines = append(lines, "hit inputsDestroyed cup", "hit startTime timepoint_50", "e9 objectActedOn cup", "e9 startTime timepoint_45")
	v := facts(lines...)
	cup := rdf.NewIRI(computed.KnowRob + "cup")
	for at, x := range map[engram.Time]float64{5e9: 0, 10e9: 1, 19e9: 1, 20e9: 2, 49e9: 2} {
		if p, _, ok := computed.Pose(v, cup, at); !ok || p.T.X != x {
			t.Errorf("at %v: %v, %v", at, p, ok)
		}
	}
	for _, at := range []engram.Time{0, 50e9} {
		if p, _, ok := computed.Pose(v, cup, at); ok {
			t.Errorf("at %v what was destroyed is at %v", at, p)
		}
	}
	if _, _, ok := computed.Pose(v, rdf.NewIRI(computed.KnowRob+"plate"), 29e9); ok {
		t.Error("the plate is there before it was seen")
	}
	if got := computed.New(&knowledge.View{Graph: v.Graph, At: 30e9}).Scene().Len(); got != 2 {
		t.Errorf("%d bodies", got)
	}
	if got := computed.New(v).Scene().Len(); got != 1 {
		t.Errorf("%d bodies at present", got)
	}
}

// Properties are computed, and none else is.
func TestProperties(t *testing.T) {
	v := facts(slices.Concat(matrix("e1", "cup", "10", 1), matrix("e2", "plate", "20", 2), matrix("e4", "rover", "20", 5))...)
	var c knowledge.Computed = computed.New(v)
	seen := map[string]bool{}
	for property := range c.Properties() {
		if seen[property] {
			t.Error(property, "is there twice")
		}
		seen[property] = true
		all := ask(t, c, "", property, "")
		var bound []string
		for _, s := range []string{"cup", "plate", "rover", "e1", "e2", "e4"} {
			one := ask(t, c, s, property, "")
			bound = append(bound, one...)
			for _, answer := range one {
				_, o, _ := strings.Cut(answer, " ")
				if strings.HasSuffix(property, "uration") {
					continue
				}
				if got := ask(t, c, s, property, o); !slices.Equal(got, []string{answer}) {
					t.Errorf("%s of %s: %v", property, answer, got)
				}
				if got := ask(t, c, "", property, o); !slices.Contains(got, answer) {
					t.Errorf("%s to %s: %v", property, answer, got)
				}
			}
		}
		if slices.Sort(bound); !slices.Equal(all, bound) {
			t.Errorf("%s: %v, subject by subject %v", property, all, bound)
		}
	}
	if len(seen) < 45 {
		t.Errorf("%d properties", len(seen))
	}
	if got := ask(t, c, "", computed.NS+"inFrontOf/"+computed.KnowRob+"rover", ""); !slices.Equal(got, []string{"plate cup"}) {
		t.Errorf("in front, seen from the rover: %v", got)
	}
	if got := ask(t, c, "cup", computed.DistanceTo+"/"+computed.KnowRob+"plate", ""); !slices.Equal(got, []string{"cup 1"}) {
		t.Errorf("distance: %v", got)
	}
	for _, property := range []string{rdf.NS + "type", computed.NS + "taller", computed.NS + "on/" + computed.KnowRob + "rover", computed.KnowRob + "m00", ""} {
		if _, ok := c.Compute(rdf.Term{}, property, rdf.Term{}); ok {
			t.Error(property, "is computed")
		}
	}
	if seq, ok := c.Compute(rdf.NewBlank("b"), computed.NS+"near", rdf.NewText("cup")); ok {
		for d := range seq {
			t.Error(d)
		}
	}
}

func BenchmarkFromView(b *testing.B) {
	var lines []string
	for i := range 10_000 {
		thing := fmt.Sprint("thing", i)
		lines = append(lines, matrix(fmt.Sprint("seen", i), thing, "10", float64(i))...)
		lines = append(lines, thing+" widthOfObject 0.1", thing+" depthOfObject 0.1", thing+" heightOfObject 0.1")
	}
	v := facts(lines...)
	for b.Loop() {
		if n := computed.New(v).Scene().Len(); n != 10_000 {
			b.Fatal(n)
		}
	}
}

func TestFormsOfPoses(t *testing.T) {
	turned := pose.Pose{T: pose.Vec3{X: 1, Y: -2, Z: 0.5}, R: pose.RPY(0.3, -2, 1)}
	half := pose.Pose{T: pose.Vec3{X: 1, Y: -2, Z: 0.5}, R: pose.RPY(math.Pi, 0, 0)} // its quaternion has no real part
	for _, p := range []pose.Pose{pose.Identity(), turned, half, {R: pose.RPY(0, math.Pi, 0)}, {R: pose.RPY(0, 0, math.Pi)}} {
		x, y, z := p.R.Rotate(pose.Vec3{X: 1}), p.R.Rotate(pose.Vec3{Y: 1}), p.R.Rotate(pose.Vec3{Z: 1})
		rows := [4][4]float64{{x.X, y.X, z.X, p.T.X}, {x.Y, y.Y, z.Y, p.T.Y}, {x.Z, y.Z, z.Z, p.T.Z}, {0, 0, 0, 1}}
		kb := func(name string) rdf.Term { return rdf.NewIRI(computed.KnowRob + name) }
		g := knowledge.NewGraph()
		name := "rotMat3D"
		for i := range 4 {
			for j := range 4 {
				number := strconv.FormatFloat(rows[i][j], 'g', 9, 64)
				g.Add(rdf.Triple{S: kb("m"), P: kb(fmt.Sprintf("m%d%d", i, j)), O: rdf.NewTyped(number, rdf.NSXSD+"double")})
				name += "_" + number
			}
		}
		g.Add(rdf.Triple{S: kb("q"), P: kb("translation"), O: rdf.NewText(fmt.Sprint(p.T.X, " ", p.T.Y, " ", p.T.Z))})
		g.Add(rdf.Triple{S: kb("q"), P: kb("quaternion"), O: rdf.NewText(fmt.Sprint(p.R.W, " ", p.R.X, " ", p.R.Y, " ", p.R.Z))})
		g.Add(rdf.Triple{S: kb("far"), P: kb("translation"), O: rdf.NewText("1e300 0 0")})
		g.Add(rdf.Triple{S: kb("far"), P: kb("quaternion"), O: rdf.NewText("1 0 0 0")})
		g.Add(rdf.Triple{S: kb("flat"), P: kb("translation"), O: rdf.NewText("1 0 0")})
		g.Add(rdf.Triple{S: kb("flat"), P: kb("quaternion"), O: rdf.NewText("0 0 0 0")})
		for _, place := range []string{"m", "q", name, "far", "flat", "rotMat3D_1_2"} {
			g.Add(rdf.Triple{S: kb("thing at " + place), P: kb("orientation"), O: kb(place)})
			got, when, ok := computed.Pose(&knowledge.View{Graph: g}, kb("thing at "+place), 0)
			if good := place == "m" || place == "q" || place == name; ok != good {
				t.Errorf("%s: %v, %v", place, got, ok)
			} else if good {
				if trans, rot := got.Distance(p); trans > 1e-7 || rot > 1e-6 || when != engram.MinTime {
					t.Errorf("%s: %v, not %v", place, got, p)
				}
			}
		}
	}
}
