// Package node runs a memory server as a whole inside a program: memories, a
// long-term memory, the name system, the backbone, copies, access rules and what
// operators look at, composed from one [Config]. `engram serve` is this package with
// flags; a program that wants the memory in its own process uses it directly:
//
//	n, err := node.New(ctx, node.Config{Memories: memories.All(), Data: &ltm.Options{Dir: dir}})
//	…
//	err = n.Serve(ctx) // until ctx ends
//
// The program itself calls the server without a connection, by [Node.Server]; other
// programs find it at [Node.Addresses]. Several nodes can run in one process.
package node
