package skill

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Codec turns what this package is about into payloads and back. Safe for concurrent use.
type Codec struct {
	types map[string]*idf.Type
}

// The names of types behind engram.skill.
const (
	typeDescription = "engram.skill.Description"
	typeRequest     = "engram.skill.Request"
	typeAbort       = "engram.skill.Abort"
	typeExecution   = "engram.skill.Execution"
	typeProvider    = "engram.skill.Provider"
	typeSwitch      = "engram.skill.Switch"
	typeCondition   = "engram.skill.Condition"
	typeCaller      = "engram.skill.Caller"
)

// NewCodec returns a codec with the types of a memory.
func NewCodec(ctx context.Context, types interface {
	Type(ctx context.Context, name string) (engram.TypeDef, error)
}) (*Codec, error) {
	c := &Codec{types: map[string]*idf.Type{}}
	for _, name := range []string{typeDescription, typeRequest, typeAbort, typeExecution, typeProvider, typeSwitch, typeCondition, typeCaller} {
		def, err := types.Type(ctx, name)
		if err != nil {
			return nil, err
		}
		if c.types[name], err = idf.ParseType(def); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// members are a payload's.
type members map[string]any

func (m members) text(name string) string         { v, _ := m[name].(string); return v }
func (m members) link(name string) engram.ID      { v, _ := m[name].(engram.ID); return v }
func (m members) time(name string) engram.Time    { v, _ := m[name].(engram.Time); return v }
func (m members) span(name string) time.Duration  { v, _ := m[name].(time.Duration); return v }
func (m members) is(name string) bool             { v, _ := m[name].(bool); return v }
func (m members) dict(name string) map[string]any { v, _ := m[name].(map[string]any); return v }

// textDict reads a dict of texts; nil if it is empty.
func (m members) textDict(name string) map[string]string {
	var all map[string]string
	for key, v := range m.dict(name) {
		if text, ok := v.(string); ok {
			if all == nil {
				all = map[string]string{}
			}
			all[key] = text
		}
	}
	return all
}

// dictOf writes a dict of texts.
func dictOf(texts map[string]string) map[string]any {
	all := map[string]any{}
	for key, text := range texts {
		all[key] = text
	}
	return all
}

func (m members) links(name string) (all []engram.ID) {
	list, _ := m[name].([]any)
	for _, v := range list {
		if id, ok := v.(engram.ID); ok {
			all = append(all, id)
		}
	}
	return all
}

func (m members) texts(name string) (all []string) {
	list, _ := m[name].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok && s != "" {
			all = append(all, s)
		}
	}
	return all
}

func (m members) number(name string) int64 {
	switch v := m[name].(type) {
	case int32:
		return int64(v)
	case int64:
		return v
	}
	return 0
}

func (m members) key(name string) int32 {
	e, _ := m[name].(idf.Enum)
	return e.Number
}

// set sets members that have a value.
func (m members) setLink(name string, id engram.ID) {
	if !id.IsRoot() {
		m[name] = id
	}
}

func linksOf(ids []engram.ID) []any {
	all := make([]any, 0, len(ids))
	for _, id := range ids {
		all = append(all, id)
	}
	return all
}

func textsOf(texts []string) []any {
	all := make([]any, 0, len(texts))
	for _, t := range texts {
		all = append(all, t)
	}
	return all
}

// decode reads a snapshot: the only instance, or of an execution or a description the first.
func (c *Codec) decode(name string, all []engram.Instance, of engram.ID) (members, error) {
	if len(all) == 0 || len(all) > 1 && name != typeExecution && name != typeDescription {
		return nil, engram.Errorf(engram.Invalid, of.String(), "one instance is expected, not %d", len(all))
	}
	v, err := c.types[name].Decode(all[0].Payload.Bytes)
	if err != nil {
		return nil, err
	}
	m, _ := v.(map[string]any)
	return m, nil
}

// encode makes an update of what was true at a time.
func (c *Codec) encode(name string, entity engram.ID, at engram.Time, m members) (engram.EntityUpdate, error) {
	if name != typeDescription {
		m["timestamp"] = at
	}
	b, err := c.types[name].Encode(map[string]any(m))
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	return engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: name, Bytes: b})}}, nil
}

// Description reads a description.
func (c *Codec) Description(entity engram.ID, all []engram.Instance) (*Description, error) {
	m, err := c.decode(typeDescription, all, entity)
	if err != nil {
		return nil, err
	}
	requires, err := terms(m["requires"])
	if err != nil {
		return nil, err
	}
	return &Description{
		ID: entity, Requires: requires, Resolves: m.textDict("resolves"), Text: m.text("description"), ParameterType: m.text("parameter_type"), ResultType: m.text("result_type"),
		Defaults: m.dict("default_parameters"), TimeLimit: m.span("timeout"), Resources: m.texts("resources"), Subskills: m.links("subskills"),
		Priority: int(m.number("priority")), StopWithin: m.span("stop_within"), Preemptible: m.is("preemptible"), Repeatable: m.is("repeatable"),
	}, nil
}

// DescriptionUpdate writes a description.
func (c *Codec) DescriptionUpdate(d *Description, at engram.Time) (engram.EntityUpdate, error) {
	m := members{
		"name": d.ID.Entity(), "description": d.Text, "skill_provider": d.ID.ProviderSegment(), "parameter_type": d.ParameterType, "result_type": d.ResultType,
		"resources": textsOf(d.Resources), "subskills": linksOf(d.Subskills), "priority": int32(d.Priority), "preemptible": d.Preemptible, "repeatable": d.Repeatable,
		"requires": termsOf(d.Requires), "resolves": dictOf(d.Resolves),
	}
	if d.Defaults != nil {
		m["default_parameters"] = d.Defaults
	}
	if d.TimeLimit > 0 {
		m["timeout"] = d.TimeLimit
	}
	if d.StopWithin > 0 {
		m["stop_within"] = d.StopWithin
	}
	return c.encode(typeDescription, d.ID, at, m)
}

// Request reads a request.
func (c *Codec) Request(entity engram.ID, all []engram.Instance) (*Request, error) {
	m, err := c.decode(typeRequest, all, entity)
	if err != nil {
		return nil, err
	}
	r := &Request{
		ID: entity, Skill: m.link("skill"), Parameters: m.dict("parameters"), Caller: m.text("caller"), Parent: m.link("parent").Truncate(engram.LevelEntity), Cause: m.link("cause"),
		Condition: m.link("condition").Truncate(engram.LevelEntity), Rehearsal: Rehearsal(m.key("rehearsal")),
		CallerLease: m.span("caller_lease"),
	}
	r.Priority, r.Patience, r.TimeLimit = m.bounds()
	return r, nil
}

// RequestUpdate writes a request.
func (c *Codec) RequestUpdate(r *Request, at engram.Time) (engram.EntityUpdate, error) {
	m := members{"skill": r.Skill, "caller": r.Caller}
	if r.Parameters != nil {
		m["parameters"] = r.Parameters
	}
	m.setLink("parent", r.Parent)
	m.setLink("cause", r.Cause)
	m.setLink("condition", r.Condition)
	if r.Rehearsal != Real {
		m["rehearsal"] = idf.Enum{Number: int32(r.Rehearsal)}
	}
	if r.CallerLease > 0 {
		m["caller_lease"] = r.CallerLease
	}
	if err := m.setBounds(r.ID, r.Priority, r.Patience, r.TimeLimit); err != nil {
		return engram.EntityUpdate{}, err
	}
	return c.encode(typeRequest, r.ID, at, m)
}

// Abort reads what somebody wants to be stopped, and why.
func (c *Codec) Abort(entity engram.ID, all []engram.Instance) (of engram.ID, caller, message string, err error) {
	m, err := c.decode(typeAbort, all, entity)
	return m.link("execution").Truncate(engram.LevelEntity), m.text("caller"), m.text("message"), err
}

// AbortUpdate writes that an execution, or what a request asked for, is to stop.
func (c *Codec) AbortUpdate(entity, of engram.ID, caller, message string, at engram.Time) (engram.EntityUpdate, error) {
	return c.encode(typeAbort, entity, at, members{"execution": of, "caller": caller, "message": message})
}

// Switch reads whether a skill is enabled, and why.
func (c *Codec) Switch(entity engram.ID, all []engram.Instance) (of engram.ID, enabled bool, message string, err error) {
	m, err := c.decode(typeSwitch, all, entity)
	return m.link("skill").Truncate(engram.LevelEntity), m.is("enabled"), m.text("message"), err
}

// SwitchUpdate writes whether a skill is enabled, and why.
func (c *Codec) SwitchUpdate(entity, of engram.ID, enabled bool, message string, at engram.Time) (engram.EntityUpdate, error) {
	return c.encode(typeSwitch, entity, at, members{"skill": of, "enabled": enabled, "message": message})
}

// CallerUpdate writes that the caller of a request is there.
func (c *Codec) CallerUpdate(request engram.ID, at engram.Time) (engram.EntityUpdate, error) {
	entity, err := engram.NewID("Skill", "Caller", request.ProviderSegment(), request.Entity())
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	return c.encode(typeCaller, entity, at, members{})
}

// Lease reads that a provider is there.
func (c *Codec) Lease(entity engram.ID, all []engram.Instance) (Lease, error) {
	m, err := c.decode(typeProvider, all, entity)
	return Lease{Epoch: uint64(m.number("epoch")), Lease: m.span("lease"), Renewal: m.is("renewal"), Ended: m.is("ended")}, err
}

// LeaseUpdate writes that a provider is there.
func (c *Codec) LeaseUpdate(entity engram.ID, l Lease, at engram.Time) (engram.EntityUpdate, error) {
	return c.encode(typeProvider, entity, at, members{"epoch": int64(l.Epoch), "lease": l.Lease, "renewal": l.Renewal, "ended": l.Ended})
}

// Execution reads a snapshot of an execution.
func (c *Codec) Execution(entity engram.ID, at engram.Time, all []engram.Instance) (*Execution, error) {
	m, err := c.decode(typeExecution, all, entity)
	if err != nil {
		return nil, err
	}
	e := &Execution{
		ID: entity, Time: at, Skill: m.link("skill"), Status: schedule.Status(m.key("status")), Parameters: m.dict("parameters"), Result: m.dict("result"),
		Caller: m.text("caller"), Parent: m.link("parent").Truncate(engram.LevelEntity), Cause: m.link("cause"), Started: m.time("started"), Message: m.text("message"),
		Request: m.link("request"), Called: m.time("called"), Epoch: uint64(m.number("epoch")), Priority: int(m.number("priority")),
		Patience: m.span("patience"), TimeLimit: m.span("time_limit"), Expected: m.span("expected"), Progress: -1,
		Resources: m.texts("resources"), StopWithin: m.span("stop_within"), Preemptible: m.is("preemptible"), Repeatable: m.is("repeatable"),
		Condition: m.link("condition").Truncate(engram.LevelEntity), Rehearsal: Rehearsal(m.key("rehearsal")),
		CallerLease: m.span("caller_lease"), Resolved: m.dict("resolved"),
	}
	if p, ok := m["progress"].(float64); ok {
		e.Progress = p
	}
	if s := members(m.dict("stop")); s != nil {
		e.Stop = &schedule.Stop{Reason: schedule.Reason(s.key("reason")), Message: s.text("message"), By: s.link("by"), Deadline: s.time("deadline"), Answer: schedule.Answer(s.key("answer"))}
	}
	if f := members(m.dict("failure")); f != nil {
		e.Failure = &Failure{Code: f.text("code"), Stage: f.text("stage"), Message: f.text("message"), Retry: f.is("retry"), BlockedBy: f.links("blocked_by")}
	}
	return e, nil
}

// ExecutionUpdate writes a snapshot of an execution.
func (c *Codec) ExecutionUpdate(e *Execution) (engram.EntityUpdate, error) {
	m := members{"skill": e.Skill, "status": idf.Enum{Number: int32(e.Status)}, "caller": e.Caller, "started": e.Started, "message": e.Message}
	m.setLink("parent", e.Parent)
	m.setLink("cause", e.Cause)
	m.setLink("request", e.Request)
	m.setLink("condition", e.Condition)
	if e.Rehearsal != Real {
		m["rehearsal"] = idf.Enum{Number: int32(e.Rehearsal)}
	}
	if e.CallerLease > 0 {
		m["caller_lease"] = e.CallerLease
	}
	if e.Resolved != nil {
		m["resolved"] = e.Resolved
	}
	if e.Parameters != nil {
		m["parameters"] = e.Parameters
	}
	if e.Result != nil {
		m["result"] = e.Result
	}
	if e.Progress >= 0 {
		m["progress"] = e.Progress
	}
	if !e.Request.IsRoot() {
		m["priority"], m["patience"], m["time_limit"], m["stop_within"] = int32(e.Priority), e.Patience, e.TimeLimit, e.StopWithin
		m["resources"], m["preemptible"], m["repeatable"] = textsOf(e.Resources), e.Preemptible, e.Repeatable
	}
	if e.Called != 0 {
		m["called"] = e.Called
	}
	if e.Epoch != 0 {
		m["epoch"] = int64(e.Epoch)
	}
	if e.Expected > 0 {
		m["expected"] = e.Expected
	}
	if s := e.Stop; s != nil {
		stop := members{"reason": idf.Enum{Number: int32(s.Reason)}, "message": s.Message, "answer": idf.Enum{Number: int32(s.Answer)}}
		stop.setLink("by", s.By)
		if s.Deadline != 0 {
			stop["deadline"] = s.Deadline
		}
		m["stop"] = map[string]any(stop)
	}
	if f := e.Failure; f != nil {
		m["failure"] = map[string]any{"code": f.Code, "stage": f.Stage, "message": f.Message, "retry": f.Retry, "blocked_by": linksOf(f.BlockedBy)}
	}
	return c.encode(typeExecution, e.ID, e.Time, m)
}
