// Package intake bounds what decoding the messages of others may cost. It counts, in
// one look at a message's bytes and before anything is built, how many values decoding
// would make and how much memory they would take ([Shape.Wire], [Shape.JSON]), and it
// bounds the memory of all messages that a server takes in at once ([Budget]).
//
// What a type's values take is derived from its descriptor, so a new message is
// counted without code of its own. The count is of the heap of Go, rounded up, and
// rather too high than too low.
//
// It is no public API: several wings share it.
package intake
