package query

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// LinkIndex is an index of links. An archive tells it of the links that versions have,
// instead of the versions.
type LinkIndex interface {
	Index
	// AddLinks takes a list, of some versions more than once; it keeps none. It is called
	// alone, and before Add is called with what the working memory has.
	AddLinks(*Links)
}

// Links lists the links in payloads of versions. Its zero value has none.
type Links struct {
	Names    []string // IDs of entities and of what lies above, as text
	Members  []string // paths
	Entities []LinkingEntity
	List     []Link // of the first entity, the second, and so on

	names, members map[string]uint32
}

// LinkingEntity is an entity of which a payload's type can hold links.
type LinkingEntity struct {
	Name       uint32          // an index of Names
	Count      uint32          // of its links
	Recorded   engram.Interval // times of its versions, but of values in force and of what holds at all times
	ArrivedEnd engram.Time
	// Late says that one of these versions may supersede another one: its time is not
	// later than that of one before it, or it holds at all times.
	Late bool
}

// Link is a link in a payload.
type Link struct {
	Time, Arrived engram.Time // of the version
	Instance      uint32      // whose payload has it
	Member        uint32      // an index of Members
	Target        uint32      // an index of Names
	TargetTime    engram.Time // of a snapshot or an instance
	TargetLevel   uint32      // 0: the entity, or what lies above; 1: a snapshot; n + 2: its instance n
}

// TargetLevelOf returns the TargetTime and TargetLevel of a link to an ID.
func TargetLevelOf(id engram.ID) (at engram.Time, level uint32) {
	at, snapshot := id.Time()
	index, instance := id.Index()
	switch {
	case instance:
		return at, uint32(index) + 2
	case snapshot:
		return at, 1
	}
	return 0, 0
}

// TargetOf returns what a link leads to, of the entity, or what lies above, that its Target
// names.
func (l *Link) TargetOf(entity engram.ID) engram.ID {
	switch l.TargetLevel {
	case 0:
		return entity
	case 1:
		return entity.At(l.TargetTime)
	}
	return entity.At(l.TargetTime).Instance(int(l.TargetLevel - 2))
}

// Name returns the index of a name.
func (l *Links) Name(name string) uint32 { return number(name, &l.Names, &l.names) }

// Member returns the index of a path.
func (l *Links) Member(path string) uint32 { return number(path, &l.Members, &l.members) }

func number(text string, list *[]string, numbers *map[string]uint32) uint32 {
	i, ok := (*numbers)[text]
	if !ok {
		if *numbers == nil {
			*numbers = map[string]uint32{}
		}
		i = uint32(len(*list))
		*list = append(*list, text)
		(*numbers)[text] = i
	}
	return i
}

// CanLink reports whether a payload of a version is of a type that can hold links; known is
// false if not all the types are known.
func CanLink(types *idf.Registry, s *engram.Snapshot) (can, known bool) {
	last := ""
	for i := range s.Instances {
		typ := s.Instances[i].Payload.Type
		if typ == last {
			continue
		}
		last = typ
		t, ok := types.Get(typ)
		if !ok {
			return false, false
		}
		can = can || t.Has(idf.KindLink)
	}
	return can, true
}

// Append appends the links in the payloads of a version to a list. What is no ID is none.
func (l *Links) Append(list []Link, types *idf.Registry, s *engram.Snapshot) []Link {
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		t, ok := types.Get(p.Type)
		if !ok {
			continue
		}
		// What cannot be read was not committed.
		_ = t.Walk(p.Bytes, idf.KindLink, func(f *idf.Found) bool {
			id, err := engram.Parse(string(f.Bytes))
			if err != nil || id.IsRoot() {
				return true
			}
			link := Link{Time: s.Time, Arrived: s.Arrived, Instance: uint32(i), Member: l.Member(string(f.Path)), Target: l.Name(id.Truncate(engram.LevelEntity).String())}
			link.TargetTime, link.TargetLevel = TargetLevelOf(id)
			list = append(list, link)
			return true
		})
	}
	return list
}
