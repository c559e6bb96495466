package service

import (
	"context"
	"log/slog"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

// trained is a model in use; the memory holds its snapshot.
type trained struct {
	id       engram.ID // of the snapshot
	snapshot *engram.Snapshot
	read     sync.Once
	version  *Version // after read; nil if it cannot be used
}

// Load takes the newest kept model of each entity from the memory, and resets; what is written later comes by [Service.Stored].
func (s *Service) Load(ctx context.Context) error {
	segment, err := engram.NewID(Memory, ModelSegment)
	if err != nil {
		return err
	}
	r, err := s.from.Query(ctx, engram.PatternOf(segment).Select(engram.All()))
	if err != nil {
		return err
	}
	for item := range r.All() {
		s.stored(item.ID, item.Snapshot)
	}
	s.resets.Add(1)
	return nil
}

// Stored takes notice of a snapshot that was written to the memory: of a model that is kept, or of a reset.
func (s *Service) Stored(_ context.Context, u engram.Update) {
	if u.ID.Memory() != Memory || u.Snapshot == nil {
		return
	}
	switch u.ID.CoreSegment() {
	case ModelSegment:
		s.stored(u.ID, u.Snapshot)
	case ResetSegment:
		s.resets.Add(1)
	}
}

func (s *Service) stored(id engram.ID, n *engram.Snapshot) {
	if len(n.Instances) == 0 {
		return
	}
	o, err := decoded(s.typeOf, &n.Instances[0].Payload, modelType)
	if err != nil {
		return
	}
	of, _ := o["entity"].(engram.ID)
	kept, _ := o["kept"].(bool)
	if !kept || of.Level() != engram.LevelEntity {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.models[of]; before != nil && before.snapshot.Time > n.Time {
		return
	}
	s.models[of] = &trained{id: id, snapshot: n}
}

// model returns the model in use for an entity, nil if there is none.
func (s *Service) model(of engram.ID) *trained {
	s.mu.Lock()
	t := s.models[of]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	t.read.Do(func() {
		v, err := DecodeVersion(s.typeOf, &t.snapshot.Instances[0].Payload)
		if err != nil {
			slog.Warn("a trained model cannot be used", "model", t.id.String(), "error", err)
			return
		}
		v.Model.Fit()
		t.version = v
	})
	if t.version == nil {
		return nil
	}
	return t
}

// use has a tracker use the model, if it is of the same members.
func (t *trained) use(tr *predict.Tracker, m *predict.Members) bool {
	return t != nil && t.version.of(m) && tr.Use(t.version.Model) == nil
}

// inForce are the values of an input over time.
type inForce struct {
	times []engram.Time
	rows  [][]float64
	next  int
}

// at returns the values in force at a time; times do not fall. It is nil before the first.
func (f *inForce) at(t engram.Time) []float64 {
	if f == nil {
		return nil
	}
	for f.next < len(f.times) && f.times[f.next] <= t {
		f.next++
	}
	if f.next == 0 {
		return nil
	}
	return f.rows[f.next-1]
}

// readInput reads what was in force of an input from a time to another one.
func readInput(ctx context.Context, from engram.Reader, types TypeSource, input engram.ID, first, last engram.Time) (*inForce, error) {
	if input.Level() != engram.LevelEntity {
		return nil, nil
	}
	r, err := from.Query(ctx, engram.PatternOf(input).Select(engram.AtOrBefore(first), engram.In(engram.Interval{Start: first, End: last + 1})))
	if err != nil {
		return nil, err
	}
	f := &inForce{}
	var members *predict.Members
	for _, item := range r.Items() {
		p := item.Instances[0].Payload
		t, err := types(p.Type)
		if err != nil {
			return nil, err
		}
		if members == nil {
			if members, err = predict.MembersOf(t, p.Bytes); err != nil {
				return nil, err
			}
		}
		if !members.Fit(t, p.Bytes) {
			continue
		}
		row := make([]float64, len(members.Paths))
		if err := members.Read(p.Bytes, row); err != nil {
			return nil, err
		}
		f.times, f.rows = append(f.times, item.Time), append(f.rows, row)
	}
	return f, nil
}
