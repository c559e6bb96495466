// Package hallway simulates what the robots of the search mission live in: an occupancy
// grid, robots with a differential drive whose odometry drifts, depth cameras, cameras that
// see markers, a gripper, a piece of garbage and a bin. It is the truth, which robots
// learn of only by their sensors. It knows no memory and has no clock of its own.
package hallway
