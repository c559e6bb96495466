// Package graph finds ways over graphs of places, as engram.navigation.Graph has them: through many
// rooms and floors, of which no grid is searched as a whole.
//
// It has no clock, no goroutine and no storage.
package graph
