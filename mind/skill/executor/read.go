package executor

import (
	"bytes"
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// types are the types of payloads, parameters and results. Safe for concurrent use.
type types struct {
	svc engram.Service

	mu  sync.Mutex
	all map[string]parsed
}

// parsed is a type, and what it was parsed from.
type parsed struct {
	descriptors []byte
	*idf.Type
}

// get returns the type of a name; nil without a name.
func (t *types) get(ctx context.Context, name string) (*idf.Type, error) {
	if name == "" {
		return nil, nil
	}
	def, err := t.svc.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if had, ok := t.all[name]; ok && bytes.Equal(had.descriptors, def.Descriptors) {
		return had.Type, nil
	}
	of, err := idf.ParseType(def)
	if err == nil {
		t.all[name] = parsed{def.Descriptors, of}
	}
	return of, err
}

// of returns the type of a payload in the memory; nil if it is not known.
func (t *types) of(name string) *idf.Type {
	of, _ := t.get(context.Background(), name) // it was checked when it came
	return of
}

// reader reads what the memory has. Safe for concurrent use.
type reader struct {
	svc    engram.Service
	codec  *skill.Codec
	types  *types
	places *places
}

func newReader(svc engram.Service, poses lookup.Service, codec *skill.Codec) *reader {
	t := &types{svc: svc, all: map[string]parsed{}}
	return &reader{svc, codec, t, &places{poses: poses, types: t}}
}

// present reads the present snapshots of what patterns match.
func (m *reader) present(ctx context.Context) condition.Present {
	return m.asOf(ctx, engram.Latest(1))
}

func (m *reader) asOf(ctx context.Context, of engram.SnapshotSelector) condition.Present {
	ctx = engram.WithScope(ctx, nil)
	return func(p engram.Pattern) ([]engram.Item, error) {
		r, err := m.svc.Query(ctx, p.Select(of))
		if err != nil {
			return nil, err
		}
		return r.Items(), nil
	}
}
