package engram

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// Level is the depth of an ID in the hierarchy.
type Level uint8

// The levels of the hierarchy, from the root that holds all memories.
const (
	LevelRoot Level = iota
	LevelMemory
	LevelCoreSegment
	LevelProviderSegment
	LevelEntity
	LevelSnapshot
	LevelInstance
)

var levelNames = [...]string{"root", "memory", "core segment", "provider segment", "entity", "snapshot", "instance"}

// String returns the level's words, such as "core segment".
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "unknown level"
}

// MaxNameLen is the longest allowed name of a memory, segment or entity, in bytes.
const MaxNameLen = 512

// MaxIndex is the highest index of an instance in its snapshot.
const MaxIndex = 1<<20 - 1

// ID is a path in the hierarchy down to some level. The zero ID is the root. IDs
// are values: they compare with == and serve as map keys. Names are non-empty
// UTF-8 of at most [MaxNameLen] bytes without NUL; every way to make an ID checks
// that.
type ID struct {
	names [4]string // memory, core segment, provider segment, entity
	time  Time
	index int32
	level Level
}

// NewID makes an ID from one to four names: memory, core segment, provider
// segment, entity. The error is Invalid and names the bad name.
func NewID(names ...string) (ID, error) {
	var id ID
	for _, n := range names {
		var err error
		if id, err = id.Child(n); err != nil {
			return ID{}, err
		}
	}
	return id, nil
}

// MustID is [Parse] for texts known to be right; it panics on an error.
func MustID(text string) ID {
	id, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return id
}

// CheckName returns an Invalid error if name cannot be a name in an ID.
func CheckName(name string) error {
	switch {
	case name == "":
		return Errorf(Invalid, "", "a name is empty")
	case len(name) > MaxNameLen:
		return Errorf(Invalid, "", "name %.32q… is %d bytes long; at most %d are allowed", name, len(name), MaxNameLen)
	case strings.IndexByte(name, 0) >= 0:
		return Errorf(Invalid, "", "name %q contains NUL", name)
	case !utf8.ValidString(name):
		return Errorf(Invalid, "", "name %q is not valid UTF-8", name)
	}
	return nil
}

// Child returns the ID one name further down, of a memory below the root to an
// entity below a provider segment.
func (id ID) Child(name string) (ID, error) {
	if id.level >= LevelEntity {
		return ID{}, Errorf(Invalid, id.String(), "a %s has no named children", id.level)
	}
	if err := CheckName(name); err != nil {
		return ID{}, err
	}
	id.names[id.level] = name
	id.level++
	return id, nil
}

// InMemory returns the same ID in a memory of another name, such as the one that
// other robots know it by. The root's is the root.
func (id ID) InMemory(name string) (ID, error) {
	if id.level == LevelRoot || id.names[0] == name {
		return id, nil
	}
	if err := CheckName(name); err != nil {
		return ID{}, err
	}
	id.names[0] = name
	return id, nil
}

// At returns the ID of the entity's snapshot at t. It panics if id is above the
// level of an entity, as an index out of range does.
func (id ID) At(t Time) ID {
	if id.level < LevelEntity {
		panic("engram: ID.At called on the " + id.level.String() + " " + id.String())
	}
	id.time, id.index, id.level = t, 0, LevelSnapshot
	return id
}

// Instance returns the ID of the snapshot's instance i. It panics if id is above
// the level of a snapshot or i is outside [0, MaxIndex].
func (id ID) Instance(i int) ID {
	if id.level < LevelSnapshot || i < 0 || i > MaxIndex {
		panic("engram: ID.Instance called on the " + id.level.String() + " " + id.String())
	}
	id.index, id.level = int32(i), LevelInstance
	return id
}

// Level returns how deep the ID reaches.
func (id ID) Level() Level { return id.level }

// IsRoot reports whether id is the zero ID.
func (id ID) IsRoot() bool { return id.level == LevelRoot }

// Memory returns the memory's name, or "".
func (id ID) Memory() string { return id.names[0] }

// CoreSegment returns the core segment's name, or "".
func (id ID) CoreSegment() string { return id.names[1] }

// ProviderSegment returns the provider segment's name, or "".
func (id ID) ProviderSegment() string { return id.names[2] }

// Entity returns the entity's name, or "".
func (id ID) Entity() string { return id.names[3] }

// Time returns the snapshot's time; ok is false above the level of a snapshot.
func (id ID) Time() (t Time, ok bool) { return id.time, id.level >= LevelSnapshot }

// Index returns the instance's index; ok is false above the level of an instance.
func (id ID) Index() (i int, ok bool) { return int(id.index), id.level == LevelInstance }

// Name returns the ID's last component as text: a name, a time or an index.
func (id ID) Name() string {
	switch id.level {
	case LevelRoot:
		return ""
	case LevelSnapshot:
		return id.time.String()
	case LevelInstance:
		return string(appendInt(nil, int(id.index)))
	}
	return id.names[id.level-1]
}

// Names returns the names from the memory to the entity, as many as there are.
func (id ID) Names() []string { return append([]string(nil), id.names[:min(id.level, LevelEntity)]...) }

// Parent returns the ID one level up; the root's parent is the root.
func (id ID) Parent() ID {
	if id.level == LevelRoot {
		return id
	}
	return id.Truncate(id.level - 1)
}

// Truncate returns the ID's prefix down to level l, or id if it is not deeper.
func (id ID) Truncate(l Level) ID {
	if id.level <= l {
		return id
	}
	id.level = l
	if l < LevelInstance {
		id.index = 0
	}
	if l < LevelSnapshot {
		id.time = 0
	}
	for i := int(l); i < len(id.names); i++ {
		id.names[i] = ""
	}
	return id
}

// Contains reports whether other is id itself or lies below it.
func (id ID) Contains(other ID) bool {
	return id.level <= other.level && other.Truncate(id.level) == id
}

// Compare orders IDs by their names, then time, then index; what contains comes
// before what it contains. It returns -1, 0 or +1.
func (id ID) Compare(other ID) int {
	for i := range id.names {
		if c := strings.Compare(id.names[i], other.names[i]); c != 0 {
			return c
		}
	}
	if id.level < LevelSnapshot || other.level < LevelSnapshot {
		return cmp.Compare(id.level, other.level)
	}
	return cmp.Or(cmp.Compare(id.time, other.time), cmp.Compare(id.level, other.level), cmp.Compare(id.index, other.index))
}
