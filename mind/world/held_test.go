package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/world"
)

// weighed tells how many snapshots there were in the largest answer.
type weighed struct {
	*server.Server
	largest int
}

func (w *weighed) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	r, err := w.Server.Query(ctx, q)
	if err == nil {
		w.largest = max(w.largest, len(r.Items()))
	}
	return r, err
}

// Of a gripper that says again and again what it holds, a world reads the newest 10,000 snapshots, and so does its past. Of
// another hand it reads what is as many back, however long ago that was.
func TestGripperThatRestatesWhatItHolds(t *testing.T) {
	const most = 10_000
	object := memories.Object()
	for i := range object.Segments {
		object.Segments[i].History = engram.Bounds{} // as if it were on disk
	}
	svc := &weighed{Server: serving.New(t, memories.World(), object)}
	ctx := testkit.Context(t)
	of, _ := memories.Type("engram.object.Attachment")
	now := engram.Now()
	var c engram.Commit
	say := func(hand string, ago time.Duration, thing string, active bool, x float64) {
		b, err := of.Encode(posed("kitchen", x, "object", engram.MustID("Object/Instance/eye/"+thing), "active", active,
			"agent", engram.MustID("RobotState/Description/rover/rover")))
		if err != nil {
			t.Fatal(err)
		}
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID("Object/Attachments/rover/" + hand), Time: now.Add(-ago),
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.object.Attachment", Bytes: b})}})
	}
	say("left", 2000*24*time.Hour, "spoon", false, 3)
	say("left", time.Minute, "fork", true, 0)
	say("right", (most+1)*time.Second, "cup", false, 7) // too long ago
	say("right", most*time.Second, "ball", false, 5)
	for i := 1; i < most; i++ {
		say("right", time.Duration(i)*time.Second, "plate", true, float64(i))
	}
	if r, err := svc.Commit(ctx, c); err != nil || engram.FirstError(r) != nil {
		t.Fatal(err, engram.FirstError(r))
	}
	w, err := world.Over(ctx, svc, "plan", world.DefaultRules(), world.FromSource(world.Perception))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f, err := w.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for thing, x := range map[string]float64{"spoon": 3, "fork": 0, "ball": 5, "plate": 1} {
		if m, err := f.Get(thing); err != nil || m.Placement.Pose.T.X != x {
			t.Errorf("the %s: %v, %v, want it at %g", thing, m, err, x)
		}
	}
	if f.Has("cup") {
		t.Error("the cup is there, of which something was read that is too long ago")
	}
	if svc.largest > most+2 {
		t.Errorf("the world read %d snapshots at once", svc.largest)
	}
	past, err := w.Past(ctx, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := described(past), described(f); got != want {
		t.Errorf("the past of now:\n%sother than\n%s", got, want)
	}
	if past, err = w.Past(ctx, now.Add(-time.Hour), nil); err != nil || !past.Has("cup") || past.Has("fork") {
		t.Errorf("an hour ago the cup's last place was among the newest: %v", err)
	}
}
