package memories

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// PoseRetention is what the store that RobotState keeps holds of each edge: 11
// minutes of poses or 43 of joint values at 100 Hz.
var PoseRetention = pose.Retention{MaxBytes: 4 * mib}

// maxPoseFrames bounds the frames that commits can bring into being.
const maxPoseFrames = 10_000

// poses keeps a [pose.Store] that follows what is committed to the memory
// RobotState: descriptions, joint states, localizations and revisions.
//
// The frames of a provider segment's data are those of one robot, whose name is the
// provider segment's; see [robotOf] and [absolute].
type poses struct {
	store   *pose.Store
	service *service.Local
	svc     atomic.Pointer[engram.Service] // the server the memory lives in

	mu       sync.Mutex // guards what follows, and holds back writers of the structure
	joints   map[engram.ID]*jointFeed
	owners   map[string]engram.ID // of joints: the entity that sets it
	bodies   map[engram.ID]*bodyFeed
	children map[string]engram.ID // child frames of Free edges: the entity that sets them
	static   map[engram.ID]localization
	revised  engram.Time // of the newest revision made through the service
}

func newPoses() *poses {
	p := &poses{
		store:    pose.New(pose.Config{Retention: PoseRetention, MaxFrames: maxPoseFrames}),
		joints:   map[engram.ID]*jointFeed{},
		owners:   map[string]engram.ID{},
		bodies:   map[engram.ID]*bodyFeed{},
		children: map[string]engram.ID{},
		static:   map[engram.ID]localization{},
	}
	p.service = service.New(p.store, p.commitRevision)
	return p
}

// start rebuilds the store from what the memory holds: the structure first, then
// each segment in the order in which it was written.
func (p *poses) start(ctx context.Context, svc engram.Service) error {
	p.svc.Store(&svc)
	for _, segment := range []string{"Description", "Proprioception", "Localization", "Revision"} {
		if err := p.replay(ctx, svc, engram.MustPattern("RobotState/"+segment)); err != nil {
			return err
		}
	}
	return nil
}

// replay brings what the memory holds below a pattern into the store.
func (p *poses) replay(ctx context.Context, svc engram.Reader, pattern engram.Pattern) error {
	r, err := svc.Query(ctx, pattern.Select(engram.All()))
	if err != nil {
		return err
	}
	items := slices.SortedFunc(r.All(), func(a, b engram.Item) int {
		switch {
		case a.Number < b.Number:
			return -1
		case a.Number > b.Number:
			return 1
		}
		return 0
	})
	for _, it := range items {
		if it.ID.CoreSegment() == "Revision" {
			p.replayRevision(it)
			continue
		}
		p.stored(ctx, engram.Update{ID: it.ID, Number: it.Number, Snapshot: it.Snapshot})
	}
	return nil
}

// committed is the memory's Commit hook: it refuses descriptions that cannot be
// right, and applies revisions.
func (p *poses) committed(ctx context.Context, u *engram.EntityUpdate) error {
	switch u.Entity.CoreSegment() {
	case "Description":
		return checkDescription(u)
	case "Revision":
		return p.commitRevised(ctx, u)
	}
	return nil
}

// stored is the memory's Stored hook. What the store does not take is kept by the
// memory all the same: it is what was said.
func (p *poses) stored(ctx context.Context, u engram.Update) {
	for i := range u.Snapshot.Instances {
		b := u.Snapshot.Instances[i].Payload.Bytes
		entity := u.ID.Truncate(engram.LevelEntity)
		var err error
		switch u.ID.CoreSegment() {
		case "Description":
			err = p.describe(ctx, entity, b)
		case "Proprioception":
			err = p.feel(entity, u.Snapshot.Time, b)
		case "Localization":
			err = p.locate(entity, u.Snapshot.Time, b)
		}
		if err != nil {
			slog.Debug("not among the poses", "snapshot", u.ID.String(), "reason", err)
		}
	}
}

// robotOf returns the robot that an entity's data is about: the provider segment is
// named after it, or, in a recording, after that. Prior knowledge of a robot is in
// the entity of its name.
func robotOf(entity engram.ID) string {
	if entity.ProviderSegment() == PriorKnowledgeProvider {
		return entity.Entity()
	}
	return entity.ProviderSegment()
}

// absolute returns the absolute name of a frame or joint: with a slash inside it
// has its robot already. Leading slashes, which ROS 1 allowed, mean nothing.
func absolute(robot, name string) string {
	name = strings.TrimLeft(name, "/")
	if name == "" || robot == "" || strings.Contains(name, "/") {
		return name
	}
	return robot + "/" + name
}
