package answer

import (
	"encoding/json"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Row tells of an item in brief.
type Row struct {
	Name        string
	Level       int           // of a tree: 1 for what it begins with
	Last        bool          // of a tree: nothing follows below the same parent
	Distance    float64       // metres; less than 0 if it is not known or not asked
	Kinds       []string      // what it is
	Known       bool          // somebody says where it is; else there is no age and no belief
	Age         time.Duration // since it was last seen or stated; less than 0 if that is to come
	Belief      float64       // the probability that it is still there
	SaidBy      []string      // whose statements count: providers, after their robots
	Joint       *ItemJoint    // that moves it; nil if none
	Provisional string        // why it is not admitted yet; "" if it is
	Notes       []string      // what else must not be overlooked
	// Absent says of a tree why there is no item of the name, whose rows follow that wait for it; "" for an item. Then
	// nothing else is told.
	Absent string
	Item   *Item // all that is known, where it was asked for
}

// Item is all that is known of an item at a time.
type Item struct {
	Name        string
	Time        engram.Time // that is told of
	Kinds       []string
	Parent      string
	Path        []string // from the root to the item
	Label       string
	SpokenNames []string
	Class       string
	Pose        *Pose // in the parent, or in the frame that it was stated in; nil if nobody knows
	InRoot      *Pose // of the tree, as far up as poses are known; nil where that is Pose
	Shape       *Shape
	Box         *Box
	Place       *Place
	Robot       *RobotFrames
	Detection   *Detection
	Maintainer  string
	Properties  []Property // by name
	SeenIn      string     // an ID
	States      []State    // by name
	Joint       *ItemJoint
	Component   *Component
	Maps        []string // that describe it
	Belief      *Belief  // nil if nobody says where it is
	Account     string   // where it is in a sentence, such as "on the table, seen 3 min ago, not looked for since; 0.93"
	Present     bool     // a plan may count on it
	Provisional string   // why it is not admitted yet; "" if it is
	Notes       []string // what else must not be overlooked
	Statements  []Statement
}

// Pose is where something is in a frame, metres.
type Pose struct {
	Frame string
	Pose  pose.Pose // frameFromItem
	Cov   pose.Cov
}

// Shape is the form of an item.
type Shape struct {
	Kind    string      // box, cylinder, sphere, mesh or polygon
	Pose    *pose.Pose  // of its own frame in the item's; nil is the item's frame
	Size    pose.Vec3   // full extents, metres; of a mesh its scale
	Mesh    string      // path or URL
	Outline []pose.Vec3 // corners of a polygon, metres
}

// Box is an oriented box: its centre in the item's frame and its full edge lengths, metres.
type Box struct {
	Pose pose.Pose
	Size pose.Vec3
}

// Place says what place an item is.
type Place struct{ Level, Number string }

// RobotFrames are the frames of a robot.
type RobotFrames struct{ Odom, Base string }

// Detection is how an item is recognised.
type Detection struct{ Methods, Tags []string }

// Property is a property with its value as JSON, in which a tag tells kinds of numbers and times apart, as in payloads.
type Property struct {
	Name  string
	Value json.RawMessage
}

// State is a state that counts.
type State struct {
	Name       string
	Value      json.RawMessage // as that of a Property
	Confidence float64         // at the time that is told of
	Source     string
	SaidBy     string
	Time       engram.Time // by the clock of who says so
	Since      engram.Time // the same by this robot's clock
	HalfLife   time.Duration
}

// ItemJoint is a joint as a property of what it moves.
type ItemJoint struct {
	Kind   string // revolute, prismatic or fixed
	Base   string
	Value  *float64 // rad or m
	Sigma  float64
	Limits *Limits
	Radius float64 // metres
	Serves []string
}

// Limits are how far a joint goes, rad or m.
type Limits struct{ Lower, Upper float64 }

// Belief is how sure it is that an item is still there.
type Belief struct {
	P      float64     // probability
	Seen   engram.Time // or stated
	By     string      // a sensor or provider, after its robot
	Source string
	Looked int // looks since that did not see it
}

// Statement is what one provider says of an item.
type Statement struct {
	Provider string
	Robot    string
	Home     string      // where it stands if not in World/Item
	Source   string      // of what it says; "" if that is nothing
	Time     engram.Time // by the clock of who says so
	Since    engram.Time // the same by this robot's clock
	Says     []string    // parent, pose, description or removed
	Counts   []string    // of these
	Reason   string      // of a removal
}
