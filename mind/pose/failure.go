package pose

import (
	"fmt"

	"github.com/seed-301d4374/engram"
)

// FailureCode says why a question has no answer.
type FailureCode uint8

// The failure codes.
const (
	OK           FailureCode = iota
	UnknownFrame             // no edge ever named the frame
	NotConnected             // the two frames were in different trees at that time
	TooOld                   // before the edge's first sample
	TooNew                   // after the edge's last sample; the only code worth waiting for
	Gap                      // between two samples further apart than MaxGap, or after the end of a re-parented edge
	Unset                    // the edge has no sample at all
	Pruned                   // the edge had samples at that time and retention dropped them
)

var failureNames = [...]string{"ok", "unknown frame", "not connected", "too old", "too new", "gap", "unset", "pruned"}

// String returns the code's words.
func (c FailureCode) String() string {
	if int(c) < len(failureNames) {
		return failureNames[c]
	}
	return "unknown failure"
}

// Code returns the code of the error that [Failure.Err] makes.
func (c FailureCode) Code() engram.Code {
	switch c {
	case OK:
		return 0
	case TooOld, Pruned:
		return engram.TooOld
	case TooNew:
		return engram.TooNew
	case Gap:
		return engram.OutOfRange
	}
	return engram.NotFound
}

// Failure is the reason why a question has no answer, as a value: making one
// allocates nothing. The zero Failure means that there is an answer.
type Failure struct {
	Code FailureCode
	Time engram.Time // the time asked for
	// First and Last are the times of the guilty edge's first and last sample, and
	// for a Gap those of the samples beside it. They mean nothing for UnknownFrame,
	// NotConnected and Unset.
	First, Last engram.Time

	about *subject
}

// subject is what a failure is about.
type subject struct {
	kind   string // "edge", "path" or "frame"
	of, to string // the frames; of alone for a frame
	edge   bell   // of an edge alone
}

// bell is an edge as far as a [Failure] knows it: whoever imports Failure would compile the
// histories of an *edge, too.
type bell interface {
	// written returns a channel that the next write closes.
	written() <-chan struct{}
}

// Edge returns the frames of the guilty edge; empty for UnknownFrame and
// NotConnected.
func (f Failure) Edge() (parent, child string) {
	if f.about == nil || f.about.edge == nil {
		return "", ""
	}
	return f.about.of, f.about.to
}

// Err returns nil for the zero Failure, and otherwise an [*engram.Error] whose
// cause is f.
func (f Failure) Err() error {
	if f.Code == OK {
		return nil
	}
	return &engram.Error{Code: f.Code.Code(), Thing: f.thing(), Msg: f.text(), Err: f}
}

// Error implements error.
func (f Failure) Error() string { return f.thing() + ": " + f.text() }

func (f Failure) thing() string {
	switch a := f.about; {
	case a == nil:
		return "look-up"
	case a.to == "":
		return a.kind + " " + a.of
	default:
		return a.kind + " " + a.of + " ← " + a.to
	}
}

func unknownFrame(name string, t engram.Time) Failure {
	return Failure{Code: UnknownFrame, Time: t, about: &subject{kind: "frame", of: name}}
}

// NoFrame returns the error for a frame that no edge names.
func NoFrame(name string) error { return unknownFrame(name, 0).Err() }

// NoWay returns the error for two frames that are in different trees at a time.
func NoWay(target, source string, t engram.Time) error {
	return Failure{Code: NotConnected, Time: t, about: &subject{kind: "path", of: target, to: source}}.Err()
}

// when names the time asked for.
func (f Failure) when() string {
	if f.Time == engram.MaxTime {
		return "the latest time"
	}
	return f.Time.String()
}

// endOfTime refuses data of engram.MaxTime, which stands for no end.
func endOfTime(code engram.Code, thing string) error {
	return engram.Errorf(code, thing, "engram.MaxTime is the end of open intervals and no time of data")
}

func (f Failure) text() string {
	switch f.Code {
	case OK:
		return "no failure"
	case UnknownFrame:
		return "there is no such frame; frames are made by the edges that name them"
	case NotConnected:
		return fmt.Sprintf("the frames are in different trees at %s", f.when())
	case Unset:
		return fmt.Sprintf("nothing was ever written to it (asked for %s)", f.when())
	case Gap:
		if f.Time >= f.Last {
			return fmt.Sprintf("%s lies after its last sample %v and before another parent took over", f.when(), f.Last)
		}
		return fmt.Sprintf("%v lies in the gap from %v to %v, which is longer than the edge's MaxGap", f.Time, f.First, f.Last)
	case TooOld:
		return fmt.Sprintf("%v is %v before its first sample %v (the last is %v)", f.Time, f.First.Sub(f.Time), f.First, f.Last)
	case TooNew:
		if f.Time == engram.MaxTime {
			return fmt.Sprintf("its last sample %v is not of the end of time (the first is %v)", f.Last, f.First)
		}
		return fmt.Sprintf("%v is %v after its last sample %v (the first is %v)", f.Time, f.Time.Sub(f.Last), f.Last, f.First)
	case Pruned:
		return fmt.Sprintf("%v is before %v; older samples were dropped by its retention", f.Time, f.First)
	}
	return f.Code.String()
}

// Flags say how an answer came about.
type Flags uint8

// The flags of an answer.
const (
	// Interpolated: between two samples of some edge.
	Interpolated Flags = 1 << iota
	// Held: some edge's last sample was used beyond its time.
	Held
	// Extrapolated: some edge's last motion was continued.
	Extrapolated
	// Defaulted: a joint that was never set took its default value.
	Defaulted
	// BeyondLinear: the rotation's total sigma exceeds 15°, and first order
	// covariances are no longer good.
	BeyondLinear
	// Static: no edge with samples took part.
	Static
)

var flagNames = [...]string{"interpolated", "held", "extrapolated", "defaulted", "beyond-linear", "static"}

// String returns the names of the flags that are set, joined by "+".
func (f Flags) String() string {
	s := ""
	for i, name := range flagNames {
		if f>>i&1 == 1 {
			if s != "" {
				s += "+"
			}
			s += name
		}
	}
	return s
}

// Revision numbers what was believed: each change of an answer already given
// makes the next one. The revision of a new store is 0.
type Revision uint64

// Info tells about an answer.
type Info struct {
	// TargetTime and SourceTime are the times at which the target and the source
	// frame are meant; they differ in an answer of Between. For LatestCommon on a
	// path without samples they are engram.MaxTime.
	TargetTime, SourceTime engram.Time
	Revision               Revision
	// Oldest is the time of the oldest sample used, anchors' keys left aside. It
	// means nothing if Static is set.
	Oldest engram.Time
	Flags  Flags
}
