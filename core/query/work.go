package query

import (
	"context"
	"math"
	"runtime"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// work is what a query, or a reader of its own, computes: it compiles regular expressions and matches names with them,
// and its filter looks at values. All of it has one budget, and takes turns with others if
// it takes long. It is used by one goroutine.
type work struct {
	ctx    context.Context
	gate   gate
	over   <-chan struct{} // see Begin
	meter  idf.FilterMeter
	budget int64
	inTurn bool
	since  int64 // steps of names since others were given way to
	err    error
}

const (
	// freeSteps are computed without waiting for a turn: about 50 ms.
	freeSteps = 1_000_000
	// pauseSteps lie between two looks at whether to go on, while names are matched: about a millisecond.
	pauseSteps = 20_000
	// compileSteps are those of compiling a regular expression, for each instruction.
	compileSteps = 20
	// instsPerStep are tried in a step, of a regular expression, for each byte of a name.
	instsPerStep = 4
)

// work begins with a budget of so many steps (see [idf.FilterMeter]); 0 is no bound.
func (c *Compiler) work(ctx context.Context, budget int64) *work {
	if budget == 0 {
		budget = math.MaxInt64
	}
	w := &work{ctx: ctx, gate: c.gate, budget: budget}
	w.meter = idf.FilterMeter{Left: budget, Pause: w.pause}
	return w
}

// long reports whether turns are to be taken from here on.
func (w *work) long() bool { return !w.inTurn && w.budget-w.meter.Left > freeSteps }

// spend takes steps off the budget before they are computed.
func (w *work) spend(steps int64) error {
	if w.err != nil {
		return w.err
	}
	if w.meter.Left -= steps; w.meter.Left < 0 {
		w.err = w.exhausted("names", "matching names and evaluating its filter")
		return w.err
	}
	if w.since += steps; w.since >= pauseSteps {
		w.since = 0
		w.err = w.pause()
	}
	return w.err
}

// matches matches a name. What is costly takes a turn, if others wait.
func (w *work) matches(m *engram.NameMatcher, name string) (bool, error) {
	steps := int64(m.Instructions()) * int64(len(name)) / instsPerStep
	if steps > 100 && w.err == nil && w.long() {
		if w.err = w.take(); w.err != nil {
			return false, w.err
		}
		defer w.Yield()
	}
	if err := w.spend(1 + steps); err != nil {
		return false, err
	}
	return m.Match(name), nil
}

func (w *work) exhausted(about, what string) error {
	return engram.Errorf(engram.Exhausted, about, "%s took more than the %d steps that one query may take; ask of fewer entities or a shorter time, or with expressions that go through less", what, w.budget)
}

// Begin takes a turn for several snapshots within a call; until [Filter.Yield] ends it, the caller must wait for nothing
// else. If over, which may be nil, is closed, the filter cannot go on.
func (w *work) Begin(ctx context.Context, over <-chan struct{}) error {
	w.ctx, w.over = ctx, over
	if w.err = w.given(); w.err == nil {
		w.meter = idf.FilterMeter{Left: w.meter.Left, Pause: w.pause}
		w.err = w.take()
	}
	return w.err
}

// Yield ends a turn.
func (w *work) Yield() {
	if w.inTurn {
		w.inTurn = false
		w.gate.leave()
	}
}

func (w *work) take() error {
	if err := w.gate.enter(w.ctx, w.over); err != nil {
		return err
	}
	w.inTurn = true
	return nil
}

// pause gives way to others.
func (w *work) pause() error {
	if w.inTurn {
		w.Yield()
		runtime.Gosched()
		if err := w.take(); err != nil {
			return err
		}
	}
	return w.given()
}

// given returns a Canceled error if the work was given up.
func (w *work) given() error {
	select {
	case <-w.over:
		return errOver
	default:
		return checkContext(w.ctx)
	}
}
