package memories

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// reading says how to read the bodies of a revision.
type reading bool

const (
	asSaid     reading = false // as the committer said
	asResolved reading = true  // as the corrections they came to, where the memory noted them
)

// revisionOf reads an engram.robot_state.Revision committed to an entity.
func revisionOf(entity engram.ID, b []byte, how reading) (service.Transaction, error) {
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
		if c, ok := m["correction"].(map[string]any); ok && k.Body && how == asResolved {
			k.Parent, _ = c["parent_frame_id"].(string)
			k.Child, _ = c["child_frame_id"].(string)
			k.Body = false
			if k.Pose, k.Cov, err = revisedPose(c); err != nil {
				return tx, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the correction at %v: %w", k.Time, err)
			}
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
	switch mask, _ := m["covariance_mask"].(uint32); {
	case mask == 0:
		cov.Mask = pose.AllDims
	case mask > pose.AllDims:
		return p, cov, engram.Errorf(engram.Invalid, "covariance_mask", "%d is no sum of 1, 2, 4, 8, 16 and 32, each at most once", mask)
	default:
		cov.Mask = uint8(mask)
	}
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
		m := poseMembers(k.Pose, &k.Cov)
		m["timestamp"], m["is_body"] = k.Time, k.Body
		keys[i] = edge(k.Parent, k.Child, m)
	}
	replaced := make([]any, len(tx.Replaced))
	for i, r := range tx.Replaced {
		replaced[i] = edge(r.Parent, r.Child, span(r.Interval, map[string]any{}))
	}
	calibrations := make([]any, len(tx.Calibrations))
	for i, c := range tx.Calibrations {
		m := poseMembers(c.Pose, &c.Cov)
		calibrations[i] = edge(c.Parent, c.Child, span(c.Valid, m))
	}
	return typ.Encode(map[string]any{
		"timestamp": t, "author": tx.Author, "keys": keys, "replaced": replaced, "calibrations": calibrations,
	})
}

func poseMembers(p pose.Pose, cov *pose.Cov) map[string]any {
	m := map[string]any{
		"translation": map[string]any{"x": p.T.X, "y": p.T.Y, "z": p.T.Z},
		"rotation":    map[string]any{"w": p.R.W, "x": p.R.X, "y": p.R.Y, "z": p.R.Z},
	}
	if cov.Mask != 0 {
		m["covariance"] = cov.S[:]
	}
	if cov.Mask != 0 && cov.Mask != pose.AllDims {
		m["covariance_mask"] = uint32(cov.Mask)
	}
	return m
}

// The numbers of members of the type, which types that extend it keep.
const (
	revisionNumber = 3
	revisionKeys   = 4
	keyCorrection  = 9
)

// withOutcome returns a revision's payload with the number that it has in the store
// and, in its keys, the corrections that bodies came to. Members that a type adds
// to the revision's stay as they are.
func withOutcome(b []byte, tx, resolved *service.Transaction, rev pose.Revision) ([]byte, error) {
	typ, ok := Type(revisionType + ".Correction")
	if !ok {
		return nil, engram.Errorf(engram.Internal, revisionType, "the type of its corrections is not defined")
	}
	out := make([]byte, 0, len(b)+16+200*len(tx.Keys))
	key := 0
	for rest := b; len(rest) > 0; {
		num, wire, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(n))
		}
		f := rest[:n]
		rest = rest[n:]
		if num == revisionNumber {
			continue
		}
		if num != revisionKeys || wire != protowire.BytesType || key >= len(tx.Keys) {
			out = append(out, f...)
			continue
		}
		_, _, tag := protowire.ConsumeTag(f)
		content, _ := protowire.ConsumeBytes(f[tag:])
		content, err := without(content, keyCorrection)
		if err != nil {
			return nil, err
		}
		if tx.Keys[key].Body {
			c := &resolved.Keys[key]
			m := poseMembers(c.Pose, &c.Cov)
			m["parent_frame_id"], m["child_frame_id"] = c.Parent, c.Child
			correction, err := typ.Encode(m)
			if err != nil {
				return nil, err
			}
			content = protowire.AppendTag(content, keyCorrection, protowire.BytesType)
			content = protowire.AppendBytes(content, correction)
		}
		key++
		out = protowire.AppendTag(out, revisionKeys, protowire.BytesType)
		out = protowire.AppendBytes(out, content)
	}
	out = protowire.AppendTag(out, revisionNumber, protowire.VarintType)
	return protowire.AppendVarint(out, uint64(rev)), nil
}

// without returns a copy of a message without its fields of one number.
func without(b []byte, drop protowire.Number) ([]byte, error) {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		num, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil, engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(n))
		}
		if num != drop {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out, nil
}
