package memories

import (
	"context"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// RevisionProvider is the provider segment of RobotState/Revision that revisions
// made through the service are committed to. The frames in it have absolute names.
const RevisionProvider = "PoseService"

const revisionType = "engram.robot_state.Revision"

// revisionKey is the key of a *pose.Revision in a commit's context, through which
// the Commit hook tells the service what became of the commit.
type revisionKey struct{}

// commitRevised applies a revision that is being committed. The store refuses what
// cannot be before the memory takes it.
func (p *poses) commitRevised(ctx context.Context, u *engram.EntityUpdate) error {
	if len(u.Instances) != 1 {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "a revision is one instance, not %d", len(u.Instances))
	}
	in := u.Instances[0]
	tx, err := revisionOf(u.Entity, in.Payload.Bytes)
	if err != nil {
		return err
	}
	rev, err := service.Apply(p.store, tx)
	if err != nil {
		return err
	}
	if to, ok := ctx.Value(revisionKey{}).(*pose.Revision); ok {
		*to = rev
	}
	// The last of several fields of one number counts.
	b := append(make([]byte, 0, len(in.Payload.Bytes)+11), in.Payload.Bytes...)
	b = protowire.AppendTag(b, 3, protowire.VarintType)
	in.Payload.Bytes = protowire.AppendVarint(b, uint64(rev))
	u.Instances = []engram.Instance{in}
	return nil
}

// replayRevision applies a revision that the memory holds. One that cannot be
// applied any more, because the memory has forgotten the edges it is about, is left
// out.
func (p *poses) replayRevision(it engram.Item) {
	tx, err := revisionOf(it.ID.Truncate(engram.LevelEntity), it.Instances[0].Payload.Bytes)
	if err == nil {
		_, _ = service.Apply(p.store, tx)
	}
}

// commitRevision commits a revision to the memory, whose hook applies it.
func (p *poses) commitRevision(ctx context.Context, tx service.Transaction) (pose.Revision, error) {
	svc := p.svc.Load()
	if svc == nil {
		return 0, engram.Errorf(engram.Unavailable, "RobotState/Revision", "the memory has not started")
	}
	if tx.Author == "" {
		tx.Author = "unknown"
	}
	entity, err := engram.NewID("RobotState", "Revision", RevisionProvider, tx.Author)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	t := max(engram.Now(), p.revised+1)
	p.revised = t
	p.mu.Unlock()
	b, err := encodeRevision(t, &tx)
	if err != nil {
		return 0, err
	}
	var rev pose.Revision
	results, err := (*svc).Commit(context.WithValue(ctx, revisionKey{}, &rev), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: revisionType, Bytes: b})},
	}}})
	if err == nil {
		err = results[0].Err
	}
	return rev, err
}

// revisionOf reads an engram.robot_state.Revision committed to an entity.
func revisionOf(entity engram.ID, b []byte) (service.Transaction, error) {
	typ, ok := Type(revisionType)
	if !ok {
		return service.Transaction{}, engram.Errorf(engram.Internal, revisionType, "the type is not defined")
	}
	value, err := typ.Decode(b)
	if err != nil {
		return service.Transaction{}, err
	}
	robot := robotOf(entity)
	if robot == RevisionProvider {
		robot = ""
	}
	m, _ := value.(map[string]any)
	tx := service.Transaction{Author: entity.Entity()}
	if author, _ := m["author"].(string); author != "" {
		tx.Author = author
	}
	edge := func(m map[string]any) (parent, child string) {
		parent, _ = m["parent_frame_id"].(string)
		child, _ = m["child_frame_id"].(string)
		return absolute(robot, parent), absolute(robot, child)
	}
	for _, m := range objects(m["keys"]) {
		var k service.Key
		k.Parent, k.Child = edge(m)
		k.Body, _ = m["is_body"].(bool)
		if k.Time, ok = m["timestamp"].(engram.Time); !ok {
			return tx, engram.Errorf(engram.Invalid, k.Parent+" → "+k.Child, "a key has no timestamp")
		}
		if k.Pose, k.Cov, err = revisedPose(m); err != nil {
			return tx, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the key at %v: %w", k.Time, err)
		}
		tx.Keys = append(tx.Keys, k)
	}
	for _, m := range objects(m["replaced"]) {
		r := service.Replaced{Interval: spanOf(m)}
		r.Parent, r.Child = edge(m)
		tx.Replaced = append(tx.Replaced, r)
	}
	for _, m := range objects(m["calibrations"]) {
		c := service.Calibration{Valid: spanOf(m)}
		c.Parent, c.Child = edge(m)
		if c.Pose, c.Cov, err = revisedPose(m); err != nil {
			return tx, engram.Errorf(engram.CodeOf(err), c.Parent+" → "+c.Child, "the calibration: %w", err)
		}
		tx.Calibrations = append(tx.Calibrations, c)
	}
	return tx, nil
}

func objects(list any) (out []map[string]any) {
	l, _ := list.([]any)
	for _, v := range l {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func spanOf(m map[string]any) engram.Interval {
	iv := engram.Always()
	if t, ok := m["start"].(engram.Time); ok {
		iv.Start = t
	}
	if t, ok := m["end"].(engram.Time); ok {
		iv.End = t
	}
	return iv
}

// revisedPose reads the pose and covariance of a key or calibration. A translation
// or rotation that is not given is none.
func revisedPose(m map[string]any) (p pose.Pose, cov pose.Cov, err error) {
	p = pose.Identity()
	number := func(m map[string]any, name string) float64 { f, _ := m[name].(float64); return f }
	if v, ok := m["translation"].(map[string]any); ok {
		p.T = pose.Vec3{X: number(v, "x"), Y: number(v, "y"), Z: number(v, "z")}
	}
	if v, ok := m["rotation"].(map[string]any); ok {
		p.R = pose.Quat{W: number(v, "w"), X: number(v, "x"), Y: number(v, "y"), Z: number(v, "z")}
	}
	if p, err = p.Checked(); err != nil {
		return p, cov, err
	}
	list, _ := m["covariance"].([]any)
	switch len(list) {
	case 0:
		return p, cov, nil
	case len(cov.S):
	default:
		return p, cov, engram.Errorf(engram.Invalid, "covariance", "it has %d numbers instead of %d", len(list), len(cov.S))
	}
	for i := range cov.S {
		cov.S[i], _ = list[i].(float64)
	}
	cov.Mask = pose.AllDims
	cov, err = cov.Checked()
	return p, cov, err
}

// encodeRevision is the inverse of revisionOf.
func encodeRevision(t engram.Time, tx *service.Transaction) ([]byte, error) {
	typ, ok := Type(revisionType)
	if !ok {
		return nil, engram.Errorf(engram.Internal, revisionType, "the type is not defined")
	}
	edge := func(parent, child string, more map[string]any) map[string]any {
		more["parent_frame_id"], more["child_frame_id"] = parent, child
		return more
	}
	span := func(iv engram.Interval, m map[string]any) map[string]any {
		if iv.Start != engram.MinTime {
			m["start"] = iv.Start
		}
		if iv.End != engram.MaxTime {
			m["end"] = iv.End
		}
		return m
	}
	keys := make([]any, len(tx.Keys))
	for i, k := range tx.Keys {
		m, err := poseMembers(k.Pose, &k.Cov)
		if err != nil {
			return nil, err
		}
		m["timestamp"], m["is_body"] = k.Time, k.Body
		keys[i] = edge(k.Parent, k.Child, m)
	}
	replaced := make([]any, len(tx.Replaced))
	for i, r := range tx.Replaced {
		replaced[i] = edge(r.Parent, r.Child, span(r.Interval, map[string]any{}))
	}
	calibrations := make([]any, len(tx.Calibrations))
	for i, c := range tx.Calibrations {
		m, err := poseMembers(c.Pose, &c.Cov)
		if err != nil {
			return nil, err
		}
		calibrations[i] = edge(c.Parent, c.Child, span(c.Valid, m))
	}
	return typ.Encode(map[string]any{
		"timestamp": t, "author": tx.Author, "keys": keys, "replaced": replaced, "calibrations": calibrations,
	})
}

func poseMembers(p pose.Pose, cov *pose.Cov) (map[string]any, error) {
	m := map[string]any{
		"translation": map[string]any{"x": p.T.X, "y": p.T.Y, "z": p.T.Z},
		"rotation":    map[string]any{"w": p.R.W, "x": p.R.X, "y": p.R.Y, "z": p.R.Z},
	}
	switch cov.Mask {
	case 0:
	case pose.AllDims:
		m["covariance"] = cov.S[:]
	default:
		return nil, engram.Errorf(engram.Unsupported, "covariance",
			"only %d of its 6 dimensions are estimated; a revision that is kept says all or none", bits.OnesCount8(cov.Mask))
	}
	return m, nil
}
