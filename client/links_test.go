package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/link/service"
)

// traced returns the nodes of a trace, in their order, and its edges, as "from>to".
func traced(t testing.TB, c *client.Client, q service.TraceQuery) (nodes, edges string) {
	t.Helper()
	var n, e []string
	short := func(id engram.ID) string {
		at, _ := id.Time()
		return id.Memory() + "/" + id.Entity() + "@" + strings.TrimLeft(at.String()[len(at.String())-3:], "0")
	}
	for p, err := range c.Links().Trace(t.Context(), q) {
		switch {
		case err != nil:
			n = append(n, "error: "+err.Error())
		case p.Node != nil && p.Node.Missing != "":
			n = append(n, p.Node.ID.String()+" "+p.Node.Missing)
		case p.Node != nil:
			n = append(n, short(p.Node.ID))
		case p.Edge != nil:
			e = append(e, short(p.Edge.From)+">"+short(p.Edge.To))
		default:
			n = append(n, "more:"+p.More)
		}
	}
	return strings.Join(n, " "), strings.Join(e, " ")
}

func linkTo(id string) map[string]any { return map[string]any{"to": engram.MustID(id)} }

// A trace goes from server to server, both ways, and back-links come from all of them.
func TestTraceOverServers(t *testing.T) {
	c, _, hosts := cluster(t)
	testkit.Commit(t, c,
		testkit.Update(t, "A/Any/p/said", 1001, "bring me the cup"),
		testkit.Update(t, "B/Any/p/request", 1002, linkTo("A/Any/p/said/1001")),
		testkit.Update(t, "C/Any/p/run", 1003, linkTo("B/Any/p/request")),
		testkit.Update(t, "A/Any/p/path", 1004, linkTo("C/Any/p/run")),
		testkit.Update(t, "D/Any/p/circle", 1005, map[string]any{"a": engram.MustID("A/Any/p/path"), "self": engram.MustID("D/Any/p/circle"), "gone": engram.MustID("B/Any/p/nothing"), "no": engram.MustID("X/Any/p/nothing")}),
	)
	up := service.TraceQuery{Start: engram.MustID("D/Any/p/circle")}
	nodes, edges := traced(t, c, up)
	if want := "D/circle@5 A/path@4 B/Any/p/nothing never there X/Any/p/nothing not held here C/run@3 B/request@2 A/said@1"; nodes != want {
		t.Errorf("up: %s, not %s", nodes, want)
	}
	for _, want := range []string{"D/circle@5>D/circle@5", "D/circle@5>A/path@4", "A/path@4>C/run@3", "C/run@3>B/request@2", "B/request@2>A/said@1"} {
		if !slices.Contains(strings.Fields(edges), want) {
			t.Errorf("up: no edge %s in %s", want, edges)
		}
	}
	down := service.TraceQuery{Start: engram.MustID("A/Any/p/said/1001"), Direction: service.Down}
	if nodes, _ := traced(t, c, down); nodes != "A/said@1 B/request@2 C/run@3 A/path@4 D/circle@5" {
		t.Errorf("down: %s", nodes)
	}
	down.Depth = 2
	if nodes, _ := traced(t, c, down); nodes != "A/said@1 B/request@2 C/run@3 more:depth" {
		t.Errorf("down, two links deep: %s", nodes)
	}
	up.Nodes = 3
	if nodes, _ := traced(t, c, up); !strings.HasSuffix(nodes, "more:nodes") || strings.Count(nodes, "/Any")+strings.Count(nodes, "@") != 3 {
		t.Errorf("up, three nodes: %s", nodes)
	}
	up.Nodes, up.Within = 0, []engram.Pattern{engram.MustPattern("A"), engram.MustPattern("C")}
	if nodes, _ := traced(t, c, up); nodes != "D/circle@5 A/path@4 C/run@3" {
		t.Errorf("up in A and C: %s", nodes)
	}
	var back []string
	for b, err := range c.Links().BackLinks(t.Context(), service.BackQuery{Target: engram.MustID("A/Any/p/path/1004")}) {
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, b.Source.String()+b.Path)
	}
	if len(back) != 1 || !strings.HasPrefix(back[0], "D/Any/p/circle/") {
		t.Errorf("back-links of a snapshot that its entity's link means: %q", back)
	}
	hosts[1].stop()
	nodes, _ = traced(t, c, service.TraceQuery{Start: engram.MustID("C/Any/p/run")})
	if !strings.Contains(nodes, "B/Any/p/request") || !strings.Contains(nodes, "more:server") && !strings.Contains(nodes, "not held here") {
		t.Errorf("a server is away: %s", nodes)
	}
}

// A link of another robot is read as that robot names memories.
func TestTraceOverRobots(t *testing.T) {
	t.Parallel()
	base, r1, r2, _ := fleetOf(t)
	cb, c1, c2 := base.client(t), r1.client(t), r2.client(t)
	for _, c := range []*client.Client{cb, c1, c2} {
		knows(t, c, true, "base:Object", "robot1:Object", "robot2:Object", "base:Map")
	}
	testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/seen", 1001, "garbage"))
	testkit.Commit(t, c1, testkit.Update(t, "Object/Any/p/told", 1002, linkTo("Object/Any/p/seen/1001")))
	testkit.Commit(t, c2, testkit.Update(t, "Object/Any/p/went", 1003, linkTo("robot1:Object/Any/p/told")))
	testkit.Commit(t, cb, testkit.Update(t, "Map/Any/p/done", 1004, linkTo("robot2:Object/Any/p/went")))
	for _, x := range []struct {
		c           *client.Client
		start, want string
	}{
		{cb, "Map/Any/p/done", "Map/done@4 robot2:Object/went@3 robot1:Object/told@2 robot1:Object/seen@1"},
		{c1, "base:Map/Any/p/done", "base:Map/done@4 robot2:Object/went@3 Object/told@2 Object/seen@1"},
		{c2, "base:Map/Any/p/done", "base:Map/done@4 Object/went@3 robot1:Object/told@2 robot1:Object/seen@1"},
	} {
		if nodes, _ := traced(t, x.c, service.TraceQuery{Start: engram.MustID(x.start)}); nodes != x.want {
			t.Errorf("up from %s: %s, not %s", x.start, nodes, x.want)
		}
	}
	for _, x := range []struct {
		c           *client.Client
		start, want string
	}{
		{cb, "robot1:Object/Any/p/seen", "robot1:Object/seen@1 robot1:Object/told@2 robot2:Object/went@3 Map/done@4"},
		{c1, "Object/Any/p/seen", "Object/seen@1 Object/told@2 robot2:Object/went@3 base:Map/done@4"},
		{c1, "robot1:Object/Any/p/seen", "Object/seen@1 Object/told@2 robot2:Object/went@3 base:Map/done@4"},
	} {
		if nodes, _ := traced(t, x.c, service.TraceQuery{Start: engram.MustID(x.start), Direction: service.Down}); nodes != x.want {
			t.Errorf("down from %s: %s, not %s", x.start, nodes, x.want)
		}
	}
}
