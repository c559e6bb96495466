package answer

import (
	"encoding/json"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Joint is a joint between two items.
type Joint struct {
	Name  string
	Moved string
	ItemJoint
	Reference float64   // the value at which the moved item has the pose that is stated of it
	Pose      pose.Pose // baseFromJoint; zero if what was stated is none
	Direction pose.Vec3
	SaidBy    string
	Notes     []string
}

// Map is a map, with what speaks for it or against.
type Map struct {
	Name       string
	Serves     bool
	Why        []string
	Kind       string
	Describes  []string
	Frame      string
	Resolution float64 // metres; 0 if it has none
	Format     string
	URL        string
	Link       string // an ID
	SHA256     string
	Sensors    []string
	Algorithms []string
	Author     string
	Created    engram.Time // 0 if unknown
	Quality    float64     // from 0 to 1
	SaidBy     string
	Time       engram.Time
	Properties []Property
}

// Component is a piece of hardware or a driver.
type Component struct {
	Name            string
	Kind            string
	Robot           string
	Running         bool
	Item            bool // whether there is an item of its name
	Frame           string
	Inputs, Outputs []string
	StartedBy       string
	SaidBy          string
}

// Pipe is what one component writes and another one reads.
type Pipe struct{ From, Through, To string }

// Cover is a component that reaches what was asked for.
type Cover struct {
	Component
	Distance float64 // from the sensor to the nearest of it that it reaches, metres
	Share    float64 // of what was asked for, from 0 to 1
	Unknown  string  // why nobody can say what it reaches; "" if somebody can
}

// Difference is how an item differs.
type Difference struct {
	Name        string
	Came, Went  bool
	Reason      string    // why it went
	By          string    // who removed it, or says most of it
	Moved       *Movement // nil if it did not
	Parent      *Exchange // nil if it is the same
	Label       *Exchange
	Kinds       *Exchange // where it cannot be the same thing
	PoseKnown   bool      // its pose is known now, and was not
	PoseUnknown bool      // its pose was known, and is not any more
	Described   bool      // otherwise
	States      []StateChange
	Linked      bool // there is a component of its name now, and was none
	Unlinked    bool // the reverse
}

// Movement is by how much something moved, metres and rad.
type Movement struct{ Trans, Rot float64 }

// Exchange is a text before and after; "" is none.
type Exchange struct{ From, To string }

// StateChange is a state before and after, as that of a [Property]; nil is unknown.
type StateChange struct {
	Name     string
	From, To json.RawMessage
}
