package ingest

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/seed-301d4374/engram"
)

// Mapping says which recorded message goes where. The first rule that fits a
// message is taken; a message that none fits is skipped.
type Mapping struct {
	Rules []Rule `yaml:"rules"`
	// Default appends the default mapping's rules, so that a file need only say what
	// differs.
	Default bool `yaml:"default"`
}

// Rule sends the messages it fits to a core segment. Globs have * for any text,
// slashes included, and ? for one character.
type Rule struct {
	// Type is the message type, a glob: "sensor_msgs/Imu" (of ROS 1 or 2),
	// "foxglove.RawImage"; any of several. None fits every type.
	Type Texts `yaml:"type"`
	// Topic is a glob, or several. None fits every topic.
	Topic Texts `yaml:"topic"`
	// When lists, for fields of the message, the globs that their value must fit.
	When map[string]Texts `yaml:"when"`

	// Skip leaves the messages out.
	Skip bool `yaml:"skip"`
	// To is the core segment, "Memory/Segment"; {type} stands for the message type.
	// With {type} the segment is added when it does not exist, and the messages keep
	// their own type.
	To string `yaml:"to"`
	// As is the payload type, where it is not the core segment's; of several, the
	// first that the memory knows.
	As Texts `yaml:"as"`
	// Entity is the entity's name, with fields of the message in braces; {topic} is
	// the topic and the default.
	Entity string `yaml:"entity"`
	// Split names a field that is an array of messages: each element becomes an
	// entity update, and all other fields count from it.
	Split string `yaml:"split"`
	// Members says which field goes to which member of the payload, where their
	// names differ.
	Members map[string]Target `yaml:"members"`
	// Set gives members a value that the messages do not have.
	Set map[string]any `yaml:"set"`
	// Note says by what the rule chooses where that could be otherwise; it is told with each topic
	// that the rule takes, as [TopicReport.Chosen].
	Note string `yaml:"note"`

	sent string // the glob of [Mapping.Send], which topics must fit besides; "" is none
}

// Target is where a field goes.
type Target struct {
	To string `yaml:"to"`
	// Values translates an integer i to the i-th of them.
	Values []uint32 `yaml:"values"`
	// Convert rewrites a text; "image_format" turns ROS's descriptions of image
	// formats into "jpeg", "png" and the like.
	Convert string `yaml:"convert"`
}

// Texts is a text or a list of texts.
type Texts []string

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (t *Texts) UnmarshalYAML(b []byte) error {
	var one string
	if err := yaml.Unmarshal(b, &one); err == nil {
		*t = Texts{one}
		return nil
	}
	return yaml.Unmarshal(b, (*[]string)(t))
}

// UnmarshalYAML implements yaml.BytesUnmarshaler: a member's name, or all keys.
func (t *Target) UnmarshalYAML(b []byte) error {
	if err := yaml.Unmarshal(b, &t.To); err == nil {
		return nil
	}
	type plain Target
	return yaml.UnmarshalWithOptions(b, (*plain)(t), yaml.DisallowUnknownField())
}

//go:embed default.yaml
var defaultYAML []byte

var defaultMapping = sync.OnceValues(func() (*Mapping, error) { return parseRules("default.yaml", defaultYAML) })

// DefaultMapping returns the built-in mapping. It must not be changed.
func DefaultMapping() *Mapping {
	m, err := defaultMapping()
	if err != nil {
		panic(err) // it is part of the program
	}
	return m
}

// maxMapping is the largest mapping file read, in bytes.
const maxMapping = 1 << 20

// ParseMapping reads a mapping as YAML. The error is Invalid and names the line or
// the rule.
func ParseMapping(name string, b []byte) (*Mapping, error) {
	m, err := parseRules(name, b)
	if err == nil && m.Default {
		m.Rules = append(m.Rules, DefaultMapping().Rules...)
	}
	return m, err
}

func parseRules(name string, b []byte) (*Mapping, error) {
	m := &Mapping{}
	if len(b) > maxMapping {
		return nil, engram.Errorf(engram.Exhausted, name, "the mapping is %d bytes long; at most %d are allowed", len(b), maxMapping)
	}
	if err := yaml.UnmarshalWithOptions(b, m, yaml.DisallowUnknownField()); err != nil {
		return nil, engram.Errorf(engram.Invalid, name, "not a mapping: %s", yaml.FormatError(err, false, false))
	}
	for i := range m.Rules {
		if err := m.Rules[i].check(); err != nil {
			return nil, engram.Errorf(engram.Invalid, name, "rule %d: %w", i+1, err)
		}
	}
	return m, nil
}

// conversions are the text conversions by name.
var conversions = map[string]func([]byte) []byte{"image_format": imageFormat}

// Send returns a mapping like m that sends a topic, a glob, to a core segment, "Memory/Segment", before all
// else: as the rules of m send messages of the same types there whose topics are named otherwise, or
// by the names of their members. With {type} messages keep their type. The error is Invalid.
func (m *Mapping) Send(topic, to string) (*Mapping, error) {
	if topic == "" {
		return nil, engram.Errorf(engram.Invalid, "", "no topic is given")
	}
	out := &Mapping{Default: m.Default}
	for _, r := range m.Rules {
		if r.To != to || r.keepsType() || r.sent != "" {
			continue
		}
		if r.Note != "" { // else the topics are part of how messages are sent there
			r.Topic, r.Note = nil, ""
		}
		r.sent = topic
		out.Rules = append(out.Rules, r)
	}
	rest := Rule{To: to, sent: topic}
	if err := rest.check(); err != nil {
		return nil, err
	}
	out.Rules = append(append(out.Rules, rest), m.Rules...)
	return out, nil
}

// otherwise returns where messages go of the same type that the rule does not take because of their topic's
// name, or that it takes for that reason; "" if they go nowhere else. A rule for topics of any type says nothing of it.
func (m *Mapping) otherwise(rule *Rule, typ string) string {
	for i := range m.Rules {
		r := &m.Rules[i]
		if r.To != rule.To && !r.Skip && r.sent == "" && (len(r.Type) > 0 || len(r.Topic) == 0) && r.fitsType(typ) {
			return r.To
		}
	}
	return ""
}

func (r *Rule) check() error {
	bad := func(format string, args ...any) error { return engram.Errorf(engram.Invalid, "", format, args...) }
	if r.Skip {
		if r.To != "" {
			return bad("it both skips and has a target %q", r.To)
		}
		return nil
	}
	memory, segment, ok := strings.Cut(r.To, "/")
	if !ok || memory == "" || segment == "" {
		return bad(`"to" is %q; write the target as "Memory/CoreSegment"`, r.To)
	}
	if !r.keepsType() {
		if _, err := engram.Parse(r.To); err != nil || strings.Count(r.To, "/") != 1 {
			return bad(`"to" is %q; write the target as "Memory/CoreSegment"`, r.To)
		}
	} else if strings.Contains(memory, "{type}") || len(r.As) > 0 || len(r.Members) > 0 || len(r.Set) > 0 || r.Split != "" {
		return bad("with {type} the messages keep their type, so as, members, set and split have no meaning")
	}
	if _, err := parseTemplate(r.entity()); err != nil {
		return err
	}
	for _, from := range slices.Sorted(maps.Keys(r.Members)) {
		t := r.Members[from]
		if from == "" || t.To == "" {
			return bad("member %q has no target", from)
		}
		if _, ok := conversions[t.Convert]; t.Convert != "" && !ok {
			return bad("member %q: there is no conversion %q", from, t.Convert)
		}
	}
	return nil
}

// keepsType reports whether the messages keep their own type.
func (r *Rule) keepsType() bool { return strings.Contains(r.To, "{type}") }

func (r *Rule) entity() string {
	if r.Entity == "" {
		return "{topic}"
	}
	return r.Entity
}

// fits reports whether the rule is for messages of that type and topic.
func (r *Rule) fits(typ, topic string) bool {
	return r.fitsType(typ) && (len(r.Topic) == 0 || fitsTopic(r.Topic, topic)) && (r.sent == "" || fitsTopic(Texts{r.sent}, topic))
}

// fitsTopic reports whether one of the globs is for the topic. One without a slash before it is the same.
func fitsTopic(globs Texts, topic string) bool {
	return anyGlob(globs, topic) || anyGlob(globs, "/"+topic)
}

func (r *Rule) fitsType(typ string) bool {
	return len(r.Type) == 0 || anyGlob(r.Type, typ) || anyGlob(r.Type, shortType(typ))
}

// shortType returns a ROS 2 type name as ROS 1 has it, without the middle "msg".
func shortType(typ string) string {
	if dir, base := path.Split(typ); strings.HasSuffix(dir, "/msg/") {
		return strings.TrimSuffix(dir, "msg/") + base
	}
	return typ
}

func anyGlob(globs Texts, s string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob(g, s) })
}

// glob reports whether s fits a pattern of *, ? and literal characters, in time
// bounded by the product of the lengths.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// template is an entity's name with the fields that stand in it.
type template struct {
	literals []string // one more than fields
	fields   []string // "topic" or the path of a field
}

func parseTemplate(s string) (t template, err error) {
	for {
		before, rest, ok := strings.Cut(s, "{")
		t.literals = append(t.literals, before)
		if !ok {
			return t, nil
		}
		field, after, ok := strings.Cut(rest, "}")
		if !ok || field == "" {
			return t, engram.Errorf(engram.Invalid, "", "entity %q has an unclosed or empty brace", s)
		}
		t.fields = append(t.fields, field)
		s = after
	}
}

// imageFormat turns ROS's description of a compressed image, such as
// "rgb8; jpeg compressed bgr8", into the name of its format.
func imageFormat(s []byte) []byte {
	text := strings.ToLower(string(s))
	for _, f := range [...]struct{ word, name string }{{"jpeg", "jpeg"}, {"jpg", "jpeg"}, {"png", "png"}, {"webp", "webp"}, {"avif", "avif"}} {
		if strings.Contains(text, f.word) {
			return []byte(f.name)
		}
	}
	return s
}
