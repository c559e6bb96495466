package idf

import (
	"cel.dev/cel-go/interpreter"

	"github.com/seed-301d4374/engram"
)

// FilterMeter counts what filters cost over many instances, in steps: about 50 ns each. It
// is used by one goroutine.
type FilterMeter struct {
	// Left is how many steps are left; below zero it is used up, and evaluation ends.
	Left int64
	// Pause, unless it is nil, is called about every millisecond of evaluation, also amid
	// one. Its error ends the evaluation.
	Pause func() error

	since int64 // steps since Pause was called
	err   error
}

// Err returns why the meter lets nothing be evaluated any more: Pause's error, or Exhausted.
func (m *FilterMeter) Err() error { return m.err }

// errTooManySteps ends an evaluation, as CEL's own limits do.
var errTooManySteps = interpreter.EvalCancelledError{Message: "too many steps", Cause: interpreter.CostLimitExceeded}

// begin gives an evaluation the steps that it may take.
func (v *filterInput) begin(m *FilterMeter, steps int64) {
	v.meter, v.steps, v.due = m, steps, 0
	if m == nil {
		return
	}
	v.steps = max(0, min(steps, m.Left))
	if m.Pause != nil {
		v.due = max(0, v.steps-(filterPause-m.since))
	}
	v.granted = v.steps
}

// charge counts steps and ends the evaluation when there were too many.
func (v *filterInput) charge(steps int) {
	if v.steps -= int64(steps); v.steps < v.due && !v.look() {
		panic(errTooManySteps)
	}
}

// look reports whether the evaluation may go on, where that is to be looked at again.
func (v *filterInput) look() bool {
	if v.steps < 0 {
		return false
	}
	m := v.meter
	if m.err == nil {
		m.err = m.Pause()
	}
	if m.err != nil {
		return false
	}
	v.due, m.since = max(0, v.steps-filterPause), -(v.granted - v.steps)
	return true
}

// settle takes what an evaluation cost off what the meter has left.
func (v *filterInput) settle() {
	m, used := v.meter, v.granted-v.steps
	m.Left -= used
	m.since += used
	if m.err == nil && m.Left < 0 {
		m.err = engram.Errorf(engram.Exhausted, "filter", "the steps that it may take in all are used up")
	}
}
