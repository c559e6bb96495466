package link_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/link"
	"github.com/seed-301d4374/engram/mind/memories"
)

// serve returns a server with the memory Test, of values of any shape, and Skill.
func serve(t testing.TB) *server.Server {
	t.Helper()
	segments := []engram.CoreSegment{{ID: engram.MustID("Test/Any")}}
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "Test", Segments: segments}, memories.Skill()}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A trace finds what a search through everything finds: with links to instances, snapshots, entities, segments, to itself,
// in circles and to what is not there, of values and of activities.
func TestTraceIsThatOfASearch(t *testing.T) {
	nodes, activities := 0, 0
	for seed := range testkit.Repeats(30, 300) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		s := serve(t)
		commit(t, s, r)
		all := everything(t, s)
		tracer := link.New(s, "")
		for range 20 {
			root := all.some(r)
			o := link.Options{Direction: link.Direction(r.IntN(2)), Depth: 1 + r.IntN(20)}
			if r.IntN(3) == 0 {
				o.Memories = []string{"Skill"}
			}
			trace, err := tracer.Trace(t.Context(), root, o)
			if err != nil {
				t.Fatal(err)
			}
			got, want := told(trace), all.trace(t, root, o)
			if !slices.Equal(got, want) {
				more := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return slices.Contains(want, line) })
				less := slices.DeleteFunc(want, func(line string) bool { return slices.Contains(got, line) })
				t.Fatalf("seed %d: the trace of %s, %+v, has\n%s\nand not\n%s", seed, root, o, strings.Join(more, "\n"), strings.Join(less, "\n"))
			}
			nodes += len(trace.Nodes)
			for i := range trace.Nodes {
				if trace.Nodes[i].IsActivity() {
					activities++
				}
			}
			if few := 1 + r.IntN(len(trace.Nodes)); few < len(trace.Nodes) {
				o.Nodes = few
				if part, err := tracer.Trace(t.Context(), root, o); err != nil || len(part.Nodes) > few || part.Cut == 0 {
					t.Fatalf("seed %d: of %d nodes %d were asked for, and %d are there, %d cut, %v", seed, len(trace.Nodes), few, len(part.Nodes), part.Cut, err)
				}
			}
		}
	}
	if nodes < 2000 || activities < 200 {
		t.Errorf("only %d nodes were found, %d of them activities", nodes, activities)
	}
}

// commit writes a random history.
func commit(t *testing.T, s *server.Server, r *rand.Rand) {
	entity := func() engram.ID {
		if r.IntN(4) == 0 {
			return engram.MustID(fmt.Sprintf("Skill/Execution/p/%d", r.IntN(3)))
		}
		return engram.MustID(fmt.Sprintf("Test/Any/%c/%d", 'p'+r.IntN(2), r.IntN(4)))
	}
	target := func() engram.ID {
		switch e := entity(); r.IntN(8) {
		case 0:
			return e.Truncate(engram.Level(1 + r.IntN(3)))
		case 1:
			return e
		case 2, 3:
			return e.At(engram.Time(r.IntN(12))).Instance(r.IntN(3))
		case 4:
			return engram.MustID("Test/Any/p/never")
		default:
			return e.At(engram.Time(r.IntN(12)))
		}
	}
	execution, _ := memories.Type("engram.skill.Execution")
	for range 5 + r.IntN(40) {
		u := engram.EntityUpdate{Entity: entity(), Time: engram.Time(r.IntN(12))}
		for range 1 + r.IntN(2) {
			var p engram.Payload
			var err error
			if u.Entity.Memory() == "Skill" {
				p.Type = execution.Name()
				p.Bytes, err = execution.Encode(map[string]any{"skill": target(), "parent": target(), "cause": target()})
			} else {
				var links []any
				for range r.IntN(3) {
					links = append(links, target())
				}
				p, err = idf.ValuePayload(map[string]any{"to": links})
			}
			if err != nil {
				t.Fatal(err)
			}
			u.Instances = append(u.Instances, engram.NewInstance(p))
		}
		testkit.Commit(t, s, u)
	}
}

// told lists the nodes and links of a trace, sorted.
func told(t *link.Trace) (lines []string) {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		lines = append(lines, fmt.Sprintf("%s at %d with %d %s", n.ID, n.Depth, len(n.Snapshots), n.Missing))
	}
	for _, l := range t.Links {
		lines = append(lines, fmt.Sprintf("%s -%s-> %s as %s", t.Nodes[l.From].ID, l.Path, t.Nodes[l.To].ID, l.ID))
	}
	slices.Sort(lines)
	return lines
}

// library is all that there is.
type library struct {
	s     *server.Server
	items []engram.Item
}

func everything(t *testing.T, s *server.Server) *library {
	r, err := s.Query(t.Context(), engram.MustPattern("*").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	return &library{s, r.Items()}
}

// some returns an entity, a snapshot or an instance that there is.
func (l *library) some(r *rand.Rand) engram.ID {
	switch item := l.items[r.IntN(len(l.items))]; r.IntN(4) {
	case 0:
		return item.ID.Truncate(engram.LevelEntity)
	case 1:
		return item.ID.Instance(r.IntN(len(item.Instances)))
	default:
		return item.ID
	}
}

// place is what a link is to: an instance, or all of a node; missing if there is none.
type place struct {
	node     engram.ID
	instance int
	missing  bool
}

// edge is a link.
type edge struct {
	from, to place
	path     string
	as       engram.ID
}

// find returns what a link at a time is to.
func (l *library) find(to engram.ID, now engram.Time) place {
	if to.Level() < engram.LevelEntity {
		return place{node: to, instance: -1}
	}
	at, exactly := to.Time()
	var best *engram.Item
	for i := range l.items {
		item := &l.items[i]
		if item.ID.Parent() == to.Truncate(engram.LevelEntity) && link.IsActivity(item.Instances[0].Payload.Type) {
			return place{node: item.ID.Parent(), instance: -1}
		}
		if item.ID.Truncate(engram.LevelEntity) != to.Truncate(engram.LevelEntity) || exactly && item.Time != at || !exactly && item.Time > now {
			continue
		}
		if best == nil || item.Time > best.Time {
			best = item
		}
	}
	if best == nil {
		return place{node: to, missing: true}
	}
	i, one := to.Index()
	switch {
	case one && i >= len(best.Instances):
		return place{node: to, missing: true}
	case one:
		return place{node: best.ID, instance: i}
	}
	return place{node: best.ID, instance: -1}
}

// edges returns all links.
func (l *library) edges(t *testing.T) (all []edge) {
	had := map[string]bool{} // of activities
	for _, item := range l.items {
		for i := range item.Instances {
			p := item.Instances[i].Payload
			typ, ok := memories.Type(p.Type)
			if !ok {
				t.Fatalf("no type %s", p.Type)
			}
			links, err := typ.Links(p.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range links {
				from := place{node: item.ID, instance: i}
				if link.IsActivity(p.Type) {
					from = place{node: item.ID.Parent(), instance: -1}
					if key := fmt.Sprint(from.node, to.Path, to.ID); had[key] {
						continue
					} else {
						had[key] = true
					}
				}
				all = append(all, edge{from, l.find(to.ID, item.Time), strings.NewReplacer(`["to"]`, "to").Replace(to.Path), to.ID})
			}
		}
	}
	return all
}

func (l *library) trace(t *testing.T, root engram.ID, o link.Options) (lines []string) {
	edges := l.edges(t)
	depth := map[place]int{}
	nodes := map[engram.ID]int{}
	missing := map[engram.ID]bool{}
	seen := map[string]bool{}
	now := []place{l.find(root, engram.MaxTime)}
	nodes[now[0].node] = 0
	within := func(e edge) bool {
		memory := e.as.Memory()
		if o.Direction == link.Down {
			memory = e.from.node.Memory()
		}
		return len(o.Memories) == 0 || slices.Contains(o.Memories, memory)
	}
	for d := 1; len(now) > 0 && d <= o.Depth; d++ {
		var next []place
		for _, p := range now {
			if _, was := depth[p]; was {
				continue
			}
			depth[p] = d
			for _, e := range edges {
				here, there := e.from, e.to
				meets := p.instance == -1 || p.instance == here.instance
				if o.Direction == link.Down {
					here, there = e.to, e.from
					meets = p.instance == -1 || here.instance == -1 || p.instance == here.instance
				}
				if here.node != p.node || !meets || !within(e) || here.missing {
					continue
				}
				if _, was := nodes[there.node]; !was {
					nodes[there.node] = d
				}
				missing[there.node] = there.missing
				if line := fmt.Sprintf("%s -%s-> %s as %s", e.from.node, e.path, e.to.node, e.as); !seen[line] {
					seen[line] = true
					lines = append(lines, line)
				}
				if !there.missing && there.node.Level() >= engram.LevelEntity {
					next = append(next, there)
				}
			}
		}
		now = next
	}
	for id, d := range nodes {
		n, why := 0, ""
		for _, item := range l.items {
			if item.ID == id || item.ID.Parent() == id && !missing[id] && id.Level() == engram.LevelEntity {
				n++
			}
		}
		if missing[id] {
			n, why = 0, link.Absent
		}
		lines = append(lines, fmt.Sprintf("%s at %d with %d %s", id, d, n, why))
	}
	slices.Sort(lines)
	return lines
}
