package memories_test

import (
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
)

// TestPredictObjects asks where objects will be: one that lies, one that rolls, one that is
// part of the house, one that a hand holds.
func TestPredictObjects(t *testing.T) {
	srv := newServer(t)
	second := func(s float64) engram.Time { return engram.Time(1e18).Add(time.Duration(s * float64(time.Second))) }
	covariance := make([]float64, 36)
	for i := range 6 {
		covariance[7*i] = 1e-6
	}
	put := func(id, typ string, at engram.Time, m map[string]any) { t.Helper(); commitAs(t, srv, id, typ, at, m) }
	at := func(x float64) map[string]any {
		return map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}
	}
	image := engram.MustID("Vision/ImageRGB/p/eye").At(second(0)).Instance(0)
	for _, s := range []float64{0, 1} {
		for name, x := range map[string]float64{"cup": 1, "ball": 1 + 0.2*s, "shelf": 3, "spoon": 2} {
			put("Object/Instance/p/"+name, "engram.object.Instance", second(s), map[string]any{
				"timestamp": second(s), "frame_id": "map", "pose": at(x), "pose_covariance": covariance,
				"is_static": name == "shelf", "source_image": image, "source_depth": image,
			})
		}
	}
	put("Object/Attachments/p/spoon", "engram.object.Attachment", second(2), map[string]any{"timestamp": second(2), "frame_id": "map", "pose": at(2.5), "active": true})
	type predicted struct {
		x, sigma   float64
		confidence float32
	}
	ask := func(name string, s float64) (p predicted, m map[string]any) {
		t.Helper()
		snapshot, m := predictedObject(t, srv, engram.MustID("Object/Instance/p/"+name).At(second(s)))
		if snapshot.Time != second(s) || m["timestamp"] != second(s) {
			t.Errorf("%s is predicted for %v, not for %v", name, m["timestamp"], second(s))
		}
		p.x = m["pose"].(map[string]any)["position"].(map[string]any)["x"].(float64)
		p.sigma = math.Sqrt(m["pose_covariance"].([]any)[0].(float64))
		return predicted{p.x, p.sigma, snapshot.Instances[0].Confidence}, m
	}
	for _, c := range []struct {
		name  string
		after float64
		x     float64
		lo    float64 // the least and the greatest standard deviation, m
		hi    float64
	}{
		{"cup", 1, 1, 0.00099, 0.00101},
		{"cup", 61, 1, 0.005, 0.01},
		{"ball", 1.5, 1.3, 0.05, 0.1},
		{"ball", 2, 1.4, 0.08, 0.15},
		{"ball", 100, 1.6, 0.5, 2}, // it does not roll for ever
		{"shelf", 1000, 3, 0.00099, 0.00101},
		{"spoon", 1.5, 2, 0.001, 0.002},
		{"spoon", 3, 2.5, 0.001, 0.003},
	} {
		p, m := ask(c.name, c.after)
		if math.Abs(p.x-c.x) > 1e-9 || p.sigma < c.lo || p.sigma > c.hi {
			t.Errorf("%s at %v s: at %.3f m ± %.4f m, want %.3f ± %.3f to %.3f", c.name, c.after, p.x, p.sigma, c.x, c.lo, c.hi)
		}
		if m["source_image"] != nil || m["source_depth"] != nil {
			t.Errorf("%s at %v s: it was not seen, and has an image", c.name, c.after)
		}
	}
	soon, _ := ask("cup", 2)
	late, _ := ask("cup", 3600)
	if soon.confidence < 0.99 || late.confidence > 0.2 {
		t.Errorf("the confidence goes from %.2f to %.2f in an hour", soon.confidence, late.confidence)
	}
	for id, want := range map[string]engram.Code{
		"Object/Instance/p/nothing": engram.NotFound,
		"Object/Class/p/cup":        engram.NotFound,
	} {
		got, err := srv.Predict(t.Context(), []engram.ID{engram.MustID(id).At(second(5))})
		if err != nil || engram.CodeOf(got[0].Err) != want {
			t.Errorf("%s: %v, %v; want %v", id, err, got[0].Err, want)
		}
	}
	if got, _ := srv.Predict(t.Context(), []engram.ID{engram.MustID("Object/Instance/p/cup").At(second(-5))}); got[0].Err == nil {
		t.Error("a prediction for a time before the object was seen first")
	}
}

// A hand that moves takes the object along; the prediction is in the frame it was seen in. The hand goes on for a while.
func TestPredictHeldObject(t *testing.T) {
	srv := newServer(t, memories.RobotState(), memories.Object())
	base := engram.Time(1e18)
	put := func(id, typ string, at engram.Time, m map[string]any) { t.Helper(); commitAs(t, srv, id, typ, at, m) }
	p := func(x float64) map[string]any {
		return map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}
	}
	for i := range 3 {
		at := base.Add(time.Duration(i) * time.Second)
		put("RobotState/Localization/r/map,hand", "engram.robot_state.Localization", at, map[string]any{
			"timestamp": at, "parent_frame_id": "map", "child_frame_id": "hand",
			"translation": map[string]any{"x": float64(i)}, "rotation": map[string]any{"w": 1.0},
		})
	}
	put("Object/Instance/r/cup", "engram.object.Instance", base, map[string]any{"timestamp": base, "frame_id": "map", "pose": p(0.1)})
	put("Object/Attachments/r/cup", "engram.object.Attachment", base, map[string]any{"timestamp": base, "frame_id": "hand", "pose": p(0.1), "active": true})
	for seconds, want := range map[float64]float64{0.5: 0.6, 2: 2.1, 3: 2.1} {
		at := base.Add(time.Duration(seconds * float64(time.Second)))
		_, m := predictedObject(t, srv, engram.MustID("Object/Instance/r/cup").At(at))
		x := m["pose"].(map[string]any)["position"].(map[string]any)["x"].(float64)
		if m["frame_id"] != "map" || math.Abs(x-want) > 1e-9 || m["attachment"] == nil {
			t.Errorf("after %v s the cup is at %.3f m in %v, want %.3f in map", seconds, x, m["frame_id"], want)
		}
	}
}

// predictedObject returns the predicted snapshot of an object, and its payload.
func predictedObject(t *testing.T, srv engram.Predictor, id engram.ID) (*engram.Snapshot, map[string]any) {
	t.Helper()
	got, err := srv.Predict(t.Context(), []engram.ID{id})
	if err == nil {
		err = got[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := typeOf(t, "engram.object.Instance").Decode(got[0].Snapshot.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Snapshot, v.(map[string]any)
}

// commitAs commits one instance of a type.
func commitAs(t *testing.T, w engram.Writer, id, typ string, at engram.Time, m map[string]any) {
	t.Helper()
	b, err := typeOf(t, typ).Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID(id), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})},
	}}})
	if err == nil {
		err = engram.FirstError(r)
	}
	if err != nil {
		t.Fatal(err)
	}
}
