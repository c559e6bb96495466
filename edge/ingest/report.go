package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// Report tells what became of a recording.
type Report struct {
	File   string // as it was given
	Source string // the provider segments' name; "" if they keep theirs
	Topics []TopicReport
	// Messages counts those read, Stored and Refused the entity updates made of
	// them; a message with several transforms is several updates. Skipped counts
	// messages that the mapping leaves out.
	Messages, Stored, Refused, Skipped uint64
	// Shifted counts updates whose stamp another one of their entity had already: they
	// stand at the next free nanosecond.
	Shifted uint64
	// Evicted counts those of the stored that the memory dropped before the import
	// ended, to stay within its bounds; Evictions tells where and why. Superseded
	// counts what the same entities held before at equal times, such as of an earlier
	// import of the same recording, and have a successor of now.
	Evicted, Superseded uint64
	Evictions           []Eviction
	// Displaced counts what the same entities held before and dropped for the import.
	Displaced uint64
	Bytes     uint64          // of the messages read
	Span      engram.Interval // of the log times; empty without messages
	Took      time.Duration
	Loss      []recording.Loss
	// Clocks tells of topics whose times do not fit those of the others, most of which lie
	// ClockOffset after their log times. Of what comes back under its own times nothing is
	// said.
	Clocks      []ClockFinding
	ClockOffset time.Duration
	// Unmatched are the patterns of [Options.Times] that no topic fits.
	Unmatched []string
}

// Lossy reports whether something of the recording is not in the memory: a part
// could not be read, updates were refused, or they are evicted already.
func (r *Report) Lossy() bool { return len(r.Loss) > 0 || r.Refused > 0 || r.Evicted > 0 }

// maxLossReasons is how many reasons [Report.LossSummary] has.
const maxLossReasons = 3

// LossSummary returns one line that names what could not be read: bytes, messages,
// span, topics and why; "" if nothing was lost.
func (r *Report) LossSummary() string {
	if len(r.Loss) == 0 {
		return ""
	}
	sum := recording.Loss{File: r.File, Offset: r.Loss[0].Offset}
	var reasons []string
	for _, l := range r.Loss {
		if !slices.Contains(reasons, l.Reason) {
			reasons = append(reasons, l.Reason)
		}
		sum.Bytes += l.Bytes
		sum.Messages += l.Messages
		sum.Topics = append(sum.Topics, l.Topics...)
		sum.Beyond = sum.Beyond || l.Beyond
		if l.HasSpan {
			if !sum.HasSpan {
				sum.Span = l.Span
			}
			sum.HasSpan = true
			sum.Span.Start, sum.Span.End = min(sum.Span.Start, l.Span.Start), max(sum.Span.End, l.Span.End)
		}
	}
	if n := len(reasons) - maxLossReasons; n > 0 {
		reasons = append(reasons[:maxLossReasons:maxLossReasons], fmt.Sprintf("and %d more", n))
	}
	sum.Reason = strings.Join(reasons, "; ")
	slices.Sort(sum.Topics)
	sum.Topics = slices.Compact(sum.Topics)
	return sum.String()
}

// TopicReport tells what became of one topic's messages of one type; of an MCAP file's
// attachments, and of its records of metadata, which are no messages.
type TopicReport struct {
	Topic    string
	Type     string // message type as recorded; "" if it has none
	Encoding string
	Messages uint64
	Targets  []engram.ID // the core segments, sorted
	Stored   uint64
	Evicted  uint64 // of the stored, gone already
	// Shifted and Superseded are as in [Report].
	Shifted    uint64
	Superseded uint64
	Refused    uint64
	Skipped    uint64
	Reasons    []Reason // why updates were refused, the most frequent first
	// Noted is what the memory said of updates that it stored, such as that they were left
	// out of the poses, the most frequent first.
	Noted []Reason
	// Chosen says by what a rule chose the target where that could be otherwise, such as the topic's
	// name, and Otherwise is the core segment that messages of this type go to else, as [Mapping.Send]
	// takes it; "" if all of the type go there.
	Chosen, Otherwise string
	// Notes say what is not as the mapping has it, such as messages that went to
	// GeneralPurpose because they do not fit their segment.
	Notes []string
}

// Reason is why updates were refused, or what was said of them, and how many.
type Reason struct {
	Text  string
	Code  engram.Code
	Count uint64
}

// maxReasons bounds the different reasons kept for a topic.
const maxReasons = 16

// refuse counts n refused updates.
func (t *TopicReport) refuse(err error, n uint64) {
	t.Refused += n
	t.Reasons = counted(t.Reasons, err, n)
}

// counted counts n updates with the reason err.
func counted(reasons []Reason, err error, n uint64) []Reason {
	text, code := err.Error(), engram.CodeOf(err)
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Msg != "" {
		text = e.Msg // without the thing, which differs from one update to the next
	}
	text, _, _ = strings.Cut(text, "\n")
	for i := range reasons {
		if r := &reasons[i]; r.Text == text || i == maxReasons {
			r.Count += n
			return reasons
		}
	}
	if len(reasons) == maxReasons {
		text = "other reasons"
	}
	return append(reasons, Reason{Text: text, Code: code, Count: n})
}

func (t *TopicReport) note(text string) {
	if !slices.Contains(t.Notes, text) && len(t.Notes) < maxReasons {
		t.Notes = append(t.Notes, text)
	}
}

func (t *TopicReport) target(id engram.ID) {
	if !slices.Contains(t.Targets, id) {
		t.Targets = append(t.Targets, id)
		slices.SortFunc(t.Targets, engram.ID.Compare)
	}
}

// finish sums the topics up of an import that began then, and names the recording in an
// error of the destination.
func (r *Report) finish(ctx context.Context, began time.Time, err error) error {
	slices.SortFunc(r.Topics, func(a, b TopicReport) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), strings.Compare(a.Type, b.Type))
	})
	for i := range r.Topics {
		t := &r.Topics[i]
		r.Messages += t.Messages
		r.Stored += t.Stored
		r.Refused += t.Refused
		r.Skipped += t.Skipped
		r.Shifted += t.Shifted
		r.Evicted += t.Evicted
		r.Superseded += t.Superseded
		for _, reasons := range [2][]Reason{t.Reasons, t.Noted} {
			slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
		}
	}
	r.Took = time.Since(began)
	if err == nil {
		return nil
	}
	code := engram.CodeOf(err)
	if ctx.Err() != nil {
		code = engram.Canceled
	}
	return engram.Errorf(code, r.File, "the import ended early: %w", err)
}
