package api

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// messages returns the message of each thing.
func messages[T, M any](all []T, message func(*T) *M) []*M {
	out := make([]*M, len(all))
	for i := range all {
		out[i] = message(&all[i])
	}
	return out
}

// things is the inverse of messages.
func things[T, M any](all []*M, thing func(*M) T) []T {
	if len(all) == 0 {
		return nil
	}
	out := make([]T, len(all))
	for i, m := range all {
		out[i] = thing(m)
	}
	return out
}

// rowMessages returns the messages of rows, which lie in one piece of memory.
func rowMessages(rows []answer.Row) []*engramv1.WorldRow {
	out, room := make([]*engramv1.WorldRow, len(rows)), make([]engramv1.WorldRow, len(rows))
	for i := range rows {
		r, m := &rows[i], &room[i]
		m.Name, m.Level, m.Last, m.Kinds, m.SaidBy = r.Name, uint32(r.Level), r.Last, r.Kinds, r.SaidBy
		m.Provisional, m.Notes, m.Absent = r.Provisional, r.Notes, r.Absent
		if r.Distance >= 0 {
			m.Distance = &r.Distance
		}
		if r.Known {
			m.AgeNanos, m.Belief = (*int64)(&r.Age), r.Belief
		}
		if r.Joint != nil {
			m.Joint = itemJointMessage(r.Joint)
		}
		if r.Item != nil {
			m.Item = itemMessage(r.Item)
		}
		out[i] = m
	}
	return out
}

func rowOf(m *engramv1.WorldRow) (r answer.Row, err error) {
	r = answer.Row{
		Name: m.GetName(), Level: int(m.GetLevel()), Last: m.GetLast(), Distance: -1, Kinds: m.GetKinds(), Known: m.AgeNanos != nil,
		Age: time.Duration(m.GetAgeNanos()), Belief: m.GetBelief(), SaidBy: m.GetSaidBy(), Joint: itemJointOf(m.GetJoint()),
		Provisional: m.GetProvisional(), Notes: m.GetNotes(), Absent: m.GetAbsent(),
	}
	if m.Distance != nil {
		r.Distance = m.GetDistance()
	}
	if m.GetItem() != nil {
		r.Item, err = itemOf(m.GetItem())
	}
	return r, err
}

func itemMessage(it *answer.Item) *engramv1.WorldItem {
	m := &engramv1.WorldItem{
		Name: it.Name, Time: int64(it.Time), Kinds: it.Kinds, Parent: it.Parent, Path: it.Path, Label: it.Label, SpokenNames: it.SpokenNames,
		Class: it.Class, Pose: poseMessage(it.Pose), InRoot: poseMessage(it.InRoot), Maintainer: it.Maintainer,
		Properties: messages(it.Properties, propertyMessage), SeenIn: it.SeenIn, States: messages(it.States, stateMessage),
		Maps: it.Maps, Account: it.Account, Present: it.Present, Provisional: it.Provisional, Notes: it.Notes,
		Statements: messages(it.Statements, statementMessage),
	}
	if s := it.Shape; s != nil {
		m.Shape = &engramv1.WorldShape{Kind: s.Kind, Size: vectorMessage(s.Size), Mesh: s.Mesh}
		if s.Pose != nil {
			m.Shape.Pose = poses.PoseMessage(*s.Pose)
		}
		for _, corner := range s.Outline {
			m.Shape.Outline = append(m.Shape.Outline, vectorMessage(corner))
		}
	}
	if b := it.Box; b != nil {
		m.Box = &engramv1.WorldBox{Pose: poses.PoseMessage(b.Pose), Size: vectorMessage(b.Size)}
	}
	if p := it.Place; p != nil {
		m.Place = &engramv1.WorldPlace{Level: p.Level, Number: p.Number}
	}
	if r := it.Robot; r != nil {
		m.Robot = &engramv1.WorldRobotFrames{Odom: r.Odom, Base: r.Base}
	}
	if d := it.Detection; d != nil {
		m.Detection = &engramv1.WorldDetection{Methods: d.Methods, Tags: d.Tags}
	}
	if it.Joint != nil {
		m.Joint = itemJointMessage(it.Joint)
	}
	if it.Component != nil {
		m.Component = componentMessage(it.Component)
	}
	if b := it.Belief; b != nil {
		m.Belief = &engramv1.WorldBelief{P: b.P, Seen: int64(b.Seen), By: b.By, Source: b.Source, Looked: uint64(b.Looked)}
	}
	return m
}

func itemOf(m *engramv1.WorldItem) (*answer.Item, error) {
	it := &answer.Item{
		Name: m.GetName(), Time: engram.Time(m.GetTime()), Kinds: m.GetKinds(), Parent: m.GetParent(), Path: m.GetPath(), Label: m.GetLabel(),
		SpokenNames: m.GetSpokenNames(), Class: m.GetClass(), Maintainer: m.GetMaintainer(), Properties: things(m.GetProperties(), propertyOf),
		SeenIn: m.GetSeenIn(), States: things(m.GetStates(), stateOf), Joint: itemJointOf(m.GetJoint()), Maps: m.GetMaps(), Account: m.GetAccount(),
		Present: m.GetPresent(), Provisional: m.GetProvisional(), Notes: m.GetNotes(), Statements: things(m.GetStatements(), statementOf),
	}
	var err error
	if it.Pose, err = poseOf(m.GetPose()); err != nil {
		return nil, err
	}
	if it.InRoot, err = poseOf(m.GetInRoot()); err != nil {
		return nil, err
	}
	if s := m.GetShape(); s != nil {
		it.Shape = &answer.Shape{Kind: s.GetKind(), Size: vectorOf(s.GetSize()), Mesh: s.GetMesh(), Outline: things(s.GetOutline(), vectorOf)}
		if s.GetPose() != nil {
			it.Shape.Pose = new(poses.PoseFromMessage(s.GetPose()))
		}
	}
	if b := m.GetBox(); b != nil {
		it.Box = &answer.Box{Pose: poses.PoseFromMessage(b.GetPose()), Size: vectorOf(b.GetSize())}
	}
	if p := m.GetPlace(); p != nil {
		it.Place = &answer.Place{Level: p.GetLevel(), Number: p.GetNumber()}
	}
	if r := m.GetRobot(); r != nil {
		it.Robot = &answer.RobotFrames{Odom: r.GetOdom(), Base: r.GetBase()}
	}
	if d := m.GetDetection(); d != nil {
		it.Detection = &answer.Detection{Methods: d.GetMethods(), Tags: d.GetTags()}
	}
	if c := m.GetComponent(); c != nil {
		it.Component = new(componentOf(c))
	}
	if b := m.GetBelief(); b != nil {
		it.Belief = &answer.Belief{P: b.GetP(), Seen: engram.Time(b.GetSeen()), By: b.GetBy(), Source: b.GetSource(), Looked: int(b.GetLooked())}
	}
	return it, nil
}

func poseMessage(p *answer.Pose) *engramv1.WorldPose {
	if p == nil {
		return nil
	}
	return &engramv1.WorldPose{Frame: p.Frame, Pose: poses.PoseMessage(p.Pose), Covariance: poses.CovMessage(&p.Cov)}
}

func poseOf(m *engramv1.WorldPose) (*answer.Pose, error) {
	if m == nil {
		return nil, nil
	}
	cov, err := poses.CovFromMessage(m.GetCovariance())
	if err != nil {
		return nil, wire.BadAnswer(err)
	}
	return &answer.Pose{Frame: m.GetFrame(), Pose: poses.PoseFromMessage(m.GetPose()), Cov: cov}, nil
}

func vectorMessage(v pose.Vec3) *engramv1.WorldVector {
	return &engramv1.WorldVector{X: v.X, Y: v.Y, Z: v.Z}
}

func vectorOf(m *engramv1.WorldVector) pose.Vec3 {
	return pose.Vec3{X: m.GetX(), Y: m.GetY(), Z: m.GetZ()}
}

func propertyMessage(p *answer.Property) *engramv1.WorldProperty {
	return &engramv1.WorldProperty{Name: p.Name, Json: string(p.Value)}
}

func propertyOf(m *engramv1.WorldProperty) answer.Property {
	return answer.Property{Name: m.GetName(), Value: []byte(m.GetJson())}
}

func stateMessage(s *answer.State) *engramv1.WorldState {
	return &engramv1.WorldState{
		Name: s.Name, Json: string(s.Value), Confidence: s.Confidence, Source: s.Source, SaidBy: s.SaidBy, Time: int64(s.Time), Since: int64(s.Since),
		HalfLifeNanos: int64(s.HalfLife),
	}
}

func stateOf(m *engramv1.WorldState) answer.State {
	return answer.State{
		Name: m.GetName(), Value: []byte(m.GetJson()), Confidence: m.GetConfidence(), Source: m.GetSource(), SaidBy: m.GetSaidBy(),
		Time: engram.Time(m.GetTime()), Since: engram.Time(m.GetSince()), HalfLife: time.Duration(m.GetHalfLifeNanos()),
	}
}

func statementMessage(s *answer.Statement) *engramv1.WorldStatement {
	return &engramv1.WorldStatement{
		Provider: s.Provider, Robot: s.Robot, Home: s.Home, Source: s.Source, Time: int64(s.Time), Since: int64(s.Since),
		Says: s.Says, Counts: s.Counts, Reason: s.Reason,
	}
}

func statementOf(m *engramv1.WorldStatement) answer.Statement {
	return answer.Statement{
		Provider: m.GetProvider(), Robot: m.GetRobot(), Home: m.GetHome(), Source: m.GetSource(), Time: engram.Time(m.GetTime()),
		Since: engram.Time(m.GetSince()), Says: m.GetSays(), Counts: m.GetCounts(), Reason: m.GetReason(),
	}
}

func itemJointMessage(j *answer.ItemJoint) *engramv1.WorldItemJoint {
	m := &engramv1.WorldItemJoint{Kind: j.Kind, Base: j.Base, Value: j.Value, Sigma: j.Sigma, Radius: j.Radius, Serves: j.Serves}
	if l := j.Limits; l != nil {
		m.Limits = &engramv1.WorldLimits{Lower: l.Lower, Upper: l.Upper}
	}
	return m
}

func itemJointOf(m *engramv1.WorldItemJoint) *answer.ItemJoint {
	if m == nil {
		return nil
	}
	j := &answer.ItemJoint{Kind: m.GetKind(), Base: m.GetBase(), Value: m.Value, Sigma: m.GetSigma(), Radius: m.GetRadius(), Serves: m.GetServes()}
	if l := m.GetLimits(); l != nil {
		j.Limits = &answer.Limits{Lower: l.GetLower(), Upper: l.GetUpper()}
	}
	return j
}
