// Package mns is the memory name system: where memories are found by name.
//
// A memory server registers the memories it hosts with their addresses under a
// lease ([Registry.Register], or [Keep], which renews it in the background); a
// program resolves names to addresses, waits for a name, or watches all of them.
// [Local] is the registry of one process; package edge/transport/rpc has the same
// interface over the network.
//
// The package knows addresses as text only and opens no connection.
package mns
