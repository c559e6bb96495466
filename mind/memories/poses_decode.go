package memories

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// The numbers of members are part of the types: types that extend them keep them.
// Joint states and transforms come often, so they are read without making values of
// all they hold.

// joints is what of a Proprioception concerns poses. It shares the payload's bytes.
type joints struct {
	names     [][]byte
	positions []float64
}

func decodeJoints(b []byte) (j joints, err error) {
	err = eachField(b, func(num protowire.Number, f field) error {
		switch num {
		case 3:
			j.names = append(j.names, f.bytes)
		case 4:
			j.positions = f.appendDoubles(j.positions)
		}
		return nil
	})
	return j, err
}

// localization is what of a Localization concerns poses.
type localization struct {
	parent, child string
	pose          pose.Pose
	cov           pose.Cov
	static        bool
	normalised    bool // the quaternion was not of unit length, by more than rounding
}

// decodeLocalization reads a localization and the numbers of its covariance; whether
// they are a pose and a covariance, check says.
func decodeLocalization(b []byte) (l localization, cov []float64, err error) {
	l.pose = pose.Identity()
	err = eachField(b, func(num protowire.Number, f field) error {
		switch num {
		case 2:
			l.parent = string(f.bytes)
		case 3:
			l.child = string(f.bytes)
		case 4:
			v, err := f.doubles(3)
			l.pose.T = pose.Vec3{X: v[0], Y: v[1], Z: v[2]}
			return err
		case 5:
			v, err := f.doubles(4)
			l.pose.R = pose.Quat{X: v[0], Y: v[1], Z: v[2], W: v[3]}
			return err
		case 6:
			cov = f.appendDoubles(cov)
		case 10:
			l.static = f.bits != 0
		}
		return nil
	})
	return l, cov, err
}

// rounding is how far single precision, or four decimals, leave a quaternion from unit length.
const rounding = 1e-4

// check normalises the pose and sets the covariance.
func (l *localization) check(cov []float64) (err error) {
	n := l.pose.R.Norm()
	l.normalised = n < 1-rounding || n > 1+rounding
	l.pose, l.cov, err = pose.MeasuredROS(l.pose, cov)
	return err
}

// isStatic reports whether a snapshot of Localization tells of something at rest.
func isStatic(s *engram.Snapshot) bool { return says(s, true) }

// moves reports whether a localization says of a frame where it is, not where it rests.
func moves(s *engram.Snapshot) bool { return says(s, false) }

func says(s *engram.Snapshot, static bool) bool {
	for i := range s.Instances {
		if l, _, err := decodeLocalization(s.Instances[i].Payload.Bytes); err == nil && l.static == static {
			return true
		}
	}
	return false
}

// field is the content of one field on the wire: of a varint or fixed one its bits,
// else its bytes.
type field struct {
	bits  uint64
	bytes []byte
}

// eachField calls f with each field of a message.
func eachField(b []byte, f func(protowire.Number, field) error) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(n))
		}
		b = b[n:]
		var c field
		switch wire {
		case protowire.VarintType:
			c.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			c.bits, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			c.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, wire, b)
		}
		if n < 0 {
			return engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(num, c); err != nil {
			return err
		}
	}
	return nil
}

// appendDoubles appends a repeated field's doubles, packed or one alone.
func (f field) appendDoubles(to []float64) []float64 {
	if f.bytes == nil {
		return append(to, math.Float64frombits(f.bits))
	}
	for b := f.bytes; len(b) >= 8; b = b[8:] {
		bits, _ := protowire.ConsumeFixed64(b)
		to = append(to, math.Float64frombits(bits))
	}
	return to
}

// doubles returns the first n members of a message of doubles.
func (f field) doubles(n int) (v [4]float64, err error) {
	err = eachField(f.bytes, func(num protowire.Number, c field) error {
		if num >= 1 && int(num) <= n {
			v[num-1] = math.Float64frombits(c.bits)
		}
		return nil
	})
	return v, err
}
