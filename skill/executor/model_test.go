package executor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/skill"
)

// world is a memory and providers around an Executor, with a clock of its own. Its providers
// keep the contract: what runs moves until they say that it stands still, until they begin
// anew, or until they have died for a lease and a stop timeout.
type world struct {
	t   testing.TB
	rnd *rand.Rand
	e   *Executor
	now engram.Time
	log []string

	descriptions map[engram.ID]skill.Description
	switches     []skill.Switch
	requests     map[engram.ID]skill.Request
	aborts       []skill.AbortOrder
	executions   map[engram.ID]skill.Execution // the newest of each
	transitions  map[engram.ID]engram.Time
	watched      map[engram.ID]bool
	fenced       map[string]int64
	crashed      bool // what is said is not carried out
	calm         bool // it does not crash

	providers map[string]*robot
	met       bool
	started   map[string]int // by execution and attempt
	n         int
}

// robot is a provider as it is.
type robot struct {
	name   string
	epoch  int64
	alive  bool
	silent bool // it does not answer
	heard  engram.Time
	moving map[engram.ID]*motion
}

type motion struct {
	order    skill.Order
	stopping bool
}

const lease, stopTimeout = 1500 * time.Millisecond, 2 * time.Second

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 0)), now: engram.Time(1e18), descriptions: map[engram.ID]skill.Description{},
		requests: map[engram.ID]skill.Request{}, executions: map[engram.ID]skill.Execution{}, transitions: map[engram.ID]engram.Time{},
		watched: map[engram.ID]bool{}, fenced: map[string]int64{}, providers: map[string]*robot{}, started: map[string]int{}, met: true,
	}
	w.begin()
	return w
}

func (w *world) begin() {
	w.e = New(Config{
		Resolve: func(d *skill.Description, p any) (any, error) {
			if p == "bad" {
				return nil, fmt.Errorf("the parameter is bad")
			}
			return p, nil
		},
		Claimed: func(id engram.ID) bool { _, ok := w.executions[id]; return ok },
		Began:   w.now, Grace: 3 * time.Second,
	})
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.3f ", time.Duration(w.now-1e18).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format+"\n%s", append(args, strings.Join(w.log[max(0, len(w.log)-80):], "\n"))...)
}

func (w *world) describe(provider string, d skill.Description) {
	id := engram.MustID("Skill/Description/" + provider + "/" + d.Name)
	w.descriptions[id] = d
	w.carryOut(w.e.Describe(w.now, provider, d))
}

func (w *world) heartbeat(r *robot) {
	if r.alive && r.epoch > w.fenced[r.name] {
		r.heard = w.now
		w.carryOut(w.e.Provider(w.now, r.name, skill.ProviderState{Epoch: r.epoch, Lease: lease, InService: true}))
	}
}

func (w *world) register(name string) *robot {
	r := w.providers[name]
	if r == nil {
		r = &robot{name: name}
		w.providers[name] = r
	}
	r.epoch, r.alive, r.silent, r.moving = int64(w.now), true, false, map[engram.ID]*motion{}
	w.logf("%s begins epoch %d", name, r.epoch)
	w.heartbeat(r)
	return r
}

func (w *world) request(r skill.Request) engram.ID {
	w.n++
	id := engram.MustID(fmt.Sprintf("Skill/Request/me/r%04d", w.n))
	w.requests[id] = r
	w.logf("request %s of %s, priority %v", id.Entity(), r.Skill, r.Priority)
	w.carryOut(w.e.Request(w.now, id, r))
	return id
}

func (w *world) abort(request engram.ID) {
	a := skill.AbortOrder{Request: request, Reason: skill.ReasonOperator, By: "op"}
	w.aborts = append(w.aborts, a)
	w.logf("abort %s", request.Entity())
	w.carryOut(w.e.Abort(w.now, a))
}

func (w *world) report(r *robot, m *motion, kind skill.ReportKind) {
	if kind == skill.ReportSucceeded || kind == skill.ReportFailed || kind == skill.ReportStopped {
		delete(r.moving, m.order.Execution)
	}
	if r.epoch <= w.fenced[r.name] {
		return // the memory refuses it
	}
	w.logf("%s reports %s %s", r.name, m.order.Execution.Entity(), kind)
	w.carryOut(w.e.Report(w.now, r.name, skill.Report{Execution: m.order.Execution, ProviderEpoch: r.epoch, Attempt: m.order.Attempt, Kind: kind}))
}

var next = map[skill.Status][]skill.Status{
	skill.Constructing: {skill.Initializing, skill.Aborted, skill.Failed},
	skill.Initializing: {skill.Preparing, skill.Failed, skill.Aborted},
	skill.Preparing:    {skill.Running, skill.Failed, skill.Aborted, skill.Succeeded /* dry */, skill.Preparing /* restarted */},
	skill.Running:      {skill.Stopping, skill.Succeeded, skill.Failed, skill.Aborted, skill.Preparing /* resumed */},
	skill.Stopping:     {skill.Running /* refused */, skill.Succeeded, skill.Failed, skill.Aborted},
}

// carryOut does what the executor says, and checks it.
func (w *world) carryOut(actions []Action) {
	w.t.Helper()
	for _, a := range actions {
		if w.crashed || !w.calm && w.rnd.IntN(500) == 0 && len(w.providers) > 1 { // it dies between any two
			w.crashed = true
			return
		}
		switch a := a.(type) {
		case Write:
			x := a.Execution
			was, known := w.executions[x.ID]
			w.logf("  %s %s %s %q", x.ID.Entity(), x.Skill.Entity(), x.Status, x.Message)
			switch {
			case !known && x.Status != skill.Constructing:
				w.fatalf("%s begins as %s", x.ID, x.Status)
			case known && was.Status.Ended():
				w.fatalf("%s has ended as %s and becomes %s", x.ID, was.Status, x.Status)
			case known && x.Timestamp <= was.Timestamp:
				w.fatalf("%s goes back in time", x.ID)
			case known && a.Transition != nil && !slices.Contains(next[was.Status], x.Status):
				w.fatalf("%s goes from %s to %s", x.ID, was.Status, x.Status)
			case known && a.Transition == nil && was.Status != x.Status:
				w.fatalf("%s goes from %s to %s without a transition", x.ID, was.Status, x.Status)
			}
			if a.Transition != nil && a.Transition.Timestamp <= w.transitions[a.Of] {
				w.fatalf("transitions of %s go back in time", a.Of)
			}
			if a.Transition != nil {
				w.transitions[a.Of] = a.Transition.Timestamp
			}
			if x.Status.Ended() {
				for id, c := range w.executions {
					if c.Parent == x.ID && !c.Status.Ended() {
						w.fatalf("%s ends before %s, which it called", x.ID, id)
					}
				}
				if x.Stop != nil && x.Stop.Answer == skill.Pending {
					w.fatalf("%s ends without an answer to its stop", x.ID)
				}
			}
			if x.Status == skill.Aborted && x.Stop == nil || x.Status == skill.Failed && (x.Failure == nil || x.Failure.Code == "") {
				w.fatalf("%s does not say why it ends", x.ID)
			}
			w.executions[x.ID] = x
		case Tell:
			w.tell(a)
		case Fence:
			w.logf("  fence %s %d", a.Provider, a.Epoch)
			w.fenced[a.Provider] = max(w.fenced[a.Provider], a.Epoch)
		case Watch:
			w.watched[a.Execution] = true
		case Unwatch:
			delete(w.watched, a.Execution)
		}
	}
}

func (w *world) tell(a Tell) {
	w.logf("  tell %s: %s %s, attempt %d", a.Call.ProviderSegment(), a.Order.Action, a.Order.Execution.Entity(), a.Order.Attempt)
	r := w.providers[a.Call.ProviderSegment()]
	x := w.executions[a.Order.Execution]
	if a.Order.Action == skill.StartAction {
		if x.Status != skill.Running {
			w.fatalf("%s is told to start and is %s", x.ID, x.Status)
		}
		key := fmt.Sprint(x.ID, a.Order.Attempt)
		if w.started[key]++; w.started[key] > 1 {
			w.fatalf("%s is started twice", key)
		}
		if d := w.descriptions[x.Skill]; a.Order.Attempt > 1 && !d.Resumable {
			w.fatalf("%s is begun again", x.ID)
		}
		for _, request := range w.aborts {
			if id, _ := executionOf(request.Request); id == x.ID && a.Order.Attempt == 1 {
				w.fatalf("%s starts though it was aborted before", x.ID)
			}
		}
		// Nothing may move what it needs, but what called it.
		for _, o := range w.providers {
			for id, m := range o.moving {
				if !w.isMoving(o) || w.calls(id, x.ID) {
					continue
				}
				for _, res := range w.descriptions[w.executions[id].Skill].Resources {
					if slices.Contains(x.Resources, res) && m != nil {
						w.fatalf("%s starts while %s of %s moves %s", x.ID, id, o.name, res)
					}
				}
			}
		}
	}
	if r == nil || !r.alive || r.epoch != a.Order.ProviderEpoch {
		return
	}
	switch m := r.moving[a.Order.Execution]; {
	case a.Order.Action == skill.StartAction:
		r.moving[a.Order.Execution] = &motion{order: a.Order}
	case m != nil:
		m.stopping = true
	}
}

// isMoving reports whether what a provider was told to do may still move.
func (w *world) isMoving(r *robot) bool {
	return r.alive && (r.epoch > w.fenced[r.name] || w.now < r.heard.Add(lease+stopTimeout)) || !r.alive && w.now < r.heard.Add(lease+stopTimeout)
}

// calls reports whether a called b, however deep.
func (w *world) calls(a, b engram.ID) bool {
	for b.Level() == engram.LevelEntity {
		if a == b {
			return true
		}
		b = w.executions[b].Parent
	}
	return false
}

// restart has the server die, and another one take its place.
func (w *world) restart() {
	w.crashed = false
	w.logf("the server restarts")
	w.watched = map[engram.ID]bool{}
	w.begin()
	for id, at := range w.transitions {
		_ = id
		w.now = max(w.now, at.Add(time.Microsecond))
	}
	k := Known{Descriptions: w.descriptions, Switches: w.switches, Aborts: w.aborts, Requests: w.requests}
	for _, x := range w.executions {
		k.Executions = append(k.Executions, x)
	}
	w.carryOut(w.e.Restore(w.now, k))
}

// pass lets time pass, with heartbeats in between.
func (w *world) pass(d time.Duration) {
	end := w.now.Add(d)
	for w.now < end && !w.crashed {
		step := w.now.Add(lease / 3)
		if t, ok := w.e.Next(); ok && t < step {
			step = max(t, w.now+1)
		}
		w.now = min(step, end)
		w.carryOut(w.e.Advance(w.now))
		for _, name := range sortedKeys(w.providers) {
			w.heartbeat(w.providers[name])
		}
		w.conditions()
	}
}

func (w *world) conditions() {
	var ids []engram.ID
	for id := range w.watched {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, engram.ID.Compare)
	for _, id := range ids {
		var unmet []Unmet
		if !w.met {
			unmet = []Unmet{{Name: "light", Value: "off"}}
		}
		w.carryOut(w.e.Conditions(w.now, id, unmet))
	}
}

func (w *world) describeAll() {
	for i, name := range []string{"Arm", "Base", "Both"} {
		r := w.register(name)
		res := [][]string{{"arm"}, {"base"}, {"arm", "base"}}[i]
		w.describe(r.name, skill.Description{Name: name + "1", Resources: res, StopTimeout: stopTimeout, Preemptible: true})
		w.describe(r.name, skill.Description{Name: name + "2", Resources: res, Timeout: 4 * time.Second, Resumable: true, StopTimeout: stopTimeout})
		w.describe(r.name, skill.Description{Name: name + "3", Conditions: []skill.Requirement{{Name: "light"}}, StopTimeout: stopTimeout})
		w.describe(r.name, skill.Description{Name: "Any", Resources: res[:1], StopTimeout: stopTimeout})
	}
}

// Whatever is asked, aborted, reported and lost in whatever order: statuses follow each other
// as they may, nothing starts that holds what something else may move, nothing starts twice,
// parents end after what they called, and in the end everything has ended.
func TestModel(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		if w := newWorld(t, uint64(seed)); !w.random(120) {
			return
		}
	}
}

// TestModelLong is TestModel at length.
func TestModelLong(t *testing.T) {
	testkit.Long(t)
	for seed := range 3_000 {
		newWorld(t, uint64(seed+1_000_000)).random(300)
	}
}

func (w *world) random(steps int) bool {
	w.describeAll()
	skills := []string{"Arm1", "Arm2", "Arm3", "Base1", "Base2", "Both1", "Both2", "Both/Both3", "Any", "None"}
	for range steps {
		w.step(skills)
		if w.crashed {
			w.restart()
		}
		w.conditions()
	}
	// In the end all providers are well, answer, and all ends.
	w.met = true
	if w.crashed {
		w.restart()
	}
	for _, r := range w.providers {
		r.silent = false
	}
	for range 400 {
		for _, name := range sortedKeys(w.providers) {
			r := w.providers[name]
			if !r.alive || r.epoch <= w.fenced[name] {
				r.alive = false
				w.pass(lease + stopTimeout + time.Second)
				w.now++
				w.register(name)
			}
			w.finish(r)
		}
		for _, d := range sortedIDs(w.descriptions) {
			w.carryOut(w.e.Switch(w.now, skill.Switch{Timestamp: w.now, Skill: d, Enabled: true}))
		}
		w.conditions()
		w.pass(100 * time.Millisecond)
		if w.crashed {
			w.restart()
		}
		if !slices.ContainsFunc(values(w.executions), func(x skill.Execution) bool { return !x.Status.Ended() }) && len(w.executions) == len(w.requests) {
			return !w.t.Failed()
		}
	}
	for id, x := range w.executions {
		if !x.Status.Ended() {
			w.fatalf("%s stays %s: %s", id, x.Status, x.Message)
		}
	}
	w.fatalf("%d requests, %d executions", len(w.requests), len(w.executions))
	return false
}

func (w *world) finish(r *robot) {
	for _, id := range sortedIDs(r.moving) {
		if m := r.moving[id]; m != nil {
			kind := skill.ReportSucceeded
			if m.stopping {
				kind = skill.ReportStopped
			}
			w.report(r, m, kind)
		}
	}
}

func (w *world) step(skills []string) {
	ids := sortedIDs(w.requests)
	name := []string{"Arm", "Base", "Both"}[w.rnd.IntN(3)]
	r := w.providers[name]
	switch k := w.rnd.IntN(100); {
	case k < 25:
		q := skill.Request{Skill: skills[w.rnd.IntN(len(skills))], Caller: "me"}
		if w.rnd.IntN(3) == 0 {
			p := int32(w.rnd.IntN(5))
			q.Priority = &p
		}
		if w.rnd.IntN(3) == 0 {
			q.Timeout = time.Duration(1+w.rnd.IntN(8)) * time.Second
		}
		if w.rnd.IntN(10) == 0 {
			q.CallerLease, q.OnCallerGone = time.Second, []string{"continue", "abort", ""}[w.rnd.IntN(3)]
		}
		if w.rnd.IntN(30) == 0 {
			q.Parameters = "bad"
		}
		q.DryRun = w.rnd.IntN(20) == 0
		var running []engram.ID
		for id, x := range w.executions {
			if x.Status == skill.Running || w.rnd.IntN(50) == 0 {
				running = append(running, id)
			}
		}
		if len(running) > 0 && w.rnd.IntN(2) == 0 {
			slices.SortFunc(running, engram.ID.Compare)
			q.Parent = running[w.rnd.IntN(len(running))]
		}
		w.request(q)
	case k < 35 && len(ids) > 0:
		w.abort(ids[w.rnd.IntN(len(ids))])
	case k < 36:
		w.abort(engram.MustID(fmt.Sprintf("Skill/Request/me/r%04d", w.n+1+w.rnd.IntN(2))))
	case k < 65 && r.alive && !r.silent:
		if ids := sortedIDs(r.moving); len(ids) > 0 {
			m := r.moving[ids[0]]
			kinds := []skill.ReportKind{skill.ReportRunning, skill.ReportSucceeded, skill.ReportFailed, skill.ReportStopped}
			if m.stopping {
				kinds = []skill.ReportKind{skill.ReportRunning, skill.ReportStopped, skill.ReportStopped, skill.ReportStopRefused, skill.ReportSucceeded, skill.ReportFailed}
			}
			kind := kinds[w.rnd.IntN(len(kinds))]
			if kind == skill.ReportStopRefused {
				m.stopping = false
			}
			w.report(r, m, kind)
		}
	case k < 80:
		w.pass(time.Duration(w.rnd.IntN(800)) * time.Millisecond)
	case k < 83:
		w.pass(time.Duration(w.rnd.IntN(5000)) * time.Millisecond)
	case k < 86:
		w.logf("%s dies", name)
		r.alive = false
	case k < 92 && (!r.alive || r.epoch <= w.fenced[name]) && w.now > r.heard.Add(lease):
		w.now++
		w.register(name)
	case k < 94:
		r.silent = !r.silent
	case k < 96:
		w.met = !w.met
	case k < 98:
		id := sortedIDs(w.descriptions)[w.rnd.IntN(len(w.descriptions))]
		s := skill.Switch{Timestamp: w.now, Skill: id, Enabled: w.rnd.IntN(3) > 0}
		w.logf("switch %s %v", id.Entity(), s.Enabled)
		w.switches = append(w.switches, s)
		w.carryOut(w.e.Switch(w.now, s))
	case k < 99:
		w.restart()
	}
}

func sortedIDs[V any](m map[engram.ID]V) []engram.ID {
	var ids []engram.ID
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, engram.ID.Compare)
	return ids
}

func values[V any](m map[engram.ID]V) (all []V) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
