package idf

import "github.com/seed-301d4374/engram"

// Kind is the kind of member that a walk stops at; kinds can be or-ed.
type Kind uint16

// The kinds of members.
const (
	KindLink   Kind = 1 << iota
	KindNumber      // integers, floats and numbers inside Values
	KindPose        // foxglove.Pose
	KindTime        // google.protobuf.Timestamp
	KindImage       // foxglove.RawImage and CompressedImage
	KindString
)

// Found is one member that a walk stopped at.
type Found struct {
	Kind  Kind
	Path  []byte // dotted, with [i] and ["key"]; valid during the call
	Num   float64
	Int   int64  // integers, exactly; times in ns
	Bytes []byte // the encoded member: link text, string, pose, image; not copied
}

// Walk finds members of the given kinds in encoded bytes, in the order they stand
// there, without decoding the rest, and calls visit with each until it returns
// false. Plans are compiled once per type and kinds.
func (t *Type) Walk(b []byte, kinds Kind, visit func(*Found) bool) error { panic("to be built") }

// Links returns the links in a payload with the paths of the members that hold
// them. Texts that are not IDs are left out.
func (t *Type) Links(b []byte) ([]Link, error) { panic("to be built") }

// Link is a link found in a payload.
type Link struct {
	Path string
	ID   engram.ID
}

// Projection cuts payloads of one type down to some members.
type Projection struct{}

// Project compiles a projection onto members given as dotted paths. The error is
// NotFound and names the path and the nearest member there is.
func (t *Type) Project(fields []string) (*Projection, error) { panic("to be built") }

// Apply returns the payload with the chosen members only, copied byte by byte from b.
func (p *Projection) Apply(b []byte) ([]byte, error) { panic("to be built") }
