package local

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// The short form of a query of one entity says nothing of numbers: such a query takes the long one, which refuses them.
func TestNumbersAreNotLeftOut(t *testing.T) {
	q := engram.SelectID(engram.MustID("A/B/c/d"), engram.Latest(1))
	if _, _, ok := ofEntity(&q); !ok {
		t.Error("a plain query takes the long form")
	}
	q.Numbers = &engram.Numbers{Paths: []string{""}}
	if _, _, ok := ofEntity(&q); ok {
		t.Error("the short form leaves numbers out")
	}
}
