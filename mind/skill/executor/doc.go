// Package executor has the memory Skill run what is asked for.
//
// It is the hooks of the memory: requests, aborts, leases and reports of providers are checked before
// they are stored, and told to a schedule (package schedule) when they are. What changes because of
// them, such as that an execution is handed to its provider, the executor writes to Skill/Execution.
//
// Nothing is kept elsewhere. When a server begins anew, what was asked for and has no execution is
// begun then; what was under way goes on, if its provider renews its lease, and has failed otherwise.
package executor
