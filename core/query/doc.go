// Package query is how one asks of a hierarchy: compiled names and filters, what
// selectors select from an entity's snapshots, the shape of payloads, and the answer
// that is put together. The working memory and the long-term memory answer by it, and
// so does a package that has data of its own to show.
//
// It knows neither where snapshots lie nor how they are kept. Who answers a query
//
//   - compiles it, with [Compiler.NewAnswer], or its parts: names with
//     [Compiler.Compile], the filter with [Compiler.Filter]; all that one query computes has
//     one budget of steps;
//   - walks the hierarchy in the order of names, with [EachChild] over a [Table] for
//     each level, and tells the [Answer] of the nodes that it enters;
//   - shows one entity at a time as a [View], from which [Select] takes what the
//     selectors want;
//   - adds that to the Answer, and finishes it.
//
// A [Compiler] is shared by all goroutines; what it makes for one query is used by one.
// Errors are of the root package: Invalid for a query of a wrong form, Exhausted for one
// beyond its limits, Canceled for one that was given up.
package query

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Compiler compiles what is costly in queries, and keeps it for the next time. Safe
// for concurrent use.
type Compiler struct {
	regexes *cache[engram.NameMatcher]
	filters *cache[*idf.Filter]
	gate    gate
	naming  Naming
}

// NewCompiler returns a compiler that has kept nothing yet, of queries of a robot's memories.
func NewCompiler(naming Naming) *Compiler {
	return &Compiler{regexes: newCache[engram.NameMatcher](256), filters: newCache[*idf.Filter](64), gate: newGate(), naming: naming}
}

// Expression compiles a CEL expression; "" gives nil.
func (c *Compiler) Expression(where string) (*idf.Filter, error) {
	if where == "" {
		return nil, nil
	}
	return c.filters.Get(where, func() (*idf.Filter, error) { return idf.CompileFilter(where) })
}

// checkContext returns a Canceled error if ctx has ended.
func checkContext(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
}
