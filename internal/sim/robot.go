package sim

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/world"
)

// Period is the time from one tick of the world to the next; joint states come
// with each.
const Period = 10 * time.Millisecond

const ticksPerSecond = float64(time.Second / Period)

// How many ticks lie between two reports of the other kinds.
const (
	localizationTicks = 2  // 50 Hz
	imageTicks        = 5  // 20 Hz
	objectTicks       = 10 // 10 Hz: every second image is looked at
	objectDelay       = 6  // the object localiser needs 60 ms for an image
)

// Config configures a [Robot]. Zero fields mean the defaults.
type Config struct {
	Start    engram.Time // when the world begins: the time of tick 0
	Seed     uint64      // of the measurement noise
	Robot    string      // the robot's name; default "humanoid"
	Provider string      // the provider segments' name; default "Simulation"
	Width    int         // of an image, pixels; default 640
	Height   int         // default 480
}

// Robot is a simulated robot. What it reports at a tick never changes, and asking
// for it is safe for concurrent use; [Robot.Step], [Robot.Run] and [Robot.Live] move
// its present on and are not.
type Robot struct {
	config    Config
	noise     noise
	types     eventTypes
	codec     *world.Codec
	skills    *skill.Codec
	abilities []ability
	rounds    [2]round // that alternate, unless it lives by Live
	live      *live    // nil unless it does
	ids       ids
	names     []byte    // the joints' names as they stand in a payload
	renderers sync.Pool // of *renderer
	next      int       // the tick that Step or Run reports next
}

// ids are the entities that the robot reports about.
type ids struct {
	proprioception, images, base engram.ID
}

// eventTypes are the types of what is reported now and then.
type eventTypes struct {
	robot, localization, class, instance, attachment, text, command, transition, location *idf.Type
}

// New returns a robot. The error is Invalid for names that cannot be names and
// OutOfRange for images that nobody renders.
func New(c Config) (*Robot, error) {
	c.Robot, c.Provider = cmp.Or(c.Robot, "humanoid"), cmp.Or(c.Provider, "Simulation")
	c.Width, c.Height = cmp.Or(c.Width, 640), cmp.Or(c.Height, 480)
	if c.Width < 16 || c.Height < 16 || c.Width > 4096 || c.Height > 4096 {
		return nil, engram.Errorf(engram.OutOfRange, "", "images of %d x %d pixels are not rendered; 16 to 4096 each way are", c.Width, c.Height)
	}
	for _, name := range []string{c.Robot, c.Provider} {
		if err := engram.CheckName(name); err != nil {
			return nil, err
		}
	}
	r := &Robot{config: c, noise: noise(mix(c.Seed)), abilities: abilities()}
	r.renderers.New = func() any { return newRenderer(c.Width, c.Height) }
	if err := r.types.find(); err != nil {
		return nil, err
	}
	var err error
	if r.codec, err = worldCodec(); err != nil {
		return nil, err
	}
	if r.skills, err = skill.NewCodec(context.Background(), ownTypes{}); err != nil {
		return nil, err
	}
	for i := range body {
		r.names = appendString(r.names, 3, body[i].name)
	}
	r.ids = ids{
		proprioception: r.id("RobotState", "Proprioception", c.Robot),
		images:         r.id("Vision", "ImageRGB", "head_camera"),
		base:           r.edge(odomFrame, baseFrame),
	}
	r.rounds, err = r.play()
	return r, err
}

func (t *eventTypes) find() error {
	for name, into := range map[string]**idf.Type{
		"engram.robot_state.Description":  &t.robot,
		"engram.robot_state.Localization": &t.localization,
		"engram.object.Class":             &t.class,
		"engram.object.Instance":          &t.instance,
		"engram.object.Attachment":        &t.attachment,
		"engram.speech.Text":              &t.text,
		"engram.speech.Command":           &t.command,
		"engram.skill.Transition":         &t.transition,
		"engram.navigation.Location":      &t.location,
	} {
		typ, ok := memories.Type(name)
		if !ok {
			return engram.Errorf(engram.Internal, name, "the memories do not have this type")
		}
		*into = typ
	}
	return nil
}

// id returns an entity of the robot's provider segments. The names were checked.
func (r *Robot) id(memory, core, entity string) engram.ID {
	id, err := engram.NewID(memory, core, r.config.Provider, entity)
	if err != nil {
		panic(err)
	}
	return id
}

// edge returns the entity of an edge of the transform tree.
func (r *Robot) edge(parent, child string) engram.ID {
	return r.id("RobotState", "Localization", parent+","+child)
}

// Time returns the time of a tick.
func (r *Robot) Time(tick int) engram.Time { return r.config.Start.Add(time.Duration(tick) * Period) }

// seconds returns the world's time at a tick.
func seconds(tick int) float64 { return float64(tick) / ticksPerSecond }

// Step returns what is reported at the next tick, in the order in which it becomes
// known; before the first tick comes [Robot.Setup].
func (r *Robot) Step() []engram.Commit {
	tick := r.next
	r.next++
	var commits []engram.Commit
	if tick == 0 {
		commits = append(commits, r.Setup())
	}
	for _, c := range []engram.Commit{r.State(tick), r.Events(tick), r.Kitchen(tick), r.Images(tick), r.Objects(tick)} {
		if len(c.Updates) > 0 {
			commits = append(commits, c)
		}
	}
	return commits
}

// payload encodes v; it is the robot's own, so it fits the type.
func payload(t *idf.Type, v map[string]any) engram.Payload {
	b, err := t.Encode(v)
	if err != nil {
		panic(err)
	}
	return engram.Payload{Type: t.Name(), Bytes: b}
}

// update makes an entity update of one instance.
func update(entity engram.ID, t engram.Time, p engram.Payload) engram.EntityUpdate {
	return engram.EntityUpdate{Entity: entity, Time: t, Instances: []engram.Instance{engram.NewInstance(p)}}
}

func vector(v vec3) map[string]any { return map[string]any{"x": v.X, "y": v.Y, "z": v.Z} }

func rotationValue(q pose.Quat) map[string]any {
	return map[string]any{"x": q.X, "y": q.Y, "z": q.Z, "w": q.W}
}

func poseValue(p pose.Pose) map[string]any {
	return map[string]any{"position": vector(p.T), "orientation": rotationValue(p.R)}
}
