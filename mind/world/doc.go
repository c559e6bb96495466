// Package world makes one world of what several providers say of the things around
// them: a forest of items, each a place, a thing, a part or a robot.
//
// A [Statement] is all that one provider says of one item at present. A [Builder] takes
// statements in any order and merges them by written rules ([Rules]); a [Forest] is what
// has come of it, immutable and indexed. Builders with the same statements make equal
// forests. What is not certain is computed when asked: [Forest.Belief] from statements
// and [Look]s, [Forest.Provisional] from the rule of admission.
//
// A [Model] is a world that programs read and write: [NewLocal] keeps one in RAM,
// [Over] one in the memory World of a server, and a [Switch] exchanges one for another.
//
// The core (types, Builder, Forest) is pure: no transport, no clock, no goroutines. What is
// stored is of types that package memories defines and that a [Codec] asks the server for.
// docs/world.md is the guide.
package world
