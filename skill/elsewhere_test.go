package skill_test

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

// runNode runs a node until the test ends, and returns a client of it.
func runNode(t testing.TB, c node.Config) *client.Client {
	t.Helper()
	n, err := node.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, n.Serve)
	m, err := client.Connect(t.Context(), client.Options{Address: n.Addresses()[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// host has a server of its own host the memory Object, known by the names of another server.
func host(t testing.TB, address, listen string) (stop func()) {
	t.Helper()
	s := serving.New(t, memories.Object())
	return serving.Until(t, func(ctx context.Context) error {
		return client.Host(ctx, s, client.HostOptions{Address: address, Listen: []string{listen}})
	})
}

// Conditions wait for what another server has, and ask for it, also after that began anew.
func TestConditionsOverServers(t *testing.T) {
	own := []server.Memory{memories.Skill(), memories.Speech()}
	address := serving.Socket(t)
	c := runNode(t, node.Config{Memories: own, Listen: []string{address}})
	run := make(chan skill.Call, 100)
	p := skill.NewProvider(c, "Arm")
	for _, name := range []string{"Grasp", "Say"} {
		skill.Handle(p, skill.Spec{Name: name}, func(c *skill.Call, _ any) (any, error) {
			run <- *c
			return nil, nil
		})
	}
	provide(t, c, p, "Arm")
	for name, text := range map[string]string{
		"far": "on Object/Instance/*/cup where frame_id == 'table' run Grasp update",
		"ask": "on Speech/Text while some Object/Instance/*/plate where frame_id == 'shelf' run Say update",
	} {
		if err := condition.When(t.Context(), c, "test", name, text); err != nil {
			t.Fatal(err)
		}
	}
	called := func(name string, cause engram.ID) {
		t.Helper()
		if got := <-run; got.Skill != name || got.Cause.Truncate(engram.LevelEntity) != cause {
			t.Fatalf("%s was run because of %s", got.Skill, got.Cause)
		}
	}
	say := func() engram.ID {
		id := engram.MustID("Speech/Text/mic/words")
		testkit.Commit(t, c, update(t, id, "engram.speech.Text", map[string]any{"text": "hello"}))
		return id
	}
	for range 2 {
		stop := host(t, address, serving.Socket(t))
		if _, err := c.Names().Wait(t.Context(), "Object"); err != nil {
			t.Fatal(err)
		}
		see := func(name, frame string) engram.ID {
			id := engram.MustID("Object/Instance/eye/" + name)
			testkit.Commit(t, c, update(t, id, "engram.object.Instance", map[string]any{"frame_id": frame}))
			return id
		}
		see("cup", "floor")
		see("plate", "shelf")
		called("Grasp", see("cup", "table"))
		called("Say", say())
		see("plate", "floor")
		called("Grasp", see("cup", "table")) // by then that of the plate has been heard
		say()
		called("Grasp", see("cup", "table")) // and nothing was said
		see("plate", "shelf")
		called("Grasp", see("cup", "table"))
		called("Say", say())
		see("plate", "floor")
		called("Grasp", see("cup", "table"))
		stop()
	}
}

// update makes an update of a type that memories have.
func update(t testing.TB, entity engram.ID, typ string, v map[string]any) engram.EntityUpdate {
	t.Helper()
	known, _ := memories.Type(typ)
	b, err := known.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: entity, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}}
}

// The base station asks for the skills of a robot, checks, aborts and switches them; a condition there waits for what
// the robot says, and a robot's own condition for what the base station says.
func TestSkillsOfAnotherRobot(t *testing.T) {
	robot := func(name string, o embedded.Options) (*node.Node, *client.Client) {
		o.Log = testkit.Quiet
		own := []server.Memory{memories.Skill(), memories.Speech()}
		n, err := node.New(t.Context(), node.Config{Memories: own, Listen: []string{serving.Socket(t)}, Name: name + " host", Robot: name, Backbone: &node.Backbone{Embedded: o}})
		if err != nil {
			t.Fatal(err)
		}
		serving.Until(t, n.Serve)
		c, err := client.Connect(t.Context(), client.Options{Address: n.Addresses()[0]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return n, c
	}
	n, base := robot("base", embedded.Options{LeafListen: "127.0.0.1:0"})
	addresses, _ := n.Backbone()
	_, rover := robot("robot1", embedded.Options{LeafOf: []string{addresses.Leafs}})
	if _, err := base.Names().Wait(t.Context(), "robot1:Skill"); err != nil {
		t.Fatal(err)
	}
	called := make(chan string, 100)
	p := skill.NewProvider(rover, "Arm")
	skill.Handle(p, skill.Spec{Name: "Grasp", Takes: map[string]string{"object": "String"}, Resources: []string{"hand"}}, func(c *skill.Call, in map[string]any) (any, error) {
		called <- c.Caller
		if in["object"] == "stone" {
			c.Progress(0.5, "pulling")
			<-c.Done()
			return nil, c.Err()
		}
		return in, nil
	})
	provide(t, rover, p, "Arm")
	const there = "robot1:Skill"
	e := wait(t, start(t, base, skill.Request{Memory: there, Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, Caller: "base"}))
	if e.Status != skill.Succeeded || <-called != "base" || e.Result.(map[string]any)["object"] != "cup" || e.SkillProvider != "Arm" {
		t.Errorf("%+v", e)
	}
	if _, err := skill.Start(t.Context(), base, skill.Request{Memory: there, Skill: "Grasp", Parameters: map[string]any{"objct": "cup"}}); engram.CodeOf(err) != engram.TypeMismatch {
		t.Error(err)
	}
	if _, err := skill.Start(t.Context(), base, skill.Request{Memory: there, Skill: "Grsp"}); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	if _, err := skill.Start(t.Context(), base, skill.Request{Skill: "Grasp"}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("the base station has no such skill: %v", err)
	}
	x := start(t, base, skill.Request{Memory: there, Skill: "Grasp", Parameters: map[string]any{"object": "stone"}, Caller: "base"})
	until(t, x, func(e *skill.Execution) bool { return e.Progress == 0.5 })
	c, err := skill.Check(t.Context(), base, skill.Request{Memory: there, Skill: "Grasp", Parameters: map[string]any{"object": "cup"}})
	if err != nil || len(c.Findings) != 1 || c.Findings[0].Name != "hand" {
		t.Errorf("%+v, %v", c, err)
	}
	if answer, err := x.Abort(t.Context(), skill.ReasonOperator, "enough"); answer != skill.Confirmed || err != nil {
		t.Error(answer, err)
	}
	if found, err := skill.Find(t.Context(), base, x.ID()); err != nil || found.Status != skill.Aborted || found.Stop.Message != "enough" {
		t.Errorf("%+v, %v", found, err)
	}
	for _, enabled := range []bool{false, true} {
		if err := skill.Enable(t.Context(), base, there, "Grasp", enabled, "base", "tests"); err != nil {
			t.Fatal(err)
		}
		e := wait(t, start(t, base, skill.Request{Memory: there, Skill: "Grasp", Parameters: map[string]any{"object": "cup"}}))
		if (e.Status == skill.Succeeded) != enabled {
			t.Errorf("enabled %v: %v", enabled, e.Err())
		}
	}
	for len(called) > 0 {
		<-called
	}

	far := skill.NewProvider(base, "Hand", skill.InMemory(there)) // a program at the base station offers a skill of the robot
	skill.Handle(far, skill.Spec{Name: "Wave"}, func(c *skill.Call, _ any) (any, error) {
		called <- c.Caller
		return nil, nil
	})
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { served <- far.Run(ctx) }()
	inService(t, rover, "Hand")
	if e := wait(t, start(t, rover, skill.Request{Skill: "Wave", Caller: "rover"})); e.Status != skill.Succeeded || <-called != "rover" {
		t.Errorf("%+v", e)
	}
	wave, err := condition.Parse("on base:Speech/Text where text == 'hello' run Wave update")
	if err != nil {
		t.Fatal(err)
	}
	if err := condition.Set(t.Context(), base, there, "base", "wave", wave); err != nil {
		t.Fatal(err)
	}
	id := engram.MustID("Speech/Text/mic/words")
	testkit.Until(t, func() (string, bool) { // until the robot knows the base station
		testkit.Commit(t, base, update(t, id, "engram.speech.Text", map[string]any{"text": "hello"}))
		return "the condition does not run its skill", len(called) > 0
	})
	if got := <-called; got != "condition:wave" {
		t.Errorf("called by %s", got)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
