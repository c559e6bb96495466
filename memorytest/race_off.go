//go:build !race

package memorytest

// manyEntities is how many entities the suite puts into one segment.
const manyEntities = 100_000
