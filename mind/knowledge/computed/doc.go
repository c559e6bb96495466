// Package computed has relations that follow from poses, boxes and times when they are asked
// for: what is on the table, what is left of the door as the robot sees it, which event was
// during another one. Nothing of it is stored.
//
// A [Scene] has bodies, each with a pose in a frame whose z axis points up, and a box. It
// does not change, and the scene after a move is made from the one before. [FromForest]
// makes one of a world, [FromView] of facts as KnowRob's maps have them. A [Relation] holds
// or not where bodies are estimated to be; how likely that is follows from the covariances.
// [Allen] tells how two intervals lie to each other, [Interval] when an event was.
//
// [Computables] answers all of it as properties ([knowledge.Computed]): ours, in the namespace
// [NS], and those of KnowRob, under whose names the answers are KnowRob's.
//
// The package is pure: no transport, no clock, no goroutines. Units are metres and radians.
package computed
