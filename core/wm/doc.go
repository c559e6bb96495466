// Package wm is the working memory: the hierarchy and its time index in RAM,
// within bounds, with one change feed.
//
// A [WM] holds any number of memories. It knows no transport and no disk.
//
// # Concurrency
//
// Writers are serialised by one lock per WM. What does not need the lock is done
// before it is taken: a payload is checked and its snapshot is built outside, and
// under the lock it is put into its entity's timeline, gets its number, and is
// handed to the subscriptions' queues.
//
// Readers take no lock and wait for nobody. Names are found in hash tables that
// are read with atomic loads ([table]), and an entity's [timeline] publishes what
// was put into it in the same way. A reader begins by loading the newest published
// update number, its high-water mark, and takes no notice of what was written beyond it;
// so what it sees of one entity, and of all entities together, is what stood at
// one moment, however long it reads. Only where something that stood at that
// moment was evicted since does it look at the entity again with a later one.
//
// # Bounds
//
// A core segment bounds each of its entities: snapshots and superseded versions
// are evicted in the order of their times (versions of one time: of their
// arrival), never the newest snapshot; for their count and bytes those beyond the present
// go first (present.go). A memory bounds all it holds together: what
// was evicted first is what stopped being its entity's newest state longest ago,
// wherever it is; when nothing but newest states is left, the one that arrived
// first goes, and its entity with it, unless the memory keeps those ([WM.KeepNewest]). Every eviction is counted in the entity and
// its segments, and a query that asks for what was evicted says so. An entity's bytes are
// those of its payloads; a memory's are what all it holds takes of the process (cost.go).
// Segments are not evicted, so there are no more than [Limits].MaxSegments.
//
// What is acknowledged can be read: a commit that would be evicted at once is refused,
// unless something else keeps it ([WM.KeptBy]). Times are other programs' and may be
// wrong: those far ahead of the clock are refused ([engram.CoreSegment].MaxAhead), and
// the age of others is not measured from a time that stands alone. What a clock that was
// ahead has left is not newest beside what is of the present ([query.Newest]).
//
// # Copies
//
// A memory can be a copy of one that another server owns. Its versions come with their
// owner's times of arrival, whose clock may differ from this one's by any amount: within
// an entity they order what was known when, as everywhere; across memories nothing but
// the numbers, which are this memory's, says what came first.
//
// Who copies from here follows the changes by their numbers ([Feed.Changes]), at its own
// pace and without a queue; what was removed on purpose is noted for it ([Removal]).
package wm
