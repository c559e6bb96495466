package pose

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestEdgesAreDescribed(t *testing.T) {
	s := rover(t, Config{}, Keep(Retention{MaxCount: 16}))
	commit(t, s, key(0, 0, 0), key(4*second, 0, 0))
	e := must[*FreeEdge](t)(s.Free("odom", "base"))
	for i := engram.Time(11); i < 100; i++ {
		ok(t, e.Set(i*second, Identity()))
	}
	must[*FreeEdge](t)(s.Reparent(200*second, "island", "cam"))
	always := engram.Always()
	infos := s.Edges()
	free := infos[0]
	if free.Samples+free.Pruned != 100 || free.Pruned == 0 || free.Bytes != free.Samples*64 ||
		free.Last != 99*second || free.First != engram.Time(free.Pruned)*second {
		t.Errorf("the free edge is %+v", free)
	}
	free = EdgeInfo{Parent: free.Parent, Child: free.Child, Kind: free.Kind, Valid: free.Valid}
	infos[0] = free
	want := []EdgeInfo{
		{Parent: "odom", Child: "base", Kind: KindFree, Valid: always},
		{Parent: "base", Child: "cam", Kind: KindFixed, Valid: engram.Interval{Start: always.Start, End: 200 * second}},
		{Parent: "island", Child: "cam", Kind: KindFree, Valid: engram.Interval{Start: 200 * second, End: always.End}},
		{Parent: "site", Child: "odom", Kind: KindAnchor, Valid: always, Samples: 2, Last: 4 * second},
	}
	if !slices.Equal(infos, want) {
		t.Errorf("edges %+v\nwant %+v", infos, want)
	}
	way, fail := pathOf(t, s, "cam", "site").Edges(100 * second)
	ok(t, fail.Err())
	var children []string
	for _, e := range way {
		children = append(children, e.Child)
	}
	if !slices.Equal(children, []string{"cam", "base", "odom"}) {
		t.Errorf("the way from cam to site goes over %v", children)
	}
	if _, fail = pathOf(t, s, "cam", "site").Edges(200 * second); fail.Code != NotConnected {
		t.Errorf("after the camera went elsewhere: %v", fail.Code)
	}
}

// TestReadersSeeWholeRevisions moves two anchors together; their children never
// move against each other.
func TestReadersSeeWholeRevisions(t *testing.T) {
	s := New(Config{})
	ok(t, s.Anchor("site", "one"))
	ok(t, s.Anchor("site", "two"))
	move := func(x float64) {
		tx := s.Begin("slam")
		for k := range engram.Time(3) {
			tx.Key("site", "one", k*second, Translation(x, 0, 0), Cov{})
			tx.Key("site", "two", k*second, Translation(x, 0, 0), Cov{})
		}
		must[Revision](t)(tx.Commit())
	}
	move(0)
	p := pathOf(t, s, "one", "two")
	done := make(chan string)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				done <- ""
				return
			default:
			}
			if T, _, fail := p.At(second); fail.Code != OK || T.T != (Vec3{}) {
				done <- T.String()
				return
			}
		}
	}()
	for i := range 500 {
		move(float64(i))
	}
	close(stop)
	if half := <-done; half != "" {
		t.Errorf("a reader saw half a revision: %s", half)
	}
}
