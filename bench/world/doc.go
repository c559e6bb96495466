// Package world measures package world: questions to a forest, its past, how soon a watcher has
// a change, what an item takes of RAM, what a server takes when many were imported, and how
// long commands take that ask a server.
//
//	go test ./bench/world -bench . -run '^$'
//	go test ./bench/world -bench Commands -benchtime 20x -run '^$'
package world
