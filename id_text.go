package engram

import (
	"strconv"
	"strings"
)

// String returns the ID's text, such as
//
//	Grasp/Affordance/MyGraspPlanner/blue-cup/2022-02-18 13:06:56.492182/1
//
// with "/" in a name written `\/` and "\" written `\\`. The root's text is "".
// Parse(id.String()) == id for every ID.
func (id ID) String() string {
	var buf [160]byte
	return string(id.Append(buf[:0]))
}

// Append appends the ID's text to b.
func (id ID) Append(b []byte) []byte {
	for i := range min(int(id.level), len(id.names)) {
		if i > 0 {
			b = append(b, '/')
		}
		b = appendName(b, id.names[i])
	}
	if id.level >= LevelSnapshot {
		b = id.time.Append(append(b, '/'))
	}
	if id.level >= LevelInstance {
		b = appendInt(append(b, '/'), int(id.index))
	}
	return b
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

func appendName(b []byte, name string) []byte {
	if !strings.ContainsAny(name, `/\`) {
		return append(b, name...)
	}
	for i := range len(name) {
		if name[i] == '/' || name[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return b
}

// EscapeName returns name as it stands in an ID's text.
func EscapeName(name string) string { return string(appendName(nil, name)) }

// Parse reads an ID's text. The empty text is the root. The error is Invalid or,
// for a time beyond what Time holds, OutOfRange.
func Parse(text string) (ID, error) {
	var id ID
	rest, more := text, text != ""
	for more {
		var part string
		var err error
		part, rest, more, err = cutName(rest)
		if err == nil {
			err = id.extend(part)
		}
		if err != nil {
			return ID{}, Errorf(CodeOf(err), quoteShort(text), "not an ID: %w", err)
		}
	}
	return id, nil
}

// extend takes the next component of an ID's text.
func (id *ID) extend(part string) (err error) {
	switch {
	case id.level < LevelEntity:
		if err = CheckName(part); err != nil {
			return err
		}
		id.names[id.level] = part
	case id.level == LevelEntity:
		if id.time, err = ParseTime(part); err != nil {
			return err
		}
	case id.level == LevelSnapshot:
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || n > MaxIndex || len(part) > 1 && part[0] == '0' {
			return Errorf(Invalid, "", "%q is not an instance index from 0 to %d", part, MaxIndex)
		}
		id.index = int32(n)
	default:
		return Errorf(Invalid, "", "%q stands below an instance, the lowest level", part)
	}
	id.level++
	return nil
}

// cutName takes the text up to the next unescaped slash and unescapes it; more
// is true if a slash followed.
func cutName(s string) (name, rest string, more bool, err error) {
	i := strings.IndexAny(s, `/\`)
	if i < 0 {
		return s, "", false, nil
	}
	if s[i] == '/' {
		return s[:i], s[i+1:], true, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '/':
			return string(b), s[i+1:], true, nil
		case '\\':
			if i++; i == len(s) || s[i] != '/' && s[i] != '\\' {
				return "", "", false, Errorf(Invalid, "", `a backslash must be followed by "/" or "\"`)
			}
		}
		b = append(b, s[i])
	}
	return string(b), "", false, nil
}

func quoteShort(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:77] + "…")
	}
	return strconv.Quote(s)
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return id.Append(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*id = v
	}
	return err
}

// SplitName takes the name of a memory apart into the robot's and the memory's own:
// "robot1:Object" is Object of robot1, "Object" that of no other robot.
func SplitName(name string) (robot, memory string) {
	if robot, memory, ok := strings.Cut(name, ":"); ok && robot != "" && memory != "" {
		return robot, memory
	}
	return "", name
}

// Renamed returns what a robot to calls what a robot from calls id. Each calls its own memories without its name, and others'
// with theirs. A name is empty of a robot that has none.
func (id ID) Renamed(from, to string) ID {
	robot, name := SplitName(id.Memory())
	if robot == "" {
		robot = from
	}
	if robot != "" && robot != to {
		name = robot + ":" + name
	}
	if there, err := id.InMemory(name); err == nil {
		return there
	}
	return id // no memory has such a name
}
