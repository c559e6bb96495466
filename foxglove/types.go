package foxglove

import (
	"context"
	"encoding/base64"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Types holds the types of payloads that were read, so that each is taken from the service
// once: a type never changes under its name. Make one with [NewTypes]. Safe for concurrent use.
type Types struct {
	service engram.Types
	known   sync.Map // name → *known
}

// NewTypes returns the types of a service.
func NewTypes(service engram.Types) *Types { return &Types{service: service} }

type known struct {
	*idf.Type
	schema string // its descriptors without cycles, in base64
	ros2   func() *ros2
}

func (ts *Types) get(ctx context.Context, name string) (*known, error) {
	if k, ok := ts.known.Load(name); ok {
		return k.(*known), nil
	}
	def, err := ts.service.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	k := &known{t, base64.StdEncoding.EncodeToString(idf.OpenCycles(def.Descriptors, name)), sync.OnceValue(func() *ros2 { return newROS2(t.Descriptor()) })}
	ts.known.Store(name, k)
	return k, nil
}

// Type returns the type of a name. The error is that of asking for it.
func (ts *Types) Type(ctx context.Context, name string) (*idf.Type, error) {
	k, err := ts.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return k.Type, nil
}

// Decode returns a payload's members. The error is that of asking for its type, or Corrupt.
func (ts *Types) Decode(ctx context.Context, p engram.Payload) (map[string]any, error) {
	k, err := ts.get(ctx, p.Type)
	if err != nil {
		return nil, err
	}
	v, err := k.Decode(p.Bytes)
	m, _ := v.(map[string]any)
	return m, err
}
