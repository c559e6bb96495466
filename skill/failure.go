package skill

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Errorf makes a [Failure]. code is a short name of what kind it is, retry one of RetryYes,
// RetryLater, RetryNo and "", blockedBy what was in the way.
func Errorf(code, retry string, blockedBy []engram.ID, format string, args ...any) *Failure {
	return &Failure{Code: code, Retry: retry, BlockedBy: blockedBy, Message: fmt.Sprintf(format, args...)}
}

// Error returns the failure's sentence, with the path to where it failed.
func (f *Failure) Error() string {
	if len(f.Stage) == 0 {
		return cmp.Or(f.Message, f.Code)
	}
	return strings.Join(f.Stage, " > ") + ": " + cmp.Or(f.Message, f.Code)
}

// failureOf returns an error as a failure.
func failureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	f := &Failure{Code: CodeProvider, Message: err.Error()}
	if e, ok := errors.AsType[*engram.Error](err); ok {
		f.Code = strings.ReplaceAll(e.Code.String(), " ", "_")
		if e.Code == engram.Unavailable || e.Code == engram.TooNew {
			f.Retry = RetryLater
		}
	}
	return f
}

// Err returns why the execution came to no good end: its *[Failure], or one that says that it
// was aborted; nil if it succeeded or has not ended.
func (e *Execution) Err() error {
	switch {
	case e.Status == Failed && e.Failure != nil:
		return e.Failure
	case e.Status == Failed:
		return &Failure{Code: CodeProvider, Message: e.Message}
	case e.Status == Aborted:
		f := &Failure{Code: "aborted", Stage: []string{e.Skill.Entity()}, Message: cmp.Or(e.Message, "aborted")}
		if e.Stop != nil {
			f.Message = strings.TrimSuffix("aborted ("+e.Stop.Reason+"): "+e.Stop.Message, ": ")
			if e.Stop.Answer == Unconfirmed {
				f.Message += "; its standstill is not confirmed"
			}
		}
		return f
	}
	return nil
}
