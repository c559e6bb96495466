//go:build !race

package testkit

// Raced is false without the race detector.
const Raced = false
