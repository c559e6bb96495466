package local

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// sentCommit gathers the results of a commit that was sent. Those of updates that
// were refused before they were sent have their error from the beginning; of the
// others the ID holds the snapshot that was asked for.
type sentCommit struct {
	results []engram.UpdateResult
	next    int // the first that is not answered
}

// commitFlags returns what a commit's frames say of all its updates.
func commitFlags(c engram.Commit) uint8 {
	if c.Recorded {
		return flagRecorded
	}
	return 0
}

// prepare returns the results to be filled for c.
func prepare(c engram.Commit, limit uint32) *sentCommit {
	s := &sentCommit{results: make([]engram.UpdateResult, len(c.Updates))}
	for i := range c.Updates {
		u := &c.Updates[i]
		s.results[i].ID = u.Entity
		if s.results[i].Err = checkSnapshot(u.Entity, u.Instances, limit); s.results[i].Err == nil && u.Entity.Level() == engram.LevelEntity {
			s.results[i].ID = u.Entity.At(u.Time)
		}
	}
	s.skip()
	return s
}

// skip goes to the next update that the server answers.
func (s *sentCommit) skip() {
	for s.next < len(s.results) && s.results[s.next].Err != nil {
		s.next++
	}
}

// decode reads the results in one frame.
func (s *sentCommit) decode(d *decoder) {
	for range d.count(1) {
		if s.next == len(s.results) {
			d.fail("the server answered more updates than were sent")
		}
		if d.bad != nil {
			return
		}
		r := d.result(s.results[s.next].ID)
		if d.bad != nil {
			return
		}
		s.results[s.next] = r
		s.next++
		s.skip()
	}
}

// parts calls part with consecutive updates that were not refused, as many as
// come to about limit bytes and are not too many for one message; last is set with the last ones. It is called at least
// once, with none if there are none.
func (s *sentCommit) parts(c engram.Commit, limit int, part func(updates []engram.EntityUpdate, last bool) error) error {
	from, size := 0, 0
	for i := range c.Updates {
		if s.results[i].Err != nil {
			if from < i {
				if err := part(c.Updates[from:i], false); err != nil {
					return err
				}
			}
			from, size = i+1, 0
			continue
		}
		records, payloads := snapshotSize(c.Updates[i].Instances)
		n := records + payloads
		if from < i && (size+n > limit || i-from == rpc.MaxUpdates) {
			if err := part(c.Updates[from:i], false); err != nil {
				return err
			}
			from, size = i, 0
		}
		size += n
	}
	return part(c.Updates[from:], true)
}

// Commit implements engram.Writer.
func (c *Client) Commit(ctx context.Context, cm engram.Commit) ([]engram.UpdateResult, error) {
	m, err := c.connection(ctx)
	if err != nil {
		return nil, err
	}
	limit := m.w.peer.frame
	sent := prepare(cm, limit)
	// Almost always this is one frame; a larger commit is several of them, one after
	// the other, because the order of updates matters.
	err = sent.parts(cm, int(min(limit, maxRecords)), func(updates []engram.EntityUpdate, _ bool) error {
		return resume.Repeat(ctx, func() (bool, error) {
			done, err := c.call(ctx, &pending{want: kindResults, commit: sent, flags: commitFlags(cm)}, kindCommit, func(e *encoder) { e.updates(updates) })
			return !done, err
		})
	})
	if err != nil {
		return nil, err
	}
	if sent.next < len(sent.results) {
		return nil, engram.Errorf(engram.Corrupt, c.address, "the server answered %d of %d updates", sent.next, len(sent.results))
	}
	return sent.results, nil
}
