package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// Finding is something that keeps a skill from being executed now.
type Finding struct {
	What      string // "skill", "provider", "parameter", "resource", "condition"
	Name      string // which
	Value     string // its present value, such as "held by Grasp"
	Message   string // a sentence
	BlockedBy []engram.ID
}

// Checked is what [Check] found.
type Checked struct {
	Skill      engram.ID // the description that would be used
	Parameters any       // with defaults filled in
	Findings   []Finding // nothing: it could be executed now
}

// Resolver returns parameters with what names in them stand for, or an error that names the
// parameter: package memories has that of the memory Skill.
type Resolver func(ctx context.Context, d *Description, parameters any) (any, error)

// Check tells what keeps a request from being executed now, and asks for nothing. What is
// unknown or wrong about the request is a finding, too. Names in parameters are looked up by
// the resolvers; without one they are taken as they are.
func Check(ctx context.Context, svc engram.Service, r Request, resolvers ...Resolver) (*Checked, error) {
	memory := cmp.Or(r.Memory, Memory)
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return nil, err
	}
	all, err := Descriptions(ctx, svc, memory)
	if err != nil {
		return nil, err
	}
	providers := map[string]*ProviderState{}
	err = latest(ctx, svc, types, memory, "Provider", func(id engram.ID, s *ProviderState) { providers[id.ProviderSegment()] = s })
	if err != nil {
		return nil, err
	}
	switches := map[string]*Switch{}
	err = latest(ctx, svc, types, memory, "Switch", func(_ engram.ID, s *Switch) {
		key := s.Skill.ProviderSegment() + "/" + s.Skill.Entity()
		if was := switches[key]; was == nil || was.Timestamp < s.Timestamp {
			switches[key] = s
		}
	})
	if err != nil {
		return nil, err
	}
	c := &Checked{}
	find := func(f Finding) { c.Findings = append(c.Findings, f) }
	key := func(id engram.ID) string { return id.ProviderSegment() + "/" + id.Entity() }
	alive := func(id engram.ID) bool {
		p := providers[id.ProviderSegment()]
		return p != nil && p.InService && engram.Now() < p.Timestamp.Add(p.Lease)
	}
	rank := func(id engram.ID) (n int64) {
		if p := providers[id.ProviderSegment()]; p != nil {
			n = p.Epoch >> 2
		}
		if s := switches[key(id)]; alive(id) && (s == nil || s.Enabled) {
			n += 1 << 62
		}
		return n
	}
	var d *Description
	for id, other := range all {
		if r.Skill != id.Entity() && r.Skill != key(id) {
			continue
		}
		if d == nil || rank(id) > rank(c.Skill) || rank(id) == rank(c.Skill) && id.Compare(c.Skill) < 0 {
			c.Skill, d = id, other
		}
	}
	if d == nil {
		find(Finding{What: "skill", Name: r.Skill, Value: "unknown", Message: Unknown(r.Skill, namesOf(all)).Error()})
		return c, nil
	}
	if s := switches[key(c.Skill)]; s != nil && !s.Enabled {
		find(Finding{What: "skill", Name: r.Skill, Value: "disabled", Message: strings.TrimSuffix(fmt.Sprintf("%s is disabled by %s: %s", key(c.Skill), s.By, s.Reason), ": ")})
	}
	provider := c.Skill.ProviderSegment()
	switch p := providers[provider]; {
	case p == nil:
		find(Finding{What: "provider", Name: provider, Value: "never heard of", Message: "the provider " + provider + " is out of service: nothing was heard of it"})
	case !p.InService:
		find(Finding{What: "provider", Name: provider, Value: "ended at " + p.Timestamp.String(), Message: "the provider " + provider + " is out of service: it has ended"})
	case !alive(c.Skill):
		find(Finding{What: "provider", Name: provider, Value: "last heard at " + p.Timestamp.String(),
			Message: fmt.Sprintf("the provider %s is out of service: it was last heard %s ago", provider, engram.Now().Sub(p.Timestamp).Round(time.Millisecond))})
	}
	c.Parameters, err = types.Parameters(d, r.Parameters)
	for _, resolve := range resolvers {
		if err == nil {
			c.Parameters, err = resolve(ctx, d, c.Parameters)
		}
	}
	wrong := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		wrong = several.Unwrap()
	}
	for _, err := range wrong {
		if err == nil {
			continue
		}
		f := Finding{What: "parameter", Message: err.Error()}
		if e, ok := errors.AsType[*engram.Error](err); ok {
			f.Name = e.Thing
		}
		if m, ok := r.Parameters.(map[string]any); ok {
			if v, given := m[f.Name]; given {
				f.Value = fmt.Sprint(v)
			}
		}
		find(f)
	}
	err = latest(ctx, svc, types, memory, "Execution", func(id engram.ID, e *Execution) {
		if e.Status != Running && e.Status != Stopping || id == r.Parent.Truncate(engram.LevelEntity) {
			return
		}
		for _, resource := range e.Resources {
			if slices.Contains(d.Resources, resource) {
				find(Finding{What: "resource", Name: resource, Value: fmt.Sprintf("held by %s since %s", e.Skill.Entity(), e.Started),
					Message: fmt.Sprintf("%s is held by %s, asked for by %s", resource, e.Skill.Entity(), e.Caller), BlockedBy: []engram.ID{id}})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, q := range d.Conditions {
		ok, value, ids, err := Holds(ctx, svc, q)
		if err != nil {
			return nil, err
		}
		if !ok {
			find(Finding{What: "condition", Name: q.Name, Value: value, Message: fmt.Sprintf("%s does not hold: %s", q.Name, value), BlockedBy: ids})
		}
	}
	return c, nil
}

// Holds evaluates a requirement. value says in words what there is at present; ids are the
// entities that satisfy it, with None those in the way, or else those that do not satisfy it.
func Holds(ctx context.Context, svc engram.Reader, r Requirement) (ok bool, value string, ids []engram.ID, err error) {
	pattern, err := engram.ParsePattern(r.Pattern)
	if err != nil {
		return false, "", nil, err
	}
	q := pattern.Select(engram.Latest(1))
	q.Where, q.FilterOrder = r.Where, engram.SelectThenFilter
	young := func(items []engram.Item) (ids []engram.ID) {
		for _, item := range items {
			if r.MaxAge <= 0 || engram.Now().Sub(item.Time) <= r.MaxAge {
				ids = append(ids, item.ID)
			}
		}
		return ids
	}
	result, err := svc.Query(ctx, q)
	if err != nil {
		return false, "", nil, err
	}
	ids = young(result.Items())
	switch {
	case r.None && len(ids) > 0:
		return false, fmt.Sprintf("%s satisfies %q", ids[0], cmp.Or(r.Where, "true")), ids, nil
	case r.None:
		return true, "there is none", nil, nil
	case len(ids) > 0:
		return true, ids[0].String(), ids, nil
	case r.Where == "":
		return false, "there is no " + r.Pattern, nil, nil
	}
	q.Where = ""
	if result, err = svc.Query(ctx, q); err != nil {
		return false, "", nil, err
	}
	for _, item := range result.Items() {
		ids = append(ids, item.ID)
	}
	switch n := len(young(result.Items())); {
	case len(ids) == 0:
		return false, "there is no " + r.Pattern, nil, nil
	case n == 0:
		return false, fmt.Sprintf("%s is older than %s", ids[0], r.MaxAge), ids, nil
	case n == 1:
		return false, fmt.Sprintf("%s does not satisfy %q: %s", ids[0], r.Where, present(ctx, svc, result.Items()[0])), ids, nil
	default:
		return false, fmt.Sprintf("none of %d satisfies %q", n, r.Where), ids, nil
	}
}

// present shows a payload in short.
func present(ctx context.Context, svc engram.Reader, item engram.Item) string {
	known, ok := svc.(engram.Types)
	if !ok || len(item.Instances) == 0 {
		return "?"
	}
	return text(ctx, known, item.Instances[0].Payload)
}
