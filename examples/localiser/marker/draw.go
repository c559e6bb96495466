package marker

import "github.com/seed-301d4374/engram"

// Draw returns the cells of a marker, row by row from the top left, white or black: the
// family's cells with the black border and a white margin of one cell, Size+4 in a row. The
// error is OutOfRange for an ID that the family does not have.
func Draw(f *Family, id int) (white [][]bool, err error) {
	if id < 0 || id >= len(f.Codes) {
		return nil, engram.Errorf(engram.OutOfRange, f.Name, "there is no marker %d; the family has 0 to %d", id, len(f.Codes)-1)
	}
	n := f.Size + 4
	white = make([][]bool, n)
	for row := range white {
		white[row] = make([]bool, n)
		for column := range white[row] {
			margin := row == 0 || column == 0 || row == n-1 || column == n-1
			inside := row >= 2 && column >= 2 && row < n-2 && column < n-2
			white[row][column] = margin || inside && f.white(f.Codes[id], row-2, column-2)
		}
	}
	return white, nil
}
