// Package ltm is the long-term memory: what the memories of a server knew, on disk.
//
// A [Store] is one folder. It holds a log, which makes commits durable before the
// working memory shows them (package core/ltm/wal); episodes, MCAP files that any robotics
// tool opens (core/ltm/episode); a catalogue over them (core/ltm/internal/catalogue), and what was set at
// run-time: policies, marks and rules. docs/ltm.md is the guide.
//
// # Writing
//
// A recorder subscribes to the working memory like any consumer and puts what each
// segment's policy wants into the open episode. It never makes a commit wait: what it
// cannot keep up with is taken from the working memory's history as long as that has
// it, then from the log, and else counted and named in the episode; later epochs tell how
// much of which provider segment it was. An episode is sealed by size, by age, on demand
// and at the end; then the log is cut off up to where the sealed episodes hold everything.
//
// # Reading
//
// A [Store] answers the same queries as the working memory, over the disk alone or
// merged with it. An entity's timeline is put together slot by slot out of what the
// episodes and the working memory hold, and an episode is opened, and a block of it
// read, only when a time that it may hold comes next. Where the working memory is
// complete, the disk is not touched: it knows what it evicted, and the store knows
// what an earlier epoch has left.
//
// Who reads pins a version: an immutable list of episodes with what was forgotten, damaged
// and removed, and the tombstones. Sealing, taking together, dropping and forgetting
// publish the next. The file of an episode that only older versions name is deleted at
// once, but stays open for these; catalogue and caches tell of the newest version, and an
// episode that leaves tells itself what it holds.
//
// # Parts
//
// A Store opens the folder and puts its parts together. Each part has its own state, and
// pointers to the parts that it uses; none knows the Store.
//
// What they share: env has the options, and from Begin on the working memory and the
// recorder; disk finds what the episodes hold, state has what was noted at run-time,
// account what was forgotten, damaged, left out and recalled, policies what is to be
// recorded, logs the log of each memory, health what does not work.
//
// What they do: the recorder writes episodes, and a second goroutine of it seals them; the
// episodeFolder changes sealed ones, for the compactor, the repairer and the forgetter; the
// forgetter carries out the orders of the orderBook and what retention finds due, and the
// ledger tells of it; the keeper knows what marks, kept episodes and links protect; the
// ruleSet follows standing rules; the digester keeps beside sealed episodes what indexes take of
// them; the reader answers from both memories; the recaller puts
// what is on disk back into the working memory; past serves holders of copies; administration shows
// what there is and sets policies.
//
// # Locks
//
// The order of locks: the one of forgetting, a handle's edit lock, then the set of episodes,
// then a handle's own; and of marks: keeper.marking, then growth, then state. No lock that a
// reader takes is held while something is written. The digester holds an edit lock for long,
// and gives way to who waits for it.
//
// # Forgetting
//
// An order to forget is a tombstone: from the moment it is published readers leave out
// what it is about, and say that it is forgotten. One call at a time forgets: a request, or
// the forgetter's goroutine, which applies the policies and finishes what an earlier epoch
// began. An order is noted before it is carried out, episode by episode; docs/ltm.md has
// the steps.
package ltm
