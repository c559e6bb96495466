package web

import (
	"context"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// types holds the types of the payloads that were read: a type never changes under its name, and a server bounds how many
// it knows. Safe for concurrent use.
type types struct {
	service engram.Types
	known   sync.Map // name → *idf.Type
}

// get returns a type. The error is that of asking for it.
func (ts *types) get(ctx context.Context, name string) (*idf.Type, error) {
	if t, ok := ts.known.Load(name); ok {
		return t.(*idf.Type), nil
	}
	def, err := ts.service.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	ts.known.Store(name, t)
	return t, nil
}

// decode returns the members of a payload. The error is that of asking for its type, or Corrupt.
func (ts *types) decode(ctx context.Context, p engram.Payload) (map[string]any, error) {
	t, err := ts.get(ctx, p.Type)
	if err != nil {
		return nil, err
	}
	v, err := t.Decode(p.Bytes)
	m, _ := v.(map[string]any)
	return m, err
}
