// Package executor decides what becomes of requests for skills: which are executed when and by
// whom, what is stopped, and how each ends. It is a state machine. It is told what is
// committed to the memory Skill and what time it is, and answers with what is to be written
// and told; it has no clock, no server and no goroutine of its own. The memory's Run hook
// (package memories) feeds it and carries out what it says, in this order.
//
// An execution holds its resources from Running on until its provider says that all stands
// still. Where that cannot be had, for the provider is silent, lost, or was running when the
// memory server died, an orphan holds them: until the provider says so, or begins a new
// epoch, or so much time has passed that it has stopped by itself (its lease and the stop
// timeout). A provider that did not answer is fenced: its epoch is not believed any more.
package executor
