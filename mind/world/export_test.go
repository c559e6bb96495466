package world

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

// ReadPast is Past that reads everything.
func (m *Memory) ReadPast(ctx context.Context, at engram.Time, asOf *engram.Time) (*Forest, error) {
	f, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	return m.readPast(ctx, follow.Past{At: at, AsOf: asOf}, f.rules.Offsets)
}

// SharesPast reports whether a past is made from the present.
func (m *Memory) SharesPast(ctx context.Context, at engram.Time, asOf *engram.Time) bool {
	present, _, err := m.Back(ctx, at, asOf)
	return err == nil && present != nil
}
