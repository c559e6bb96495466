// Package world measures package world: questions to a forest, its past, how soon a watcher has
// a change, and what an item takes of RAM.
//
//	go test ./bench/world -bench . -run '^$'
package world
