//go:build !invariants

package local

const invariants = false
