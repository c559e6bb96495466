// Package rpc puts a memory server on the network, and reaches one.
//
// [NewHandler] serves any engram.Service (and a name system) as gRPC, gRPC-Web
// and HTTP/JSON from one http.Handler; [Listen] and [Serve] put it on Unix sockets
// and TCP. [Dial] returns a [Client], which implements engram.Service over one
// multiplexed connection, so that a program does not know whether its memory lives
// in its own process.
//
// Payloads cross the edge as they are: a received payload's bytes are copied once,
// by the protobuf decoder out of the transport's buffer, and go to the service by
// reference. Generated message types do not leave this package.
//
// Responses are never compressed, because most bytes are images and small
// messages: gzip costs ten times the throughput of the rest of the way. Requests
// may be.
package rpc
