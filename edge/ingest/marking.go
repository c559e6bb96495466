package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

const (
	// markSlack is how far a mark reaches beyond what it is set for at least: stamps lie
	// about the log times, and each mark that grows is a call.
	markSlack = 10 * time.Second
	// markApart is how far apart what is kept by different marks is.
	markApart = time.Hour
	// maxMarks of an import; then the nearest grows.
	maxMarks = 64
)

// marking has the long-term memories mark the spans of what is imported before it is
// committed, so that policies leave nothing out and nothing is forgotten by them.
type marking struct {
	set   func(ctx context.Context, memory string, m episode.Mark) error // nil: nothing is marked
	span  engram.Interval                                                // of the recording, as far as it is known
	marks []episode.Mark
	of    []string // the memories that have set them
}

// cover marks what updates are about, as far as it is not marked yet.
func (k *marking) cover(ctx context.Context, updates []engram.EntityUpdate) error {
	if k.set == nil {
		return nil
	}
	known := len(k.of)
	var grown []int
	for i := range updates {
		if memory := updates[i].Entity.Memory(); !slices.Contains(k.of, memory) {
			k.of = append(k.of, memory)
		}
		if mark, more := k.include(updates[i].Time); more && !slices.Contains(grown, mark) {
			grown = append(grown, mark)
		}
	}
	for i, memory := range k.of {
		for mark := range k.marks {
			if i < known && !slices.Contains(grown, mark) {
				continue
			}
			if err := k.set(ctx, memory, k.marks[mark]); err != nil {
				return err
			}
		}
	}
	return nil
}

// include makes a mark reach a time, and reports which, and whether it did not before.
func (k *marking) include(t engram.Time) (mark int, grown bool) {
	nearest, apart := -1, time.Duration(0)
	for i, m := range k.marks {
		d := max(m.Time.Add(-m.Before).Sub(t), t.Sub(m.Time.Add(m.After)))
		if d <= 0 {
			return i, false
		}
		if nearest < 0 || d < apart {
			nearest, apart = i, d
		}
	}
	if nearest < 0 || apart > markApart && len(k.marks) < maxMarks {
		m := episode.Mark{Time: t, Before: markSlack, After: markSlack}
		if s := k.span; !s.Empty() && t >= s.Start.Add(-markApart) && t < s.End.Add(markApart) {
			m.Time = s.Start
			m.Before = max(s.Start.Sub(t), 0) + markSlack
			m.After = max(s.End, t).Sub(s.Start) + markSlack
		}
		k.marks = append(k.marks, m)
		return len(k.marks) - 1, true
	}
	m := &k.marks[nearest]
	slack := max(markSlack, (m.Before+m.After)/8)
	if t < m.Time {
		m.Before = m.Time.Sub(t.Add(-slack))
	} else {
		m.After = t.Add(slack).Sub(m.Time)
	}
	return nearest, true
}
