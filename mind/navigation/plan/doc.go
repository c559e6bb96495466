// Package plan finds ways over cost maps.
//
// [Find] plans from a point to a point, [Approach] to the place nearest by way from which something
// is in reach. Both search with A* over the cells of a [grid.Costmap], to eight neighbours, and then
// straighten what they find: a straight line stands for a part of the path where the robot may be in
// every cell that the line touches. A [Path] is looked at again with [Path.Blocked] when the map has
// changed.
//
// The same map, points and options give the same path. The package has no clock, no goroutine and no
// storage; memory for searches is kept and used again.
package plan
