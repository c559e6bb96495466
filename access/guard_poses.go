package access

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	poses "github.com/seed-301d4374/engram/pose/service"
)

// posesMemory is the memory whose content poses are made of: who may read all of it may
// ask for poses, who may write all of it may revise them.
var posesMemory = engram.MustID("RobotState")

// Poses returns the server's poses behind the guard, nil if it has none.
func (g *Guard) Poses() poses.Service {
	if inner := g.svc.Poses(); inner != nil {
		return &guardedPoses{g, inner}
	}
	return nil
}

type guardedPoses struct {
	g     *Guard
	inner poses.Service
}

func (p *guardedPoses) check(ctx context.Context, a Actions) error {
	if gr := p.g.grant(ctx); !gr.may(a, posesMemory) {
		return p.g.c.forbidden(gr.id, a, "the poses of "+posesMemory.String())
	}
	return nil
}

func (p *guardedPoses) LookUp(ctx context.Context, questions []poses.Question) ([]poses.Answer, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	return p.inner.LookUp(ctx, questions)
}

func (p *guardedPoses) Acquire(ctx context.Context, sensor string, t engram.Time, wait bool) (pose.Acquisition, error) {
	if err := p.check(ctx, Read); err != nil {
		return pose.Acquisition{}, err
	}
	return p.inner.Acquire(ctx, sensor, t, wait)
}

func (p *guardedPoses) Release(ctx context.Context, id pose.AcquisitionID) error {
	if err := p.check(ctx, Read); err != nil {
		return err
	}
	return p.inner.Release(ctx, id)
}

func (p *guardedPoses) CommitRevision(ctx context.Context, tx poses.Transaction) (pose.Revision, error) {
	if err := p.check(ctx, Write); err != nil {
		return 0, err
	}
	return p.inner.CommitRevision(ctx, tx)
}

func (p *guardedPoses) Revisions(ctx context.Context) (poses.Revisions, error) {
	if err := p.check(ctx, Read); err != nil {
		return poses.Revisions{}, err
	}
	return p.inner.Revisions(ctx)
}

func (p *guardedPoses) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	return p.inner.Diff(ctx, target, source, a, b, th)
}

func (p *guardedPoses) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	return p.inner.Tree(ctx, asOf)
}

func (p *guardedPoses) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	return p.inner.Path(ctx, target, source, t)
}

func (p *guardedPoses) LeftOut(ctx context.Context) ([]poses.LeftOut, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	return p.inner.LeftOut(ctx)
}

func (p *guardedPoses) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (poses.Stream, error) {
	if err := p.check(ctx, Read); err != nil {
		return nil, err
	}
	inner, err := p.inner.Watch(ctx, ask, from)
	if err != nil {
		return nil, err
	}
	life, end, err := p.g.c.bound(context.Background(), IdentityOf(ctx))
	if err != nil {
		inner.Close()
		return nil, err
	}
	return &poseStream{Stream: inner, life: life, end: end}, nil
}

// poseStream is a watch that is cut when the rights change.
type poseStream struct {
	poses.Stream
	life context.Context
	end  func()
}

func (s *poseStream) Next(ctx context.Context) (poses.Event, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	ev, err := s.Stream.Next(ctx)
	return ev, cause(ctx, err)
}

func (s *poseStream) Close() error {
	s.end()
	return s.Stream.Close()
}
