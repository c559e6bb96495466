//go:build race

package memorytest

// manyEntities is how many entities the suite puts into one segment: fewer under the
// race detector, which makes each cost many times as much.
const manyEntities = 10_000
