package memories

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill/condition"
	"github.com/seed-301d4374/engram/world"
)

// conditionsKit is a server with conditions, in which tests write and read requests.
type conditionsKit struct {
	state
	requests engram.UpdateStream
	arrived  []engram.Update
}

func newConditionsKit(t *testing.T) *conditionsKit {
	t.Helper()
	s := serving.New(t, All()...)
	k := &conditionsKit{state: newState(t, s)}
	var err error
	if k.requests, err = s.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Skill/Request")}, WithData: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.requests.Close() })
	k.other("Skill/Description/Arm/Grasp", "engram.skill.Description", engram.Now(), map[string]any{"name": "Grasp", "skill_provider": "Arm"})
	return k
}

func (k *conditionsKit) set(name, text string) {
	k.Helper()
	c, err := condition.Parse(text)
	if err != nil {
		k.Fatal(err)
	}
	now := engram.Now()
	k.other("Skill/Condition/test/"+name, condition.TypeName, now, c.Value(now))
}

// request waits for the next request.
func (k *conditionsKit) request() (engram.ID, map[string]any) {
	k.Helper()
	if len(k.arrived) == 0 {
		k.arrived = testkit.Next(k.T, k.requests, 1)
	}
	u := k.arrived[0]
	k.arrived = k.arrived[1:]
	typ, _ := Type("engram.skill.Request")
	v, err := typ.Decode(u.Snapshot.Instances[0].Payload.Bytes)
	if err != nil {
		k.Fatal(err)
	}
	return u.ID, v.(map[string]any)
}

func (k *conditionsKit) see(name, frame string, x float64) engram.ID {
	k.Helper()
	now := engram.Now()
	k.other("Object/Instance/Vision/"+name, "engram.object.Instance", now, map[string]any{
		"timestamp": now, "frame_id": frame, "pose": idfPose(x),
	})
	return engram.MustID("Object/Instance/Vision/" + name).At(now)
}

func idfPose(x float64) map[string]any {
	return map[string]any{
		"position":    map[string]any{"x": x, "y": 0.0, "z": 0.0},
		"orientation": map[string]any{"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0},
	}
}

// An update that fulfils a condition leads to a request with its cause, its condition and parameters.
func TestConditionMakesARequest(t *testing.T) {
	k := newConditionsKit(t)
	k.set("grasp", "on Object/Instance where confidence > 0.8 while none Object/Instance/*/person within 1 m of table run Grasp with object=$entity seen=$id frame=$update.frame_id")
	k.item("map", "table", engram.Now(), world.Item{Placement: &world.Placement{Frame: "room", Pose: pose.Identity()}})
	k.item("map", "room", engram.Now(), world.Item{Description: &world.Description{Kinds: []string{world.KindMap}}, Placement: &world.Placement{Pose: pose.Identity()}})
	k.see("person", "room", 3)
	k.request() // for the person itself
	seen := k.see("cup", "room", 0.2)
	id, r := k.request()
	if id.ProviderSegment() != "Conditions" || !strings.HasPrefix(id.Entity(), "grasp.Vision.cup.") {
		t.Errorf("the request is %s", id)
	}
	if r["cause"] != seen || r["caller"] != "condition:grasp" || r["condition"].(engram.ID).Entity() != "grasp" {
		t.Errorf("%v", r)
	}
	p := r["parameters"].(map[string]any)
	if p["object"] != "cup" || p["seen"] != seen || p["frame"] != "room" {
		t.Errorf("%v", p)
	}
	k.see("plate", "room", 0.3)
	if id, _ := k.request(); !strings.HasPrefix(id.Entity(), "grasp.Vision.plate.") {
		t.Errorf("the request is %s", id)
	}
}

func TestConditionOnTheWorld(t *testing.T) {
	k := newConditionsKit(t)
	k.set("grasp", "on Object/Instance/*/cup while $entity on table run Grasp")
	k.item("map", "table", engram.Now(), world.Item{Structure: &world.Structure{}, Placement: &world.Placement{Pose: pose.Identity()}})
	k.see("cup", "", 1)
	k.item("map", "cup", engram.Now(), world.Item{Structure: &world.Structure{Parent: "table"}})
	if _, r := k.request(); r["cause"].(engram.ID).Entity() != "cup" {
		t.Errorf("%v", r)
	}
}

// What held for a moment only, gone again when it is looked at, counts.
func TestConditionThatHeldForAMoment(t *testing.T) {
	k := newConditionsKit(t)
	typ, _ := Type("engram.speech.Text")
	say := func(texts ...string) {
		t.Helper()
		var c engram.Commit
		for i, text := range texts {
			b, err := typ.Encode(map[string]any{"text": text})
			if err != nil {
				t.Fatal(err)
			}
			c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID("Speech/Text/hand/door"), Time: engram.Now().Add(time.Duration(i) * time.Microsecond),
				Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
		}
		testkit.Commit(t, k.svc, c.Updates...)
	}
	say("closed")
	k.set("grasp", "on Object/Instance/*/cup while Speech/Text/hand where text == 'open' run Grasp")
	k.set("other", "on Object/Instance/*/cup while none Speech/Text/hand where text == 'closed' run Grasp")
	k.set("last", "on Object/Instance/*/cup while Speech/Text/hand where text == 'closed' run Grasp update")
	cup := k.see("cup", "map", 0)
	if _, r := k.request(); r["caller"] != "condition:last" {
		t.Errorf("%v", r)
	}
	for range 3 { // whoever is slow sees the last of them only
		say("ajar", "open", "closed")
		var callers []string
		for range 2 {
			_, r := k.request()
			if r["cause"] != cup {
				t.Errorf("%v", r)
			}
			callers = append(callers, r["caller"].(string))
		}
		if slices.Sort(callers); !slices.Equal(callers, []string{"condition:grasp", "condition:other"}) {
			t.Errorf("requested by %v", callers)
		}
	}
}

// subscribedLate is a server in which something happens just before each subscription.
type subscribedLate struct {
	*server.Server
	before func()
}

func (s *subscribedLate) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	s.before()
	return s.Server.Subscribe(ctx, sub)
}

// A condition that was there as the server began sees what is written while what it waits for is subscribed to.
func TestConditionFoundAtTheStart(t *testing.T) {
	all := All()
	for i := range all {
		if all[i].Name == "Skill" {
			all[i].Hooks.Run = nil
		}
	}
	s := serving.New(t, all...)
	k := &conditionsKit{state: newState(t, s)}
	k.set("grasp", "on Object/Instance/*/cup run Grasp")
	asked := make(chan struct{}, 100)
	sc := &skillConditions{elsewhere: &elsewhere{}, ask: func(_ context.Context, requests []engram.EntityUpdate) ([]error, error) {
		for range requests {
			asked <- struct{}{}
		}
		return make([]error, len(requests)), nil
	}}
	subscribed := 0
	serving.Until(t, func(ctx context.Context) error {
		return sc.run(ctx, &subscribedLate{s, func() {
			if subscribed++; subscribed == 2 {
				k.see("cup", "map", 0)
			}
		}})
	})
	testkit.Receive(t, asked)
}

func TestBadConditionIsRefused(t *testing.T) {
	k := newConditionsKit(t)
	c := condition.Condition{On: "Object/Instance", Where: "confidence >> 1", Skill: "Grasp", Enabled: true}
	typ, _ := Type(condition.TypeName)
	b, err := typ.Encode(c.Value(engram.Now()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.svc.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("Skill/Condition/test/bad"), Time: engram.Now(),
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: condition.TypeName, Bytes: b})},
	}}})
	if err != nil || engram.CodeOf(r[0].Err) != engram.Invalid || !strings.Contains(r[0].Err.Error(), "where") {
		t.Errorf("%v %v", err, r)
	}
}

// A condition in a circle is disabled, and says why.
func TestConditionInACircleIsStopped(t *testing.T) {
	k := newConditionsKit(t)
	stream, err := k.svc.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Skill/Condition")}, WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	k.set("again", "on Skill/Plan run Grasp update")
	plan := func(cause engram.ID) {
		now := engram.Now()
		k.other("Skill/Plan/test/x", "engram.skill.Plan", now, map[string]any{"timestamp": now, "goal": "more", "cause": cause})
	}
	plan(engram.MustID("Speech/Text/mic/x"))
	for range 3 { // what the skill writes is linked to its request
		id, _ := k.request()
		plan(id)
	}
	for _, u := range testkit.Next(t, stream, 2) {
		c, err := decodeCondition(&u.Snapshot.Instances[0].Payload)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Enabled && !strings.Contains(c.Stopped, "a circle, gone through 3 times: again runs Grasp, which fulfils again") {
			t.Errorf("%+v", c)
		}
	}
}
