// Package query is what the working memory and the long-term memory share of
// answering a query: compiled names and filters, what selectors select from an
// entity's snapshots, the shape of payloads, and the answer that is put together.
//
// It knows neither where snapshots lie nor how they are kept: a memory shows it
// one entity at a time as a [View].
package query

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Compiler compiles what is costly in queries, and keeps it for the next time. Safe
// for concurrent use.
type Compiler struct {
	regexes *Cache[engram.NameMatcher]
	filters *Cache[*idf.Filter]
}

// NewCompiler returns a compiler that has kept nothing yet.
func NewCompiler() *Compiler {
	return &Compiler{regexes: NewCache[engram.NameMatcher](256), filters: NewCache[*idf.Filter](64)}
}

// Filter compiles a CEL expression; "" gives nil, which takes everything.
func (c *Compiler) Filter(where string) (*idf.Filter, error) {
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
