package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/internal/yamldoc"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// Bounds of a file.
const (
	MaxFile  = 1 << 20 // bytes
	MaxSteps = 10_000
	maxTold  = 20      // mistakes
	maxNodes = 200_000 // of values, when aliases are followed
)

// Provider is a provider as a file has it.
type Provider struct {
	Name   string
	Lease  time.Duration // 0 is that of [skill.ProvideOptions]
	skills []*scripted
}

// scripted is a skill as a file has it.
type scripted struct {
	skill.Description // without its ID
	name              string
	at                place // of its name
	stopping          time.Duration
	steps             []step
	calls             [][]step // what it does besides the first time, the second time …

	called atomic.Int64 // how often
}

// Read reads the providers of a file, in the order of their names. The error is Invalid, or Exhausted for a file that is too
// large; it has all mistakes, joined, up to a bound, and each names the file, the line and the key.
func Read(file string, text []byte) ([]*Provider, error) {
	if len(text) > MaxFile {
		return nil, engram.Errorf(engram.Exhausted, file, "the file has more than %d bytes; write several", MaxFile)
	}
	body, err := yamldoc.Parse(text)
	if err != nil {
		if line, message := yamldoc.Syntax(err); line > 0 {
			return nil, place{file, line}.errorf(engram.Invalid, "the YAML cannot be parsed: %s", message)
		}
		return nil, engram.Errorf(engram.Invalid, file, "%w", err)
	}
	r := &reader{file: file, values: yamldoc.NewValues(maxNodes)}
	top := r.mapping(body, "a file of providers", "providers")
	var all []*Provider
	if providers := top.required("providers"); providers != nil {
		r.each(providers, "providers", func(name string, key, n ast.Node) { all = append(all, r.provider(name, key, n)) })
	}
	if len(r.wrong) > 0 {
		return nil, errors.Join(r.wrong...)
	}
	slices.SortFunc(all, func(a, b *Provider) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// reader reads one file.
type reader struct {
	file   string
	values *yamldoc.Values
	steps  int
	wrong  []error
}

// place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) errorf(code engram.Code, format string, args ...any) *engram.Error {
	return engram.Errorf(code, p.file, "line %d: %w", p.line, fmt.Errorf(format, args...))
}

// at returns the place of a node.
func (r *reader) at(n ast.Node) place {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	return place{r.file, max(yamldoc.Line(n), 1)}
}

// fail notes a mistake.
func (r *reader) fail(n ast.Node, format string, args ...any) {
	if len(r.wrong) < maxTold {
		r.wrong = append(r.wrong, r.at(n).errorf(engram.Invalid, format, args...))
	}
}

// each calls do with the members of a mapping, which must have one.
func (r *reader) each(n ast.Node, what string, do func(name string, key, value ast.Node)) {
	pairs, ok := r.pairs(n, what)
	for _, kv := range pairs {
		if name, ok := scalar(kv.Key); ok {
			do(name, kv.Key, kv.Value)
		} else {
			r.fail(kv.Key, "%s: a name is expected, not %s", what, kind(kv.Key))
		}
	}
	if ok && len(pairs) == 0 {
		r.fail(n, "%s: there are none", what)
	}
}

// pairs returns the members of a mapping, and false if it is none. Nothing is an empty one.
func (r *reader) pairs(n ast.Node, what string) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "%s: a mapping is expected, not %s", what, kind(n))
		return nil, false
	}
	first := map[string]int{}
	for _, kv := range pairs {
		key := kv.Key.String()
		if line, twice := first[key]; twice {
			r.fail(kv.Key, "%s: %q stands twice, first on line %d", what, key, line)
		}
		first[key] = r.at(kv.Key).line
	}
	return pairs, true
}

// kind says what a node is.
func kind(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.AliasNode, *ast.AnchorNode:
		return "an anchor or alias, which may stand in values only"
	case ast.ScalarNode:
		return fmt.Sprintf("%.60q", n.GetToken().Value)
	}
	return "a " + strings.ToLower(n.Type().String())
}

// fields are the members of a mapping whose keys are known.
type fields struct {
	*reader
	n      ast.Node // the mapping
	of     string   // what it is, for messages
	at     map[string]ast.Node
	keys   map[string]ast.Node
	broken bool // it is no mapping, or has other keys, which is told
}

// mapping reads a mapping, whose keys are known.
func (r *reader) mapping(n ast.Node, of string, known ...string) *fields {
	f := &fields{reader: r, n: n, of: of, at: map[string]ast.Node{}, keys: map[string]ast.Node{}}
	pairs, ok := r.pairs(n, of)
	f.broken = !ok
	for _, kv := range pairs {
		key, _ := scalar(kv.Key)
		if !slices.Contains(known, key) {
			hint := "it has " + strings.Join(known, ", ")
			if near := spelling.Nearest(key, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.fail(kv.Key, "%s: unknown key %.60q; %s", of, key, hint)
			f.broken = true
			continue
		}
		f.at[key], f.keys[key] = kv.Value, kv.Key
	}
	return f
}

// required returns a member that must be there.
func (f *fields) required(key string) ast.Node {
	n, given := f.at[key]
	if !given && !f.broken {
		f.fail(f.n, "%s: %s is missing", f.of, key)
	}
	return n
}

func (f *fields) has(key string) bool { _, given := f.keys[key]; return given }

// wrongf notes what is wrong with a member.
func (f *fields) wrongf(key, format string, args ...any) {
	f.fail(f.keys[key], "%s: %s: %w", f.of, key, fmt.Errorf(format, args...))
}

// scalar returns a scalar as text, and false if a node is none.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.MappingKeyNode:
		return scalar(n.Value)
	}
	return "", false
}

// text returns a member that is a text, "" if it is not there.
func (f *fields) text(key string) string {
	if !f.has(key) {
		return ""
	}
	text, ok := scalar(f.at[key])
	if !ok {
		f.wrongf(key, "a text is expected, not %s", kind(f.at[key]))
	}
	return text
}

// duration returns a member that is a span of time, 0 if it is not there.
func (f *fields) duration(key string) time.Duration {
	if !f.has(key) {
		return 0
	}
	text, _ := scalar(f.at[key])
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		f.wrongf(key, "%s is no span of time; write one such as 300ms, 2s or 1m", kind(f.at[key]))
	}
	return d
}

// flag returns a member that is true or false.
func (f *fields) flag(key string) bool {
	if !f.has(key) {
		return false
	}
	b, ok := f.at[key].(*ast.BoolNode)
	if !ok {
		f.wrongf(key, "true or false is expected, not %s", kind(f.at[key]))
		return false
	}
	return b.Value
}

// integer returns a member that is a whole number.
func (f *fields) integer(key string) int {
	v, _ := f.value(key).(int64)
	if f.has(key) && f.at[key].Type() != ast.IntegerType || v != int64(int32(v)) {
		f.wrongf(key, "a whole number is expected, not %s", kind(f.at[key]))
		return 0
	}
	return int(v)
}

// texts returns a member that is a text or a list of texts.
func (f *fields) texts(key string) (all []string) {
	if !f.has(key) {
		return nil
	}
	list, ok := f.at[key].(*ast.SequenceNode)
	if !ok {
		return []string{f.text(key)}
	}
	for _, n := range list.Values {
		text, ok := scalar(n)
		if !ok {
			f.wrongf(key, "texts are expected, not %s", kind(n))
		}
		all = append(all, text)
	}
	return all
}

// value returns a member's value, in which texts may name parameters.
func (f *fields) value(key string) any {
	if !f.has(key) {
		return nil
	}
	v, err := f.values.Of(f.at[key])
	if err == nil {
		v, err = plain(v)
	}
	if err != nil {
		f.wrongf(key, "%w", err)
	}
	return v
}

// dict returns a member that is a mapping of values.
func (f *fields) dict(key string) map[string]any {
	v := f.value(key)
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		f.wrongf(key, "a mapping is expected, not %s", kind(f.at[key]))
	}
	return m
}

// list returns the items of a member that is a list.
func (f *fields) list(key string) []ast.Node {
	if !f.has(key) {
		return nil
	}
	list, ok := f.at[key].(*ast.SequenceNode)
	if !ok {
		f.wrongf(key, "a list is expected, not %s", kind(f.at[key]))
		return nil
	}
	return append([]ast.Node{}, list.Values...)
}

func (r *reader) provider(name string, key, n ast.Node) *Provider {
	if _, err := engram.NewID("Skill", "Provider", name, name); err != nil {
		r.fail(key, "%w", err)
	}
	f := r.mapping(n, "the provider "+name, "lease", "skills")
	p := &Provider{Name: name, Lease: f.duration("lease")}
	if skills := f.required("skills"); skills != nil {
		r.each(skills, "skills of "+name, func(skill string, key, n ast.Node) {
			p.skills = append(p.skills, r.skill(name, skill, key, n))
		})
	}
	longest := skill.DefaultStopWithin
	for _, s := range p.skills {
		longest = max(longest, s.StopWithin)
	}
	if p.Lease != 0 && (p.Lease < skill.ShortestLease || p.Lease > skill.LongestLease || p.Lease < 2*longest) {
		f.wrongf("lease", "%v: from %v to %v, and at least twice as long as stopping may take, %v", p.Lease, skill.ShortestLease, skill.LongestLease, longest)
	}
	return p
}

// skill reads a skill.
func (r *reader) skill(provider, name string, key, n ast.Node) *scripted {
	if _, err := engram.NewID("Skill", "Description", provider, name); err != nil {
		r.fail(key, "%w", err)
	}
	f := r.mapping(n, "the skill "+name, "text", "parameter_type", "result_type", "defaults", "time_limit", "resources", "subskills", "priority",
		"stop_within", "preemptible", "repeatable", "requires", "resolves", "stopping", "steps", "calls")
	s := &scripted{name: name, at: r.at(key), stopping: f.duration("stopping"), Description: skill.Description{
		Text: f.text("text"), ParameterType: f.text("parameter_type"), ResultType: f.text("result_type"), Defaults: f.dict("defaults"),
		TimeLimit: f.duration("time_limit"), Resources: f.texts("resources"), Priority: f.integer("priority"), StopWithin: f.duration("stop_within"),
		Preemptible: f.flag("preemptible"), Repeatable: f.flag("repeatable"),
	}}
	for _, name := range parametersIn(s.Defaults) {
		f.wrongf("defaults", "$%s: a default names no other parameter; write $$ for a dollar sign", name)
	}
	if s.Defaults != nil {
		s.Defaults, _ = filled(s.Defaults, nil).(map[string]any)
	}
	for _, text := range f.texts("subskills") {
		id, err := skillID(text)
		if err != nil {
			f.wrongf("subskills", "%w", err)
		}
		s.Subskills = append(s.Subskills, id)
	}
	for _, text := range f.texts("requires") {
		rest, lasting := strings.CutPrefix(text, "lasting ")
		term, err := condition.ParseTerm(rest)
		if err != nil {
			f.wrongf("requires", "%w", err)
		}
		term.Lasting = lasting
		s.Requires = append(s.Requires, term)
	}
	for parameter, v := range f.dict("resolves") {
		pattern, ok := v.(string)
		if _, err := engram.ParsePattern(pattern); !ok || err != nil {
			f.wrongf("resolves", "%s: the pattern of the entities that it may name, such as Navigation/Location", parameter)
		}
		if s.Resolves == nil {
			s.Resolves = map[string]string{}
		}
		s.Resolves[parameter] = pattern
	}
	s.steps = r.stepList(f.list("steps"), 0)
	calls := f.list("calls")
	for _, n := range calls {
		if list, ok := n.(*ast.SequenceNode); ok {
			s.calls = append(s.calls, r.stepList(list.Values, 0))
		} else {
			s.calls = append(s.calls, r.stepList([]ast.Node{n}, 0))
		}
	}
	if calls != nil && len(calls) == 0 {
		f.wrongf("calls", "what is done at the first call is missing; [] is nothing")
	}
	return s
}

// skillID reads a skill as PROVIDER/NAME.
func skillID(text string) (engram.ID, error) {
	id, err := engram.Parse("Skill/Description/" + strings.TrimPrefix(text, "Skill/Description/"))
	if err == nil && id.Level() != engram.LevelEntity {
		err = fmt.Errorf("%.60q: name a skill as PROVIDER/NAME, such as Arm/Wave", text)
	}
	return id, err
}

// Names returns the names of the provider's skills, sorted.
func (p *Provider) Names() []string {
	names := map[string]bool{}
	for _, s := range p.skills {
		names[s.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
