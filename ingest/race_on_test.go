//go:build race

package ingest

// raced is true under the race detector, where decompression and the database take
// some twenty times as long; the largest recordings are left out then.
const raced = true
