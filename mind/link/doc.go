// Package link follows the links between what a memory holds: from a result up to all that led to it, and from a cause
// down to all that came of it.
//
// A payload links to what it was made from: an object's pose to its image, a skill's execution to the command behind it.
// [Tracer.Trace] makes of these links a graph over time, in which each snapshot stands once. A link to an entity is to what was
// in force there at the time of the snapshot that has the link. An activity, such as an execution, is one node with all its
// snapshots: a span of time. Who may not read something is told nothing of it: a link to it ends as one to what never was.
//
// The package sees memories through the interfaces of the root package. It answers the same in a server and in a client,
// of one server or of many, and knows no transport and no clock. Backwards it asks [engram.Query.LinksTo], which an index
// of the memory answers.
package link
