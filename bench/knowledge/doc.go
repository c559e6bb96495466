// Package knowledge measures package knowledge: loading files, point look-ups, joins, containment,
// and what a triple takes of RAM; beside SWI-Prolog where it is installed.
//
//	go test ./bench/knowledge -bench . -run '^$'
package knowledge
