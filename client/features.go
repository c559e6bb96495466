package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	longterm "github.com/seed-301d4374/engram/core/ltm/api"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	copies "github.com/seed-301d4374/engram/fleet/copies/api"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	knowledge "github.com/seed-301d4374/engram/mind/knowledge/api"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	questions "github.com/seed-301d4374/engram/mind/world/answer"
	world "github.com/seed-301d4374/engram/mind/world/api"
)

// PoseMemory is the memory that keeps poses on a robot with the memories of this
// module.
const PoseMemory = "RobotState"

// Poses returns the poses that a memory keeps, such as [PoseMemory]. Calls return
// Unsupported if its server keeps none.
func (c *Client) Poses(memory string) lookup.Service { return poses.NewClient(c.Conn(memory)) }

// Knowledge returns who answers questions in logic from what the robot of this client knows. The
// error of a question is Unsupported if the server has no memory Knowledge.
func (c *Client) Knowledge() logic.Service {
	return knowledge.NewClient(c.Conn(KnowledgeMemory))
}

// World returns who answers questions about the world of the robot of this client. The error of a question is
// Unsupported if the server has no memory World.
func (c *Client) World() questions.Service { return world.NewClient(c.Conn(WorldMemory)) }

// WorldMemory is the memory whose server answers questions about the world.
const WorldMemory = "World"

// Hosts reports whether the server of a memory has all that the patterns are of, as its owner or in copies: what it makes of
// that is the same as what this client would.
func (c *Client) Hosts(memory string, patterns ...engram.Pattern) bool {
	r := c.routes()
	h := r.find(memory)
	if h == nil || h.owner == nil {
		return false
	}
	if r.only == h.owner {
		return true
	}
	for _, p := range patterns {
		names := engram.AllNames()
		if len(p.Levels) > 0 {
			names = p.Levels[0]
		}
		s, err := r.selection(names)
		if err != nil || len(s.absent()) > 0 || slices.ContainsFunc(s.all(), func(of *host) bool { return !of.isAt(h.owner) }) {
			return false
		}
	}
	return true
}

// isAt reports whether a server hosts a memory, or has a copy of it by the name that it has here.
func (h *host) isAt(cn *conn) bool {
	return h.owner == cn || slices.ContainsFunc(h.copies, func(c holder) bool { return c.conn == cn && c.memory == h.memory })
}

// KnowledgeMemory is the memory whose server answers questions in logic.
const KnowledgeMemory = "Knowledge"

// LongTerm returns the long-term memory of the server that hosts a memory; of the
// server that offers the name system if the memory's name is empty. Calls return
// Unsupported if its server keeps nothing on disk.
func (c *Client) LongTerm(memory string) admin.Service {
	return longterm.NewClient(c.Conn(memory))
}

// Copies administers the copies that the server which offers the name system holds.
// Calls return Unsupported if it holds none, or if the names come from the backbone
// itself.
func (c *Client) Copies() contract.Admin {
	if c.home.server == nil {
		return copies.NewClient(noHolder{})
	}
	return copies.NewClient(c.home.server)
}

// noHolder answers where there is no server to hold copies.
type noHolder struct{}

func errNoHolder() error {
	return engram.Errorf(engram.Unsupported, "", "this client is on the backbone; connect to the server that is to hold the copy")
}

func (noHolder) Call(context.Context, string, proto.Message, proto.Message) error {
	return errNoHolder()
}
func (noHolder) Open(context.Context, string, proto.Message) (feature.ClientStream, error) {
	return nil, errNoHolder()
}

// Conn makes the calls of features at the server that hosts a memory; at the server that
// offers the name system if the memory's name is empty. Where the memory is, is found
// out at each call. Calls go over RPC, which each server speaks, also where the client's
// other calls go over edge/transport/local.
func (c *Client) Conn(memory string) feature.Conn {
	if memory == "" {
		if c.home.server != nil {
			return c.home.server
		}
		if r := c.routes(); len(r.servers) == 1 {
			memory = r.own[0].memory
		}
	}
	return featureConn{c, memory}
}

// featureConn implements feature.Conn over the connections to memory servers.
type featureConn struct {
	c      *Client
	memory string
}

func (f featureConn) Call(ctx context.Context, procedure string, request, answer proto.Message) error {
	_, _, err := atServer(ctx, f, procedure, func(c *rpc.Client) (struct{}, error) {
		return struct{}{}, c.Call(ctx, procedure, request, answer)
	})
	return err
}

func (f featureConn) Open(ctx context.Context, procedure string, first proto.Message) (feature.ClientStream, error) {
	s, cn, err := atServer(ctx, f, procedure, func(c *rpc.Client) (feature.ClientStream, error) {
		return c.Open(ctx, procedure, first)
	})
	if err != nil {
		return nil, err
	}
	return &featureStream{ClientStream: s, c: f.c, ctx: ctx, cn: cn}, nil
}

// atServer makes a call over RPC to the server that hosts a memory. If that does not
// answer and the name system knows the memory elsewhere by now, a call that is
// repeatable is made there.
func atServer[T any](ctx context.Context, to featureConn, procedure string, f func(*rpc.Client) (T, error)) (T, *conn, error) {
	c, memory, repeatable := to.c, to.memory, feature.Repeatable(procedure)
	for first := true; ; first = false {
		var answer T
		h, err := c.host(ctx, memory)
		if err != nil {
			return answer, nil, err
		}
		cn := h.owner
		var speaker *rpc.Client
		if repeatable && cn.suspectedSince() != 0 {
			speaker, err = reach(ctx, &c.router, cn, c.speak)
			err = cn.errSuspected(err)
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
		if !first || sent && !repeatable || resolveErr != nil || moved.owner == nil || moved.owner == cn {
			return answer, cn, err
		}
	}
}

// errGone says that a call or stream ended because its server left the name system,
// which is not the caller's doing.
func errGone(cn *conn, cause error) error {
	return engram.Errorf(engram.Unavailable, cn.server, "the memory server is no longer registered: %w", cause)
}

// featureStream is a call at the server that hosted the memory when it began.
type featureStream struct {
	feature.ClientStream
	c      *Client
	ctx    context.Context
	cn     *conn
	closed atomic.Bool
}

func (s *featureStream) Receive(m proto.Message) error {
	err := s.ClientStream.Receive(m)
	if err != nil && !errors.Is(err, io.EOF) && engram.CodeOf(err) == engram.Canceled && s.ctx.Err() == nil && s.c.ctx.Err() == nil && !s.closed.Load() {
		err = errGone(s.cn, err)
	}
	return err
}

func (s *featureStream) Close() error {
	s.closed.Store(true)
	return s.ClientStream.Close()
}
