package condition_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/skill/condition"
)

// present is a present for tests: what was put, and requests that were made.
type present struct {
	t        testing.TB
	types    *idf.Registry
	newest   map[engram.ID]engram.Item
	requests map[string]bool // whether they have ended
	distance map[string]float64
	related  map[string]bool
	items    []string
}

func (p *present) Newest(_ context.Context, of engram.Pattern) (found []engram.Item, _ error) {
	m, err := of.Matcher()
	for id, it := range p.newest {
		if m.Match(id) {
			found = append(found, it)
		}
	}
	return found, err
}

func (p *present) Type(_ context.Context, name string) *idf.Type {
	t, _ := p.types.Get(name)
	return t
}

func (p *present) Requested(_ context.Context, name string) (made, ended bool, _ error) {
	ended, made = p.requests[name]
	return made, ended, nil
}

func (p *present) Requests(_ context.Context, begin string) (names []string, _ error) {
	for name := range p.requests {
		if strings.HasPrefix(name, begin) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (p *present) Items(context.Context, string) ([]string, error) { return p.items, nil }
func (p *present) Related(_ context.Context, item, relation, other string) (bool, error) {
	return p.related[item+" "+relation+" "+other], nil
}

func (p *present) ItemDistance(_ context.Context, item, other string) (float64, error) {
	d, ok := p.distance[item+" "+other]
	if !ok {
		return 0, engram.Errorf(engram.NotFound, item, "nobody says where it is")
	}
	return d, nil
}

func (p *present) Distance(_ context.Context, t *idf.Type, b []byte, other string) (float64, error) {
	v, err := t.Decode(b)
	if err != nil {
		return 0, err
	}
	return v.(map[string]any)["x"].(float64), nil
}

func (p *present) Ask(context.Context, string) (bool, error) { return len(p.items) > 0, nil }

// kit is an engine at a time, with what it decided.
type kit struct {
	*present
	*condition.Engine
	now   engram.Time
	count uint64
	fired []condition.Firing
	stops []condition.Stop
}

func newKit(t testing.TB) *kit {
	k := &kit{present: &present{t: t, types: idf.NewRegistry(), newest: map[engram.ID]engram.Item{}, requests: map[string]bool{},
		distance: map[string]float64{}, related: map[string]bool{}}, now: 1_000_000_000}
	k.Engine = condition.NewEngine(k.present)
	return k
}

func (k *kit) set(name, text string) {
	k.t.Helper()
	c, err := condition.Parse(text)
	if err != nil {
		k.t.Fatal(err)
	}
	k.now++
	if _, err := k.Set(k.t.Context(), engram.MustID("Skill/Condition/test/"+name).At(k.now), k.now, c); err != nil {
		k.t.Fatal(err)
	}
	d, err := k.Begin(k.t.Context(), name, k.count, k.now)
	if err != nil {
		k.t.Fatal(err)
	}
	k.take(d)
}

func (k *kit) take(d condition.Decisions) {
	for _, f := range d.Firings {
		if _, again := k.requests[f.Name]; again {
			k.t.Fatalf("%s is requested twice", f.Name)
		}
		k.requests[f.Name] = false
		k.fired = append(k.fired, f)
	}
	k.stops = append(k.stops, d.Stops...)
}

// commit writes an entity and tells the engine.
func (k *kit) commit(id string, v map[string]any) engram.Item {
	k.t.Helper()
	it := k.write(id, v)
	k.take(k.Update(k.t.Context(), it, k.now))
	return it
}

func (k *kit) write(id string, v map[string]any) engram.Item {
	k.t.Helper()
	k.now++
	k.count++
	payload, err := idf.ValuePayload(v)
	if err != nil {
		k.t.Fatal(err)
	}
	in := engram.NewInstance(payload)
	if c, ok := v["confidence"].(float64); ok {
		in.Confidence = float32(c)
	}
	entity := engram.MustID(id)
	it := engram.Item{ID: entity.At(k.now), Snapshot: &engram.Snapshot{Time: k.now, Arrived: k.now, Number: k.count, Instances: []engram.Instance{in}}}
	k.newest[entity] = it
	return it
}

// end ends the execution of the i-th request.
func (k *kit) end(i int) {
	k.t.Helper()
	k.requests[k.fired[i].Name] = true
	k.commit("Skill/Execution/Conditions/"+k.fired[i].Name, map[string]any{"status": "Succeeded", "cause": k.fired[i].Cause})
}

func (k *kit) want(n int) {
	k.t.Helper()
	if len(k.fired) != n {
		k.t.Fatalf("%d requests, not %d: %+v", len(k.fired), n, k.fired)
	}
}

const cup = "Object/Instance/Vision/cup"

func TestEdgeFiresWhenItComesToHold(t *testing.T) {
	k := newKit(t)
	k.set("grasp", "on Object/Instance/*/~cup.* where confidence > 0.8 run Grasp with object=$entity side=left at=$update.x seen=$id n=3")
	k.commit(cup, map[string]any{"confidence": 0.5, "x": 1.5})
	k.want(0)
	seen := k.commit(cup, map[string]any{"confidence": 0.9, "x": 2.5})
	k.want(1)
	f := k.fired[0]
	if f.Cause != seen.ID || f.Skill != "Grasp" || f.Caller() != "condition:grasp" {
		t.Errorf("%+v", f)
	}
	if got := fmt.Sprint(f.Parameters); got != fmt.Sprintf("map[at:2.5 n:3 object:cup seen:%s side:left]", seen.ID) {
		t.Error(got)
	}
	k.commit(cup, map[string]any{"confidence": 0.95, "x": 2.5})
	k.want(1) // it holds already
	k.commit("Object/Instance/Vision/cup-2", map[string]any{"confidence": 0.9, "x": 0.5})
	k.want(2) // another thing
	k.commit(cup, map[string]any{"confidence": 0.1, "x": 2.5})
	k.commit(cup, map[string]any{"confidence": 0.9, "x": 2.5})
	k.want(3)
	k.commit("Object/Instance/Vision/plate", map[string]any{"confidence": 0.9})
	k.want(3)
}

func TestAllOfItMustHold(t *testing.T) {
	k := newKit(t)
	k.set("grasp", `on Object/Instance/*/cup where confidence > 0.8 while $entity on table and some Hand/State where width > 0.05
		and none Human/Pose within 1 m of robot and none kind:person within 1 m of $entity run Grasp`)
	k.commit(cup, map[string]any{"confidence": 0.9})
	k.related["cup on table"] = true
	k.commit("Human/Pose/Camera/ann", map[string]any{"x": 0.5})
	k.commit("Hand/State/Driver/right", map[string]any{"width": 0.1})
	k.want(0) // ann is too near
	k.commit("Human/Pose/Camera/ann", map[string]any{"x": 1.5})
	k.want(1)
	if k.fired[0].Cause.Entity() != "cup" {
		t.Errorf("the cause is %s", k.fired[0].Cause)
	}
	k.commit("Hand/State/Driver/right", map[string]any{"width": 0.0})
	k.items = []string{"bob"}
	k.commit("Hand/State/Driver/right", map[string]any{"width": 0.1})
	k.want(1) // nobody knows where bob is
	k.distance["bob cup"] = 3
	k.commit("Object/Instance/Vision/bob", map[string]any{})
	k.want(2)
}

func TestEveryAndFresh(t *testing.T) {
	k := newKit(t)
	k.set("go", "on Door/State/*/* where open while all Motor/State where ready and some Beat/Beat fresh 1s run Go")
	k.commit("Beat/Beat/p/b", map[string]any{})
	k.commit("Motor/State/p/left", map[string]any{"ready": true})
	k.commit("Motor/State/p/right", map[string]any{"ready": false})
	k.commit("Door/State/p/d", map[string]any{"open": true})
	k.want(0)
	k.now += engram.Time(2 * time.Second)
	k.commit("Motor/State/p/right", map[string]any{"ready": true})
	k.want(0) // the beat is old
	k.commit("Beat/Beat/p/b", map[string]any{})
	k.want(1)
}

func TestLevelRunsAgain(t *testing.T) {
	k := newKit(t)
	k.set("charge", "on Battery/State/*/* where level < 20 run Charge level debounce 5s")
	k.commit("Battery/State/p/main", map[string]any{"level": 10})
	k.want(1)
	k.commit("Battery/State/p/main", map[string]any{"level": 11})
	k.want(1) // it runs
	k.end(0)
	due := func() engram.Time {
		d, next := k.Due(t.Context(), k.now)
		k.take(d)
		return next
	}
	if next := due(); next.Sub(k.now) != 5*time.Second {
		t.Errorf("due in %s", next.Sub(k.now))
	}
	k.want(1)
	k.now = k.now.Add(5 * time.Second)
	due()
	k.want(2)
	k.commit("Battery/State/p/main", map[string]any{"level": 90})
	k.end(1)
	k.now = k.now.Add(time.Minute)
	if next := due(); next != 0 {
		t.Errorf("due at %s though it does not hold", next)
	}
	k.want(2)
}

func TestUpdateTriggerAndDebounce(t *testing.T) {
	k := newKit(t)
	k.set("obey", "on Speech/Command where text != '' run Obey update")
	k.set("greet", "on Speech/Command where text == 'hello' run Greet update debounce 10s")
	for range 3 {
		k.commit("Speech/Command/mic/a", map[string]any{"text": "hello"})
	}
	k.want(4)
	k.now = k.now.Add(10 * time.Second)
	k.commit("Speech/Command/mic/a", map[string]any{"text": "hello"})
	k.want(6)
}

func TestOncePerThingOutlivesTheEngine(t *testing.T) {
	k := newKit(t)
	set := func() {
		k.set("once", "on Object/Instance where confidence > 0.8 run Look once per entity")
		k.set("value", "on Object/Instance where confidence > 0.8 run Look once per kind")
	}
	set()
	toggle := func() {
		for _, c := range []float64{0.9, 0.1, 0.9} {
			k.commit(cup, map[string]any{"confidence": c, "kind": "mug"})
			k.commit(cup+"-2", map[string]any{"confidence": c, "kind": "mug"})
		}
	}
	toggle()
	k.want(3)
	k.Engine = condition.NewEngine(k.present)
	set()
	toggle()
	k.want(3)
}

// What was written between two engines counts, once.
func TestNothingIsLostBetweenEngines(t *testing.T) {
	k := newKit(t)
	k.commit(cup, map[string]any{"confidence": 0.9})
	text := "on Object/Instance where confidence > 0.8 run Look"
	k.set("look", text)
	k.want(0) // it was so before
	at := k.now
	again := func() {
		k.Engine = condition.NewEngine(k.present)
		c, _ := condition.Parse(text)
		if _, err := k.Set(t.Context(), engram.MustID("Skill/Condition/test/look").At(at), at, c); err != nil {
			t.Fatal(err)
		}
		d, err := k.Reload(t.Context(), k.now, nil)
		if err != nil {
			t.Fatal(err)
		}
		k.take(d)
	}
	again()
	k.want(0)
	k.write(cup+"-2", map[string]any{"confidence": 0.9})
	again()
	k.want(1)
	again()
	k.want(1)
	k.commit(cup+"-2", map[string]any{"confidence": 0.9})
	k.want(1) // it held all the time
}

// Conditions that fire each other are stopped: by links, and without, also where the effect comes after the end.
func TestCircle(t *testing.T) {
	for _, c := range []struct {
		how  string
		most int
	}{{"linked", 8}, {"unlinked", 80}, {"late", 80}} {
		k := newKit(t)
		k.set("ping", "on Example/A run Ping update")
		k.set("pong", "on Example/B run Pong update")
		k.commit("Example/A/p/x", map[string]any{})
		rounds := 0
		for ; rounds < len(k.fired) && len(k.stops) == 0; rounds++ {
			f := k.fired[rounds]
			execution := "Skill/Execution/Conditions/" + f.Name
			k.commit(execution, map[string]any{"status": "Running", "cause": f.Cause})
			v := map[string]any{}
			if c.how == "linked" {
				id, err := engram.NewID("Skill", "Execution", "Conditions", f.Name)
				if err != nil {
					t.Fatal(err)
				}
				v["execution"] = id
			}
			k.now += engram.Time(time.Millisecond)
			if c.how == "late" {
				k.end(rounds)
				k.now += engram.Time(300 * time.Millisecond)
			}
			k.commit(map[string]string{"Ping": "Example/B/p/x", "Pong": "Example/A/p/x"}[f.Skill], v)
			if c.how != "late" {
				k.end(rounds)
			}
			k.wait()
			if rounds > 100 {
				t.Fatal("nothing stops it")
			}
		}
		if len(k.stops) != 1 || !strings.Contains(k.stops[0].Reason, "ping runs Ping, which fulfils pong runs Pong") {
			t.Errorf("%s: %+v", c.how, k.stops)
		}
		if rounds > c.most {
			t.Errorf("%s: stopped after %d executions", c.how, rounds)
		}
		n := len(k.fired)
		k.commit("Example/A/p/x", map[string]any{})
		k.commit("Example/B/p/x", map[string]any{})
		if len(k.fired) > n+1 {
			t.Error("both run on")
		}
	}
}

// wait has time pass until nothing is due.
func (k *kit) wait() {
	for {
		d, next := k.Due(k.t.Context(), k.now)
		k.take(d)
		if next == 0 {
			return
		}
		k.now = max(k.now+1, next)
	}
}

// What comes regularly is no circle, although each comes when the one before has just ended; none is left out, and few
// are late.
func TestRegularIsNoCircle(t *testing.T) {
	k := newKit(t)
	k.set("watch", "on Example/A run Watch update")
	ended, late := 0, 0
	const n = 1000
	for range n {
		at := len(k.fired)
		k.commit("Example/A/p/x", map[string]any{})
		if len(k.fired) == at {
			late++
		}
		for ; ended < len(k.fired); ended++ {
			k.commit("Skill/Execution/Conditions/"+k.fired[ended].Name, map[string]any{"status": "Running"})
			k.now += engram.Time(time.Millisecond)
			k.end(ended)
		}
		k.now += engram.Time(9 * time.Millisecond)
		d, _ := k.Due(t.Context(), k.now)
		k.take(d)
	}
	if len(k.fired) != n || late == 0 || late > 5 || len(k.stops) > 0 {
		t.Errorf("of %d updates %d led to a request, %d late; stopped: %v", n, len(k.fired), late, k.stops)
	}
}

// What comes regularly while something runs is no circle.
func TestStreamIsNoCircle(t *testing.T) {
	k := newKit(t)
	k.set("watch", "on Example/A run Watch update")
	k.commit("Example/A/p/x", map[string]any{})
	for i := range 200 { // each while the one before runs, and a little longer
		k.commit("Skill/Execution/Conditions/"+k.fired[i].Name, map[string]any{"status": "Running"})
		k.commit("Example/A/p/x", map[string]any{})
		if i > 0 {
			k.end(i - 1)
		}
	}
	if len(k.stops) > 0 {
		t.Errorf("stopped: %+v", k.stops)
	}
}

func TestTextIsReadAgain(t *testing.T) {
	for _, text := range []string{
		"on Object/Instance run Grasp",
		"on Object/Instance/*/~cup.* where confidence > 0.8 while some A/B where x == 1 and none class:Person within 1 m of robot run Arm/Grasp with a=$entity b=3 c=\"x y\" d=[1,2] level debounce 2s once per entity priority 3",
		`on Speech/Command where (run == "while and") run Obey update`,
		`on "Speech/Command/my mic" while ask "?x a Cup . ?x on Table" run Obey once per text.words[0]`,
	} {
		c, err := condition.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := condition.Parse(c.String())
		if err != nil || !again.Same(c) {
			t.Errorf("%s\nis written as\n%s\n%v", text, c, err)
		}
	}
}

func TestBadConditions(t *testing.T) {
	for text, want := range map[string]string{
		"run Grasp":                               "on PATTERN",
		"on A/B":                                  "run SKILL",
		"on A/B where confidence >> 3 run X":      "where",
		"on A/B/C/D/E run X":                      "on",
		"on A/B while nonsense run X":             "",
		"on A/B while x within 1 of y run X":      "metres",
		"on A/B while A/B on table run X":         "pattern of entities",
		"on A/B run X with a=$nothing":            "parameters.a",
		"on A/B run X debounce soon":              "duration",
		"on A/B run X once":                       "once per",
		"on A/B run X with a=(":                   "not closed",
		"on A/B run X priority much":              "priority",
		"on A/B run X sometimes once per a..b":    "",
		"on A/B while some C/D fresh never run X": "fresh",
		"on A/B while some C/D where ((((x run X": "not closed",
	} {
		c, err := condition.Parse(text)
		if want == "" {
			if err != nil && engram.CodeOf(err) != engram.Invalid {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %+v", text, err, c)
		}
	}
}

// An update that concerns none of 10,000 conditions.
func BenchmarkUpdateThatConcernsNone(b *testing.B) {
	for _, what := range []string{"names", "regexes"} {
		b.Run(what, func(b *testing.B) {
			k := newKit(b)
			for i := range 10_000 {
				name := fmt.Sprintf("thing-%d", i)
				if what == "regexes" {
					name = "~" + name + "-.*"
				}
				k.set(fmt.Sprint("c", i), "on Object/Instance/*/"+name+" where confidence > 0.8 while some Hand/State where width > 0.05 run Grasp")
			}
			others := make([]engram.Item, 1000)
			for i := range others {
				others[i] = k.write(fmt.Sprintf("Object/Instance/Vision/other-%d", i), map[string]any{})
			}
			ctx := b.Context()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k.Update(ctx, others[i%len(others)], k.now)
			}
		})
	}
}
