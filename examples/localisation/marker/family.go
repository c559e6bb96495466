package marker

import (
	"math/bits"

	"github.com/seed-301d4374/engram"
)

// Family is a set of markers of one size in cells. It is immutable.
type Family struct {
	name   string
	side   int // cells of data per side; around them is a border of one dark cell
	codes  []uint64
	errors int // cells that may be read wrong
}

var (
	// Aruco4x4 is ArUco's dictionary 4X4_50 (OpenCV's DICT_4X4_50): 50 markers of 4x4
	// cells. Its markers are few cells apart, so none may be read wrong.
	Aruco4x4 = &Family{name: "aruco_4x4_50", side: 4, codes: aruco4x4[:]}
	// Tag36h11 is AprilTag's family 36h11: 587 markers of 6x6 cells, of which two may be
	// read wrong. It is the better one against false detections.
	Tag36h11 = &Family{name: "tag36h11", side: 6, codes: tag36h11[:], errors: 2}
)

// Families returns all families.
func Families() []*Family { return []*Family{Aruco4x4, Tag36h11} }

// FamilyOf returns the family of a name such as "tag36h11". The error is NotFound.
func FamilyOf(name string) (*Family, error) {
	for _, f := range Families() {
		if f.name == name {
			return f, nil
		}
	}
	return nil, engram.Errorf(engram.NotFound, name, "no family of markers; there are %s and %s", Aruco4x4, Tag36h11)
}

// String returns the family's name.
func (f *Family) String() string { return f.name }

// Len returns how many markers there are; their IDs are 0 to Len-1.
func (f *Family) Len() int { return len(f.codes) }

// Cells returns how many cells a marker has per side, with its dark border.
func (f *Family) Cells() int { return f.side + 2 }

// Bits returns a marker's cells row by row from the top, true where white. The border is
// dark; what is around the marker must be white, one cell wide at least. The error is
// OutOfRange for an ID that the family does not have.
func (f *Family) Bits(id int) ([][]bool, error) {
	if id < 0 || id >= len(f.codes) {
		return nil, engram.Errorf(engram.OutOfRange, f.name, "no marker %d; there are 0 to %d", id, len(f.codes)-1)
	}
	n := f.Cells()
	rows := make([][]bool, n)
	for y := range rows {
		rows[y] = make([]bool, n)
		for x := range rows[y] {
			rows[y][x] = f.white(id, x, y)
		}
	}
	return rows, nil
}

// white reports the colour of a cell; (0, 0) is a corner of the border.
func (f *Family) white(id, x, y int) bool {
	if x < 1 || y < 1 || x > f.side || y > f.side {
		return x < 0 || y < 0 || x > f.side+1 || y > f.side+1
	}
	return f.codes[id]>>(f.side*f.side-1-((y-1)*f.side+x-1))&1 != 0
}

// find returns the marker whose cells are nearest to code, how many differ, and by how
// many quarter turns clockwise the marker must be turned to look so.
func (f *Family) find(code uint64) (id, turns, differ int, ok bool) {
	differ = f.errors + 1
	for turn := range 4 {
		for i, c := range f.codes {
			if d := bits.OnesCount64(c ^ code); d < differ {
				id, turns, differ, ok = i, turn, d, true
			}
		}
		code = f.turned(code) // counterclockwise, back to how the marker is printed
	}
	return id, turns, differ, ok
}

// turned returns the cells after a quarter turn counterclockwise.
func (f *Family) turned(code uint64) (out uint64) {
	n := f.side
	for y := range n {
		for x := range n {
			// The new row y is the old column n-1-y, from the top.
			out = out<<1 | code>>(n*n-1-(x*n+n-1-y))&1
		}
	}
	return out
}
