package clock

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// Ask asks a server for its clock: when the question came and when the answer left.
type Ask func(ctx context.Context) (received, sent engram.Time, err error)

// Sample is one measurement.
type Sample struct {
	// Offset is what must be added to this clock to have the other's: positive if the
	// other one is ahead.
	Offset time.Duration
	// Delay is how long question and answer were on their way; the offset is wrong by
	// at most half of it.
	Delay time.Duration
	At    engram.Time // by this clock
}

// Uncertainty bounds how wrong the offset can be.
func (s Sample) Uncertainty() time.Duration { return s.Delay / 2 }

// Least returns how far the clocks are apart at least: the offset, less what it may be wrong by.
func (s Sample) Least() time.Duration { return s.Offset.Abs() - s.Uncertainty() }

// Side says on which side of this clock the other one is: "ahead of" or "behind".
func (s Sample) Side() string {
	if s.Offset < 0 {
		return "behind"
	}
	return "ahead of"
}

// Differences between clocks, less what they may be wrong by.
const (
	Apart = 100 * time.Millisecond // from which on they are noted
	Far   = time.Second            // from which on they are a trouble
)

// agrees reports whether both samples can be right about clocks that were not set in
// between.
func (s Sample) agrees(o Sample) bool {
	d := s.Offset - o.Offset
	return max(d, -d) <= s.Uncertainty()+o.Uncertainty()+tolerance
}

// tolerance is what clocks may drift apart between samples that agree.
const tolerance = 5 * time.Millisecond

// Measure asks n times and returns the sample with the least delay. The error is that of
// the first question, or Unsupported if the server does not tell its clock.
func Measure(ctx context.Context, now func() engram.Time, n int, ask Ask) (best Sample, err error) {
	for i := range max(n, 1) {
		s, err := measure(ctx, now, ask)
		switch {
		case err != nil && i == 0:
			return s, err
		case err != nil:
			return best, nil
		case i == 0 || s.Delay < best.Delay:
			best = s
		}
	}
	return best, nil
}

func measure(ctx context.Context, now func() engram.Time, ask Ask) (Sample, error) {
	t1 := now()
	t2, t3, err := ask(ctx)
	t4 := now()
	switch {
	case err != nil:
		return Sample{}, err
	case t2 <= 0 || t3 <= 0:
		return Sample{}, engram.Errorf(engram.Unsupported, "", "the server does not tell its clock; it is of an earlier release")
	}
	// All are positive, so that no difference overflows. A clock that was set meanwhile
	// can make the delay negative.
	return Sample{
		Offset: time.Duration((t2-t1)/2 + (t3-t4)/2),
		Delay:  max(time.Duration(t4-t1)-max(time.Duration(t3-t2), 0), 0),
		At:     t4,
	}, nil
}

// kept is how many samples a filter keeps.
const kept = 8

// Filter is the minimum-delay filter over the last samples of one server. Its zero value
// is ready for use.
type Filter struct{ samples []Sample }

// Add takes a sample in, and forgets the others if it contradicts the best of them: then
// one of the clocks was set.
func (f *Filter) Add(s Sample) {
	if best, ok := f.Best(); ok && !best.agrees(s) {
		f.samples = nil
	}
	f.samples = append(f.samples, s)
	if len(f.samples) > kept {
		f.samples = f.samples[1:]
	}
}

// Best returns the sample with the least delay; false if there is none.
func (f *Filter) Best() (best Sample, ok bool) {
	for i, s := range f.samples {
		if i == 0 || s.Delay < best.Delay {
			best = s
		}
	}
	return best, len(f.samples) > 0
}
