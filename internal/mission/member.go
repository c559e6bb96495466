package mission

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/world"
)

// member is one of those who take part, with a memory server of its own.
type member struct {
	m      *Mission
	name   string
	groups []string
	robot  bool // it has a body in the hallway

	svc    engram.Service // the own server
	home   home
	client *client.Client
	world  *world.Memory
	codec  *world.Codec

	ctx  context.Context // of all that it does
	halt context.CancelFunc
	work sync.WaitGroup
	body *body // nil of the operator

	// Under the mission's lock.
	killed            bool
	cutFrom, cutUntil time.Duration // when its link was cut, simulated; 0 is not, or not yet

	provider *skill.Provider
}

// taken are the memories that each server has.
var taken = []string{"RobotState", "Object", "Vision", "Speech", "Skill", "Navigation", "World", "SystemState"}

// copied is what each member holds copies of, of all others: what the world is made of. The
// operator holds more, so that its recordings tell the whole story.
func copied(operator bool) (patterns []string) {
	patterns = []string{"*:World", "*:Object"}
	if operator {
		patterns = append(patterns, "*:Skill", "*:Speech", "*:Navigation", "*:RobotState", "*:Vision/ImageRGB")
	}
	return patterns
}

// connect has the member know the others: its client, and its view of the one world.
func (b *member) connect(ctx context.Context) (err error) {
	if b.client, err = client.Connect(ctx, client.Options{Address: b.home.address()}); err != nil {
		return err
	}
	if b.svc = b.home.server(); b.svc == nil {
		b.svc = b.client
	}
	if b.codec, err = world.NewCodec(ctx, b.client); err != nil {
		return err
	}
	source := world.Perception
	if !b.robot {
		source = world.PriorKnowledge
	}
	b.world, err = world.Over(ctx, b.client, b.name, world.DefaultRules(), world.Robots("*"), world.FromSource(source))
	return err
}

// run runs what the member does by itself, until it ends.
func (b *member) run(f func(ctx context.Context)) { b.work.Go(func() { f(b.ctx) }) }

// close ends the member: what it does, then its server.
func (b *member) close() error {
	var errs []error
	if b.world != nil {
		errs = append(errs, b.world.Close())
	}
	if b.client != nil {
		errs = append(errs, b.client.Close())
	}
	if b.home != nil {
		errs = append(errs, b.home.close())
	}
	return errors.Join(errs...)
}

// id returns an entity of the member's own memories.
func (b *member) id(memory, segment, entity string) engram.ID {
	id, err := engram.NewID(memory, segment, b.name, entity)
	if err != nil {
		panic(err) // names are the mission's own
	}
	return id
}

// abroad returns an ID of the member's memory as others write it, and it, too.
func (b *member) abroad(id engram.ID) engram.ID {
	if strings.Contains(id.Memory(), ":") {
		return id
	}
	of, err := id.InMemory(b.name + ":" + id.Memory())
	if err != nil {
		panic(err)
	}
	return of
}

// payload encodes a value of a type that the memories have.
func payload(typ string, v map[string]any) engram.Payload {
	t, ok := memories.Type(typ)
	if !ok {
		panic("mission: no type " + typ)
	}
	b, err := t.Encode(v)
	if err != nil {
		panic(err)
	}
	return engram.Payload{Type: typ, Bytes: b}
}

func update(id engram.ID, t engram.Time, p engram.Payload) engram.EntityUpdate {
	return engram.EntityUpdate{Entity: id, Time: t, Instances: []engram.Instance{engram.NewInstance(p)}}
}

// commit writes into the member's own memories.
func (b *member) commit(ctx context.Context, updates ...engram.EntityUpdate) error {
	results, err := b.svc.Commit(ctx, engram.Commit{Updates: updates})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}

// decode returns the first instance of a snapshot.
func decode(s *engram.Snapshot) (map[string]any, error) {
	if len(s.Instances) == 0 {
		return nil, engram.Errorf(engram.Corrupt, "", "a snapshot without instances")
	}
	p := s.Instances[0].Payload
	t, ok := memories.Type(p.Type)
	if !ok {
		return nil, engram.Errorf(engram.NotFound, p.Type, "an unknown type")
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// patience is how long a mission waits for what takes a moment, in real time.
const patience = 30 * time.Second
