package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// indexed is a memory with an index of payload types.
type indexed struct {
	*life
	*rand.Rand
	testing.TB
	o       ltm.Options
	types   []engram.TypeDef
	arrived []engram.Time // of some commits
	used    int           // queries that an index answered
}

// Index.Thing is extended by Index.Tool, and not by Index.Other.
const indexProto = `
syntax = "proto3";
package Index;
message Thing { double weight = 1; }
message Tool { double weight = 1; string use = 2; }
message Other { string weight = 1; }
`

func (x *indexed) begin() {
	x.life = beginWithin(x, x.o, wm.Limits{Recent: 64})
	for _, t := range x.types {
		if err := x.wm.AddType(x.Context(), t); err != nil {
			x.Fatal(err)
		}
	}
	if err := x.wm.Indexes().Register("type", wm.IndexOptions{New: query.NewTypeIndex}); err != nil {
		x.Fatal(err)
	}
}

func (x *indexed) entity() engram.ID {
	return engram.MustID(fmt.Sprintf("%v/p%d/e%d", segments[x.IntN(len(segments))].ID, x.IntN(2), x.IntN(20)))
}

// commit commits n updates at random.
func (x *indexed) commit(n int) {
	for range n {
		x.commitTo(x.entity())
	}
}

// commitTo commits an update of an entity; few entities have anything but Index.Other.
func (x *indexed) commitTo(entity engram.ID) {
	u := engram.EntityUpdate{Entity: entity, Time: engram.Time(x.IntN(40))}
	for range 1 + x.IntN(2) {
		typ := "Index.Other"
		if name := u.Entity.Entity(); (name == "e1" || name == "e2") && x.IntN(2) == 0 {
			typ = []string{"Index.Thing", "Index.Tool"}[x.IntN(2)]
		}
		u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: typ}))
	}
	results, err := x.wm.Commit(x.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil || results[0].Err != nil && engram.CodeOf(results[0].Err) != engram.TooOld {
		x.Fatal(err, results)
	}
	if s, err := x.Latest(x.Context(), u.Entity); err == nil && x.IntN(10) == 0 {
		x.arrived = append(x.arrived, s.Arrived)
	}
}

// ask returns the answer to a query with and without the index.
func (x *indexed) ask() {
	selectors := []engram.SnapshotSelector{
		engram.All(), engram.Latest(1 + x.IntN(3)), engram.At(engram.Time(x.IntN(40))), engram.AtOrBefore(engram.Time(x.IntN(40))),
		engram.In(engram.Interval{Start: engram.Time(x.IntN(20)), End: engram.Time(20 + x.IntN(20))}), engram.Indices(-2, -1), engram.Nearest(20, 10),
	}
	q := engram.Pattern{}.Select(selectors[x.IntN(len(selectors))])
	q.Type = []string{"Index.Thing", "Index.Tool", "Index.Other", "Index.Nope"}[x.IntN(4)]
	q.Target, q.FilterOrder, q.WithoutPayload = engram.Target(x.IntN(3)), engram.FilterOrder(x.IntN(2)), x.IntN(2) == 0
	if len(x.arrived) > 0 && x.IntN(3) == 0 {
		q.AsOf = &x.arrived[x.IntN(len(x.arrived))]
	}
	ctx := x.Context()
	if x.IntN(3) == 0 {
		ctx = engram.WithScope(ctx, without{x.entity(), engram.MustID(fmt.Sprintf("%v/p1", segments[x.IntN(3)].ID))})
	}
	if x.IntN(2) == 0 {
		if err := x.wm.Indexes().Await(ctx, "type"); err != nil {
			x.Fatal(err)
		}
	}
	if x.wm.Indexes().Figures()[0].Ready {
		x.used++
	}
	with, err := x.Query(ctx, q)
	if err != nil {
		x.Fatal(err)
	}
	// Who asks for names looks at all entities.
	names := engram.Pattern{}.Select()
	names.Memories[0].Names = engram.OneOf("Nope")
	q.Memories = append(q.Memories, names.Memories...)
	plain, err := x.Query(ctx, q)
	if err != nil {
		x.Fatal(err)
	}
	if !reflect.DeepEqual(with.Items(), plain.Items()) || !reflect.DeepEqual(with.Missing, plain.Missing) {
		x.Fatalf("%s, target %d, order %d, as of %v, %+v:\nwith the index %v, missing %+v\nwithout %v, missing %+v",
			q.Type, q.Target, q.FilterOrder, q.AsOf, q.Memories[0].Children[0].Children[0].Children[0].Snapshots, ids(with), with.Missing, ids(plain), plain.Missing)
	}
}

func ids(r *engram.Result) (list []engram.ID) {
	for it := range r.All() {
		list = append(list, it.ID)
	}
	return list
}

// without is a scope of all but some.
type without []engram.ID

func (w without) Visibility(id engram.ID) engram.Visibility {
	v := engram.Visible
	for _, hidden := range w {
		if hidden.Contains(id) {
			return engram.Hidden
		}
		if id.Contains(hidden) {
			v = engram.Partial
		}
	}
	return v
}

// The index of types answers as if there was none: at any time and as of any, for whom some
// is hidden, after evictions, while it is behind, after more updates than it is told of,
// sealed, forgotten, recalled and in later epochs.
func TestIndexedAnswersAreThoseWithout(t *testing.T) {
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"index.proto": {Data: []byte(indexProto)}}}, "index.proto")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for seed := range uint64(testkit.Repeats(2, 40)) {
		x := &indexed{Rand: rand.New(rand.NewPCG(seed, 1)), TB: t, types: defs, o: ltm.Options{Dir: fastDir(t)}}
		if seed%2 == 1 {
			x.o.Policies = map[engram.ID]policy.Policy{segments[0].ID: {Record: policy.Never}}
		}
		x.begin()
		for range 60 {
			switch x.IntN(12) {
			case 0:
				x.commit(100) // more than the memory remembers
			case 1:
				if err := x.Seal(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
			case 2:
				x.end(t)
				x.begin()
			case 3:
				if _, err := x.Recall(t.Context(), engram.PatternOf(x.entity()).Select(engram.Latest(2))); err != nil {
					t.Fatal(err)
				}
			case 4:
				x.ask()
				entity := x.entity()
				for range 30 { // most of them are evicted before the index comes to them
					x.commitTo(entity)
				}
				x.ask()
			case 5, 6:
				x.commit(1 + x.IntN(10))
			default:
				x.ask()
			}
		}
		used += x.used
	}
	t.Logf("an index was there for %d queries", used)
	if used < 20 {
		t.Errorf("an index was there for %d queries", used)
	}
}
