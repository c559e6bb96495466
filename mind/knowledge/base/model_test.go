package base_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// tried is a memory of knowledge and a world that change at random, and a base that follows them.
type tried struct {
	*testing.T
	r     *rand.Rand
	svc   engram.Service
	live  *base.Base
	eyes  []*world.Memory
	marks []world.Mark // of what was written since a view was taken
	seen  []world.Mark // of what was written before
	ticks int
	late  engram.Time // the earliest that was said late; MaxTime if nothing was
	lates int
}

func (t *tried) one(of ...string) string { return of[t.r.IntN(len(of))] }

func (t *tried) item() string { return fmt.Sprint("item", t.r.IntN(7)) }

// mark takes what a call of a world returns; what is refused is no fault.
func (t *tried) mark(m world.Mark, err error) {
	switch engram.CodeOf(err) {
	case engram.NotFound, engram.Conflict, engram.Invalid, engram.OutOfRange:
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.marks = append(t.marks, m)
}

// said is an item in a few versions, some with the IRI that it was imported with.
func (t *tried) said() world.Item {
	var it world.Item
	if t.r.IntN(2) == 0 {
		d := &world.Description{Kinds: []string{t.one("object", "map", "joint")}}
		if t.r.IntN(2) == 0 {
			d.Properties = map[string]any{semmap.PropertyIRI: "http://x/i" + fmt.Sprint(t.r.IntN(5))}
		}
		if t.r.IntN(2) == 0 {
			d.Box = &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 1 + t.r.Float64(), Y: 1, Z: 1}}
		}
		it.Description = d
	}
	if t.r.IntN(2) == 0 {
		it.Structure = &world.Structure{Parent: t.one("", t.item())}
	}
	if it.Description == nil && it.Structure == nil || t.r.IntN(2) == 0 {
		it.Placement = &world.Placement{Frame: t.one("map", t.item()), Pose: pose.Translation(t.r.Float64(), t.r.Float64(), 0)}
	}
	return it
}

func (t *tried) changeWorld() {
	ctx, w := t.Context(), t.eyes[t.r.IntN(len(t.eyes))]
	joint := fmt.Sprint("joint", t.r.IntN(3))
	if t.r.IntN(4) == 0 {
		joint = t.item() // as imported ones are
	}
	switch t.r.IntN(12) {
	case 0:
		t.mark(w.Remove(ctx, t.item(), "", world.Children(t.r.IntN(3))))
	case 1:
		t.mark(w.Withdraw(ctx, t.item()))
	case 2:
		t.mark(w.Articulate(ctx, joint, world.Articulation{
			Base: t.item(), Moved: t.item(), Kind: world.Revolute, Direction: pose.Vec3{Z: 1}, Pose: pose.Identity(), Radius: t.r.Float64(),
		}))
	case 3:
		t.mark(w.SetMap(ctx, fmt.Sprint("map", t.r.IntN(2)), world.Map{Kind: world.MapKind(t.r.IntN(2)), Frame: t.item(), Describes: []string{t.item(), t.item()}}, nil))
	case 4:
		t.mark(w.SetState(ctx, world.State{Item: t.item(), Name: t.one("full", "on"), Value: t.one("yes", "no")}, 1))
	case 5:
		t.mark(w.SetComponent(ctx, t.one("camera", t.item()), world.Component{Kind: t.one("camera", "laser"), Robot: t.item(), Frame: t.item()}))
	case 6, 7:
		t.mark(w.UpdatePose(ctx, t.item(), "map", pose.Translation(t.r.Float64(), 0, 0), pose.Cov{}))
	case 8:
		t.mark(w.Attach(ctx, t.item(), t.item(), &pose.Pose{R: pose.Identity().R}))
	default:
		_, m, err := w.Update(ctx, world.NamedItem{Name: t.item(), Item: t.said()})
		t.mark(m, err)
	}
}

// triples are some of an individual.
func (t *tried) triples() (all []rdf.Triple) {
	s := "http://x/i" + fmt.Sprint(t.r.IntN(6))
	for range t.r.IntN(4) + 1 {
		all = append(all, triple(s, "http://x/p"+fmt.Sprint(t.r.IntN(3)), fmt.Sprint(t.r.IntN(3))))
	}
	return all
}

func (t *tried) changeKnowledge(now engram.Time) {
	provider := t.one("left", "right", "eye0") // a world's, too
	switch all := t.triples(); t.r.IntN(4) {
	case 0: // withdrawn
		know(t, t.svc, provider, now, record.Record{Kind: record.Individual, Name: all[0].S.Value})
	default:
		know(t, t.svc, provider, now, record.Record{Kind: record.Individual, Name: all[0].S.Value, Triples: all})
	}
}

// sayLate states something at an earlier time.
func (t *tried) sayLate() {
	then := engram.Now() - 1 - engram.Time(t.r.IntN(20_000_000))
	t.late = min(t.late, then)
	if t.r.IntN(2) == 0 {
		t.changeKnowledge(then)
		return
	}
	t.lates++
	w, err := world.Over(t.Context(), t.svc, fmt.Sprint("late", t.lates), world.DefaultRules(), world.Clock(func() engram.Time { return then }), world.FromSource(world.Perception))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, m, err := w.Update(t.Context(), world.NamedItem{Name: t.item(), Item: t.said()})
	t.mark(m, err)
}

// act states that a skill was executed, with an item.
func (t *tried) act() {
	execute(t, t.svc, fmt.Sprint("run", t.r.IntN(4)), engram.Now(), map[string]any{
		"timestamp": moment(0), "started": moment(engram.Now()), "skill": "Skill/Description/arm/pick", "status": "Running", "caller": "", "message": "",
		"cause": "World/Item/eye0/" + t.item(),
	})
}

// view returns the live view, which has all that was committed.
func (t *tried) view() *knowledge.View {
	t.Helper()
	t.ticks++
	tick := rdf.Triple{S: rdf.NewIRI("http://x/tick"), P: rdf.NewIRI("http://x/is"), O: rdf.Term{Kind: rdf.Literal, Value: fmt.Sprint(t.ticks)}}
	know(t, t.svc, "tick", engram.Now(), record.Record{Kind: record.Individual, Name: tick.S.Value, Triples: []rdf.Triple{tick}})
	for {
		v, err := t.live.View(t.Context(), t.marks...)
		if err != nil {
			t.Fatal(err)
		}
		for range v.Match(tick.S, tick.P, tick.O) {
			t.seen, t.marks = append(t.seen, t.marks...), nil
			return v
		}
		runtime.Gosched()
	}
}

func triplesOf(g *knowledge.Graph) map[rdf.Triple]bool {
	all := map[rdf.Triple]bool{}
	for it := range g.Match(rdf.Term{}, rdf.Term{}, rdf.Term{}) {
		all[it] = true
	}
	return all
}

func (t *tried) same(what string, got, want map[rdf.Triple]bool) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	var differ []string
	for it := range got {
		if !want[it] {
			differ = append(differ, fmt.Sprint("too much: ", it))
		}
	}
	for it := range want {
		if !got[it] {
			differ = append(differ, fmt.Sprint("missing: ", it))
		}
	}
	slices.Sort(differ)
	t.Fatalf("%s:\n%s", what, strings.Join(differ[:min(len(differ), 20)], "\n"))
}

// relations are triples that follow from where things are.
func relations(v *knowledge.View) map[rdf.Triple]bool {
	all := map[rdf.Triple]bool{}
	for _, p := range []string{"on", "near", "above"} {
		answers, _ := v.Computed.Compute(rdf.Term{}, semmap.NS+p, rdf.Term{})
		for d := range answers {
			all[d.Triple] = true
		}
	}
	return all
}

// A base that follows random changes has what one has that is opened anew, which is what is in the memories;
// and at each past time what it had then.
func TestModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			model(&tried{T: t, r: rand.New(rand.NewPCG(seed, 15)), late: engram.MaxTime})
		})
	}
}

func model(t *tried) {
	ctx := t.Context()
	t.svc = serving.New(t, memories.All()...)
	for i := range 2 {
		w, err := world.Over(ctx, t.svc, fmt.Sprint("eye", i), world.DefaultRules(), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		t.eyes = append(t.eyes, w)
	}
	var err error
	if t.live, err = base.Over(ctx, t.svc); err != nil {
		t.Fatal(err)
	}
	defer t.live.Close()
	type memory struct {
		at  engram.Time
		had map[rdf.Triple]bool
		rel map[rdf.Triple]bool
	}
	var remembered []memory
	for range 12 {
		for range t.r.IntN(6) + 1 {
			switch t.r.IntN(10) {
			case 0:
				t.sayLate()
			case 1:
				t.act()
			case 2, 3, 4:
				t.changeKnowledge(engram.Now())
			default:
				t.changeWorld()
			}
		}
		v := t.view()
		had, rel := triplesOf(v.Graph), relations(v)
		anew, err := base.Over(ctx, t.svc)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := anew.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.same("the live base beside one that is opened anew", had, triplesOf(fresh.Graph))
		t.same("what is computed live beside anew", rel, relations(fresh))
		t.same("what lies in the memories and is not said with other words", t.lying(had), map[rdf.Triple]bool{})
		anew.Close()
		remembered = append(remembered, memory{engram.Now(), had, rel})
		for _, m := range remembered {
			beliefs := []engram.Time{m.at}
			if m.at < t.late {
				beliefs = append(beliefs, engram.MaxTime)
			}
			for _, asOf := range beliefs {
				past, err := t.live.Past(ctx, m.at, asOf)
				if err != nil {
					t.Fatal(err)
				}
				t.same(fmt.Sprint("the past as of ", asOf), triplesOf(past.Graph), m.had)
				t.same(fmt.Sprint("what was computed in the past as of ", asOf), relations(past), m.rel)
			}
		}
	}
}

// lying returns what is in the memories and not had.
func (t *tried) lying(had map[rdf.Triple]bool) map[rdf.Triple]bool {
	c, err := record.NewCodec(t.Context(), t.svc)
	if err != nil {
		t.Fatal(err)
	}
	said, _, err := c.Read(t.Context(), t.svc, []engram.Pattern{record.All()}, engram.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	lying := map[rdf.Triple]bool{}
	documented := map[string]bool{}
	for _, s := range said {
		documented[s.Name] = true
		for _, it := range s.Triples {
			if !had[it] {
				lying[it] = true
			}
		}
	}
	f, err := t.eyes[0].View(t.Context(), t.seen...)
	if err != nil {
		t.Fatal(err)
	}
	names := semmap.NewNames(t.eyes[0].Robot())
	names.Learn(f)
	for _, it := range semmap.All(f, names) {
		if !had[it] && !documented[it.S.Value] && !documented[it.O.Value] && !strings.Contains(it.S.Value, "perception@") && !strings.Contains(it.S.Value, "matrix@") {
			lying[it] = true
		}
	}
	return lying
}
