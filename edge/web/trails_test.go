package web_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
)

func (l looker) trails(pairs ...string) *sceneAnswer {
	l.Helper()
	s := new(sceneAnswer)
	l.read(s, "/view/trails", pairs...)
	return s
}

// A base that drove and a hand that is named have trails; where the pose store has forgotten, the memory knows.
func TestTrails(t *testing.T) {
	for name, keep := range map[string]int{"from the poses": 1000, "from the memory": 2} {
		t.Run(name, func(t *testing.T) {
			svc := serving.New(t, memories.All(memories.WithPoseRetention(pose.Retention{MaxCount: keep}))...)
			l := look(t, svc, web.Options{})
			begin := engram.Now().Add(-time.Minute)
			describe(t, svc, begin)
			for i := range 200 {
				lift(t, svc, begin.Add(time.Duration(i)*100*time.Millisecond), float64(min(i, 150))/10, float64(i)/100)
			}
			at := begin.Add(10 * time.Second)
			s := l.trails("t", fmt.Sprint(int64(at)), "fixed", "map", "seconds", "5", "of", "hand")
			if s.size() != 2 {
				t.Fatalf("there are %d trails: %+v", s.size(), s.Parts)
			}
			for _, frame := range []string{"arm/base", "arm/hand"} {
				trail := s.thing("trail " + frame)
				if trail == nil || trail.Frame != "arm/map" || len(trail.Entities) != 1 {
					t.Fatalf("the trail of %s is %+v", frame, trail)
				}
				lines := trail.Entities[0].Lines
				first, last := lines[0].Points[0], lines[len(lines)-1].Points[len(lines[len(lines)-1].Points)-1]
				if math.Abs(first.X-5) > 0.11 || math.Abs(last.X-10) > 0.11 {
					t.Errorf("%s went from %+v to %+v", frame, first, last)
				}
				for i, line := range lines {
					if i > 0 && line.Points[0] != lines[i-1].Points[len(lines[i-1].Points)-1] {
						t.Errorf("the trail of %s has a gap", frame)
					}
				}
			}
			if again := l.trails("t", fmt.Sprint(int64(at)), "fixed", "map", "seconds", "5", "of", "hand", "since", s.Tag); again.size() != 0 {
				t.Errorf("what is as it was is told again: %+v", again.Parts)
			}
			// Nothing moved in the last seconds but the hand, which is not asked for.
			if s := l.trails("t", fmt.Sprint(int64(begin.Add(19500*time.Millisecond))), "fixed", "map", "seconds", "3"); s.size() != 0 {
				t.Errorf("what rests has trails: %+v", s.Parts)
			}
		})
	}
	l := look(t, robot(t), web.Options{})
	if status, b, _ := l.get("/view/trails", "seconds", "0"); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, b)
	}
}
