package schedule

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// naive is a schedule that looks at everything each time, and keeps what has ended.
type naive struct {
	next      map[engram.ID]*Stop
	tasks     []*Task
	due       map[engram.ID]engram.Time
	leases    map[string]*lease
	disabled  map[engram.ID]bool
	seq       map[engram.ID]int
	asked     int
	effective map[engram.ID]int // priorities
}

type lease struct {
	epoch  uint64
	until  engram.Time
	fenced bool
}

func newNaive() *naive {
	return &naive{next: map[engram.ID]*Stop{}, due: map[engram.ID]engram.Time{}, leases: map[string]*lease{}, disabled: map[engram.ID]bool{}, seq: map[engram.ID]int{}, effective: map[engram.ID]int{}}
}

func (n *naive) get(id engram.ID) *Task {
	for _, t := range n.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (n *naive) live(id engram.ID) *Task {
	if t := n.get(id); t != nil && !t.Status.Ended() {
		return t
	}
	return nil
}

func (n *naive) children(id engram.ID) (all []*Task) {
	for _, t := range n.tasks {
		if t.Parent == id && !t.Status.Ended() {
			all = append(all, t)
		}
	}
	return all
}

func (n *naive) isWithin(t *Task, of engram.ID) bool {
	for ; t != nil; t = n.get(t.Parent) {
		if t.ID == of {
			return true
		}
	}
	return false
}

func (n *naive) lease(name string) *lease {
	if n.leases[name] == nil {
		n.leases[name] = &lease{}
	}
	return n.leases[name]
}

func (n *naive) stop(now engram.Time, t *Task, why Stop) {
	if t.Status.Ended() {
		return
	}
	if t.Status == Stopping {
		rank := map[Reason]int{Preempted: 0, TimeLimit: 1, Asked: 2, ParentEnded: 2}
		if had := n.next[t.ID]; had == nil && why.Reason != t.Stop.Reason || had != nil && rank[why.Reason] > rank[had.Reason] {
			n.next[t.ID] = &why
		}
		return
	}
	for _, c := range n.children(t.ID) {
		n.stop(now, c, Stop{Reason: ParentEnded, By: t.ID})
	}
	if t.Called == 0 {
		why.Answer = Confirmed
		t.Stop = &why
		n.end(now, t, Aborted)
		if why.Reason == TimeLimit || why.Reason == ProviderLost || why.Reason == Waited {
			t.Status = Failed
		}
		return
	}
	why.Deadline = now.Add(t.StopWithin)
	t.Status, t.Stop = Stopping, &why
	n.due[t.ID] = why.Deadline
}

func (n *naive) end(now engram.Time, t *Task, s Status) {
	t.Status = s
	delete(n.due, t.ID)
	for _, c := range n.children(t.ID) {
		n.stop(now, c, Stop{Reason: ParentEnded, By: t.ID})
	}
}

// tick does what is due, the first to be due first.
func (n *naive) tick(now engram.Time) {
	for {
		var first *Task
		var of *lease
		var name string
		at := now + 1
		for _, t := range n.tasks {
			if d := n.due[t.ID]; d != 0 && d < at {
				first, of, at = t, nil, d
			}
		}
		for k, l := range n.leases {
			if l.until != 0 && l.until < at {
				first, of, name, at = nil, l, k, l.until
			}
		}
		switch {
		case of != nil:
			n.lose(now, name)
		case first == nil:
			return
		default:
			delete(n.due, first.ID)
			switch {
			case first.Called == 0:
				n.stop(now, first, Stop{Reason: Waited})
			case first.Status == Stopping:
				first.Stop.Answer = Unconfirmed
				n.lease(first.Provider()).fenced = true
			default:
				n.stop(now, first, Stop{Reason: TimeLimit})
			}
		}
	}
}

func (n *naive) lose(now engram.Time, name string) {
	l := n.lease(name)
	l.until, l.fenced = 0, false
	for _, t := range n.tasks {
		switch {
		case t.Provider() != name || t.Called == 0 || t.Status.Ended():
		case t.Status == Stopping && t.Stop.Reason == TimeLimit:
			n.end(now, t, Failed)
		case t.Status == Stopping:
			n.end(now, t, Aborted)
		case t.Repeatable && n.get(t.Parent) == nil:
			n.again(now, t)
		default:
			t.Stop = &Stop{Reason: ProviderLost}
			n.end(now, t, Failed)
		}
	}
}

func (n *naive) again(now engram.Time, t *Task) {
	t.Called, t.Epoch, t.Status, t.Stop, t.Asked = 0, 0, Preparing, nil, now
	delete(n.due, t.ID)
	delete(n.next, t.ID)
	if t.Patience > 0 {
		n.due[t.ID] = now.Add(t.Patience)
	}
	for _, c := range n.children(t.ID) {
		n.stop(now, c, Stop{Reason: ParentEnded, By: t.ID})
	}
}

// inUse returns who uses a resource of a task so that the task may not.
func (n *naive) inUse(t *Task, r string) (by []*Task) {
	for _, u := range n.tasks {
		if u.Called == 0 || u.Status.Ended() || !slices.Contains(u.Resources, r) || n.isWithin(t, u.ID) {
			continue
		}
		shared := false
		for p := n.get(t.Parent); p != nil; p = n.get(p.Parent) {
			shared = shared || n.isWithin(u, p.ID) && p.Called != 0 && !p.Status.Ended() && slices.Contains(p.Resources, r)
		}
		if !shared {
			by = append(by, u)
		}
	}
	return by
}

// dispatch calls the first that can be called, until none can.
func (n *naive) dispatch(now engram.Time) {
	for again := true; again; {
		again = false
		var waiting []*Task
		for _, t := range n.tasks {
			l := n.lease(t.Provider())
			if t.Called == 0 && !t.Status.Ended() && l.until != 0 && !l.fenced && !n.disabled[t.Skill] {
				waiting = append(waiting, t)
			}
		}
		slices.SortFunc(waiting, func(a, b *Task) int {
			if a, b := n.effective[a.ID], n.effective[b.ID]; a != b {
				return b - a
			}
			return n.seq[a.ID] - n.seq[b.ID]
		})
		wanted := map[string]bool{}
		for _, t := range waiting {
			free, behind := true, false
			var by []*Task
			for _, r := range t.Resources {
				own := false // an execution that called it has it
				for p := n.get(t.Parent); p != nil; p = n.get(p.Parent) {
					own = own || p.Called != 0 && !p.Status.Ended() && slices.Contains(p.Resources, r)
				}
				behind = behind || wanted[r] && !own
				by = append(by, n.inUse(t, r)...)
			}
			if free = len(by) == 0 && !behind; free {
				t.Called, t.Epoch = now, n.lease(t.Provider()).epoch
				if delete(n.due, t.ID); t.Limit > 0 {
					n.due[t.ID] = now.Add(t.Limit)
				}
				again = true
				break
			}
			may := !behind
			for _, u := range by {
				may = may && u.Preemptible && n.effective[u.ID] < n.effective[t.ID] && (u.Stop == nil || u.Stop.Answer != Refused)
			}
			if may {
				for _, u := range by {
					if u.Status != Stopping && !u.Status.Ended() {
						n.stop(now, u, Stop{Reason: Preempted, By: t.ID})
						again = true
					}
				}
			}
			for _, r := range t.Resources {
				wanted[r] = true
			}
		}
	}
}

// The schedule does what a naive one does, over random requests, aborts, reports, priorities and losses of providers.
func TestModel(t *testing.T) {
	seed := testkit.Seed(t)
	for round := range testkit.Repeats(40, 20_000) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		if !runModel(t, r) {
			t.Fatalf("in round %d", round)
		}
	}
}

var modelProviders = []string{"arm", "base", "head"}

func runModel(t *testing.T, r *rand.Rand) bool {
	s, n := New(), newNaive()
	now := engram.Time(1e15)
	written := map[engram.ID]Task{} // as who holds the schedule has it
	epochs := map[string]uint64{}
	next := 0
	random := func(of ...time.Duration) time.Duration {
		d := of[r.IntN(len(of))]
		if d == 0 {
			return 0
		}
		return d + time.Duration(r.IntN(1000_000)) // no two at once
	}
	any := func() engram.ID {
		if len(n.tasks) == 0 {
			return engram.MustID("Skill/Execution/arm/none")
		}
		return n.tasks[max(0, len(n.tasks)-1-r.IntN(8))].ID
	}
	for step := range 150 {
		now = now.Add(random(time.Millisecond, time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 300*time.Millisecond, 2*time.Second))
		var changes []Task
		var err error
		what := ""
		failed := false
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			name := modelProviders[r.IntN(3)]
			task := Task{
				ID: engram.MustID(fmt.Sprintf("Skill/Execution/%s/e%d", name, next)), Skill: engram.MustID(fmt.Sprintf("Skill/Description/%s/s%d", name, r.IntN(2))),
				Priority: r.IntN(3), Patience: random(0, 5*time.Second), Limit: random(0, 100*time.Millisecond, time.Second), StopWithin: random(30*time.Millisecond, time.Second),
				Preemptible: r.IntN(2) == 0, Repeatable: r.IntN(4) == 0,
			}
			next++
			for _, res := range []string{"left", "right", "platform"} {
				if r.IntN(3) == 0 {
					task.Resources = append(task.Resources, res)
				}
			}
			if r.IntN(2) == 0 {
				task.Parent = any()
			}
			what = fmt.Sprint("ask ", task)
			n.tick(now)
			changes = s.Tick(now)
			parent := n.live(task.Parent)
			failed = !task.Parent.IsRoot() && (parent == nil || parent.Stop != nil && parent.Stop.Answer != Refused)
			var more []Task
			more, err = s.Ask(now, task)
			changes = append(changes, more...)
			if !failed {
				own := task
				own.Status, own.Asked = Preparing, now
				if parent != nil {
					n.effective[own.ID] = n.effective[parent.ID]
				}
				n.effective[own.ID] = max(n.effective[own.ID], own.Priority)
				own.Priority = n.effective[own.ID]
				n.tasks, n.asked = append(n.tasks, &own), n.asked+1
				n.seq[own.ID] = n.asked
				if own.Patience > 0 {
					n.due[own.ID] = now.Add(own.Patience)
				}
			}
		case 4:
			id := any()
			what = fmt.Sprint("abort ", id)
			n.tick(now)
			changes = s.Tick(now)
			var more []Task
			more, err = s.Abort(now, id, Stop{})
			changes = append(changes, more...)
			if at := n.live(id); at != nil {
				n.stop(now, at, Stop{})
			} else {
				failed = true
			}
		case 5:
			id := engram.MustID("Skill/Description/" + modelProviders[r.IntN(3)] + "/s0")
			on := r.IntN(2) == 0
			what = fmt.Sprint("enable ", id, on)
			n.tick(now)
			changes = append(s.Tick(now), s.Enable(now, id, on)...)
			n.disabled[id] = !on
		case 6, 7:
			name := modelProviders[r.IntN(3)]
			if epochs[name] == 0 || r.IntN(8) == 0 {
				epochs[name]++
			}
			epoch, length := epochs[name], random(500*time.Millisecond, 5*time.Second)
			what = fmt.Sprint("lease ", name, epoch)
			renewal := r.IntN(4) > 0 && n.lease(name).until > now
			changes, err = s.Lease(now, name, epoch, length, renewal)
			n.tick(now)
			l := n.lease(name)
			if failed = l.until != 0 && (l.epoch != epoch || l.fenced) || l.until == 0 && epoch <= l.epoch; !failed {
				*l = lease{epoch, now.Add(length), false}
			}
		case 8:
			name := modelProviders[r.IntN(3)]
			what = fmt.Sprint("leave ", name, epochs[name])
			changes = s.Leave(now, name, epochs[name])
			n.tick(now)
			if l := n.lease(name); l.until != 0 && l.epoch == epochs[name] {
				for _, task := range n.tasks {
					if task.Provider() == name && task.Called != 0 && task.Status == Preparing {
						n.again(now, task)
					}
				}
				n.lose(now, name)
			}
		default:
			id := any()
			rep := Report{Status: []Status{Running, Running, Succeeded, Failed, Aborted, Stopping}[r.IntN(6)], Refused: r.IntN(4) == 0, Epoch: epochs[id.ProviderSegment()]}
			what = fmt.Sprint("report ", id, rep)
			changes, err = s.Report(now, id, rep)
			n.tick(now)
			at := n.live(id)
			l := n.lease(id.ProviderSegment())
			if failed = at == nil || at.Called == 0 || at.Epoch != rep.Epoch || l.until == 0 || l.epoch != rep.Epoch; failed {
				break
			}
			switch {
			case rep.Status.Ended():
				if at.Status == Stopping {
					at.Stop.Answer = Confirmed
					if rep.Status == Aborted && at.Stop.Reason == TimeLimit {
						rep.Status = Failed
					}
				}
				n.end(now, at, rep.Status)
			case at.Status == Stopping && rep.Refused:
				at.Status, at.Stop.Answer, at.Stop.Deadline = Running, Refused, 0
				if delete(n.due, at.ID); at.Limit > 0 && at.Called.Add(at.Limit) > now {
					n.due[at.ID] = at.Called.Add(at.Limit)
				}
				if why := n.next[at.ID]; why != nil {
					delete(n.next, at.ID)
					n.stop(now, at, *why)
				}
			case at.Status != Stopping && rep.Status != Stopping:
				at.Status = rep.Status
			}
		}
		n.dispatch(now)
		for _, c := range changes {
			if last, ok := written[c.ID]; ok && last.Status.Ended() {
				t.Errorf("%v changed after its end", c.ID)
			}
			written[c.ID] = c
		}
		if (err != nil) != failed {
			t.Errorf("step %d, %s: the error is %v, a naive schedule's %v", step, what, err, failed)
			return false
		}
		for _, want := range n.tasks {
			got := written[want.ID]
			if got.Stop != nil {
				got.Stop = &Stop{Reason: got.Stop.Reason, By: got.Stop.By, Deadline: got.Stop.Deadline, Answer: got.Stop.Answer}
			}
			if !reflect.DeepEqual(got, *want) {
				t.Errorf("step %d, %s: %s\nis      %+v %+v\nexpected %+v %+v", step, what, want.ID.Entity(), got, got.Stop, *want, want.Stop)
				return false
			}
			if now, ok := s.Task(want.ID); ok != !want.Status.Ended() || ok && now.Status != want.Status {
				t.Errorf("step %d, %s: %s is %v", step, what, want.ID.Entity(), now)
				return false
			}
		}
	}
	// In the end all ends.
	for range 10 {
		for _, c := range s.Tick(now) {
			written[c.ID] = c
		}
		for name := range maps.Keys(epochs) {
			for _, c := range s.Leave(now, name, epochs[name]) {
				written[c.ID] = c
			}
		}
		now = now.Add(time.Minute)
	}
	for id, at := range written {
		if !at.Status.Ended() && at.Patience > 0 {
			t.Errorf("%v never ends: %+v", id, at)
		}
	}
	if len(s.users) > 0 {
		t.Errorf("resources are in use for ever: %v", s.users)
	}
	return !t.Failed()
}
