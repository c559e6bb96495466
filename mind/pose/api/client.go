package api

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// NewClient returns the poses that a server offers. Its calls return Unsupported if it
// offers none. When the connection breaks, a watch's Next returns Unavailable; begin anew
// from its Position.
func NewClient(c feature.Conn) lookup.Service { return client{c} }

// client implements lookup.Service over a connection.
type client struct{ feature.Conn }

const path = "/" + name + "/"

func (c client) LookUp(ctx context.Context, questions []lookup.Question) ([]lookup.Answer, error) {
	req := &engramv1.LookUpRequest{Questions: make([]*engramv1.PoseQuestion, len(questions))}
	for i := range questions {
		req.Questions[i] = questionMessage(&questions[i])
	}
	var m engramv1.LookUpResponse
	if err := c.Call(ctx, path+"LookUp", req, &m); err != nil {
		return nil, err
	}
	if len(m.GetAnswers()) != len(questions) {
		return nil, engram.Errorf(engram.Corrupt, "LookUp", "the server answered %d of %d questions", len(m.GetAnswers()), len(questions))
	}
	answers := make([]lookup.Answer, len(questions))
	for i, a := range m.GetAnswers() {
		var err error
		if answers[i], err = answerFromMessage(a); err != nil {
			return nil, wire.BadAnswer(err)
		}
	}
	return answers, nil
}

func (c client) Acquire(ctx context.Context, a lookup.Acquire) (pose.Acquisition, error) {
	ask := &engramv1.AcquireRequest{Sensor: a.Sensor, Time: int64(a.Time), Wait: a.Wait}
	if a.Data.Level() != engram.LevelRoot {
		ask.Data = a.Data.String()
	}
	var m engramv1.AcquireResponse
	if err := c.Call(ctx, path+"Acquire", ask, &m); err != nil {
		return pose.Acquisition{}, err
	}
	cov, err := CovFromMessage(m.GetCovariance())
	if err != nil {
		return pose.Acquisition{}, wire.BadAnswer(err)
	}
	return pose.Acquisition{
		ID: pose.AcquisitionID(m.GetId()), Sensor: m.GetSensor(), Time: engram.Time(m.GetTime()), Base: m.GetBase(),
		Pose: PoseFromMessage(m.GetPose()), Cov: cov, Info: poseInfoFromMessage(m.GetInfo()),
	}, nil
}

func (c client) Release(ctx context.Context, id pose.AcquisitionID) error {
	return c.Call(ctx, path+"ReleaseAcquisition", &engramv1.ReleaseAcquisitionRequest{Id: uint64(id)}, &engramv1.ReleaseAcquisitionResponse{})
}

func (c client) CommitRevision(ctx context.Context, tx lookup.Transaction) (pose.Revision, error) {
	var m engramv1.CommitRevisionResponse
	err := c.Call(ctx, path+"CommitRevision", transactionMessage(&tx), &m)
	return pose.Revision(m.GetRevision()), err
}

func (c client) Revisions(ctx context.Context) (lookup.Revisions, error) {
	var m engramv1.ListRevisionsResponse
	if err := c.Call(ctx, path+"ListRevisions", &engramv1.ListRevisionsRequest{}, &m); err != nil {
		return lookup.Revisions{}, err
	}
	out := lookup.Revisions{Life: m.GetLife()}
	for _, r := range m.GetRevisions() {
		out.List = append(out.List, pose.RevisionInfo{Revision: pose.Revision(r.GetNumber()), Author: r.GetAuthor()})
	}
	return out, nil
}

func (c client) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	var m engramv1.DiffPosesResponse
	err := c.Call(ctx, path+"DiffPoses", &engramv1.DiffPosesRequest{
		Target: target, Source: source, From: uint64(a), To: uint64(b), Trans: th.Trans, Rot: th.Rot,
	}, &m)
	return changesFromMessages(m.GetChanges()), err
}

func (c client) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	var m engramv1.TreeResponse
	err := c.Call(ctx, path+"Tree", &engramv1.TreeRequest{AsOf: (*uint64)(asOf)}, &m)
	return edgesFromMessages(m.GetEdges()), err
}

func (c client) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	var m engramv1.PathResponse
	err := c.Call(ctx, path+"Path", &engramv1.PathRequest{Target: target, Source: source, Time: int64(t)}, &m)
	return edgesFromMessages(m.GetEdges()), err
}

func (c client) LeftOut(ctx context.Context) ([]lookup.LeftOut, error) {
	var m engramv1.ListLeftOutResponse
	if err := c.Call(ctx, path+"ListLeftOut", &engramv1.ListLeftOutRequest{}, &m); err != nil {
		return nil, err
	}
	out := make([]lookup.LeftOut, len(m.GetLeftOut()))
	for i, l := range m.GetLeftOut() {
		out[i] = lookup.LeftOut{Reason: wire.ErrorFromMessage(l.GetReason()), Count: l.GetCount(), Last: engram.Time(l.GetLast())}
		if l.GetEntity() == "" {
			continue
		}
		var err error
		if out[i].Entity, err = engram.Parse(l.GetEntity()); err != nil {
			return nil, wire.BadAnswer(err)
		}
	}
	return out, nil
}

func (c client) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (lookup.Stream, error) {
	s := &stream{events: make(chan lookup.Event), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	giveUp := context.AfterFunc(ctx, s.cancel)
	var err error
	s.from, err = c.Open(s.ctx, path+"WatchPoses", &engramv1.WatchPosesRequest{
		Target: ask.Target, Source: ask.Source, OnlyAcquired: ask.OnlyAcquired, Trans: ask.Trans, Rot: ask.Rot, From: (*uint64)(from),
	})
	var begin engramv1.WatchPosesResponse
	if err == nil {
		err = s.receive(&begin)
	}
	if !giveUp() {
		err = engram.Errorf(engram.Canceled, "", "the call was given up: %w", ctx.Err())
	}
	if err != nil {
		s.cancel()
		if s.from != nil {
			s.from.Close()
		}
		return nil, err
	}
	s.mu.told = pose.Revision(begin.GetTo())
	s.mu.acked = s.mu.told
	go s.run()
	return s, nil
}

// stream is a watch at a remote server.
type stream struct {
	from   feature.ClientStream
	ctx    context.Context
	cancel context.CancelFunc
	events chan lookup.Event
	done   chan struct{}
	err    error // why it ended; to be read after done

	mu struct {
		sync.Mutex
		told, acked pose.Revision
	}
}

// receive receives the next message.
func (s *stream) receive(m *engramv1.WatchPosesResponse) error {
	err := s.from.Receive(m)
	if errors.Is(err, io.EOF) {
		return engram.Errorf(engram.Unavailable, "", "the server ended the watch")
	}
	return err
}

func (s *stream) run() {
	defer close(s.done)
	defer s.from.Close()
	defer s.cancel()
	for {
		var m engramv1.WatchPosesResponse
		if s.err = s.receive(&m); s.err != nil {
			return
		}
		select {
		case s.events <- eventFromMessage(&m):
		case <-s.ctx.Done():
			s.err = engram.Errorf(engram.Canceled, "", "the watch is closed")
			return
		}
	}
}

func (s *stream) Next(ctx context.Context) (lookup.Event, error) {
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
		return lookup.Event{}, engram.Errorf(engram.Canceled, "", "given up waiting for a movement: %w", ctx.Err())
	case <-s.done:
		return lookup.Event{}, s.err
	}
}

func (s *stream) Position() pose.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.acked
}

func (s *stream) Close() error {
	s.cancel()
	<-s.done
	return nil
}
