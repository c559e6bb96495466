package semmap

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// field is a property of our ontology and the place of its value in a T.
type field[T any] struct {
	name string
	at   func(*T) any // a pointer
}

// The fields that KnowRob has no name for.
var (
	itemFields = []field[world.Item]{
		{"source", func(it *world.Item) any { return &it.Source }},
		{"views", func(it *world.Item) any { return &it.Views }},
		{"seenIn", func(it *world.Item) any { return &it.SeenIn }},
		{"labelEvidence", func(it *world.Item) any { return &it.LabelEvidence }},
	}
	descriptionFields = []field[world.Description]{
		{"displayName", func(d *world.Description) any { return &d.Label }},
		{"class", func(d *world.Description) any { return &d.Class }},
		{"maintainer", func(d *world.Description) any { return &d.Maintainer }},
	}
	shapeFields = []field[world.Shape]{
		{"shape", func(s *world.Shape) any { return &s.Kind }},
		{"shapeSize", func(s *world.Shape) any { return &s.Size }},
		{"mesh", func(s *world.Shape) any { return &s.Mesh }},
		{"outline", func(s *world.Shape) any { return &s.Outline }},
		{"shapePose", func(s *world.Shape) any { return &s.Pose }},
	}
	detectionFields = []field[world.Detection]{
		{"detectionMethod", func(d *world.Detection) any { return &d.Methods }},
		{"detectionTag", func(d *world.Detection) any { return &d.Tags }},
	}
	robotFields = []field[world.RobotFrames]{
		{"odomFrame", func(r *world.RobotFrames) any { return &r.Odom }},
		{"baseFrame", func(r *world.RobotFrames) any { return &r.Base }},
	}
	jointFields = []field[world.Articulation]{
		{"jointKind", func(a *world.Articulation) any { return &a.Kind }},
		{"baseFromJoint", func(a *world.Articulation) any { return &a.Pose }},
		{"reference", func(a *world.Articulation) any { return &a.Reference }},
		{"jointValue", func(a *world.Articulation) any { return &a.Value }},
		{"sigma", func(a *world.Articulation) any { return &a.Sigma }},
		{"jointSource", func(a *world.Articulation) any { return &a.Source }},
	}
	mapFields = []field[world.Map]{
		{"mapKind", func(m *world.Map) any { return &m.Kind }},
		{"resolution", func(m *world.Map) any { return &m.Resolution }},
		{"format", func(m *world.Map) any { return &m.Format }},
		{"data", func(m *world.Map) any { return &m.Link }},
		{"sha256", func(m *world.Map) any { return &m.SHA256 }},
		{"needsSensor", func(m *world.Map) any { return &m.Sensors }},
		{"forAlgorithm", func(m *world.Map) any { return &m.Algorithms }},
		{"author", func(m *world.Map) any { return &m.Author }},
		{"created", func(m *world.Map) any { return &m.Created }},
		{"quality", func(m *world.Map) any { return &m.Quality }},
	}
	boxFields = []field[world.Box]{
		{"extentSize", func(b *world.Box) any { return &b.Size }},
		{"extentPose", func(b *world.Box) any { return &b.Pose }},
	}
	componentFields = []field[world.Component]{
		{"componentKind", func(c *world.Component) any { return &c.Kind }},
		{"input", func(c *world.Component) any { return &c.Inputs }},
		{"output", func(c *world.Component) any { return &c.Outputs }},
		{"running", func(c *world.Component) any { return &c.Running }},
		{"startedBy", func(c *world.Component) any { return &c.StartedBy }},
	}
	viewFields = []field[world.View]{
		{"horizontalAngle", func(v *world.View) any { return &v.Horizontal }},
		{"verticalAngle", func(v *world.View) any { return &v.Vertical }},
		{"minRange", func(v *world.View) any { return &v.MinRange }},
		{"maxRange", func(v *world.View) any { return &v.MaxRange }},
	}
	stateFields = []field[State]{
		{"stateName", func(s *State) any { return &s.Name }},
		{"source", func(s *State) any { return &s.Source }},
		{"halfLife", func(s *State) any { return &s.HalfLife }},
		{"confidence", func(s *State) any { return &s.Confidence }},
	}
	poseFields = []field[Pose]{
		{"pose", func(p *Pose) any { return &p.Pose }},
		{"covariance", func(p *Pose) any { return &p.Cov }},
	}
)

// literals returns the values at a pointer as literals; none for what is not said. Of a kind, each
// is said.
func literals(at any) []rdf.Term {
	v := reflect.ValueOf(at).Elem()
	if _, word := at.(*world.Source); v.IsZero() && (word || v.Kind() != reflect.Uint8) {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case []string:
		var terms []rdf.Term
		for _, s := range slices.Compact(slices.Sorted(slices.Values(x))) {
			terms = append(terms, text(s))
		}
		return terms
	case pose.Pose:
		return numbers(x.T.X, x.T.Y, x.T.Z, x.R.W, x.R.X, x.R.Y, x.R.Z)
	case pose.Cov:
		return numbers(append([]float64{float64(x.Mask)}, x.S[:]...)...)
	case pose.Vec3:
		return numbers(x.X, x.Y, x.Z)
	case []pose.Vec3:
		var all []float64
		for _, v := range x {
			all = append(all, v.X, v.Y, v.Z)
		}
		return numbers(all...)
	case world.Evidence:
		b, err := json.Marshal(x)
		if err != nil {
			return nil
		}
		return []rdf.Term{rdf.NewTyped(string(b), rdf.NS+"JSON")}
	case engram.Time, time.Duration:
	case fmt.Stringer: // kinds, sources and IDs
		return []rdf.Term{text(x.String())}
	}
	t, _ := value(v.Interface())
	return []rdf.Term{t}
}

// set puts literals to where a pointer leads, and reports whether they could be read.
func set(at any, terms []rdf.Term) (ok bool) {
	v := reflect.ValueOf(at).Elem()
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v, at = v.Elem(), v.Interface()
	}
	lexical := terms[0].Value
	f := parseNumbers(lexical)
	switch p := at.(type) {
	case *string:
		*p = lexical
	case *[]string:
		for _, t := range terms {
			*p = append(*p, t.Value)
		}
		slices.Sort(*p)
	case *engram.ID:
		var err error
		*p, err = engram.Parse(lexical)
		return err == nil
	case *world.Source:
		return word(p, lexical, 4)
	case *world.ShapeKind:
		return word(p, lexical, 5)
	case *world.JointKind:
		return word(p, lexical, 3)
	case *world.MapKind:
		return word(p, lexical, len(world.MapKinds))
	case *world.Evidence:
		return json.Unmarshal([]byte(lexical), p) == nil
	case *pose.Pose:
		if len(f) != 7 {
			return false
		}
		*p = pose.Pose{T: pose.Vec3{X: f[0], Y: f[1], Z: f[2]}, R: pose.Quat{W: f[3], X: f[4], Y: f[5], Z: f[6]}}
	case *pose.Cov:
		if len(f) != 22 || f[0] < 0 || f[0] > 63 {
			return false
		}
		p.Mask = uint8(f[0])
		copy(p.S[:], f[1:])
	case *pose.Vec3:
		if len(f) != 3 {
			return false
		}
		*p = pose.Vec3{X: f[0], Y: f[1], Z: f[2]}
	case *[]pose.Vec3:
		for ; len(f) >= 3; f = f[3:] {
			*p = append(*p, pose.Vec3{X: f[0], Y: f[1], Z: f[2]})
		}
		return len(f) == 0
	default: // numbers, truth, times and durations
		x := reflect.ValueOf(valueOf(terms[0]))
		if x.Kind() == reflect.String || !x.IsValid() || !x.CanConvert(v.Type()) {
			return false
		}
		v.Set(x.Convert(v.Type()))
	}
	return true
}

// word finds a value by its word.
func word[T interface {
	~uint8
	fmt.Stringer
}](at *T, value string, n int) bool {
	for i := range n {
		if T(i).String() == value {
			*at = T(i)
			return true
		}
	}
	return false
}

func text(s string) rdf.Term { return rdf.NewTyped(s, rdf.NSXSD+"string") }

func number(x float64) rdf.Term {
	return rdf.NewTyped(strconv.FormatFloat(x, 'g', -1, 64), rdf.NSXSD+"double")
}

// numbers returns one literal of several numbers with blanks between them.
func numbers(x ...float64) []rdf.Term {
	if len(x) == 0 {
		return nil
	}
	var b []byte
	for i, v := range x {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return []rdf.Term{text(string(b))}
}

// parseNumbers returns numbers with blanks or commas between them; nil if one is none.
func parseNumbers(s string) (x []float64) {
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n,;[]()", r) }) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || v-v != 0 {
			return nil
		}
		x = append(x, v)
	}
	return x
}

// decimal returns nanoseconds as seconds, with as few digits as say all.
func decimal(ns int64) string {
	sign := ""
	n := uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// parseDecimal returns seconds as a time, exactly to the nanosecond.
func parseDecimal(s string) (engram.Time, bool) {
	whole, part, _ := strings.Cut(s, ".")
	digits := (part + "000000000")[:9]
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds > 9e9 || seconds < -9e9 {
		return 0, false
	}
	ns, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return 0, false
	}
	if strings.HasPrefix(whole, "-") {
		return engram.Time(seconds*1e9 - int64(ns)), true
	}
	return engram.Time(seconds*1e9 + int64(ns)), true
}

// value returns a literal for a value of a property: its own type where XML Schema has one,
// else JSON, which tells its kind.
func value(v any) (rdf.Term, bool) {
	switch v := v.(type) {
	case nil:
		return rdf.Term{}, false
	case string:
		return text(v), true
	case bool:
		return rdf.NewTyped(strconv.FormatBool(v), rdf.NSXSD+"boolean"), true
	case float64:
		return number(v), true
	case float32:
		return rdf.NewTyped(strconv.FormatFloat(float64(v), 'g', -1, 32), rdf.NSXSD+"float"), true
	case int64:
		return rdf.NewTyped(strconv.FormatInt(v, 10), rdf.NSXSD+"long"), true
	case int32:
		return rdf.NewTyped(strconv.FormatInt(int64(v), 10), rdf.NSXSD+"int"), true
	case int:
		return value(int64(v))
	case uint64:
		return rdf.NewTyped(strconv.FormatUint(v, 10), rdf.NSXSD+"unsignedLong"), true
	case engram.Time:
		return rdf.NewTyped(v.Std().UTC().Format(time.RFC3339Nano), rdf.NSXSD+"dateTime"), true
	case time.Duration:
		return rdf.NewTyped("PT"+decimal(int64(v))+"S", rdf.NSXSD+"dayTimeDuration"), true
	}
	b, err := idf.EncodeValue(v)
	if err == nil {
		b, err = valueType().JSON(b, idf.JSONOptions{SummarizeBytes: -1})
	}
	return rdf.NewTyped(string(b), rdf.NS+"JSON"), err == nil
}

var valueType = sync.OnceValue(func() *idf.Type {
	t, _ := idf.NewRegistry().Get(engram.ValueType) // which every registry has
	return t
})

// valueOf returns the value of a literal; its text if it has no other.
func valueOf(t rdf.Term) any {
	var err error
	var v any = t.Value
	switch strings.TrimPrefix(t.Type, rdf.NSXSD) {
	case "boolean":
		v, err = strconv.ParseBool(t.Value)
	case "double", "decimal":
		v, err = strconv.ParseFloat(t.Value, 64)
	case "float":
		var f float64
		f, err = strconv.ParseFloat(t.Value, 32)
		v = float32(f)
	case "long", "integer", "nonNegativeInteger", "positiveInteger", "unsignedLong":
		if v, err = strconv.ParseInt(t.Value, 10, 64); err != nil {
			v, err = strconv.ParseUint(t.Value, 10, 64)
		}
	case "int", "short", "byte":
		var i int64
		i, err = strconv.ParseInt(t.Value, 10, 32)
		v = int32(i)
	case "dateTime":
		var at time.Time
		at, err = time.Parse(time.RFC3339Nano, t.Value)
		v = engram.TimeOf(at)
	case "dayTimeDuration":
		if at, ok := parseDecimal(strings.TrimSuffix(strings.TrimPrefix(t.Value, "PT"), "S")); ok {
			return time.Duration(at)
		}
	case rdf.NS + "JSON":
		var b []byte
		if b, err = valueType().FromJSON([]byte(t.Value)); err == nil {
			v, err = idf.DecodeValue(b)
		}
	}
	if err != nil {
		return t.Value
	}
	return v
}
