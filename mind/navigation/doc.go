// Package navigation plans where a robot goes: it makes cost maps of what the world is, finds what
// a goal means, and plans paths to it.
//
// [Costs] keeps a cost map of a map of the memory World and of the things that stand on it. When one
// moves, only what is around it is computed, and the cost map is committed to Navigation/Costmap. A
// [Planner] plans on it: to a place of Navigation/Location, to an item of the world, to a pose. A
// [Plan] is committed to Navigation/Plan, with links to the cost map, the map, where the robot was and
// the execution that wanted it. As a skill others ask for it, and another planner takes its place by
// offering a skill of the same name.
//
// The package uses the interfaces that clients and servers have, so it works in either. The algorithms are below
// it: grid (occupancy and costs), plan (paths over them) and graph (ways between places).
package navigation
