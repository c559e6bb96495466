// Package live reads a running robot as a recording that does not end yet: it is a client
// of Foxglove's WebSocket protocol (package foxglove/protocol), which foxglove_bridge
// speaks on ROS 1 and ROS 2, as do servers made with Foxglove's SDK, and Engram.
//
// [Dial] connects, subscribes to all channels that are wanted, those to come too, and
// returns a recording.Reader. Where the connection breaks, it is made again. What arrives
// waits in a bounded queue until it is read; what did not fit, what came while there was no
// connection, and what cannot be understood is told by [Source.Loss].
//
// Nothing that a server sends ends the program: what is wrong with it is counted, and told
// once. The package knows no memory; ingest.Follow commits what it reads.
package live
