//go:build !race

package recording

const raced = false
