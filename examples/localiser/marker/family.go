package marker

import (
	"math/bits"

	"github.com/seed-301d4374/engram"
)

// Family is a set of markers: a black border of one cell around Size × Size cells that
// spell the ID, on white of at least one cell around it. A Family that is in use must not
// change.
type Family struct {
	Name string
	Size int // cells in a row, without the border; 3 to 8
	// Codes has the cells of each ID, row by row from the top left, the first cell in the
	// most significant of Size² bits. 1 is white.
	Codes []uint64
	// Corrects is how many cells may be read wrongly. It should be less than half of the
	// least distance between two codes, however they are turned.
	Corrects int
}

// check returns an Invalid error for a family that is none.
func (f *Family) check() error {
	if f.Size < 3 || f.Size > 8 {
		return engram.Errorf(engram.Invalid, f.Name, "a family's markers have %d cells in a row; use 3 to 8", f.Size)
	}
	if len(f.Codes) == 0 {
		return engram.Errorf(engram.Invalid, f.Name, "a family needs codes")
	}
	for id, code := range f.Codes {
		if f.Size < 8 && code>>(f.Size*f.Size) != 0 {
			return engram.Errorf(engram.Invalid, f.Name, "the code %#x of marker %d has more than %d bits", code, id, f.Size*f.Size)
		}
	}
	return nil
}

// white reports whether a cell of a code is white, row and column from the top left.
func (f *Family) white(code uint64, row, column int) bool {
	return code>>(f.Size*f.Size-1-row*f.Size-column)&1 == 1
}

// turn returns the code as it reads after a quarter turn clockwise.
func (f *Family) turn(code uint64) (turned uint64) {
	for row := range f.Size {
		for column := range f.Size {
			turned <<= 1
			if f.white(code, f.Size-1-column, row) {
				turned |= 1
			}
		}
	}
	return turned
}

// reading is the ID that a code read from an image fits best.
type reading struct {
	id       int
	turns    int // quarter turns clockwise by which the marker is turned in the image
	distance int // cells that are read wrongly
	others   int // other IDs or turns that fit, too
}

// read looks a code up. It is false if no ID is near enough.
func (f *Family) read(code uint64) (best reading, ok bool) {
	best.distance = f.Corrects + 1
	for turns := range 4 {
		for id, known := range f.Codes {
			d := bits.OnesCount64(code ^ known)
			switch {
			case d > f.Corrects:
			case d < best.distance:
				best = reading{id: id, turns: turns, distance: d}
			case d == best.distance:
				best.others++
			}
		}
		code = f.turn(f.turn(f.turn(code))) // back by one
	}
	return best, best.distance <= f.Corrects
}
