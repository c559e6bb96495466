package files

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/pose"
)

// fields are the members of a mapping, as they are read.
type fields struct {
	r  *reader
	of string // what they are of, for errors
	n  *node
	m  *mapping
}

// fields returns the members of a mapping, which are among those that are known.
func (r *reader) fields(n *node, of string, known ...string) *fields {
	f := r.fieldsOf(n, of)
	for key, hint := range f.unknown(known) {
		r.fail(f.m.line[key], of, "unknown member %q; %s", key, hint)
	}
	return f
}

// fieldsOf returns the members of a mapping, whatever they are.
func (r *reader) fieldsOf(n *node, of string) *fields {
	f := &fields{r: r, of: of, n: n}
	m, ok := n.value.(*mapping)
	if !ok {
		r.fail(n.line, of, "a mapping is expected, not %s", n.what())
		m = &mapping{at: map[string]*node{}, line: map[string]int{}}
	}
	f.m = m
	return f
}

// unknown yields the members that are not known, each with what may have been meant.
func (f *fields) unknown(known []string) iter.Seq2[string, string] {
	return func(yield func(key, hint string) bool) {
		for _, key := range f.m.keys {
			if slices.Contains(known, key) {
				continue
			}
			hint := "the members are " + strings.Join(known, ", ")
			if near := spelling.Nearest(key, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			if !yield(key, hint) {
				return
			}
		}
	}
}

// what says what a value is.
func (n *node) what() string {
	switch v := n.value.(type) {
	case nil:
		return "nothing"
	case *mapping:
		return "a mapping"
	case []*node:
		return fmt.Sprintf("a list of %d", len(v))
	case string:
		if short := []rune(v); len(short) > 60 {
			return fmt.Sprintf("a text that begins with %q", string(short[:60]))
		}
		return fmt.Sprintf("the text %q", v)
	}
	return n.written
}

func (f *fields) has(key string) bool { return f.m.at[key] != nil }

// get returns a member that is there and not null, or nil.
func (f *fields) get(key string) *node {
	if n := f.m.at[key]; n != nil && n.value != nil {
		return n
	}
	return nil
}

func (f *fields) fail(n *node, format string, args ...any) {
	f.r.fail(n.line, f.of, format, args...)
}

func (f *fields) text(key string) string {
	n := f.get(key)
	if n == nil {
		return ""
	}
	switch v := n.value.(type) {
	case string:
		return v
	case int64, uint64, float64, bool: // as the number of a room is written, such as 007
		return n.text()
	}
	f.fail(n, "%s is %s; a text is expected", key, n.what())
	return ""
}

// texts returns a list of texts, or the one that stands there alone.
func (f *fields) texts(key string) []string {
	n := f.get(key)
	if n == nil {
		return nil
	}
	list, ok := n.value.([]*node)
	if !ok {
		return []string{f.text(key)}
	}
	var texts []string
	for _, item := range list {
		switch item.value.(type) {
		case string, int64, uint64, float64, bool:
			texts = append(texts, item.text())
		default:
			f.fail(item, "%s holds %s; a text is expected", key, item.what())
		}
	}
	return texts
}

// number returns a number, and whether there is one.
func (f *fields) number(key string) (float64, bool) {
	n := f.get(key)
	if n == nil {
		return 0, false
	}
	x, ok := n.number()
	if !ok {
		f.fail(n, "%s is %s; a number is expected", key, n.what())
	}
	return x, ok
}

func (n *node) number() (float64, bool) {
	switch v := n.value.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case string: // as JSON has no numbers for these
		switch v {
		case "NaN":
			return math.NaN(), true
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		}
	}
	return 0, false
}

// numbers returns a list of numbers of one of the lengths; nil if it is none.
func (f *fields) numbers(n *node, key string, lengths ...int) []float64 {
	list, ok := n.value.([]*node)
	if !ok || !slices.Contains(lengths, len(list)) {
		f.fail(n, "%s is %s; %s numbers are expected", key, n.what(), oneOf(lengths))
		return nil
	}
	numbers := make([]float64, len(list))
	for i, item := range list {
		if numbers[i], ok = item.number(); !ok {
			f.fail(item, "%s holds %s; a number is expected", key, item.what())
			return nil
		}
	}
	return numbers
}

func oneOf(lengths []int) string {
	words := make([]string, len(lengths))
	for i, n := range lengths {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, " or ")
}

// vector returns three numbers, as a list or as x, y and z.
func (f *fields) vector(key string) (pose.Vec3, bool) {
	n := f.get(key)
	if n == nil {
		return pose.Vec3{}, false
	}
	if _, ok := n.value.(*mapping); ok {
		v := f.r.fields(n, f.of+", "+key, "x", "y", "z")
		x, _ := v.number("x")
		y, _ := v.number("y")
		z, _ := v.number("z")
		return pose.Vec3{X: x, Y: y, Z: z}, true
	}
	v := f.numbers(n, key, 3)
	if v == nil {
		return pose.Vec3{}, false
	}
	return pose.Vec3{X: v[0], Y: v[1], Z: v[2]}, true
}

// pose returns a pose: a list of x, y, z, of these with roll, pitch and yaw, or of these with
// the quaternion's x, y, z, w; or position with orientation or rpy.
func (f *fields) pose(key string) (pose.Pose, bool) {
	p := pose.Identity()
	n := f.get(key)
	if n == nil {
		return p, false
	}
	if _, ok := n.value.(*mapping); !ok {
		v := f.numbers(n, key, 3, 6, 7)
		if v == nil {
			return p, false
		}
		p.T = pose.Vec3{X: v[0], Y: v[1], Z: v[2]}
		switch len(v) {
		case 6:
			p.R = pose.RPY(v[3], v[4], v[5])
		case 7:
			p.R = pose.Quat{X: v[3], Y: v[4], Z: v[5], W: v[6]}
		}
		return f.checkedPose(n, key, p)
	}
	g := f.r.fields(n, f.of+", "+key, "position", "orientation", "rpy", "x", "y", "z", "roll", "pitch", "yaw", "qx", "qy", "qz", "qw")
	p.T, _ = g.vector("position")
	flat := func(keys ...string) (v [4]float64, any bool) {
		for i, k := range keys {
			x, ok := g.number(k)
			v[i], any = x, any || ok
		}
		return v, any
	}
	if v, any := flat("x", "y", "z"); any {
		if g.has("position") {
			g.fail(n, "it has both position and x, y, z")
		}
		p.T = pose.Vec3{X: v[0], Y: v[1], Z: v[2]}
	}
	rotations := 0
	if q := g.get("orientation"); q != nil {
		rotations++
		if _, ok := q.value.(*mapping); ok {
			o := f.r.fields(q, g.of+", orientation", "x", "y", "z", "w")
			p.R = pose.Quat{}
			p.R.X, _ = o.number("x")
			p.R.Y, _ = o.number("y")
			p.R.Z, _ = o.number("z")
			p.R.W, _ = o.number("w")
		} else if v := g.numbers(q, "orientation", 4); v != nil {
			p.R = pose.Quat{X: v[0], Y: v[1], Z: v[2], W: v[3]}
		}
	}
	if r := g.get("rpy"); r != nil {
		rotations++
		if v := g.numbers(r, "rpy", 3); v != nil {
			p.R = pose.RPY(v[0], v[1], v[2])
		}
	}
	if v, any := flat("roll", "pitch", "yaw"); any {
		rotations++
		p.R = pose.RPY(v[0], v[1], v[2])
	}
	if v, any := flat("qx", "qy", "qz", "qw"); any {
		rotations++
		p.R = pose.Quat{X: v[0], Y: v[1], Z: v[2], W: v[3]}
	}
	if rotations > 1 {
		g.fail(n, "it is turned in %d ways; give one of orientation, rpy, roll with pitch and yaw, qx with qy, qz and qw", rotations)
	}
	return f.checkedPose(n, key, p)
}

func (f *fields) checkedPose(n *node, key string, p pose.Pose) (pose.Pose, bool) {
	checked, err := p.Checked()
	if err != nil {
		f.fail(n, "%s: %w", key, err)
	}
	return checked, true
}

// duration returns a time span: a text such as 1h30m, or a number of seconds.
func (f *fields) duration(key string) time.Duration {
	n := f.get(key)
	if n == nil {
		return 0
	}
	if s, ok := n.number(); ok {
		if !(math.Abs(s) < math.MaxInt64/1e9) {
			f.fail(n, "%s is %g s, which is too long", key, s)
			return 0
		}
		return time.Duration(s * float64(time.Second))
	}
	d, err := time.ParseDuration(n.text())
	if err != nil {
		f.fail(n, "%s is %s; a time such as 1h30m is expected", key, n.what())
	}
	return d
}

// id returns a link; a word alone is the name of what is in a segment by default.
func (f *fields) id(key, segment string) engram.ID {
	text := f.text(key)
	if text == "" {
		return engram.ID{}
	}
	if segment != "" && !strings.Contains(text, "/") {
		text = segment + "/" + engram.EscapeName(text)
	}
	id, err := engram.Parse(text)
	if err != nil {
		f.fail(f.get(key), "%s: %w", key, err)
	}
	return id
}

// class returns the class that an item says; nil if it says none.
func (f *fields) class() *engram.ID {
	id := f.id("class", "Object/Class/PriorKnowledge")
	if id == (engram.ID{}) {
		return nil
	}
	return &id
}

// choice returns which of the words a member is; 0 if it is not there.
func (f *fields) choice(key string, words []string) int {
	n := f.get(key)
	if n == nil {
		return 0
	}
	i := slices.Index(words, n.text())
	if i < 0 {
		f.fail(n, "%s is %s; it is one of %s", key, n.what(), strings.Join(words, ", "))
		return 0
	}
	return i
}

// properties returns a mapping of anything.
func (f *fields) properties(key string) map[string]any {
	n := f.get(key)
	if n == nil {
		return nil
	}
	m, ok := n.value.(*mapping)
	if !ok {
		f.fail(n, "%s is %s; a mapping is expected", key, n.what())
		return nil
	}
	if len(m.keys) == 0 {
		return nil
	}
	return f.r.dict(m, f.of)
}

// dict returns the members of a mapping as package idf has them.
func (r *reader) dict(m *mapping, of string) map[string]any {
	dict := make(map[string]any, len(m.keys))
	for _, key := range m.keys {
		dict[key] = r.plain(m.at[key], of)
	}
	return dict
}

// plain returns a value as package idf has it. What files have no form for is a mapping with the tag that it has in JSON
// as its only member, such as {$time: …} or {$int32: 5}.
func (r *reader) plain(n *node, of string) any {
	switch v := n.value.(type) {
	case []*node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = r.plain(item, of)
		}
		return list
	case *mapping:
		if len(v.keys) != 1 || !strings.HasPrefix(v.keys[0], "$") {
			return r.dict(v, of)
		}
		if inner, ok := v.at[v.keys[0]].value.(*mapping); ok && v.keys[0] == "$dict" {
			return r.dict(inner, of)
		}
		b, err := valueType().FromJSON(appendJSON(nil, n.tree(), 0))
		if err != nil {
			r.fail(n.line, of, "%w", err)
			return nil
		}
		value, err := idf.DecodeValue(b)
		if err != nil {
			r.fail(n.line, of, "%w", err)
		}
		return value
	}
	return n.value
}

// valueType is the type of properties and states.
var valueType = sync.OnceValue(func() *idf.Type {
	t, _ := idf.NewRegistry().Get(engram.ValueType) // which every registry has
	return t
})
