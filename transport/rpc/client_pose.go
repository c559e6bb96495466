package rpc

import (
	"context"
	"sync"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// Poses returns the poses that the server offers. Its calls return Unsupported if
// it offers none, and if the client's calls are carried by transport/local.
func (c *Client) Poses() service.Service { return poseClient{c} }

// poseClient implements service.Service over the client's connection.
type poseClient struct{ c *Client }

func (p poseClient) LookUp(ctx context.Context, questions []service.Question) ([]service.Answer, error) {
	req := &engramv1.LookUpRequest{Questions: make([]*engramv1.PoseQuestion, len(questions))}
	for i := range questions {
		req.Questions[i] = questionMessage(&questions[i])
	}
	m, err := call(ctx, p.c, p.c.poses.LookUp, req, repeatable)
	if err != nil {
		return nil, err
	}
	if len(m.GetAnswers()) != len(questions) {
		return nil, engram.Errorf(engram.Corrupt, p.c.address, "the server answered %d of %d questions", len(m.GetAnswers()), len(questions))
	}
	answers := make([]service.Answer, len(questions))
	for i, a := range m.GetAnswers() {
		if answers[i], err = answerFromMessage(a); err != nil {
			return nil, badAnswer(err)
		}
	}
	return answers, nil
}

func (p poseClient) Acquire(ctx context.Context, sensor string, t engram.Time, wait bool) (pose.Acquisition, error) {
	m, err := call(ctx, p.c, p.c.poses.Acquire, &engramv1.AcquireRequest{Sensor: sensor, Time: int64(t), Wait: wait}, once)
	if err != nil {
		return pose.Acquisition{}, err
	}
	cov, err := covFromMessage(m.GetCovariance())
	if err != nil {
		return pose.Acquisition{}, badAnswer(err)
	}
	return pose.Acquisition{
		ID: pose.AcquisitionID(m.GetId()), Sensor: m.GetSensor(), Time: engram.Time(m.GetTime()), Base: m.GetBase(),
		Pose: poseFromMessage(m.GetPose()), Cov: cov, Info: poseInfoFromMessage(m.GetInfo()),
	}, nil
}

func (p poseClient) Release(ctx context.Context, id pose.AcquisitionID) error {
	_, err := call(ctx, p.c, p.c.poses.ReleaseAcquisition, &engramv1.ReleaseAcquisitionRequest{Id: uint64(id)}, once)
	return err
}

func (p poseClient) CommitRevision(ctx context.Context, tx service.Transaction) (pose.Revision, error) {
	m, err := call(ctx, p.c, p.c.poses.CommitRevision, transactionMessage(&tx), once)
	return pose.Revision(m.GetRevision()), err
}

func (p poseClient) Revisions(ctx context.Context) (service.Revisions, error) {
	m, err := call(ctx, p.c, p.c.poses.ListRevisions, &engramv1.ListRevisionsRequest{}, repeatable)
	if err != nil {
		return service.Revisions{}, err
	}
	out := service.Revisions{Life: m.GetLife()}
	for _, r := range m.GetRevisions() {
		out.List = append(out.List, pose.RevisionInfo{Revision: pose.Revision(r.GetNumber()), Author: r.GetAuthor()})
	}
	return out, nil
}

func (p poseClient) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	m, err := call(ctx, p.c, p.c.poses.DiffPoses, &engramv1.DiffPosesRequest{
		Target: target, Source: source, From: uint64(a), To: uint64(b), Trans: th.Trans, Rot: th.Rot,
	}, repeatable)
	return changesFromMessages(m.GetChanges()), err
}

func (p poseClient) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	m, err := call(ctx, p.c, p.c.poses.Tree, &engramv1.TreeRequest{AsOf: (*uint64)(asOf)}, repeatable)
	return edgesFromMessages(m.GetEdges()), err
}

func (p poseClient) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	m, err := call(ctx, p.c, p.c.poses.Path, &engramv1.PathRequest{Target: target, Source: source, Time: int64(t)}, repeatable)
	return edgesFromMessages(m.GetEdges()), err
}

func (p poseClient) LeftOut(ctx context.Context) ([]service.LeftOut, error) {
	m, err := call(ctx, p.c, p.c.poses.ListLeftOut, &engramv1.ListLeftOutRequest{}, repeatable)
	if err != nil {
		return nil, err
	}
	out := make([]service.LeftOut, len(m.GetLeftOut()))
	for i, l := range m.GetLeftOut() {
		out[i] = service.LeftOut{Reason: errorFromMessage(l.GetReason()), Count: l.GetCount(), Last: engram.Time(l.GetLast())}
		if l.GetEntity() == "" {
			continue
		}
		if out[i].Entity, err = engram.Parse(l.GetEntity()); err != nil {
			return nil, engram.Errorf(engram.Corrupt, p.c.address, "the server's answer: %w", err)
		}
	}
	return out, nil
}

// Watch implements service.Service. When the connection breaks, Next returns
// Unavailable; begin anew from Position.
func (p poseClient) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (service.Stream, error) {
	if p.c.ctx.Err() != nil {
		return nil, errClosed(p.c.address)
	}
	s := &poseStream{c: p.c, events: make(chan service.Event), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(p.c.ctx)
	giveUp := context.AfterFunc(ctx, s.cancel)
	stream, err := p.c.poses.WatchPoses(s.ctx, connect.NewRequest(&engramv1.WatchPosesRequest{
		Target: ask.Target, Source: ask.Source, OnlyAcquired: ask.OnlyAcquired, Trans: ask.Trans, Rot: ask.Rot, From: (*uint64)(from),
	}))
	if err == nil && !stream.Receive() {
		if err = stream.Err(); err == nil {
			err = engram.Errorf(engram.Unavailable, p.c.address, "the server ended the watch before it began")
		}
		stream.Close()
	}
	if !giveUp() && err == nil {
		stream.Close()
		err = ctx.Err()
	}
	if err != nil {
		s.cancel()
		return nil, p.c.domainError(ctx, err)
	}
	s.mu.told = pose.Revision(stream.Msg().GetTo())
	s.mu.acked = s.mu.told
	owned := p.c.own(func() {
		defer close(s.done)
		defer s.cancel()
		s.receive(stream)
	})
	if !owned {
		s.cancel()
		stream.Close()
		return nil, errClosed(p.c.address)
	}
	return s, nil
}

// poseStream is a watch at a remote server.
type poseStream struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelFunc
	events chan service.Event
	done   chan struct{}
	err    error // why it ended; to be read after done

	mu struct {
		sync.Mutex
		told, acked pose.Revision
	}
}

func (s *poseStream) receive(stream *connect.ServerStreamForClient[engramv1.WatchPosesResponse]) {
	defer stream.Close()
	for stream.Receive() {
		select {
		case s.events <- eventFromMessage(stream.Msg()):
		case <-s.ctx.Done():
		}
	}
	switch err := stream.Err(); {
	case s.ctx.Err() != nil:
		s.err = engram.Errorf(engram.Canceled, s.c.address, "the watch is closed")
	case err == nil:
		s.err = engram.Errorf(engram.Unavailable, s.c.address, "the server ended the watch")
	default:
		s.err = s.c.domainError(s.ctx, err)
	}
}

func (s *poseStream) Next(ctx context.Context) (service.Event, error) {
	s.mu.Lock()
	s.mu.acked = s.mu.told
	s.mu.Unlock()
	select {
	case ev := <-s.events:
		s.mu.Lock()
		s.mu.told = ev.To
		s.mu.Unlock()
		return ev, nil
	case <-ctx.Done():
		return service.Event{}, engram.Errorf(engram.Canceled, s.c.address, "given up waiting for a movement: %w", ctx.Err())
	case <-s.done:
		return service.Event{}, s.err
	}
}

func (s *poseStream) Position() pose.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.acked
}

func (s *poseStream) Close() error {
	s.cancel()
	<-s.done
	return nil
}
