package link

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/query"
)

// Memory is what links are followed in.
type Memory interface {
	engram.Reader
	// Type returns a type by its full name, or NotFound.
	Type(ctx context.Context, name string) (engram.TypeDef, error)
}

// Direction is which way links are followed.
type Direction uint8

const (
	Up   Direction = iota // from a result to what it was made from
	Down                  // from a cause to what came of it
)

// Options say how far links are followed.
type Options struct {
	Direction Direction
	Depth     int          // links away from the root at most; 0 means 20
	Nodes     int          // at most; 0 means 1,000
	AsOf      *engram.Time // what was known then; nil means now
	Target    engram.Target
	// Memories are those that links are followed into, such as Vision, robot1:Object or *:Skill. None means all that are
	// linked to, and for [Down] those of the own robot.
	Memories []string
}

const (
	defaultDepth = 20
	defaultNodes = 1000
)

// Trace is what was found: a graph.
type Trace struct {
	Direction Direction
	Nodes     []Node // the root first, and each behind one that it was found from
	Links     []Link
	// Cut is at least how many more nodes there would be without the bounds of [Options].
	Cut int
	// Missing says where something was lost, or is not reached, that may link to what was found ([Down]), each place once for
	// each reason.
	Missing []engram.Missing
	// Copies are copies that answered for memories.
	Copies []engram.CopyUsed
}

// Node is a snapshot, an activity, or something that a link is to and that is no snapshot.
type Node struct {
	// ID is that of a snapshot, or of the entity of an activity. Of what is not there it is what the link says, and of a
	// segment or memory its own.
	ID    engram.ID
	Depth int // links away from the root
	// Snapshots are the snapshot, or those of an activity by time. Payloads of types that have no links lack their bytes.
	// Shared: not to be changed.
	Snapshots []*engram.Snapshot
	// Missing says why the node is not there: one of the reasons of [engram.Missing], or [Absent]. Empty if it is there, or a
	// segment or memory.
	Missing string
}

// Absent is why a node is not there that never was, or not for who asks.
const Absent = "not there"

// Time returns the time of a snapshot, and when an activity began; ok is false of what has none.
func (n *Node) Time() (t engram.Time, ok bool) {
	if len(n.Snapshots) == 0 {
		return n.ID.Time()
	}
	return n.Snapshots[0].Time, true
}

// Type returns the name of the type of the node's first payload; empty if it has none.
func (n *Node) Type() string {
	if len(n.Snapshots) == 0 {
		return ""
	}
	return n.Snapshots[0].Instances[0].Payload.Type
}

// IsActivity reports whether the node is a span of time.
func (n *Node) IsActivity() bool { return isActivity(n.Snapshots) }

// IsActivity reports whether entities of a type are spans of time, whose snapshots tell how far they have come.
func IsActivity(typ string) bool {
	return typ == "engram.skill.Execution" || typ == "engram.skill.Activity"
}

// Link is a link between two nodes, given as indices into [Trace.Nodes].
type Link struct {
	From int       // what has the link: the result
	To   int       // what it is to: the cause
	Path string    // of the member, such as source_image, or refers_to[0]
	ID   engram.ID // as the payload has it, but named as here
}

// Tracer follows links in one memory. It keeps types that it has met. Safe for concurrent use.
type Tracer struct {
	m       Memory
	naming  query.Naming
	types   *idf.Registry
	mayHold sync.Map // core and provider segments in which payloads were met whose types may have links, by ID
}

// New returns a tracer. robot is the name of the robot whose memories bear no name of a robot in m; empty if it has none.
func New(m Memory, robot string) *Tracer {
	return &Tracer{m: m, naming: query.Naming(robot), types: idf.NewRegistry()}
}

// Trace follows links from an entity, whose newest snapshot is taken, a snapshot or an instance. NotFound if that is not
// there, TooOld if it was, Invalid if it is a segment or memory; but [Down] from a snapshot that is gone finds what links to
// it. What is not reached is a node that says so; only the root's error is returned, and one of ctx.
func (t *Tracer) Trace(ctx context.Context, root engram.ID, o Options) (*Trace, error) {
	if root.Level() < engram.LevelEntity {
		return nil, engram.Errorf(engram.Invalid, root.String(), "a trace begins at an entity, a snapshot or an instance; name one, such as one of 'engram ls'")
	}
	if o.Depth == 0 {
		o.Depth = defaultDepth
	}
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	if o.Depth < 0 || o.Nodes < 0 {
		return nil, engram.Errorf(engram.Invalid, root.String(), "a trace of depth %d with %d nodes: neither can be negative", o.Depth, o.Nodes)
	}
	r := &run{
		Tracer: t, ctx: ctx, o: o, trace: &Trace{Direction: o.Direction}, at: map[engram.ID]int{},
		known: map[Link]bool{}, taken: map[visit]bool{},
	}
	for _, name := range o.Memories {
		p, err := engram.ParsePattern(name)
		if err != nil || len(p.Levels) != 1 {
			return nil, engram.Errorf(engram.Invalid, name, "links are followed into memories, such as Vision or *:Skill, and this is none")
		}
		m, err := p.Levels[0].Matcher()
		if err != nil {
			return nil, err
		}
		r.within, r.matchers = append(r.within, p.Levels[0]), append(r.matchers, m)
	}
	found, err := r.resolve([]ref{{visit: visit{node: none}, to: t.naming.Link(engram.ID{}, root)}}, 0)
	if err != nil {
		return nil, err
	}
	missing := r.trace.Nodes[0].Missing
	if _, once := r.trace.Nodes[0].ID.Time(); missing != "" && once && o.Direction == Down { // what links to it may be there
		found = []visit{{0, none}}
		if i, one := root.Index(); one {
			found[0].instance = i
		}
	}
	next := r.causes
	if o.Direction == Down {
		next = r.effects
	}
	for depth := 1; len(found) > 0; depth++ {
		found = slices.DeleteFunc(found, func(v visit) bool { return !r.visit(v) })
		if found, err = next(found, depth); err != nil {
			return nil, err
		}
	}
	if missing != "" && len(r.trace.Nodes) == 1 {
		return nil, engram.Errorf(codeOf(missing), root.String(), "no trace begins there: %s", missing)
	}
	return r.trace, nil
}

func codeOf(missing string) engram.Code {
	switch missing {
	case engram.MissingUnreachable:
		return engram.Unavailable
	case engram.MissingEvicted, engram.MissingForgotten, engram.MissingFiltered:
		return engram.TooOld
	case engram.MissingDamaged:
		return engram.Corrupt
	}
	return engram.NotFound
}

// run is one trace under way.
type run struct {
	*Tracer
	ctx      context.Context
	o        Options
	within   []engram.NameSelector // memories that links are followed into; none are all
	matchers []engram.NameMatcher  // of within
	trace    *Trace
	at       map[engram.ID]int // nodes
	known    map[Link]bool
	taken    map[visit]bool
}

// none is no node, and no instance in particular.
const none = -1

// visit is a node whose links are followed: those of an instance, or all.
type visit struct{ node, instance int }

// ref is a link that is to be resolved.
type ref struct {
	visit             // that has it; of no node for the root
	time  engram.Time // of the snapshot that has it
	path  string
	to    engram.ID
}

// node returns the node of an ID, which is added if there is none; false if no more are allowed.
func (r *run) node(n Node) (i int, ok bool) {
	if i, there := r.at[n.ID]; there {
		if r.trace.Nodes[i].Missing != "" && n.Missing == "" {
			n.Depth = r.trace.Nodes[i].Depth
			r.trace.Nodes[i] = n
		}
		return i, true
	}
	if i = len(r.trace.Nodes); i >= r.o.Nodes {
		return i, false
	}
	r.at[n.ID] = i
	r.trace.Nodes = append(r.trace.Nodes, n)
	return i, true
}

// link adds a link once.
func (r *run) link(l Link) {
	if !r.known[l] {
		r.known[l] = true
		r.trace.Links = append(r.trace.Links, l)
	}
}

// visit notes that a node's links are followed; false if they are already.
func (r *run) visit(v visit) bool {
	if r.taken[visit{v.node, none}] || r.taken[v] {
		return false
	}
	r.taken[v] = true
	return true
}

// follows reports whether links into a memory are followed.
func (r *run) follows(memory string) bool {
	return len(r.within) == 0 || slices.ContainsFunc(r.matchers, func(m engram.NameMatcher) bool { return m.Match(memory) })
}

// held is a link that an instance of a snapshot holds.
type held struct {
	instance int
	time     engram.Time // of the snapshot
	path     string
	to       engram.ID // named as here
}

// linksOf returns the links of a node's snapshots, of one instance or of all. Of an activity one that stands in several
// snapshots counts in the first: what an entity is later, it was not begun for.
func (r *run) linksOf(n *Node, instance int) (all []held, err error) {
	entity, once := n.ID.Truncate(engram.LevelEntity), n.IsActivity()
	had := map[held]bool{}
	for _, s := range n.Snapshots {
		for i := range s.Instances {
			if instance != none && instance != i {
				continue
			}
			links, err := r.linksIn(r.ctx, &s.Instances[i].Payload)
			if err != nil {
				return nil, err
			}
			for _, l := range links {
				h := held{i, s.Time, plainPath(l.Path), r.naming.Link(entity, l.ID)}
				if key := (held{path: h.path, to: h.to}); once && had[key] {
					continue
				} else if once {
					had[key] = true
				}
				all = append(all, h)
			}
		}
	}
	return all, nil
}

// plainPath writes the first member of a payload without a type as that of one with a type: ["to"][0] as to[0].
func plainPath(path string) string {
	rest, ok := strings.CutPrefix(path, `["`)
	name, below, whole := strings.Cut(rest, `"]`)
	if !ok || !whole || strings.ContainsAny(name, `\"[].`) {
		return path
	}
	return name + below
}

// linksIn returns the links in a payload as it has them; none of a type that is not known.
func (t *Tracer) linksIn(ctx context.Context, p *engram.Payload) ([]idf.Link, error) {
	of, err := t.Type(ctx, p.Type)
	if of == nil || err != nil {
		return nil, err
	}
	return of.Links(p.Bytes)
}

// Decode returns a payload as plain Go values, see [idf.Type.Decode]; nil if its type is not known.
func (t *Tracer) Decode(ctx context.Context, p engram.Payload) (any, error) {
	of, err := t.Type(ctx, p.Type)
	if of == nil || err != nil {
		return nil, err
	}
	return of.Decode(p.Bytes)
}

// Type returns a type, nil if the memory does not know it.
func (t *Tracer) Type(ctx context.Context, name string) (*idf.Type, error) {
	if known, ok := t.types.Get(name); ok {
		return known, nil
	}
	def, err := t.m.Type(ctx, name)
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.types.Add(def)
}
