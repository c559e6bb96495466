package world

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// MapKind is how a map describes an environment.
type MapKind uint8

// The kinds of maps.
const (
	OccupancyGrid MapKind = iota
	SemanticMap
	Octomap
	VisualSLAM
	TopologicalMap
	MeshMap
)

// MapKinds are the words for the kinds of maps, by kind.
var MapKinds = []string{"occupancy grid", "semantic", "octomap", "visual SLAM", "topological", "mesh"}

// String returns the kind's words.
func (k MapKind) String() string {
	if int(k) < len(MapKinds) {
		return MapKinds[k]
	}
	return "unknown kind of map"
}

// Map is what is said of a map. Its data are apart, since they may be large: a [Model]
// fetches them.
type Map struct {
	Kind       MapKind
	Describes  []string // names of items
	Frame      string   // name of the item in whose frame its data are
	Resolution float64  // edge of a cell or mean distance of features, metres; 0 if it has none
	Extent     *Box     // what it covers, in that frame
	Format     string   // of the data
	Link       engram.ID
	URL        string   // where else the data are
	SHA256     string   // of the data, hexadecimal digits
	Sensors    []string // that a robot needs to use it: all of them
	Algorithms []string // that can use it: one is enough
	Author     string
	Created    engram.Time // 0 if unknown
	Quality    float64     // from 0 to 1
	Properties map[string]any
}

// MapStatement is what one provider says of a map at present.
type MapStatement struct {
	Name string // of the map
	Said
	Map *Map
}

// says reports whether it is not withdrawn.
func (m *Map) says() bool { return len(m.Describes) > 0 || m.Format != "" }

// Check returns an Invalid error if there can be no such map.
func (m *Map) Check(name string) error {
	switch {
	case !m.says():
		return engram.Errorf(engram.Invalid, name, "the map describes no item and has no format; say one of them (an empty map takes back what the same provider has stated of it)")
	case !(m.Resolution >= 0) || math.IsInf(m.Resolution, 0):
		return engram.Errorf(engram.Invalid, name, "its resolution is %g m; it is finite and not negative", m.Resolution)
	case !(m.Quality >= 0 && m.Quality <= 1):
		return engram.Errorf(engram.Invalid, name, "its quality is %g; it lies between 0 and 1", m.Quality)
	case int(m.Kind) >= len(MapKinds):
		return engram.Errorf(engram.Invalid, name, "kind %d of a map is not known", m.Kind)
	}
	for _, item := range m.Describes {
		if err := engram.CheckName(item); err != nil {
			return engram.Errorf(engram.Invalid, name, "an item that it describes: %w", err)
		}
	}
	if b := m.Extent; b != nil {
		if _, err := b.Pose.Checked(); err != nil {
			return engram.Errorf(engram.Invalid, name, "its extent: %w", err)
		}
		if !extents(b.Size) {
			return engram.Errorf(engram.Invalid, name, "its extent has the size %s m; edges are not negative, and 1e12 m at most", numbersText(b.Size))
		}
	}
	return engram.CheckName(name)
}

// PutMap takes a statement on a map, as [Builder.Put] does on an item.
func (b *Builder) PutMap(s MapStatement) {
	b.f.maps.hear(s.Name, &s, func(s *MapStatement) *Said { return &s.Said }, b.edit)
}

func (r *Rules) mapStamp(s *MapStatement) (stamp, bool) {
	return stamp{time: s.Time.Add(r.Offsets[s.Robot]), provider: s.Provider, robot: s.Robot}, s.Map.says()
}

// Maps are the maps of a forest.
type Maps struct{ f *Forest }

// Maps returns the maps.
func (f *Forest) Maps() Maps { return Maps{f} }

// All yields all maps by name.
func (m Maps) All() iter.Seq[*MapStatement] { return m.f.maps.each(m.f.rules.mapStamp) }

// Get returns what is said of the map of the name: the newest counts. The error is NotFound.
func (m Maps) Get(name string) (*MapStatement, error) {
	if s := m.f.maps.newest(name, m.f.rules.mapStamp); s != nil {
		return s, nil
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such map; ask for all maps")
}

// MapQuery asks for maps.
type MapQuery struct {
	Place string // name of the item that they shall serve; "" is any
	// Sensors and Algorithms are what the robot has. Without any, what maps need of them
	// does not matter.
	Sensors, Algorithms []string
	Kind                *MapKind // nil is any
}

// MapChoice is a map with what speaks for it, or against.
type MapChoice struct {
	*MapStatement
	Reasons []string // in words

	above   int // 0 describes the place, then levels above it, then below
	matches int // of what the robot has
}

// Choose returns the maps that satisfy a query, the best first, and those that do not,
// by name. A map serves a place that it describes, and places above or below one that it
// describes: first come maps of the place itself, then those of places above, the nearest first, then
// those of places below. Of equal ones those count first that use what the robot has; then the
// better quality, the finer resolution, the newer, the name. The error is NotFound for a place
// that is no item.
func (m Maps) Choose(q MapQuery) (chosen, leftOut []MapChoice, err error) {
	f := m.f
	if q.Place != "" && !f.Has(q.Place) {
		return nil, nil, notFound(q.Place)
	}
	for s := range m.All() {
		c := MapChoice{MapStatement: s}
		if against := m.judge(&q, &c); len(against) > 0 {
			c.Reasons = against
			leftOut = append(leftOut, c)
			continue
		}
		chosen = append(chosen, c)
	}
	slices.SortStableFunc(chosen, f.rules.compareMaps)
	if len(chosen) > 1 {
		f.rules.tellFirst(chosen)
	}
	return chosen, leftOut, nil
}

// judge says what speaks for a map, and returns what speaks against it.
func (ms Maps) judge(q *MapQuery, c *MapChoice) (against []string) {
	m := c.Map
	if q.Kind != nil && *q.Kind != m.Kind {
		against = append(against, fmt.Sprintf("is of the kind %s, not %s", m.Kind, *q.Kind))
	}
	if q.Place != "" {
		how, far, ok := m.serves(ms.f, q.Place)
		if !ok {
			against = append(against, how)
		} else {
			c.Reasons, c.above = append(c.Reasons, how), far
		}
	}
	if len(q.Sensors) > 0 {
		for _, s := range m.Sensors {
			if !slices.Contains(q.Sensors, s) {
				against = append(against, "needs the sensor "+s+", which you do not have")
				continue
			}
			c.Reasons = append(c.Reasons, "needs the sensor "+s+", which you have")
			c.matches++
		}
		if len(m.Sensors) == 0 {
			c.Reasons = append(c.Reasons, "needs no sensor")
		}
	}
	if len(q.Algorithms) > 0 {
		usable := slices.DeleteFunc(slices.Clone(m.Algorithms), func(a string) bool { return !slices.Contains(q.Algorithms, a) })
		switch {
		case len(usable) > 0:
			c.Reasons = append(c.Reasons, "made for "+strings.Join(usable, " and ")+", which you have")
			c.matches++
		case len(m.Algorithms) > 0:
			against = append(against, "needs "+strings.Join(m.Algorithms, " or ")+", which you do not have")
		default:
			c.Reasons = append(c.Reasons, "needs no certain algorithm")
		}
	}
	if m.Quality > 0 {
		c.Reasons = append(c.Reasons, fmt.Sprintf("quality %.3g", m.Quality))
	}
	if m.Resolution > 0 {
		c.Reasons = append(c.Reasons, fmt.Sprintf("resolution %.4g m", m.Resolution))
	}
	return against
}

// serves says how a map serves a place, and how far what it describes is from it.
func (m *Map) serves(f *Forest, place string) (how string, far int, ok bool) {
	const below = 1 << 20 // places below come after all above
	far = math.MaxInt
	consider := func(d int, format string, args ...any) {
		if d < far {
			far, how, ok = d, fmt.Sprintf(format, args...), true
		}
	}
	path, _ := f.PathToRoot(place)
	for _, described := range m.Describes {
		for i, p := range path {
			switch {
			case p.Name != described:
			case i == 0:
				consider(0, "describes %s itself", place)
			default:
				consider(i, "describes %s, which %s is in", described, place)
			}
		}
		up, err := f.PathToRoot(described)
		if err != nil {
			continue
		}
		for i, p := range up {
			if i > 0 && p.Name == place {
				consider(below+i, "describes %s, a part of %s", described, place)
			}
		}
	}
	if ok {
		return how, far, true
	}
	if len(m.Describes) == 0 {
		return "describes no item", 0, false
	}
	return fmt.Sprintf("describes %s, which is not %s, nor above or below it", strings.Join(m.Describes, " and "), place), 0, false
}

// made returns when a map was made, or stated, by the clock that rules compare with.
func (r *Rules) made(c *MapChoice) engram.Time {
	t := c.Time
	if c.Map.Created != 0 {
		t = c.Map.Created
	}
	return t.Add(r.Offsets[c.Robot])
}

func (r *Rules) compareMaps(a, b MapChoice) int {
	fine := func(m *Map) float64 {
		if m.Resolution == 0 {
			return math.Inf(1)
		}
		return m.Resolution
	}
	return cmp.Or(
		cmp.Compare(a.above, b.above), cmp.Compare(b.matches, a.matches), cmp.Compare(b.Map.Quality, a.Map.Quality),
		cmp.Compare(fine(a.Map), fine(b.Map)), cmp.Compare(r.made(&b), r.made(&a)), strings.Compare(a.Name, b.Name))
}

// tellFirst adds to the reasons of the best of several what no other has so good.
func (r *Rules) tellFirst(chosen []MapChoice) {
	best, others := &chosen[0], chosen[1:]
	all := func(less func(o *MapChoice) bool) bool {
		return !slices.ContainsFunc(others, func(o MapChoice) bool { return !less(&o) })
	}
	if all(func(o *MapChoice) bool { return o.Map.Quality < best.Map.Quality }) {
		best.Reasons = append(best.Reasons, "best quality")
	}
	if r := best.Map.Resolution; r > 0 && all(func(o *MapChoice) bool { return o.Map.Resolution == 0 || o.Map.Resolution > r }) {
		best.Reasons = append(best.Reasons, "finest resolution")
	}
	if all(func(o *MapChoice) bool { return r.made(o) < r.made(best) }) {
		best.Reasons = append(best.Reasons, "newest")
	}
}

// id returns the entity that the map is said in, as the memory that has it calls it.
func (s *MapStatement) id() engram.ID {
	id, _ := engram.NewID(ownMemory, mapSegment, s.Provider, s.Name)
	return id
}

// dataID returns the entity that its provider has the data of the map in, called likewise.
func (s *MapStatement) dataID() engram.ID {
	id, _ := engram.NewID(ownMemory, dataSegment, s.Provider, s.Name)
	return id
}

// checked returns data that are those that the map names.
func (s *MapStatement) checked(data []byte, err error) ([]byte, error) {
	if err == nil && s.Map.SHA256 != "" && !strings.EqualFold(s.Map.SHA256, checksum(data)) {
		return nil, engram.Errorf(engram.Corrupt, s.Name, "its data have the SHA-256 %s, and the map names %s; ask again, or save the map anew", checksum(data), s.Map.SHA256)
	}
	return data, err
}

func (s *MapStatement) noData() error {
	if s.Map.URL != "" {
		return engram.Errorf(engram.NotFound, s.Name, "no memory has its data; they are at %s", s.Map.URL)
	}
	return engram.Errorf(engram.NotFound, s.Name, "no memory has its data, and nobody says where they are")
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// mapNamed returns a map as it is at present.
func (k *keeper) mapNamed(ctx context.Context, name string) (*MapStatement, error) {
	f, err := k.View(ctx)
	if err != nil {
		return nil, err
	}
	return f.Maps().Get(name)
}

// SetMap implements [Model].
func (k *keeper) SetMap(ctx context.Context, name string, m Map, data []byte) (Mark, error) {
	return k.stateOne(ctx, Stated{Name: name, What: m, Data: data})
}

// revisedMap returns what comes of a map, its data before it.
func (k *keeper) revisedMap(f *Forest, name string, m Map, data []byte) (updates []update, err error) {
	said := lastSaid(k, f.maps.said[name], func(s *MapStatement) *Said { return &s.Said })
	if said != 0 && data == nil && reflect.ValueOf(m).IsZero() {
		return []update{{name: name, time: k.tick(said), confidence: 1, what: &m}}, nil // it is taken back
	}
	if data != nil {
		m.SHA256 = checksum(data)
		if m.Link, err = engram.NewID(ownMemory, dataSegment, k.provider, name); err != nil {
			return nil, err
		}
		updates = append(updates, update{name: name, time: k.tick(said), confidence: 1, what: data})
	}
	if is, err := f.Maps().Get(name); err == nil && m.Link == (engram.ID{}) && m.SHA256 != "" && m.SHA256 == is.Map.SHA256 && is.Robot == k.robot {
		m.Link = is.Map.Link // the data are the same
	}
	return append(updates, update{name: name, time: k.tick(said), confidence: 1, what: &m}), m.Check(name)
}

// SetComponent implements [Model].
func (k *keeper) SetComponent(ctx context.Context, name string, c Component) (Mark, error) {
	return k.stateOne(ctx, Stated{Name: name, What: c})
}

// revisedComponent returns what comes of a component, and when it is said.
func (k *keeper) revisedComponent(f *Forest, name string, c Component) (*Component, engram.Time, error) {
	now := k.tick(lastSaid(k, f.components.said[name], func(s *ComponentStatement) *Said { return &s.Said }))
	if c.Kind == "" {
		return &Component{}, now, engram.CheckName(name)
	}
	return &c, now, c.Check(name)
}
