// Package api is the feature by which programs ask for poses and revise them
// (engram.v1.PoseService): its calls, their rules, and a client.
package api

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const name = "engram.v1.PoseService"

// Poses are made of what the memory RobotState holds: who may read all of it may ask for
// poses, who may write all of it may revise them. Who may also write to the acquisitions
// may acquire. Frames that come from elsewhere, such as the world's items, are told to those
// who may read all that they come from.
var (
	memory    = engram.MustID("RobotState")
	reading   = feature.Needs(of(access.Read))
	revising  = feature.Needs(of(access.Write))
	acquiring = feature.Needs(of(access.Read), access.Need{Actions: access.Write, On: engram.MustID("RobotState/Acquisition")})
)

func of(a access.Actions) access.Need {
	return access.Need{Actions: a, On: memory, Thing: "the poses of " + memory.String()}
}

// Feature offers poses.
func Feature(s lookup.Service) feature.Feature {
	h := handler{s}
	return feature.New(name,
		feature.Unary("LookUp", reading, within(h, h.lookUp)).Lasting(),
		feature.Unary("Acquire", acquiring, within(h, h.acquire)).Lasting(),
		feature.Unary("ReleaseAcquisition", acquiring, h.release),
		feature.Unary("CommitRevision", revising, h.commitRevision).Carrying(access.Write),
		feature.Unary("ListRevisions", reading, h.listRevisions),
		feature.Unary("DiffPoses", reading, within(h, h.diff)),
		feature.Unary("Tree", reading, within(h, h.tree)),
		feature.Unary("Path", reading, within(h, h.path)),
		feature.Unary("ListLeftOut", reading, h.listLeftOut),
		feature.Stream("WatchPoses", reading, h.watch).Watching(),
	)
}

type handler struct{ poses lookup.Service }

// within answers a call within what its caller may know of the frames.
func within[Req, Res any](h handler, f func(context.Context, Req) (Res, error)) func(context.Context, Req) (Res, error) {
	return func(ctx context.Context, r Req) (Res, error) { return f(h.within(ctx), r) }
}

func (h handler) within(ctx context.Context) context.Context {
	s, ok := h.poses.(interface{ ForeignSources() []engram.ID })
	if ok && slices.ContainsFunc(s.ForeignSources(), func(id engram.ID) bool { return !access.May(ctx, access.Read, id) }) {
		return lookup.WithoutForeign(ctx)
	}
	return ctx
}

func (h handler) lookUp(ctx context.Context, r *engramv1.LookUpRequest) (*engramv1.LookUpResponse, error) {
	if err := wire.LimitsOf(ctx).Breadth("questions", len(r.GetQuestions())); err != nil {
		return nil, err
	}
	questions := make([]lookup.Question, len(r.GetQuestions()))
	for i, m := range r.GetQuestions() {
		var err error
		if questions[i], err = questionFromMessage(m); err != nil {
			return nil, err
		}
	}
	answers, err := h.poses.LookUp(ctx, questions)
	m := &engramv1.LookUpResponse{Answers: make([]*engramv1.PoseAnswer, len(answers))}
	for i := range answers {
		m.Answers[i] = answerMessage(&answers[i])
	}
	return m, err
}

func (h handler) acquire(ctx context.Context, r *engramv1.AcquireRequest) (*engramv1.AcquireResponse, error) {
	ask := lookup.Acquire{Sensor: r.GetSensor(), Time: engram.Time(r.GetTime()), Wait: r.GetWait()}
	if text := r.GetData(); text != "" {
		var err error
		if ask.Data, err = engram.Parse(text); err != nil {
			return nil, err
		}
	}
	a, err := h.poses.Acquire(ctx, ask)
	return &engramv1.AcquireResponse{
		Id: uint64(a.ID), Sensor: a.Sensor, Time: int64(a.Time), Base: a.Base,
		Pose: PoseMessage(a.Pose), Covariance: CovMessage(&a.Cov), Info: poseInfoMessage(a.Info),
	}, err
}

func (h handler) release(ctx context.Context, r *engramv1.ReleaseAcquisitionRequest) (*engramv1.ReleaseAcquisitionResponse, error) {
	return &engramv1.ReleaseAcquisitionResponse{}, h.poses.Release(ctx, pose.AcquisitionID(r.GetId()))
}

func (h handler) commitRevision(ctx context.Context, r *engramv1.CommitRevisionRequest) (*engramv1.CommitRevisionResponse, error) {
	tx, err := transactionFromMessage(r)
	if err != nil {
		return nil, err
	}
	rev, err := h.poses.CommitRevision(ctx, tx)
	return &engramv1.CommitRevisionResponse{Revision: uint64(rev)}, err
}

func (h handler) listRevisions(ctx context.Context, _ *engramv1.ListRevisionsRequest) (*engramv1.ListRevisionsResponse, error) {
	revisions, err := h.poses.Revisions(ctx)
	m := &engramv1.ListRevisionsResponse{Life: revisions.Life}
	for _, r := range revisions.List {
		m.Revisions = append(m.Revisions, &engramv1.ListRevisionsResponse_Revision{Number: uint64(r.Revision), Author: r.Author})
	}
	return m, err
}

func (h handler) diff(ctx context.Context, r *engramv1.DiffPosesRequest) (*engramv1.DiffPosesResponse, error) {
	changes, err := h.poses.Diff(ctx, r.GetTarget(), r.GetSource(), pose.Revision(r.GetFrom()), pose.Revision(r.GetTo()),
		pose.Threshold{Trans: r.GetTrans(), Rot: r.GetRot()})
	return &engramv1.DiffPosesResponse{Changes: changeMessages(changes)}, err
}

func (h handler) tree(ctx context.Context, r *engramv1.TreeRequest) (*engramv1.TreeResponse, error) {
	edges, err := h.poses.Tree(ctx, (*pose.Revision)(r.AsOf))
	return &engramv1.TreeResponse{Edges: edgeMessages(edges)}, err
}

func (h handler) path(ctx context.Context, r *engramv1.PathRequest) (*engramv1.PathResponse, error) {
	edges, err := h.poses.Path(ctx, r.GetTarget(), r.GetSource(), engram.Time(r.GetTime()))
	return &engramv1.PathResponse{Edges: edgeMessages(edges)}, err
}

func (h handler) listLeftOut(ctx context.Context, _ *engramv1.ListLeftOutRequest) (*engramv1.ListLeftOutResponse, error) {
	left, err := h.poses.LeftOut(ctx)
	m := &engramv1.ListLeftOutResponse{}
	for _, l := range left {
		if !access.May(ctx, access.Read, l.Entity) {
			continue
		}
		m.LeftOut = append(m.LeftOut, &engramv1.ListLeftOutResponse_LeftOut{
			Entity: l.Entity.String(), Reason: wire.ErrorMessage(l.Reason), Count: l.Count, Last: int64(l.Last)})
	}
	return m, err
}

func (h handler) watch(ctx context.Context, r *engramv1.WatchPosesRequest, send func(*engramv1.WatchPosesResponse) error) error {
	watch, err := h.poses.Watch(h.within(ctx), pose.Changes{
		Target: r.GetTarget(), Source: r.GetSource(), OnlyAcquired: r.GetOnlyAcquired(), Trans: r.GetTrans(), Rot: r.GetRot(),
	}, (*pose.Revision)(r.From))
	if err != nil {
		return err
	}
	defer watch.Close()
	begin := uint64(watch.Position())
	err = send(&engramv1.WatchPosesResponse{From: begin, To: begin})
	for err == nil {
		var ev lookup.Event
		if ev, err = watch.Next(ctx); err == nil {
			err = send(eventMessage(&ev))
		}
	}
	return err
}
