package explore

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram/internal/mission/hallway"
)

// What a turn around a place shows is what all headings there show together, and nothing after it.
func TestAround(t *testing.T) {
	g := hallway.Default()
	at := hallway.Point{X: 2.5, Y: 5}
	s := New(g, at, hallway.CameraView, hallway.CameraRange)
	before, ahead := s.Around(at), s.Gain(hallway.Pose{Point: at})
	if before < 10 || ahead <= 0 || ahead > before/2 {
		t.Fatalf("all around %.1f m², ahead %.1f m²", before, ahead)
	}
	for i := range 12 {
		s.Look(hallway.Pose{Point: at, Yaw: float64(i) * math.Pi / 6})
	}
	if after := s.Around(at); after > 0.01*before {
		t.Errorf("after a turn %.2f m² are left", after)
	}
}
