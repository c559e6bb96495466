package client_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/internal/testkit"
	links "github.com/seed-301d4374/engram/mind/link"
)

// linking is an update of an entity that links to some IDs.
func linking(t testing.TB, entity string, at engram.Time, to ...string) engram.EntityUpdate {
	t.Helper()
	var ids []engram.ID
	for _, text := range to {
		ids = append(ids, engram.MustID(text))
	}
	p, err := idf.ValuePayload(map[string]any{"to": ids})
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}
}

// traced lists the entities of a trace, with why they are missing.
func traced(t testing.TB, c *client.Client, root string, o links.Options) string {
	t.Helper()
	trace, err := links.New(c, c.Robot()).Trace(t.Context(), engram.MustID(root), o)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range trace.Nodes {
		n := &trace.Nodes[i]
		all = append(all, strings.TrimSpace(n.ID.Truncate(engram.LevelEntity).String()+" "+n.Missing))
	}
	return strings.Join(all, ", ")
}

// Links are followed from server to server; what a server has that is away is told to be.
func TestTraceOverServers(t *testing.T) {
	t.Parallel()
	c, _, hosts := cluster(t)
	testkit.Commit(t, c, linking(t, "A/Any/p/image", 1), linking(t, "B/Any/p/pose", 2, "A/Any/p/image"),
		linking(t, "C/Any/p/plan", 3, "B/Any/p/pose"), linking(t, "A/Any/p/deed", 4, "C/Any/p/plan", "D/Any/p/none"))
	if got, want := traced(t, c, "A/Any/p/deed", links.Options{}), "A/Any/p/deed, C/Any/p/plan, D/Any/p/none not there, B/Any/p/pose, A/Any/p/image"; got != want {
		t.Errorf("up it is %s, want %s", got, want)
	}
	if got, want := traced(t, c, "A/Any/p/image", links.Options{Direction: links.Down}), "A/Any/p/image, B/Any/p/pose, C/Any/p/plan, A/Any/p/deed"; got != want {
		t.Errorf("down it is %s, want %s", got, want)
	}
	hosts[2].stop()
	testkit.Until(t, func() (string, bool) { // the client may take a while to notice
		got := traced(t, c, "A/Any/p/deed", links.Options{})
		return got, got == "A/Any/p/deed, C/Any/p/plan unreachable, D/Any/p/none unreachable"
	})
}

// Links in the memory of another robot are to what they name there, and lead from one robot to another.
func TestTraceOverRobots(t *testing.T) {
	t.Parallel()
	base := startRobot(t, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"}, []string{"Map"})
	robot := startRobot(t, embedded.Options{Robot: "robot1", LeafOf: []string{base.fabric.LeafURL()}}, []string{"Object"})
	c, own := base.client(t), robot.client(t)
	knows(t, c, true, "robot1:Object")
	knows(t, own, true, "base:Map")
	testkit.Commit(t, own, linking(t, "Object/Any/p/image", 1), linking(t, "Object/Any/p/pose", 2, "Object/Any/p/image"))
	testkit.Commit(t, c, linking(t, "Map/Any/p/wall", 3, "robot1:Object/Any/p/pose"))
	testkit.Commit(t, own, linking(t, "Object/Any/p/plan", 4, "base:Map/Any/p/wall"))
	for _, asked := range []struct {
		c          *client.Client
		root, want string
		o          links.Options
	}{
		{c, "robot1:Object/Any/p/plan", "robot1:Object/Any/p/plan, Map/Any/p/wall, robot1:Object/Any/p/pose, robot1:Object/Any/p/image", links.Options{}},
		{own, "Object/Any/p/plan", "Object/Any/p/plan, base:Map/Any/p/wall, Object/Any/p/pose, Object/Any/p/image", links.Options{}},
		{c, "robot1:Object/Any/p/image", "robot1:Object/Any/p/image, robot1:Object/Any/p/pose, Map/Any/p/wall, robot1:Object/Any/p/plan", links.Options{Direction: links.Down, Memories: []string{"*", "*:*"}}},
		{own, "Object/Any/p/image", "Object/Any/p/image, Object/Any/p/pose", links.Options{Direction: links.Down}},
	} {
		testkit.Until(t, func() (string, bool) {
			got := traced(t, asked.c, asked.root, asked.o)
			return fmt.Sprintf("%s: %s, want %s", asked.root, got, asked.want), got == asked.want
		})
	}
}

// BenchmarkTrace follows links through 1,000 snapshots in 20 levels, which lie at two servers in turn.
func BenchmarkTrace(b *testing.B) {
	const levels, wide = 20, 50
	c := benchServers(b, "A", "B")
	name := func(level, i int) string { return fmt.Sprintf("%c/Any/p/%d-%d", 'A'+level%2, level, i) }
	for level := range levels {
		var updates []engram.EntityUpdate
		for i := range wide {
			var to []string
			if level > 0 {
				to = []string{name(level-1, i), name(level-1, (i+1)%wide)}
			}
			updates = append(updates, linking(b, name(level, i), engram.Time(level+1), to...))
		}
		if r, err := c.Commit(b.Context(), engram.Commit{Updates: updates}); err != nil || engram.FirstError(r) != nil {
			b.Fatal(err, engram.FirstError(r))
		}
	}
	var all []string
	for i := range wide {
		all = append(all, name(levels-1, i))
	}
	testkit.Commit(b, c, linking(b, "A/Any/p/last", levels+1, all...), linking(b, "A/Any/p/first", 0))
	for what, o := range map[string]links.Options{"up": {Nodes: 2000}, "down": {Nodes: 2000, Direction: links.Down}} {
		root := "A/Any/p/last"
		if o.Direction == links.Down {
			root = name(0, 0)
		}
		b.Run(what, func(b *testing.B) {
			tracer := links.New(c, c.Robot())
			n := 0
			for b.Loop() {
				trace, err := tracer.Trace(context.Background(), engram.MustID(root), o)
				if err != nil {
					b.Fatal(err)
				}
				n = len(trace.Nodes)
			}
			b.ReportMetric(float64(n), "nodes")
		})
	}
}
