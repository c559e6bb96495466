package web

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

const (
	// leastAlpha keeps what is hardly believed to be there visible.
	leastAlpha = 0.15
	// placeAlpha lets one look into rooms.
	placeAlpha = 0.08
	// dotSize is the diameter, m, of an object whose size nobody says.
	dotSize = 0.06
)

// drawItem draws an item of a forest at a time: its shape or box in the colour of its class,
// as opaque as it is believed to be there, and its label. at is where it is in the frame of
// the entity. ok is false if it is nowhere.
func drawItem(f *world.Forest, c classes, it *world.Merged, now engram.Time) (e *foxglovepb.SceneEntity, at pose.Pose, ok bool) {
	frame, at, ok := world.Root(f, it.Name)
	if !ok || frame == "" {
		return nil, at, false
	}
	e = &foxglovepb.SceneEntity{
		FrameId: frame, Id: it.Name, FrameLocked: true,
		Metadata: []*foxglovepb.KeyValuePair{{Key: "item", Value: it.Name}, {Key: "label", Value: it.Label()}},
	}
	alpha := 1.0
	if b, err := f.Belief(it.Name, now, nil); err == nil {
		alpha = math.Round(100*max(leastAlpha, min(b.P, 1))) / 100 // a hundredth less is no other picture
		e.Metadata = append(e.Metadata, &foxglovepb.KeyValuePair{Key: "belief", Value: fmt.Sprintf("%.2f", b.P)})
	}
	var kinds []string
	var height float64
	if d := it.Description; d != nil {
		kinds = d.Kinds
		if it.Is(world.KindMap) {
			alpha = min(alpha, placeAlpha)
		}
		color := colourOf(d)
		color.A = alpha
		is := c.formOf(d)
		height = is.draw(e, at, color)
		if is == (form{}) && it.Is(world.KindObject) {
			size := &foxglovepb.Vector3{X: dotSize, Y: dotSize, Z: dotSize}
			e.Spheres = append(e.Spheres, &foxglovepb.SpherePrimitive{Pose: poseMessage(at), Size: size, Color: color})
		}
	}
	e.Metadata = append(e.Metadata, &foxglovepb.KeyValuePair{Key: "kinds", Value: strings.Join(kinds, ", ")})
	e.Texts = append(e.Texts, &foxglovepb.TextPrimitive{
		Pose: poseMessage(at.Mul(pose.Translation(0, 0, height/2+0.05))), Billboard: true, FontSize: 12, ScaleInvariant: true,
		Color: &foxglovepb.Color{R: 0.5, G: 0.5, B: 0.5, A: 1}, Text: cmp.Or(it.Label(), it.Name),
	})
	return e, at, true
}

// draw adds the shape, or the box, of an item that is at a pose, and returns its height.
func (is form) draw(e *foxglovepb.SceneEntity, at pose.Pose, color *foxglovepb.Color) (height float64) {
	cube := func(p pose.Pose, size pose.Vec3) float64 {
		e.Cubes = append(e.Cubes, &foxglovepb.CubePrimitive{Pose: poseMessage(p), Size: vectorMessage(size), Color: color})
		return size.Z
	}
	sh := is.shape
	if sh == nil {
		if is.box == nil {
			return 0
		}
		return cube(at.Mul(is.box.Pose), is.box.Size)
	}
	if sh.Pose != nil {
		at = at.Mul(*sh.Pose)
	}
	size := vectorMessage(sh.Size)
	switch sh.Kind {
	case world.ShapeCylinder:
		e.Cylinders = append(e.Cylinders, &foxglovepb.CylinderPrimitive{Pose: poseMessage(at), Size: size, BottomScale: 1, TopScale: 1, Color: color})
	case world.ShapeSphere:
		e.Spheres = append(e.Spheres, &foxglovepb.SpherePrimitive{Pose: poseMessage(at), Size: size, Color: color})
	case world.ShapeMesh:
		if sh.Size == (pose.Vec3{}) {
			size = &foxglovepb.Vector3{X: 1, Y: 1, Z: 1}
		}
		e.Models = append(e.Models, &foxglovepb.ModelPrimitive{Pose: poseMessage(at), Scale: size, Color: color, OverrideColor: true, Url: sh.Mesh})
		if is.box == nil {
			return 0
		}
		return is.box.Size.Z
	case world.ShapePolygon:
		line := &foxglovepb.LinePrimitive{Type: foxglovepb.LinePrimitive_LINE_LOOP, Pose: poseMessage(at), Thickness: 2, ScaleInvariant: true, Color: color}
		for _, p := range sh.Outline {
			line.Points = append(line.Points, point(p))
		}
		e.Lines = append(e.Lines, line)
		return 0
	default:
		return cube(at, sh.Size)
	}
	return sh.Size.Z
}

// colourOf gives items of one class, or of the same kinds, one colour: quiet ones that tell
// them apart and say nothing else.
func colourOf(d *world.Description) *foxglovepb.Color {
	of := strings.Join(d.Kinds, " ")
	if d.Class != nil {
		of = d.Class.String()
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(of)) // a hash takes all
	const saturation, lightness = 0.38, 0.58
	hue := float64(h.Sum32()*0x9e3779b1>>16) / (1 << 16) // what differs little in its name differs in its colour
	part := func(n float64) float64 {
		k := math.Mod(n+12*hue, 12)
		return lightness - saturation*min(lightness, 1-lightness)*max(-1, min(k-3, 9-k, 1))
	}
	return &foxglovepb.Color{R: part(0), G: part(8), B: part(4), A: 1}
}

// itemCov returns the covariance of where an item is: in the root of its tree where that is
// known all the way, else in its parent; nil if neither is.
func itemCov(f *world.Forest, root string, it *world.Merged) []float64 {
	if there, err := f.Pose(root, it.Name); err == nil && there.Cov.State() == pose.Estimated {
		return positionCov(&there.Cov)
	}
	if it.Placement == nil {
		return nil
	}
	return positionCov(&it.Placement.Cov)
}

func poseMessage(p pose.Pose) *foxglovepb.Pose {
	return &foxglovepb.Pose{Position: vectorMessage(p.T), Orientation: &foxglovepb.Quaternion{X: p.R.X, Y: p.R.Y, Z: p.R.Z, W: p.R.W}}
}

func vectorMessage(v pose.Vec3) *foxglovepb.Vector3 {
	return &foxglovepb.Vector3{X: v.X, Y: v.Y, Z: v.Z}
}

func point(v pose.Vec3) *foxglovepb.Point3 { return &foxglovepb.Point3{X: v.X, Y: v.Y, Z: v.Z} }
