package pose

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestRetrace(t *testing.T) {
	s := New(Config{})
	robot, err := s.Free("map", "base")
	if err != nil {
		t.Fatal(err)
	}
	for i := range engram.Time(5) {
		if err := robot.Set(i*1e9, Translation(float64(i), 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	table := Span{From: 1e9, Parent: "map", Samples: []Sample{{1e9, Translation(1, 0, 0), ExactCov()}}}
	hand := Span{From: 3e9, Parent: "base", Samples: []Sample{{3e9, Translation(0.5, 0, 0), DiagonalCov(0.1, 0.1)}}}
	before := s.Revision()
	if _, err := s.Retrace("cup", []Span{table, hand}, Rest(), MaxGap(0)); err != nil || s.Revision() != before {
		t.Fatal(err, s.Revision())
	}
	at := func(when engram.Time, x float64) {
		t.Helper()
		p, _ := s.Path("map", "cup")
		if got, _, fail := p.At(when); fail.Code != OK || got.T.X != x {
			t.Errorf("at %v: %v, %v", when, got, fail)
		}
	}
	at(1e9, 1)
	at(3e9-1, 1)
	at(3e9, 3.5)
	at(4e9, 4.5)
	// What rests has no latest time.
	p, _ := s.Path("map", "cup")
	if got, info, fail := p.LatestCommon(); fail.Code != OK || got.T.X != 4.5 || info.SourceTime != 4e9 {
		t.Error(got, info, fail)
	}
	if got, _, fail := p.Latest(0); fail.Code != OK || got.T.X != 4.5 {
		t.Error(got, fail)
	}
	p, _ = s.Path("base", "cup")
	if got, info, fail := p.LatestCommon(); fail.Code != OK || got.T.X != 0.5 || info.SourceTime != engram.MaxTime {
		t.Error(got, info, fail)
	}
	if edges := s.Structure().Above(4e9, "cup"); len(edges) != 2 || edges[0].Parent != "base" || edges[1].Parent != "map" {
		t.Error(edges)
	}
	// What was is another belief: a revision.
	hand.Parent = ""
	if _, err := s.Retrace("cup", []Span{table, hand}, Rest(), MaxGap(0)); err != nil || s.Revision() == before || !s.Structure().Hangs("cup") {
		t.Error(err, s.Revision())
	}
	if p, _ := s.Path("map", "cup"); p != nil {
		if _, _, fail := p.At(4e9); fail.Code != NotConnected {
			t.Error(fail)
		}
	}
	loop := Span{From: 1e9, Parent: "cup", Samples: []Sample{{1e9, Identity(), Cov{}}}}
	if _, err := s.Retrace("map", []Span{loop}); engram.CodeOf(err) != engram.Conflict {
		t.Error(err)
	}
	at(2e9, 1)
	loop.From, loop.Samples[0].Time = 5e9, 5e9
	if _, err := s.Retrace("map", []Span{loop}); err != nil {
		t.Errorf("at a time when it hangs elsewhere: %v", err)
	}
	if _, err := s.Retrace("cup", nil); err != nil || s.Structure().Hangs("cup") || !s.Structure().Hangs("map") {
		t.Error(err)
	}
}

// TestDetach lets go of two frames whose clock began anew, in one revision, of which who acquired is told: poses of any time are
// taken. The revision before has what it had until that has happened often. A view of before does not change.
func TestDetach(t *testing.T) {
	s := New(Config{})
	for _, name := range []string{"base", "cup"} {
		edge := must[*FreeEdge](t)(s.Free("map", name, Keep(Retention{MaxCount: 16})))
		for i := range engram.Time(200) {
			ok(t, edge.Set(i*second, Translation(float64(i), 0, 0)))
		}
	}
	rev, before := s.Revision(), s.Now()
	acquired := must[Acquisition](t)(s.Acquire("cup", 190*second))
	sub := must[*Subscription](t)(s.Subscribe(Changes{Target: "map", Source: "cup", OnlyAcquired: true}, rev))
	Detach(s, "base", "cup", "unknown")
	Detach(s, "base")
	Detach(s)
	if s.Revision() != rev+1 {
		t.Errorf("revision %d after %d", s.Revision(), rev)
	}
	if ev := must[Event](t)(sub.Next(t.Context())); len(ev.Moved) != 1 || ev.Moved[0].ID != acquired.ID || !ev.Moved[0].Failed {
		t.Errorf("event %+v", ev)
	}
	for i := range maxDetached + 1 {
		was := must[*View](t)(s.View(AsOf(rev)))
		if T, _, fail := must[*Path](t)(was.Path("map", "cup")).At(199 * second); (fail.Code == OK) != (i < maxDetached) {
			t.Errorf("by the revision before, %d times later: %v %v", i, T, fail.Err())
		}
		edge := must[*FreeEdge](t)(s.Observe(2*second, "table", "cup"))
		ok(t, edge.Set(2*second, Translation(1, 0, 0)))
		ok(t, edge.Set(3*second, Translation(2, 0, 0)))
		if T, _, fail := s.Lookup("table", "cup", 2*second+second/2); fail.Code != OK || T.T.X != 1.5 {
			t.Errorf("of what was set then: %v %v", T, fail.Err())
		}
		Detach(s, "cup")
	}
	if T, _, fail := must[*Path](t)(before.Path("map", "cup")).At(199 * second); fail.Code != OK || T.T.X != 199 {
		t.Errorf("by a view of before: %v %v", T, fail.Err())
	}
}
