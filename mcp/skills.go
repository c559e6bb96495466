package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

// mostWait bounds how long a call waits for an execution: agents give up on longer calls.
const mostWait = 50

type skillsIn struct {
	Match  string `json:"match,omitempty" jsonschema:"only skills whose name or description have this text"`
	Robot  string `json:"robot,omitempty" jsonschema:"another robot, whose skills are asked for"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most, up to 200; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type skillsOut struct {
	Skills []offered `json:"skills"`
	Next   string    `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type offered struct {
	Skill       string      `json:"skill" jsonschema:"name to run it by"`
	Provider    string      `json:"provider" jsonschema:"program that offers it"`
	State       string      `json:"state" jsonschema:"in service, or why it cannot be run: disabled, no provider, ended, lost"`
	MayRun      bool        `json:"may_run" jsonschema:"this server lets you run it"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	Result      string      `json:"result_type,omitempty"`
	Expected    float64     `json:"expected_seconds,omitempty" jsonschema:"how long it usually takes"`
	Timeout     float64     `json:"timeout_seconds,omitempty" jsonschema:"when it is stopped"`
	Resources   []string    `json:"resources,omitempty" jsonschema:"what it needs for itself, such as an arm"`
}

type parameter struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default any    `json:"default,omitempty"`
	Names   string `json:"names,omitempty" jsonschema:"it may be a name of this, such as of an item of the world"`
	Doc     string `json:"doc,omitempty"`
}

// mayRun reports whether agents may run a skill, "Grasp" or "Arm/Grasp".
func (s *Server) mayRun(name string) bool {
	_, short, ok := strings.Cut(name, "/")
	return slices.ContainsFunc(s.o.Skills, func(allowed string) bool {
		return allowed == "*" || allowed == name || ok && allowed == short
	})
}

func (s *Server) skills(ctx context.Context, in skillsIn) (out skillsOut, _ extra, err error) {
	limit, place, err := pageOf(in.Limit, someItems, in.Cursor, 2)
	if err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	offers, err := skill.Offers(ctx, m, memoryOf(in.Robot, skill.Memory))
	if err != nil {
		return out, nil, err
	}
	out.Skills = []offered{}
	now, match := engram.Now(), strings.ToLower(in.Match)
	for _, o := range offers {
		here := []string{o.ID.Entity(), o.ID.ProviderSegment()}
		if !strings.Contains(strings.ToLower(o.ID.Entity()+"\n"+o.Description.Description), match) || place != nil && slices.Compare(here, place) <= 0 {
			continue
		}
		if len(out.Skills) == limit {
			last := out.Skills[limit-1]
			out.Next = cursorOf(last.Skill, last.Provider)
			break
		}
		one := offered{
			Skill: here[0], Provider: here[1], State: o.State(now), MayRun: s.mayRun(here[1] + "/" + here[0]), Description: o.Description.Description,
			Parameters: []parameter{}, Result: o.ResultType, Expected: o.ExpectedDuration.Seconds(), Timeout: o.Timeout.Seconds(), Resources: o.Resources,
		}
		parameters, err := skill.ParametersOf(ctx, m, o.Description)
		if err != nil && engram.CodeOf(err) != engram.NotFound { // a description may name a type of which nobody told the memory
			return out, nil, err
		}
		for _, p := range parameters {
			one.Parameters = append(one.Parameters, parameter(p))
		}
		out.Skills = append(out.Skills, one)
	}
	return out, nil, nil
}

type skillIn struct {
	Skill      string         `json:"skill" jsonschema:"name of the skill; with its provider, Arm/Grasp, if several offer it"`
	Parameters map[string]any `json:"parameters,omitempty" jsonschema:"by name, as skills tells them; those with a default may be left out"`
	Robot      string         `json:"robot,omitempty" jsonschema:"another robot, which is to do it"`
}

func (s *Server) request(in skillIn) skill.Request {
	r := skill.Request{Memory: memoryOf(in.Robot, skill.Memory), Skill: in.Skill, Caller: s.o.Caller}
	if len(in.Parameters) > 0 {
		j, _ := json.Marshal(in.Parameters) // it came as JSON
		r.Parameters = condition.Literal(string(j))
	}
	return r
}

type checkOut struct {
	Ready      bool      `json:"ready" jsonschema:"nothing keeps it from being run now"`
	Findings   []finding `json:"findings" jsonschema:"what keeps it from being run"`
	Parameters any       `json:"parameters,omitempty" jsonschema:"with defaults filled in"`
}

type finding struct {
	What      string   `json:"what" jsonschema:"skill, provider, parameter, resource or condition"`
	Name      string   `json:"name"`
	Now       string   `json:"now,omitempty" jsonschema:"what there is at present"`
	Message   string   `json:"message"`
	BlockedBy []string `json:"blocked_by,omitempty"`
}

func (s *Server) skillCheck(ctx context.Context, in skillIn) (out checkOut, _ extra, err error) {
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	r := s.request(in)
	var resolvers []skill.Resolver
	if in.Robot == "" { // another robot resolves names in its own world
		resolve, done := memories.ResolveNames(m)
		defer done()
		resolvers = append(resolvers, resolve)
	}
	c, err := skill.Check(ctx, m, r, resolvers...)
	if err != nil {
		return out, nil, err
	}
	out.Ready, out.Parameters, out.Findings = len(c.Findings) == 0, c.Parameters, []finding{}
	for _, f := range c.Findings {
		one := finding{What: f.What, Name: f.Name, Now: f.Value, Message: f.Message}
		for _, id := range f.BlockedBy {
			one.BlockedBy = append(one.BlockedBy, id.String())
		}
		out.Findings = append(out.Findings, one)
	}
	return out, nil, nil
}

type runIn struct {
	skillIn
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"stop it after this time, waiting included; default as the skill says"`
	DryRun  bool    `json:"dry_run,omitempty" jsonschema:"go as far as the call of the program, and do not move"`
}

type runOut struct {
	Execution string `json:"execution" jsonschema:"ID for skill_status and skill_abort"`
	URI       string `json:"uri"`
}

func (s *Server) skillRun(ctx context.Context, in runIn) (out runOut, _ extra, err error) {
	if !s.mayRun(in.Skill) {
		return out, nil, refused(in.Skill, "this server lets you run only %s; ask the user to add it to --allow-skills", strings.Join(s.o.Skills, ", "))
	}
	if in.Timeout < 0 || in.Timeout > 24*3600 {
		return out, nil, engram.Errorf(engram.OutOfRange, "timeout_seconds", "it is from 0 to 86400")
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	r := s.request(in.skillIn)
	r.DryRun, r.Timeout = in.DryRun, time.Duration(in.Timeout*float64(time.Second))
	x, err := skill.Start(ctx, m, r)
	if err != nil {
		return out, nil, err
	}
	return runOut{x.ID().String(), uriOf(x.ID())}, nil, nil
}

type statusIn struct {
	Execution string  `json:"execution,omitempty" jsonschema:"ID that skill_run returned; without one the newest executions are listed"`
	Wait      float64 `json:"wait_seconds,omitempty" jsonschema:"wait so long for its end, up to 50"`
	Robot     string  `json:"robot,omitempty" jsonschema:"without an execution: another robot, whose executions are listed"`
	Limit     int     `json:"limit,omitempty" jsonschema:"without an execution: how many at most, up to 200; default 20"`
	Cursor    string  `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type statusOut struct {
	Executions []execution `json:"executions" jsonschema:"newest first"`
	Next       string      `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type execution struct {
	Execution  string  `json:"execution" jsonschema:"its ID; why and trace tell what led to it"`
	URI        string  `json:"uri"`
	Skill      string  `json:"skill"`
	Status     string  `json:"status" jsonschema:"Succeeded, Failed and Aborted are ends"`
	Ended      bool    `json:"ended"`
	Caller     string  `json:"caller"`
	Started    string  `json:"started,omitempty"`
	Changed    string  `json:"changed" jsonschema:"when the status was reached"`
	Progress   float64 `json:"progress,omitempty" jsonschema:"from 0 to 1"`
	Message    string  `json:"message,omitempty"`
	Parameters any     `json:"parameters,omitempty"`
	Result     any     `json:"result,omitempty"`
	Failure    string  `json:"failure,omitempty" jsonschema:"why it failed"`
	Stopped    string  `json:"stopped,omitempty" jsonschema:"why it was stopped, and what came of that"`
}

func (s *Server) executionOf(e *skill.Execution) execution {
	id := e.ID.Truncate(engram.LevelEntity)
	o := execution{
		Execution: id.String(), URI: uriOf(id), Skill: e.Skill.Entity(), Status: e.Status.String(), Ended: e.Status.Ended(), Caller: e.Caller,
		Changed: timeText(e.Timestamp), Progress: e.Progress, Message: e.Message, Parameters: bounded(e.Parameters), Result: bounded(e.Result),
	}
	if e.Started != 0 {
		o.Started = timeText(e.Started)
	}
	if e.Failure != nil {
		o.Failure = e.Failure.Code + ": " + e.Failure.Error()
	}
	if e.Stop != nil {
		o.Stopped = strings.TrimSuffix(e.Stop.Reason+", "+answerText(e.Stop.Answer)+": "+e.Stop.Message, ": ")
	}
	return o
}

// bounded returns a value that an answer has room for.
func bounded(v any) any {
	if v == nil {
		return nil
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	short, _, err := fitted(j, snapshotBytes)
	if err != nil {
		return nil
	}
	return short
}

func answerText(a skill.StopAnswer) string {
	switch a {
	case skill.Confirmed:
		return "confirmed, it stands still"
	case skill.Unconfirmed:
		return "unconfirmed, it may still move"
	case skill.Refused:
		return "refused, it goes on"
	}
	return "no answer yet"
}

func (s *Server) skillStatus(ctx context.Context, in statusIn) (out statusOut, _ extra, err error) {
	if in.Wait < 0 || in.Wait > mostWait {
		return out, nil, engram.Errorf(engram.OutOfRange, "wait_seconds", "it is from 0 to %d; ask again after that", mostWait)
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	if in.Execution != "" {
		id, err := executionID(in.Execution)
		if err != nil {
			return out, nil, err
		}
		e, err := skill.Find(ctx, m, id)
		if err == nil && in.Wait > 0 && !e.Status.Ended() {
			x, followErr := skill.Follow(m, id)
			if followErr != nil {
				return out, nil, followErr
			}
			waiting, cancel := context.WithTimeout(ctx, time.Duration(in.Wait*float64(time.Second)))
			_, _ = x.Wait(waiting) // what has come of it is read below
			cancel()
			e, err = skill.Find(ctx, m, id)
		}
		if err != nil {
			return out, nil, err
		}
		e.ID = id
		return statusOut{Executions: []execution{s.executionOf(e)}}, nil, nil
	}
	limit, err := limitOf(in.Limit, someItems)
	if err != nil {
		return out, nil, err
	}
	w, err := newWindow("newest", in.Cursor, limit)
	if err != nil {
		return out, nil, err
	}
	all := map[moment]*skill.Execution{}
	_, err = skill.Executions(ctx, m, memoryOf(in.Robot, skill.Memory), func(e *skill.Execution) bool {
		at := moment{e.Started, e.ID.Truncate(engram.LevelEntity)}
		if w.add(at) {
			all[at] = e
		}
		return false
	})
	if err != nil {
		return out, nil, err
	}
	out.Executions = []execution{}
	room := answerBytes
	for i, at := range w.kept {
		o := s.executionOf(all[at])
		j, err := json.Marshal(o)
		if err != nil {
			return out, nil, err
		}
		if room -= len(j); room < 0 && i > 0 {
			w.kept, w.more = w.kept[:i], true
			break
		}
		out.Executions = append(out.Executions, o)
	}
	if w.more && len(w.kept) > 0 {
		last := w.kept[len(w.kept)-1]
		out.Next = cursorOf(last.time.String(), last.id.String())
	}
	return out, nil, nil
}

// executionID reads the ID of an execution, which may have a time behind it.
func executionID(text string) (id engram.ID, err error) {
	t, err := parseTarget(text)
	if err != nil {
		return id, err
	}
	if id, err = t.id(); err != nil {
		return id, engram.Errorf(engram.Invalid, text, "this is no execution's ID, such as Skill/Execution/agent/f3k2; skill_status without one lists them")
	}
	return id.Truncate(engram.LevelEntity), nil
}

type abortIn struct {
	Execution string `json:"execution" jsonschema:"ID that skill_run returned"`
	Reason    string `json:"reason,omitempty" jsonschema:"why, for people"`
}

type abortOut struct {
	Answer string    `json:"answer" jsonschema:"confirmed, it stands still; unconfirmed, it may still move; refused, it goes on"`
	Still  bool      `json:"still" jsonschema:"it is confirmed that all stands still"`
	Now    execution `json:"now"`
}

func (s *Server) skillAbort(ctx context.Context, in abortIn) (out abortOut, _ extra, err error) {
	id, err := executionID(in.Execution)
	if err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	e, err := skill.Find(ctx, m, id)
	if err != nil {
		return out, nil, err
	}
	if name := e.Skill.ProviderSegment() + "/" + e.Skill.Entity(); !s.mayRun(name) {
		return out, nil, refused(name, "this server lets you run and stop only %s; ask the user", strings.Join(s.o.Skills, ", "))
	}
	x, err := skill.Follow(m, id)
	if err != nil {
		return out, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, mostWait*time.Second)
	defer cancel()
	answer, err := x.AbortAs(waiting, s.o.Caller, skill.ReasonOperator, in.Reason)
	if err != nil {
		return out, nil, err
	}
	if e, err = skill.Find(ctx, m, id); err != nil {
		return out, nil, err
	}
	e.ID = id
	return abortOut{answerText(answer), answer == skill.Confirmed, s.executionOf(e)}, nil, nil
}
