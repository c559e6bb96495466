package pressure

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/seed-301d4374/engram/wm"
)

// When memory is short, and how budgets move.
const (
	Every     = 250 * time.Millisecond // how often a governor looks
	short     = 0.10                   // of the total is available, or less: budgets go down
	plenty    = 0.20                   // of the total is available, or more: budgets go up
	aim       = 0.15                   // what is to be available
	most      = 0.50                   // of the total is held by one server, at most
	margin    = 0.05                   // of the total less than that: budgets may go up
	scarce    = 0.30                   // of the total is available, or less: who waits for memory waits for this
	longStall = 0.10                   // of the time waited for it: budgets go down
	noStall   = 0.01                   // of the time: budgets may go up
	step      = 1.0 / 8                // of what is held goes for a stall
	recovery  = time.Minute            // from nothing to the whole bound
	least     = 1.0 / 64               // of its bound stays to each memory
	danger    = 0.05                   // of the total is available, or less: a server gives all that is missing at once
	remind    = 10 * time.Second       // between two lines of the log
)

// Memories are what a governor governs, such as [wm.Values].
type Memories interface {
	Budgets() []wm.Budget
	Mean(memory string) float64 // by how much what it holds is asked for, at least 1: by as much less it gives
	SetBudget(memory string, bytes int64) error
}

// Governor moves the budgets of memories. Make one with [NewGovernor]; it is used by one
// goroutine.
type Governor struct {
	memories Memories
	log      *slog.Logger
	// release gives memory that is not used any more back to the computer; held is what
	// the memories take.
	release func(held int64)
	restore func() // what release bounded is as before

	pressed bool // some budget is below its bound
	last    time.Time
	told    time.Time
}

// NewGovernor returns a governor of a process's memories.
func NewGovernor(m Memories, log *slog.Logger) *Governor {
	g := &Governor{memories: m, log: log, release: func(int64) { debug.FreeOSMemory() }, restore: func() {}}
	if os.Getenv("GOMEMLIMIT") == "" {
		usual := debug.SetMemoryLimit(-1)
		g.release = func(held int64) {
			debug.SetMemoryLimit(min(usual, held+held/4+128<<20))
			debug.FreeOSMemory()
		}
		g.restore = func() { debug.SetMemoryLimit(usual) }
	}
	return g
}

// Run governs by what a meter reads until ctx ends.
func (g *Governor) Run(ctx context.Context, m *Meter) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := func() bool {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		}
	}
	for wait() {
		now := time.Now()
		r := m.Read(now)
		if d := untilStep(r, now); d > 0 {
			if timer.Reset(d); !wait() {
				return
			}
		}
		g.Step(r, now)
		timer.Reset(untilLook(time.Now()))
	}
}

// untilStep returns how long a governor waits between its look and what it does about it: until
// the middle between two looks, so that who looks a little later, on a busy computer, sees the
// same. Nothing where memory is not short, or too short to wait.
func untilStep(r Reading, now time.Time) time.Duration {
	share := float64(r.Available) / float64(max(r.Total, 1))
	if share <= danger || share >= scarce {
		return 0
	}
	return now.Truncate(Every).Add(Every / 2).Sub(now)
}

// untilLook returns how long it is until the next look: all governors of a computer look at the
// same times of its clock, so that none sees what the others gave for the same shortage.
func untilLook(now time.Time) time.Duration { return now.Truncate(Every).Add(Every).Sub(now) }

// Step moves the budgets by one reading.
func (g *Governor) Step(r Reading, now time.Time) {
	elapsed := min(now.Sub(g.last), time.Second)
	if g.last.IsZero() {
		elapsed = 0
	}
	g.last = now
	if r.Total == 0 {
		return
	}
	budgets := g.memories.Budgets()
	held := int64(0)
	for _, b := range budgets {
		held += b.Held
	}
	share, beyond := float64(r.Available)/float64(r.Total), held-int64(most*float64(r.Total))
	stalls := r.Stall > longStall && share < scarce
	switch {
	case share < short || stalls || beyond > 0:
		missing := max(int64(aim*float64(r.Total))-r.Available, 0)
		if share > danger {
			missing = int64(float64(missing) * g.part(budgets, held))
		}
		missing = max(missing, beyond)
		if stalls {
			missing = max(missing, int64(step*float64(held)))
		}
		g.press(r, budgets, held, missing, now)
	case g.pressed && share > plenty && r.Stall < noStall && beyond < -int64(margin*float64(r.Total)):
		g.relax(budgets, elapsed)
	}
}

// part returns which share of what is missing is given at one look: less by a server whose memories
// are of value, and never all, since other servers give theirs at the same time.
func (g *Governor) part(budgets []wm.Budget, held int64) float64 {
	value := 0.0
	for _, b := range budgets {
		value += g.memories.Mean(b.Memory) * float64(b.Held) / float64(max(held, 1))
	}
	return 1 / (1 + max(value, 1)/2)
}

// press has the memories give what is missing of what they hold, each in proportion to what it holds and in
// inverse proportion to its value, and the process what it does not need.
func (g *Governor) press(r Reading, budgets []wm.Budget, held, missing int64, now time.Time) {
	gave, weights := int64(0), 0.0
	values := make([]float64, len(budgets))
	for i, b := range budgets {
		values[i] = g.memories.Mean(b.Memory)
		weights += float64(b.Held) / values[i]
	}
	if weights == 0 {
		return
	}
	for i, b := range budgets {
		to := b.Held - int64(float64(missing)*float64(b.Held)/values[i]/weights)
		to = max(to, int64(least*float64(b.Bound)))
		if to >= b.Bytes {
			continue
		}
		if err := g.memories.SetBudget(b.Memory, max(to, 1)); err != nil {
			g.log.Warn("the budget of a memory cannot be set", "memory", b.Memory, "error", err)
			continue
		}
		g.pressed = true
		gave += max(b.Held-to, 0)
	}
	if gave > 0 {
		g.release(held - gave)
	}
	if gave > 0 && now.Sub(g.told) > remind {
		g.told = now
		g.log.Warn("main memory is short: the working memory evicts what is of little value", "available", r.Available, "of", r.Total, "group", r.Limit, "stall", r.Stall, "given", gave, "held", held-gave)
	}
}

// relax raises the budgets a little.
func (g *Governor) relax(budgets []wm.Budget, elapsed time.Duration) {
	below := false
	for _, b := range budgets {
		if b.Bytes >= b.Bound {
			continue
		}
		to := min(b.Bytes+int64(float64(b.Bound)*float64(elapsed)/float64(recovery))+1, b.Bound)
		if err := g.memories.SetBudget(b.Memory, to); err == nil {
			below = below || to < b.Bound
		}
	}
	if g.pressed = below; !below {
		g.restore()
		g.log.Info("main memory suffices again: the working memory has its bounds back")
	}
}
