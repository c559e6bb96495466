package sense_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/sense"
	"github.com/seed-301d4374/engram/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	camera = "Test/Any/head/camera"
	joints = "Test/Any/body/joints"
	second = engram.Time(time.Second)
	frame  = second / 20
)

// robot is a client of a real server with all memories, a memory Test for any data, and a long-term memory.
type robot struct {
	*client.Client
	t *testing.T
}

func newRobot(t *testing.T) *robot {
	t.Helper()
	test, free := serving.Memory("Test", server.Hooks{}), serving.Memory("Free", server.Hooks{})
	n, err := node.New(t.Context(), node.Config{
		Memories: append(memories.All(), test, free), Listen: []string{serving.Socket(t)},
		Data: &ltm.Options{Dir: filepath.Join(t.TempDir(), "data")},
	})
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, n.Serve)
	c, err := client.Connect(t.Context(), client.Options{Address: n.Addresses()[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing waits
	return &robot{c, t}
}

func (r *robot) attend(c sense.Config) *sense.Attention {
	r.t.Helper()
	c.Producer, c.Present, c.Log = "Robot", memories.Present(r), testkit.Quiet
	a, err := sense.New(r.t.Context(), r, c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return a
}

// put writes an entity as JSON has it, as "engram put" does.
func (r *robot) put(entity, typ string, at engram.Time, json string) error {
	r.t.Helper()
	t, ok := memories.Type(typ)
	if !ok {
		r.t.Fatal(typ)
	}
	b, err := t.FromJSON([]byte(json))
	if err != nil {
		return err
	}
	in := engram.NewInstance(engram.Payload{Type: typ, Bytes: b})
	results, err := r.Commit(r.t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{in}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}

func (r *robot) rule(name, json string) {
	r.t.Helper()
	if err := r.put("SystemState/Attention/me/"+name, sense.RuleType, engram.Now(), json); err != nil {
		r.t.Fatal(err)
	}
}

// newest returns what an entity is by now, and what is not there is empty.
func (r *robot) newest(pattern string) (all []map[string]any) {
	r.t.Helper()
	found, err := r.Query(r.t.Context(), engram.MustPattern(pattern).Select(engram.Latest(1)))
	if err != nil {
		r.t.Fatal(err)
	}
	for it := range found.All() {
		t, _ := memories.Type(it.Snapshot.Instances[0].Payload.Type)
		v, err := t.Decode(it.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, v.(map[string]any))
	}
	return all
}

// times returns the times of the snapshots that the memory has, in the order in which they came.
func (r *robot) times(entity string) (times []engram.Time) {
	r.t.Helper()
	found, err := r.Query(r.t.Context(), engram.SelectID(engram.MustID(entity), engram.All()))
	if err != nil {
		r.t.Fatal(err)
	}
	for it := range found.All() {
		times = append(times, it.Snapshot.Time)
	}
	return times
}

// sense gives snapshots from a time on, each 50 ms.
func (r *robot) sense(a *sense.Attention, entity string, from engram.Time, n int) {
	r.t.Helper()
	for i := range n {
		testkit.Commit(r.t, a, testkit.Update(r.t, entity, from+engram.Time(i)*frame, i))
	}
}

// until waits until a rule about an entity lets pass what is given, or does not; from is where times begin.
func (r *robot) until(a *sense.Attention, entity string, passes bool, from engram.Time) (next engram.Time) {
	r.t.Helper()
	testkit.Until(r.t, func() (string, bool) {
		from += frame
		n := testkit.Commit(r.t, a, testkit.Update(r.t, entity, from, 1))[0].Number
		return fmt.Sprintf("%v", a.Counts()), n > 0 == passes
	})
	return from + frame
}

const (
	idle  = `{"entities": "Test/Any", "filter": {"max_rate": "2 Hz"}}`
	grasp = `{"entities": "Test/Any", "while": ["Skill/Execution/*/~Grasp.* where status == 'Running'"], "before": "2s", "after": "1s"}`
)

func (r *robot) execution(status string, at engram.Time) {
	r.t.Helper()
	if err := r.put("Skill/Execution/Arm/Grasp-1", "engram.skill.Execution", at, `{"status": "`+status+`"}`); err != nil {
		r.t.Fatal(err)
	}
}

// With two rules the memory has 2 Hz, and all from two seconds before a grasp until one after, once.
func TestSecondsBeforeAGrasp(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("grasp", grasp)
	r.rule("idle", idle)
	start := r.until(a, camera, false, engram.Now()-20*second) // both are followed
	start = start - start%second + second
	before := len(r.times(camera))
	r.sense(a, camera, start, 100) // 5 s
	r.sense(a, joints, start, 100)
	if n := len(r.times(camera)) - before; n < 9 || n > 11 {
		t.Errorf("5 s of 2 Hz are %d snapshots", n)
	}
	// The grasp began a second ago: what was given from 2 s before to now is in the ring.
	trigger := start + 4*second
	r.execution("Running", trigger)
	for _, entity := range []string{camera, joints} {
		testkit.Until(t, func() (string, bool) {
			n := 0
			for _, at := range r.times(entity) {
				if at >= trigger-2*second && at < start+5*second {
					n++
				}
			}
			return fmt.Sprintf("%d of 60: %v", n, a.Counts()), n == 60
		})
	}
	r.sense(a, camera, start+5*second, 20)
	r.execution("Succeeded", start+6*second)
	next := r.until(a, camera, false, start+6*second-frame)
	seen := map[engram.Time]int{}
	for _, at := range r.times(camera) {
		seen[at]++
	}
	for at := trigger - 2*second; at <= start+7*second && at < next-2*frame; at += frame {
		if seen[at] != 1 {
			t.Errorf("%v after the trigger: %d snapshots", at.Sub(trigger), seen[at])
		}
	}
	testkit.Until(t, func() (string, bool) {
		i := r.newest("SystemState/Incident/Robot")
		return fmt.Sprint(i), len(i) == 1 && i[0]["closed"] == true
	})
	i := r.newest("SystemState/Incident/Robot")[0]
	if i["window_start"] != trigger-2*second || i["window_end"] != start+7*second+1 || i["cause"] != engram.MustID("Skill/Execution/Arm/Grasp-1").At(trigger) {
		t.Errorf("the incident is %v", i)
	}
	for _, s := range i["sensors"].([]any) {
		if m := s.(map[string]any); m["lacked"] != int64(0) || m["seen"] != m["kept"] || m["seen"].(int64) < 60 {
			t.Errorf("of %v: %v", m["sensor"], m)
		}
	}
	// What the rules look at is not asked for.
	st, err := r.Stats(t.Context(), engram.MustPattern("Skill/Execution/Arm/Grasp-1"), engram.LevelEntity)
	if err != nil || len(st) != 1 || st[0].Value == nil || st[0].Value.Asked != 0 || st[0].Value.Askers != 0 {
		t.Errorf("the execution counts as asked for: %+v, %v", st, err)
	}
	// What was left out is counted.
	for id, c := range a.Counts() {
		if have := uint64(len(r.times(id.String()))); c.Passed+c.Recalled != have || c.LeftOut == 0 || c.Lacked > 0 {
			t.Errorf("%s: %+v, and the memory has %d", id, c, have)
		}
	}
}

// Rules change at run time, and what cannot be followed is told.
func TestRulesAtRunTime(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	at := engram.Now() - 10*second
	if n := testkit.Commit(t, a, testkit.Update(t, camera, at, 1))[0].Number; n == 0 {
		t.Error("without a rule, it is left out")
	}
	r.rule("never", `{"entities": "Test/Any/head", "filter": {"record": "never"}}`)
	at = r.until(a, camera, false, at)
	if n := testkit.Commit(t, a, testkit.Update(t, joints, at, 1))[0].Number; n == 0 {
		t.Error("a rule about another provider leaves it out")
	}
	r.rule("never", `{"entities": "Test/Any/head", "filter": {"record": "never"}, "disabled": true}`)
	at = r.until(a, camera, true, at)
	r.rule("change", `{"entities": "Test/Any/head", "filter": {"similar.numbers": "0.5"}}`)
	r.until(a, camera, false, at)
	for _, c := range []struct{ json, member string }{
		{`{}`, "entities"},
		{`{"entities": "A/~("}`, "entities"},
		{`{"entities": "A", "filter": {"max_rate": "-1 Hz"}}`, "max_rate"},
		{`{"entities": "A", "filter": {"quality": "3 dB"}}`, "quality"},
		{`{"entities": "A", "filter": {"record": "linked"}}`, "record"},
		{`{"entities": "A", "on": "B", "where": "1 +"}`, "where"},
		{`{"entities": "A", "where": "a == 1"}`, "where"},
		{`{"entities": "A", "while": ["B within 2 of"]}`, "while"},
		{`{"entities": "A", "while": ["B"], "before": "-1s"}`, "before"},
		{`{"entities": "A", "before": "1s"}`, "before"},
		{`{"entities": "A", "keep": true}`, "keep"},
	} {
		err := r.put("SystemState/Attention/me/bad", sense.RuleType, engram.Now(), c.json)
		if code := engram.CodeOf(err); err == nil || !strings.Contains(err.Error(), c.member) || code != engram.Invalid && code != engram.OutOfRange {
			t.Errorf("%s: %v", c.json, err)
		}
	}
}

// One rule too many is not followed, and says so until there is room.
func TestTooManyRules(t *testing.T) {
	r := newRobot(t)
	r.attend(sense.Config{})
	last := ""
	for i := range 65 {
		last = fmt.Sprint("rule", i)
		r.rule(last, `{"entities": "Test/Any"}`)
	}
	problem := func(part string) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			v := r.newest("SystemState/Attention/me/" + last)[0]["problem"].(string)
			return v, strings.Contains(v, part) && (part != "" || v == "")
		})
	}
	problem("there are 64 rules already")
	r.rule("rule1", `{"entities": "Test/Any", "disabled": true}`)
	r.rule(last, `{"entities": "Test/Any"}`)
	problem("")
}

// A rule whose input is missing keeps all, and says so until it is there.
func TestInputIsMissing(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("near", `{"entities": "Test/Any", "while": ["Human/Pose where distance < 2.0"]}`)
	problem := func(text string) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			v := r.newest("SystemState/Attention/me/near")[0]["problem"].(string)
			return v, v == text
		})
	}
	problem("Robot: there is no Human/Pose")
	at := r.until(a, camera, true, engram.Now()-10*second)
	r.rule("near", `{"entities": "Test/Any", "while": ["Test/Any/human where distance < 2.0"]}`)
	problem("")
	at = r.until(a, camera, false, at)
	testkit.Commit(t, r, testkit.Update(t, "Test/Any/human/me", at, map[string]any{"distance": 1.5}))
	at = r.until(a, camera, true, at)
	testkit.Commit(t, r, testkit.Update(t, "Test/Any/human/me", at, map[string]any{"distance": 3.0}))
	at = r.until(a, camera, false, at)
	testkit.Commit(t, r, testkit.Update(t, "Test/Any/human/me", at, map[string]any{"range": 3.0}))
	r.until(a, camera, true, at) // it is not known how far it is
	testkit.Until(t, func() (string, bool) {
		v := r.newest("SystemState/Attention/me/near")[0]["problem"].(string)
		return v, strings.Contains(v, "distance")
	})
}

// Each update is a trigger: two a millisecond apart make two incidents, or with a cooldown one and a reason.
// The long-term memory keeps what lies around it.
func TestTwoTriggersAMillisecondApart(t *testing.T) {
	for _, cooldown := range []string{"0s", "5s"} {
		t.Run(cooldown, func(t *testing.T) {
			r := newRobot(t)
			a := r.attend(sense.Config{})
			r.rule("fall", `{"entities": "Test/Any", "on": "Test/Any/events", "where": "kind == 'fall'", "before": "1s", "after": "1s", "keep": true, "cooldown": "`+cooldown+`"}`)
			at := r.until(a, camera, false, engram.Now()-10*second)
			r.sense(a, camera, at, 40)
			fall := at + 40*frame
			testkit.Commit(t, r, testkit.Update(t, "Test/Any/events/e", fall, map[string]any{"kind": "fall"}), testkit.Update(t, "Test/Any/events/e", fall+1e6, map[string]any{"kind": "fall"}),
				testkit.Update(t, "Test/Any/events/e", fall+2e6, map[string]any{"kind": "other"}))
			want := 2
			if cooldown != "0s" {
				want = 1
			}
			testkit.Until(t, func() (string, bool) {
				i := r.newest("SystemState/Incident/Robot")
				closed := 0
				for _, i := range i {
					if i["closed"] == true {
						closed++
					}
				}
				return fmt.Sprint(i), closed == want
			})
			if i := r.newest("SystemState/Incident/Robot")[0]; want == 1 && (i["suppressed"] != int64(1) || !strings.Contains(i["reason"].(string), "1ms after it, in the cooldown of 5s")) || want == 2 && i["suppressed"] != int64(0) {
				t.Errorf("the incident is %v", i)
			}
			n := 0
			for _, at := range r.times(camera) {
				if at >= fall-second {
					n++
				}
			}
			if n != 20 {
				t.Errorf("of the second before, the memory has %d of 20 snapshots", n)
			}
			marks, err := r.LongTerm("Test").Marks(t.Context(), engram.Always())
			if err != nil || len(marks) != want || marks[0].Label != "fall" || marks[0].Before != time.Second || marks[0].After < time.Second {
				t.Errorf("the long-term memory keeps %v: %v", marks, err)
			}
		})
	}
}

// A pipeline answers in the order in which was sent, what goes on and what does not.
func TestPipeline(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("idle", idle)
	at := r.until(a, camera, false, engram.Now()-100*second)
	at += second - at%second
	s, err := a.CommitStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const n = 400 // 20 s
	got := make(chan error, 1)
	passed := 0
	go func() {
		for i := range n {
			results, err := s.Recv()
			switch want := engram.MustID(camera).At(at + engram.Time(i)*frame); {
			case err != nil:
			case len(results) != 3 || results[0].ID != want || results[0].Err != nil:
				err = fmt.Errorf("answer %d is %v", i, results)
			case engram.CodeOf(results[1].Err) != engram.NotFound || results[2].Number == 0:
				err = fmt.Errorf("answer %d is %v", i, results)
			}
			if err != nil {
				got <- err
				return
			}
			if results[0].Number > 0 {
				passed++
			}
		}
		_, err := s.Recv()
		got <- err
	}()
	for i := range engram.Time(n) {
		if err := s.Send(engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, camera, at+i*frame, i), testkit.Update(t, "None/Any/p/e", at+i*frame, i),
			testkit.Update(t, "Free/Any/p/e", at+i*frame, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Flush(), s.CloseSend()); err != nil {
		t.Fatal(err)
	}
	if err := testkit.Receive(t, got); err != io.EOF {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if passed < 39 || passed > 41 {
		t.Errorf("of 20 s at 2 Hz %d snapshots went on", passed)
	}
}

// What holds only for a while ceases to without an update.
func TestHoldsForAWhile(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("fresh", `{"entities": "Test/Any/head", "while": ["Test/Any/human fresh 300ms"]}`)
	at := r.until(a, camera, false, engram.Now())
	testkit.Commit(t, r, testkit.Update(t, "Test/Any/human/me", engram.Now(), 1))
	at = r.until(a, camera, true, at)
	r.until(a, camera, false, at)
}

// unreachable is a memory that is not reached for some commits of what was given before.
type unreachable struct {
	*robot
	left atomic.Int32
}

func (u *unreachable) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if c.Updates[0].Entity.Memory() == "Test" && u.left.Add(-1) >= 0 {
		return nil, engram.Errorf(engram.Unavailable, "Test", "it is not reached")
	}
	return u.robot.Commit(ctx, c)
}

// What is wanted of the ring comes when the memory is reached again, and what comes meanwhile is the producer's to repeat.
func TestMemoryIsNotReached(t *testing.T) {
	r := newRobot(t)
	away := &unreachable{robot: r}
	a, err := sense.New(t.Context(), away, sense.Config{Producer: "Robot", Present: memories.Present(r), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	r.rule("fall", `{"entities": "Test/Any", "on": "Test/Any/events", "before": "10s", "after": "10s"}`)
	at := r.until(a, camera, false, engram.Now()-10*second)
	r.sense(a, camera, at, 20)
	had := len(r.times(camera))
	away.left.Store(2)
	testkit.Commit(t, r, testkit.Update(t, "Test/Any/events/e", at+20*frame, 1))
	testkit.Until(t, func() (string, bool) { return "it is not tried", away.left.Load() < 0 })
	away.left.Store(1)
	if _, err := a.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, camera, at+21*frame, 1)}}); engram.CodeOf(err) != engram.Unavailable && err != nil {
		t.Errorf("a commit fails with %v", err)
	}
	if err := a.Close(); err != nil { // it waits for what is wanted
		t.Error(err)
	}
	if n := len(r.times(camera)) - had; n < 20 {
		t.Errorf("the memory has %d of what the ring had, and %+v", n, a.Counts())
	}
	c := a.Counts()[engram.MustID(camera)]
	if have := uint64(len(r.times(camera))); c.Passed+c.Recalled != have || c.Lacked > 1 {
		t.Errorf("%+v, and the memory has %d", c, have)
	}
}

// forgetful is a robot whose server forgets the rules.
type forgetful struct {
	*robot
	gone atomic.Bool
}

func (f *forgetful) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if f.gone.Load() {
		return &engram.Result{}, nil
	}
	return f.robot.Query(ctx, q)
}

func (f *forgetful) Subscribe(ctx context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	u, err := f.robot.Subscribe(ctx, s)
	return forgetfulStream{u, f}, err
}

type forgetfulStream struct {
	engram.UpdateStream
	f *forgetful
}

func (s forgetfulStream) Next(ctx context.Context) ([]engram.Update, error) {
	updates, err := s.UpdateStream.Next(ctx)
	if len(updates) > 0 && s.f.gone.Load() {
		updates[0].Restarted = true
	}
	return updates, err
}

// Commit answers as a server that has begun anew.
func (f *forgetful) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	results, err := f.robot.Commit(ctx, c)
	if f.gone.Load() {
		for i := range results {
			results[i].Number = 1
		}
	}
	return results, err
}

// attendForgetful returns an attention before a forgetful robot that follows a rule, and the time that comes next.
func attendForgetful(t *testing.T) (*robot, *forgetful, *sense.Attention, engram.Time) {
	t.Helper()
	r := newRobot(t)
	f := &forgetful{robot: r}
	a, err := sense.New(t.Context(), f, sense.Config{Producer: "Robot", Present: memories.Present(r), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	r.rule("rest", `{"entities": "Test/Any", "on": "Test/Any/events"}`)
	return r, f, a, r.until(a, camera, false, engram.Now()-10*second)
}

// A server that was started anew and forgot its rules is noticed by what is written, though it tells of no rule.
func TestRestartIsNoticed(t *testing.T) {
	r, f, a, at := attendForgetful(t)
	testkit.Until(t, func() (string, bool) { // it has written something
		stats, err := r.Stats(t.Context(), engram.MustPattern("SystemState/Sensor"), engram.LevelEntity)
		return fmt.Sprint(stats, err), len(stats) > 1
	})
	f.gone.Store(true)
	r.until(a, camera, true, at)
}

// A rule that a server has forgotten when it restarted is not followed any more.
func TestRulesAreForgotten(t *testing.T) {
	r, f, a, at := attendForgetful(t)
	f.gone.Store(true)
	r.rule("other", `{"entities": "Free/Any"}`)
	r.until(a, camera, true, at)
}

func TestWrongConfiguration(t *testing.T) {
	r := newRobot(t)
	for member, c := range map[string]sense.Config{
		"Producer":  {Present: memories.Present(r)},
		"Present":   {Producer: "p"},
		"RingBytes": {Producer: "p", Present: memories.Present(r), RingBytes: -1},
	} {
		if _, err := sense.New(t.Context(), r, c); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), member) {
			t.Errorf("%s: %v", member, err)
		}
	}
	a := r.attend(sense.Config{})
	results, err := a.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("Test/Any")}, testkit.Update(t, "None/Any/p/e", 1, 1)}})
	if err != nil || results[0].Err == nil || engram.CodeOf(results[1].Err) != engram.NotFound {
		t.Errorf("what the memory refuses: %v, %v", results, err)
	}
}
