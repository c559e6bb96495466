package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// shownSkill is all that is shown of a skill.
type shownSkill struct {
	*skill.Offer
	takes, gives shownType
	last         []*skill.Execution // oldest first
	conditions   []*skill.Condition // that have it executed
}

// shownType is what a skill takes or gives.
type shownType struct {
	name    string // empty: anything
	unknown bool   // the memory has no type of that name
	members []idf.Member
}

// readSkill reads what is shown of a skill beside what is offered, of its executions the latest; 0 are all.
func readSkill(ctx context.Context, m *client.Client, skills *skill.Skills, o *skill.Offer, latest int) (s *shownSkill, err error) {
	s = &shownSkill{Offer: o}
	types := newTypeCache(m)
	if s.takes, err = readType(ctx, types, o.ParameterType); err != nil {
		return nil, err
	}
	if s.gives, err = readType(ctx, types, o.ResultType); err != nil {
		return nil, err
	}
	if s.last, err = skills.ExecutionsOf(ctx, o.ID); err != nil {
		return nil, err
	}
	all, err := skills.Conditions(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Skill == o.ID {
			s.conditions = append(s.conditions, c)
		}
	}
	if latest > 0 {
		s.last = s.last[max(0, len(s.last)-latest):]
	}
	return s, nil
}

func readType(ctx context.Context, types *typeCache, name string) (shownType, error) {
	if name == "" {
		return shownType{}, nil
	}
	t, err := types.get(ctx, name)
	if engram.CodeOf(err) == engram.NotFound {
		return shownType{name: name, unknown: true}, nil
	}
	if err != nil {
		return shownType{}, err
	}
	return shownType{name: name, members: t.Members()}, nil
}

func (t *shownType) text() string {
	switch {
	case t.name == "":
		return "anything"
	case t.unknown:
		return t.name + ", which the memory does not know"
	}
	return t.name
}

// print prints a skill for people.
func (s *shownSkill) print(w io.Writer) error {
	b := &block{w: w}
	b.head(shortSkill(s.ID), s.Text)
	b.line("state", s.stateText(), stateStyles[s.State()])
	b.line("provider", s.providerText(), plain)
	b.line("takes", s.takes.text(), plain)
	b.line("returns", s.gives.text(), plain)
	b.line("resources", strings.Join(s.Resources, ", "), plain)
	if s.TimeLimit > 0 {
		b.line("time limit", words.Duration(s.TimeLimit), plain)
	}
	b.line("priority", strconv.Itoa(s.Priority), plain)
	b.line("stopping", s.stoppingText(), plain)
	if s.Repeatable {
		b.line("repeatable", "it is called again if its provider is lost", plain)
	}
	for _, id := range s.Subskills {
		b.line("calls", shortSkill(id), plain)
	}
	for i := range s.Requires {
		b.line("requires", requiredText(&s.Requires[i]), plain)
	}
	for _, c := range s.conditions {
		b.line("condition", shortSkill(c.ID)+", "+stateOf(c)+": "+whenText(c), plain)
	}
	b.table(membersTable("PARAMETER", &s.takes, s.Defaults))
	b.table(membersTable("RESULT", &s.gives, nil))
	b.table(executionsTable(s.last))
	return b.err
}

// requiredText says what must hold.
func requiredText(t *condition.Term) string {
	demand := *t
	demand.Text = ""
	text := demand.String()
	if t.Text != "" {
		text = t.Text + ": " + text
	}
	if t.Lasting {
		text += ", as long as it is executed"
	}
	return text
}

// stateText says whether the skill can be executed, and why it cannot.
func (s *shownSkill) stateText() string {
	text := s.State()
	if n := len(s.Active); n > 0 && s.State() == "active" {
		text += ", with " + countOf(uint64(n), "execution")
	}
	if by := s.Switched; by != nil && !s.Enabled {
		text += fmt.Sprintf(" since %s by %s", by.Time, by.Who)
		if by.Message != "" {
			text += ": " + by.Message
		}
	}
	return text
}

// providerText says who provides the skill, and whether it is there.
func (s *shownSkill) providerText() string {
	name := s.ID.ProviderSegment()
	switch {
	case s.Present:
		return fmt.Sprintf("%s, with a lease of %s", name, words.Duration(s.Lease.Lease))
	case s.Lease.Ended:
		return fmt.Sprintf("%s, which ended at %s", name, s.Until)
	case s.Until != 0:
		return fmt.Sprintf("%s, whose lease was over at %s", name, s.Until)
	}
	return name + ", which was never there"
}

// stoppingText says how long stopping may take, and what else is so about it.
func (s *shownSkill) stoppingText() string {
	text := "within " + words.Duration(cmp.Or(s.StopWithin, skill.DefaultStopWithin))
	if s.Preemptible {
		text += ", also for what has a higher priority"
	}
	return text
}

// membersTable is a table of what a skill takes or gives, with the values that stand in for what is not given. It has no column
// in which nothing stands.
func membersTable(what string, of *shownType, defaults map[string]any) *table {
	left := defaultTexts(defaults)
	var rows [][]string
	for _, m := range of.members {
		typ := m.Type
		if m.Optional {
			typ += ", optional"
		}
		rows = append(rows, []string{m.Name, typ, left[m.Name], strings.Join(strings.Fields(m.Doc), " ")})
		delete(left, m.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		rows = append(rows, []string{name, "", left[name], ""})
	}
	t := &table{folded: true, rows: make([][]cell, len(rows))}
	for column, head := range []string{what, "TYPE", "DEFAULT", "WHAT"} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
			continue
		}
		t.header = append(t.header, head)
		for i, row := range rows {
			t.rows[i] = append(t.rows[i], text(row[column]))
		}
	}
	return t
}

// defaultTexts returns values by name as JSON.
func defaultTexts(values map[string]any) map[string]string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(valueJSON(values), &all) // which is JSON
	texts := map[string]string{}
	for name, value := range all {
		texts[name] = valueText(value)
	}
	return texts
}

// skillJSON is all of a skill as programs read it.
type skillJSON struct {
	offerJSON
	Provider    providerJSON    `json:"provider"`
	Switched    *switchedJSON   `json:"switched,omitempty"`
	Parameters  []memberJSON    `json:"parameters,omitempty"`
	Results     []memberJSON    `json:"results,omitempty"`
	Defaults    json.RawMessage `json:"defaults,omitempty"`
	StopWithin  string          `json:"stop_within"`
	Preemptible bool            `json:"preemptible"`
	Repeatable  bool            `json:"repeatable"`
	Subskills   []string        `json:"subskills,omitempty"`
	Requires    []string        `json:"requires,omitempty"`
	Conditions  []conditionJSON `json:"conditions,omitempty"`
	Executions  []executionJSON `json:"executions"`
}

// providerJSON is a provider's lease as programs read it.
type providerJSON struct {
	Provider string `json:"provider"`
	Present  bool   `json:"present"`
	Epoch    uint64 `json:"epoch,string,omitempty"`
	Lease    string `json:"lease,omitempty"`
	Ended    bool   `json:"ended,omitempty"`
}

// switchedJSON is who enabled or disabled a skill last.
type switchedJSON struct {
	Enabled bool        `json:"enabled"`
	By      string      `json:"by"`
	Time    engram.Time `json:"time"`
	Message string      `json:"message,omitempty"`
}

func (s *shownSkill) object() skillJSON {
	j := skillJSON{
		offerJSON: offerObject(s.Offer), Provider: providerJSON{s.ID.ProviderSegment(), s.Present, s.Lease.Epoch, "", s.Lease.Ended},
		Parameters: memberObjects(s.takes.members), Results: memberObjects(s.gives.members), StopWithin: cmp.Or(s.StopWithin, skill.DefaultStopWithin).String(),
		Preemptible: s.Preemptible, Repeatable: s.Repeatable, Executions: []executionJSON{},
	}
	if s.Lease.Lease > 0 {
		j.Provider.Lease = s.Lease.Lease.String()
	}
	if by := s.Switched; by != nil {
		j.Switched = &switchedJSON{s.Enabled, by.Who, by.Time, by.Message}
	}
	if len(s.Defaults) > 0 {
		j.Defaults = valueJSON(s.Defaults)
	}
	for _, id := range s.Subskills {
		j.Subskills = append(j.Subskills, shortSkill(id))
	}
	for i := range s.Requires {
		j.Requires = append(j.Requires, requiredText(&s.Requires[i]))
	}
	for _, c := range s.conditions {
		j.Conditions = append(j.Conditions, conditionObject(c))
	}
	for _, e := range s.last {
		j.Executions = append(j.Executions, executionObject(e))
	}
	return j
}
