// Package stream writes the batches of a pull as bytes and reads them back: one zstd
// stream of frames in which names are sent once and times and numbers as steps from
// what came before. docs/formats/copy.md describes it.
//
// A reader trusts nothing: its memory is bounded for any input, and malformed input is
// Corrupt.
package stream
