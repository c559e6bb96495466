package world

import (
	"context"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Looks returns what sensors saw within an interval, as it was known at the time asOf; nil is
// what is known now. Sensors of other robots are among them if the world is over their
// memories. What cannot be read is left out.
func (m *Memory) Looks(ctx context.Context, within engram.Interval, asOf *engram.Time) ([]Look, error) {
	f, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	wide := within // what is within it by this robot's clock may be without by another one's
	for _, d := range f.rules.Offsets {
		wide.Start, wide.End = min(wide.Start, within.Start.Add(-d)), max(wide.End, within.End.Add(-d))
	}
	q := engram.Query{Source: engram.SourceNear, AsOf: asOf}
	for _, p := range m.patterns {
		if !strings.HasSuffix(p.Levels[0].String(), ownMemory) { // of this robot, or of others
			continue
		}
		p.Levels = []engram.NameSelector{p.Levels[0], engram.OneOf(lookSegment)}
		q.Memories = append(q.Memories, p.Select(engram.In(wide)).Memories...)
	}
	r, err := m.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	var looks []Look
	for it := range r.All() {
		if l, err := m.codec.Look(it.ID, it.Snapshot); err == nil && l.Check() == nil && within.Contains(l.Time.Add(f.rules.Offsets[l.Robot])) {
			looks = append(looks, l)
		}
	}
	return looks, nil
}
