// Package grpc measures what programs of other languages get of a memory server: calls
// of gRPC's own client library for Go to the server, and to a server of that library
// that answers the same messages and does nothing else, in turn.
//
//	go test ./bench/grpc -run xxx -bench . -count 5
//
// Both servers are processes of their own behind a Unix socket.
package grpc
