package render

import (
	"github.com/seed-301d4374/engram/mind/pose"
)

// Cells returns a square board with a pattern of white and black cells, row by row from
// the top left, such as marker.Draw returns. The size is the length of its edge.
func Cells(p pose.Pose, size float64, white [][]bool) Board {
	n := len(white)
	return Board{p, size, size, func(x, y float64) Colour {
		column, row := int((x/size+0.5)*float64(n)), int((0.5-y/size)*float64(n))
		if white[min(max(row, 0), n-1)][min(max(column, 0), n-1)] {
			return Grey(215)
		}
		return Grey(25)
	}}
}
