// Package skill is how programs offer skills, ask for them, and follow what becomes of that:
// [NewProvider], [Handle] and [Start] work on any [engram.Service], a server in the same
// process or a client of one. It imports the root and idf, and no transport.
//
// All of it is commits in the memory Skill, so that programs in any language take part with
// commit, query and subscribe alone. The entities are Skill/<segment>/<owner>/<name>:
//
//	segment      owner             name                  says
//	Description  provider          skill                 what can be asked for, with what
//	Provider     provider          provider              that the provider lives: a lease
//	Switch       who switches      skill                 that a skill is enabled or disabled
//	Request      caller            request, used once    that a skill shall be executed
//	Abort        who aborts        request               that it shall not, or not any further
//	Execution    caller            request               how far it has come; the result
//	Call         provider          caller.request        start, stop: what the memory tells a provider
//	Report       provider          caller.request        what a provider says of an execution
//	Transition   provider          skill                 the log of all changes of status
//
// The memory's executor (package skill/executor) writes Execution, Call and Transition, and
// nobody else does.
//
// # A provider without this package
//
// It commits its Descriptions, then its Provider with an epoch (ns since 1970 at its start)
// and a lease, and that anew in each third of the lease. It subscribes to its Calls. To a
// Start with its epoch it answers with Reports of the same epoch: Running as often as it
// likes, then one of Succeeded and Failed, at standstill. To a Stop it answers Stopped at
// standstill, or StopRefused, before the deadline. A Start whose execution and attempt it has
// seen it does not begin again. If it could not commit its Provider for a whole lease, it
// stops what it does within the stop timeout of each skill; so it does when it is told that
// its epoch is fenced, and begins with a new epoch.
package skill
