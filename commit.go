package engram

import (
	"bytes"
	"slices"
)

// EntityUpdate is what one entity is to become at one time. All its instances are
// stored as one snapshot, or none.
type EntityUpdate struct {
	Entity    ID   // of level entity; its memory and core segment must exist
	Time      Time // when it was true, in [MinTime, MaxTime)
	Instances []Instance
}

// Commit is a bundle of entity updates, written together in one call. Each update
// succeeds or fails by itself.
type Commit struct {
	Updates []EntityUpdate
	// Transient says that the caller uses the payloads' bytes again once it has the
	// results; not if the commit fails as a whole. A memory in the caller's process
	// copies them; to one in another process it costs nothing, and spares a producer
	// of images most of its garbage collection.
	Transient bool
	// Recorded says that the times are those of a recording, or of knowledge made
	// elsewhere: by another clock, so that it does not matter how far they lie ahead of
	// the server's.
	Recorded bool
}

// With returns the commit with other updates.
func (c Commit) With(updates []EntityUpdate) Commit {
	c.Updates = updates
	return c
}

// Owned returns c with payloads of its own if it is transient.
func (c Commit) Owned() Commit {
	if !c.Transient {
		return c
	}
	own := c.With(slices.Clone(c.Updates))
	own.Transient = false
	for i := range own.Updates {
		u := &own.Updates[i]
		u.Instances = slices.Clone(u.Instances)
		for j := range u.Instances {
			u.Instances[j].Payload.Bytes = bytes.Clone(u.Instances[j].Payload.Bytes)
		}
	}
	return own
}

// UpdateResult answers one entity update: the stored snapshot or an error.
type UpdateResult struct {
	ID     ID     // the snapshot; the entity if it was refused
	Number uint64 // the update number; 0 if it was refused
	Err    error  // an *Error, or nil
	// Note is what to know of an update that is stored all the same, such as that its pose
	// is not among the poses: an *Error, or nil.
	Note error
}

// FirstError returns the first error among results, or nil.
func FirstError(results []UpdateResult) error {
	for i := range results {
		if results[i].Err != nil {
			return results[i].Err
		}
	}
	return nil
}
