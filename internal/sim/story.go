package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
)

// command is something that somebody asks for in a round.
type command struct {
	at        float64 // seconds from the beginning of the round
	holding   bool    // it is asked for while the hand holds the cup, or else while it does not
	text      string
	intent    string
	arguments map[string]any
	skill     string
	answer    string // once that is done
}

var commands = [...]command{
	{0.5, false, "Bring me the cup, please.", "bring", map[string]any{"object": "cup"}, "Story/BringObject", "Here you are."},
	{7.0, true, "Put it back on the table.", "place", map[string]any{"object": "cup", "location": "table"}, "Story/PlaceObject", "Done."},
}

// hearing is how long it takes until what was said is understood, in seconds.
const hearing = 0.2

// round has somebody ask for what there is to be asked for, with ask. The error is that of ask, or that ctx ended.
func (s *stage) round(ctx context.Context, ask func(context.Context, *command) error) error {
	began := s.now()
	for i := range commands {
		c := &commands[i]
		if err := s.wait(ctx, began+c.at); err != nil {
			return err
		}
		if _, held := s.course.Load().held(s.now()); held != c.holding {
			continue
		}
		if err := ask(ctx, c); err != nil {
			return err
		}
	}
	return s.wait(ctx, began+cycle)
}

// deed is an execution of a skill, as who executes it has it and as the body does it.
type deed struct {
	execution
	*stage
}

// execution is what a skill makes of its being executed: a [skill.Call] of the memory, or one in a recording.
type execution interface {
	Text(name string) string
	Expect(inAll time.Duration)
	Progress(ctx context.Context, done float64, message string) error
	SetResult(result map[string]any)
	Run(ctx context.Context, a skill.Ask) (*skill.Execution, error)
}

// ability is a skill of the robot.
type ability struct {
	skill.Description
	do func(ctx context.Context, d *deed) error
}

// name returns PROVIDER/NAME.
func (a *ability) name() string { return a.ID.ProviderSegment() + "/" + a.ID.Entity() }

// storyProvider offers the skills that call those of the other providers.
const storyProvider = "Story"

// abilities returns what the robot can do. Providers are the parts of its software.
func abilities() []ability {
	theCup, theTable := map[string]any{"object": objects[cup].name}, map[string]any{"location": "table"}
	of := func(id, text string, defaults map[string]any, do func(context.Context, *deed) error, resources ...string) ability {
		d := skill.Description{Text: text, Defaults: defaults, Resources: resources, TimeLimit: time.Minute, Preemptible: true}
		d.ID = engram.MustID("Skill/Description/" + id)
		return ability{d, do}
	}
	story := func(a ability, calls ...string) ability {
		for _, name := range calls {
			a.Subskills = append(a.Subskills, engram.MustID("Skill/Description/"+name))
		}
		return a
	}
	return []ability{
		story(of("Story/BringObject", "fetches an object and holds it out", theCup, bringObject, "platform", "right_arm", "head"),
			"Head/LookFor", "Platform/GoTo", "Arm/Grasp", "Arm/HandOver"),
		story(of("Story/PlaceObject", "puts what the hand holds back on the table", theTable, placeObject, "platform", "right_arm"),
			"Arm/PutDown", "Platform/GoTo"),
		of("Head/LookFor", "looks around for an object", theCup, lookFor, "head"),
		of("Platform/GoTo", "drives to a place that has a name", theTable, goTo, "platform"),
		of("Arm/Grasp", "closes the hand around an object", theCup, grasp, "right_arm"),
		of("Arm/HandOver", "holds out what the hand holds", nil, handOver, "right_arm"),
		of("Arm/PutDown", "puts down what the hand holds and draws the arm back", nil, putDown, "right_arm"),
	}
}

// call is a skill that a story calls.
type call struct {
	what       string // is done, for people
	skill      string
	parameters map[string]any
}

// mostTries is how often a story tries what fails and may succeed the next time.
const mostTries = 3

// calls calls one skill after the other; takes is how long they take in all if nothing fails.
func (d *deed) calls(ctx context.Context, takes time.Duration, all ...call) error {
	d.Expect(takes)
	for i, c := range all {
		done := float64(i) / float64(len(all))
		if err := d.Progress(ctx, done, c.what); err != nil {
			return err
		}
		for try := 1; ; try++ {
			_, err := d.Run(ctx, skill.Ask{Skill: c.skill, Parameters: c.parameters})
			if err == nil {
				break
			}
			var f *skill.Failure
			if try == mostTries || ctx.Err() != nil || !errors.As(err, &f) || !f.Retry {
				return err
			}
			if err := d.Progress(ctx, done, f.Message+"; trying again"); err != nil {
				return err
			}
		}
	}
	return nil
}

func bringObject(ctx context.Context, d *deed) error {
	object := map[string]any{"object": d.Text("object")}
	return d.calls(ctx, 4*time.Second,
		call{"looking for the " + d.Text("object"), "Head/LookFor", object},
		call{"going to the table", "Platform/GoTo", map[string]any{"location": "table"}},
		call{"grasping the " + d.Text("object"), "Arm/Grasp", object},
		call{"handing the " + d.Text("object") + " over", "Arm/HandOver", nil})
}

func placeObject(ctx context.Context, d *deed) error {
	if to := d.Text("location"); to != "table" {
		return &skill.Failure{Code: "unknown_place", Message: "things are put on the table, not on " + quoted(to)}
	}
	return d.calls(ctx, 3500*time.Millisecond,
		call{"putting it down", "Arm/PutDown", nil},
		call{"going home", "Platform/GoTo", map[string]any{"location": "home"}})
}

func lookFor(ctx context.Context, d *deed) error {
	if err := d.moves(ctx, step{"looking around", gaze, 1 - math.Round(d.phase()[gaze]), 300 * time.Millisecond}); err != nil {
		return err
	}
	name := d.Text("object")
	i := slices.IndexFunc(objects[:], func(o object) bool { return o.name == name })
	if i < 0 {
		return &skill.Failure{Code: "unknown_object", Message: "nobody has shown the robot what " + quoted(name) + " is"}
	}
	now := d.now()
	s := d.course.Load().state(now, 0)
	_, confidence := d.robot.localize(&s, i, int(now*ticksPerSecond))
	if confidence == 0 {
		return &skill.Failure{Code: "not_found", Message: "the " + name + " is not in sight", Retry: true}
	}
	d.SetResult(map[string]any{"object": d.robot.id("Object", "Instance", name), "confidence": confidence})
	return nil
}

// places are how far the robot has driven where it is at a place.
var places = map[string]float64{"home": 0, "table": 1}

func goTo(ctx context.Context, d *deed) error {
	name := d.Text("location")
	to, known := places[name]
	if !known {
		return &skill.Failure{Code: "unknown_place", Message: "there is no place called " + quoted(name) + "; home and table are"}
	}
	left := math.Abs(to - d.phase()[drive])
	if err := d.moves(ctx, step{"driving", drive, to, time.Duration(left * float64(1500*time.Millisecond))}); err != nil {
		return err
	}
	d.SetResult(map[string]any{"location": name})
	return nil
}

// In every second round the first grasp fails, which are two and one of three.
func (s *stage) slips() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grasps++
	return s.grasps%3 == 1
}

// feeling is how long the hand feels whether it holds something, in seconds.
const feeling = 0.05

func grasp(ctx context.Context, d *deed) error {
	name := d.Text("object")
	there := []engram.ID{d.robot.id("Object", "Instance", objects[cup].name)}
	switch p := d.phase(); {
	case name != objects[cup].name:
		return &skill.Failure{Code: "no_grasp", Message: "the hand has no grasp for " + quoted(name) + "; for the cup it has"}
	case d.holding():
		return nil
	case p[drive] != 1:
		return &skill.Failure{Code: "out_of_reach", Message: "the cup is out of reach; Platform/GoTo location=table comes first", BlockedBy: there}
	}
	at := step{"reaching for the cup", reach, 1, time.Duration((1 - d.phase()[reach]) * float64(700*time.Millisecond))}
	if d.slips() {
		if err := d.moves(ctx, at, step{"closing the hand", grip, 0.7, 150 * time.Millisecond}, step{"opening the hand", grip, 0, 150 * time.Millisecond}); err != nil {
			return err
		}
		return &skill.Failure{Code: "slipped", Message: "the cup slipped out of the hand", Retry: true, BlockedBy: there}
	}
	if err := d.moves(ctx, at, step{"closing the hand", grip, 1, 200 * time.Millisecond}); err != nil {
		return err
	}
	d.hold()
	return d.wait(ctx, d.now()+feeling)
}

func handOver(ctx context.Context, d *deed) error {
	if !d.holding() {
		return &skill.Failure{Code: "empty_hand", Message: "the hand holds nothing"}
	}
	return d.moves(ctx, step{"holding out the cup", lift, 1, 600 * time.Millisecond})
}

func putDown(ctx context.Context, d *deed) error {
	switch p := d.phase(); {
	case !d.holding() && p[reach] == 0:
		return &skill.Failure{Code: "empty_hand", Message: "the hand holds nothing"}
	case d.holding() && p[drive] != 1:
		return &skill.Failure{Code: "no_table", Message: "there is nothing to put it on; Platform/GoTo location=table comes first"}
	}
	if d.holding() {
		if err := d.moves(ctx, step{"putting down the cup", lift, 0, 800 * time.Millisecond}); err != nil {
			return err
		}
		d.letGo()
	}
	return d.moves(ctx, step{"opening the hand", grip, 0, 200 * time.Millisecond}, step{"drawing the arm back", reach, 0, 800 * time.Millisecond})
}

func quoted(name string) string { return "“" + strings.ToValidUTF8(name, "�") + "”" }
