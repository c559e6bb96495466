package world

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

func TestAccount(t *testing.T) {
	said := append(kitchen(), at("mug", "eye", 2, thing("shelf", 0, 0, 0)), at("fork", "op", 2, Item{Structure: &Structure{Parent: "table"}, Source: Operator}),
		at("plate", "plan", 2, thing("cupboard", 0, 0, 1)), at("lamp", "plan", 2, thing("cupboard", 0, 0, 2)),
		at("key", "op", 2, Item{Structure: &Structure{Parent: "rover"}, Source: Operator}), at("dream", "op", 2, Item{Description: &Description{}}), at("blob", "eye", 2, Item{Structure: &Structure{Parent: "Bar"}, Views: 1}))
	f := forest(t, said...)
	missed, missedToo, missedAgain := ahead(10, -2, 2.1, 0.75), ahead(10, -2, 2.1, 0.75), ahead(10, -2, 2.1, 0.75)
	missedToo.Sensor, missedAgain.Sensor = "left eye", "right eye"
	for _, c := range []struct {
		item    string
		sec     float64
		looks   []Look
		want    string
		present bool
	}{
		{"cup", 182, nil, "on the table, said 3 min ago by eye, not looked for since; 0.97", true},
		{"cup", 182, []Look{ahead(3, -2, 2.1, 0.75, "cup"), missed}, "on the table, seen 3 min ago, looked since: once, not seen; 0.96", true},
		{"cup", 182, []Look{missed, missedToo}, "on the table, said 3 min ago by eye, looked since: twice, not seen; 0.61", true},
		{"cup", 182, []Look{missed, missedToo, missedAgain}, "on the table, said 3 min ago by eye, looked since: 3 times, not seen; 0.33", false},
		{"cup", 7202, []Look{missed}, "on the table, said 2 h ago by eye, looked since: once, not seen; 0.21", false},
		{"kitchen", 2, nil, "in the flat, said 1 s ago by plan, not looked for since; 1.00", true},
		{"flat", 1, nil, "by itself, said just now by plan, not looked for since; 1.00", true},
		{"fork", 2, nil, "on the table, said just now by op, not looked for since; 1.00", true},
		{"key", 2, nil, "held by the rover, said just now by op, not looked for since; 1.00", true},
		{"camera", 2, nil, "on the rover, said just now by rover, not looked for since; 1.00", true},
		{"plate", 2, nil, "in the cupboard, said just now by plan, not looked for since; 1.00", true},
		{"lamp", 2, nil, "on the cupboard, said just now by plan, not looked for since; 1.00", true},
		{"mug", 2, nil, "waiting for the shelf, which nobody has stated, said just now by eye, not looked for since; 1.00", true},
		{"dream", 2, nil, "by itself; nobody says where", false},
		{"blob", 2, nil, "waiting for Bar, which nobody has stated, seen just now, not looked for since; 1.00", false},
	} {
		a, err := f.Account(c.item, engram.Time(c.sec*1e9), c.looks)
		if err != nil || a.String() != c.want || a.Present() != c.present {
			t.Errorf("%s: %q, present %v, %v; want %q", c.item, a.String(), a.Present(), err, c.want)
		}
	}
	if _, err := f.Account("moon", 0, nil); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
}

// A parent that is not there was never stated, is stated no more, or was removed.
func TestAbsentParents(t *testing.T) {
	gone := Item{Removed: &Removal{Reason: "sold"}, Source: Operator}
	f := forest(t,
		at("shelf", "plan", 1, thing("", 0, 0, 0)), at("shelf", "op", 2, gone),
		at("crate", "plan", 1, thing("", 0, 0, 0)), at("crate", "op", 2, Item{Removed: &Removal{}, Source: Operator}),
		at("box", "plan", 3, Item{}),
		at("a", "eye", 2, thing("shelf", 0, 0, 0)), at("b", "eye", 2, thing("crate", 0, 0, 0)), at("c", "eye", 2, thing("box", 0, 0, 0)), at("d", "eye", 2, thing("moon", 0, 0, 0)))
	for item, want := range map[string][3]string{
		"a": {"op removed (sold)", "shelf", "op removed it (sold)"}, "b": {"op removed", "crate", "op removed it"},
		"c": {"nobody states any more", "box", "nobody states it any more"}, "d": {"nobody has stated", "moon", "nobody has stated it"},
	} {
		a, err := f.Account(item, 2e9, nil)
		if err != nil || a.Absent != want[0] || a.Parent != want[1] || Absence(f, a.Parent) != want[2] || !strings.HasPrefix(a.String(), "waiting for the "+want[1]+", which "+want[0]+", said just now by eye") {
			t.Errorf("%s: %q, %q, %q, %v", item, a.Absent, Absence(f, a.Parent), a.String(), err)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "just now", time.Second: "1 s ago", 59*time.Second + 600*time.Millisecond: "1 min ago", 89 * time.Minute: "1 h ago",
		59*time.Minute + 40*time.Second: "1 h ago", 47 * time.Hour: "47 h ago", 50 * time.Hour: "2 days ago",
		-200 * time.Millisecond: "just now", -50 * time.Second: "in 50 s", -50 * time.Hour: "in 2 days", math.MinInt64: "in 106752 days",
	} {
		if got := Ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestIn(t *testing.T) {
	wall := thing("kitchen", 3, 0, 0, KindMap)
	behind := thing("cellar", 0, 0, 0, KindObject)
	cellar := thing("kitchen", 0, 0, 0, KindMap) // a place in the kitchen
	room := place("flat", "room", "7")
	room.Description.Box = &Box{pose.Translation(0, 0, 1), pose.Vec3{X: 8, Y: 8, Z: 3}}
	ball := thing("flat", 1, 1, 1, KindObject)
	far := thing("flat", 9, 1, 1, KindObject)
	f := forest(t, append(kitchen(), at("wall", "plan", 1, wall), at("cellar", "plan", 1, cellar), at("wine", "plan", 1, behind),
		at("hall", "plan", 1, room), at("ball", "plan", 1, ball), at("far", "plan", 1, far))...)
	in := func(place string) (found []string) {
		all, err := f.In(place)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			found = append(found, m.Name)
		}
		return found
	}
	equal(t, "by its box, without what belongs to the kitchen", in("hall"), "ball")
	equal(t, "by structure", in("table"), "cup")
	if _, err := f.In("moon"); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
}

func TestDiff(t *testing.T) {
	b := build(t, kitchen()...)
	before := b.Forest()
	if d := Diff(before, before, pose.Threshold{}); len(d) != 0 {
		t.Errorf("a forest differs from itself: %+v", d)
	}
	put := func(s Statement) {
		t.Helper()
		if err := b.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	table := thing("kitchen", 0, 2.5, 0, KindObject, "furniture")
	table.Description.Label = "desk"
	put(at("table", "plan", 3, table))
	put(at("cup", "eye", 3, thing("cupboard", 0, 0, 1, KindObject)))
	put(at("camera", "rover", 3, Item{Removed: &Removal{Reason: "broken"}}))
	put(at("fork", "eye", 3, thing("table", 0, 0, 0)))
	put(at("door", "plan", 3, thing("cupboard", 0.3, 0.5, 1.001, KindObject)))
	if err := b.PutState(StateStatement{"", Said{Provider: "eye", Time: 3, Confidence: 1}, &State{Item: "cupboard", Name: "open", Value: true}}); err != nil {
		t.Fatal(err)
	}
	after := b.Forest()
	type summary struct {
		name                            string
		came, went                      bool
		moved                           bool
		reparented, relabelled, another bool
		states                          int
	}
	var got []summary
	for _, d := range Diff(before, after, pose.Threshold{Trans: 0.01, Rot: 0.01}) {
		got = append(got, summary{d.Name, d.Before == nil, d.After == nil, d.Moved, d.Reparented, d.Relabelled, d.Redescribed, len(d.States)})
		if d.Name == "table" && d.Trans != 0.5 {
			t.Errorf("the table moved %g m", d.Trans)
		}
	}
	want := []summary{
		{name: "camera", went: true}, {name: "cup", moved: true, reparented: true, another: true}, {name: "cupboard", states: 1},
		{name: "fork", came: true}, {name: "table", moved: true, relabelled: true},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if d := Diff(before, after, pose.Threshold{}, "door"); len(d) != 1 || !d[0].Moved {
		t.Errorf("the door: %+v", d)
	}
	if s, ok := after.Removed("camera"); !ok || s.Item.Removed.Reason != "broken" {
		t.Errorf("the camera was removed: %+v", s)
	}
	if s, ok := after.Removed("cup"); ok {
		t.Errorf("the cup was removed: %+v", s)
	}
}
