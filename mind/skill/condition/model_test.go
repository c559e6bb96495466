package condition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose"
)

// naive looks at everything at each event.
type naive struct {
	conditions map[engram.ID]*Condition
	present    map[engram.ID]said
	states     map[string]*state // of a condition and a thing
	once       map[string]bool
}

// said is the present snapshot of an entity.
type said struct {
	confidence float32
	at         engram.Time
	arrived    engram.Time
}

type state struct {
	held engram.Time
	done bool
	last engram.Time
}

func threshold(where string) float32 {
	var f float32
	if _, err := fmt.Sscanf(where, "confidence > %g", &f); err != nil {
		return -1
	}
	return f
}

func (n *naive) satisfied(p engram.Pattern, where string, entity engram.ID) bool {
	m, err := p.Matcher()
	if err != nil {
		panic(err)
	}
	v, there := n.present[entity]
	return there && m.Match(entity) && v.confidence > threshold(where)
}

// line is a world in which things are where their confidence is, in metres, but the sure ones, of which nobody knows, and in which
// the robot is elsewhere every two seconds.
type line struct{}

func (line) Of(_ engram.ID, s *engram.Snapshot, instance int) (Place, bool) {
	return at(s.Instances[instance].Confidence)
}

func at(confidence float32) (Place, bool) {
	return Place{Frame: "map", Position: pose.Vec3{X: float64(confidence)}}, confidence < 0.95
}

func (line) Frame(now engram.Time, name string) (Place, bool) {
	if name != "robot" {
		return Place{Frame: name}, true
	}
	return Place{Frame: "map", Position: pose.Vec3{X: float64(now / engram.Time(2*time.Second) % 3)}}, true
}

func (n *naive) near(now engram.Time, t *Term, entity, thing engram.ID, confidence float32) bool {
	if t.Near == 0 {
		return true
	}
	if t.NearTo == "" && entity == thing {
		return false
	}
	of, known := line{}.Frame(now, t.NearTo)
	if t.NearTo == "" {
		of, known = at(confidence)
	}
	is, placed := at(n.present[entity].confidence)
	if !known || !placed || of.Frame != is.Frame {
		return t.None
	}
	return is.Position.Sub(of.Position).Norm() <= t.Near
}

func (n *naive) holds(now engram.Time, c *Condition, thing engram.ID, confidence float32) bool {
	for _, t := range c.All {
		has := false
		for entity, v := range n.present {
			has = has || n.satisfied(t.Of, t.Where, entity) && (t.Within == 0 || now < v.arrived.Add(t.Within)) && n.near(now, &t, entity, thing, confidence)
		}
		if has == t.None {
			return false
		}
	}
	return true
}

func (n *naive) state(id, thing engram.ID) *state {
	key := id.String() + "|" + thing.String()
	if n.states[key] == nil {
		n.states[key] = &state{}
	}
	return n.states[key]
}

// look returns what fires at a time.
func (n *naive) look(now engram.Time) (fired []string) {
	for id, c := range n.conditions {
		things := []engram.ID{{}}
		if len(c.On.Levels) > 0 {
			things = nil
			for entity := range n.present {
				things = append(things, entity)
			}
			for key := range n.states { // of what is there no more
				if of, thing, _ := strings.Cut(key, "|"); of == id.String() && thing != "" && !slices.Contains(things, engram.MustID(thing)) {
					things = append(things, engram.MustID(thing))
				}
			}
		}
		if c.Trigger == EachUpdate {
			continue
		}
		for _, thing := range things {
			st := n.state(id, thing)
			fulfilled := n.holds(now, c, thing, n.present[thing].confidence) && (len(c.On.Levels) == 0 || n.satisfied(c.On, c.Where, thing))
			if !fulfilled {
				if st.held = 0; c.Trigger == Edge {
					st.done = false
				}
				continue
			}
			if st.held == 0 {
				st.held = now
			}
			pause := c.Pause
			if c.Trigger == Level && pause == 0 {
				pause = DefaultPause
			}
			if !st.done && now >= st.held.Add(c.Hold) && (st.last == 0 || now >= st.last.Add(pause)) {
				st.done = true
				fired = append(fired, n.fire(now, st, id, thing, c)...)
			}
		}
	}
	return fired
}

func (n *naive) fire(now engram.Time, st *state, id, thing engram.ID, c *Condition) []string {
	if c.OncePer != "" {
		key := id.String() + "|" + thing.String()
		if n.once[key] {
			return nil
		}
		n.once[key] = true
	}
	st.last = now
	return []string{id.String() + " " + thing.String()}
}

// apply takes an update, and returns what fires.
func (n *naive) apply(now engram.Time, entity engram.ID, at engram.Time, confidence float32) (fired []string) {
	had, there := n.present[entity]
	if !there || at >= had.at {
		n.present[entity] = said{confidence, at, now}
	}
	for id, c := range n.conditions {
		m, err := c.On.Matcher()
		if err != nil {
			panic(err)
		}
		if c.Trigger != EachUpdate || !m.Match(entity) || confidence <= threshold(c.Where) || !n.holds(now, c, entity, confidence) {
			continue
		}
		if st := n.state(id, entity); st.last == 0 || now >= st.last.Add(c.Pause) {
			fired = append(fired, n.fire(now, st, id, entity, c)...)
		}
	}
	return append(fired, n.look(now)...)
}

func told(all []Fired) []string {
	names := make([]string, 0, len(all))
	for _, f := range all {
		names = append(names, f.Condition.String()+" "+f.Thing.String())
	}
	sort.Strings(names)
	return names
}

// A set fires what a naive one fires that looks at everything each time, over random conditions, updates, removals and time.
func TestSetAgainstANaiveOne(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := &naive{conditions: map[engram.ID]*Condition{}, present: map[engram.ID]said{}, states: map[string]*state{}, once: map[string]bool{}}
		s := New(func(string) *idf.Type { return nil }, line{})
		snapshots := map[engram.ID]engram.Item{}
		present := func(p engram.Pattern) (all []engram.Item, _ error) {
			m, err := p.Matcher()
			for entity, item := range snapshots {
				if m.Match(entity) {
					all = append(all, item)
				}
			}
			return all, err
		}
		pattern := func() engram.Pattern {
			return engram.MustPattern([]string{"M/A", "M/A/p", "M/A/*/x", "M/A/p/x", "M/B", "M/B/~p|q", "M/A/*/~x|y"}[r.IntN(7)])
		}
		where := func() string { return []string{"", "confidence > 0.3", "confidence > 0.7"}[r.IntN(3)] }
		span := func() time.Duration { return []time.Duration{0, 0, time.Second, 3 * time.Second}[r.IntN(4)] }
		now := engram.Time(0)
		running := map[string]bool{}
		check := func(what string, got []Fired, want []string) {
			t.Helper()
			sort.Strings(want)
			if g := told(got); !slices.Equal(g, want) {
				t.Fatalf("seed %d, %v, %s: it fires %q, want %q", seed, now, what, g, want)
			}
			for _, name := range want {
				running[name] = true
			}
		}
		for range 200 {
			now = now.Add(time.Second)
			check("with time", s.Tick(now), n.look(now))
			entity := engram.MustID([]string{"M/A/p/x", "M/A/p/y", "M/A/q/x", "M/B/p/z", "M/B/r/z"}[r.IntN(5)])
			switch r.IntN(10) {
			case 0:
				id := engram.MustID(fmt.Sprint("Skill/Condition/c/", r.IntN(6)))
				c := Condition{Trigger: Trigger(r.IntN(3)), Pause: span()}
				if r.IntN(4) > 0 || c.Trigger == EachUpdate {
					if c.On, c.Where = pattern(), where(); r.IntN(4) == 0 {
						c.OncePer = Entity
					}
				}
				if c.Trigger != EachUpdate {
					c.Hold = span()
				}
				for range r.IntN(3) {
					term := Term{Of: pattern(), Where: where(), None: r.IntN(2) == 0, Within: span()}
					if r.IntN(2) == 0 {
						if term.Near = 0.4; len(c.On.Levels) == 0 || r.IntN(2) == 0 {
							term.NearTo = []string{"robot", "nowhere"}[r.IntN(2)]
						}
					}
					c.All = append(c.All, term)
				}
				s.Remove(id)
				delete(n.conditions, id)
				for key := range n.states {
					if strings.HasPrefix(key, id.String()+"|") {
						delete(n.states, key)
						delete(n.once, key)
					}
				}
				got, err := s.Put(now, id.At(now), c, present)
				if c.Check() != nil {
					if err == nil {
						t.Fatalf("seed %d: %+v was taken", seed, c)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				n.conditions[id] = &c
				check("put", got, n.look(now))
			case 1:
				if r.IntN(3) > 0 {
					continue
				}
				delete(snapshots, entity)
				delete(n.present, entity)
				var items []engram.Item
				for _, item := range snapshots {
					items = append(items, item)
				}
				check("removed", s.Present(now, "M", items), n.look(now))
			case 2: // what was started at Level ends
				for name := range running {
					id, thing, _ := strings.Cut(name, " ")
					c := n.conditions[engram.MustID(id)]
					if delete(running, name); c == nil || c.Trigger != Level {
						continue
					}
					of := engram.ID{}
					if thing != "" {
						of = engram.MustID(thing)
					}
					n.state(engram.MustID(id), of).done = false
					check("ended", s.Running(now, engram.MustID(id), of, false), n.look(now))
					break
				}
			default:
				at := now
				if r.IntN(5) == 0 {
					at = at.Add(-2 * time.Second)
				}
				snapshot := &engram.Snapshot{Time: at, Arrived: now, Instances: []engram.Instance{{Confidence: r.Float32()}}}
				if had, there := snapshots[entity]; !there || at >= had.Time {
					snapshots[entity] = engram.Item{ID: entity.At(at), Snapshot: snapshot}
				}
				check("update of "+entity.String(), s.Apply(now, engram.Item{ID: entity.At(at), Snapshot: snapshot}), n.apply(now, entity, at, snapshot.Instances[0].Confidence))
			}
		}
		for id := range n.conditions {
			s.Remove(id)
		}
		if len(s.watches)+len(s.segments)+len(s.seen)+len(s.entries) > 0 || s.Next() != 0 {
			t.Fatalf("seed %d: something is left: %d watches, %d segments, %d entities, next at %v", seed, len(s.watches), len(s.segments), len(s.seen), s.Next())
		}
	}
}

// The same updates in the same order give the same keys, also where the beginning was quiet.
func TestKeysAreTheSame(t *testing.T) {
	id := engram.MustID("Skill/Condition/c/greet")
	c := Condition{On: engram.MustPattern("M/A"), Where: "confidence > 0.5"}
	none := func(engram.Pattern) ([]engram.Item, error) { return nil, nil }
	update := func(i int, confidence float32) engram.Item {
		at := engram.Time(i)
		return engram.Item{ID: engram.MustID("M/A/p/x").At(at), Snapshot: &engram.Snapshot{Time: at, Arrived: at, Instances: []engram.Instance{{Confidence: confidence}}}}
	}
	run := func(quiet int) (keys []string) {
		s := New(func(string) *idf.Type { return nil }, nil)
		if _, err := s.Put(1, id.At(1), c, none); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			apply := func() {
				for _, f := range s.Apply(engram.Time(10+i), update(10+i, float32(i%3)/2)) {
					keys = append(keys, f.Key)
				}
			}
			if i < quiet {
				s.Quiet(apply)
			} else {
				apply()
			}
		}
		return keys
	}
	all, late := run(0), run(10)
	if len(all) < 6 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Fatalf("the keys are %q", all)
	}
	if len(late) == 0 || !slices.Equal(late, all[len(all)-len(late):]) {
		t.Errorf("after a quiet beginning the keys are %q, and else %q", late, all)
	}
}

// A filter that costs too much stops its condition, and one that fires without end.
func TestConditionsThatCannotGoOn(t *testing.T) {
	none := func(engram.Pattern) ([]engram.Item, error) { return nil, nil }
	big := make([]byte, 1<<16)
	for i := range big {
		big[i] = 'a'
	}
	of, ok := idf.NewRegistry().Get(engram.ValueType)
	if !ok {
		t.Fatal("there is no type of values")
	}
	b, err := of.Encode(map[string]any{"text": string(big)})
	if err != nil {
		t.Fatal(err)
	}
	s := New(func(string) *idf.Type { return of }, nil)
	id := engram.MustID("Skill/Condition/c/dear")
	if _, err := s.Put(1, id.At(1), Condition{On: engram.MustPattern("M/A"), Where: `[1,2,3,4,5,6,7,8,9].all(x, [1,2,3,4,5,6,7,8,9].all(y, payload.text.matches("(a|b)*c") || true))`}, none); err != nil {
		t.Fatal(err)
	}
	item := engram.Item{ID: engram.MustID("M/A/p/x").At(2), Snapshot: &engram.Snapshot{Time: 2, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})}}}
	s.Apply(2, item)
	if all := s.Stopped(); len(all) != 1 || all[0].Condition != id || engram.CodeOf(all[0].Err) != engram.Exhausted {
		t.Errorf("a filter that costs too much: %+v", all)
	}
	s.Remove(id)
	often := engram.MustID("Skill/Condition/c/often")
	if _, err := s.Put(3, often.At(3), Condition{On: engram.MustPattern("M/A"), Trigger: EachUpdate}, none); err != nil {
		t.Fatal(err)
	}
	fired := 0
	for i := range 3 * mostBurst {
		item.ID = item.ID.Truncate(engram.LevelEntity).At(engram.Time(10 + i))
		fired += len(s.Apply(engram.Time(10+i), item))
	}
	if all := s.Stopped(); fired > mostBurst || len(all) == 0 || engram.CodeOf(all[0].Err) != engram.Exhausted {
		t.Errorf("it fired %d times, and was stopped %d times", fired, len(all))
	}
}

// BenchmarkUpdateThatConcernsNone is an update in a core segment that 10,000 conditions are about, each of another entity.
func BenchmarkUpdateThatConcernsNone(b *testing.B) {
	s := New(func(string) *idf.Type { return nil }, nil)
	for i := range 10_000 {
		id := engram.MustID(fmt.Sprint("Skill/Condition/c/", i))
		c := Condition{On: engram.MustPattern(fmt.Sprintf("Object/Instance/*/cup%d", i)), Where: "confidence > 0.8"}
		if _, err := s.Put(1, id.At(1), c, func(engram.Pattern) ([]engram.Item, error) { return nil, nil }); err != nil {
			b.Fatal(err)
		}
	}
	item := engram.Item{ID: engram.MustID("Object/Instance/Eye/plate").At(1), Snapshot: &engram.Snapshot{Time: 1, Instances: []engram.Instance{{Confidence: 1}}}}
	b.ReportAllocs()
	for b.Loop() {
		if len(s.Apply(2, item)) > 0 {
			b.Fatal("it fired")
		}
	}
}
