package marker_test

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localiser/marker"
)

// The codes are those that the published generator accepts: each is further along the
// progression than the one before, and far from all others however they are turned.
func TestCodesOfTag36h11(t *testing.T) {
	const step, bits36 = 982451653, 1<<36 - 1
	codes := marker.AprilTag36h11().Codes
	if want := []uint64{0xd5d628584, 0xd97f18b49, 0xdd280910e}; len(codes) != 587 || !slices.Equal(codes[:3], want) {
		t.Fatalf("there are %d codes, the first %x; want 587, %x", len(codes), codes[:3], want)
	}
	inverse := uint64(1) // of the step modulo 2^36, by Newton
	for range 6 {
		inverse *= 2 - step*inverse
	}
	last := uint64(0)
	for id, code := range codes[1:] {
		if k := (code - codes[0]) * inverse & bits36; k <= last {
			t.Errorf("marker %d is number %d of the progression, and the one before number %d", id+1, k, last)
		} else {
			last = k
		}
	}
	for a, code := range codes {
		turned := code
		for turns := range 4 {
			for b := a; b < len(codes); b++ {
				if d := bits.OnesCount64(turned ^ codes[b]); d < 11 && (a != b || turns > 0) {
					t.Errorf("marker %d turned %d times differs from %d in %d cells only", a, turns, b, d)
				}
			}
			turned = quarterTurn(turned, 6)
		}
	}
}

// quarterTurn turns the cells of a code by a quarter.
func quarterTurn(code uint64, size int) (turned uint64) {
	for row := range size {
		for column := range size {
			turned = turned<<1 | code>>(size*size-1-(size-1-column)*size-row)&1
		}
	}
	return turned
}

// AprilTag 3 numbers the cells in another order, for which its table has other codes. Both
// are the same markers, with the same side up.
func TestTag36h11AsAprilTag3PrintsIt(t *testing.T) {
	columns := []int{1, 2, 3, 4, 5, 2, 3, 4, 3, 6, 6, 6, 6, 6, 5, 5, 5, 4, 6, 5, 4, 3, 2, 5, 4, 3, 4, 1, 1, 1, 1, 1, 2, 2, 2, 3}
	rows := []int{1, 1, 1, 1, 1, 2, 2, 2, 3, 1, 2, 3, 4, 5, 2, 3, 4, 3, 6, 6, 6, 6, 6, 5, 5, 5, 4, 6, 5, 4, 3, 2, 5, 4, 3, 4}
	for id, code := range map[int]uint64{0: 0xd7e00984b, 1: 0xdda664ca7, 2: 0xdc4a1c821, 100: 0x533fe2404, 334: 0x57a3a1282} {
		cells, err := marker.Draw(marker.AprilTag36h11(), id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range columns {
			// Draw has a margin around the border.
			if got, want := cells[rows[i]+1][columns[i]+1], code>>(35-i)&1 == 1; got != want {
				t.Errorf("marker %d, row %d, column %d: white is %v, want %v", id, rows[i], columns[i], got, want)
			}
		}
	}
}

// The first markers as OpenCV's generateImageMarker prints them.
func TestArUcoAsOpenCVPrintsIt(t *testing.T) {
	for _, c := range []struct {
		family *marker.Family
		first  []uint64
		n      int
	}{
		{marker.ArUco4x4(), []uint64{0xb532, 0x0f9a, 0x332d, 0x9946, 0x549e}, 50},
		{marker.ArUcoOriginal(), []uint64{0x1084210, 0x1084217, 0x1084209, 0x108420e, 0x10842f0}, 1024},
	} {
		if got := c.family.Codes; len(got) != c.n || !slices.Equal(got[:len(c.first)], c.first) {
			t.Errorf("%s has %d codes, the first %x; want %d, %x", c.family.Name, len(got), got[:len(c.first)], c.n, c.first)
		}
	}
}

func TestDraw(t *testing.T) {
	own := &marker.Family{Name: "own", Size: 3, Codes: []uint64{0b100_010_110}}
	cells, err := marker.Draw(own, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"#######", "#.....#", "#.#...#", "#..#..#", "#.##..#", "#.....#", "#######"}
	for row := range want {
		got := ""
		for _, white := range cells[row] {
			got += map[bool]string{true: "#", false: "."}[white]
		}
		if got != want[row] {
			t.Errorf("row %d is %s, want %s", row, got, want[row])
		}
	}
	for _, id := range []int{-1, 1} {
		if _, err := marker.Draw(own, id); !errors.Is(err, engram.OutOfRange) {
			t.Errorf("drawing marker %d of one: %v, want out of range", id, err)
		}
	}
}

func TestFamiliesThatAreNone(t *testing.T) {
	for _, f := range []*marker.Family{
		{Name: "small", Size: 2, Codes: []uint64{1}},
		{Name: "large", Size: 9, Codes: []uint64{1}},
		{Name: "empty", Size: 4},
		{Name: "long", Size: 4, Codes: []uint64{1 << 16}},
	} {
		if _, err := marker.NewDetector(marker.Options{Families: []*marker.Family{f}}); !errors.Is(err, engram.Invalid) {
			t.Errorf("%s: %v, want invalid", f.Name, err)
		}
	}
}
