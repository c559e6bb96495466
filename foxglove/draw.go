package foxglove

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// DrawItem returns an item of a forest at a time as what viewers draw: its shape or box in the colour of its class, as
// opaque as it is believed to be there, and its label. It is nil if the item is nowhere.
func DrawItem(f *world.Forest, it *world.Merged, now engram.Time) *foxglovepb.SceneEntity {
	frame, at, ok := world.Root(f, it.Name)
	if !ok || frame == "" {
		return nil
	}
	e := &foxglovepb.SceneEntity{
		Timestamp: stamp(now), FrameId: frame, Id: it.Name, FrameLocked: true,
		Metadata: []*foxglovepb.KeyValuePair{{Key: "item", Value: it.Name}, {Key: "label", Value: it.Label()}},
	}
	alpha := 1.0
	if b, err := f.Belief(it.Name, now, nil); err == nil {
		alpha = math.Round(100*max(0.15, min(b.P, 1))) / 100 // a hundredth less is no other picture
		e.Metadata = append(e.Metadata, &foxglovepb.KeyValuePair{Key: "belief", Value: fmt.Sprintf("%.2f", b.P)})
	}
	var kinds []string
	var size pose.Vec3
	if d := it.Description; d != nil {
		kinds = d.Kinds
		if it.Is(world.KindMap) {
			alpha = min(alpha, 0.08) // one looks into a room
		}
		of := strings.Join(kinds, " ")
		if d.Class != nil {
			of = d.Class.String()
		}
		color := colourOf(of, alpha)
		size = drawShape(e, d, at, color)
		if d.Shape == nil && d.Box == nil && it.Is(world.KindObject) {
			const dot = 0.06 // m: there is something, and nobody says how large
			e.Spheres = append(e.Spheres, &foxglovepb.SpherePrimitive{Pose: poseMessage(at), Size: &foxglovepb.Vector3{X: dot, Y: dot, Z: dot}, Color: color})
		}
	}
	e.Metadata = append(e.Metadata, &foxglovepb.KeyValuePair{Key: "kinds", Value: strings.Join(kinds, ", ")})
	label := at.Mul(pose.Translation(0, 0, size.Z/2+0.05))
	e.Texts = append(e.Texts, &foxglovepb.TextPrimitive{
		Pose: poseMessage(label), Billboard: true, FontSize: 12, ScaleInvariant: true,
		Color: &foxglovepb.Color{R: 0.5, G: 0.5, B: 0.5, A: 1}, Text: cmp.Or(it.Label(), it.Name),
	})
	return e
}

// drawShape adds an item's shape, or the box about it, and returns its size.
func drawShape(e *foxglovepb.SceneEntity, d *world.Description, at pose.Pose, color *foxglovepb.Color) pose.Vec3 {
	vector := func(v pose.Vec3) *foxglovepb.Vector3 { return &foxglovepb.Vector3{X: v.X, Y: v.Y, Z: v.Z} }
	cube := func(p pose.Pose, size pose.Vec3) pose.Vec3 {
		e.Cubes = append(e.Cubes, &foxglovepb.CubePrimitive{Pose: poseMessage(p), Size: vector(size), Color: color})
		return size
	}
	sh := d.Shape
	if sh == nil {
		if d.Box != nil {
			return cube(at.Mul(d.Box.Pose), d.Box.Size)
		}
		return pose.Vec3{}
	}
	if sh.Pose != nil {
		at = at.Mul(*sh.Pose)
	}
	switch sh.Kind {
	case world.ShapeCylinder:
		e.Cylinders = append(e.Cylinders, &foxglovepb.CylinderPrimitive{Pose: poseMessage(at), Size: vector(sh.Size), BottomScale: 1, TopScale: 1, Color: color})
	case world.ShapeSphere:
		e.Spheres = append(e.Spheres, &foxglovepb.SpherePrimitive{Pose: poseMessage(at), Size: vector(sh.Size), Color: color})
	case world.ShapeMesh:
		scale := sh.Size
		if scale == (pose.Vec3{}) {
			scale = pose.Vec3{X: 1, Y: 1, Z: 1}
		}
		e.Models = append(e.Models, &foxglovepb.ModelPrimitive{Pose: poseMessage(at), Scale: vector(scale), Url: sh.Mesh})
		if d.Box != nil {
			return d.Box.Size
		}
		return pose.Vec3{}
	case world.ShapePolygon:
		line := &foxglovepb.LinePrimitive{Type: foxglovepb.LinePrimitive_LINE_LOOP, Pose: poseMessage(at), Thickness: 2, ScaleInvariant: true, Color: color}
		for _, p := range sh.Outline {
			line.Points = append(line.Points, &foxglovepb.Point3{X: p.X, Y: p.Y, Z: p.Z})
		}
		e.Lines = append(e.Lines, line)
		return pose.Vec3{}
	default:
		return cube(at, sh.Size)
	}
	return sh.Size
}

// colourOf gives what is alike the same colour.
func colourOf(text string, alpha float64) *foxglovepb.Color {
	h := fnv.New32a()
	h.Write([]byte(text))
	n := h.Sum32()
	part := func(shift int) float64 { return 0.25 + 0.65*float64(n>>shift&0xff)/255 }
	return &foxglovepb.Color{R: part(0), G: part(8), B: part(16), A: alpha}
}

// DrawPlan returns a plan, the decoded members of an engram.navigation.Plan that an item has, as what viewers draw: a line
// from pose to pose.
func DrawPlan(plan map[string]any, it engram.Item) *foxglovepb.SceneEntity {
	frame, _ := plan["frame_id"].(string)
	way := &foxglovepb.LinePrimitive{
		Pose: identity(), Thickness: 3, ScaleInvariant: true, Color: &foxglovepb.Color{R: 0.1, G: 0.7, B: 0.3, A: 1},
	}
	list, _ := plan["path"].([]any)
	for _, v := range list {
		if p, ok := posevalue.Of(v); ok {
			way.Points = append(way.Points, &foxglovepb.Point3{X: p.T.X, Y: p.T.Y, Z: p.T.Z})
		}
	}
	return &foxglovepb.SceneEntity{
		Timestamp: stamp(it.Time), FrameId: frame, Id: it.ID.Truncate(engram.LevelEntity).String(), FrameLocked: true,
		Lines: []*foxglovepb.LinePrimitive{way},
	}
}

func stamp(t engram.Time) *timestamppb.Timestamp { return timestamppb.New(t.Std()) }

func poseMessage(p pose.Pose) *foxglovepb.Pose {
	return &foxglovepb.Pose{
		Position:    &foxglovepb.Vector3{X: p.T.X, Y: p.T.Y, Z: p.T.Z},
		Orientation: &foxglovepb.Quaternion{X: p.R.X, Y: p.R.Y, Z: p.R.Z, W: p.R.W},
	}
}

func identity() *foxglovepb.Pose { return poseMessage(pose.Pose{R: pose.Quat{W: 1}}) }
