package skill

import (
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// Description is what a provider offers, an entity of Skill/Description.
type Description struct {
	ID            engram.ID
	Text          string         // what it does, for people
	ParameterType string         // full name; empty if it takes none
	ResultType    string         // full name; empty if it gives none
	Defaults      map[string]any // of parameters
	TimeLimit     time.Duration  // of an execution; 0 is none
	Resources     []string       // parts of the robot that it needs for itself alone, such as "right_arm"
	Subskills     []engram.ID    // that it calls
	Priority      int
	StopWithin    time.Duration // how long stopping takes at most; [DefaultStopWithin] if 0
	Preemptible   bool          // it may be stopped for what has a higher priority
	Repeatable    bool          // it may be called again where its provider was lost
	// Requires are terms that must hold when it is called, and those that are lasting as long as it executes.
	Requires []condition.Term
	// Resolves are parameters that may name an entity of a pattern, such as location: Navigation/Location. The execution has in
	// Resolved what the entity says when it is called.
	Resolves map[string]string
}

// Rehearsal says how far a request goes. The values are those of engram.skill.Rehearsal.
type Rehearsal uint8

// The rehearsals.
const (
	Real   Rehearsal = iota // the skill is executed
	Check                   // it is told at once whether it could be called now
	DryRun                  // it waits for its turn and its resources, and its provider is not called
)

var rehearsals = [...]string{"Real", "Check", "DryRun"}

// String returns the rehearsal as engram.skill.Rehearsal has it.
func (r Rehearsal) String() string {
	if int(r) < len(rehearsals) {
		return rehearsals[r]
	}
	return strconv.Itoa(int(r))
}

// Request is that somebody asks for a skill, an entity of Skill/Request.
type Request struct {
	ID         engram.ID
	Skill      engram.ID
	Parameters map[string]any
	Caller     string
	Parent     engram.ID      // the execution that calls it; the root if none does
	Cause      engram.ID      // what it is asked for because of; the root if nothing is
	Priority   *int           // nil is the skill's
	Patience   *time.Duration // how long it may wait to be called; nil is [DefaultPatience], 0 is for ever
	TimeLimit  *time.Duration // nil is the skill's
	Condition  engram.ID      // that asks; the root if none does
	Rehearsal  Rehearsal
	// CallerLease has the execution be aborted where its caller was not heard for so long; 0 lets it go on without its caller.
	CallerLease time.Duration
}

// What holds where nothing is said.
const (
	DefaultPatience   = 10 * time.Second
	DefaultStopWithin = 500 * time.Millisecond
	// DefaultCallerLease is a lease for callers without whom nothing is to go on.
	DefaultCallerLease = 5 * time.Second
)

// Execution is a snapshot of Skill/Execution.
type Execution struct {
	ID          engram.ID // the entity
	Time        engram.Time
	Skill       engram.ID
	Status      schedule.Status
	Parameters  map[string]any
	Result      map[string]any
	Caller      string
	Parent      engram.ID
	Cause       engram.ID
	Started     engram.Time // when it was asked for
	Progress    float64     // from 0 to 1; negative is unknown
	Message     string
	Request     engram.ID   // the root: it is only noted, and not the memory's to run
	Called      engram.Time // when it was handed to its provider; 0 while it waits
	Epoch       uint64      // of the provider
	Priority    int
	Patience    time.Duration
	TimeLimit   time.Duration
	Resources   []string
	StopWithin  time.Duration
	Preemptible bool          // it may be stopped for what has a higher priority
	Repeatable  bool          // it may be called again where its provider was lost
	Expected    time.Duration // how long it takes in all, as its provider expects; 0 is unknown
	Stop        *schedule.Stop
	Failure     *Failure
	Condition   engram.ID // that asked for it; the root if none did
	Rehearsal   Rehearsal
	CallerLease time.Duration  // for how long its caller may not be heard; 0 is for ever
	Resolved    map[string]any // by the parameter, what it names: id, a link to a snapshot, and value, what that says
}

// Failure is why an execution failed.
type Failure struct {
	Code      string // one of the codes of errors, such as "unavailable", or a word of the provider
	Stage     string // the skills from the one that was called first to the one that failed, such as BringObject/GraspObject
	Message   string
	Retry     bool // trying again may help
	BlockedBy []engram.ID
}

// Error makes a failure an error.
func (f *Failure) Error() string {
	if f.Stage == "" {
		return f.Message
	}
	return f.Stage + ": " + f.Message
}

// Lease is that a provider is there, a snapshot of Skill/Provider.
type Lease struct {
	Epoch uint64
	Lease time.Duration
	// Renewal says that the lease was had before with this epoch. A server that does not know of that, since it began anew
	// and lost it, refuses it.
	Renewal bool
	Ended   bool // the provider ends, and stands still
}

// Bounds of leases.
const (
	ShortestLease = 100 * time.Millisecond
	LongestLease  = time.Minute
)
