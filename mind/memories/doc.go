// Package memories holds the concrete memories of a robot: what each is for, the
// types of its segments, how much they keep, and what a memory does by itself.
//
// A concrete memory is a [server.Memory] made by a function, such as [Vision];
// [All] returns them all. The types are files under types/, as ArmarX XML or, where
// a type has to agree with a Foxglove schema, as .proto. docs/memories.md is the
// guide to them.
//
// The package also brings prior knowledge in ([PriorKnowledge]) and watches the
// computer it runs on ([MonitorSystem]). It knows no transport.
package memories
