// Package condition decides when standing conditions are fulfilled.
//
// A Set is told of updates, each with its time, and of the passing of time. It answers with the
// conditions that have become fulfilled. It has no clock, no goroutine and no storage.
//
// These rules hold:
//
//   - A condition is fulfilled for a thing: an entity that its pattern matches and whose present
//     snapshot satisfies its filter, while all of its terms hold. One without a pattern is fulfilled
//     as a whole.
//   - The present snapshot of an entity is that of the newest time. What arrives later with an older
//     time changes nothing, and is an update all the same.
//   - A filter that fails on a snapshot is not satisfied. One that costs too much stops its conditions.
//   - A distance counts as it is when the update comes, and those from frames ten times a second, since
//     frames move without updates. What is near a frame fires no condition because of what was before
//     the set was told all (see [Set.Past]).
//   - What fires bears a key. The same updates in the same order give the same keys, so that who acts
//     on them can tell what was acted upon before.
package condition
