package engram

import (
	"context"
	"hash/maphash"
	"math"
)

// Visibility says how much of a node of the hierarchy, with all below it, somebody
// may know of.
type Visibility uint8

// The visibilities of a node.
const (
	// Hidden is a node that does not exist for them, as everything below it.
	Hidden Visibility = iota
	// Partial is a node of which some of what lies below may be known. It exists for
	// them if something of that does. An entity is never partial.
	Partial
	// Visible is a node that may be known with all below it.
	Visible
)

// Scope is a part of the hierarchy. Safe for concurrent use.
type Scope interface {
	// Visibility says how much of a memory, segment or entity lies in the scope.
	Visibility(id ID) Visibility
}

// Asker says who reads, for what counts by whom something is asked for ([Value]): equal ones
// are one asker. An edge makes it with [NewAsker]; 0 is a program that did not say.
type Asker uint64

// Nobody reads by itself: a part of Engram that follows, trains, copies or exports. What it
// reads does not count as asked for.
const Nobody Asker = math.MaxUint64

// NewAsker returns the asker that is known by these names, such as an identity and a program.
// It is never [Nobody]. It is the same in one process only.
func NewAsker(names ...string) Asker {
	var h maphash.Hash
	h.SetSeed(askerSeed)
	for _, n := range names {
		_, _ = h.WriteString(n) // it never fails
		_ = h.WriteByte(0)
	}
	return Asker(h.Sum64() >> 1)
}

var askerSeed = maphash.MakeSeed()

// caller is what a call's context says of who makes it: both are asked for together.
type caller struct {
	scope Scope
	asker Asker
}

type callerKey struct{}

// WithScope returns a context for calls that read. Who answers a call with it does so
// as if the memory held only what lies in the scope: queries, statistics,
// descriptions, subscriptions and copies neither hold nor count anything else, and
// do not fail for it.
func WithScope(ctx context.Context, s Scope) context.Context {
	_, asker := CallerOf(ctx)
	return context.WithValue(ctx, callerKey{}, &caller{s, asker})
}

// WithAsker returns a context for calls that read for somebody.
func WithAsker(ctx context.Context, a Asker) context.Context {
	scope, asker := CallerOf(ctx)
	if asker == a {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, &caller{scope, a})
}

// ScopeOf returns the scope of a call, or nil: then it is about everything.
func ScopeOf(ctx context.Context) Scope {
	s, _ := CallerOf(ctx)
	return s
}

// CallerOf returns the scope of a call, or nil, and who makes it.
func CallerOf(ctx context.Context) (Scope, Asker) {
	if c, ok := ctx.Value(callerKey{}).(*caller); ok {
		return c.scope, c.asker
	}
	return nil, 0
}

// VisibilityIn is s.Visibility(id), and Visible where s is nil.
func VisibilityIn(s Scope, id ID) Visibility {
	if s == nil {
		return Visible
	}
	return s.Visibility(id)
}
