package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/memories/vision"
	"github.com/seed-301d4374/engram/pose"
	poses "github.com/seed-301d4374/engram/pose/service"
)

const (
	// maxMarks bounds what is drawn over an image.
	maxMarks = 200
	// overlayAge is how much older than the image a detection may be that is drawn over it: what is live is seen before it
	// is recognised.
	overlayAge = time.Second
	edgeSteps  = 8 // parts of an edge, each of which is straight
)

// overlayJSON is what lies over an image, in its pixels.
type overlayJSON struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Marks  []mark `json:"marks"`
	Why    string `json:"why,omitempty"` // some cannot be drawn
}

// mark is what a snapshot that links to the image says of it.
type mark struct {
	ID         engram.ID   `json:"id"`
	Name       string      `json:"name"`
	Confidence float32     `json:"confidence,omitempty"`
	Earlier    bool        `json:"earlier,omitempty"` // it is of an image before
	Lines      [][]float64 `json:"lines"`             // each u, v, u, v …
	At         [2]float64  `json:"at"`                // where its name stands
	Texts      []markText  `json:"texts,omitempty"`
}

// markText is a text of an annotation.
type markText struct {
	Text string     `json:"text"`
	At   [2]float64 `json:"at"` // its lower left
}

// maxText bounds what of a text is drawn, in bytes.
const maxText = 200

// overlay answers what was recognised in an image: of what links to it, or to one of the same camera shortly before, the
// boxes and poses, as its camera sees them, and annotations that are in its pixels.
//
//	/view/overlay?id=INSTANCE&frame=FRAME&width=W&height=H&asof=TIME
//
// The frame and the size are those that the image was answered with.
func (p *Page) overlay(w http.ResponseWriter, r *http.Request, q query) error {
	ctx := r.Context()
	id, err := q.id("id")
	if err != nil {
		return err
	}
	t, ok := id.Time()
	if !ok {
		return engram.Errorf(engram.Invalid, id.String(), "names no snapshot of an image")
	}
	asOf, err := q.asOf()
	if err != nil {
		return err
	}
	o := overlayJSON{Marks: []mark{}}
	if o.Width, err = q.number("width", 1, maxSide, 0); err != nil {
		return err
	}
	if o.Height, err = q.number("height", 1, maxSide, 0); err != nil {
		return err
	}
	newest := map[engram.ID]service.BackLink{} // by the entity that links
	back := service.BackQuery{Target: id.Truncate(engram.LevelEntity), Span: engram.Interval{Start: t.Add(-overlayAge), End: t.Add(1)}, AsOf: asOf, Limit: 20 * maxMarks}
	for l, err := range p.links.BackLinks(ctx, back) {
		if err != nil {
			if !errors.Is(err, service.ErrMore) {
				return err
			}
			o.Why = "more link to the image than are looked at"
			break
		}
		entity := l.Source.Truncate(engram.LevelEntity)
		at, _ := l.Source.Time()
		if before, known := newest[entity]; known {
			if was, _ := before.Source.Time(); was >= at {
				continue
			}
		}
		newest[entity] = l
	}
	d := drawer{p: p, at: t, asOf: asOf, o: &o, image: id, frame: q.Get("frame"), classes: map[engram.ID]map[string]any{}}
	for _, entity := range slices.SortedFunc(maps.Keys(newest), engram.ID.Compare) {
		if len(o.Marks) == maxMarks {
			o.Why = "more was recognised than is drawn"
			break
		}
		if err := d.draw(ctx, newest[entity]); err != nil {
			return err
		}
	}
	return answer(w, o)
}

// drawer draws over one image.
type drawer struct {
	p       *Page
	at      engram.Time
	asOf    *engram.Time
	image   engram.ID
	frame   string
	o       *overlayJSON
	classes map[engram.ID]map[string]any

	looked bool // camera and tree were looked for
	camera *vision.Camera
	tree   *tree
	past   poses.Service // of what the pose store has forgotten; nil until it is needed
}

// draw adds the mark of what links to the image, if there is something to draw. What cannot be read says nothing.
func (d *drawer) draw(ctx context.Context, l service.BackLink) error {
	at, _ := l.Source.Time()
	s, err := d.p.snapshot(ctx, asked{entity: l.Source.Truncate(engram.LevelEntity), selector: engram.At(at), asOf: d.asOf}, true)
	if err != nil {
		return skipMissing(err)
	}
	i, _ := l.Source.Index()
	if i >= len(s.Instances) {
		return nil
	}
	m, err := d.p.types.Decode(ctx, s.Instances[i].Payload)
	if err != nil || m == nil {
		return ctx.Err()
	}
	to, _ := l.Target.Time()
	mk := mark{ID: l.Source, Name: l.Source.Entity(), Confidence: s.Instances[i].Confidence, Earlier: to != 0 && to != d.at}
	if to == d.at {
		mk.Lines, mk.Texts = annotations(m) // of another image they would be elsewhere
	}
	if len(mk.Lines)+len(mk.Texts) == 0 {
		if mk.Lines, err = d.project(ctx, m, l.Source); err != nil {
			return err
		}
	}
	switch {
	case len(mk.Lines) > 0:
		mk.At = [2]float64{mk.Lines[0][0], mk.Lines[0][1]}
	case len(mk.Texts) > 0:
		mk.At = mk.Texts[0].At
	default:
		return nil
	}
	for _, line := range mk.Lines {
		for k := 0; k+1 < len(line); k += 2 {
			if line[k+1] < mk.At[1] {
				mk.At = [2]float64{line[k], line[k+1]}
			}
		}
	}
	d.o.Marks = append(d.o.Marks, mk)
	return nil
}

// skipMissing lets go of an error that says that there is nothing, or that it may not be read.
func skipMissing(err error) error {
	switch engram.CodeOf(err) {
	case engram.NotFound, engram.TooOld, engram.Forbidden:
		return nil
	}
	return err
}

// project returns the lines of what has a pose in a frame, as the camera sees them.
func (d *drawer) project(ctx context.Context, m map[string]any, source engram.ID) ([][]float64, error) {
	own, ok := posevalue.Of(m["pose"])
	frame, _ := m["frame_id"].(string)
	if !ok || frame == "" {
		return nil, nil
	}
	if !d.looked {
		d.looked = true
		if err := d.look(ctx); err != nil {
			return nil, err
		}
	}
	if d.camera == nil {
		return nil, nil
	}
	robot := poses.RobotOf(source)
	there, err := d.lookUp(ctx, d.tree.full(d.frame, poses.RobotOf(d.image)), d.tree.full(frame, robot))
	if err != nil {
		d.o.Why = cmp.Or(d.o.Why, err.Error())
		return nil, ctx.Err()
	}
	object := there.Mul(own)
	box, size, err := d.box(ctx, m)
	if err != nil {
		return nil, err
	}
	if size == (pose.Vec3{}) { // a cross of 4 cm
		var lines [][]float64
		for _, v := range []pose.Vec3{{X: 0.02}, {Y: 0.02}, {Z: 0.02}} {
			lines = append(lines, d.edge(object.Apply(v), object.Apply(v.Scale(-1)))...)
		}
		return lines, nil
	}
	object = object.Mul(box)
	corner := func(i int) pose.Vec3 {
		v := pose.Vec3{X: size.X / 2, Y: size.Y / 2, Z: size.Z / 2}
		if i&1 == 0 {
			v.X = -v.X
		}
		if i&2 == 0 {
			v.Y = -v.Y
		}
		if i&4 == 0 {
			v.Z = -v.Z
		}
		return object.Apply(v)
	}
	var lines [][]float64
	for i := range 8 {
		for _, axis := range []int{1, 2, 4} {
			if i&axis == 0 {
				lines = append(lines, d.edge(corner(i), corner(i|axis))...)
			}
		}
	}
	return lines, nil
}

// edge returns what the camera sees of a line of its frame.
func (d *drawer) edge(a, b pose.Vec3) (lines [][]float64) {
	steps := edgeSteps
	if d.camera.Model == "" || !slices.ContainsFunc(d.camera.Distortion, func(v float64) bool { return v != 0 }) {
		steps = 1
		// What is behind the camera is cut off.
		const near = 0.01
		if a.Z < near && b.Z < near {
			return nil
		}
		if a.Z < near {
			a = a.Add(b.Sub(a).Scale((near - a.Z) / (b.Z - a.Z)))
		} else if b.Z < near {
			b = b.Add(a.Sub(b).Scale((near - b.Z) / (a.Z - b.Z)))
		}
	}
	w, h := float64(d.o.Width), float64(d.o.Height)
	var line []float64
	end := func() {
		if len(line) > 2 {
			lines = append(lines, line)
		}
		line = nil
	}
	for i := range steps + 1 {
		v := a.Add(b.Sub(a).Scale(float64(i) / float64(steps)))
		x, y, ok := d.camera.Project(v)
		// Far outside of the image lenses show anything.
		if ok && steps > 1 {
			ok = math.Abs(v.X/v.Z*d.camera.FX) < w && math.Abs(v.Y/v.Z*d.camera.FY) < h
		}
		if !ok {
			end()
			continue
		}
		line = append(line, math.Round(x*100)/100, math.Round(y*100)/100)
	}
	end()
	inside := func(line []float64) bool {
		xs, ys := []float64{line[0], line[len(line)-2]}, []float64{line[1], line[len(line)-1]}
		return slices.Max(xs) > 0 && slices.Min(xs) < w && slices.Max(ys) > 0 && slices.Min(ys) < h
	}
	return slices.DeleteFunc(lines, func(line []float64) bool { return !inside(line) })
}

// box returns the box of an object, in its frame: its own, or that of its class. The size is zero if there is none.
func (d *drawer) box(ctx context.Context, m map[string]any) (at pose.Pose, size pose.Vec3, err error) {
	at = pose.Identity()
	box, _ := m["oobb"].(map[string]any)
	if box == nil {
		id, _ := m["object_class"].(engram.ID)
		if id = id.Truncate(engram.LevelEntity); id.Level() != engram.LevelEntity {
			return at, size, nil
		}
		class, known := d.classes[id]
		if !known {
			s, err := d.p.snapshot(ctx, asked{entity: id, selector: engram.AtOrBefore(d.at), asOf: d.asOf}, true)
			if err != nil && skipMissing(err) != nil {
				return at, size, err
			}
			if err == nil && len(s.Instances) > 0 {
				class, _ = d.p.types.Decode(ctx, s.Instances[0].Payload) // one that cannot be read has no box
			}
			d.classes[id] = class
		}
		if box, _ = class["oobb"].(map[string]any); box == nil {
			return at, size, nil
		}
	}
	if p, ok := posevalue.OrIdentity(box["pose"]); ok {
		at = p
	}
	size = vectorOf(box["size"])
	if !finite(size.X, size.Y, size.Z) {
		size = pose.Vec3{}
	}
	return at, size, nil
}

// look looks for the calibration of the camera and the transform tree.
func (d *drawer) look(ctx context.Context) error {
	var err error
	if _, d.tree, err = treeAt(ctx, d.p.poses, d.at); err != nil {
		d.o.Why = err.Error()
		return ctx.Err()
	}
	d.o.Why = "nobody says how this camera sees: there is no calibration of its frame " + d.frame + " in Vision/Calibration"
	// One that was measured later is better than none.
	for _, selector := range []engram.SnapshotSelector{engram.AtOrBefore(d.at), engram.Latest(1)} {
		q := engram.MustPattern("Vision/Calibration").Select(selector)
		q.AsOf, q.Type = d.asOf, "foxglove.CameraCalibration"
		found, err := d.p.svc.Query(ctx, q)
		if err != nil {
			return err
		}
		for it := range found.All() {
			for i := range it.Instances {
				var m foxglovepb.CameraCalibration
				if proto.Unmarshal(it.Instances[i].Payload.Bytes, &m) != nil || m.GetFrameId() != d.frame {
					continue
				}
				own := it.ID.ProviderSegment() == d.image.ProviderSegment()
				if d.camera != nil && !own {
					continue
				}
				c, err := vision.CameraOf(&m)
				switch {
				case err != nil:
					d.o.Why = err.Error()
				case c.Width != d.o.Width || c.Height != d.o.Height:
					d.o.Why = "the calibration of the frame " + d.frame + " is of images of another size"
				default:
					d.camera, d.o.Why = &c, ""
				}
			}
		}
		if d.camera != nil {
			break
		}
	}
	return nil
}

// lookUp asks where a frame was, of what the pose store has forgotten in the memory.
func (d *drawer) lookUp(ctx context.Context, target, source string) (pose.Pose, error) {
	q := []poses.Question{{Target: target, Source: source, Time: d.at}}
	var now pose.Pose
	a, err := d.p.poses.LookUp(ctx, q)
	if err == nil {
		now, err = a[0].Pose, a[0].Err
	}
	if err == nil && d.asOf == nil {
		return now, nil
	}
	if d.past == nil {
		var failed error
		if d.past, failed = d.p.pastPoses(ctx, moment{at: d.at, asOf: d.asOf}); failed != nil {
			return pose.Pose{}, failed
		}
	}
	if past, failed := d.past.LookUp(ctx, q); failed == nil && past[0].Err == nil {
		return past[0].Pose, nil
	}
	return now, err
}

// annotations returns the lines and texts of members that are as foxglove.ImageAnnotations: in pixels.
func annotations(m map[string]any) (lines [][]float64, texts []markText) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		of, _ := m[key].(map[string]any)
		for _, c := range messagesOf(of["circles"]) {
			at := vectorOf(c["position"])
			diameter, _ := c["diameter"].(float64)
			lines = append(lines, circle(at, diameter/2))
		}
		for _, g := range messagesOf(of["points"]) {
			kind, _ := g["type"].(idf.Enum)
			lines = append(lines, joined(kind.Key, messagesOf(g["points"]))...)
		}
		for _, v := range messagesOf(of["texts"]) {
			at := vectorOf(v["position"])
			if text, _ := v["text"].(string); text != "" && finite(at.X, at.Y) {
				texts = append(texts, markText{strings.ToValidUTF8(text[:min(len(text), maxText)], ""), [2]float64{at.X, at.Y}})
			}
		}
	}
	return slices.DeleteFunc(lines, func(line []float64) bool { return len(line) < 4 || !finite(line...) }), texts
}

// joined returns the lines of points, by the kind of a foxglove.PointsAnnotation.
func joined(kind string, points []map[string]any) (lines [][]float64) {
	var line []float64
	for i, v := range points {
		at := vectorOf(v)
		switch line = append(line, at.X, at.Y); {
		case kind == "POINTS":
			lines, line = append(lines, circle(at, 1.5)), nil
		case kind == "LINE_LIST" && i%2 == 1:
			lines, line = append(lines, line), nil
		}
	}
	if kind == "LINE_LOOP" && len(line) > 2 {
		line = append(line, line[0], line[1])
	}
	return append(lines, line)
}

// circle returns a line around a point.
func circle(at pose.Vec3, radius float64) (line []float64) {
	for i := range 25 {
		a := 2 * math.Pi * float64(i) / 24
		line = append(line, at.X+radius*math.Cos(a), at.Y+radius*math.Sin(a))
	}
	return line
}

// messagesOf returns the elements of a list that are messages.
func messagesOf(v any) (all []map[string]any) {
	list, _ := v.([]any)
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// vectorOf reads a position, or a size, of a decoded message; what it has not is zero.
func vectorOf(v any) (p pose.Vec3) {
	m, _ := v.(map[string]any)
	p.X, _ = m["x"].(float64)
	p.Y, _ = m["y"].(float64)
	p.Z, _ = m["z"].(float64)
	return p
}
