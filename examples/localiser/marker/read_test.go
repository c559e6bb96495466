package marker

import (
	"math/bits"
	"testing"
)

// Every marker is read in every turn, with as many wrong cells as are corrected, and none is
// taken for another.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		family    *Family
		ambiguous int // markers and turns that read as others, too
	}{{AprilTag36h11(), 0}, {ArUco4x4(), 0}, {ArUcoOriginal(), 4}} {
		f := c.family
		ambiguous := 0
		for id, code := range f.Codes {
			for turns := range 4 {
				wrong := code
				for i := range f.Corrects {
					wrong ^= 1 << ((id + 7*i) % (f.Size * f.Size))
				}
				got, ok := f.read(wrong)
				switch {
				case ok && got.others > 0:
					ambiguous++
				case !ok || got != reading{id: id, turns: turns, distance: bits.OnesCount64(wrong ^ code)}:
					t.Errorf("%s: marker %d turned %d times reads as %+v, %v", f.Name, id, turns, got, ok)
				}
				code = f.turn(code)
			}
		}
		if ambiguous != c.ambiguous {
			t.Errorf("%s: %d markers and turns are ambiguous, want %d", f.Name, ambiguous, c.ambiguous)
		}
	}
	if got, ok := AprilTag36h11().read(0); ok {
		t.Errorf("a black square reads as %+v", got)
	}
}
