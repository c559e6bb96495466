package rosmsg

import (
	"strings"

	"github.com/seed-301d4374/engram"
)

// Version tells the two generations of ROS apart.
type Version uint8

// The generations of ROS.
const (
	ROS1 Version = 1
	ROS2 Version = 2
)

// Format returns the name of the definition language: "ros1msg" or "ros2msg".
func (v Version) Format() string {
	if v == ROS1 {
		return "ros1msg"
	}
	return "ros2msg"
}

func (v Version) prefix() string {
	if v == ROS1 {
		return "ros1"
	}
	return "ros2"
}

// Kind is the kind of a field's value or element.
type Kind uint8

// The kinds of values.
const (
	Bool Kind = iota + 1
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	String
	WString
	Time
	Duration
	Struct
)

// size returns the bytes of a number, and 0 for other kinds.
func (k Kind) size() int {
	switch k {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	}
	return 0
}

func (k Kind) integer() bool { return Int8 <= k && k <= Uint64 }

// Array is how often a field's value stands in a message.
type Array uint8

// The kinds of arrays.
const (
	Single  Array = iota
	Fixed         // always Len elements
	Bounded       // at most Len elements
	Unbounded
)

// Type is the type of a field.
type Type struct {
	Kind     Kind
	Message  string // of a Struct: its name, "pkg/Name"
	Array    Array
	Len      int // of a Fixed or Bounded array
	MaxChars int // of a bounded string; 0 means no bound
}

// Field is a member of a message.
type Field struct {
	Name    string
	Type    Type
	Default string // as it was written; "" if there is none
}

// Constant is a named value that a message definition declares.
type Constant struct {
	Name  string
	Kind  Kind
	Value string // as it was written
}

// Message is the definition of one message.
type Message struct {
	Name      string // "pkg/Name"; "pkg/srv/Name" and the like keep their middle part
	Fields    []Field
	Constants []Constant
}

// Definition is a message definition with all it depends on. It is immutable.
type Definition struct {
	Version  Version
	Root     *Message
	Messages map[string]*Message // by name; the root among them
	Text     string              // as it was written
}

// Bounds on what a definition may declare. They are far above what exists and
// keep a hostile one from costing more than its text.
const (
	maxText     = 4 << 20
	maxMessages = 4096
	maxFields   = 16384
	maxDepth    = 64
	maxFixedLen = 1 << 26
)

// shortName returns a message's name without the middle part "msg".
func shortName(name string) string {
	pkg, rest, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	return pkg + "/" + strings.TrimPrefix(rest, "msg/")
}

// ProtoName returns the full name of the protobuf message that mirrors the ROS
// message of that name, such as "ros2.sensor_msgs.Imu" for "sensor_msgs/msg/Imu".
func ProtoName(v Version, name string) string {
	return v.prefix() + "." + strings.ReplaceAll(shortName(name), "/", ".")
}

func badDefinition(name string, line int, format string, args ...any) error {
	if line == 0 {
		return engram.Errorf(engram.Invalid, "definition of "+name, format, args...)
	}
	return engram.Errorf(engram.Invalid, "definition of "+name, "line %d: %w", line, engram.Errorf(engram.Invalid, "", format, args...))
}
