package navigation

import "github.com/seed-301d4374/engram/world/files"

// GridOf returns the grid of a map of ROS's map_server.
func GridOf(f *files.Grid) Grid {
	g := Grid{Width: f.Width, Height: f.Height, Resolution: f.Resolution, Origin: Pose2D{Point{f.Origin[0], f.Origin[1]}, f.Origin[2]}}
	g.Cells = make([]State, f.Width*f.Height)
	for i, v := range f.Trinary() {
		switch {
		case v < 0:
			g.Cells[i] = Unknown
		case v > 0:
			g.Cells[i] = Occupied
		}
	}
	return g
}
