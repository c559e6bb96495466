package sense

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/policy/record"
	"github.com/seed-301d4374/engram/skill/condition"
)

// Segment is the core segment of rules, and RuleType the type of its payloads.
const (
	Segment  = "SystemState/Attention"
	RuleType = "engram.system_state.Attention"
)

// Rule says which snapshots of some entities go on to the memory. Its fields are those of the type
// engram.system_state.Attention.
type Rule struct {
	Description string
	Entities    string // pattern of the entities that it is about
	// Filter says which of them go on, by the settings record, max_rate and similar.… of the long-term
	// memory's policies: {"max_rate": "2 Hz"}. Nothing is all.
	Filter map[string]string
	// Region is the part of an image in which the filter's similar.image measures change: x, y, width and height, in shares
	// of the image if none is above 1, else in pixels; nothing is all of it.
	Region []float64
	// Object is the object in whose predicted place in the image change is measured, of Object/Instance. Camera is the
	// calibration of who takes the images; the root is that of the same provider and name as the entity.
	Object, Camera engram.ID
	// On and Where make each update of an entity, with an instance that satisfies the CEL expression, a trigger.
	On, Where string
	// While are clauses, as conditions of skills have them. With On a trigger counts only if all hold
	// then; without, the trigger is that they all come to hold, and it lasts while they do.
	While []string
	// Before and After are what goes on around a trigger. Without On and While the rule applies always.
	Before, After time.Duration
	Cooldown      time.Duration // after an incident, until a trigger makes another one
	Keep          bool          // the long-term memory keeps what lies in the window of an incident
	Disabled      bool
	Problem       string // what a producer lacks to follow it; told, not set
}

// Decode reads a rule from a decoded payload of [RuleType]. The error is TypeMismatch.
func Decode(v any) (*Rule, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, engram.Errorf(engram.TypeMismatch, "", "a rule of attention is an object, not a %T", v)
	}
	text := func(key string) string { s, _ := m[key].(string); return s }
	span := func(key string) time.Duration { d, _ := m[key].(time.Duration); return d }
	r := &Rule{
		Description: text("description"), Entities: text("entities"), On: text("on"), Where: text("where"),
		Before: span("before"), After: span("after"), Cooldown: span("cooldown"), Problem: text("problem"),
	}
	r.Keep, _ = m["keep"].(bool)
	r.Disabled, _ = m["disabled"].(bool)
	r.Object, _ = m["object"].(engram.ID)
	r.Camera, _ = m["camera"].(engram.ID)
	region, _ := m["region"].([]any)
	for _, v := range region {
		x, _ := v.(float64)
		r.Region = append(r.Region, x)
	}
	clauses, _ := m["while"].([]any)
	for _, c := range clauses {
		if s, ok := c.(string); ok {
			r.While = append(r.While, s)
		}
	}
	settings, _ := m["filter"].(map[string]any)
	for name, v := range settings {
		if r.Filter == nil {
			r.Filter = map[string]string{}
		}
		r.Filter[name], _ = v.(string)
	}
	return r, nil
}

// Value returns the rule as a value for a payload of [RuleType].
func (r *Rule) Value(now engram.Time) map[string]any {
	v := map[string]any{
		"timestamp": now, "description": r.Description, "entities": r.Entities, "on": r.On, "where": r.Where,
		"keep": r.Keep, "disabled": r.Disabled, "problem": r.Problem,
		"before": r.Before, "after": r.After, "cooldown": r.Cooldown,
	}
	clauses := make([]any, len(r.While))
	for i, s := range r.While {
		clauses[i] = s
	}
	settings := map[string]any{}
	for name, text := range r.Filter {
		settings[name] = text
	}
	region := make([]any, len(r.Region))
	for i, x := range r.Region {
		region[i] = x
	}
	v["while"], v["filter"], v["region"] = clauses, settings, region
	if r.Object != (engram.ID{}) {
		v["object"] = r.Object
	}
	if r.Camera != (engram.ID{}) {
		v["camera"] = r.Camera
	}
	return v
}

// Same reports whether two rules do the same.
func (r *Rule) Same(o *Rule) bool {
	return r.Entities == o.Entities && maps.Equal(r.Filter, o.Filter) && r.On == o.On && r.Where == o.Where &&
		slices.Equal(r.While, o.While) && r.Before == o.Before && r.After == o.After && r.Cooldown == o.Cooldown &&
		r.Keep == o.Keep && r.Disabled == o.Disabled && slices.Equal(r.Region, o.Region) && r.Object == o.Object && r.Camera == o.Camera
}

// Check returns an Invalid or OutOfRange error that names the member that is wrong.
func (r *Rule) Check() error {
	_, err := compile(r)
	return err
}

// compiled is a rule that can be followed.
type compiled struct {
	*Rule
	entities *engram.PatternMatcher
	policy   policy.Policy
	region   record.Region // that does not move
	on       engram.Pattern
	where    *idf.Filter // nil is any
	clauses  []*condition.Clause
}

// always reports whether the rule waits for nothing.
func (c *compiled) always() bool { return c.On == "" && len(c.While) == 0 }

func compile(r *Rule) (*compiled, error) {
	c := &compiled{Rule: r}
	about := func(member string, err error) error { return engram.Errorf(engram.CodeOf(err), member, "%w", err) }
	if r.Entities == "" {
		return nil, engram.Errorf(engram.Invalid, "entities", "a rule says which entities it is about, such as Vision/ImageRGB")
	}
	p, err := engram.ParsePattern(r.Entities)
	if err == nil {
		c.entities, err = p.Matcher()
	}
	if err != nil {
		return nil, about("entities", err)
	}
	if c.policy, err = readFilter(r.Filter); err != nil {
		return nil, about("filter", err)
	}
	if err := c.readRegion(); err != nil {
		return nil, err
	}
	if r.On != "" {
		if c.on, err = engram.ParsePattern(r.On); err == nil {
			_, err = c.on.Matcher()
		}
		if err != nil {
			return nil, about("on", err)
		}
	}
	switch {
	case r.Where != "" && r.On == "":
		return nil, engram.Errorf(engram.Invalid, "where", "it is about updates of entities, which on names")
	case r.Where != "":
		if c.where, err = idf.CompileFilter(r.Where); err != nil {
			return nil, about("where", err)
		}
	}
	for _, text := range r.While {
		clause, err := condition.ParseClause(text)
		if err != nil {
			return nil, about("while", err)
		}
		c.clauses = append(c.clauses, clause)
	}
	for _, d := range []struct {
		member string
		span   time.Duration
	}{{"before", r.Before}, {"after", r.After}, {"cooldown", r.Cooldown}} {
		switch {
		case d.span < 0 || d.span > maxSpan:
			return nil, engram.Errorf(engram.OutOfRange, d.member, "%s: from 0 to %s", d.span, maxSpan)
		case d.span > 0 && c.always():
			return nil, engram.Errorf(engram.Invalid, d.member, "it is about a trigger; say with on or while what that is")
		}
	}
	if r.Keep && c.always() {
		return nil, engram.Errorf(engram.Invalid, "keep", "what is kept lies around a trigger; say with on or while what that is")
	}
	return c, nil
}

// readRegion reads where in images change counts.
func (c *compiled) readRegion() error {
	r := c.Rule
	placed := r.Object != (engram.ID{})
	switch {
	case !placed && r.Camera != (engram.ID{}):
		return engram.Errorf(engram.Invalid, "camera", "it sees an object, which object names")
	case !placed && len(r.Region) == 0:
		return nil
	case placed && len(r.Region) > 0:
		return engram.Errorf(engram.Invalid, "region", "it is where object is; give one of them")
	case c.policy.Similar.Image == 0 || c.policy.Mode() != policy.Change:
		member := "region"
		if placed {
			member = "object"
		}
		return engram.Errorf(engram.Invalid, member, `change is measured there; say in filter how much of it counts, such as "similar.image": "3"`)
	}
	if placed {
		for member, at := range map[string]struct {
			engram.ID
			segment string
		}{"object": {r.Object, "Object/Instance"}, "camera": {r.Camera, "Vision/Calibration"}} {
			if of := at.Memory() + "/" + at.CoreSegment(); at.ID != (engram.ID{}) && (at.Level() != engram.LevelEntity || of != at.segment) {
				return engram.Errorf(engram.Invalid, member, "%s is no entity of %s", at.ID, at.segment)
			}
		}
		return nil
	}
	if len(r.Region) != 4 {
		return engram.Errorf(engram.Invalid, "region", "%d numbers; it has 4: x, y, width and height", len(r.Region))
	}
	for i, x := range r.Region {
		if !(x >= 0) || x > 1<<20 || i >= 2 && x == 0 {
			return engram.Errorf(engram.OutOfRange, "region", "%v: x, y, width and height are at least 0, and width and height more; up to 1 they are shares of the image, else pixels", r.Region)
		}
	}
	c.region = record.Region{X: r.Region[0], Y: r.Region[1], Width: r.Region[2], Height: r.Region[3], Pixels: slices.Max(r.Region) > 1}
	if !c.region.Pixels && (c.region.X+c.region.Width > 1+1e-9 || c.region.Y+c.region.Height > 1+1e-9) {
		return engram.Errorf(engram.OutOfRange, "region", "%v: it goes beyond the image, which ends at 1", r.Region)
	}
	return nil
}

// maxSpan bounds the durations of rules.
const maxSpan = 24 * time.Hour

// readFilter returns the policy that settings make: in mode change if something is compared.
func readFilter(settings map[string]string) (p policy.Policy, err error) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if name != "record" && name != "max_rate" && !strings.HasPrefix(name, "similar.") {
			return p, engram.Errorf(engram.Invalid, name, "a filter has the settings record, max_rate and similar.…")
		}
		if err := p.Set(name, settings[name]); err != nil {
			return p, err
		}
	}
	similar := p.Similar
	similar.AtLeast = 0
	switch {
	case p.Record == policy.Linked:
		return p, engram.Errorf(engram.Invalid, "record", "a sensor does not know of links; there are all, rate, change and never")
	case p.Record == "" && similar != policy.Similarity{}:
		p.Record = policy.Change
	}
	p.Record = cmp.Or(p.Record, policy.All)
	return p, p.Validate()
}
