// Package server is one memory server: the working memory with the behaviour of
// the concrete memories it hosts, behind the domain interfaces.
//
// A concrete memory is a [Memory]: a name, types, segments, bounds and hooks. A
// program outside this module defines its own in the same way. Package
// edge/transport/rpc puts a [Server] on the network; this package knows no transport.
package server
