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
// segment knows (package core/idf looks inside).
//
// What can be done with a memory is said by small interfaces ([Writer],
// [Reader], [Subscriber] …); the working memory, the server and every client
// implement the same ones, so a program does not know, and need not know,
// whether its memory lives in its own process or on another robot.
//
// # Wings
//
// The other packages lie in wings, and imports point down this list only:
//
//	cmd      the command line
//	node     a server as a whole, composed from one configuration
//	client   what Go programs import to reach memories
//	edge     ways in and out: transports, the page, recordings
//	mind     what a robot makes of its memories: concrete memories, poses, world, knowledge
//	fleet    several servers: names, backbone, copies, looking after them
//	core     one memory server: types, queries, RAM, disk, rights
//	.        this package
//
// mind and fleet do not know each other. Each wing's folder has a package comment that
// says what lies in it ("go doc ./core"); docs/architecture.md has the picture.
//
// The package imports only the standard library and nothing of this module.
package engram
