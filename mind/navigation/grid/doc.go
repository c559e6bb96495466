// Package grid has maps of the floor: what is free, and where a robot may stand.
//
// A [Grid] is an occupancy grid as ROS has it. A [Builder] lays a robot's [Footprint] and the
// outlines of objects over it. What comes of it is a [Costmap]: how far each cell is from the
// nearest obstacle, whether the robot may be there, and what it costs to be near a wall, as in nav2.
//
// When an object moves, [Builder.Put] computes only what is near it. A Costmap never changes: who
// plans on one goes on while the next is made, and shares with it the rows that are the same.
//
// The package has no clock, no goroutine, no storage and no frames: all positions are in the map's
// frame, in metres.
package grid
