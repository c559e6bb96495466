package web_test

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/web"
)

// A base that drives and a cup that moves have ghosts where they will be; a table that rests has none, nor has anything of
// which nobody told lately.
func TestGhosts(t *testing.T) {
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	now := engram.Now()
	clock := now
	l := look(t, svc, web.Options{Now: func() engram.Time { return clock }})
	begin := now.Add(-10 * time.Second)
	describe(t, svc, begin)
	object := func(name string, at engram.Time, x float64) {
		putValues(t, svc, "Object/Instance/Eyes/"+name, "engram.object.Instance", at, map[string]any{
			"pose": map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}, "frame_id": "arm/map",
		})
	}
	// An edge that was told long ago stands between the floor and the map.
	putValues(t, svc, "RobotState/Localization/arm/map", "engram.robot_state.Localization", begin.Add(-time.Minute), map[string]any{
		"parent_frame_id": "floor", "child_frame_id": "map", "translation": map[string]any{"y": 2.0}, "rotation": map[string]any{"w": 1.0}, "is_static": true,
	})
	for i := range 101 { // 1 m/s
		at := begin.Add(time.Duration(i) * 100 * time.Millisecond)
		lift(t, svc, at, float64(i)/10, 0)
		if i%10 == 0 {
			object("cup", at, float64(i)/20) // 0.5 m/s
			object("table", at, 3)
		}
	}
	ghosts := func(pairs ...string) *sceneAnswer {
		t.Helper()
		var s sceneAnswer
		if err := json.Unmarshal(l.ok("/view/ghosts", pairs...), &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	s := ghosts("fixed", "map", "ahead", "1000")
	base := s.thing("ghost robots")
	if base == nil || len(base.Entities) != 1 || len(base.Entities[0].Lines) != 1 {
		t.Fatalf("the base has no ghost: %+v", s.Parts)
	}
	to := base.Entities[0].Lines[0].Points[1]
	if math.Abs(to.X-11) > 0.2 {
		t.Errorf("in a second the base is at %+v, want 11 m", to)
	}
	if floor := ghosts("fixed", "floor", "ahead", "1000").thing("ghost robots"); floor == nil || math.Abs(floor.Entities[0].Lines[0].Points[1].Y-2) > 0.01 {
		t.Errorf("the ghost of the base on the floor is %+v", floor)
	}
	cup := s.thing("ghost Object/Instance/Eyes/cup")
	if cup == nil || len(cup.Entities) != 1 || math.Abs(cup.Entities[0].Lines[0].Points[1].X-5.5) > 0.1 {
		t.Errorf("the ghost of the cup is %+v, want it at 5.5 m", cup)
	}
	if s.thing("ghost Object/Instance/Eyes/table") != nil {
		t.Error("a table that rests has a ghost")
	}
	if again := ghosts("fixed", "map", "ahead", "1000", "since", s.Tag); again.size() != 0 {
		t.Errorf("what is as it was is told again: %+v", again.Parts)
	}
	clock = now.Add(time.Minute)
	if s := ghosts("fixed", "map"); s.size() != 0 {
		t.Errorf("what nobody told of for a minute has ghosts: %+v", s.Parts)
	}
	if status, b, _ := l.get("/view/ghosts", "ahead", "0"); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, b)
	}
}
