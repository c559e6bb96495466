// Package memorytest is the behaviour suite that every implementation of the
// domain interfaces passes: the working memory, a server, each client of one.
//
// [Run] knows nothing of the implementation but the interfaces, so it works in
// process and across a network alike, and what it asserts is what the interfaces'
// comments promise. Powers that not every implementation has (commit streams,
// answers in parts, prediction) are tested where they are offered.
//
// What clients in any language can run is data: cases/*.json has steps and what each is to
// answer, which the part Cases runs in Go, and each client's tests in its language.
//
// Nothing here looks inside an implementation; white-box tests live beside the
// code they test.
package memorytest
