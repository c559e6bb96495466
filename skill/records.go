package skill

import (
	"time"

	"github.com/seed-301d4374/engram"
)

// Memory is the name of the memory of skills. Other robots know it as "robot1:Skill".
const Memory = "Skill"

// Status is how far an execution has come. Its numbers are those of engram.skill.Status.
type Status int32

// The statuses. An execution passes Constructing, Initializing, Preparing and Running in this
// order, and ends with Succeeded, Failed or Aborted.
const (
	Constructing Status = iota // the request was claimed
	Initializing               // parameters are checked, filled in and resolved
	Preparing                  // it waits: for its provider, resources, conditions, its turn
	Running
	Succeeded
	Failed
	Aborted
	Stopping // it was told to stop, and has not said yet that it stands still
)

// Ended reports whether the status is one that no other follows.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Aborted }

// String returns the status's name, such as "Running".
func (s Status) String() string {
	return nameOf(int(s), "Constructing", "Initializing", "Preparing", "Running", "Succeeded", "Failed", "Aborted", "Stopping")
}

// StopAnswer is what came of asking to stop.
type StopAnswer int32

// The answers.
const (
	Pending     StopAnswer = iota // none yet
	Confirmed                     // all stands still
	Unconfirmed                   // no answer by the deadline: it may still move
	Refused                       // it goes on
)

// String returns the answer's name, such as "Confirmed".
func (a StopAnswer) String() string {
	return nameOf(int(a), "Pending", "Confirmed", "Unconfirmed", "Refused")
}

// CallAction is what a provider is told to do.
type CallAction int32

// The actions.
const (
	StartAction CallAction = iota
	StopAction
)

// String returns the action's name.
func (a CallAction) String() string { return nameOf(int(a), "Start", "Stop") }

// ReportKind is what a provider says of an execution.
type ReportKind int32

// The kinds of reports.
const (
	ReportAccepted ReportKind = iota
	ReportRunning
	ReportSucceeded
	ReportFailed
	ReportStopped
	ReportStopRefused
)

// String returns the kind's name.
func (k ReportKind) String() string {
	return nameOf(int(k), "Accepted", "Running", "Succeeded", "Failed", "Stopped", "StopRefused")
}

func nameOf(i int, names ...string) string {
	if i < 0 || i >= len(names) {
		return "unknown"
	}
	return names[i]
}

// The reasons of stops and aborts.
const (
	ReasonOperator        = "operator"
	ReasonParent          = "parent"
	ReasonPreempted       = "preempted"
	ReasonTimeout         = "timeout"
	ReasonCondition       = "condition"
	ReasonLostProvider    = "lost_provider"
	ReasonCallerGone      = "caller_gone"
	ReasonDisabled        = "disabled"
	ReasonServerRestarted = "server_restarted"
)

// The codes of failures that the memory itself finds; providers have others of their own.
const (
	CodeUnknownSkill    = "unknown_skill"
	CodeParameters      = "invalid_parameters"
	CodeOutOfService    = "out_of_service"
	CodeDisabled        = "disabled"
	CodeTimeout         = "timeout"
	CodeLostProvider    = "lost_provider"
	CodeServerRestarted = "server_restarted"
	CodeDeadlock        = "deadlock"
	CodeProvider        = "provider" // an error without a code of its own
)

// Values of [Failure].Retry: whether trying again may help.
const (
	RetryYes   = "yes"
	RetryLater = "later"
	RetryNo    = "no"
)

// Values of OnCallerGone.
const (
	ContinueWhenGone = "continue"
	AbortWhenGone    = "abort"
)

// DefaultLease is how long a provider is believed to live without a word, DefaultStopTimeout
// how long coming to a standstill may take, where nothing else is said.
const (
	DefaultLease       = 1500 * time.Millisecond
	DefaultStopTimeout = 2 * time.Second
)

// The records are what the entities of the memory hold, one Go type for each of the types
// engram.skill.*; [Types] turns them into payloads and back. Members named as there, in
// snake case. A zero value of an optional member is left unset.

// Requirement is a condition on the present state: that some entity of the pattern satisfies
// the filter with its newest snapshot, or with None that none does.
type Requirement struct {
	Name    string
	Pattern string
	Where   string
	None    bool          `idf:",optional"`
	MaxAge  time.Duration `idf:",optional"`
}

// Description is what a skill does and what it takes.
type Description struct {
	Name              string
	Description       string
	SkillProvider     string
	ParameterType     string // full name of a type, "" if it takes anything
	ResultType        string
	DefaultParameters any           `idf:",optional"`
	Timeout           time.Duration `idf:",optional"` // from Running on; 0: none
	Resources         []string
	Subskills         []engram.ID
	Priority          int32         `idf:",optional"`
	ExpectedDuration  time.Duration `idf:",optional"`
	StopTimeout       time.Duration `idf:",optional"`
	Resumable         bool          `idf:",optional"`
	Preemptible       bool          `idf:",optional"`
	OnCallerGone      string
	Symbolic          map[string]string
	Conditions        []Requirement
	Scripted          any `idf:",optional"`
}

// StopWithin returns how long coming to a standstill may take.
func (d *Description) StopWithin() time.Duration {
	if d.StopTimeout > 0 {
		return d.StopTimeout
	}
	return DefaultStopTimeout
}

// ProviderState says that a provider lives, or ends (engram.skill.Provider).
type ProviderState struct {
	Timestamp engram.Time
	Epoch     int64
	Lease     time.Duration
	InService bool
}

// Switch says that a skill is enabled or disabled.
type Switch struct {
	Timestamp engram.Time
	Skill     engram.ID // the description
	Enabled   bool
	By        string
	Reason    string
}

// Request asks for an execution.
type Request struct {
	// Memory is where to ask, such as "robot1:Skill"; "" means [Memory].
	Memory string `idf:"-"`
	// Name is the request's entity name, used once; "" has [Start] make one.
	Name string `idf:"-"`

	Timestamp    engram.Time // 0 has [Start] take the present
	Skill        string      // "MoveTo", or with its provider "Base/MoveTo"
	Parameters   any         `idf:",optional"` // a map, or a struct as for [Handle]
	Caller       string
	Parent       engram.ID     `idf:",optional"`
	Cause        engram.ID     `idf:",optional"`
	Priority     *int32        `idf:",optional"`
	Timeout      time.Duration `idf:",optional"` // from now on, waiting included
	OnCallerGone string
	CallerLease  time.Duration `idf:",optional"`
	DryRun       bool          `idf:",optional"`
	Condition    engram.ID     `idf:",optional"` // that asks, if one does
}

// AbortOrder says that a request shall not be executed, or not any further (engram.skill.Abort).
type AbortOrder struct {
	Timestamp engram.Time
	Request   engram.ID
	Reason    string
	Message   string
	By        string
}

// Stop is that an execution was asked to stop, and what came of it.
type Stop struct {
	Reason   string
	Message  string
	By       string
	Asked    engram.Time
	Deadline engram.Time `idf:",optional"`
	Answer   StopAnswer
}

// Failure is why something failed. It is an error.
type Failure struct {
	Code      string
	Stage     []string // the path through nested skills, outermost first
	Message   string
	Retry     string // RetryYes, RetryLater, RetryNo, or "" if nobody knows
	BlockedBy []engram.ID
}

// Execution is how far an execution has come.
type Execution struct {
	ID engram.ID `idf:"-"`

	Timestamp     engram.Time // when the status was reached
	Skill         engram.ID
	Status        Status
	Parameters    any `idf:",optional"`
	Result        any `idf:",optional"`
	Caller        string
	Parent        engram.ID `idf:",optional"`
	Cause         engram.ID `idf:",optional"`
	Started       engram.Time
	Progress      float64 `idf:",optional"`
	Message       string
	Request       engram.ID `idf:",optional"`
	SkillProvider string
	ProviderEpoch int64       `idf:",optional"`
	Attempt       int32       `idf:",optional"`
	Priority      int32       `idf:",optional"`
	ExpectedEnd   engram.Time `idf:",optional"`
	Deadline      engram.Time `idf:",optional"`
	Resources     []string
	Stop          *Stop    `idf:",optional"`
	Failure       *Failure `idf:",optional"`
	Intermediate  any      `idf:",optional"`
	DryRun        bool     `idf:",optional"`
}

// Order is what the memory tells a provider (engram.skill.Call).
type Order struct {
	Timestamp     engram.Time
	Execution     engram.ID
	Skill         string
	Action        CallAction
	Parameters    any `idf:",optional"`
	ProviderEpoch int64
	Attempt       int32
	Deadline      engram.Time `idf:",optional"`
	Reason        string
	Caller        string
	Cause         engram.ID `idf:",optional"`
}

// Report is what a provider says of an execution.
type Report struct {
	Timestamp     engram.Time
	Execution     engram.ID
	ProviderEpoch int64
	Attempt       int32 `idf:",optional"`
	Kind          ReportKind
	Progress      float64 `idf:",optional"`
	Message       string
	Intermediate  any      `idf:",optional"`
	Result        any      `idf:",optional"`
	Failure       *Failure `idf:",optional"`
}

// Transition is a change of an execution's status.
type Transition struct {
	Timestamp  engram.Time
	Execution  engram.ID // the snapshot that begins with it
	FromStatus *Status   `idf:",optional"`
	ToStatus   Status
	Reason     string
}

// Plan is what shall be done to reach a goal.
type Plan struct {
	Timestamp engram.Time
	Goal      string
	Steps     []PlanStep
	Cause     engram.ID `idf:",optional"`
	Status    *Status   `idf:",optional"`
}

// PlanStep is a step of a [Plan].
type PlanStep struct {
	Skill      string
	Parameters any       `idf:",optional"`
	Execution  engram.ID `idf:",optional"`
	Status     *Status   `idf:",optional"`
	Message    string
}
