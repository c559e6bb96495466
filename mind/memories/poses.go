package memories

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// DefaultPoseRetention is what the store that RobotState keeps holds of each edge,
// unless [WithPoseRetention] says otherwise: at 100 Hz, 11 minutes of poses without
// or 3 with covariances, or 43 minutes of joint values.
func DefaultPoseRetention() pose.Retention { return pose.Retention{MaxBytes: 4 * mib} }

// maxPoseFrames bounds the frames that commits can bring into being.
const maxPoseFrames = 10_000

// poses keeps a [pose.Store] that follows what is committed to the memory
// RobotState: descriptions, joint states, localizations, revisions and acquisitions.
//
// The frames of a provider segment's data are those of one robot, whose name is the
// provider segment's; see [lookup.RobotOf] and [lookup.Absolute].
type poses struct {
	store   *pose.Store
	present *pose.Present
	service *lookup.Local
	svc     atomic.Pointer[engram.Service] // the server the memory lives in

	// mu guards what follows, and the store against other writers: what is checked
	// under it still holds when it is done.
	mu     sync.Mutex
	joints map[engram.ID]*jointFeed
	owners map[string]engram.ID // of joints: the entity that sets it
	// described are the robots of which there is a description.
	described map[string]bool
	bodies    map[string]*body           // by child frame
	static    map[engram.ID]localization // of edges that are fixed beforehand: what was said last
	revised   engram.Time                // of the newest revision made through the service
	clocks    poseClocks
	items     map[string]*itemEdge
	robots    map[string]bool // whose frames there are

	frames chan struct{} // has one when robots have other frames than before
	world  *worldEdges   // nil where there is no memory World
}

func newPoses(keep pose.Retention) *poses {
	present := pose.NewPresent()
	p := &poses{
		store:   pose.New(pose.Config{Retention: keep, MaxFrames: maxPoseFrames + 2*maxItemEdges, Acquisitions: maxAcquisitions, Present: present}),
		present: present,
		joints:  map[engram.ID]*jointFeed{},
		owners:  map[string]engram.ID{},

		described: map[string]bool{},
		bodies:    map[string]*body{},
		static:    map[engram.ID]localization{},
		clocks:    poseClocks{courses: map[engram.ID]*course{}},
		items:     map[string]*itemEdge{},
		robots:    map[string]bool{},
		frames:    make(chan struct{}, 1),
	}
	p.service = lookup.New(p.store, lookup.Writes{Revise: p.commitRevision, Acquire: p.commitAcquisition, Release: p.commitRelease})
	return p
}

// What the store is rebuilt from when the server starts, of all that the memory has
// on disk: of each entity's history as much as the working memory keeps at
// most, so that a robot's years on disk do not delay its start.
const (
	rebuildDescriptions = 16
	rebuildRevisions    = 1_000
	rebuildHistory      = 10 * time.Minute
)

// start rebuilds the store from what the memory holds, in the order in which it arrived but
// for [rebuildRanks].
func (p *poses) start(ctx context.Context, svc engram.Service) error {
	var items []engram.Item
	read := func(q engram.Query) error {
		return svc.QueryParts(ctx, q, func(part *engram.Result) error {
			items = slices.AppendSeq(items, part.All())
			return nil
		})
	}
	for segment, newest := range map[string]int{
		"Description": rebuildDescriptions, "Revision": rebuildRevisions, "Acquisition": maxAcquisitions, "Proprioception": 1, "Localization": 1,
	} {
		first := len(items)
		if err := read(engram.MustPattern("RobotState/" + segment).Select(engram.Latest(newest))); err != nil {
			return err
		}
		if newest > 1 {
			continue
		}
		for _, last := range items[first:] {
			before := engram.Interval{Start: last.Time.Add(-rebuildHistory), End: last.Time}
			// One wild stamp hides no history.
			if snap, err := svc.AtOrBefore(ctx, last.ID.Truncate(engram.LevelEntity), last.Time-1); err == nil && snap.Time < before.Start {
				before = engram.Interval{Start: snap.Time.Add(-rebuildHistory), End: snap.Time + 1}
			}
			// What rests did so before, too, unless it was seen elsewhere or moving.
			if segment == "Localization" && isStatic(last.Snapshot) && before.Start > engram.MinTime {
				if snap, err := svc.AtOrBefore(ctx, last.ID.Truncate(engram.LevelEntity), before.Start-1); err == nil {
					before.Start = snap.Time
				}
			}
			if err := read(engram.SelectID(last.ID.Truncate(engram.LevelEntity), engram.In(before))); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(items, func(a, b engram.Item) int {
		// Numbers order what arrived at one time only: each life of the server has its own.
		return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Number, b.Number))
	})
	ranks := rebuildRanks(items)
	slices.SortStableFunc(items, func(a, b engram.Item) int { return cmp.Compare(ranks[a.ID], ranks[b.ID]) })
	for i := range items {
		p.restore(ctx, &items[i])
	}
	p.svc.Store(&svc)
	return p.startWorld(ctx, svc)
}

// rebuildRanks orders items beyond their arrival: descriptions come first, then what was stated
// of each frame that rests, which may have been said often and before all that is still held.
func rebuildRanks(items []engram.Item) map[engram.ID]int {
	ranks := make(map[engram.ID]int, len(items))
	sources := map[string]engram.ID{} // of the frames, by name: who said where it is first
	stated := map[string]bool{}
	for i := range items {
		it := &items[i]
		ranks[it.ID] = 2
		switch it.ID.CoreSegment() {
		case "Description":
			ranks[it.ID] = 0
		case "Localization":
			entity := it.ID.Truncate(engram.LevelEntity)
			for j := range it.Instances {
				l, _, err := decodeLocalization(it.Instances[j].Payload.Bytes)
				if err != nil {
					continue
				}
				source, child := sourceOf(entity, &l), lookup.Absolute(lookup.RobotOf(entity), l.child)
				if _, known := sources[child]; !known {
					sources[child] = source
				}
				if l.static && !stated[child] && sources[child] == source {
					ranks[it.ID], stated[child] = 1, true
				}
			}
		}
	}
	return ranks
}

// clocked is a server that says up to which time what is committed to a segment is of the
// present.
type clocked interface {
	Present(segment engram.ID) engram.Time
}

// follow tells the store the time, before something is written to it.
func (p *poses) follow() {
	if svc := p.svc.Load(); svc != nil {
		if s, ok := (*svc).(clocked); ok {
			p.present.Set(max(s.Present(localizations), s.Present(proprioceptions)))
		}
	}
}

var localizations, proprioceptions = engram.MustID("RobotState/Localization"), engram.MustID("RobotState/Proprioception")

// restore follows the stamps of a snapshot that was committed in an earlier life of the server, and replays it.
func (p *poses) restore(ctx context.Context, it *engram.Item) {
	segment := it.ID.CoreSegment()
	if (segment == "Proprioception" || segment == "Localization" && moves(it.Snapshot)) && !isRecorded(it.Snapshot) {
		p.mu.Lock()
		p.followLocked(ctx, it.ID.Truncate(engram.LevelEntity), it.Snapshot)
		p.mu.Unlock()
	}
	p.replay(ctx, it)
}

// replay brings a snapshot that the memory holds into the store.
func (p *poses) replay(ctx context.Context, it *engram.Item) {
	switch it.ID.CoreSegment() {
	case "Localization":
		p.mu.Lock()
		defer p.mu.Unlock()
		p.replayLocked(it.ID.Truncate(engram.LevelEntity), it.Snapshot)
	case "Revision":
		p.replayRevision(it)
	case "Acquisition":
		p.replayAcquisition(it)
	default:
		p.take(ctx, it.ID, it.Snapshot)
	}
}

// committed is the memory's Commit hook: it refuses descriptions that cannot be
// right.
func (p *poses) committed(_ context.Context, u *engram.EntityUpdate) error {
	if u.Entity.CoreSegment() == "Description" {
		return checkDescription(u)
	}
	return nil
}

// stored is the memory's Stored hook.
func (p *poses) stored(ctx context.Context, u engram.Update) {
	if u.ID.CoreSegment() == "Proprioception" {
		p.follow()
		p.mu.Lock()
		p.followLocked(ctx, u.ID.Truncate(engram.LevelEntity), u.Snapshot)
		p.mu.Unlock()
	}
	p.take(ctx, u.ID, u.Snapshot)
}

// take gives the store a description or joint states. What the store does not take is kept by the
// memory all the same: it is what was said.
func (p *poses) take(ctx context.Context, id engram.ID, snap *engram.Snapshot) {
	for i := range snap.Instances {
		b := snap.Instances[i].Payload.Bytes
		entity := id.Truncate(engram.LevelEntity)
		var err error
		switch id.CoreSegment() {
		case "Description":
			err = p.describe(ctx, entity, snap.Time, b)
		case "Proprioception":
			err = p.feel(entity, snap.Time, b)
		}
		if err != nil {
			p.service.LeaveOut(entity, snap.Time, err)
			server.Note(ctx, leftOut(entity, id.CoreSegment(), err))
		}
	}
}
