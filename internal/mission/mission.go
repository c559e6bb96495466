package mission

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/command"
	"github.com/seed-301d4374/engram/world/files"
)

// Who takes part.
const (
	Operator = "operator"
	Worker   = "worker"
	Scout1   = "scout1"
	Scout2   = "scout2"
)

// Sentences are the five of the thesis.
var Sentences = []string{
	"Operator, read the hallway map",
	"Everybody, read the configurations",
	"Everybody, track your location",
	"Scouts, find the garbage",
	"Worker, initialize visual navigation",
}

// Config is what a mission is run with.
type Config struct {
	Map   string    // a map file of ROS's map_server; "" is a small hallway of the mission's own
	Seed  uint64    // of where things are, and of noise
	Speed float64   // how many times faster than real time
	Dir   string    // for the long-term memories of all
	Out   io.Writer // takes the story; nil for none

	// Namespaces gives each member a host of its own: a server that is a process in a network
	// namespace. It needs Linux, root, and the program ip.
	Namespaces bool
	Program    string // that serves in namespaces: engram; "" is this one

	KillScout bool          // scout2 is killed half-way through the search
	CutLink   time.Duration // how long scout1 is cut off half-way, simulated
}

// Mission is a mission that runs.
type Mission struct {
	Clock   *Clock
	config  Config
	grid    *hallway.Grid
	truth   *hallway.World
	members []*member
	sockets string
	homes   homes
	began   engram.Time // of the servers' lives

	background context.Context
	stop       context.CancelFunc
	stepping   sync.WaitGroup

	first sync.Once // sentence

	mu      sync.Mutex
	random  *rand.Rand
	events  map[string]*Event
	dropped engram.ID
	ended   bool
}

var quiet = slog.New(slog.DiscardHandler)

// readGrid reads a map file.
func readGrid(file string) (*files.Grid, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return files.ReadGrid(text, file, os.ReadFile)
}

// Start starts the servers of all who take part. ctx bounds the call only; Close ends the
// mission.
func Start(ctx context.Context, c Config) (m *Mission, err error) {
	if c.Speed <= 0 || c.Speed > 1000 {
		return nil, engram.Errorf(engram.OutOfRange, "", "a speed of %v; it is above 0 and at most 1000", c.Speed)
	}
	m = &Mission{config: c, events: map[string]*Event{}, random: rand.New(rand.NewPCG(c.Seed, 1)), grid: hallway.Default()}
	if c.Map != "" {
		f, err := readGrid(c.Map)
		if err != nil {
			return nil, err
		}
		m.grid = hallway.OfFile(f)
	}
	if m.truth, err = hallway.New(m.grid, c.Seed, Worker, Scout1, Scout2); err != nil {
		return nil, err
	}
	m.background, m.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
			m = nil
		}
	}()
	// A socket's path is short.
	if m.sockets, err = os.MkdirTemp("", "engram-mission-"); err != nil {
		return m, err
	}
	if m.homes, err = newHomes(m); err != nil {
		return m, err
	}
	m.Clock = newClock(c.Speed)
	m.began = engram.Now()
	for _, name := range []string{Operator, Worker, Scout1, Scout2} {
		b := &member{m: m, name: name, robot: name != Operator}
		if name == Scout1 || name == Scout2 {
			b.groups = []string{"scouts"}
		}
		b.ctx, b.halt = context.WithCancel(m.background)
		m.members = append(m.members, b)
		if b.robot {
			b.body = &body{member: b}
		}
		if b.home, err = m.homes.settle(ctx, b); err != nil {
			return m, err
		}
	}
	for _, b := range m.members {
		if err = b.connect(ctx); err != nil {
			return m, err
		}
		if err = m.meet(ctx, b); err != nil {
			return m, err
		}
	}
	m.stepping.Go(m.step)
	if c.KillScout || c.CutLink > 0 {
		m.stepping.Go(m.disturb)
	}
	for _, b := range m.members {
		b.run(b.witness)
		b.provider = skill.NewProvider(b.svc, b.name, skill.WithLease(lease))
		switch b.name {
		case Operator:
			b.offerOperator()
		case Worker:
			b.body.offerRobot()
			b.body.offerWorker()
		default:
			b.body.offerRobot()
			b.body.offerScout()
		}
		b.run(func(ctx context.Context) { b.told("skills", b.provider.Run(ctx)) })
	}
	if err = m.offered(ctx); err != nil {
		return m, err
	}
	return m, nil
}

// lease is after which time without a word a provider of skills is lost. All of them are in this
// process, on a computer that may be busy.
const lease = 6 * time.Second

// offered waits until the operator knows that everybody has skills.
func (m *Mission) offered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		v, err := m.vocabulary(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(v.Agents, func(a command.Agent) bool { return len(a.Skills) < 2 }) {
			return nil
		}
		if err := m.Clock.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// meet waits until a member knows the memories of all others.
func (m *Mission) meet(ctx context.Context, b *member) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, o := range m.members {
		if o == b {
			continue
		}
		for {
			_, err := b.client.Names().Resolve(ctx, o.name+":World")
			if err == nil {
				break
			}
			if engram.CodeOf(err) != engram.NotFound || ctx.Err() != nil {
				return err
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// step lets time pass in the hallway.
func (m *Mission) step() {
	const dt = 20 * time.Millisecond
	at := m.Clock.Now()
	for m.background.Err() == nil {
		for now := m.Clock.Now(); at.Add(dt) <= now; at = at.Add(dt) {
			m.truth.Step(dt.Seconds())
		}
		_ = m.Clock.Sleep(m.background, dt)
	}
}

func (m *Mission) rand() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.Float64()
}

// member returns who has a name.
func (m *Mission) member(name string) *member {
	i := slices.IndexFunc(m.members, func(b *member) bool { return b.name == name })
	if i < 0 {
		return nil
	}
	return m.members[i]
}

// vocabulary is what the operator's station understands: it comes out of the memories, but for the
// verbs.
func (m *Mission) vocabulary(ctx context.Context) (*command.Vocabulary, error) {
	v := &command.Vocabulary{Verbs: verbs, Things: []command.Thing{{Kind: "map", Name: hallwayItem}}}
	op := m.members[0]
	can, err := op.client.Query(ctx, nearby("Skill/Description", "*:Skill/Description"))
	if err != nil {
		return nil, err
	}
	for _, b := range m.members {
		a := command.Agent{Name: b.name, Groups: b.groups, Skills: []string{}}
		for it := range can.All() {
			if it.ID.ProviderSegment() == b.name && !slices.Contains(a.Skills, it.ID.Entity()) {
				a.Skills = append(a.Skills, it.ID.Entity())
			}
		}
		v.Agents = append(v.Agents, a)
	}
	r, err := op.client.Query(ctx, nearby("Object/Class"))
	if err != nil {
		return nil, err
	}
	for it := range r.All() {
		c, err := decode(it.Snapshot)
		if err != nil {
			continue
		}
		t := command.Thing{Kind: "object", Name: it.ID.Entity(), ID: it.ID.Truncate(engram.LevelEntity)}
		list, _ := c["spoken_names"].([]any)
		for _, s := range list {
			if s, ok := s.(string); ok {
				t.Spoken = append(t.Spoken, s)
			}
		}
		v.Things = append(v.Things, t)
	}
	return v, nil
}

// nearby asks for the newest of all that patterns select, of copies where there are some.
func nearby(patterns ...string) engram.Query {
	q := engram.Query{Source: engram.SourceNear}
	for _, p := range patterns {
		q.Memories = append(q.Memories, engram.MustPattern(p).Select(engram.Latest(1)).Memories...)
	}
	return q
}

// Said is what came of a sentence.
type Said struct {
	Command engram.ID // of the operator's memory, as others write it
	m       *Mission
	asked   []*skill.Ongoing
	who     []string
}

// Say has the operator say a sentence. The error's cause is a [*command.NotUnderstood] if it was
// not understood; that is a reply and no end.
func (m *Mission) Say(ctx context.Context, sentence string) (*Said, error) {
	op := m.members[0]
	m.first.Do(m.Clock.Begin)
	t := engram.Now()
	text := op.id("Speech", "Text", "console")
	if err := op.commit(ctx, update(text, t, payload("engram.speech.Text", map[string]any{
		"timestamp": t, "text": sentence, "language": "en", "speaker": Operator,
	}))); err != nil {
		return nil, err
	}
	op.say("%q", sentence)
	v, err := m.vocabulary(ctx)
	if err != nil {
		return nil, err
	}
	c, err := v.Parse(sentence)
	if err != nil {
		return nil, err
	}
	refers := []any{}
	for _, id := range c.RefersTo {
		refers = append(refers, id)
	}
	arguments := map[string]any{}
	for _, r := range c.Requests {
		for k, p := range r.Parameters {
			arguments[k] = p
		}
	}
	id := op.id("Speech", "Command", "console")
	if err := op.commit(ctx, update(id, t, payload("engram.speech.Command", map[string]any{
		"timestamp": t, "text": sentence, "intent": c.Requests[0].Skill, "arguments": arguments, "language": "en", "speaker": Operator,
		"source_text": text.At(t).Instance(0), "refers_to": refers,
	}))); err != nil {
		return nil, err
	}
	said := &Said{m: m, Command: op.abroad(id.At(t).Instance(0))}
	for _, r := range c.Requests {
		q := skill.Request{Skill: r.Skill, Caller: Operator, Cause: said.Command}
		if r.Agent != Operator {
			q.Memory = r.Agent + ":" + skill.Memory
		}
		if len(r.Parameters) > 0 {
			p := map[string]any{}
			for k, v := range r.Parameters {
				p[k] = v
			}
			q.Parameters = p
		}
		x, err := m.ask(ctx, q)
		if err != nil {
			return said, fmt.Errorf("%s: %w", r.Agent, err)
		}
		said.who = append(said.who, r.Agent)
		said.asked = append(said.asked, x)
	}
	return said, nil
}

// ask asks for a skill, once. Who is not reached for a moment, as on a busy computer, is asked again.
func (m *Mission) ask(ctx context.Context, q skill.Request) (*skill.Ongoing, error) {
	trying, enough := context.WithTimeout(ctx, patience/3)
	defer enough()
	client := m.members[0].client
	q.Name, q.Memory = strings.ToLower(crand.Text()[:12]), cmp.Or(q.Memory, skill.Memory)
	for {
		x, err := skill.Start(ctx, client, q)
		switch {
		case engram.CodeOf(err) == engram.AlreadyExists: // it had arrived before
			id, err := engram.NewID(q.Memory, "Request", q.Caller, q.Name)
			if err != nil {
				return nil, err
			}
			return skill.Follow(client, id)
		case engram.CodeOf(err) != engram.Unavailable, m.Clock.Sleep(trying, time.Second) != nil:
			return x, err
		}
	}
}

// giveUp is after how long a silence the operator gives somebody up, by the wall clock.
const giveUp = 20 * time.Second

// Wait waits until all that a sentence asked for has ended, and returns what failed, and of
// whom nothing is heard any more.
func (s *Said) Wait(ctx context.Context) error {
	errs := make([]error, len(s.asked))
	var all sync.WaitGroup
	for i, x := range s.asked {
		all.Go(func() {
			waiting, enough := context.WithCancel(ctx)
			defer enough()
			all.Go(func() {
				heard := time.Now()
				s.m.Clock.Every(waiting, 5*time.Second, func() bool {
					if !s.m.silent(waiting, s.who[i]) {
						heard = time.Now()
					}
					return time.Since(heard) < giveUp
				})
				enough()
			})
			e, err := x.Wait(waiting)
			switch {
			case err == nil:
				err = e.Err()
			case ctx.Err() == nil && waiting.Err() != nil:
				err = engram.Errorf(engram.Unavailable, s.who[i], "nothing is heard of it any more")
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.who[i], err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Settled waits until an event is in the worlds of all.
func (m *Mission) Settled(ctx context.Context, event string) error {
	for {
		m.mu.Lock()
		e, all := m.events[event], true
		for _, b := range m.members {
			if e == nil || !b.killed && !has(e.In, b.name) {
				all = false
			}
		}
		m.mu.Unlock()
		if all {
			return nil
		}
		if err := m.Clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func has(m map[string]time.Duration, key string) bool {
	_, ok := m[key]
	return ok
}

// Close ends all servers.
func (m *Mission) Close() error {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	var errs []error
	m.stop()
	m.stepping.Wait()
	for _, b := range slices.Backward(m.members) {
		errs = append(errs, b.close())
	}
	for _, b := range m.members {
		b.work.Wait()
	}
	if m.homes != nil {
		errs = append(errs, m.homes.close())
	}
	if m.sockets != "" {
		errs = append(errs, os.RemoveAll(m.sockets))
	}
	return errors.Join(errs...)
}
