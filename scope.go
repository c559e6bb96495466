package engram

import "context"

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

type scopeKey struct{}

// WithScope returns a context for calls that read. Who answers a call with it does so
// as if the memory held only what lies in the scope: queries, statistics,
// descriptions, subscriptions and copies neither hold nor count anything else, and
// do not fail for it.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeOf returns the scope of a call, or nil: then it is about everything.
func ScopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}

// VisibilityIn is s.Visibility(id), and Visible where s is nil.
func VisibilityIn(s Scope, id ID) Visibility {
	if s == nil {
		return Visible
	}
	return s.Visibility(id)
}
