// Package prolog answers questions in Prolog about a view of knowledge, with the predicates of
// SWI-Prolog's semweb library and of KnowRob: reader, machine and library.
//
// A [Program] has rules and prefixes. [Program.Ask] reads a question and yields rows. Predicates over
// facts are Go functions over the graph's indexes; closures are computed there, not by recursion.
// A question reads no files and runs no programs. Limits of time, steps and memory end it with an
// error that no catch/3 hides. What it asserts is gone with it.
package prolog
