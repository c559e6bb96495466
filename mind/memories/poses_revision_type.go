package memories

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// revisionOf reads an engram.robot_state.Revision committed to an entity; see [lookup.TransactionOf].
func revisionOf(entity engram.ID, b []byte, how lookup.Reading) (lookup.Transaction, error) {
	typ, ok := Type(revisionType)
	if !ok {
		return lookup.Transaction{}, engram.Errorf(engram.Internal, revisionType, "the type is not defined")
	}
	value, err := typ.Decode(b)
	if err != nil {
		return lookup.Transaction{}, err
	}
	return lookup.TransactionOf(entity, value, how)
}

// encodeRevision is the inverse of revisionOf.
func encodeRevision(t engram.Time, tx *lookup.Transaction) ([]byte, error) {
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
func withOutcome(b []byte, tx, resolved *lookup.Transaction, rev pose.Revision) ([]byte, error) {
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
