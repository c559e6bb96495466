package skill

import (
	"context"
	"math"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// Condition is a standing condition: when it is fulfilled the memory asks for a skill. It is an entity of Skill/Condition.
type Condition struct {
	ID    engram.ID // Skill/Condition/WHO/NAME
	Skill engram.ID
	condition.Condition
	Parameters map[string]any
	// FromUpdate are parameters that are taken from the update: a member of it by its path, or one of [condition.Entity],
	// [condition.Snapshot] and [condition.Name].
	FromUpdate map[string]string
	Priority   *int           // nil is the skill's
	Patience   *time.Duration // how long what it asks for may wait to be called; nil is [DefaultPatience], 0 is for ever
	TimeLimit  *time.Duration // nil is the skill's
	Disabled   bool
	Trouble    string // why the memory disabled it
}

// When is a condition in texts. Where they are empty, [condition.Condition] says what holds.
type When struct {
	Skill string // PROVIDER/NAME
	// On is the pattern of entities for each of which it is fulfilled by itself, such as Object/Instance/*/cup, and Where a CEL
	// expression over their updates.
	On, Where  string
	All        []condition.Term
	Trigger    condition.Trigger
	Hold       time.Duration
	Pause      time.Duration
	OncePer    string
	Parameters map[string]any
	FromUpdate map[string]string
	Priority   *int
	Patience   *time.Duration
	TimeLimit  *time.Duration
	Disabled   bool
}

// SetCondition adds or replaces a condition: from now on the memory asks for the skill when it is fulfilled, until the condition is
// disabled, whoever comes and goes. Who is who wants that. The error is Invalid or Exhausted for a condition that cannot be,
// NotFound for a skill that nobody offers.
func (s *Skills) SetCondition(ctx context.Context, who, name string, w When) error {
	c := Condition{
		Condition:  condition.Condition{Where: w.Where, All: w.All, Trigger: w.Trigger, Hold: w.Hold, Pause: w.Pause, OncePer: w.OncePer},
		Parameters: w.Parameters, FromUpdate: w.FromUpdate, Priority: w.Priority, Patience: w.Patience, TimeLimit: w.TimeLimit, Disabled: w.Disabled,
	}
	var err error
	if c.Skill, err = skillOf(w.Skill); err != nil {
		return err
	}
	if w.On != "" {
		if c.On, err = engram.ParsePattern(w.On); err != nil {
			return err
		}
	}
	if c.ID, err = engram.NewID("Skill", "Condition", who, name); err != nil {
		return err
	}
	u, err := s.codec.ConditionUpdate(&c, engram.Now())
	return s.commit(ctx, u, err)
}

// EnableCondition has a condition be looked at, or not until it is enabled again. NotFound if it is not there.
func (s *Skills) EnableCondition(ctx context.Context, id engram.ID, on bool) error {
	last, err := s.svc.Latest(ctx, id)
	if err != nil {
		return err
	}
	c, err := s.codec.Condition(id, last.Instances)
	if err != nil {
		return err
	}
	c.Disabled, c.Trouble = !on, ""
	u, err := s.codec.ConditionUpdate(c, engram.Now())
	return s.commit(ctx, u, err)
}

// Conditions returns the conditions that there are, by their IDs.
func (s *Skills) Conditions(ctx context.Context) ([]*Condition, error) {
	r, err := s.svc.Query(ctx, engram.MustPattern("Skill/Condition").Select(engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	var all []*Condition
	for item := range r.All() {
		if c, err := s.codec.Condition(item.ID.Truncate(engram.LevelEntity), item.Instances); err == nil {
			all = append(all, c)
		}
	}
	return all, nil
}

// terms reads terms.
func terms(list any) (all []condition.Term, err error) {
	values, _ := list.([]any)
	for _, v := range values {
		m := members(asDict(v))
		t := condition.Term{Text: m.text("text"), Where: m.text("where"), None: m.is("none"), Within: m.span("within"), NearTo: m.text("near_to"), Lasting: m.is("lasting")}
		t.Near, _ = m["near"].(float64)
		if t.Of, err = engram.ParsePattern(m.text("of")); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func asDict(v any) map[string]any { m, _ := v.(map[string]any); return m }

// termsOf writes terms.
func termsOf(all []condition.Term) []any {
	list := make([]any, 0, len(all))
	for _, t := range all {
		m := map[string]any{"text": t.Text, "of": t.Of.String(), "where": t.Where, "none": t.None, "near_to": t.NearTo, "lasting": t.Lasting}
		if t.Within > 0 {
			m["within"] = t.Within
		}
		if t.Near > 0 {
			m["near"] = t.Near
		}
		list = append(list, m)
	}
	return list
}

// Condition reads a condition.
func (c *Codec) Condition(entity engram.ID, all []engram.Instance) (*Condition, error) {
	m, err := c.decode(typeCondition, all, entity)
	if err != nil {
		return nil, err
	}
	r := &Condition{
		ID: entity, Skill: m.link("skill").Truncate(engram.LevelEntity), Parameters: m.dict("parameters"), Disabled: m.is("disabled"), Trouble: m.text("trouble"),
		Condition: condition.Condition{Where: m.text("where"), Trigger: condition.Trigger(m.key("trigger")), Hold: m.span("hold"), Pause: m.span("pause"), OncePer: m.text("once_per")},
	}
	if text := m.text("on"); text != "" {
		if r.On, err = engram.ParsePattern(text); err != nil {
			return nil, err
		}
	}
	if r.All, err = terms(m["all"]); err != nil {
		return nil, err
	}
	r.FromUpdate = m.textDict("from_update")
	r.Priority, r.Patience, r.TimeLimit = m.bounds()
	return r, nil
}

// bounds reads what requests and conditions say of executions.
func (m members) bounds() (priority *int, patience, limit *time.Duration) {
	if _, given := m["priority"]; given {
		n := int(m.number("priority"))
		priority = &n
	}
	if d, given := m["patience"].(time.Duration); given {
		patience = &d
	}
	if d, given := m["time_limit"].(time.Duration); given {
		limit = &d
	}
	return priority, patience, limit
}

// setBounds writes what requests and conditions say of executions.
func (m members) setBounds(of engram.ID, priority *int, patience, limit *time.Duration) error {
	if priority != nil {
		if int(int32(*priority)) != *priority {
			return engram.Errorf(engram.Invalid, of.String(), "a priority of %d: from %d to %d", *priority, math.MinInt32, math.MaxInt32)
		}
		m["priority"] = int32(*priority)
	}
	if patience != nil {
		m["patience"] = *patience
	}
	if limit != nil {
		m["time_limit"] = *limit
	}
	return nil
}

// ConditionUpdate writes a condition.
func (c *Codec) ConditionUpdate(r *Condition, at engram.Time) (engram.EntityUpdate, error) {
	m := members{
		"skill": r.Skill, "where": r.Where, "all": termsOf(r.All), "trigger": idf.Enum{Number: int32(r.Trigger)}, "once_per": r.OncePer,
		"disabled": r.Disabled, "trouble": r.Trouble, "from_update": dictOf(r.FromUpdate),
	}
	if len(r.On.Levels) > 0 {
		m["on"] = r.On.String()
	}
	if r.Hold != 0 {
		m["hold"] = r.Hold
	}
	if r.Pause != 0 {
		m["pause"] = r.Pause
	}
	if r.Parameters != nil {
		m["parameters"] = r.Parameters
	}
	if err := m.setBounds(r.ID, r.Priority, r.Patience, r.TimeLimit); err != nil {
		return engram.EntityUpdate{}, err
	}
	return c.encode(typeCondition, r.ID, at, m)
}
