package world

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// object is a message as package idf decodes it: members without presence have their zero
// value, others are missing if they were not set.
type object map[string]any

// get returns a member, or the zero value of its type.
func get[T any](o object, key string) T {
	v, _ := o[key].(T)
	return v
}

// sub returns a member that is an object; ok is false if it was not set.
func (o object) sub(key string) (object, bool) {
	v, ok := o[key].(map[string]any)
	return v, ok
}

func (o object) texts(key string) []string {
	list := get[[]any](o, key)
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	return texts
}

func (o object) number(key string) int32 { return get[idf.Enum](o, key).Number }

func (o object) vector(key string) pose.Vec3 {
	v, _ := o.sub(key)
	return vectorOf(v)
}

func vectorOf(v object) pose.Vec3 {
	return pose.Vec3{X: get[float64](v, "x"), Y: get[float64](v, "y"), Z: get[float64](v, "z")}
}

// pose returns a member that is a pose. One whose rotation was not set is no pose.
func (o object) pose(key string) pose.Pose {
	p, _ := o.sub(key)
	r, _ := p.sub("orientation")
	return pose.Pose{
		T: p.vector("position"),
		R: pose.Quat{W: get[float64](r, "w"), X: get[float64](r, "x"), Y: get[float64](r, "y"), Z: get[float64](r, "z")},
	}
}

// present sets a member that has presence, unless it is the zero value.
func present[T comparable](o map[string]any, key string, v T) {
	if zero := *new(T); v != zero {
		o[key] = v
	}
}

func vectorValue(v pose.Vec3) map[string]any { return map[string]any{"x": v.X, "y": v.Y, "z": v.Z} }

func poseValue(p pose.Pose) map[string]any {
	return map[string]any{
		"position":    vectorValue(p.T),
		"orientation": map[string]any{"w": p.R.W, "x": p.R.X, "y": p.R.Y, "z": p.R.Z},
	}
}

func boxValue(b *Box) map[string]any {
	return map[string]any{"pose": poseValue(b.Pose), "size": vectorValue(b.Size)}
}

// covValue returns a covariance as ROS has it; nothing for an unknown one. One that is exact
// is all zeros, which means unknown there: it is written as the least that is not.
func covValue(p pose.Pose, c pose.Cov) []float64 {
	if c.Mask != pose.AllDims {
		return nil
	}
	m := c.ROS(p)
	if m == [36]float64{} {
		m = exactMatrix
	}
	return m[:]
}

// exactVariance stands for none: a tenth of a micrometre, or of a microradian.
const exactVariance = 1e-14

// exactMatrix is the covariance of what is exact.
var exactMatrix = func() (m [36]float64) {
	for i := 0; i < 36; i += 7 {
		m[i] = exactVariance
	}
	return m
}()

// covariance returns a member that is a covariance of a pose.
func (o object) covariance(key string, of pose.Pose) pose.Cov {
	list := get[[]any](o, key)
	var m [36]float64
	for i := range min(len(list), len(m)) {
		m[i], _ = list[i].(float64)
	}
	return covOf(of, &m, len(list))
}

// covOf is the reverse of covValue, of so many numbers. One that is none makes the covariance impossible, so that
// the merge notes it.
func covOf(p pose.Pose, m *[36]float64, numbers int) pose.Cov {
	if numbers == 0 {
		return pose.Cov{}
	}
	if *m == exactMatrix {
		return pose.ExactCov()
	}
	c, err := pose.CovFromROS(p, m)
	if err != nil || numbers != len(m) {
		return pose.Cov{Mask: ^uint8(pose.AllDims)}
	}
	return c
}

// link returns a member that is a link; the root if it is not set.
func (o object) link(key string) engram.ID { return get[engram.ID](o, key) }

// reference returns a member that is a link; nil if it is not set, or the root.
func (o object) reference(key string) *engram.ID {
	id := o.link(key)
	if id == (engram.ID{}) {
		return nil
	}
	return &id
}

// refer sets a member that is a link, unless it is nil or the root.
func refer(o map[string]any, key string, id *engram.ID) {
	if id != nil {
		present(o, key, *id)
	}
}
