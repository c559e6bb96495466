// Package condition is about standing queries that run skills: a [Condition] says what is waited
// for, what else must hold then, and which skill is run with what. Its text is one line:
//
//	on Object/Instance/*/~cup.* where confidence > 0.8
//	    while some Hand/State where width > 0.05 and none Human/Pose within 1 m of robot
//	    run Grasp with object=$entity once per entity
//
// An [Engine] decides: it is told of updates and asks what holds at present through a [Present], and
// says which requests are to be made. It has no server, no clock and no goroutine. Package memories
// runs one in the memory Skill.
package condition

import (
	"cmp"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Condition is a standing query that runs a skill. Its fields are those of the type
// engram.skill.Condition.
type Condition struct {
	Description string
	On          string   // pattern of the entities that are waited for; each is a thing of its own
	Where       string   // CEL over the update's instances; "" is any
	While       []string // clauses, all of which must hold at present; see [ParseClause]
	Trigger     Trigger
	Debounce    time.Duration
	OncePer     string // "", "entity" or a member's path
	Skill       string
	Parameters  map[string]any
	Priority    *int32
	Enabled     bool
	By          string
	Stopped     string // why the memory disabled it
	Problem     string // why the skill could not be asked for last
	Since       engram.Time
	Removed     bool
}

// Trigger says when a condition runs its skill.
type Trigger string

// The triggers of conditions.
const (
	Edge   Trigger = "edge"   // when all comes to hold for a thing
	Level  Trigger = "level"  // again and again while all holds for a thing
	Update Trigger = "update" // on each update on which all holds
)

// OnceEntity has a condition run its skill once for each entity.
const OnceEntity = "entity"

// defaultLevelDebounce is the least time between two executions of a level.
const defaultLevelDebounce = time.Second

// TypeName is the full name of the type of conditions.
const TypeName = "engram.skill.Condition"

// Segment is the core segment of conditions.
const Segment = "Skill/Condition"

// Decode reads a condition from a decoded payload of [TypeName].
func Decode(v any) (*Condition, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, engram.Errorf(engram.TypeMismatch, "", "a condition is an object, not a %T", v)
	}
	text := func(key string) string { s, _ := m[key].(string); return s }
	c := &Condition{
		Description: text("description"), On: text("on"), Where: text("where"), Trigger: Trigger(text("trigger")),
		OncePer: text("once_per"), Skill: text("skill"), By: text("by"), Stopped: text("stopped"), Problem: text("problem"),
	}
	c.Enabled, _ = m["enabled"].(bool)
	c.Removed, _ = m["removed"].(bool)
	c.Debounce, _ = m["debounce"].(time.Duration)
	c.Since, _ = m["since"].(engram.Time)
	clauses, _ := m["while"].([]any)
	for _, clause := range clauses {
		if s, ok := clause.(string); ok {
			c.While = append(c.While, s)
		}
	}
	if p, ok := m["priority"].(int32); ok {
		c.Priority = &p
	}
	switch p := m["parameters"].(type) {
	case nil:
	case map[string]any:
		c.Parameters = p
	default:
		return nil, engram.Errorf(engram.TypeMismatch, "parameters", "parameters are a dict, not a %T", p)
	}
	return c, nil
}

// Value returns the condition as a value for a payload of [TypeName].
func (c *Condition) Value(now engram.Time) map[string]any {
	clauses := make([]any, len(c.While))
	for i, s := range c.While {
		clauses[i] = s
	}
	v := map[string]any{
		"timestamp": now, "description": c.Description, "on": c.On, "where": c.Where, "while": clauses,
		"trigger": string(cmp.Or(c.Trigger, Edge)), "once_per": c.OncePer, "skill": c.Skill, "enabled": c.Enabled,
		"by": c.By, "stopped": c.Stopped, "problem": c.Problem,
	}
	if c.Debounce != 0 {
		v["debounce"] = c.Debounce
	}
	if c.Parameters != nil {
		v["parameters"] = c.Parameters
	}
	if c.Priority != nil {
		v["priority"] = *c.Priority
	}
	if c.Since != 0 {
		v["since"] = c.Since
	}
	if c.Removed {
		v["removed"] = true
	}
	return v
}

// Same reports whether two conditions ask for the same and do the same.
func (c *Condition) Same(o *Condition) bool { return c.definition() == o.definition() }

// definition is the text of all that makes a condition behave as it does.
func (c *Condition) definition() string {
	state := "disabled"
	if c.Enabled && !c.Removed {
		state = "enabled"
	}
	return c.String() + "\x00" + state + "\x00" + c.Since.String()
}

// Check returns an Invalid error that names what is wrong with a condition.
func (c *Condition) Check() error {
	_, err := compile(c)
	return err
}

// rule is a compiled condition.
type rule struct {
	*Condition
	on      *engram.PatternMatcher
	pattern engram.Pattern
	where   *idf.Filter // nil is any
	clauses []*Clause
}

func compile(c *Condition) (*rule, error) {
	r := &rule{Condition: c}
	var err error
	if c.On == "" {
		return nil, engram.Errorf(engram.Invalid, "on", "a condition says what it waits for, such as Object/Instance/*/~cup.*")
	}
	if r.pattern, err = engram.ParsePattern(c.On); err == nil {
		r.on, err = r.pattern.Matcher()
	}
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), "on", "%w", err)
	}
	if c.Where != "" {
		if r.where, err = idf.CompileFilter(c.Where); err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), "where", "%w", err)
		}
	}
	for _, text := range c.While {
		clause, err := ParseClause(text)
		if err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), "while", "%w", err)
		}
		r.clauses = append(r.clauses, clause)
	}
	switch c.Trigger {
	case "", Edge, Level, Update:
	default:
		return nil, engram.Errorf(engram.Invalid, "trigger", "there is no trigger %q; there are edge, level and update", string(c.Trigger))
	}
	if c.Debounce < 0 {
		return nil, engram.Errorf(engram.Invalid, "debounce", "%s is less than nothing", c.Debounce)
	}
	if c.OncePer != "" && c.OncePer != OnceEntity {
		if err := idf.CheckPath(c.OncePer); err != nil {
			return nil, engram.Errorf(engram.Invalid, "once_per", "%w", err)
		}
	}
	if c.Skill == "" {
		return nil, engram.Errorf(engram.Invalid, "skill", "a condition says which skill it runs")
	}
	if err := checkParameters("parameters", c.Parameters); err != nil {
		return nil, err
	}
	return r, nil
}

// quiet is how long the condition is quiet about a thing.
func (r *rule) quiet() time.Duration {
	if r.Trigger == Level {
		return cmp.Or(r.Debounce, defaultLevelDebounce)
	}
	return r.Debounce
}

// requestName returns the name of a request that a condition makes.
func requestName(parts ...string) string { return strings.Join(parts, ".") }
