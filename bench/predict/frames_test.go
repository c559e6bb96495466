package main

import (
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict/frames"
)

const side = frames.Side

// moving is a camera that sees a textured square move, so fast and from there.
func moving(x, y, dx, dy float64) *camera {
	c := &camera{}
	for t := range 12 {
		f := make(frames.Frame, side*side)
		for i := range f {
			f[i] = 90 + float32(10*math.Sin(float64(i%side)/9)+10*math.Cos(float64(i/side)/7))
		}
		left, top := int(x+dx*float64(t)), int(y+dy*float64(t))
		for v := range 30 {
			for u := range 30 {
				if px, py := left+u, top+v; px >= 0 && py >= 0 && px < side && py < side {
					f[py*side+px] = 160 + float32(40*math.Sin(float64(u)/3)*math.Cos(float64(v)/4))
				}
			}
		}
		c.times, c.frames = append(c.times, engram.Time(0).Add(time.Duration(t)*apart)), append(c.frames, f)
	}
	return c
}

// What moves steadily is predicted better than by the last frame; it was learned from other motions.
func TestFrames(t *testing.T) {
	learned := []*recording{{cameras: map[string]*camera{"eye": moving(10, 20, 4, 2)}}, {cameras: map[string]*camera{"eye": moving(80, 70, -3, -3)}}}
	rows, err := cameras(learned, &recording{cameras: map[string]*camera{"eye": moving(20, 80, 5, -3)}})
	if err != nil || len(rows) != 2*frames.Ahead {
		t.Fatal(rows, err)
	}
	for _, r := range rows {
		if least := map[string]float64{"trained": 3, "as it goes": 1}[r.Model]; r.GainChanged < least || r.Gain < least-1 {
			t.Errorf("%+v", r)
		}
	}
	// The same scene at rest has nothing that changes, and no row that claims any gain.
	if rows, err = cameras(learned, &recording{cameras: map[string]*camera{"eye": moving(20, 80, 0, 0)}}); err != nil || len(rows) != 0 {
		t.Errorf("at rest: %+v, %v", rows, err)
	}
}
