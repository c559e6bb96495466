// Package engram is the domain of a robot's memory: the words every other
// package speaks, and nothing else.
//
// A memory holds a strict hierarchy,
//
//	memory / core segment / provider segment / entity / snapshot / instance
//
// and an [ID] is a path in it. A [Commit] is a bundle of entity updates, each of
// which becomes one immutable [Snapshot] of its entity. A [Query] is a tree
// shaped like the hierarchy and its [Result] has the same shape. A [Subscription]
// delivers numbered [Update]s. A [Payload] is a protobuf message whose type the
// segment knows (package idf looks inside).
//
// What can be done with a memory is said by small interfaces ([Writer],
// [Reader], [Subscriber] …); the working memory, the server and every client
// implement the same ones, so a program does not know, and need not know,
// whether its memory lives in its own process or on another robot.
//
// The package imports only the standard library and nothing of this module.
package engram
