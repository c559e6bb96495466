// Package command understands short spoken or typed commands to several robots, such as
// "Scouts, find the garbage": whom it is for, which skill is wanted, with which
// parameters. It is a small grammar over a vocabulary: names and groups of agents, verbs
// that are patterns of words with the skill that each stands for, and the spoken names of
// things and places.
//
// The package is pure: no memory, no clock. Who uses it fills the [Vocabulary] from the
// memories and commits what was understood.
package command
