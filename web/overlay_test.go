package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/web"
)

type overlayAnswer struct {
	Width, Height int
	Why           string
	Marks         []struct {
		ID, Name string
		Earlier  bool
		Lines    [][]float64
		At       [2]float64
		Texts    []struct {
			Text string
			At   [2]float64
		}
	}
}

func (o *overlayAnswer) bounds(name string) (x0, y0, x1, y1 float64) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, m := range o.Marks {
		for _, line := range m.Lines {
			for k := 0; m.Name == name && k+1 < len(line); k += 2 {
				x0, x1 = min(x0, line[k]), max(x1, line[k])
				y0, y1 = min(y0, line[k+1]), max(y1, line[k+1])
			}
		}
	}
	return x0, y0, x1, y1
}

const detection = `syntax = "proto3";
package test;
import "engram/idf/v1/value.proto";
message Point { double x = 1; double y = 2; }
message Circle { Point position = 1; double diameter = 2; }
enum Kind { UNKNOWN = 0; POINTS = 1; LINE_LOOP = 2; LINE_STRIP = 3; LINE_LIST = 4; }
message Text { Point position = 1; string text = 2; }
message Points { Kind type = 1; repeated Point points = 2; }
message Annotations { repeated Circle circles = 1; repeated Points points = 2; repeated Text texts = 3; }
message Detection { engram.idf.v1.Link image = 1; Annotations annotations = 2; }`

// What links to an image is drawn over it: boxes as its camera sees them, and annotations in its pixels; of what was seen
// in the image before, where it is now.
func TestOverlay(t *testing.T) {
	svc := robot(t)
	l := look(t, svc, web.Options{})
	now := engram.Now()
	const camera = "Vision/ImageRGB/arm/eye"
	describe(t, svc, now.Add(-time.Minute))
	lift(t, svc, now.Add(-time.Second), 0, 0)
	lift(t, svc, now, 0, 0)
	then := now.Add(-100 * time.Millisecond)
	for _, at := range []engram.Time{then, now} {
		putMessage(t, svc, camera, at, &foxglovepb.RawImage{FrameId: "eye", Width: 200, Height: 100, Encoding: "mono8", Step: 200, Data: make([]byte, 20000)})
	}
	image := func(at engram.Time) string { return engram.MustID(camera).At(at).Instance(0).String() }
	// The eye is at x 0.1 of the hand and looks up; the box is 2 m before it.
	seen := func(name string, at engram.Time, x float64, members map[string]any) {
		value := map[string]any{"timestamp": at, "frame_id": "hand", "source_image": image(at), "pose": map[string]any{
			"position": map[string]any{"x": x, "y": 0.2, "z": 2.0}, "orientation": map[string]any{"w": 1.0}}}
		for k, v := range members {
			value[k] = v
		}
		putValues(t, svc, "Object/Instance/finder/"+name, "engram.object.Instance", at, value)
	}
	box := map[string]any{"size": map[string]any{"x": 0.2, "y": 0.4, "z": 0.0}, "pose": map[string]any{"orientation": map[string]any{"w": 1.0}}}
	putValues(t, svc, "Object/Class/PriorKnowledge/mug", "engram.object.Class", now.Add(-time.Minute), map[string]any{"name": "mug", "oobb": box})
	seen("own", now, 0.1, map[string]any{"oobb": box})
	seen("classy", now, 0.1, map[string]any{"object_class": "Object/Class/PriorKnowledge/mug"})
	seen("point", now, 0.1, nil)
	seen("earlier", then, 0.1, nil)
	seen("behind", now, 0.1, map[string]any{"pose": map[string]any{"position": map[string]any{"z": -1.0}, "orientation": map[string]any{"w": 1.0}}})
	seen("aside", now, 9, map[string]any{"oobb": box})
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"test.proto": {Data: []byte(detection)}}}, "test.proto")
	if err != nil {
		t.Fatal(err)
	}
	types := idf.NewRegistry()
	for _, def := range defs {
		if _, err := types.Add(def); err != nil {
			t.Fatal(err)
		}
		if err := svc.AddType(t.Context(), def); err != nil {
			t.Fatal(err)
		}
	}
	typ, _ := types.Get("test.Detection")
	point := func(x, y float64) map[string]any { return map[string]any{"x": x, "y": y} }
	b, err := typ.Encode(map[string]any{"image": image(now), "annotations": map[string]any{
		"circles": []any{map[string]any{"position": point(50, 40), "diameter": 20.0}},
		"points": []any{
			map[string]any{"type": 2, "points": []any{point(10, 10), point(30, 10), point(30, 60)}},
			map[string]any{"type": 4, "points": []any{point(20, 20), point(30, 20), point(20, 30), point(30, 30), point(7, 7)}},
			map[string]any{"type": 1, "points": []any{point(20, 20), point(30, 20)}},
		},
		"texts": []any{map[string]any{"position": point(20, 50), "text": "<b>cup</b>"}, map[string]any{"position": point(math.NaN(), 0), "text": "nowhere"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, svc, "Painter/Any/painter/annotated", now, engram.Payload{Type: "test.Detection", Bytes: b})
	ask := func(at engram.Time) (o overlayAnswer) {
		t.Helper()
		if err := json.Unmarshal(l.ok("/view/overlay", "id", image(at), "frame", "eye", "width", "200", "height", "100"), &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := ask(now); o.Why == "" || len(o.Marks) != 1 || o.Marks[0].Name != "annotated" {
		t.Errorf("without a calibration: %+v", o)
	}
	putMessage(t, svc, "Vision/Calibration/arm/eye", now, &foxglovepb.CameraCalibration{FrameId: "eye", Width: 200, Height: 100, K: []float64{100, 0, 100, 0, 100, 50, 0, 0, 1}})
	o := ask(now)
	if len(o.Marks) != 5 || o.Why != "" {
		t.Errorf("%d marks: %+v", len(o.Marks), o)
	}
	for name, want := range map[string][4]float64{
		"own": {95, 50, 105, 70}, "classy": {95, 50, 105, 70}, "point": {99, 59, 101, 61}, "earlier": {99, 59, 101, 61}, "annotated": {10, 10, 60, 60},
	} {
		x0, y0, x1, y1 := o.bounds(name)
		if got := [4]float64{x0, y0, x1, y1}; fmt.Sprintf("%.1f", got) != fmt.Sprintf("%.1f", want) {
			t.Errorf("%s is in %v, not in %v", name, got, want)
		}
	}
	for _, m := range o.Marks {
		if m.Earlier != (m.Name == "earlier") {
			t.Errorf("%+v", m)
		}
		// A circle, a loop, two lines of a list without the point that has no end, and two points.
		if m.Name == "annotated" && (len(m.Lines) != 6 || len(m.Texts) != 1 || m.Texts[0].Text != "<b>cup</b>" || m.Texts[0].At != [2]float64{20, 50}) {
			t.Errorf("%+v", m)
		}
	}
	if status, b, _ := l.get("/view/overlay", "id", camera, "width", "1", "height", "1"); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, b)
	}
}
