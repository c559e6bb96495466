// Package local carries a memory server's whole service between processes of one
// host, over a Unix socket and as fast as one allows: it is what programs beside
// the memory use, while edge/transport/rpc serves every language, remote hosts and
// browsers. Both offer the same engram.Service.
//
// docs/formats/local.md fixes the format byte by byte. In short: frames with a
// length, a kind and a call number; in a frame first the records, then all
// payload bytes. What is frequent (commits, their results, updates, snapshots)
// has a compact form of its own; what is rare carries the messages of
// api/engram/v1.
//
// # Who owns which bytes
//
// A payload's bytes are copied by the kernel only. The reader of a frame knows
// the payloads' lengths from its records, allocates each payload once and reads
// into it from the socket; from then on the bytes belong to whoever got the
// decoded value (the working memory, the consumer) and are never written again,
// unless the consumer of a transient subscription gave them back.
// A writer refers to a payload's bytes until they are with the kernel, so whoever
// hands a payload over must not change it afterwards, as engram.Writer says. All
// other buffers (a reader's input, a writer's output, the scratch that commits
// are decoded into) belong to one connection and are used again; nothing that is
// handed out refers to them. The build tag "invariants" checks both: it overwrites
// buffers before they are used again, and it compares payloads at the time they
// were handed over and at the time they are written.
//
// # Who does what
//
// To hand something from one goroutine to another often wakes a thread, and a core,
// and then costs more than what is handed over. So there are as few hand-overs as
// possible between the sockets.
//
// A server's connection has one goroutine that reads. It stores what a commit stream
// sends and performs calls that are cheap; where one turns out to take long, another
// goroutine goes on reading (relief). Every other call runs in a goroutine beside it.
// Whoever commits sends the updates to the subscribers' sockets too, as far as they
// take them at once; the rest, and whatever is costly to make, is done by a
// goroutine that each subscription has (pump).
//
// On the client's side one of those who wait for answers reads for all (mux), so the
// answer to an only call takes no detour; after a while without calls a goroutine
// reads, to notice the end of the connection. Whoever waits in a subscription's Next
// reads himself. Each commit stream has a goroutine that reads.
//
// Whoever has something to say encodes it under the writer's lock and, if nobody is
// writing, writes it and what others add meanwhile, without waiting for the peer:
// what the socket does not take at once is left to a goroutine that does.
package local
