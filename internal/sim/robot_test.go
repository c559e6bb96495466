package sim

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
)

// commits returns what a robot reports in its first ticks.
func commits(r *Robot, ticks int) (all []engram.Commit) {
	for range ticks {
		all = append(all, r.Step()...)
	}
	return all
}

func TestDeterminism(t *testing.T) {
	const ticks = 560 // both speech and skills have happened
	first, second := commits(small(t, 7), ticks), commits(small(t, 7), ticks)
	if !reflect.DeepEqual(first, second) {
		t.Error("two robots of one seed report different things")
	}
	other := commits(small(t, 8), ticks)
	if reflect.DeepEqual(first, other) {
		t.Error("two robots of different seeds report the same")
	}
	// Any tick can be computed by itself.
	r := small(t, 7)
	for _, tick := range []int{503, 17, 200} {
		if !reflect.DeepEqual(r.State(tick), small(t, 7).State(tick)) || !reflect.DeepEqual(r.Images(tick-tick%5), small(t, 7).Images(tick-tick%5)) {
			t.Errorf("tick %d depends on what was asked before", tick)
		}
	}
}

// TestRates counts what is reported in one cycle of 14 s.
func TestRates(t *testing.T) {
	count := map[string]int{}
	statuses := map[string]int{}
	for _, c := range commits(small(t, 1), int(cycle)*100) {
		for _, u := range c.Updates {
			segment := u.Entity.Memory() + "/" + u.Entity.CoreSegment()
			count[segment]++
			if segment == "Vision/ImageRGB" && len(u.Instances) != 2 {
				t.Fatalf("an image has %d instances", len(u.Instances))
			}
			if segment == "Skill/Execution" {
				statuses[decode(t, u.Instances[0].Payload)["status"].(interface{ String() string }).String()]++
			}
		}
	}
	want := map[string]int{
		"RobotState/Proprioception": 1400, "RobotState/Localization": 700 + 3, "RobotState/Description": 1,
		"Vision/ImageRGB": 280, "Speech/Command": 2, "Speech/Text": 4, "Object/Attachments": 2,
		"Object/Class": len(objects), "Skill/Description": len(abilities()), "Navigation/Location": 2,
		"Skill/Execution": 9*3 + 26, "Skill/Transition": 9 * 3,
		"World/Item": 5 + len(objects) + 1 + 1, "World/Articulation": 2 + 16 + 16, "World/Observation": 28,
	}
	for segment, n := range want {
		if count[segment] != n {
			t.Errorf("%s: %d updates, want %d", segment, count[segment], n)
		}
		delete(count, segment)
	}
	if n := count["Object/Instance"]; n < 140*2 || n > 140*len(objects) {
		t.Errorf("%d object poses; want 10 a second of each of the two to %d that are in sight", n, len(objects))
	}
	delete(count, "Object/Instance")
	if len(count) > 0 {
		t.Errorf("unexpected: %v", count)
	}
	if statuses["Preparing"] != 9 || statuses["Succeeded"] != 8 || statuses["Failed"] != 1 {
		t.Errorf("statuses: %v", statuses)
	}
}

func TestProprioception(t *testing.T) {
	r := small(t, 3)
	for _, tick := range []int{0, 310, 333, 420, 1399} {
		u := r.State(tick).Updates[0]
		m := decode(t, u.Instances[0].Payload)
		if m["timestamp"] != u.Time || u.Time != r.Time(tick) || m["frame_id"] != "base_link" {
			t.Errorf("tick %d: timestamp %v, frame %v", tick, m["timestamp"], m["frame_id"])
		}
		names, _ := m["name"].([]any)
		position, velocity, effort := doubles(m["position"]), doubles(m["velocity"]), doubles(m["effort"])
		if len(names) != NumJoints || len(position) != NumJoints || len(velocity) != NumJoints || len(effort) != NumJoints {
			t.Fatalf("tick %d: %d names, %d positions, %d velocities, %d efforts", tick, len(names), len(position), len(velocity), len(effort))
		}
		truth := r.positions(seconds(tick))
		before, after := r.positions(seconds(tick)-0.005), r.positions(seconds(tick)+0.005)
		for i := range body {
			if names[i] != body[i].name {
				t.Fatalf("joint %d is called %v, want %s", i, names[i], body[i].name)
			}
			if math.Abs(position[i]-truth[i]) > 4e-4 || math.Abs(velocity[i]-(after[i]-before[i])*100) > 0.02 {
				t.Errorf("tick %d: %s is at %v, %v; want %v, %v", tick, names[i], position[i], velocity[i], truth[i], (after[i]-before[i])*100)
			}
		}
	}
}

func doubles(v any) (list []float64) {
	for _, f := range v.([]any) {
		list = append(list, f.(float64))
	}
	return list
}

func TestLocalization(t *testing.T) {
	r := small(t, 3)
	m := decode(t, r.State(180).Updates[1].Instances[0].Payload)
	truth := baseAt(r.phase(1.8)).T
	at := m["translation"].(map[string]any)
	if x := at["x"].(float64); math.Abs(x-truth.X) > 4*localizationSigma || truth.X < 0.1 {
		t.Errorf("the base is at %v, want about %v", at, truth)
	}
	if v := m["linear_velocity"].(map[string]any)["x"].(float64); v < 0.3 {
		t.Errorf("the base drives with %v m/s", v)
	}
	if m["parent_frame_id"] != "odom" || m["child_frame_id"] != "base_link" || len(doubles(m["pose_covariance"])) != 36 {
		t.Errorf("%v", m)
	}
	if len(r.State(181).Updates) != 1 {
		t.Error("an odd tick has a localization")
	}
}

// TestLocaliser checks that reported poses are near the truth, the nearer the surer.
func TestLocaliser(t *testing.T) {
	r := small(t, 3)
	for tick := objectDelay; tick < 1400; tick += objectTicks {
		s := stateAt(seconds(tick - objectDelay))
		for _, u := range r.Objects(tick).Updates {
			if u.Entity.CoreSegment() != "Instance" {
				continue
			}
			i := slices.IndexFunc(objects[:], func(o object) bool { return o.name == u.Entity.Entity() })
			c := u.Instances[0].Confidence
			if u.Time != r.Time(tick-objectDelay) || c < 0.5 || c > 1 {
				t.Fatalf("%v at %v with confidence %v", u.Entity, u.Time, c)
			}
			p := decode(t, u.Instances[0].Payload)["pose"].(map[string]any)["position"].(map[string]any)
			d := xyz(p["x"].(float64), p["y"].(float64), p["z"].(float64)).Sub(s.objects[i].T).Norm()
			if d > 0.04 {
				t.Errorf("tick %d: the %s is %v m from where it is reported", tick, objects[i].name, d)
			}
		}
	}
	if len(r.Objects(objectDelay-1).Updates) > 0 || len(r.Objects(objectDelay+1).Updates) > 0 {
		t.Error("objects are reported between the localiser's results")
	}
}

// TestLinks plays two cycles into a memory server: all is stored, and everything
// that a link points at is there.
func TestLinks(t *testing.T) {
	ctx := context.Background()
	srv, err := server.New(server.Config{Memories: memories.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	report, err := small(t, 1).RunTicks(ctx, srv, 0, 2*int(cycle)*100)
	if err != nil || report.Refused > 0 || report.Ticks != 2800 || report.Frames != 560 {
		t.Fatalf("%+v, %v", report, err)
	}
	res, err := srv.Query(ctx, engram.Pattern{}.Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	stored := map[engram.ID]*engram.Snapshot{}
	for item := range res.All() {
		stored[item.ID] = item.Snapshot
		stored[item.ID.Truncate(engram.LevelEntity)] = item.Snapshot
	}
	var updates int
	linked := map[string]int{}
	for id, s := range stored {
		if id.Level() != engram.LevelSnapshot {
			continue
		}
		updates++
		for i := range s.Instances {
			p := s.Instances[i].Payload
			links, err := typeOf(t, p.Type).Links(p.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range links {
				linked[id.CoreSegment()+"."+strings.TrimRight(l.Path, "[]0123456789")]++
				target := stored[l.ID.Truncate(engram.LevelSnapshot)]
				index, isInstance := l.ID.Index()
				if target == nil || isInstance && index >= len(target.Instances) {
					t.Fatalf("%v: %s links to %v, which is not there", id, l.Path, l.ID)
				}
			}
		}
	}
	if updates != report.Updates {
		t.Errorf("%d snapshots are stored, %d updates were answered", updates, report.Updates)
	}
	for _, path := range []string{
		"Instance.source_image", "Instance.object_class", "Instance.robot_localization", "Instance.attachment",
		"Command.source_text", "Command.refers_to", "Execution.cause", "Execution.parent", "Execution.skill", "Execution.failure.blocked_by", "Text.cause",
		"Transition.execution", "Attachments.object", "Attachments.agent", "Description.subskills",
	} {
		if linked[path] == 0 {
			t.Errorf("no %s links to anything; there are %v", path, linked)
		}
	}
}

// TestStory follows two rounds; in the first one a grasp fails.
func TestStory(t *testing.T) {
	r := small(t, 1)
	var told []string
	for _, c := range commits(r, 2*int(cycle)*100)[1:] {
		for _, u := range c.Updates {
			if u.Entity.CoreSegment() == "Transition" {
				m := decode(t, u.Instances[0].Payload)
				if s := m["to_status"].(interface{ String() string }).String(); s != "Preparing" {
					told = append(told, u.Entity.Entity()+" "+s)
				}
			}
		}
	}
	var want []string
	for _, tries := range [][]string{{"Failed", "Succeeded"}, {"Succeeded"}} {
		want = append(want, "BringObject Running", "LookFor Running", "LookFor Succeeded", "GoTo Running", "GoTo Succeeded")
		for _, end := range tries {
			want = append(want, "Grasp Running", "Grasp "+end)
		}
		want = append(want, "HandOver Running", "HandOver Succeeded", "BringObject Succeeded",
			"PlaceObject Running", "PutDown Running", "PutDown Succeeded", "GoTo Running", "GoTo Succeeded", "PlaceObject Succeeded")
	}
	if !slices.Equal(told, want) {
		t.Errorf("the story is\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		config Config
		code   engram.Code
	}{
		{Config{Width: 5}, engram.OutOfRange},
		{Config{Height: 1 << 20}, engram.OutOfRange},
		{Config{Robot: "a\x00b"}, engram.Invalid},
		{Config{Provider: strings.Repeat("a", 513)}, engram.Invalid},
	} {
		if _, err := New(c.config); engram.CodeOf(err) != c.code {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}

func BenchmarkState(b *testing.B) {
	r := small(b, 1)
	tick := 0
	for b.Loop() {
		r.State(tick)
		tick++
	}
}

func BenchmarkEvents(b *testing.B) {
	r := small(b, 1)
	tick := 0
	for b.Loop() {
		r.Events(tick)
		tick++
	}
}

func BenchmarkObjects(b *testing.B) {
	r := small(b, 1)
	for b.Loop() {
		r.Objects(objectDelay)
	}
}
