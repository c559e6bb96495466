package world

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// Memory is a [Model] over the memory World of a server, in this process or another, and over
// those of other robots. It follows what all providers commit. What it has heard stays in it
// when a robot leaves, or when a server that keeps nothing on disk begins anew; what is removed
// from a memory, such as what is forgotten on request, goes.
type Memory struct {
	keeper
	svc      engram.Service
	codec    *Codec
	patterns []engram.Pattern

	owners []uint64 // epochs of the owners of copies, when these were asked last; under the hub's lock

	unsure atomic.Int64                   // writes of which the world may lack something; 0 once it was read after them
	most   atomic.Pointer[map[string]int] // bytes that the server keeps of an entity, by core segment; nil before it was asked

	opening func(done, of int) // until the world is open; nil for nobody
}

const (
	ownMemory   = "World"
	clockMemory = "SystemState"
)

// Option says more about a world over a memory.
type Option func(*options)

type options struct {
	robot  string
	robots []string
	now    func() engram.Time
	source Source
	// opening is told how much of how much is in the world while it is opened; nil for nobody.
	opening func(done, of int)
}

// Robots has the world be over the memories World of other robots, too: "*" for all, a name, or
// "~" and a regular expression. Robots that join later are in it as well. A copy that the
// own robot holds is read instead of its owner.
func Robots(patterns ...string) Option {
	return func(o *options) { o.robots = append(o.robots, patterns...) }
}

// Clock says what the time is, for what is stated; without it, it is this computer's.
func Clock(now func() engram.Time) Option { return func(o *options) { o.now = now } }

// OfRobot says the name of the robot whose memory World it is; worlds of other robots call it
// so. Without it a service that has a method Robot is asked, as clients and servers have.
func OfRobot(name string) Option { return func(o *options) { o.robot = name } }

// FromSource says where what the provider states comes from, where a call does not say so: an
// operator's, such as at a command line, counts before what is perceived. Without it each statement
// has to say so itself, and so has what the provider said of the item before, where a call cannot.
func FromSource(s Source) Option { return func(o *options) { o.source = s } }

// Over returns the world of the memory World that the service has. What it writes are
// statements of the provider, to whose provider segments nobody else writes. It has all that
// was committed before the call, of other robots as far as they or copies are reached. ctx
// bounds only the call; Close ends the world.
func Over(ctx context.Context, svc engram.Service, provider string, rules Rules, more ...Option) (*Memory, error) {
	if err := engram.CheckName(provider); err != nil {
		return nil, err
	}
	codec, err := NewCodec(ctx, svc)
	if err != nil {
		return nil, err
	}
	o := options{now: engram.Now}
	for _, set := range more {
		set(&o)
	}
	codec.robot = cmp.Or(o.robot, codec.robot)
	m := &Memory{svc: svc, codec: codec}
	h := newHub(rules)
	h.builder.robot = codec.robot
	m.keeper = *m.keeperOf(h, provider, o.source, o.now)
	m.current = m.isCurrent
	if m.patterns, err = o.patterns(codec.Patterns()); err != nil {
		return nil, err
	}
	if len(o.robots) > 0 {
		m.seek, m.seeking = m.inCopies, make(chan struct{}, 1)
	}
	h.follower = follow.New(svc, reader{m}, follow.Options{
		Patterns: m.patterns, Source: engram.SourceNear, Start: engram.Start{Kind: engram.StartLast, N: 1},
	})
	h.Marks = &h.follower.Marks
	m.opening = o.opening
	if err := h.follower.Open(ctx); err != nil {
		return nil, err
	}
	m.opening = nil
	h.follower.Start()
	return m, nil
}

// patterns returns what to follow of robots: of the own one first.
func (o *options) patterns(own []engram.Pattern) ([]engram.Pattern, error) {
	patterns := slices.Clone(own)
	for _, robot := range o.robots {
		if expr, ok := strings.CutPrefix(robot, "~"); ok {
			robot = "~(?:" + expr + ")"
		}
		for _, p := range own {
			of, err := engram.ParsePattern(robot + ":" + p.Levels[0].String())
			if err == nil && len(of.Levels) != 1 {
				err = engram.Errorf(engram.Invalid, robot, "it is no robot; give a name, * for all, or ~ and a regular expression")
			}
			if err != nil {
				return nil, err
			}
			patterns = append(patterns, inMemory(p, of.Levels[0]))
		}
	}
	return patterns, nil
}

// patternsOf matches what a world is made of in one memory.
func (c *Codec) patternsOf(memory string) (patterns []engram.Pattern) {
	_, name := engram.SplitName(memory)
	for _, p := range c.Patterns() {
		if p.Levels[0].String() == name {
			patterns = append(patterns, inMemory(p, engram.OneOf(memory)))
		}
	}
	return patterns
}

// inMemory returns a pattern of other memories.
func inMemory(p engram.Pattern, memories engram.NameSelector) engram.Pattern {
	p.Levels = slices.Clone(p.Levels)
	p.Levels[0] = memories
	return p
}

// Robot returns the name of the robot whose memory World it is; "" if it has none.
func (m *Memory) Robot() string { return m.codec.robot }

// Codec returns how the world is written and read.
func (m *Memory) Codec() *Codec { return m.codec }

// Close ends the world: calls fail with Canceled from then on. It waits for what it does in
// the background.
func (m *Memory) Close() error { return m.follower.Close() }

// upTo selects of a pattern what says how the world is at a time, MaxTime for the present: of clocks
// what was measured last, of others what was said up to then. Of those of several objects it selects what heldBefore
// begins with, or for the present all that counts.
func upTo(p engram.Pattern, at engram.Time) []engram.QueryNode {
	s := engram.AtOrBefore(at)
	if at == engram.MaxTime || p.Levels[1].String() == clockSegment {
		s = engram.Latest(1)
		if ofSeveral(p.Levels[1].String()) {
			s = engram.Latest(mostHeld)
		}
	}
	return p.Select(s).Memories
}

// query selects snapshots of all that the present world is made of, or of what is in memories.
func (m *Memory) query(memories ...string) engram.Query {
	q := engram.Query{Source: engram.SourceNear}
	patterns := m.patterns
	if len(memories) > 0 {
		patterns = nil
		for _, memory := range memories {
			patterns = append(patterns, m.codec.patternsOf(memory)...)
		}
	}
	for _, p := range patterns {
		q.Memories = append(q.Memories, upTo(p, engram.MaxTime)...)
	}
	return q
}

// follows reports whether the world is over a memory.
func (m *Memory) follows(memory string) bool {
	return slices.ContainsFunc(m.patterns, func(p engram.Pattern) bool {
		names, err := p.Levels[0].Matcher()
		return err == nil && names.Match(memory)
	})
}

// take puts what came into the world. What cannot be read is left out, as is what is too much.
func (m *Memory) take(came batch) {
	m.change(func(b *Builder) map[string]engram.Time {
		names := map[string]engram.Time{}
		if len(came.whole) > 0 {
			names = b.unsay(m.goneFrom(&came))
			m.unsayLocked()
		}
		for _, entity := range came.removed { // of whatever time
			if b.f.any(entity) != nil {
				hearFrom(names, entity, engram.MinTime)
			}
		}
		m.putAll(b, m.told(came.items), names)
		m.noteHeardLocked(came.own, came.lost)
		return names
	}, came.to...)
}

// goneFrom reports of what was said in a home whether it is in no memory any more, where what came is all that these have.
func (m *Memory) goneFrom(came *batch) func(Home, *Said) bool {
	known := map[memoryOf]engram.Time{} // up to when it arrived
	for _, memory := range came.whole {
		known[m.memoryOf(memory)] = engram.MaxTime
	}
	for _, c := range came.copies {
		if _, whole := known[m.memoryOf(c.Memory)]; whole {
			known[m.memoryOf(c.Memory)] = c.AsOf
		}
	}
	there := map[Said]bool{}
	for _, it := range came.items {
		home, _ := homeOf(it.ID)
		said := m.codec.said(it.ID, it.Snapshot)
		there[said.version(home)] = true
	}
	return func(home Home, s *Said) bool {
		upTo, whole := known[memoryOf{s.Robot, home.isBeside()}]
		return whole && s.Arrived <= upTo && !there[s.version(home)]
	}
}

// version returns what is of this snapshot only.
func (s *Said) version(home Home) Said {
	return Said{Provider: s.Provider, Robot: s.Robot, Home: home, Entity: s.Entity, Time: s.Time, Arrived: s.Arrived}
}

// memoryOf is the memory World of a robot, or another one beside it.
type memoryOf struct {
	robot  string
	beside bool
}

func (m *Memory) memoryOf(name string) memoryOf {
	_, there := engram.SplitName(name)
	return memoryOf{m.codec.robotOf(name), there != ownMemory}
}

// isBeside reports whether what has a home is said in another memory than World.
func (h Home) isBeside() bool { return h == InInstance || h == InAttachment || h == inHeldPart }

// putAll puts snapshots into a world, and adds the names of the items that may differ, each with the time from which on.
func (m *Memory) putAll(b *Builder, items iter.Seq[engram.Item], names map[string]engram.Time) map[string]engram.Time {
	for it := range items {
		name, err := m.put(b, it)
		if err != nil || name == "" {
			continue
		}
		home, _ := homeOf(it.ID)
		if home == InWorld || home == InInstance || home == InAttachment {
			continue // the builder knows whether the item may differ
		}
		said := m.codec.said(it.ID, it.Snapshot)
		hearFrom(names, name, said.Time.Add(b.f.rules.Offsets[said.Robot]))
	}
	return names
}

// hearFrom notes that an item may differ from a time on.
func hearFrom[K comparable](heard map[K]engram.Time, item K, from engram.Time) {
	if t, again := heard[item]; !again || from < t {
		heard[item] = from
	}
}

// put puts a snapshot into the world. One that cannot be read counts as one that says nothing, and
// has a note under its entity's name until its provider says something else there.
func (m *Memory) put(b *Builder, it engram.Item) (string, error) {
	if isClock(it.ID) {
		s, err := m.codec.Clock(it.ID, it.Snapshot)
		if err == nil {
			b.putClock(s)
		}
		return "", err
	}
	name, err := m.putRead(b, it)
	home, aside := homeOf(it.ID)
	switch {
	case engram.CodeOf(err) == engram.Corrupt:
		said := m.codec.said(it.ID, it.Snapshot)
		said.Home = home
		if nothing := sayingNothing[home]; nothing != nil {
			aside := said
			aside.Home = InWorld
			if last := b.saidAside(home, it.ID.Entity(), &aside); last != nil && !aside.newer(last) {
				return "", nil
			}
			if _, err := b.put(it.ID.Entity(), aside, nothing); err != nil {
				return "", err
			}
		}
		return it.ID.Entity(), b.see(Seen{Statement: unread(it.ID.Entity(), said, err)})
	case err == nil && (aside || name != it.ID.Entity()) && b.f.any(it.ID.Entity()) != nil:
		said := m.codec.said(it.ID, it.Snapshot)
		said.Home = home
		b.readAgain(it.ID.Entity(), said)
	}
	return name, err
}

// sayingNothing is what withdraws what was said aside of items, by its home.
var sayingNothing = map[Home]any{inJoint: &Articulation{}, inMap: &Map{}, inPart: &Component{}, inState: &State{}}

// homeOf returns the home of what a snapshot says, and whether that is aside: no statement
// on the item of its entity's name.
func homeOf(id engram.ID) (home Home, aside bool) {
	switch id.CoreSegment() {
	case itemSegment:
		return InWorld, false
	case "Instance":
		return InInstance, false
	case "Attachments":
		return InAttachment, false
	case "ArticulatedAttachments":
		return inHeldPart, false
	case jointSegment:
		return inJoint, true
	case mapSegment:
		return inMap, true
	case partSegment:
		return inPart, true
	}
	return inState, true
}

func (m *Memory) putRead(b *Builder, it engram.Item) (string, error) {
	if !isOf(it.ID, ownMemory) {
		s, err := m.codec.Seen(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return s.Name, b.see(s)
	}
	switch it.ID.CoreSegment() {
	case itemSegment:
		s, err := m.codec.Statement(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Item)
	case jointSegment:
		s, err := m.codec.Joint(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Joint)
	case mapSegment:
		s, err := m.codec.Map(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Map)
	case partSegment:
		s, err := m.codec.Component(it.ID, it.Snapshot)
		if err != nil {
			return "", err
		}
		return b.put(s.Name, s.Said, s.Component)
	}
	s, err := m.codec.State(it.ID, it.Snapshot)
	if err != nil {
		return "", err
	}
	return b.put(s.Name, s.Said, s.State)
}

// maxCommit is how many updates are committed at once, maxCommitBytes of how many bytes.
const (
	maxCommit      = 2000
	maxCommitBytes = 16 << 20
)

// check returns an error for each update that no payload can hold, or that is larger than what the server keeps of
// one entity.
func (m *Memory) check(ctx context.Context, provider string, updates []update) []error {
	_, _, failed := m.encodeAll(ctx, provider, updates)
	return failed
}

// encodeAll returns updates of a provider as they are committed, with their places, and errors for the others.
func (m *Memory) encodeAll(ctx context.Context, provider string, updates []update) (encoded []engram.EntityUpdate, places []int, failed []error) {
	failed = make([]error, len(updates))
	for i := range updates {
		u := &updates[i]
		segment, p, err := u.segment, u.payload, error(nil)
		if segment == "" {
			segment, p, err = m.codec.encodeAny(u.what)
		}
		var id engram.ID
		if err == nil {
			id, err = engram.NewID(ownMemory, segment, provider, u.name)
		}
		if most := m.mostBytes(ctx, segment, len(p.Bytes)); err == nil && most < math.MaxInt {
			if size := m.largest(u, len(p.Bytes)); size > most {
				err = engram.Errorf(engram.Exhausted, u.name, "what is said of it takes %d bytes, and the server keeps at most %d of one entity of %s/%s; say less, such as an outline of fewer corners",
					size, most, ownMemory, segment)
			}
		}
		if failed[i] = err; err != nil {
			continue
		}
		u.segment, u.payload = segment, p
		in := engram.NewInstance(p)
		in.Confidence = float32(u.confidence)
		encoded = append(encoded, engram.EntityUpdate{Entity: id, Time: u.time, Instances: []engram.Instance{in}})
		places = append(places, i)
	}
	return encoded, places, failed
}

// largest returns how many bytes an update takes, which are size now, at whatever time it is stated: a time takes more or less of
// them, and a check says the same as what is stated later.
func (m *Memory) largest(u *update, size int) int {
	it, is := u.what.(*Item)
	if !is {
		return size
	}
	late := u.time - u.time%engram.Time(time.Second) + engram.Time(time.Second) - 1
	long := *it
	if g := long.Structure; g != nil && g.Time == u.time {
		long.Structure = &Structure{g.Parent, late}
	}
	if g := long.Placement; g != nil && g.Time == u.time {
		p := *g
		p.Time, long.Placement = late, &p
	}
	if g := long.Description; g != nil && g.Time == u.time {
		d := *g
		d.Time, long.Description = late, &d
	}
	p, err := m.codec.EncodeItem(&long)
	if err != nil {
		return size
	}
	return max(size, len(p.Bytes))
}

// mostBytes returns how many bytes the server keeps of an entity of a segment, if something of so many may be more. What
// it does not tell, it refuses itself.
func (m *Memory) mostBytes(ctx context.Context, segment string, size int) int {
	const small = 64 << 10 // which the bounds of every server leave room for
	if size <= small {
		return math.MaxInt
	}
	most := m.most.Load()
	if most == nil {
		found, _ := m.svc.Describe(ctx, engram.MustPattern(ownMemory+"/*"))
		most = &map[string]int{}
		for _, d := range found {
			if d.ID.Level() == engram.LevelCoreSegment && d.History.MaxBytes > 0 {
				(*most)[d.ID.CoreSegment()] = int(d.History.MaxBytes)
			}
		}
		if len(found) > 0 {
			m.most.Store(most)
		}
	}
	if n, known := (*most)[segment]; known {
		return n
	}
	return math.MaxInt
}

// chunks parts updates into what is committed at once.
func chunks(updates []engram.EntityUpdate) iter.Seq[[]engram.EntityUpdate] {
	return func(yield func([]engram.EntityUpdate) bool) {
		from, size := 0, 0
		for i, u := range updates {
			n := len(u.Instances[0].Payload.Bytes)
			if i > from && (i-from >= maxCommit || size+n > maxCommitBytes) {
				if !yield(updates[from:i]) {
					return
				}
				from, size = i, 0
			}
			size += n
		}
		if from < len(updates) {
			yield(updates[from:])
		}
	}
}

// commit writes updates of a provider, whose turn it is, in one commit, or in several if they are many.
func (m *Memory) commit(ctx context.Context, provider string, updates []update) ([]error, Mark, error) {
	encoded, places, failed := m.encodeAll(ctx, provider, updates)
	if len(encoded) == 0 {
		return failed, Mark{}, nil
	}
	wrote := Mark{Epoch: m.follower.Epoch(ownMemory)}
	m.mu.Lock()
	m.turns[provider].heard = Mark{}
	m.mu.Unlock()
	var results []engram.UpdateResult
	lost := false // an answer
	for part := range chunks(encoded) {
		err := follow.Outlast(ctx, func() error {
			// Committed twice, as when an answer was lost, it is the same as once: it has its time.
			r, err := m.svc.Commit(ctx, engram.Commit{Updates: part})
			if err == nil {
				results = append(results, r...)
			}
			return err
		})
		if err != nil && len(results) == 0 {
			if code := engram.CodeOf(err); code == engram.Unavailable || code == engram.Canceled {
				m.unsure.Add(1) // it may be there
			}
			return nil, Mark{}, err
		}
		if err != nil { // those before are there
			code := engram.CodeOf(err)
			for j, i := range places[len(results):] {
				what := "it was not stated"
				if j < len(part) && (code == engram.Unavailable || code == engram.Canceled) {
					what, lost = "whether it was stated is not known", true
				}
				failed[i] = engram.Errorf(code, updates[i].name, what+": %w", err)
			}
			break
		}
	}
	var told uint64 // the number of the last of which there will be news: who may only write hears nothing
	for i, r := range results {
		failed[places[i]] = r.Err
		wrote.Number = max(wrote.Number, r.Number)
		if engram.VisibilityIn(engram.ScopeOf(ctx), encoded[i].Entity) == engram.Visible {
			told = max(told, r.Number)
		}
	}
	// The number of an update alone does not say in which epoch it was written; its news do.
	patient, cancel := context.WithTimeout(ctx, newsTimeout)
	defer cancel()
	mark, has := m.settle(patient, provider, Mark{Epoch: wrote.Epoch, Number: told})
	if !has || lost {
		m.unsure.Add(1)
	}
	if mark.Number = wrote.Number; told == 0 && mark.Number != 0 {
		mark.Epoch = wrote.Epoch
	}
	if mark.Epoch == 0 && mark.Number != 0 {
		return nil, Mark{}, engram.Errorf(engram.Unavailable, "world", "it was written, but no news of it come from the server, so there is no mark of it; say it again to have one")
	}
	return failed, mark, nil
}

// newsTimeout bounds how long a writer waits for the news of what it wrote.
const newsTimeout = 10 * time.Second

// catchUp reads what was written last if it is not known whether the world has it.
func (m *Memory) catchUp(ctx context.Context) error {
	writes := m.unsure.Load()
	if writes == 0 {
		return nil
	}
	r, err := m.read(ctx, ownMemory)
	if err == nil && len(follow.Unreached(r)) == 0 {
		m.unsure.CompareAndSwap(writes, 0) // unless there was another one meanwhile
	}
	return err
}

// hear reads what is said of items in the own memory World, which the news may not have brought yet.
func (m *Memory) hear(ctx context.Context, items []string) error {
	for some := range slices.Chunk(items, mostAsked) {
		p := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(ownMemory), engram.OneOf(itemSegment), engram.AllNames(), engram.OneOf(some...)}}
		r, err := follow.Query(ctx, m.svc, p.Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		m.take(batch{items: r.Items()})
	}
	return nil
}

// commitData writes the data of a map. No world has them, so there is no news of it to wait for.
func (m *Memory) commitData(ctx context.Context, provider, name string, t engram.Time, data []byte) error {
	encoded, _, failed := m.encodeAll(ctx, provider, []update{{name: name, time: t, confidence: 1, what: data}})
	if failed[0] != nil {
		return failed[0]
	}
	return follow.Outlast(ctx, func() error {
		results, err := m.svc.Commit(ctx, engram.Commit{Updates: encoded})
		if err == nil {
			err = engram.FirstError(results)
		}
		return err
	})
}

// MapData implements [Model].
func (m *Memory) MapData(ctx context.Context, name string) ([]byte, error) {
	s, err := m.mapNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	// They lie where the map says, or with it.
	for _, id := range []engram.ID{m.inRobot(s, s.Map.Link), m.inRobot(s, s.id())} {
		if id.Level() != engram.LevelEntity {
			continue
		}
		q := engram.PatternOf(id).Select(engram.Latest(1))
		q.Source = engram.SourceNear
		r, err := m.svc.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for it := range r.All() {
			if data, err := m.codec.MapData(it.ID, it.Snapshot); err != nil || data != nil {
				return s.checked(data, err)
			}
		}
	}
	return nil, s.noData()
}

// inRobot returns an ID that a map names as it is called here: another robot's memories bear
// its name.
func (m *Memory) inRobot(s *MapStatement, id engram.ID) engram.ID {
	if s.Robot == "" || s.Robot == m.robot || id.Level() != engram.LevelEntity || strings.Contains(id.Memory(), ":") {
		return id
	}
	there, err := engram.NewID(s.Robot+":"+id.Memory(), id.CoreSegment(), id.ProviderSegment(), id.Entity())
	if err != nil {
		return id
	}
	return there
}
