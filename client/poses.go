package client

import (
	"context"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// PoseMemory is the memory that keeps poses on a robot with the memories of this
// module.
const PoseMemory = "RobotState"

// Poses returns the poses that a memory keeps, such as [PoseMemory]. Where the
// memory is, is found out at each call. Calls return Unsupported if its server
// keeps none.
//
// They go over RPC, which each server speaks, also where the client's other calls go
// over transport/local.
func (c *Client) Poses(memory string) service.Service { return poses{c, memory} }

// poses implements service.Service over the connections to memory servers.
type poses struct {
	c      *Client
	memory string
}

// onPoses asks the poses where they are.
func onPoses[T any](ctx context.Context, p poses, reads bool, f func(service.Service) (T, error)) (T, *conn, error) {
	return atServer(ctx, p.c, p.memory, reads, func(c *rpc.Client) (T, error) { return f(c.Poses()) })
}

// atServer makes a call over RPC to the server that hosts a memory. If that does not
// answer and the name system knows the memory elsewhere by now, a call that only reads
// is made there.
func atServer[T any](ctx context.Context, c *Client, memory string, reads bool, f func(*rpc.Client) (T, error)) (T, *conn, error) {
	for first := true; ; first = false {
		var answer T
		h, err := c.host(ctx, memory)
		if err != nil {
			return answer, nil, err
		}
		cn := h.owner
		var speaker *rpc.Client
		if reads && cn.silentSince() != 0 {
			speaker, err = soon(ctx, c, cn, c.speak)
			err = cn.errSilent(err)
		} else {
			speaker, err = c.speak(ctx, cn)
		}
		sent := err == nil
		if sent {
			answer, err = f(speaker)
			if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil && c.ctx.Err() == nil && cn.isClosed() {
				err = errGone(cn, err)
			}
		}
		if engram.CodeOf(err) != engram.Unavailable {
			return answer, cn, err
		}
		moved, resolveErr := c.resolve(ctx, memory)
		if !first || sent && !reads || resolveErr != nil || moved.owner == nil || moved.owner == cn {
			return answer, cn, err
		}
	}
}

// errGone says that a call or stream ended because its server left the name system,
// which is not the caller's doing.
func errGone(cn *conn, cause error) error {
	return engram.Errorf(engram.Unavailable, cn.server, "the memory server is no longer registered: %w", cause)
}

const (
	readsOnly = true
	changes   = false
)

// read asks what may be asked twice.
func read[T any](ctx context.Context, p poses, f func(service.Service) (T, error)) (T, error) {
	answer, _, err := onPoses(ctx, p, readsOnly, f)
	return answer, err
}

// change asks for what must not happen twice.
func change[T any](ctx context.Context, p poses, f func(service.Service) (T, error)) (T, error) {
	answer, _, err := onPoses(ctx, p, changes, f)
	return answer, err
}

func (p poses) LookUp(ctx context.Context, questions []service.Question) ([]service.Answer, error) {
	return read(ctx, p, func(s service.Service) ([]service.Answer, error) { return s.LookUp(ctx, questions) })
}

func (p poses) Acquire(ctx context.Context, sensor string, t engram.Time, wait bool) (pose.Acquisition, error) {
	return change(ctx, p, func(s service.Service) (pose.Acquisition, error) { return s.Acquire(ctx, sensor, t, wait) })
}

func (p poses) Release(ctx context.Context, id pose.AcquisitionID) error {
	_, err := change(ctx, p, func(s service.Service) (struct{}, error) { return struct{}{}, s.Release(ctx, id) })
	return err
}

func (p poses) CommitRevision(ctx context.Context, tx service.Transaction) (pose.Revision, error) {
	return change(ctx, p, func(s service.Service) (pose.Revision, error) { return s.CommitRevision(ctx, tx) })
}

func (p poses) Revisions(ctx context.Context) (service.Revisions, error) {
	return read(ctx, p, func(s service.Service) (service.Revisions, error) { return s.Revisions(ctx) })
}

func (p poses) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	return read(ctx, p, func(s service.Service) ([]pose.Change, error) { return s.Diff(ctx, target, source, a, b, th) })
}

func (p poses) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	return read(ctx, p, func(s service.Service) ([]pose.EdgeInfo, error) { return s.Tree(ctx, asOf) })
}

func (p poses) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	return read(ctx, p, func(s service.Service) ([]pose.EdgeInfo, error) { return s.Path(ctx, target, source, t) })
}

func (p poses) LeftOut(ctx context.Context) ([]service.LeftOut, error) {
	return read(ctx, p, func(s service.Service) ([]service.LeftOut, error) { return s.LeftOut(ctx) })
}

func (p poses) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (service.Stream, error) {
	s, cn, err := onPoses(ctx, p, readsOnly, func(s service.Service) (service.Stream, error) { return s.Watch(ctx, ask, from) })
	if err != nil {
		return nil, err
	}
	return &poseStream{Stream: s, c: p.c, cn: cn}, nil
}

// poseStream is a watch at the server that hosted the memory when it began.
type poseStream struct {
	service.Stream
	c      *Client
	cn     *conn
	closed atomic.Bool
}

func (s *poseStream) Next(ctx context.Context) (service.Event, error) {
	ev, err := s.Stream.Next(ctx)
	if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil && s.c.ctx.Err() == nil && !s.closed.Load() {
		err = errGone(s.cn, err)
	}
	return ev, err
}

func (s *poseStream) Close() error {
	s.closed.Store(true)
	return s.Stream.Close()
}
