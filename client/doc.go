// Package client is what programs use to reach a robot's memory: it finds the name
// system, and through it every memory by name, wherever it is served.
//
// A [Client] implements engram.Service over all memory servers that are registered.
// It sends each part of a commit, query, subscription or prediction to the server
// that hosts the memory concerned, and merges the answers; with one server nothing
// is split. Servers that come, go and move are followed.
package client
