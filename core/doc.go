// Package core is the wing of one memory server: how data is typed, held in RAM, asked for,
// kept on disk, guarded and hosted. It is all that a memory needs within one process: nothing
// in it dials or listens, and nothing knows another server, what the data mean to a robot, or
// a way in or out.
//
// Packages of this wing import the root package, each other, gen/ and what all wings share
// (internal/); none of mind, fleet, edge, client, node or cmd. The wing's own folder has
// nothing but this comment.
//
// Data and questions:
//
//	idf                    types of payloads and their values: definitions, wire check, JSON, casts, filters (CEL)
//	idf/gen                writes classes in Go and Python from types ("engram gen")
//	idf/object             what such classes in Go are built on
//	follow                 keeps views of what is committed: applies, heals losses, marks, goes back in time
//	query                  how a query is compiled, evaluated over an entity, and answered; conditions and indexes
//
// Keeping:
//
//	wm                     the working memory: hierarchy and time index in RAM, bounds, subscriptions, indexes
//	ltm                    the long-term memory: records, seals, recovers, answers from disk and RAM, carries out what is to be forgotten
//	ltm/wal                the log: what was promised to survive a crash
//	ltm/episode            episodes: the MCAP files of a span of time, written, read, checked, repaired
//	ltm/episode/meta       what is told of an episode; for who opens none
//	ltm/codec              snapshots into what an episode stores and back: video (H.264), images, columns
//	ltm/policy             says what is recorded of a core segment, in what form, for how long
//	ltm/policy/record      the filters that decide which snapshots are recorded
//	ltm/admin              the interface by which a long-term memory is administered
//	ltm/api                the calls for that: messages of api/, server and client
//	ltm/internal/catalogue which episode holds what
//	ltm/internal/digests   what indexes take of an episode's versions, kept beside it
//	ltm/internal/names     the names of the codecs
//	ltm/internal/vector    rows of numbers and texts in few bytes
//
// Serving:
//
//	server                 one memory server: hooks of the memories that it hosts, over wm and ltm
//	server/api             memories that programs in any language host, as calls of the API
//	follow                 views of what is committed, shared by all who may read the same
//	feature                how a package offers calls of its own, with their rules
//	feature/wire           what the messages of several features share
//	meter                  counts calls, latencies and refusals for the edges
//	memorytest             the suite of tests that every implementation of the memory passes
//
// Who may do what:
//
//	access                 identities, rules, the guard before a server, the audit
//	access/credentials     certificates of a deployment: the authority, files, mutual TLS by them
//	secure                 who is at the other end of a connection, and from which web page
package core
