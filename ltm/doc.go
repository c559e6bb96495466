// Package ltm is the long-term memory: what the memories of a server knew, on disk.
//
// A [Store] is one folder. It holds a log, which makes commits durable before the
// working memory shows them (package ltm/wal); episodes, MCAP files that any robotics
// tool opens (ltm/episode); a catalogue over them (ltm/catalogue), and what was set at
// run-time: policies, marks and rules. docs/ltm.md is the guide.
//
// # Writing
//
// A recorder subscribes to the working memory like any consumer and puts what each
// segment's policy wants into the open episode. It never makes a commit wait: what it
// cannot keep up with is taken from the working memory's history as long as that has
// it, then from the log, and else counted and named in the episode. An episode is sealed
// by size, by age, on demand and at the end; then the log is cut off up to where the
// sealed episodes hold everything.
//
// # Reading
//
// A [Store] answers the same queries as the working memory, over the disk alone or
// merged with it. An entity's timeline is put together slot by slot out of what the
// episodes and the working memory hold, and an episode is opened, and a block of it
// read, only when a time that it may hold comes next. Where the working memory is
// complete, the disk is not touched: it knows what it evicted, and the store knows
// what an earlier life has left.
//
// # Locks
//
// The recorder's goroutine alone writes episodes; a second one seals them. An
// episode's handle is claimed for reading, so that it may be rewritten, replaced or
// dropped at any time. The order of locks: the one of forgetting, a handle's edit
// lock, then the set of episodes, then a handle's own.
//
// # Forgetting
//
// One at a time forgets: somebody who asks for it, or the forgetter's goroutine, which
// does what the policies say and finishes what an earlier life began. An order is noted
// before it is carried out, episode by episode; docs/ltm.md has the steps.
package ltm
