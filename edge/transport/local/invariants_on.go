//go:build invariants

package local

// invariants turns on the checks of who owns which bytes; see the package comment.
const invariants = true
