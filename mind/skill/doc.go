// Package skill is what a robot can do, when it does it, and what came of it.
//
// A provider offers skills: it writes a [Description] of each to the memory Skill and keeps a lease
// there. Who wants one executed writes a [Request]; the answer is an [Execution], an entity of its
// own, which the memory writes with the provider. All that happens is data, so that a caller which
// began anew finds its result an hour later, and any program can look on.
//
// The memory decides which executions run, wait and stop (package schedule holds the rules, package
// executor the memory's hooks). It hands an execution to its provider with a snapshot that has the
// provider's epoch. The provider says how far it has come with further snapshots of the execution,
// which have the epoch, too.
//
// [Skills] is this in Go. Programs in other languages do the same with commits and
// subscriptions: docs/skills.md says which.
package skill
