package rpc

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// ParseQuery reads a query written as JSON: the body of a request of the method
// Query, as docs/http.md describes it. The error is Invalid or Exhausted.
func ParseQuery(j []byte) (engram.Query, error) {
	var m engramv1.QueryRequest
	if err := readJSON(j, &m); err != nil {
		return engram.Query{}, engram.Errorf(engram.Invalid, "query", "not a query in JSON, see docs/http.md: %w", err)
	}
	return wire.DefaultLimits.Query(&m)
}
