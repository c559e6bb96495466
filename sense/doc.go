// Package sense is the attention of a producer: it decides, in the producer's process, which of what a
// sensor gives goes on to the memory.
//
// An [Attention] is an [engram.Writer] before a memory. A sensor's program commits all data to it. A
// ring, bounded in bytes, holds the last seconds. A [Rule] selects from them: by rate, by change, or
// around a trigger in any memory, with the seconds before the trigger. Several rules pass a snapshot on
// once; an entity without rules is passed on whole. The rest is counted ([Counts]).
//
// Rules are entities of SystemState/Attention, which anybody with the right sets at run time. A trigger
// of a rule is an [Incident], an entity of SystemState/Incident: its cause, its window, and what each
// sensor gave, passed on and lacked. docs/attention.md is the guide.
//
// [Gate] is the core: it decides, and has no server, no clock and no goroutine. Comparisons are those of
// the long-term memory's policies (ltm/policy/record), conditions those of skills (skill/condition).
package sense
