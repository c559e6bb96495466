package memories

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// descriptionURDF returns the URDF text of an engram.robot_state.Description.
func descriptionURDF(b []byte) (text []byte, err error) {
	err = eachField(b, func(num protowire.Number, f field) error {
		if num == 2 {
			text = f.bytes
		}
		return nil
	})
	return text, err
}

// checkDescription refuses a description whose URDF cannot be right.
func checkDescription(u *engram.EntityUpdate) error {
	for i := range u.Instances {
		text, err := descriptionURDF(u.Instances[i].Payload.Bytes)
		if err != nil || len(bytes.TrimSpace(text)) == 0 {
			continue // what is no message, the memory says best
		}
		if _, err := urdf.Read(bytes.NewReader(text), lookup.RobotOf(u.Entity)+".urdf"); err != nil {
			return err
		}
	}
	return nil
}

// describe adds a robot, and the joint states that came before it.
func (p *poses) describe(ctx context.Context, entity engram.ID, t engram.Time, b []byte) error {
	text, err := descriptionURDF(b)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	robot := lookup.RobotOf(entity)
	d, err := urdf.Read(bytes.NewReader(text), robot+".urdf")
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.described[robot] = true
	for i := range d.Joints {
		p.yieldLocked(lookup.Absolute(robot, d.Joints[i].Child))
	}
	p.meetLocked(robot + "/")
	err = p.addRobotLocked(ctx, entity, t, d, robot)
	clear(p.joints) // joints that were unknown may be known now
	p.mu.Unlock()
	for _, doubt := range d.Doubts {
		p.service.LeaveOut(entity, t, doubt)
		server.Note(ctx, leftOut(entity, "Description", doubt))
	}
	svc := p.svc.Load()
	if err != nil || svc == nil {
		return err
	}
	provider, err := engram.NewID("RobotState", "Proprioception", robot)
	if err != nil {
		return err
	}
	r, err := (*svc).Query(ctx, engram.PatternOf(provider).Select(engram.All()))
	if err != nil {
		return err
	}
	items := slices.SortedFunc(r.All(), func(a, b engram.Item) int { return cmp.Compare(a.Number, b.Number) })
	for i := range items {
		p.mu.Lock()
		began := p.clocks.began(items[i].ID.Truncate(engram.LevelEntity))
		p.mu.Unlock()
		if items[i].Arrived >= began {
			p.replay(ctx, &items[i])
		}
	}
	return nil
}

// addRobotLocked adds a robot. Where a frame has an edge already, because transforms
// came before the description or because the description changed, only the values of
// fixed edges are revised; other edges stay as they are.
func (p *poses) addRobotLocked(ctx context.Context, entity engram.ID, t engram.Time, d *urdf.Robot, robot string) error {
	err := p.store.AddRobot(d, robot)
	if engram.CodeOf(err) != engram.Conflict {
		return err
	}
	for _, mimics := range []bool{false, true} {
		for _, j := range d.Joints {
			if (j.Mimic != nil) != mimics {
				continue
			}
			one := &urdf.Robot{Name: d.Name, Root: j.Parent, Joints: []urdf.Joint{j}}
			err := p.store.AddRobot(one, robot)
			if engram.CodeOf(err) == engram.Conflict && j.Type == urdf.Fixed {
				err = p.calibrate(entity, robot+"/"+j.Parent, robot+"/"+j.Child, pose.JointOrigin(&j), pose.Cov{})
			}
			if err != nil {
				err := engram.Errorf(engram.CodeOf(err), robot+"/"+j.Name, "a joint of the description is left out: %w", err)
				p.service.LeaveOut(entity, t, err)
				server.Note(ctx, leftOut(entity, "Description", err))
			}
		}
	}
	return nil
}

// calibrate gives a fixed edge a value, at all times; a revision if it had another.
func (p *poses) calibrate(author engram.ID, parent, child string, v pose.Pose, cov pose.Cov) error {
	err := p.store.Fixed(parent, child, v, cov)
	if engram.CodeOf(err) != engram.Conflict {
		return err
	}
	path, pathErr := p.store.Path(parent, child)
	if pathErr != nil {
		return err
	}
	now, known, info, fail := path.LatestCommonCov()
	if fail.Code != pose.OK || info.Flags&pose.Static == 0 {
		return err
	}
	// Rounding of angles to a quaternion and back is no calibration.
	const none = 1e-9
	if trans, rot := now.Distance(v); trans < none && rot < none && (cov.Mask == 0 || cov == known) {
		return nil
	}
	tx := p.store.Begin(author.String())
	tx.Fix(parent, child, engram.Always(), v, cov)
	_, err = tx.Commit()
	return err
}

// jointFeed is what is known of an entity of joint states.
type jointFeed struct {
	names   []string // as they came last
	handles []*pose.JointEdge
	taken   error // of joints that another entity sets
	unknown error // of names of which the description has no joint
}

// feel stores joint values. A joint is set by the entity that set it first, unless its
// name says that it tells commands: beside what a robot does, recordings hold what it was
// told to do, and what was measured counts, whichever comes first.
func (p *poses) feel(entity engram.ID, t engram.Time, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.feelLocked(entity, t, b)
}

func (p *poses) feelLocked(entity engram.ID, t engram.Time, b []byte) error {
	j, err := decodeJoints(b)
	if err != nil || len(j.positions) == 0 {
		return err
	}
	feed := p.jointFeedLocked(entity, j.names)
	failed := feed.taken
	for i, h := range feed.handles {
		if h == nil || i >= len(j.positions) {
			continue
		}
		if err := h.Set(t, j.positions[i], 0); err != nil {
			failed = err
		}
	}
	if failed == nil {
		return feed.unknown
	}
	if feed.unknown != nil {
		p.service.LeaveOut(entity, t, feed.unknown)
	}
	return failed
}

// jointFeedLocked returns the joints of the names, nil for those that are unknown,
// mimic others or belong to another entity.
func (p *poses) jointFeedLocked(entity engram.ID, names [][]byte) *jointFeed {
	feed := p.joints[entity]
	if feed != nil && len(feed.names) == len(names) {
		same := true
		for i := range names {
			same = same && feed.names[i] == string(names[i])
		}
		if same {
			return feed
		}
	}
	robot := lookup.RobotOf(entity)
	feed = &jointFeed{names: make([]string, len(names)), handles: make([]*pose.JointEdge, len(names))}
	var unknown []string
	for i := range names {
		feed.names[i] = string(names[i])
		name := lookup.Absolute(robot, feed.names[i])
		h, err := p.store.JointEdge(name)
		if err != nil {
			unknown = append(unknown, feed.names[i])
			continue
		}
		owner, owned := p.owners[name]
		if owned && lookup.Commanded(owner) && !lookup.Commanded(entity) {
			delete(p.joints, owner) // it learns that the joint is not its own any more
			owned = false
		}
		if owned && owner != entity {
			feed.taken = engram.Errorf(engram.Conflict, entity.String(), "a second source: %s sets the joint %s", owner, name)
			continue
		}
		p.owners[strings.Clone(name)] = entity
		feed.handles[i] = h
	}
	if len(unknown) > 0 && p.described[robot] {
		feed.unknown = engram.Errorf(engram.NotFound, entity.String(), "the description of %s has no moving joint %s (%d of %d names): such values are kept and move nothing",
			robot, listed(unknown), len(unknown), len(names))
	}
	if len(p.joints) < maxPoseFrames {
		p.joints[entity] = feed
	}
	return feed
}

// listed returns the first of some names.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
