package schedule

import (
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/due"
)

// Status says how far an execution has come. The values are those of engram.skill.Status.
type Status uint8

// Constructing and Initializing are for providers that tell of them.
const (
	Constructing Status = iota
	Initializing
	Preparing // waits for resources or its provider, or was called and has not begun
	Running
	Succeeded
	Failed
	Aborted
	Stopping // was told to stop, and has not confirmed that
)

var statuses = [...]string{"Constructing", "Initializing", "Preparing", "Running", "Succeeded", "Failed", "Aborted", "Stopping"}

// String returns the status as engram.skill.Status has it.
func (s Status) String() string {
	if int(s) < len(statuses) {
		return statuses[s]
	}
	return strconv.Itoa(int(s))
}

// Ended reports whether the status is the last.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Aborted }

// Reason says why an execution is to stop. The values are those of engram.skill.StopReason.
type Reason uint8

// The reasons.
const (
	Asked        Reason = iota // by its caller or an operator
	ParentEnded                // what called it stops or has ended
	Preempted                  // another one with a higher priority needs a resource
	TimeLimit                  // it took too long
	ProviderLost               // its provider's lease is over
	CallerGone                 // its caller's lease is over
	Waited                     // it waited too long for its provider or its resources
	Condition                  // a term that it requires does not hold
)

var reasons = [...]string{"Asked", "ParentEnded", "Preempted", "TimeLimit", "ProviderLost", "CallerGone", "Waited", "Condition"}

// String returns the reason as engram.skill.StopReason has it.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return strconv.Itoa(int(r))
}

// weight is how much a reason counts beside others.
func (r Reason) weight() int {
	switch r {
	case Preempted:
		return 0
	case TimeLimit:
		return 1
	}
	return 2
}

// fails reports whether what stops for the reason has failed; else it was aborted.
func (r Reason) fails() bool {
	return r == TimeLimit || r == ProviderLost || r == Waited || r == Condition
}

// Answer says what a provider answered when it was told to stop. The values are those of
// engram.skill.StopAnswer.
type Answer uint8

// The answers.
const (
	Pending     Answer = iota
	Confirmed          // it stands still
	Unconfirmed        // it did not answer in time
	Refused            // it goes on
)

var answers = [...]string{"Pending", "Confirmed", "Unconfirmed", "Refused"}

// String returns the answer as engram.skill.StopAnswer has it.
func (a Answer) String() string {
	if int(a) < len(answers) {
		return answers[a]
	}
	return strconv.Itoa(int(a))
}

// Stop says why and how an execution stops.
type Stop struct {
	Reason   Reason
	Message  string
	By       engram.ID   // what caused it, such as an abort or another execution; the root if nothing did
	Deadline engram.Time // of the answer; 0 where none is needed
	Answer   Answer
}

// Task is an execution.
type Task struct {
	ID        engram.ID // Skill/Execution/PROVIDER/NAME
	Skill     engram.ID // Skill/Description/PROVIDER/NAME
	Parent    engram.ID // the execution that called it; the root if none did
	Resources []string  // that it needs for itself
	Priority  int       // a task has at least that of its parent
	Asked     engram.Time

	Patience    time.Duration // how long it may wait to be called; 0 is for ever
	Limit       time.Duration // how long it may take from when it was called; 0 is for ever
	StopWithin  time.Duration // how long its provider has to answer when it is told to stop
	Preemptible bool
	Repeatable  bool // is called again where its provider was lost, if no other execution called it

	Rehearsal   bool          // nothing is stopped for it
	CallerLease time.Duration // for how long its caller may not be heard; 0 is for ever

	Status Status
	Called engram.Time // when it was handed to its provider; 0 before
	Epoch  uint64      // of the provider that it was handed to
	Stop   *Stop       // nil if it was never told to stop
}

// Provider returns the name of who offers the skill.
func (t *Task) Provider() string { return t.Skill.ProviderSegment() }

// entry is a task as the schedule holds it.
type entry struct {
	Task
	parent   *entry
	children map[*entry]bool
	next     *Stop  // that is wanted, too, for when the provider refuses the present one
	seq      uint64 // order in which it was asked for
	timer    due.Timer[any]
	caller   due.Timer[any] // its caller is gone; Of is a callerOf
}

// active reports whether its provider has it.
func (e *entry) active() bool { return e.Called != 0 && !e.Status.Ended() }

// within reports whether e is o, or was called by it, directly or not.
func (e *entry) within(o *entry) bool {
	for ; e != nil; e = e.parent {
		if e == o {
			return true
		}
	}
	return false
}

// before reports whether e is served before o.
func (e *entry) before(o *entry) bool {
	return e.Priority > o.Priority || e.Priority == o.Priority && e.seq < o.seq
}
