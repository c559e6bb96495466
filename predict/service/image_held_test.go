package service_test

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// A payload that holds an image beside its numbers is predicted with both.
func TestPredictAnImageThatIsHeld(t *testing.T) {
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{memories.Example()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // nothing waits
	typ, ok := memories.Type("engram.example.ExampleData")
	if !ok {
		t.Fatal("the type is not known")
	}
	id := engram.MustID("Example/ExampleData/p/e")
	for i := range 20 {
		raw := rawOf(sight(float64(i) / 2))
		b, err := typ.Encode(map[string]any{"the_double": 2 * float64(i), "the_rgb_image": map[string]any{
			"width": int64(raw.Width), "height": int64(raw.Height), "step": int64(raw.Step), "encoding": raw.Encoding, "data": raw.Data}})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, s, engram.EntityUpdate{Entity: id, Time: engram.Time(0).Add(time.Duration(i) * step),
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
	}
	p := ask(t, s, id, 21)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	imageOf := func(b []byte) (image engram.Payload) {
		err := typ.Walk(b, idf.KindImage, func(f *idf.Found) bool {
			image = engram.Payload{Type: f.Type, Bytes: f.Bytes}
			return false
		})
		if err != nil || image.Type == "" {
			t.Fatal("no image", err)
		}
		return image
	}
	last, err := s.Latest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	truth := sight(10.5)
	off, held := apartFrom(t, imageOf(p.Snapshot.Instances[0].Payload.Bytes), truth), apartFrom(t, imageOf(last.Instances[0].Payload.Bytes), truth)
	if off > 0.8*held {
		t.Errorf("the image is off by %.2f levels, the last one by %.2f", off, held)
	}
	found := map[string]engram.PredictedMember{}
	for _, m := range p.Members {
		found[m.Path] = m
	}
	if m := found["the_rgb_image.luma"]; m.Model != "motion" || m.SD <= 0 {
		t.Errorf("it is said: %+v", p.Members)
	}
	if m := found["the_double"]; m.Mean < 41 || m.Mean > 43 {
		t.Errorf("the number is %+v", m)
	}
}
