package memories

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// What a server measures of clocks is told when it differs from what it told, and all worlds compare
// times with it.
func TestClocksAreStatements(t *testing.T) {
	s := serving.New(t, SystemState(), World())
	ctx := testkit.Context(t)
	w, err := world.Over(ctx, s, "test", world.DefaultRules(), world.OfRobot("rover"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	watch, err := w.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	st := newState(t, s)
	stated := func(frame string) world.Item {
		return world.Item{Placement: &world.Placement{Frame: frame, Pose: pose.Identity()}}
	}
	st.item("eye", "cup", 12*second, stated("table"))
	parent := func() string {
		f, err := w.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Get("cup")
		if err != nil {
			return ""
		}
		return m.Placement.Frame
	}
	for parent() != "table" {
		if _, err := watch.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	clocks := NewClocks(s, "rover@host", s.Memories())
	count := func() int {
		r, err := s.Query(ctx, engram.MustPattern("World/Clock").Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Items())
	}
	tell := func(at engram.Time, offset time.Duration, robots ...string) {
		t.Helper()
		var skews []ClockSkew
		for _, robot := range robots {
			skews = append(skews, ClockSkew{Server: "server of " + robot, Robot: robot, Offset: offset, Uncertainty: time.Millisecond, At: at})
		}
		if err := clocks.Tell(ctx, skews); err != nil {
			t.Fatal(err)
		}
	}
	tell(second, 10*time.Second, "tug", "crane")
	tell(2*second, 10*time.Second+15*time.Millisecond, "tug", "crane") // as told
	if n := count(); n != 2 {
		t.Errorf("%d clocks were told", n)
	}
	tell(3*second, 20*time.Second, "tug", "crane")
	if n := count(); n != 4 {
		t.Errorf("%d clocks were told", n)
	}
	// The own clock was ahead, and is set back; then the server begins anew.
	now := engram.Now()
	tell(now.Add(10*time.Minute), 30*time.Second, "tug", "crane")
	tell(now, 10*time.Second, "tug", "crane")
	clocks = NewClocks(s, "rover@host", s.Memories())
	tell(now.Add(time.Second), 20*time.Second, "tug", "crane")
	p, err := world.NewCodec(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Query(ctx, engram.MustPattern("World/Clock/*/tug").Select(engram.Latest(1)))
	if err != nil || len(r.Items()) != 1 {
		t.Fatal(r, err)
	}
	got, err := p.Clock(r.Items()[0].ID, r.Items()[0].Snapshot)
	if err != nil || got.Provider != "rover@host" || got.Skew != (world.Skew{Robot: "tug", Offset: 20 * time.Second, Uncertainty: time.Millisecond}) {
		t.Errorf("%+v, %v", got, err)
	}
}
