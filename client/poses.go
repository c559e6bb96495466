package client

import (
	"context"
	"errors"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/transport"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// PoseMemory is the memory that keeps poses on a robot with the memories of this
// module.
const PoseMemory = "RobotState"

// Poses returns the poses that a memory keeps, such as [PoseMemory]. Where the
// memory is, is found out at each call. Calls return Unsupported if its server
// keeps none.
func (c *Client) Poses(memory string) service.Service { return poses{c, memory} }

// poses implements service.Service over the connections to memory servers. They are
// asked over RPC, which each of them speaks.
type poses struct {
	c      *Client
	memory string
}

// at returns the poses of the server that hosts the memory.
func (p poses) at(ctx context.Context) (service.Service, error) {
	cn, err := p.c.host(ctx, p.memory)
	if err != nil {
		return nil, err
	}
	if cn.server != "" && p.c.home.Server().Server == cn.server {
		return p.c.home.Poses(), nil
	}
	p.c.mu.Lock()
	known := p.c.poseServers[cn.server]
	p.c.mu.Unlock()
	if known != nil {
		return known.Poses(), nil
	}
	o := p.c.o.Dial
	o.Server = cn.server
	var failures []error
	for _, address := range cn.addresses {
		if transport.IsLocal(address) {
			continue
		}
		dialled, err := rpc.Dial(ctx, address, o)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		return p.keep(cn.server, dialled)
	}
	return nil, engram.Errorf(engram.Unavailable, cn.server, "the memory server cannot be reached: %w", errors.Join(failures...))
}

// keep remembers a connection until the client is closed, unless another call was
// faster.
func (p poses) keep(server string, dialled *rpc.Client) (service.Service, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if known := p.c.poseServers[server]; known != nil {
		dialled.Close()
		return known.Poses(), nil
	}
	owned := p.c.ownLocked(func() {
		<-p.c.ctx.Done()
		dialled.Close()
	})
	if !owned {
		dialled.Close()
		return nil, p.c.alive()
	}
	if p.c.poseServers == nil {
		p.c.poseServers = map[string]*rpc.Client{}
	}
	p.c.poseServers[server] = dialled
	return dialled.Poses(), nil
}

// onPoses asks the poses where they are.
func onPoses[T any](ctx context.Context, p poses, f func(service.Service) (T, error)) (T, error) {
	s, err := p.at(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return f(s)
}

func (p poses) LookUp(ctx context.Context, questions []service.Question) ([]service.Answer, error) {
	return onPoses(ctx, p, func(s service.Service) ([]service.Answer, error) { return s.LookUp(ctx, questions) })
}

func (p poses) Acquire(ctx context.Context, sensor string, t engram.Time, wait bool) (pose.Acquisition, error) {
	return onPoses(ctx, p, func(s service.Service) (pose.Acquisition, error) { return s.Acquire(ctx, sensor, t, wait) })
}

func (p poses) Release(ctx context.Context, id pose.AcquisitionID) error {
	_, err := onPoses(ctx, p, func(s service.Service) (struct{}, error) { return struct{}{}, s.Release(ctx, id) })
	return err
}

func (p poses) CommitRevision(ctx context.Context, tx service.Transaction) (pose.Revision, error) {
	return onPoses(ctx, p, func(s service.Service) (pose.Revision, error) { return s.CommitRevision(ctx, tx) })
}

func (p poses) Revisions(ctx context.Context) (service.Revisions, error) {
	return onPoses(ctx, p, func(s service.Service) (service.Revisions, error) { return s.Revisions(ctx) })
}

func (p poses) Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error) {
	return onPoses(ctx, p, func(s service.Service) ([]pose.Change, error) { return s.Diff(ctx, target, source, a, b, th) })
}

func (p poses) Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error) {
	return onPoses(ctx, p, func(s service.Service) ([]pose.EdgeInfo, error) { return s.Tree(ctx, asOf) })
}

func (p poses) Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error) {
	return onPoses(ctx, p, func(s service.Service) ([]pose.EdgeInfo, error) { return s.Path(ctx, target, source, t) })
}

func (p poses) LeftOut(ctx context.Context) ([]service.LeftOut, error) {
	return onPoses(ctx, p, func(s service.Service) ([]service.LeftOut, error) { return s.LeftOut(ctx) })
}

func (p poses) Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (service.Stream, error) {
	return onPoses(ctx, p, func(s service.Service) (service.Stream, error) { return s.Watch(ctx, ask, from) })
}
