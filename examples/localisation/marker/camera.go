package marker

import (
	"math"

	"github.com/seed-301d4374/engram/memories/vision"
)

// Camera is a pinhole camera with a lens, as foxglove.CameraCalibration has it.
type Camera = vision.Camera

// vec2 is a point of an image.
type vec2 struct{ x, y float64 }

func (a vec2) add(b vec2) vec2      { return vec2{a.x + b.x, a.y + b.y} }
func (a vec2) sub(b vec2) vec2      { return vec2{a.x - b.x, a.y - b.y} }
func (a vec2) scale(k float64) vec2 { return vec2{k * a.x, k * a.y} }
func (a vec2) dot(b vec2) float64   { return a.x*b.x + a.y*b.y }
func (a vec2) cross(b vec2) float64 { return a.x*b.y - a.y*b.x }
func (a vec2) norm() float64        { return math.Hypot(a.x, a.y) }
