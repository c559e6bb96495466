//go:build race

package testkit

// Raced is true under the race detector, where decompression and databases take some
// twenty times as long.
const Raced = true
