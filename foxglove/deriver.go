package foxglove

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/poses"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/world"
)

// Message is a message of a derived channel.
type Message struct {
	Topic string
	Type  engram.TypeDef // of Data
	Time  engram.Time
	Data  []byte
}

// Deriver makes, of snapshots in the order of their times, the messages of the channels that a
// [Door] derives: for a recording of them. Frames of the world's items are not in /tf, as the
// items are drawn where they are. Not for concurrent use.
type Deriver struct {
	types  *Types
	robots feature.Server
	tree   transforms
	world  *world.Replay     // nil where there is none
	drawn  map[string]string // the items as they were drawn last, without times

	now   engram.Time // the time of the newest snapshot
	begun bool        // whether there was one that is not early
	held  []Message   // of what is early
	// Whether there may be news, and when they were told last.
	moved, changed  bool
	treeAt, sceneAt engram.Time
}

// NewDeriver returns a Deriver. types are of the memory that the snapshots come from; robots
// is an empty server with the memory RobotState, which is the Deriver's from then on until its
// owner closes it.
func NewDeriver(ctx context.Context, types engram.Types, robots feature.Server) (*Deriver, error) {
	d := &Deriver{types: NewTypes(types), robots: robots, drawn: map[string]string{}, treeAt: engram.MinTime, sceneAt: engram.MinTime}
	d.tree = transforms{poses: poses.NewClient(feature.Within(robots)), told: map[string]told{}, changes: true}
	var err error
	if d.world, err = world.NewReplay(ctx, types, world.DefaultRules()); err != nil && engram.CodeOf(err) != engram.NotFound {
		return nil, err
	}
	return d, nil
}

// Add takes the next snapshot, which is early if it stands before the recording begins: in
// force at its start, or holding at all times. It returns the messages that have come due, none
// of which is later than the snapshot; what cannot be derived is left out. The error is the
// context's.
func (d *Deriver) Add(ctx context.Context, it engram.Item, early bool) (due []Message, err error) {
	switch {
	case early:
		d.now = max(d.now, it.Time)
	case !d.begun:
		d.begun, d.now = true, it.Time
		due = d.release()
	case it.Time > d.now:
		due = d.tick(ctx, false)
		d.now = it.Time
	}
	for i := range it.Instances {
		typ := it.Instances[i].Payload.Type
		how := derivations[typ]
		if how == nil || slices.ContainsFunc(it.Instances[:i], func(in engram.Instance) bool { return in.Payload.Type == typ }) {
			continue
		}
		data, err := how.make(ctx, d.types, typ, it)
		if err != nil || data == nil {
			continue
		}
		m := Message{how.topic(it.ID.Truncate(engram.LevelEntity)), how.def, it.Time, data}
		if early {
			d.held = append(d.held, m)
		} else {
			due = append(due, m)
		}
	}
	d.move(ctx, it)
	if d.world != nil && d.world.Put(it) {
		d.changed = true
	}
	return due, ctx.Err()
}

// End returns the messages that come last.
func (d *Deriver) End(ctx context.Context) ([]Message, error) {
	due := append(d.release(), d.tick(ctx, true)...)
	return due, ctx.Err()
}

// release returns what was held back until the recording began.
func (d *Deriver) release() []Message {
	due := d.held
	d.held = nil
	for i := range due {
		due[i].Time = d.now
	}
	return due
}

// move has the poses follow a snapshot of a memory RobotState, this robot's or another's: the
// names of frames tell robots apart.
func (d *Deriver) move(ctx context.Context, it engram.Item) {
	const memory = "RobotState"
	if name := it.ID.Memory(); name != memory && !strings.HasSuffix(name, ":"+memory) {
		return
	}
	entity, err := engram.NewID(memory, it.ID.CoreSegment(), it.ID.ProviderSegment(), it.ID.Entity())
	if err == nil {
		_, err = d.robots.Commit(ctx, engram.Commit{Recorded: true, Updates: []engram.EntityUpdate{{Entity: entity, Time: it.Time, Instances: it.Instances}}})
	}
	d.moved = d.moved || err == nil // what is refused says nothing of poses
}

// tick returns the tree and the scene of now, if they are others than before and it is time.
func (d *Deriver) tick(ctx context.Context, last bool) (due []Message) {
	passed := func(since engram.Time, every time.Duration) bool { return last || d.now >= since.Add(every) }
	if d.moved && passed(d.treeAt, treeEvery) {
		d.moved, d.treeAt = false, d.now
		if edges, err := d.tree.poses.Tree(ctx, nil); err == nil {
			if m, _ := d.tree.next(ctx, edges, d.now, true); m != nil {
				due = d.append(due, treeTopic, treeOf, m)
			}
		}
	}
	if d.changed && passed(d.sceneAt, replayEvery) {
		d.changed, d.sceneAt = false, d.now
		if m := d.scene(); m != nil {
			due = d.append(due, worldTopic, worldOf, m)
		}
	}
	return due
}

func (d *Deriver) append(due []Message, topic string, how *derivation, m proto.Message) []Message {
	data, err := proto.Marshal(m)
	if err != nil {
		return due
	}
	return append(due, Message{topic, how.def, d.now, data})
}

// scene returns the items that are drawn otherwise than before, and which are there no more; nil
// if there are none.
func (d *Deriver) scene() *foxglovepb.SceneUpdate {
	m := &foxglovepb.SceneUpdate{}
	f := d.world.Forest()
	there := map[string]bool{}
	for it := range f.All() {
		e := DrawItem(f, it, d.now)
		if e == nil {
			continue
		}
		there[it.Name] = true
		e.Timestamp = nil
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
		if err != nil || d.drawn[it.Name] == string(b) {
			continue
		}
		d.drawn[it.Name] = string(b)
		e.Timestamp = stamp(d.now)
		m.Entities = append(m.Entities, e)
	}
	for name := range d.drawn {
		if !there[name] {
			delete(d.drawn, name)
			m.Deletions = append(m.Deletions, &foxglovepb.SceneEntityDeletion{Timestamp: stamp(d.now), Id: name})
		}
	}
	slices.SortFunc(m.Deletions, func(a, b *foxglovepb.SceneEntityDeletion) int { return strings.Compare(a.Id, b.Id) })
	if len(m.Entities)+len(m.Deletions) == 0 {
		return nil
	}
	return m
}
