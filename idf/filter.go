package idf

import "github.com/seed-301d4374/engram"

// Filter is a compiled CEL expression over an instance. Members of the payload
// stand by their names, and beside them: confidence (double), sent, arrived and
// time (timestamp), type (string), payload (the whole, where a member's name
// clashes). A member the payload does not have makes the expression false, unless
// it asks with has().
type Filter struct{}

// MaxFilterLen is the longest filter expression accepted, in bytes.
const MaxFilterLen = 4096

// CompileFilter compiles an expression. The error is Invalid and points at the
// place; Exhausted if the expression is too long or too costly.
func CompileFilter(expr string) (*Filter, error) { panic("to be built") }

// Match evaluates the filter on instance i of s, whose payload is of type t. Only
// members that the expression mentions are decoded. Evaluation is bounded in cost;
// an expression that fails on this payload's values does not match. Safe for
// concurrent use.
func (f *Filter) Match(t *Type, s *engram.Snapshot, i int) bool { panic("to be built") }
