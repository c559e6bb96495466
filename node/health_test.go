package node

import (
	"testing"

	"github.com/seed-301d4374/engram/fleet/ops/health"
)

// Health tells what the memories say is wrong with what was committed.
func TestTroublesOfMemoriesAreInTheHealth(t *testing.T) {
	if status, reason := memoriesHealth(nil); status != health.OK || reason != "" {
		t.Errorf("without troubles: %s: %q", status, reason)
	}
	if status, reason := memoriesHealth([]string{"a clock", "another"}); status != health.Degraded || reason != "a clock; another" {
		t.Errorf("with troubles: %s: %q", status, reason)
	}
}
