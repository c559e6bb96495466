package query

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Names matches names with the levels of a pattern, within what one query may compute. It is used by one
// goroutine, which must hold no lock.
type Names struct {
	work  *work
	match *engram.PatternMatcher
}

// Names compiles a pattern for one reader. That, and matching names with it, may take budget steps (see
// [idf.FilterMeter]); 0 is no bound.
func (c *Compiler) Names(ctx context.Context, p engram.Pattern, budget int64) (*Names, error) {
	match, err := p.Matcher()
	if err != nil {
		return nil, err
	}
	n := &Names{c.work(ctx, budget), match}
	for l := range p.Levels {
		if err := n.work.spend(compileSteps * int64(n.at(engram.Level(l+1)).Instructions())); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Names) at(l engram.Level) *engram.NameMatcher { return n.match.Level(l) }

// Listed returns the names that the pattern lists at a level, if it lists names there.
func (n *Names) Listed(l engram.Level) (names []string, ok bool) { return n.at(l).Exact() }

// Match reports whether the pattern matches a name at a level; false, too, when it cannot go on: see [Names.Err].
func (n *Names) Match(l engram.Level, name string) bool {
	found, err := n.work.matches(n.at(l), name)
	return found && err == nil
}

// Err returns why names can be matched no more: Exhausted, if the budget is used up, or Canceled.
func (n *Names) Err() error { return n.work.err }
