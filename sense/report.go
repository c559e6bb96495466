package sense

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/episode/meta"
	"github.com/seed-301d4374/engram/ltm/service"
)

// SensorSegment is the core segment of what became of sensors' snapshots, and SensorType the type of its payloads.
const (
	SensorSegment = "SystemState/Sensor"
	SensorType    = "engram.system_state.Sensor"
)

const (
	tellEvery    = 100 * time.Millisecond // incidents and problems
	sensorsEvery = time.Second
)

// report tells incidents, problems and counts until the attention ends.
func (a *Attention) report() {
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	told := map[engram.ID]Counts{}
	var sensors time.Time
	for {
		select {
		case <-ticker.C:
		case <-a.ctx.Done():
			return
		}
		a.learnTypes()
		a.tell(a.ctx, false)
		if now := time.Now(); now.Sub(sensors) >= sensorsEvery {
			sensors = now
			a.tellSensors(a.ctx, told)
		}
	}
}

// learnTypes makes the types known of what sensors give.
func (a *Attention) learnTypes() {
	a.mu.Lock()
	var names []string
	for name := range a.mu.gate.unknown {
		names = append(names, name)
	}
	clear(a.mu.gate.unknown)
	a.mu.Unlock()
	for _, name := range names {
		a.typeOf(a.ctx, name)
	}
}

// tell writes incidents, what rules lack, and at the end what became of sensors.
func (a *Attention) tell(ctx context.Context, end bool) {
	a.mu.Lock()
	now := a.config.Now()
	incidents := a.mu.gate.Due(now)
	problems := map[engram.ID]string{}
	for name, text := range a.mu.problems {
		text = cmp.Or(text, a.mu.unplaced[name])
		if f := a.mu.rules[name]; f.problem != text || !f.told {
			f.problem, f.told = text, true
			problems[f.id] = text
		}
	}
	a.mu.Unlock()
	for _, i := range incidents {
		if i.rule.Keep {
			i.Note = a.keep(ctx, i)
		}
		entity, err := engram.NewID("SystemState", "Incident", a.config.Producer, i.Name)
		if err == nil {
			err = a.write(ctx, entity, IncidentType, a.config.Now(), i.Value())
		}
		a.failed(ctx, "an incident", err)
	}
	for id, text := range problems {
		err := a.tellProblem(ctx, id, text)
		a.failed(ctx, "what a rule lacks", err)
		if err != nil {
			a.mu.Lock()
			if f := a.mu.rules[id.Entity()]; f != nil {
				f.told = false
			}
			a.mu.Unlock()
		}
	}
	if end {
		a.tellSensors(ctx, map[engram.ID]Counts{})
	}
}

// failed logs that something cannot be told, once until it can.
func (a *Attention) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil && !a.silent[what] {
		a.config.Log.Warn(what+" of attention cannot be told", "error", err)
	}
	a.silent[what] = err != nil
}

// tellSensors writes the counts that differ from those told, of the sensors that a rule is or was about.
func (a *Attention) tellSensors(ctx context.Context, told map[engram.ID]Counts) {
	a.mu.Lock()
	now := a.config.Now()
	all := a.mu.gate.Sensors()
	held, capacity, since := a.mu.gate.Held()
	rules := map[engram.ID][]any{}
	for id, s := range a.mu.gate.sensors {
		for _, at := range s.attended {
			rules[id] = append(rules[id], at.rule.id.Truncate(engram.LevelEntity))
		}
	}
	a.mu.Unlock()
	for id, c := range all {
		if told[id] == c || len(rules[id]) == 0 && c.LeftOut+c.Recalled+c.Lacked == 0 {
			continue
		}
		told[id] = c
		v := map[string]any{
			"timestamp": now, "sensor": id, "rules": rules[id],
			"given": int64(c.Given), "passed": int64(c.Passed), "recalled": int64(c.Recalled), "left_out": int64(c.LeftOut), "lacked": int64(c.Lacked),
			"bytes": int64(c.Bytes), "bytes_passed": int64(c.Sent), "ring_bytes": held, "ring_capacity": capacity,
		}
		if since != 0 {
			v["ring_since"] = since
		}
		entity, err := engram.NewID("SystemState", "Sensor", a.config.Producer, strings.Join(id.Names(), "."))
		if err == nil {
			err = a.write(ctx, entity, SensorType, now, v)
		}
		a.failed(ctx, "what became of a sensor", err)
	}
}

// tellProblem writes into a rule what this producer lacks to follow it, unless somebody has set the rule anew.
func (a *Attention) tellProblem(ctx context.Context, id engram.ID, text string) error {
	entity := id.Truncate(engram.LevelEntity)
	s, err := a.latest(ctx, entity)
	if err != nil || s == nil {
		return err
	}
	r, err := a.decodeRule(ctx, s)
	if at, _ := id.Time(); err != nil || s.Time != at {
		return err
	}
	own := a.config.Producer + ": "
	if text == "" && !strings.HasPrefix(r.Problem, own) || own+text == r.Problem {
		return nil
	}
	if r.Problem = ""; text != "" {
		r.Problem = own + text
	}
	now := max(a.config.Now(), s.Time+1)
	return a.write(ctx, entity, RuleType, now, r.Value(now))
}

// latest returns the newest snapshot of an entity; nil if there is none.
func (a *Attention) latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	s, err := a.svc.Latest(ctx, entity)
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	return s, err
}

func (a *Attention) write(ctx context.Context, entity engram.ID, typ string, at engram.Time, v any) error {
	t := a.typeOf(ctx, typ)
	if t == nil {
		return engram.Errorf(engram.NotFound, typ, "the memory does not know this type")
	}
	b, err := t.Encode(v)
	if err != nil {
		return err
	}
	in := engram.NewInstance(engram.Payload{Type: typ, Bytes: b})
	results, err := a.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: at, Instances: []engram.Instance{in}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err == nil {
		a.written(results[0].Number)
	}
	return err
}

// keep has the long-term memories keep what lies in the window of an incident. It returns the incident's note, with why that
// is not so.
func (a *Attention) keep(ctx context.Context, i *Incident) string {
	m := meta.Mark{Time: i.Time, Label: i.Rule.Entity(), Before: i.Time.Sub(i.Window.Start), After: i.rule.After}
	if i.Window.End != engram.MaxTime {
		m.After = i.Window.End.Sub(i.Time)
	}
	told := map[string]bool{}
	for _, share := range i.Shares {
		memory := share.Sensor.Memory()
		if told[memory] {
			continue
		}
		told[memory] = true
		err := error(engram.Errorf(engram.Unsupported, memory, "this connection does not lead to its long-term memory"))
		if at, ok := a.svc.(interface {
			LongTerm(memory string) service.Service
		}); ok {
			err = at.LongTerm(memory).Mark(ctx, m)
		}
		if err != nil {
			return strings.TrimPrefix(i.Note+"; the long-term memory does not keep it: "+err.Error(), "; ")
		}
	}
	return i.Note
}
