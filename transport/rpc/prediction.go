package rpc

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func predictionMessage(p *engram.Prediction) *engramv1.Prediction {
	m := &engramv1.Prediction{Id: p.ID.String(), Snapshot: wire.SnapshotMessage(p.Snapshot), Error: wire.ErrorMessage(p.Err), HorizonNanos: int64(p.Horizon), From: idTexts(p.From), Members: memberMessages(p.Members)}
	for _, h := range p.Hypotheses {
		m.Hypotheses = append(m.Hypotheses, &engramv1.Hypothesis{Probability: h.Probability, Snapshot: wire.SnapshotMessage(h.Snapshot), Members: memberMessages(h.Members), From: idTexts(h.From), Poses: poseMessages(h.Poses)})
	}
	m.Poses = poseMessages(p.Poses)
	return m
}

func poseMessages(poses []engram.PredictedPose) (all []*engramv1.PredictedPose) {
	for _, o := range poses {
		all = append(all, &engramv1.PredictedPose{Path: o.Path, Covariance: o.Covariance[:]})
	}
	return all
}

func memberMessages(members []engram.PredictedMember) (all []*engramv1.PredictedMember) {
	for _, o := range members {
		all = append(all, &engramv1.PredictedMember{Path: o.Path, Mean: o.Mean, Sd: o.SD, Low: o.Low, High: o.High, Model: o.Model, Skill: o.Skill})
	}
	return all
}

func idTexts(ids []engram.ID) (texts []string) {
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

// predictionFromMessage leaves out what it rests on that is no ID, and covariances that are none.
func predictionFromMessage(id engram.ID, m *engramv1.Prediction) engram.Prediction {
	p := engram.Prediction{ID: id, Snapshot: wire.SnapshotFromMessage(m.GetSnapshot()), Err: wire.ErrorFromMessage(m.GetError()), Horizon: time.Duration(m.GetHorizonNanos()), From: idsOf(m.GetFrom()), Members: membersOf(m.GetMembers())}
	for _, h := range m.GetHypotheses() {
		p.Hypotheses = append(p.Hypotheses, engram.Hypothesis{Probability: h.GetProbability(), Snapshot: wire.SnapshotFromMessage(h.GetSnapshot()), Members: membersOf(h.GetMembers()), From: idsOf(h.GetFrom()), Poses: posesOf(h.GetPoses())})
	}
	p.Poses = posesOf(m.GetPoses())
	return p
}

func posesOf(messages []*engramv1.PredictedPose) (poses []engram.PredictedPose) {
	for _, o := range messages {
		if c := o.GetCovariance(); len(c) == 36 {
			poses = append(poses, engram.PredictedPose{Path: o.GetPath(), Covariance: [36]float64(c)})
		}
	}
	return poses
}

func membersOf(messages []*engramv1.PredictedMember) (members []engram.PredictedMember) {
	for _, o := range messages {
		members = append(members, engram.PredictedMember{Path: o.GetPath(), Mean: o.GetMean(), SD: o.GetSd(), Low: o.GetLow(), High: o.GetHigh(), Model: o.GetModel(), Skill: o.GetSkill()})
	}
	return members
}

func idsOf(texts []string) (ids []engram.ID) {
	for _, text := range texts {
		if id, err := engram.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
