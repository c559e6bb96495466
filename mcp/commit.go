package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

type commitIn struct {
	ID         string   `json:"id" jsonschema:"entity to write, such as GeneralPurpose/Notes/agent/today"`
	Data       any      `json:"data" jsonschema:"members by name, as describe_type tells them for the segment's type; in a segment without a type any JSON"`
	Create     bool     `json:"create,omitempty" jsonschema:"add the core segment, for any JSON, if there is none"`
	Type       string   `json:"type,omitempty" jsonschema:"type of data, if it extends the segment's"`
	Time       string   `json:"time,omitempty" jsonschema:"when it was so; default now"`
	Confidence *float32 `json:"confidence,omitempty" jsonschema:"how sure it is, from 0 to 1; default 1"`
}

type commitOut struct {
	ID  string `json:"id" jsonschema:"ID of the snapshot"`
	URI string `json:"uri"`
}

func (s *Server) commit(ctx context.Context, in commitIn) (out commitOut, _ extra, err error) {
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	id, err := t.id()
	if err != nil {
		return out, nil, err
	}
	if t.time != nil {
		return out, nil, engram.Errorf(engram.Invalid, in.ID, "an entity is written; give its time as time")
	}
	if err := s.mayCommit(id); err != nil {
		return out, nil, err
	}
	u := engram.EntityUpdate{Entity: id, Time: engram.Now()}
	if in.Time != "" {
		if u.Time, err = parseTime(in.Time); err != nil {
			return out, nil, err
		}
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	if in.Create {
		err := m.AddCoreSegment(ctx, engram.CoreSegment{ID: id.Truncate(engram.LevelCoreSegment)})
		if err != nil && !errors.Is(err, engram.AlreadyExists) {
			return out, nil, err
		}
	}
	name := in.Type
	if name == "" {
		if name, err = s.segmentType(ctx, m, id); err != nil {
			return out, nil, err
		}
	}
	typ, err := s.typ(ctx, name)
	if err != nil {
		return out, nil, err
	}
	j, err := json.Marshal(in.Data)
	if err != nil {
		return out, nil, err
	}
	b, err := typ.FromJSON(j)
	if err != nil {
		return out, nil, err
	}
	inst := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})
	if in.Confidence != nil {
		inst.Confidence = *in.Confidence
	}
	u.Instances = []engram.Instance{inst}
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		return out, nil, err
	}
	return commitOut{results[0].ID.String(), uriOf(results[0].ID)}, nil, nil
}

// mayCommit returns an error if agents may not write an entity.
func (s *Server) mayCommit(id engram.ID) error {
	if memory := id.Memory(); memory == skill.Memory || strings.HasSuffix(memory, ":"+skill.Memory) {
		return refused(id.String(), "skills are not run by commits; use skill_run, if this server has it")
	}
	for _, p := range s.o.Commit {
		m, err := p.Matcher()
		if err != nil {
			return err
		}
		if m.Match(id) {
			return nil
		}
	}
	return refused(id.String(), "this server lets you write only %s; ask the user to add it to --allow-commit", listed(s.o.Commit))
}

// segmentType returns the type of the segment that an entity lies in.
func (s *Server) segmentType(ctx context.Context, m engram.Segments, entity engram.ID) (found string, err error) {
	provider := entity.Truncate(engram.LevelProviderSegment)
	segments, err := m.Describe(ctx, engram.PatternOf(provider.Parent()))
	if err != nil {
		return "", err
	}
	for _, d := range segments {
		if d.ID == provider || d.ID == provider.Parent() && found == "" {
			found = d.Type
		}
	}
	if found == "" {
		return "", fmt.Errorf("%w. What to do: name another, or give create to add it for any JSON", s.absent(ctx, target{text: entity.String(), pattern: engram.PatternOf(provider.Parent())}))
	}
	return found, nil
}
