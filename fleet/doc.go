// Package fleet is the wing of several memory servers, on one robot or many: how they find
// and reach each other, hold copies of each other's memories, and are looked after.
//
// Packages of this wing import the root package, core, each other, gen/ and internal/; none of
// mind, edge, client, node or cmd. They carry any data. Only the backbone opens connections;
// the others are given theirs. The wing's own folder has nothing but this comment.
//
// Finding:
//
//	mns                  the name system: which server hosts which memory; leases, rules over names
//	mns/kv               names on the backbone
//	mns/robots           names of several robots (robot1:Object), and the heartbeats by which they hear of them
//
// Reaching:
//
//	backbone             a connection to NATS, and connections between servers through it
//	backbone/embedded    a NATS server in this process
//	backbone/updates     notices of updates on NATS subjects
//	internal/subject     names as subjects and keys of NATS
//
// Copying:
//
//	copies               the holder's side: pulls, applies, knows what was left out
//	copies/source        the owner's side: reads on from a holder's position
//	copies/serve         a memory server with both sides
//	copies/contract      what owners and holders offer each other, and the rules of copies
//	copies/stream        the batches of a pull as bytes, for copies/source/api
//	copies/api           the calls by which copies are administered: messages of api/, server and client
//	copies/source/api    the call by which a holder pulls: messages of api/, server and client
//
// Looking after:
//
//	ops/health           whether a server lives and is ready, what does not work, why
//	ops/metrics          Prometheus metrics of a server
//	ops/clock            how far the clocks of other servers are from this one's
//	ops/systemd          what the service manager is told
//
// What looks at a server from outside and names mistakes is node/doctor.
package fleet
