// Package backbone is the distributed engine: a connection to a NATS server, which
// [embedded] can run inside this process. The name system keeps its entries on it
// (package fleet/mns/kv), updates cross hosts on its subjects, and where there is no
// route to a memory server its connections run through it ([Backbone.Dial],
// [Backbone.Listen]).
//
// A robot has one backbone, whatever number of computers it has: one of them embeds
// the server, the others connect to it. Robots are leaf nodes of a base station:
// each has a JetStream domain of its own, named like the robot, so that it works
// on alone while the link is down.
//
// What is durable is the memories' log, never the message fabric. The package knows
// no memory.
//
// [embedded]: https://pkg.go.dev/github.com/seed-301d4374/engram/fleet/backbone/embedded
package backbone
