//go:build linux

package fleet

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What is committed on one robot is read on the base station, from its copy too, and on
// another robot, over real links between hosts of their own. However long anything takes,
// it is waited for.
func TestRobotsReadEachOther(t *testing.T) {
	b := beginWith(t, "robot1:GeneralPurpose")
	one, two := b.Robots[0].First, b.Robots[1].First
	b.start(b.Base, one, two)
	const text = "3 said by robot1"
	segment := engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Work")}
	commit := engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, "GeneralPurpose/Work/first/thing", 7, text)}}
	testkit.Until(t, func() (string, bool) {
		err := b.client(one).AddCoreSegment(b.ctx, segment)
		if err == nil || engram.CodeOf(err) == engram.AlreadyExists {
			var results []engram.UpdateResult
			if results, err = b.client(one).Commit(b.ctx, commit); err == nil {
				err = engram.FirstError(results)
			}
		}
		return fmt.Sprintf("robot1 commits nothing: %v", err), err == nil
	})
	for _, at := range []struct {
		server *Server
		source engram.Source
	}{{b.Base, engram.SourceOwner}, {two, engram.SourceOwner}, {b.Base, engram.SourceCopy}} {
		q := engram.SelectID(engram.MustID("robot1:GeneralPurpose/Work/first/thing"), engram.All())
		q.Source = at.source
		testkit.Until(t, func() (said string, yes bool) {
			c := b.client(at.server)
			r, err := c.Query(b.ctx, q)
			if err != nil || len(r.Items()) == 0 {
				return fmt.Sprintf("at %s, source %v: %v, %+v", at.server.Host.Name, at.source, err, r), false
			}
			it := r.Items()[0]
			got, err := idf.DecodeValue(it.Instances[0].Payload.Bytes)
			if err != nil || got != text || it.Time != 7 || len(r.Items()) != 1 || len(it.Instances) != 1 {
				t.Errorf("at %s, source %v, there is %v, %v of %+v; robot1 committed %q at 7", at.server.Host.Name, at.source, got, err, r.Items(), text)
			}
			return "", true
		})
	}
	testkit.Until(t, func() (string, bool) {
		s, err := b.client(two).Latest(b.ctx, engram.MustID("GeneralPurpose/Work/first/thing"))
		if err == nil {
			t.Errorf("robot2 has in its own memory what robot1 committed: %v", s)
		}
		return fmt.Sprintf("of robot2's own memory is said: %v", err), engram.CodeOf(err) == engram.NotFound
	})
}
