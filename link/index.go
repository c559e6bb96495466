package link

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/query"
)

// Index is the secondary index of links: of each entity, and of what lies above, which
// versions link to it. It holds for each link what tells its source, in 40 bytes.
//
// It answers for no condition of queries; whoever follows links reads it. As other indexes it
// hears nothing of what is evicted, superseded or forgotten.
type Index struct {
	types    *idf.Registry
	robot    string           // whose memories have no robot's name here
	entities names[engram.ID] // sources
	tides    []tide           // by source
	paths    names[string]
	to       map[engram.ID]*targets // by entity, or what lies above
	links    int
	lists    int64 // bytes of lists and targets
	// losses is what [Config.Losses] said before the index was filled.
	losses   uint64
	known    map[string]*known // what lists of links name
	unlinked engram.Time       // the earliest version of what was no source then
}

var _ query.LinkIndex = (*Index)(nil)

// tide tells how a source's versions came: up to which time, and how many not after those
// that were there, each of which may supersede another one.
type tide struct {
	last   engram.Time
	late   uint32
	listed engram.Time // the lists have what arrived before, as far as it is on disk
}

// known is what a name in lists of links is.
type known struct {
	id     engram.ID
	source uint32   // one more than its number
	to     *targets // nil if there are none yet
}

// targets are the links to one entity.
type targets struct{ list []entry }

// entry is a link.
type entry struct {
	time, arrived engram.Time // of the source
	at            engram.Time // of the target, if that is no entity
	entity, path  uint32
	instance      uint32 // of the source: 20 bits; above them the target's level: 3; whether it was listed
	targeted      uint32 // the target's instance
}

const (
	instanceBits = 20
	instanceMask = 1<<instanceBits - 1
	listedBit    = 1 << 31
)

func (e *entry) level() engram.Level { return engram.Level(e.instance >> instanceBits & 7) }

// listed reports whether the archive had the source's version when the index was filled.
func (e *entry) listed() bool { return e.instance&listedBit != 0 }

// target returns what the link says, of an entity.
func (e *entry) target(of engram.ID) engram.ID {
	switch e.level() {
	case engram.LevelSnapshot:
		return of.At(e.at)
	case engram.LevelInstance:
		return of.At(e.at).Instance(int(e.targeted))
	}
	return of
}

// names numbers what is written often.
type names[N comparable] struct {
	list   []N
	number map[N]uint32
}

func (n *names[N]) of(name N) uint32 {
	i, ok := n.number[name]
	if !ok {
		if n.number == nil {
			n.number = map[N]uint32{}
		}
		i = uint32(len(n.list))
		n.list = append(n.list, name)
		n.number[name] = i
	}
	return i
}

// NewIndex returns an empty index of the links in payloads of types, at a server of a robot,
// "" if that has no name. losses is [Config.Losses], or nil.
func NewIndex(types *idf.Registry, robot string, losses func() uint64) *Index {
	x := &Index{types: types, robot: robot, to: map[engram.ID]*targets{}, unlinked: engram.MaxTime}
	if losses != nil {
		x.losses = losses()
	}
	return x
}

// Add implements [query.Index].
func (x *Index) Add(entity engram.ID, s *engram.Snapshot) {
	from, known := x.entities.number[entity]
	if known {
		x.come(from, s)
	}
	each(x.types, x.robot, entity, s, func(instance int, path []byte, target engram.ID) bool {
		if !known {
			from, known = x.source(entity), true
			x.tides[from].last = s.Time
		}
		x.add(target, entry{time: s.Time, arrived: s.Arrived, entity: from, path: x.path(path), instance: uint32(instance & instanceMask)})
		return true
	})
	if !known {
		x.unlinked = min(x.unlinked, s.Time)
	}
}

// Targets yields what a snapshot of an entity links to, at a server of a robot, in the order
// of the links.
func Targets(types *idf.Registry, robot string, entity engram.ID, s *engram.Snapshot) iter.Seq[engram.ID] {
	return func(yield func(engram.ID) bool) {
		each(types, robot, entity, s, func(_ int, _ []byte, target engram.ID) bool { return yield(target) })
	}
}

// each visits the links of a snapshot until visit returns false.
func each(types *idf.Registry, robot string, entity engram.ID, s *engram.Snapshot, visit func(instance int, path []byte, target engram.ID) bool) {
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		t, ok := types.Get(p.Type)
		if !ok {
			continue
		}
		more := true
		// What cannot be read was not committed.
		_ = t.Walk(p.Bytes, idf.KindLink, func(f *idf.Found) bool {
			if id, ok := linked(robot, entity, f.Bytes); ok {
				more = visit(i, f.Path, id)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// source returns the number of a source, a new one if need be.
func (x *Index) source(entity engram.ID) uint32 {
	n := x.entities.of(entity)
	if int(n) == len(x.tides) {
		x.tides = append(x.tides, tide{last: engram.MinTime, listed: engram.MinTime})
	}
	return n
}

// come notes a version of a source.
func (x *Index) come(source uint32, s *engram.Snapshot) {
	switch t := &x.tides[source]; {
	case s.Arrived < t.listed:
	case s.Time > t.last:
		t.last = s.Time
	default:
		t.late++
	}
}

// AddLinks implements [query.LinkIndex].
func (x *Index) AddLinks(l *query.Links) {
	names, paths := make([]*known, len(l.Names)), make([]uint32, len(l.Members))
	for i, text := range l.Names {
		names[i] = x.name(text)
	}
	for i, m := range l.Members {
		paths[i] = x.path([]byte(m))
	}
	rest := l.List
	for i := range l.Entities {
		e := &l.Entities[i]
		of := names[e.Name]
		links := rest[:e.Count]
		rest = rest[e.Count:]
		if of.id.Level() != engram.LevelEntity {
			continue
		}
		if of.source == 0 {
			of.source = x.source(of.id) + 1
		}
		from := of.source - 1
		x.list(from, e)
		foreign := strings.Contains(of.id.Memory(), ":")
		for i := range links {
			link := &links[i]
			k := names[link.Target]
			if foreign {
				id, ok := linked(x.robot, of.id, []byte(l.Names[link.Target]))
				if !ok {
					continue
				}
				k = &known{id: id, to: x.to[id]}
			}
			if k.id.IsRoot() {
				continue
			}
			if k.to == nil {
				k.to = x.targets(k.id)
			}
			target := link.TargetOf(k.id)
			x.addTo(k.to, target, entry{time: link.Time, arrived: link.Arrived, entity: from, path: paths[link.Member], instance: link.Instance&instanceMask | listedBit})
		}
	}
}

// name returns what a name in lists is.
func (x *Index) name(text string) *known {
	k := x.known[text]
	if k == nil {
		if k = (&known{}); x.known == nil || len(x.known) == maxKnown {
			x.known = map[string]*known{}
		}
		k.id, _ = linked(x.robot, engram.ID{}, []byte(text))
		x.known[text] = k
	}
	return k
}

// maxKnown bounds the names that are kept while lists are read.
const maxKnown = 100_000

// list notes that the archive has versions of a source.
func (x *Index) list(source uint32, e *query.LinkingEntity) {
	t := &x.tides[source]
	t.listed = max(t.listed, e.ArrivedEnd)
	if !e.Recorded.Empty() {
		if e.Recorded.Start <= t.last || e.Recorded.End > x.unlinked {
			t.late++
		}
		t.last = max(t.last, e.Recorded.End-1)
	}
	if e.Late {
		t.late++
	}
}

// path returns the number of a path, without making a text of one that is known.
func (x *Index) path(p []byte) uint32 {
	if i, ok := x.paths.number[string(p)]; ok {
		return i
	}
	x.lists += int64(2*len(p)) + 48
	return x.paths.of(string(p))
}

func (x *Index) add(target engram.ID, e entry) {
	x.addTo(x.targets(target.Truncate(engram.LevelEntity)), target, e)
}

// targets returns the links to an entity, or to what lies above.
func (x *Index) targets(of engram.ID) *targets {
	t := x.to[of]
	if t == nil {
		t = &targets{}
		x.to[ownNames(of)] = t
		x.lists += targetBytes
	}
	return t
}

func (x *Index) addTo(t *targets, target engram.ID, e entry) {
	at, _ := target.Time()
	index, _ := target.Index()
	e.at, e.targeted = at, uint32(index)
	e.instance |= uint32(target.Level()) << instanceBits
	had := cap(t.list)
	t.list = append(t.list, e)
	x.lists += int64(cap(t.list)-had) * entryBytes
	x.links++
}

// ownNames returns the ID with names of its own, that keep no payload in RAM.
func ownNames(id engram.ID) engram.ID {
	var own engram.ID
	for _, name := range id.Names() {
		own, _ = own.Child(strings.Clone(name))
	}
	return own
}

const (
	entryBytes  = 40
	targetBytes = 250 // a key, its names, the list
)

// linked reads a link in a payload of an entity, at a server of a robot: that robot's memories
// have plain names. In the data of another robot, which a copy has, plain names are of that one.
func linked(robot string, source engram.ID, text []byte) (id engram.ID, ok bool) {
	id, err := engram.Parse(string(text))
	if err != nil || id.IsRoot() {
		return id, false
	}
	of, _, named := strings.Cut(id.Memory(), ":")
	if its, _, foreign := strings.Cut(source.Memory(), ":"); foreign && !named {
		if of, err := id.InMemory(its + ":" + id.Memory()); err == nil {
			return of, true
		}
	}
	if named && of == robot {
		return plain(robot, id), true
	}
	return id, true
}

// plain returns the ID without the name of the robot itself.
func plain(robot string, id engram.ID) engram.ID {
	if name, ok := strings.CutPrefix(id.Memory(), robot+":"); ok && robot != "" && name != "" {
		if own, err := id.InMemory(name); err == nil {
			return own
		}
	}
	return id
}

// Candidates implements [query.Index]; it knows of no condition.
func (x *Index) Candidates(query.Request, func(engram.ID) bool) (known bool) { return false }

// Knows is what to register the index with: it answers for no condition.
func Knows(query.Condition) bool { return false }

// Size implements [query.Index].
func (x *Index) Size() query.IndexSize {
	return query.IndexSize{Entries: x.links, Bytes: x.lists + int64(len(x.entities.list))*200}
}

// wanted says which links are asked for.
type wanted struct {
	target       engram.ID
	first, until engram.Time // when the target is in force; links to it as an entity count then
	span         engram.Interval
	asOf         engram.Time
	matcher      func(engram.ID) bool // of sources; nil is all
}

// hits reports whether a link to the target's entity, or to what lies below it, leads there.
func (w *wanted) hits(e *entry) bool {
	if e.time < w.span.Start || e.time >= w.span.End || e.arrived > w.asOf {
		return false
	}
	if w.target.Level() <= engram.LevelEntity {
		return true
	}
	if e.level() == engram.LevelEntity {
		return e.time >= w.first && e.time < w.until
	}
	last, _ := w.target.Time()
	if e.at < w.first || e.at > last {
		return false
	}
	i, ok := w.target.Index()
	return !ok || e.level() == engram.LevelSnapshot || int(e.targeted) == i
}

// group is the links of one source.
type group struct {
	entity engram.ID
	late   uint32  // of its tide
	list   []entry // by time, arrival, instance and path
}

// find returns the links that are asked for, by source. What it returns is its caller's.
func (x *Index) find(w *wanted) (groups []group) {
	t := x.to[w.target.Truncate(engram.LevelEntity)]
	if t == nil {
		return nil
	}
	// By source, in one piece of memory.
	place := map[uint32]int{}
	var counts []int
	var numbers []uint32
	last, at := ^uint32(0), -1
	locate := func(entity uint32) int {
		if entity == last {
			return at
		}
		last = entity
		i, ok := place[entity]
		switch {
		case ok:
			at = i
		case w.matcher != nil && !w.matcher(x.entities.list[entity]):
			place[entity], at = -1, -1
		default:
			at = len(counts)
			place[entity] = at
			counts, numbers = append(counts, 0), append(numbers, entity)
		}
		return at
	}
	all, of := make([]entry, 0, len(t.list)), make([]int32, 0, len(t.list))
	together := true // what is of one source
	for i := range t.list {
		if e := &t.list[i]; w.hits(e) {
			if k := locate(e.entity); k >= 0 {
				counts[k]++
				together = together && (len(of) == 0 || int32(k) >= of[len(of)-1])
				all, of = append(all, *e), append(of, int32(k))
			}
		}
	}
	groups = make([]group, len(counts))
	into := all
	if !together {
		into = make([]entry, len(all))
	}
	for k, start := 0, 0; k < len(counts); k++ {
		groups[k] = group{x.entities.list[numbers[k]], x.tides[numbers[k]].late, into[start : start+counts[k] : start+counts[k]]}
		start, counts[k] = start+counts[k], start
	}
	if !together {
		for i, k := range of {
			into[counts[k]] = all[i]
			counts[k]++
		}
	}
	for k := range groups {
		groups[k].order()
	}
	return groups
}

// order sorts the links, each once.
func (g *group) order() {
	compare := func(a, b entry) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		// Listed ones come last.
		return cmp.Or(cmp.Compare(a.arrived, b.arrived), cmp.Compare(a.instance&instanceMask, b.instance&instanceMask),
			cmp.Compare(a.path, b.path), cmp.Compare(a.at, b.at), cmp.Compare(a.instance&^listedBit, b.instance&^listedBit),
			cmp.Compare(a.targeted, b.targeted), cmp.Compare(a.instance, b.instance))
	}
	if !slices.IsSortedFunc(g.list, compare) {
		slices.SortFunc(g.list, compare)
	}
	once := g.list[:0]
	for i := range g.list {
		e := g.list[i]
		if n := len(once); n > 0 {
			last := once[n-1]
			if last.instance |= e.instance & listedBit; last == e {
				once[n-1] = e
				continue
			}
		}
		once = append(once, e)
	}
	g.list = once
}
