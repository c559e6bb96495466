package world

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Items come often, so the usual ones are read without making values of all they hold. The numbers
// of members are part of the type: types that extend it keep them. What is not usual (a
// message in parts, properties, evidence, a wrong wire type) is left to package idf.

// wireItem reads a World/Item; ok is false if package idf has to.
func wireItem(b []byte) (it *Item, ok bool) {
	it = &Item{Source: Perception}
	return it, eachField(b, 0, func(num protowire.Number, f field) (ok bool) {
		switch num {
		case 1:
			it.Structure = &Structure{}
			return f.message(0, 2, &it.Structure.Time, func(num protowire.Number, f field) bool {
				return num != 1 || f.text(&it.Structure.Parent)
			})
		case 2:
			it.Placement, ok = wirePlacement(f)
			return ok
		case 3:
			it.Description, ok = wireDescription(f)
			return ok
		case 4:
			it.Source = sourceOf(int32(f.bits))
			return f.wire == protowire.VarintType
		case 5:
			it.Views = int(int32(f.bits))
			return f.wire == protowire.VarintType
		case 6:
			return false
		case 7:
			it.SeenIn, ok = f.link()
			return ok
		case 8:
			it.Removed = &Removal{}
			return f.message(0, 2, &it.Removed.Time, func(num protowire.Number, f field) bool {
				return num != 1 || f.text(&it.Removed.Reason)
			})
		}
		return true
	})
}

func wirePlacement(f field) (*Placement, bool) {
	p := &Placement{}
	var cov []byte
	ok := f.message(0, 4, &p.Time, func(num protowire.Number, f field) bool {
		switch num {
		case 1:
			return f.text(&p.Frame)
		case 2:
			return f.pose(&p.Pose)
		case 3: // packed
			cov = f.bytes
			return f.wire == protowire.BytesType && len(cov)%8 == 0
		}
		return true
	})
	if ok && len(cov) > 0 {
		var m [36]float64
		for i := range min(len(cov)/8, len(m)) {
			bits, _ := protowire.ConsumeFixed64(cov[8*i:])
			m[i] = math.Float64frombits(bits)
		}
		p.Cov = covOf(p.Pose, &m, len(cov)/8)
	}
	return p, ok
}

func wireDescription(f field) (*Description, bool) {
	d := &Description{}
	return d, f.message(1<<1|1<<3, 12, &d.Time, func(num protowire.Number, f field) (ok bool) {
		switch num {
		case 1:
			return f.texts(&d.Kinds)
		case 2:
			return f.text(&d.Label)
		case 3:
			return f.texts(&d.SpokenNames)
		case 4:
			d.Class, ok = f.link()
			return ok
		case 6:
			d.Box = &Box{}
			return f.message(0, 0, nil, func(num protowire.Number, f field) bool {
				switch num {
				case 1:
					return f.pose(&d.Box.Pose)
				case 2:
					return f.doubles(&d.Box.Size.X, &d.Box.Size.Y, &d.Box.Size.Z)
				}
				return true
			})
		case 10:
			return f.text(&d.Maintainer)
		}
		return num > 12 // the others are not usual
	})
}

// field is the content of one field on the wire: of a varint or fixed one its bits, else its
// bytes.
type field struct {
	wire  protowire.Type
	bits  uint64
	bytes []byte
}

// eachField calls f with each field of a message, and reports whether it could read all and f
// agreed with each. Fields with bytes that come twice it cannot read, but those of the numbers
// whose bits are set in lists.
func eachField(b []byte, lists uint64, f func(protowire.Number, field) bool) bool {
	var met uint64
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		c := field{wire: wire}
		switch wire {
		case protowire.VarintType:
			c.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			c.bits, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			if bit := uint64(1) << min(num, 63); lists&bit == 0 {
				if met&bit != 0 {
					return false
				}
				met |= bit
			}
			c.bytes, n = protowire.ConsumeBytes(b)
		default:
			return false
		}
		if n < 0 || !f(num, c) {
			return false
		}
		b = b[n:]
	}
	return true
}

// message calls each with each field of a message but that of a number, which is a time.
func (f field) message(lists uint64, stated protowire.Number, at *engram.Time, each func(protowire.Number, field) bool) bool {
	return f.wire == protowire.BytesType && eachField(f.bytes, lists, func(num protowire.Number, f field) bool {
		if num != stated {
			return each(num, f)
		}
		var sec, nanos uint64
		ok := f.wire == protowire.BytesType && eachField(f.bytes, 0, func(num protowire.Number, f field) bool {
			switch num {
			case 1:
				sec = f.bits
			case 2:
				nanos = f.bits
			}
			return f.wire == protowire.VarintType
		})
		*at = engram.Time(sec*1e9 + nanos)
		return ok && sec < 9e9 && nanos < 1e9
	})
}

// text reads a string into s.
func (f field) text(s *string) bool {
	switch string(f.bytes) { // the usual kinds are shared
	case KindObject:
		*s = KindObject
	case KindMap:
		*s = KindMap
	default:
		*s = string(f.bytes)
	}
	return f.wire == protowire.BytesType && utf8.Valid(f.bytes)
}

// texts appends a string to a list.
func (f field) texts(list *[]string) bool {
	*list = append(*list, "")
	return f.text(&(*list)[len(*list)-1])
}

// link reads a link; nil for the root.
func (f field) link() (*engram.ID, bool) {
	var text string
	if !f.message(0, 0, nil, func(num protowire.Number, f field) bool { return num != 1 || f.text(&text) }) {
		return nil, false
	}
	id, err := engram.Parse(text)
	if err != nil || id == (engram.ID{}) {
		return nil, true
	}
	return &id, true
}

func (f field) pose(p *pose.Pose) bool {
	return f.message(0, 0, nil, func(num protowire.Number, f field) bool {
		switch num {
		case 1:
			return f.doubles(&p.T.X, &p.T.Y, &p.T.Z)
		case 2:
			return f.doubles(&p.R.X, &p.R.Y, &p.R.Z, &p.R.W)
		}
		return true
	})
}

// doubles reads the first members of a message of doubles.
func (f field) doubles(to ...*float64) bool {
	return f.message(0, 0, nil, func(num protowire.Number, f field) bool {
		if int(num) <= len(to) {
			*to[num-1] = math.Float64frombits(f.bits)
		}
		return f.wire == protowire.Fixed64Type
	})
}
