package record

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// measure compares snapshots with the one remembered. It remembers what its bounds
// need, not the payloads: a walk over the encoded bytes finds it.
type measure struct {
	similar similarity
	types   *idf.Registry
	last    signature
	next    signature // of the snapshot compared last; its memory is used again
}

// similarity compares by the bounds of a policy.
type similarity policy.Similarity

// signature is what is compared of a snapshot.
type signature struct {
	hash   uint64 // of everything
	fixed  uint64 // of what must be the same
	leaves []leaf // what may differ within bounds, in the order in which it stands there
	texts  []string
	images []thumbnail
	broken bool // a payload could not be walked
}

// leaf is a number, a position or an orientation.
type leaf struct {
	path  uint64
	what  byte
	whole integer // the number, if it is one
	v     [4]float64
}

// integer is a whole number from -2⁶³ to 2⁶⁴ − 1, also where a double is not exact.
type integer struct {
	is       bool
	negative bool
	size     uint64
}

// integerOf returns the number that a walk has found, if it is whole.
func integerOf(f *idf.Found) integer {
	switch {
	case f.Num == float64(f.Int) && f.Int < 0:
		return integer{true, true, -uint64(f.Int)}
	case f.Num == float64(f.Int), f.Num > 0 && f.Num == float64(uint64(f.Int)): // it was wrapped
		return integer{true, false, uint64(f.Int)}
	}
	return integer{}
}

// within reports whether the difference of two whole numbers is at most a bound.
func (a integer) within(b integer, bound float64) bool {
	difference, over := max(a.size, b.size)-min(a.size, b.size), uint64(0)
	if a.negative != b.negative {
		difference, over = bits.Add64(a.size, b.size, 0)
	}
	const beyond = 1 << 64
	return bound >= 2*beyond || over == 0 && (bound >= beyond || difference <= uint64(bound)) ||
		over > 0 && bound >= beyond && difference <= uint64(bound-beyond)
}

const (
	aNumber byte = iota
	aPosition
	anOrientation
)

var seed = maphash.MakeSeed()

// remember makes s what the next ones are compared to.
func (m *measure) remember(s *engram.Snapshot) {
	if h := hashOf(s); h != m.next.hash || m.next.hash == 0 {
		m.sign(s, h, &m.next)
	}
	m.last, m.next = m.next, m.last
	m.next.hash = 0
}

// differs reports whether s differs from what is remembered by more than the bounds.
func (m *measure) differs(s *engram.Snapshot) bool {
	h := hashOf(s)
	if h == m.last.hash {
		return false
	}
	if m.similar.Exact || m.similar.comparesNothing() {
		m.next.hash = 0
		return true
	}
	m.sign(s, h, &m.next)
	return m.next.broken || m.last.broken || m.similar.differ(&m.last, &m.next)
}

// comparesNothing reports whether no bound is set, so that any difference counts.
func (s *similarity) comparesNothing() bool {
	return s.Numbers == 0 && s.Distance == 0 && s.Angle == 0 && s.Image == 0 && s.Text == 0
}

// hashOf identifies a snapshot's payloads. It is not 0.
func hashOf(s *engram.Snapshot) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		h.WriteString(p.Type)
		h.WriteByte(0)
		maphash.WriteComparable(&h, len(p.Bytes))
		h.Write(p.Bytes)
	}
	return h.Sum64() | 1
}

// kinds returns what a walk has to find. What is measured as a whole is not looked
// into, so positions and orientations must be found before their numbers.
func (s *similarity) kinds() idf.Kind {
	kinds := idf.KindString | idf.KindLink | idf.KindFlag | idf.KindBytes | idf.KindImage | idf.KindVector | idf.KindOrientation
	if s.Numbers > 0 {
		kinds |= idf.KindNumber
	}
	return kinds
}

// sign makes the signature of s, whose hash is known.
func (m *measure) sign(s *engram.Snapshot, hash uint64, g *signature) {
	*g = signature{hash: hash, leaves: g.leaves[:0], texts: g.texts[:0], images: g.images[:0]}
	if m.similar.Exact || m.similar.comparesNothing() {
		return
	}
	var fixed maphash.Hash
	fixed.SetSeed(seed)
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		fixed.WriteByte(0)
		fixed.WriteString(p.Type)
		t, ok := m.types.Get(p.Type)
		if !ok || t.Walk(p.Bytes, m.similar.kinds(), func(f *idf.Found) bool { m.found(f, g, &fixed); return true }) != nil {
			g.broken = true
		}
	}
	g.fixed = fixed.Sum64()
}

// found adds what a walk has found to a signature.
func (m *measure) found(f *idf.Found, g *signature, fixed *maphash.Hash) {
	exact := func(b []byte) {
		fixed.Write(f.Path)
		maphash.WriteComparable(fixed, len(b))
		fixed.Write(b)
	}
	switch f.Kind {
	case idf.KindNumber:
		g.leaves = append(g.leaves, leaf{path: maphash.Bytes(seed, f.Path), what: aNumber, whole: integerOf(f), v: [4]float64{f.Num}})
	case idf.KindVector:
		l := leaf{path: maphash.Bytes(seed, f.Path), what: aNumber, v: components(f.Bytes)}
		if isPosition(f.Path) {
			l.what = aPosition
		}
		g.leaves = append(g.leaves, l)
	case idf.KindOrientation:
		g.leaves = append(g.leaves, leaf{path: maphash.Bytes(seed, f.Path), what: anOrientation, v: components(f.Bytes)})
	case idf.KindImage:
		if m.similar.Image == 0 {
			return
		}
		if img, ok := thumbnailOf(f.Bytes); ok {
			g.images = append(g.images, img)
		} else {
			exact(f.Bytes)
		}
	case idf.KindString:
		if m.similar.Text > 0 {
			g.texts = append(g.texts, strings.Clone(string(f.Bytes)))
		} else {
			exact(f.Bytes)
		}
	case idf.KindLink:
		// Which time of an entity a link means changes with each observation.
		if id, err := engram.Parse(string(f.Bytes)); err == nil && id.Level() > engram.LevelEntity {
			exact(id.Truncate(engram.LevelEntity).Append(nil))
		} else {
			exact(f.Bytes)
		}
	case idf.KindFlag:
		exact(binary.LittleEndian.AppendUint64(nil, uint64(f.Int)))
	case idf.KindBytes:
		exact(f.Bytes)
	}
}

// isPosition reports whether a vector of that path is a place, not a velocity, a
// force or a size.
func isPosition(path []byte) bool {
	name := string(path[strings.LastIndexByte(string(path), '.')+1:])
	return name == "position" || name == "translation"
}

// components returns the members 1 to 4 of a vector or a quaternion.
func components(b []byte) (v [4]float64) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return v
		}
		if b = b[n:]; typ == protowire.Fixed64Type && num <= 4 && len(b) >= 8 {
			v[num-1] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return v
		}
		b = b[n:]
	}
	return v
}

// differ reports whether two signatures differ by more than the bounds.
func (s *similarity) differ(a, b *signature) bool {
	if a.fixed != b.fixed || len(a.texts) != len(b.texts) || len(a.images) != len(b.images) {
		return true
	}
	for i := range a.images {
		if a.images[i].difference(&b.images[i]) > s.Image {
			return true
		}
	}
	for i := range a.texts {
		if textDifference(a.texts[i], b.texts[i]) > s.Text {
			return true
		}
	}
	// Zeros are not written, so a leaf may be in one of them only. As a rule they
	// stand in the same order.
	i := 0
	for j := range b.leaves {
		if i < len(a.leaves) && a.leaves[i].path == b.leaves[j].path {
			if s.apart(&a.leaves[i], &b.leaves[j]) {
				return true
			}
			i++
			continue
		}
		return s.differInOrder(a.leaves[i:], b.leaves[j:])
	}
	return s.differInOrder(a.leaves[i:], nil)
}

// differInOrder compares leaves by their paths.
func (s *similarity) differInOrder(a, b []leaf) bool {
	byPath := func(x, y leaf) int {
		if x.path < y.path {
			return -1
		}
		if x.path > y.path {
			return 1
		}
		return 0
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, byPath)
	slices.SortStableFunc(b, byPath)
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].path < b[0].path:
			if s.apart(&a[0], zero(&a[0])) {
				return true
			}
			a = a[1:]
		case len(a) == 0 || b[0].path < a[0].path:
			if s.apart(&b[0], zero(&b[0])) {
				return true
			}
			b = b[1:]
		default:
			if s.apart(&a[0], &b[0]) {
				return true
			}
			a, b = a[1:], b[1:]
		}
	}
	return false
}

// zero returns what is not written of another leaf's kind.
func zero(of *leaf) *leaf {
	return &leaf{what: of.what, whole: integer{is: of.whole.is}}
}

// apart reports whether two leaves are farther apart than the bounds allow. NaN is
// the same as NaN.
func (s *similarity) apart(a, b *leaf) bool {
	if a.v == b.v && a.whole == b.whole {
		return false
	}
	switch {
	case a.whole.is && b.whole.is:
		return s.Numbers > 0 && !a.whole.within(b.whole, s.Numbers)
	case a.what == aPosition && s.Distance > 0:
		d := math.Hypot(math.Hypot(a.v[0]-b.v[0], a.v[1]-b.v[1]), a.v[2]-b.v[2])
		return !(d <= s.Distance) && !alike(a, b)
	case a.what == anOrientation && s.Angle > 0:
		return !(angle(a.v, b.v) <= s.Angle) && !alike(a, b)
	case a.what == aNumber && s.Numbers > 0:
		for i := range a.v {
			if !(math.Abs(a.v[i]-b.v[i]) <= s.Numbers) && math.Float64bits(a.v[i]) != math.Float64bits(b.v[i]) {
				return true
			}
		}
	}
	return false
}

func alike(a, b *leaf) bool {
	for i := range a.v {
		if math.Float64bits(a.v[i]) != math.Float64bits(b.v[i]) {
			return false
		}
	}
	return true
}

// angle returns the angle between two orientations, which need not be normalised: 2
// atan2 of their difference's imaginary and real part, exact for small angles too.
func angle(p, q [4]float64) float64 {
	re := p[0]*q[0] + p[1]*q[1] + p[2]*q[2] + p[3]*q[3]
	x := p[3]*q[0] - p[0]*q[3] - p[1]*q[2] + p[2]*q[1]
	y := p[3]*q[1] - p[1]*q[3] - p[2]*q[0] + p[0]*q[2]
	z := p[3]*q[2] - p[2]*q[3] - p[0]*q[1] + p[1]*q[0]
	return 2 * math.Atan2(math.Hypot(math.Hypot(x, y), z), math.Abs(re))
}

// maxTextCompared bounds the text whose pairs of bytes are compared.
const maxTextCompared = 1 << 16

// textDifference returns which share of two texts differs: 1 minus Dice's coefficient
// of their pairs of neighbouring bytes, 0 for equal texts and 1 for unrelated ones.
func textDifference(a, b string) float64 {
	if a == b {
		return 0
	}
	a, b = a[:min(len(a), maxTextCompared)], b[:min(len(b), maxTextCompared)]
	if len(a) < 2 || len(b) < 2 {
		return 1
	}
	pairs := map[[2]byte]int{}
	for i := range len(a) - 1 {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	common := 0
	for i := range len(b) - 1 {
		if p := [2]byte{b[i], b[i+1]}; pairs[p] > 0 {
			pairs[p]--
			common++
		}
	}
	return 1 - 2*float64(common)/float64(len(a)+len(b)-2)
}

// Numbers returns the numbers in a snapshot's payloads in the order in which they
// stand there, for [Version]; at most most of them.
func Numbers(types *idf.Registry, s *engram.Snapshot, most int) []float64 {
	var v []float64
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		if t, ok := types.Get(p.Type); ok {
			// What is damaged has no numbers beyond the damage.
			_ = t.Walk(p.Bytes, idf.KindNumber, func(f *idf.Found) bool {
				if len(v) < most {
					v = append(v, f.Num)
				}
				return len(v) < most
			})
		}
	}
	return v
}
