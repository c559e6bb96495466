package wm

import "github.com/seed-301d4374/engram"

// StandingMark is a mark by hand: it counts for the entities that its pattern matches, those to
// come too, until it is taken back.
type StandingMark struct {
	engram.Mark
	Of engram.Pattern
}

// marks are the standing marks, the newest first. They are immutable.
type marks struct {
	turn uint32 // how often they were set
	of   []*engram.PatternMatcher
	told []*engram.Mark
}

// MaxMarks bounds the standing marks. An entity notes the place of its newest one in placeBits, and
// the turn beside it.
const (
	MaxMarks  = 256
	placeBits = 9
)

// SetMarks sets the marks that stand, the newest first, in the place of those before. They
// do not fade. The error is of a pattern that is wrong, or Exhausted: then nothing changes.
func (x Values) SetMarks(all []StandingMark) error {
	if len(all) > MaxMarks {
		return engram.Errorf(engram.Exhausted, "", "%d marks; at most %d can stand", len(all), MaxMarks)
	}
	next := &marks{turn: x.w.turns.Add(1)}
	for i := range all {
		m, err := all[i].Of.Matcher()
		if err != nil {
			return err
		}
		next.of, next.told = append(next.of, m), append(next.told, &all[i].Mark)
	}
	if len(all) == 0 {
		next = nil
	}
	x.w.marks.Store(next)
	return nil
}

// Mark returns the newest of the marks that name an entity, nil if none does; the entity need not
// be there.
func (x Values) Mark(entity engram.ID) *engram.Mark {
	if m := x.w.marks.Load(); m != nil {
		return m.at(m.find(entity))
	}
	return nil
}

// MarkStretch is by how much a mark by itself stretches the bounds of an entity of confidence 1.
func MarkStretch() float64 { return stretchFor(MarkUses, 1) }

// find returns the place of the first mark that names an entity, from 1 on; 0 if none does.
func (m *marks) find(entity engram.ID) uint32 {
	for i, of := range m.of {
		if of.Match(entity) {
			return uint32(i) + 1
		}
	}
	return 0
}

func (m *marks) at(place uint32) *engram.Mark {
	if place == 0 {
		return nil
	}
	return m.told[place-1]
}

// mark returns the newest mark that names the entity, nil if none does. Patterns are matched when
// it is asked for the first time after they changed.
func (e *entity) mark() *engram.Mark {
	all := e.provider.core.memory.marks.Load()
	if all == nil {
		return nil
	}
	noted := e.marked.Load()
	if noted>>placeBits != all.turn<<placeBits>>placeBits {
		noted = all.turn<<placeBits | all.find(e.id)
		e.marked.Store(noted)
	}
	return all.at(noted & (1<<placeBits - 1))
}
