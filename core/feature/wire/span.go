package wire

import (
	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Interval returns the interval of two times in nanoseconds.
func Interval(start, end int64) engram.Interval {
	return engram.Interval{Start: engram.Time(start), End: engram.Time(end)}
}

// SpanMessage returns the message of an interval.
func SpanMessage(iv engram.Interval) *engramv1.TimeSpan {
	return &engramv1.TimeSpan{Start: int64(iv.Start), End: int64(iv.End)}
}

// Span is the inverse of SpanMessage.
func Span(m *engramv1.TimeSpan) engram.Interval { return Interval(m.GetStart(), m.GetEnd()) }

// AskedSpan is the span that a request is about; all times if it names none.
func AskedSpan(m *engramv1.TimeSpan) engram.Interval {
	if m == nil {
		return engram.Always()
	}
	return Span(m)
}
