// Package files is where a world meets files: items as YAML or JSON ([Read], [Write]), robot
// descriptions ([ReadURDF]), and occupancy grids as ROS's map_server has them ([ReadGrid]).
//
// What a file says is a [Content], which is checked as a whole before any of it is stated. The
// package opens no files but those that a function is given the means for, and no network.
// docs/world.md describes the formats.
package files
