// Package wire converts what the calls of several features share between the domain and
// the messages of the API (gen/engram/v1): errors, patterns, queries, snapshots, segments, types, spans of time. What
// a server reads from a request is held within [Limits].
package wire
