package api

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// PoseMessage returns the message of a pose.
func PoseMessage(p pose.Pose) *engramv1.Pose {
	return &engramv1.Pose{X: p.T.X, Y: p.T.Y, Z: p.T.Z, Qw: p.R.W, Qx: p.R.X, Qy: p.R.Y, Qz: p.R.Z}
}

// PoseFromMessage is the inverse of PoseMessage. Whether it is a pose is for the
// store to say.
func PoseFromMessage(m *engramv1.Pose) pose.Pose {
	return pose.Pose{
		T: pose.Vec3{X: m.GetX(), Y: m.GetY(), Z: m.GetZ()},
		R: pose.Quat{W: m.GetQw(), X: m.GetQx(), Y: m.GetQy(), Z: m.GetQz()},
	}
}

// CovMessage returns the message of a covariance, nil for one that is unknown.
func CovMessage(c *pose.Cov) *engramv1.PoseCovariance {
	if c.Mask == 0 {
		return nil
	}
	return &engramv1.PoseCovariance{Values: c.S[:], Mask: uint32(c.Mask)}
}

// CovFromMessage is the inverse of CovMessage.
func CovFromMessage(m *engramv1.PoseCovariance) (c pose.Cov, err error) {
	if m.GetMask() == 0 {
		return c, nil
	}
	if len(m.GetValues()) != len(c.S) || m.GetMask() > pose.AllDims {
		return c, engram.Errorf(engram.Invalid, "covariance", "%d numbers with the mask %#x; it has %d and a mask of 6 bits", len(m.GetValues()), m.GetMask(), len(c.S))
	}
	copy(c.S[:], m.GetValues())
	c.Mask = uint8(m.GetMask())
	return c, nil
}

func poseInfoMessage(i pose.Info) *engramv1.PoseInfo {
	has := func(f pose.Flags) bool { return i.Flags&f != 0 }
	return &engramv1.PoseInfo{
		TargetTime: int64(i.TargetTime), SourceTime: int64(i.SourceTime), Revision: uint64(i.Revision), Oldest: int64(i.Oldest),
		Interpolated: has(pose.Interpolated), Held: has(pose.Held), Extrapolated: has(pose.Extrapolated),
		Defaulted: has(pose.Defaulted), BeyondLinear: has(pose.BeyondLinear), Static: has(pose.Static),
	}
}

func poseInfoFromMessage(m *engramv1.PoseInfo) pose.Info {
	i := pose.Info{
		TargetTime: engram.Time(m.GetTargetTime()), SourceTime: engram.Time(m.GetSourceTime()),
		Revision: pose.Revision(m.GetRevision()), Oldest: engram.Time(m.GetOldest()),
	}
	for _, f := range []struct {
		set  bool
		flag pose.Flags
	}{
		{m.GetInterpolated(), pose.Interpolated}, {m.GetHeld(), pose.Held}, {m.GetExtrapolated(), pose.Extrapolated},
		{m.GetDefaulted(), pose.Defaulted}, {m.GetBeyondLinear(), pose.BeyondLinear}, {m.GetStatic(), pose.Static},
	} {
		if f.set {
			i.Flags |= f.flag
		}
	}
	return i
}

// The enumeration's numbers on the wire are those of lookup.When.
func questionMessage(q *lookup.Question) *engramv1.PoseQuestion {
	return &engramv1.PoseQuestion{
		Target: q.Target, Source: q.Source, When: engramv1.PoseQuestion_When(q.When), Time: int64(q.Time),
		SourceTime: int64(q.SourceTime), Fixed: q.Fixed, Wait: q.Wait, Covariance: q.Cov, AsOf: (*uint64)(q.AsOf),
	}
}

func questionFromMessage(m *engramv1.PoseQuestion) (lookup.Question, error) {
	if m.GetWhen() < 0 || m.GetWhen() > engramv1.PoseQuestion_WHEN_BETWEEN {
		return lookup.Question{}, engram.Errorf(engram.Invalid, "when", "there is no kind of question %d", m.GetWhen())
	}
	return lookup.Question{
		Target: m.GetTarget(), Source: m.GetSource(), When: lookup.When(m.GetWhen()), Time: engram.Time(m.GetTime()),
		SourceTime: engram.Time(m.GetSourceTime()), Fixed: m.GetFixed(), Wait: m.GetWait(), Cov: m.GetCovariance(), AsOf: (*pose.Revision)(m.AsOf),
	}, nil
}

func answerMessage(a *lookup.Answer) *engramv1.PoseAnswer {
	m := &engramv1.PoseAnswer{Target: a.Target, Source: a.Source, Error: wire.ErrorMessage(a.Err)}
	if a.Err == nil {
		m.Pose, m.Covariance, m.Info = PoseMessage(a.Pose), CovMessage(&a.Cov), poseInfoMessage(a.Info)
	}
	return m
}

func answerFromMessage(m *engramv1.PoseAnswer) (a lookup.Answer, err error) {
	a = lookup.Answer{Target: m.GetTarget(), Source: m.GetSource(), Err: wire.ErrorFromMessage(m.GetError())}
	if a.Err != nil {
		return a, nil
	}
	a.Pose, a.Info = PoseFromMessage(m.GetPose()), poseInfoFromMessage(m.GetInfo())
	a.Cov, err = CovFromMessage(m.GetCovariance())
	return a, err
}

func transactionMessage(tx *lookup.Transaction) *engramv1.CommitRevisionRequest {
	m := &engramv1.CommitRevisionRequest{Author: tx.Author}
	for i := range tx.Keys {
		k := &tx.Keys[i]
		m.Keys = append(m.Keys, &engramv1.AnchorKey{
			Parent: k.Parent, Child: k.Child, Body: k.Body, Time: int64(k.Time), Pose: PoseMessage(k.Pose), Covariance: CovMessage(&k.Cov)})
	}
	for _, r := range tx.Replaced {
		m.Replaced = append(m.Replaced, &engramv1.AnchorSpan{Parent: r.Parent, Child: r.Child, Start: int64(r.Start), End: int64(r.End)})
	}
	for i := range tx.Calibrations {
		c := &tx.Calibrations[i]
		m.Calibrations = append(m.Calibrations, &engramv1.EdgeCalibration{
			Parent: c.Parent, Child: c.Child, Start: int64(c.Valid.Start), End: int64(c.Valid.End), Pose: PoseMessage(c.Pose), Covariance: CovMessage(&c.Cov)})
	}
	return m
}

func transactionFromMessage(m *engramv1.CommitRevisionRequest) (lookup.Transaction, error) {
	tx := lookup.Transaction{Author: m.GetAuthor()}
	for _, k := range m.GetKeys() {
		cov, err := CovFromMessage(k.GetCovariance())
		if err != nil {
			return tx, err
		}
		tx.Keys = append(tx.Keys, lookup.Key{
			Parent: k.GetParent(), Child: k.GetChild(), Body: k.GetBody(), Time: engram.Time(k.GetTime()), Pose: PoseFromMessage(k.GetPose()), Cov: cov})
	}
	for _, r := range m.GetReplaced() {
		tx.Replaced = append(tx.Replaced, lookup.Replaced{Parent: r.GetParent(), Child: r.GetChild(), Interval: wire.Interval(r.GetStart(), r.GetEnd())})
	}
	for _, c := range m.GetCalibrations() {
		cov, err := CovFromMessage(c.GetCovariance())
		if err != nil {
			return tx, err
		}
		tx.Calibrations = append(tx.Calibrations, lookup.Calibration{
			Parent: c.GetParent(), Child: c.GetChild(), Valid: wire.Interval(c.GetStart(), c.GetEnd()), Pose: PoseFromMessage(c.GetPose()), Cov: cov})
	}
	return tx, nil
}

func changeMessages(changes []pose.Change) []*engramv1.PoseChange {
	out := make([]*engramv1.PoseChange, len(changes))
	for i, c := range changes {
		out[i] = &engramv1.PoseChange{
			Start: int64(c.Start), End: int64(c.End), Trans: c.Trans, TransAt: int64(c.TransAt), Rot: c.Rot, RotAt: int64(c.RotAt), Failed: c.Failed}
	}
	return out
}

func changesFromMessages(ms []*engramv1.PoseChange) []pose.Change {
	out := make([]pose.Change, len(ms))
	for i, m := range ms {
		out[i] = pose.Change{
			Interval: wire.Interval(m.GetStart(), m.GetEnd()), Trans: m.GetTrans(), TransAt: engram.Time(m.GetTransAt()),
			Rot: m.GetRot(), RotAt: engram.Time(m.GetRotAt()), Failed: m.GetFailed()}
	}
	return out
}

func edgeMessages(edges []pose.EdgeInfo) []*engramv1.PoseEdge {
	out := make([]*engramv1.PoseEdge, len(edges))
	for i, e := range edges {
		out[i] = &engramv1.PoseEdge{
			Parent: e.Parent, Child: e.Child, Kind: uint32(e.Kind), ValidStart: int64(e.Valid.Start), ValidEnd: int64(e.Valid.End), Joint: e.Joint,
			Samples: e.Samples, Pruned: e.Pruned, Bytes: e.Bytes, First: int64(e.First), Last: int64(e.Last)}
	}
	return out
}

func edgesFromMessages(ms []*engramv1.PoseEdge) []pose.EdgeInfo {
	out := make([]pose.EdgeInfo, len(ms))
	for i, m := range ms {
		out[i] = pose.EdgeInfo{
			Parent: m.GetParent(), Child: m.GetChild(), Kind: pose.Kind(m.GetKind()), Valid: wire.Interval(m.GetValidStart(), m.GetValidEnd()), Joint: m.GetJoint(),
			Samples: m.GetSamples(), Pruned: m.GetPruned(), Bytes: m.GetBytes(), First: engram.Time(m.GetFirst()), Last: engram.Time(m.GetLast())}
	}
	return out
}

func eventMessage(ev *lookup.Event) *engramv1.WatchPosesResponse {
	m := &engramv1.WatchPosesResponse{From: uint64(ev.From), To: uint64(ev.To), Changes: changeMessages(ev.Changes)}
	for i := range ev.Moved {
		a := &ev.Moved[i]
		m.Moved = append(m.Moved, &engramv1.MovedAcquisition{
			Id: uint64(a.ID), Time: int64(a.Time), Old: PoseMessage(a.Old), New: PoseMessage(a.New), Trans: a.Trans, Rot: a.Rot, Failed: a.Failed})
	}
	return m
}

func eventFromMessage(m *engramv1.WatchPosesResponse) lookup.Event {
	ev := lookup.Event{From: pose.Revision(m.GetFrom()), To: pose.Revision(m.GetTo()), Changes: changesFromMessages(m.GetChanges())}
	for _, a := range m.GetMoved() {
		ev.Moved = append(ev.Moved, pose.Moved{
			ID: pose.AcquisitionID(a.GetId()), Time: engram.Time(a.GetTime()), Old: PoseFromMessage(a.GetOld()), New: PoseFromMessage(a.GetNew()),
			Trans: a.GetTrans(), Rot: a.GetRot(), Failed: a.GetFailed()})
	}
	return ev
}
