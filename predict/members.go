package predict

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Members are the numbers of payloads of one type that are predicted: those of one payload, for
// as long as others have the same; at most MaxMembers, others are left as they are. It is used by
// one goroutine.
type Members struct {
	Type  *idf.Type
	Paths []string // as idf.Found.Path has them
	Kinds []Kind
	Rates Rates // the members that are told beside their rates
	// Labels say of each member what it is of, where it is in a list beside a list "name" of as many texts, as joints
	// are. Nil if none is.
	Labels []string

	names     []nameText // of lists of names; none if there are no labels
	listed    []idf.NumberMember
	numbers   *idf.Numbers // of those that are listed
	all       []float64    // what it read last
	set       []int        // which of them are members: those that the first payload has
	rotations []int        // where x, y, z, w of a rotation begin
	unsigned  []int        // members that cannot be below 0
	last      []float64
	silent    int // payloads in a row that did not tell all members
}

// nameText is an element of a list of names.
type nameText struct{ path, text string }

// silence is how many payloads in a row may leave members out before there are others.
const silence = 16

// MembersOf finds the numbers of a payload. Times are not among them: they go on with the clock.
// The errors are Corrupt, and Unsupported if there is no number, or none that can be predicted.
func MembersOf(t *idf.Type, b []byte) (*Members, error) {
	listed, err := t.NumberMembers(b, MaxMembers+1)
	if err != nil {
		return nil, err
	}
	listed = predictable(listed)
	if len(listed) == 0 {
		return nil, engram.Errorf(engram.Unsupported, t.Name(), "a payload without numbers is not predicted")
	}
	paths := make([]string, len(listed))
	for i, f := range listed {
		paths[i] = f.Path
	}
	m := &Members{Type: t, listed: listed, all: make([]float64, len(listed))}
	if m.numbers, err = t.Numbers(paths); err != nil {
		return nil, err
	}
	if err := m.read(b); err != nil {
		return nil, err
	}
	for i, v := range m.all {
		if math.IsNaN(v) {
			continue // what is not told in this payload is left as it is
		}
		k := Number
		if listed[i].Keys != nil || listed[i].Type == "Bool" {
			k = Held
		} else if isRadian(&listed[i]) {
			k = Radian
		}
		if listed[i].Type == "UInt" || listed[i].Type == "ULong" {
			m.unsigned = append(m.unsigned, len(m.Paths))
		}
		m.Paths, m.Kinds, m.set = append(m.Paths, paths[i]), append(m.Kinds, k), append(m.set, i)
	}
	if len(m.Paths) == 0 {
		return nil, engram.Errorf(engram.Unsupported, t.Name(), "none of its numbers is set, finite and at most 10¹⁵")
	}
	orientations := map[string]bool{}
	err = t.Walk(b, idf.KindOrientation, func(f *idf.Found) bool {
		orientations[string(f.Path)] = true
		return true
	})
	if err != nil {
		return nil, err
	}
	for i := 0; i+4 <= len(m.Paths); i++ {
		of, isX := strings.CutSuffix(m.Paths[i], ".x")
		if isX && orientations[of] && m.Paths[i+1] == of+".y" && m.Paths[i+2] == of+".z" && m.Paths[i+3] == of+".w" {
			m.rotations = append(m.rotations, i)
		}
	}
	m.Rates = ratesOf(m.Paths, m.Kinds, m.rotations)
	return m, m.label(b)
}

// label finds what the members are of: the texts of a list "name" beside their lists.
func (m *Members) label(b []byte) error {
	labels, err := m.Type.NumberLabels(b, m.listed)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, path := range m.Paths {
		m.Labels = append(m.Labels, labels[path])
		told[labels[path]] = true
	}
	if delete(told, ""); len(told) == 0 {
		m.Labels = nil
		return nil
	}
	return m.Type.Walk(b, idf.KindString, func(f *idf.Found) bool {
		if list, _, isItem := idf.CutIndex(string(f.Path)); isItem && idf.IsNames(list) {
			m.names = append(m.names, nameText{string(f.Path), string(f.Bytes)})
		}
		return true
	})
}

// labelled reports whether a payload has the labels of the members.
func (m *Members) labelled(b []byte) bool {
	if len(m.names) == 0 {
		return true
	}
	next := 0
	err := m.Type.Walk(b, idf.KindString, func(f *idf.Found) bool {
		if m.names[next].path != string(f.Path) {
			return true
		}
		if m.names[next].text != string(f.Bytes) {
			return false
		}
		next++
		return next < len(m.names)
	})
	return err == nil && next == len(m.names)
}

// NoMembers are those of payloads of a type that have no number to predict.
func NoMembers(t *idf.Type) *Members { return &Members{Type: t} }

// read reads all numbers that are listed; those that are not finite, or beyond what is predicted, are
// not told: NaN.
func (m *Members) read(b []byte) error {
	if err := m.numbers.Read(b, m.all); err != nil {
		return err
	}
	for i, v := range m.all {
		if math.Abs(v) > largest {
			m.all[i] = math.NaN()
		}
	}
	return nil
}

// inRadians finds the unit in the comment at a member.
var inRadians = regexp.MustCompile(`(?i)\brad(ians?)?\b`)

// isRadian reports whether a number may be an angle in rad: its comment says so, or it is the position
// of a joint, which is one if it turns.
func isRadian(f *idf.NumberMember) bool {
	return inRadians.MatchString(f.Doc) && !strings.Contains(f.Doc, "rad/s") || strings.HasPrefix(f.Path, "position[")
}

// predictable leaves out times, and what is beyond MaxMembers.
func predictable(listed []idf.NumberMember) []idf.NumberMember {
	return slices.DeleteFunc(listed[:min(len(listed), MaxMembers)], func(f idf.NumberMember) bool { return f.Type == "Time" })
}

// Fit reports whether a payload has the same members, with the same labels. What it does not tell, unset, not finite or
// beyond 1e15, counts as not told, as long as that does not stay so.
func (m *Members) Fit(t *idf.Type, b []byte) bool {
	if t != m.Type {
		return false
	}
	if !m.labelled(b) {
		return false
	}
	if m.numbers == nil {
		_, err := MembersOf(t, b)
		return engram.CodeOf(err) == engram.Unsupported
	}
	listed, err := t.NumberMembers(b, MaxMembers+1)
	if err != nil || !slices.EqualFunc(predictable(listed), m.listed, func(a, b idf.NumberMember) bool { return a.Path == b.Path }) {
		return false
	}
	if m.read(b) != nil {
		return false
	}
	next, told := 0, 0
	for i, v := range m.all {
		isMember := next < len(m.set) && m.set[next] == i
		if !isMember && !math.IsNaN(v) {
			return false
		}
		if isMember {
			next++
		}
		if !math.IsNaN(v) {
			told++
		}
	}
	if m.silent++; told == len(m.set) {
		m.silent = 0
	}
	return m.silent <= silence
}

// Read reads a payload's numbers. A rotation is given as the one of its two quaternions that lies
// nearer to the last one read. What is beyond 1e15 is infinite. The error is Corrupt.
func (m *Members) Read(b []byte, out []float64) error {
	if m.numbers == nil {
		return nil
	}
	if err := m.numbers.Read(b, m.all); err != nil {
		return err
	}
	for i, k := range m.set {
		if out[i] = m.all[k]; math.Abs(out[i]) > largest {
			out[i] = math.Inf(int(math.Copysign(1, out[i])))
		}
	}
	if m.last == nil {
		m.last = slices.Clone(out)
	}
	for _, i := range m.rotations {
		d := 0.0
		for k := range 4 {
			d += out[i+k] * m.last[i+k]
		}
		if d < 0 {
			for k := range 4 {
				out[i+k] = -out[i+k]
			}
		}
	}
	for i, v := range out {
		if math.Abs(v) <= largest {
			m.last[i] = v
		}
	}
	return nil
}

// Normalise makes rotations of what was predicted, and keeps unsigned numbers at 0 or above.
func (m *Members) Normalise(f *Forecast) {
	for _, i := range m.unsigned {
		f.Mean[i], f.Low[i], f.High[i] = math.Max(f.Mean[i], 0), math.Max(f.Low[i], 0), math.Max(f.High[i], 0)
	}
	for _, i := range m.rotations {
		n := 0.0
		for k := range 4 {
			n += f.Mean[i+k] * f.Mean[i+k]
		}
		if n = math.Sqrt(n); n < 1e-9 {
			continue
		}
		for k := range 4 {
			f.Mean[i+k] /= n
		}
	}
}
