package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// posesOf returns the poses that a service offers beside its memory, or nil.
func posesOf(svc engram.Service) service.Service {
	if s, ok := svc.(interface{ Poses() service.Service }); ok {
		return s.Poses()
	}
	return nil
}

// poseHandler implements PoseService.
type poseHandler struct {
	*Handler
	poses service.Service
}

func (h poseHandler) LookUp(ctx context.Context, r *connect.Request[engramv1.LookUpRequest]) (*connect.Response[engramv1.LookUpResponse], error) {
	if n := len(r.Msg.GetQuestions()); n > h.o.MaxQueryNodes {
		return nil, wireError(engram.Errorf(engram.Exhausted, "", "%d questions in one request; at most %d are allowed", n, h.o.MaxQueryNodes))
	}
	questions := make([]service.Question, len(r.Msg.GetQuestions()))
	for i, m := range r.Msg.GetQuestions() {
		var err error
		if questions[i], err = questionFromMessage(m); err != nil {
			return nil, wireError(err)
		}
	}
	ctx, done := h.working(ctx)
	defer done()
	answers, err := h.poses.LookUp(ctx, questions)
	if err != nil {
		return nil, h.ended(err)
	}
	m := &engramv1.LookUpResponse{Answers: make([]*engramv1.PoseAnswer, len(answers))}
	for i := range answers {
		m.Answers[i] = answerMessage(&answers[i])
	}
	return answer(m, nil)
}

func (h poseHandler) Acquire(ctx context.Context, r *connect.Request[engramv1.AcquireRequest]) (*connect.Response[engramv1.AcquireResponse], error) {
	ctx, done := h.working(ctx)
	defer done()
	a, err := h.poses.Acquire(ctx, r.Msg.GetSensor(), engram.Time(r.Msg.GetTime()), r.Msg.GetWait())
	if err != nil {
		return nil, wireError(err)
	}
	return answer(&engramv1.AcquireResponse{
		Id: uint64(a.ID), Sensor: a.Sensor, Time: int64(a.Time), Base: a.Base,
		Pose: poseMessage(a.Pose), Covariance: covMessage(&a.Cov), Info: poseInfoMessage(a.Info),
	}, nil)
}

func (h poseHandler) ReleaseAcquisition(ctx context.Context, r *connect.Request[engramv1.ReleaseAcquisitionRequest]) (*connect.Response[engramv1.ReleaseAcquisitionResponse], error) {
	return answer(&engramv1.ReleaseAcquisitionResponse{}, h.poses.Release(ctx, pose.AcquisitionID(r.Msg.GetId())))
}

func (h poseHandler) CommitRevision(ctx context.Context, r *connect.Request[engramv1.CommitRevisionRequest]) (*connect.Response[engramv1.CommitRevisionResponse], error) {
	tx, err := transactionFromMessage(r.Msg)
	if err != nil {
		return nil, wireError(err)
	}
	rev, err := h.poses.CommitRevision(ctx, tx)
	return answer(&engramv1.CommitRevisionResponse{Revision: uint64(rev)}, err)
}

func (h poseHandler) ListRevisions(ctx context.Context, _ *connect.Request[engramv1.ListRevisionsRequest]) (*connect.Response[engramv1.ListRevisionsResponse], error) {
	revisions, err := h.poses.Revisions(ctx)
	m := &engramv1.ListRevisionsResponse{Life: revisions.Life}
	for _, r := range revisions.List {
		m.Revisions = append(m.Revisions, &engramv1.ListRevisionsResponse_Revision{Number: uint64(r.Revision), Author: r.Author})
	}
	return answer(m, err)
}

func (h poseHandler) DiffPoses(ctx context.Context, r *connect.Request[engramv1.DiffPosesRequest]) (*connect.Response[engramv1.DiffPosesResponse], error) {
	m := r.Msg
	changes, err := h.poses.Diff(ctx, m.GetTarget(), m.GetSource(), pose.Revision(m.GetFrom()), pose.Revision(m.GetTo()),
		pose.Threshold{Trans: m.GetTrans(), Rot: m.GetRot()})
	return answer(&engramv1.DiffPosesResponse{Changes: changeMessages(changes)}, err)
}

func (h poseHandler) Tree(ctx context.Context, r *connect.Request[engramv1.TreeRequest]) (*connect.Response[engramv1.TreeResponse], error) {
	edges, err := h.poses.Tree(ctx, (*pose.Revision)(r.Msg.AsOf))
	return answer(&engramv1.TreeResponse{Edges: edgeMessages(edges)}, err)
}

func (h poseHandler) Path(ctx context.Context, r *connect.Request[engramv1.PathRequest]) (*connect.Response[engramv1.PathResponse], error) {
	edges, err := h.poses.Path(ctx, r.Msg.GetTarget(), r.Msg.GetSource(), engram.Time(r.Msg.GetTime()))
	return answer(&engramv1.PathResponse{Edges: edgeMessages(edges)}, err)
}

func (h poseHandler) ListLeftOut(ctx context.Context, _ *connect.Request[engramv1.ListLeftOutRequest]) (*connect.Response[engramv1.ListLeftOutResponse], error) {
	left, err := h.poses.LeftOut(ctx)
	m := &engramv1.ListLeftOutResponse{}
	for _, l := range left {
		m.LeftOut = append(m.LeftOut, &engramv1.ListLeftOutResponse_LeftOut{
			Entity: l.Entity.String(), Reason: errorMessage(l.Reason), Count: l.Count, Last: int64(l.Last)})
	}
	return answer(m, err)
}

func (h poseHandler) WatchPoses(ctx context.Context, r *connect.Request[engramv1.WatchPosesRequest], stream *connect.ServerStream[engramv1.WatchPosesResponse]) error {
	release, err := h.admitSubscription()
	if err != nil {
		return wireError(err)
	}
	defer release()
	m := r.Msg
	watch, err := h.poses.Watch(ctx, pose.Changes{
		Target: m.GetTarget(), Source: m.GetSource(), OnlyAcquired: m.GetOnlyAcquired(), Trans: m.GetTrans(), Rot: m.GetRot(),
	}, (*pose.Revision)(m.From))
	if err != nil {
		return h.ended(err)
	}
	defer watch.Close()
	begin := uint64(watch.Position())
	if err := stream.Send(&engramv1.WatchPosesResponse{From: begin, To: begin}); err != nil {
		return wireError(err)
	}
	for {
		ev, err := watch.Next(ctx)
		if err != nil {
			return h.ended(err)
		}
		if err := stream.Send(eventMessage(&ev)); err != nil {
			return wireError(err)
		}
	}
}
