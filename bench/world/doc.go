// Package world measures package world: questions to a forest, its past, how soon a watcher has
// a change, what an item takes of RAM, and what a server takes when many
// were imported.
//
//	go test ./bench/world -bench . -run '^$'
package world
