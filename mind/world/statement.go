package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Home is where something is said. One provider says of a thing one thing in each.
type Home uint8

// The homes of statements: the memory World, and two segments of the memory Object.
const (
	InWorld Home = iota
	InInstance
	InAttachment
	// What cannot be read is filed by where it was said.
	inJoint
	inMap
	inPart
	inState
	inHeldPart // the memory Object's articulated attachments, which tell values of joints
)

// Said tells who says something and since when.
type Said struct {
	Provider string
	Robot    string // whose clock the times are of; "" is this one's
	Home     Home
	Entity   string // of the provider's segment, that it is said in
	// Time is when it was true, Arrived when the memory knew it. Of what a provider says
	// of one thing only the newest counts, of equal times what arrived later, and at last that of the entity
	// whose name comes last.
	Time, Arrived engram.Time
	Confidence    float64 // in [0, 1]
	fault         *fault  // what of it cannot count; nil for nothing
}

// Who names the provider, after its robot if that is known: "robot1:plan".
func (s *Said) Who() string {
	if s.Robot == "" {
		return s.Provider
	}
	return s.Robot + ":" + s.Provider
}

// newer reports whether s counts instead of o, which is of the same speaker.
func (s *Said) newer(o *Said) bool {
	return cmp.Or(cmp.Compare(s.Time, o.Time), cmp.Compare(s.Arrived, o.Arrived), strings.Compare(s.Entity, o.Entity)) > 0
}

// Corrected returns a time that somebody told by the clock that rules compare with, which is that of the own robot.
func Corrected(f *Forest, by *Said, t engram.Time) engram.Time {
	return t.Add(f.rules.Offsets[by.Robot])
}

// compare orders by who speaks.
func (s *Said) compare(o *Said) int {
	return cmp.Or(strings.Compare(s.Provider, o.Provider), strings.Compare(s.Robot, o.Robot), cmp.Compare(s.Home, o.Home))
}

// at returns when a group was last stated, by the speaker's clock.
func (s *Said) at(stated engram.Time) engram.Time {
	if stated == 0 {
		return s.Time
	}
	return stated
}

// fault is why something that is said does not count.
type fault struct{ text string }

// vetted returns the statement with a rotation of unit length, or with its fault.
func (s Statement) vetted() Statement {
	p := s.Item.Placement
	if p == nil || s.fault != nil {
		return s
	}
	if p.Pose == (pose.Pose{}) { // as a message has it whose pose was not set
		s.fault = &fault{fmt.Sprintf("%s gives no pose in the frame %q; what others say of its pose counts", s.Provider, p.Frame)}
		return s
	}
	if err := p.check(""); err != nil {
		s.fault = &fault{"what " + s.Provider + " says of its pose does not count: " + err.Error()}
		return s
	}
	s.Item = s.Item.upright()
	return s
}

// unread is a statement that cannot be read, which its provider has said instead of what it said
// before.
func unread(name string, said Said, why error) Statement {
	said.fault = &fault{"what " + said.Provider + " says cannot be read, and does not count: " + why.Error()}
	return Statement{name, said, &Item{}}
}

// Statement is all that one provider says of one item at present.
type Statement struct {
	Name string // of the item
	Said
	Item *Item
}

// repeats reports whether a statement of the same speaker is this one.
func (s *Statement) repeats(o *Statement) bool {
	return s.compare(&o.Said) == 0 && s.Time == o.Time && s.Arrived == o.Arrived
}

// hear returns statements with one more, sorted by who speaks, and whether it counts. What
// statements were is not changed.
func hear[S any](all []*S, s *S, said func(*S) *Said, same func(a, b *S) int) ([]*S, bool) {
	order := func(a, b *S) int { return cmp.Or(said(a).compare(said(b)), same(a, b)) }
	i, found := slices.BinarySearchFunc(all, s, order)
	if found && !said(s).newer(said(all[i])) {
		return all, false
	}
	if found {
		all = slices.Clone(all)
		all[i] = s
		return all, true
	}
	return slices.Concat(all[:i], []*S{s}, all[i:]), true
}
