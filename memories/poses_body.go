package memories

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// bodyFeed is what is known of an entity of localizations.
type bodyFeed struct {
	child   string
	parent  string
	since   engram.Time // the child hangs on the parent
	handles map[string]*pose.FreeEdge
	refused error // why the child is not the entity's to set, if it is not
}

// maxParents bounds the frames that one child hangs on one after another, as far as
// late samples can be told apart.
const maxParents = 256

// locate stores a pose in a parent frame, of an edge of the transform tree.
func (p *poses) locate(entity engram.ID, t engram.Time, b []byte) error {
	l, err := decodeLocalization(b)
	if err != nil {
		return err
	}
	robot := robotOf(entity)
	l.parent, l.child = absolute(robot, l.parent), absolute(robot, l.child)
	if l.parent == "" || l.child == "" {
		return engram.Errorf(engram.Invalid, entity.String(), "it names no parent and child frame")
	}
	if l.static {
		return p.locateStatic(entity, l)
	}
	edge, err := p.freeEdge(entity, t, l.parent, l.child)
	if err != nil {
		return err
	}
	if l.cov.Mask != 0 {
		return edge.SetCov(t, l.pose, l.cov)
	}
	return edge.Set(t, l.pose)
}

func (p *poses) locateStatic(entity engram.ID, l localization) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.static[entity] == l {
		return nil // publishers repeat themselves
	}
	err := p.calibrate(entity, l.parent, l.child, l.pose, l.cov)
	if err == nil && len(p.static) < maxPoseFrames {
		p.static[entity] = l
	}
	return err
}

// freeEdge returns the edge that an entity's pose at t belongs to. An edge is set by
// the entity that set it first: recordings hold the same odometry as a transform and
// as a topic of its own. If the entity names another parent from t on, the child has
// changed its parent at t.
func (p *poses) freeEdge(entity engram.ID, t engram.Time, parent, child string) (*pose.FreeEdge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	feed := p.bodies[entity]
	if feed == nil || feed.child != child {
		if owner, ok := p.children[child]; ok && owner != entity {
			return nil, engram.Errorf(engram.Conflict, entity.String(), "%s sets where %s is", owner, child)
		}
		edge, err := p.store.Free(parent, child)
		if err != nil {
			if code := engram.CodeOf(err); code == engram.Conflict && len(p.bodies) < maxPoseFrames {
				// The description says where the child is; no need to find out each time.
				p.bodies[entity] = &bodyFeed{child: child, refused: err}
			}
			return nil, err
		}
		p.children[child] = entity
		p.bodies[entity] = &bodyFeed{child: child, parent: parent, since: engram.MinTime, handles: map[string]*pose.FreeEdge{parent: edge}}
		return edge, nil
	}
	if feed.refused != nil {
		return nil, feed.refused
	}
	if parent != feed.parent && t >= feed.since {
		if len(feed.handles) >= maxParents {
			return nil, engram.Errorf(engram.Exhausted, entity.String(), "%s hung on %d frames already", child, maxParents)
		}
		edge, err := p.store.Reparent(t, parent, child)
		if err != nil {
			return nil, err
		}
		feed.parent, feed.since, feed.handles[parent] = parent, t, edge
	}
	edge := feed.handles[parent]
	if edge == nil {
		return nil, engram.Errorf(engram.Conflict, entity.String(), "%s hung on %s at %v, as far as is known", child, feed.parent, t)
	}
	return edge, nil
}
