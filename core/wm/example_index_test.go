package wm_test

import (
	"context"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	asking "github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
)

// surely is a condition of a package's own: somebody is at least that sure.
type surely float32

func (c surely) Satisfied(_ engram.ID, in *engram.Instance) bool { return in.Confidence >= float32(c) }

// sureIndex is the package's index: of each entity, how sure somebody ever was of it.
type sureIndex map[engram.ID]float32

func (x sureIndex) Add(entity engram.ID, s *engram.Snapshot) {
	for i := range s.Instances {
		x[entity] = max(x[entity], s.Instances[i].Confidence)
	}
}

func (x sureIndex) Candidates(r asking.Request, yield func(engram.ID, []engram.Time) bool) (known bool) {
	c, known := r.Condition.(surely)
	for entity, confidence := range x {
		if known && confidence >= float32(c) && !yield(entity, nil) {
			break
		}
	}
	return known
}

func (x sureIndex) Size() asking.IndexSize {
	return asking.IndexSize{Entries: len(x), Bytes: int64(len(x)) * 100}
}

// A package registers an index, and asks it which entities it has to look at.
func ExampleIndexes() {
	ctx := context.Background()
	w := wm.New(wm.Config{})
	defer w.Close()
	w.AddMemory("Object", engram.Bounds{})
	w.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("Object/Seen")})
	for name, confidence := range map[string]float32{"cup": 0.9, "ghost": 0.1} {
		payload, _ := idf.ValuePayload(name)
		instance := engram.NewInstance(payload)
		instance.Confidence = confidence
		w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID("Object/Seen/Camera/" + name), Time: 1, Instances: []engram.Instance{instance},
		}}})
	}

	w.Indexes().Register("sure", wm.IndexOptions{New: func() asking.Index { return sureIndex{} }})
	w.Indexes().Await(ctx, "sure") // else it is filled beside, and all are candidates meanwhile
	look := w.Indexes().Look(asking.Request{Condition: surely(0.5), Span: engram.Always(), AsOf: engram.MaxTime}, false)
	view := w.View(ctx, nil) // after the index was asked
	provider := engram.MustID("Object/Seen/Camera")
	for name := range look.Until(view.Number()).Names(provider, view.Names(provider)) {
		snapshot, _ := w.Latest(ctx, engram.MustID("Object/Seen/Camera/"+name)) // its condition is checked on it
		fmt.Println(name, surely(0.5).Satisfied(provider, &snapshot.Instances[0]))
	}
	// Output:
	// cup true
}
