package wire_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
)

// Numbers are given within a process only: a client that would leave them out refuses them.
func TestQueryMessageRefusesNumbers(t *testing.T) {
	q := engram.SelectID(engram.MustID("A/B/c/d"), engram.Latest(1))
	if _, err := wire.QueryMessage(q); err != nil {
		t.Fatal(err)
	}
	q.Numbers = &engram.Numbers{Paths: []string{""}}
	if _, err := wire.QueryMessage(q); engram.CodeOf(err) != engram.Unsupported {
		t.Error(err)
	}
}
