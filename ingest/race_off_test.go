//go:build !race

package ingest

const raced = false
