// Package mission is the demonstration of TeMoto's thesis on this memory: an operator, a
// worker with an arm and two scouts, each with a memory server of its own on a backbone, look
// for a piece of garbage and a bin in a hallway, and the worker brings the one to the other.
// The operator's sentences become requests for skills (package skill/command); what a robot
// sees is in the world of all. Everything that robots know of the hallway and of each
// other comes out of the memories; what is simulated is in package hallway.
package mission
