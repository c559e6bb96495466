package engram_test

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

func TestBoundsInWords(t *testing.T) {
	for want, b := range map[string]engram.Bounds{
		"no bounds":                             {},
		"at most 5 snapshots":                   {MaxCount: 5},
		"at most 5 snapshots, 1m30s, 100 bytes": {MaxCount: 5, MaxAge: 90 * time.Second, MaxBytes: 100},
	} {
		if got := b.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
