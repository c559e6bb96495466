package follow

import (
	"testing"

	"github.com/seed-301d4374/engram/fleet/mns"
)

// A world tries as long as the name system says that a memory is about to be taken over.
func TestTakeoverTimeIsTheNameSystems(t *testing.T) {
	if takeoverTimeout != mns.TakeoverTime {
		t.Errorf("a world waits %v for a takeover, which may take %v", takeoverTimeout, mns.TakeoverTime)
	}
}
