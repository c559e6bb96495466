// Package attack attacks server processes of its own, to see that the promises of
// docs/guarantees.md and docs/security.md hold from outside. It holds requests that are
// small and want to become large: messages that unpack, are decoded or are answered to
// many times their size. Its tests send these and others, damage folders, and look at what
// the servers take, answer and still have. Nothing else uses it.
//
// Attacks that could go on for ever take some seconds in go test, and longer by a flag:
//
//	go test ./internal/attack -for 15m -timeout 3h
//	go test ./internal/attack -run TestNoise -seed 4711 -v
package attack
