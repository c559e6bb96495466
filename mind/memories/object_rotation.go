package memories

import (
	"bytes"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// A pose that is written by hand, as in JSON, often has a position only. The orientation that
// is not given then is none, as elsewhere in the poses: it is written as such, so that all
// readers take it so. One that is given and is no rotation, such as one of zeros, is refused.

// The numbers of members that hold poses. Types that extend these keep them.
const (
	poseOfInstance, boxOfInstance protowire.Number = 3, 8
	poseOfAttachment              protowire.Number = 5
	boxOfClass                    protowire.Number = 8

	poseOfBox, orientationOfPose protowire.Number = 1, 2
)

// unturned is the rotation that is none, as a foxglove.Quaternion.
var unturned = protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), math.Float64bits(1))

// rotations gives the poses of an update of the memory Object the orientations that they have not, and
// refuses what is no pose.
func rotations(u *engram.EntityUpdate) error {
	cloned := false
	for i := range u.Instances {
		b := u.Instances[i].Payload.Bytes
		var err error
		switch u.Entity.CoreSegment() {
		case "Instance":
			if b, err = inMember(b, poseOfInstance, turned); err == nil {
				b, err = inMember(b, boxOfInstance, turnedBox)
			}
		case "Class":
			b, err = inMember(b, boxOfClass, turnedBox)
		case "Attachments", "ArticulatedAttachments":
			b, err = inMember(b, poseOfAttachment, turned)
		}
		switch {
		case engram.CodeOf(err) == engram.Corrupt: // what is no message, the memory says best
			continue
		case err != nil:
			return engram.Errorf(engram.Invalid, u.Entity.String(), "%w; leave the orientation out where there is none", err)
		case bytes.Equal(b, u.Instances[i].Payload.Bytes):
			continue
		}
		if !cloned {
			u.Instances, cloned = slices.Clone(u.Instances), true
		}
		u.Instances[i].Payload.Bytes = b
	}
	return nil
}

// turnedBox returns a box with an orientation: a box of which only the size is given is not
// turned, either.
func turnedBox(box []byte) ([]byte, error) {
	whole := box
	if _, there, err := member(box, poseOfBox); err != nil {
		return nil, err
	} else if !there {
		whole = protowire.AppendBytes(protowire.AppendTag(slices.Clone(box), poseOfBox, protowire.BytesType), nil)
	}
	return inMember(whole, poseOfBox, turned)
}

// turned returns a pose with an orientation.
func turned(b []byte) ([]byte, error) {
	given := false
	p := pose.Identity()
	err := eachField(b, func(num protowire.Number, f field) error {
		switch num {
		case 1:
			v, err := f.doubles(3)
			p.T = pose.Vec3{X: v[0], Y: v[1], Z: v[2]}
			return err
		case orientationOfPose:
			v, err := f.doubles(4)
			p.R, given = pose.Quat{X: v[0], Y: v[1], Z: v[2], W: v[3]}, true
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err = p.Checked(); err != nil || given {
		return b, err
	}
	return protowire.AppendBytes(protowire.AppendTag(slices.Clone(b), orientationOfPose, protowire.BytesType), unturned), nil
}

// member returns a member that is a message, and whether it is there. Of one that stands there
// several times the parts are one message.
func member(b []byte, num protowire.Number) (whole []byte, there bool, err error) {
	err = eachField(b, func(n protowire.Number, f field) error {
		if n == num {
			whole, there = append(whole, f.bytes...), true
		}
		return nil
	})
	return whole, there, err
}

// inMember changes a member that is a message, if it is there. b is left as it is.
func inMember(b []byte, num protowire.Number, change func([]byte) ([]byte, error)) ([]byte, error) {
	was, there, err := member(b, num)
	if err != nil || !there {
		return b, err
	}
	is, err := change(was)
	if err != nil || bytes.Equal(is, was) {
		return b, err
	}
	out := make([]byte, 0, len(b)+len(is)-len(was)+8)
	for rest := b; len(rest) > 0; {
		n, _, size := protowire.ConsumeField(rest)
		if size < 0 {
			return nil, engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(size))
		}
		if n != num {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return protowire.AppendBytes(protowire.AppendTag(out, num, protowire.BytesType), is), nil
}
