package recording

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Loss is a part of a recording that could not be read.
type Loss struct {
	File     string
	Offset   int64    // where it begins in the file
	Bytes    int64    // of the file; 0 if that is unknown
	Messages uint64   // as far as is known
	Topics   []string // as far as is known, sorted
	// Span is from the first to just after the last lost message; HasSpan is false
	// if that is unknown.
	Span    engram.Interval
	HasSpan bool
	// Beyond says that the file was cut: what lay behind its end is lost too, and how
	// much that was is unknown. Topics are then those that the rest of the file has.
	Beyond bool
	Reason string
}

// String returns one line that names the loss.
func (l Loss) String() string {
	var b strings.Builder
	part := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	switch {
	case l.Bytes > 0:
		part("%s bytes at %s", grouped(uint64(l.Bytes)), grouped(uint64(max(l.Offset, 0))))
	case l.Beyond:
		part("all from byte %s on", grouped(uint64(max(l.Offset, 0))))
	}
	if l.Messages > 0 {
		part("%s messages", grouped(l.Messages))
	}
	if l.HasSpan {
		last := max(l.Span.Start, l.Span.End.Add(-1)) // the end itself is not within the span
		part("%s to %s", spanTime(l.Span.Start), spanTime(last))
	}
	if len(l.Topics) > 0 {
		part("topics %s", strings.Join(l.Topics, " "))
	}
	if l.Beyond {
		part("beyond the cut unknown")
	}
	if b.Len() == 0 {
		return l.File + ": " + l.Reason
	}
	return l.File + ": " + b.String() + ": " + l.Reason
}

// spanTime prints a time as precisely as people compare them.
func spanTime(t engram.Time) string { return t.Std().Format("2006-01-02T15:04:05.000Z") }

// grouped prints n with its digits in groups of three.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
