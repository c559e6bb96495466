//go:build race

package idf

// raceEnabled says whether the tests run with the race detector.
const raceEnabled = true
