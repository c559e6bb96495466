// Package reason says in sentences why something is so: why a skill was run, and how that went; how an object's pose came
// about.
//
// It words what a trace ([github.com/seed-301d4374/engram/mind/link]) finds, by templates for the types of skills, speech,
// objects and navigation; of other types it says what they link to. It invents nothing: each sentence names the snapshots
// that it rests on, and what is not known any more is said to be so.
package reason
