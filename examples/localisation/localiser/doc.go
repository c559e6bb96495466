// Package localiser is the component of figure 19 of the ArMem paper: it is told of RGB
// and depth images, queries the newest of both, looks for the objects whose classes it
// knows, with the memory's prediction as a first guess, and commits where they are, linked
// to both images, to the class, and to where the robot was.
//
// It works on any [engram.Service]: its camera driver, the memory and itself may be three
// processes on three computers.
package localiser
