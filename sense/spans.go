package sense

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// maxSpans bounds the spans of a rule; the oldest go first.
const maxSpans = 64

// spans are times in which a rule wants what comes: disjoint, and sorted.
type spans []engram.Interval

func (s spans) contain(t engram.Time) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].Contains(t) {
			return true
		}
	}
	return false
}

// add adds an interval and returns the parts of it that were not there.
func (s *spans) add(iv engram.Interval) (fresh []engram.Interval) {
	if iv.Empty() {
		return nil
	}
	at, merged := iv.Start, iv
	var rest spans
	for _, o := range *s {
		if o.End < iv.Start || o.Start > iv.End {
			rest = append(rest, o)
			continue
		}
		if o.Start > at {
			fresh = append(fresh, engram.Interval{Start: at, End: min(o.Start, iv.End)})
		}
		at = max(at, o.End)
		merged.Start, merged.End = min(merged.Start, o.Start), max(merged.End, o.End)
	}
	if at < iv.End {
		fresh = append(fresh, engram.Interval{Start: at, End: iv.End})
	}
	i, _ := slices.BinarySearchFunc(rest, merged, func(a, b engram.Interval) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	*s = slices.Insert(rest, i, merged)
	if len(*s) > maxSpans {
		*s = slices.Delete(*s, 0, len(*s)-maxSpans)
	}
	return fresh
}

// cut ends the span that has no end.
func (s spans) cut(end engram.Time) {
	if n := len(s); n > 0 && s[n-1].End == engram.MaxTime {
		s[n-1].End = max(end, s[n-1].Start+1)
	}
}
