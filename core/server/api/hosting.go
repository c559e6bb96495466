// Package api is the feature by which programs in any language host memories
// (engram.v1.HostService, docs/formats/host.md). The server holds the data and answers; the
// program at the other end of a stream has the types, the segments and the hooks.
//
// A program that hangs, answers nonsense or dies costs its own memory only: each call has a
// deadline, and the calls that wait for it are bounded. While it is away the memory stays
// readable; what its commit hook has to see is refused as Unavailable.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const name = "engram.v1.HostService"

// Memory is a memory that a program hosts.
type Memory struct {
	Name      string
	Program   string // what errors call it
	Types     []engram.TypeDef
	Cores     []engram.CoreSegment
	Providers []engram.ProviderSegment
	Hooks     Hooks
}

// Hooks are those of a program; nil where it has none. They are called by several goroutines
// at once, and return soon after their deadline, whatever the program does.
type Hooks struct {
	// Commit may change the update, within its memory, or refuse it.
	Commit func(ctx context.Context, u *engram.EntityUpdate) error
	// Query lets the program bring up to date what is asked for, or refuse. It does not change
	// the query, and is passed over while the program does not answer.
	Query func(ctx context.Context, q *engram.Query) error
	// Predict has one answer per ID at the same index.
	Predict func(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error)
}

// Server takes in hosted memories.
type Server interface {
	// Host hosts a memory, or has one that it took in before served by these hooks. What is
	// there of types and segments is equal, else it is AlreadyExists, as for a name that the
	// server itself hosts; Conflict if another server hosts it.
	Host(ctx context.Context, m Memory) error
}

// Hosts are the programs that host memories at a server. Safe for concurrent use.
type Hosts struct {
	server Server
	log    *slog.Logger

	mu    sync.Mutex
	seats map[string]*seat // by memory, while a program hosts it or begins to
}

// New returns the hosts of a server, none yet.
func New(s Server, log *slog.Logger) *Hosts {
	return &Hosts{server: s, log: log, seats: map[string]*seat{}}
}

// Feature offers programs to host memories, of which they must be administrators.
func (h *Hosts) Feature() feature.Feature {
	return feature.New(name,
		feature.Pipe[engramv1.HostRequest]("Host", feature.Sees(access.Admin), h.host).Lasting().Carrying(access.Admin))
}

// seat is the place of a memory's program.
type seat struct {
	session *session // nil while there is none
	begins  bool     // somebody is about to sit down
}

// host serves the stream of one program.
func (h *Hosts) host(ctx context.Context, p feature.Messages) error {
	impatient := time.AfterFunc(p.Patience(), p.CloseReceive)
	first, err := receive(p)
	if impatient.Stop(); err != nil {
		return err
	}
	s, m, err := newSession(first.GetBegin())
	if err != nil {
		return err
	}
	on, err := engram.NewID(m.Name)
	if err != nil {
		return err
	}
	if err := access.PermitIn(ctx, access.Need{Actions: access.Admin, On: on, What: "host the memory by " + s.program}); err != nil {
		return err
	}
	old, err := h.claim(s)
	if err != nil {
		return err
	}
	if old != nil {
		old.end(engram.Errorf(engram.Conflict, s.memory, "another stream of the program took the place of this one"))
	}
	m.Hooks = h.hooks(s, first.GetBegin().GetHooks())
	err = h.server.Host(ctx, m)
	if h.sit(s, err == nil); err != nil {
		return err
	}
	h.log.Info("a program hosts a memory", "memory", s.memory, "program", s.program)
	defer h.leave(s)
	return s.run(ctx, p, h.log)
}

// claim begins to give a session its memory; sit ends that. It returns the session whose
// place it takes, if any.
func (h *Hosts) claim(s *session) (old *session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.seats[s.memory]
	if at == nil {
		at = &seat{}
	}
	if old = at.session; at.begins || old != nil && !old.ended() && (s.token == "" || old.token != s.token) {
		program := "another program"
		if old != nil {
			program = fmt.Sprintf("the program %q", old.program)
		}
		return nil, engram.Errorf(engram.AlreadyExists, s.memory, "%s hosts this memory; end it first, or choose another name", program)
	}
	at.begins = true
	h.seats[s.memory] = at
	return old, nil
}

func (h *Hosts) sit(s *session, hosted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.seats[s.memory]
	at.begins = false
	if hosted {
		at.session = s
	} else if at.session == nil || at.session.ended() {
		delete(h.seats, s.memory)
	}
}

func (h *Hosts) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := h.seats[s.memory]; at != nil && at.session == s {
		if at.session = nil; !at.begins {
			delete(h.seats, s.memory)
		}
		h.log.Warn("the program that hosts a memory is away", "memory", s.memory, "program", s.program)
	}
}

func receive(p feature.Messages) (*engramv1.HostRequest, error) {
	m, err := p.Receive()
	if err != nil {
		return nil, err
	}
	return m.(*engramv1.HostRequest), nil
}

// Away are the hooks of a memory whose program is not there: it stays readable, and commits
// are refused if they need its hook.
func Away(memory, program string, commits bool) Hooks {
	if !commits {
		return Hooks{}
	}
	return Hooks{Commit: func(context.Context, *engram.EntityUpdate) error { return away(memory, program) }}
}

func away(memory, program string) error {
	return engram.Errorf(engram.Unavailable, memory, "the program %q, which hosts this memory, is away; start it again", program)
}

// hooks are those that a session has.
func (h *Hosts) hooks(s *session, has []engramv1.Hook) (out Hooks) {
	for _, hook := range has {
		switch hook {
		case engramv1.Hook_HOOK_COMMIT:
			out.Commit = s.commit
		case engramv1.Hook_HOOK_QUERY:
			out.Query = func(ctx context.Context, q *engram.Query) error { return s.query(ctx, q, h.log) }
		case engramv1.Hook_HOOK_PREDICT:
			out.Predict = s.predict
		}
	}
	return out
}

// commit is the session's commit hook.
func (s *session) commit(ctx context.Context, u *engram.EntityUpdate) error {
	answer, err := s.call(ctx, engramv1.Hook_HOOK_COMMIT, &engramv1.HostResponse{Kind: &engramv1.HostResponse_Commit{Commit: wire.UpdateMessage(u)}})
	if err != nil || answer.GetCommit() == nil {
		return err
	}
	m := answer.GetCommit()
	entity, err := engram.Parse(m.GetEntity())
	if err != nil {
		return s.nonsense("its commit hook answered with an ID that is none: %w", err)
	}
	if entity.Memory() != s.memory {
		return s.nonsense("its commit hook moved an update to %v, which is not in its memory", entity)
	}
	for i, in := range m.GetInstances() {
		if in.GetPayload().GetJson() != nil {
			return s.nonsense("its commit hook gave instance %d as JSON; hooks answer with encoded data", i)
		}
	}
	u.Entity, u.Instances = entity, wire.InstancesFromMessages(m.GetInstances())
	if m.Time != nil {
		u.Time = engram.Time(m.GetTime())
	}
	return nil
}

// query is the session's query hook. What is not about its memory is not the program's
// business.
func (s *session) query(ctx context.Context, q *engram.Query, log *slog.Logger) error {
	own := *q
	own.Memories, own.Numbers = nil, nil // whether numbers are taken out of the snapshots is not, either
	for _, n := range q.Memories {
		if match, err := n.Names.Matcher(); err == nil && match.Match(s.memory) {
			n.Names = engram.OneOf(s.memory)
			own.Memories = append(own.Memories, n)
		}
	}
	m, err := wire.QueryMessage(own)
	if err != nil {
		return err
	}
	_, err = s.call(ctx, engramv1.Hook_HOOK_QUERY, &engramv1.HostResponse{Kind: &engramv1.HostResponse_Query{Query: m}})
	if code := engram.CodeOf(err); err != nil && ctx.Err() == nil && (code == engram.Unavailable || code == engram.Internal) {
		// The program is broken, or away: what is there is answered.
		if s.ended() {
			return nil
		}
		s.once.Do(func() {
			log.Warn("a query hook does not work: queries are answered without it", "memory", s.memory, "error", err)
		})
		return nil
	}
	return err
}

// predict is the session's predict hook.
func (s *session) predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	m := &engramv1.PredictRequest{}
	for _, id := range ids {
		m.Ids = append(m.Ids, id.String())
	}
	answer, err := s.call(ctx, engramv1.Hook_HOOK_PREDICT, &engramv1.HostResponse{Kind: &engramv1.HostResponse_Predict{Predict: m}})
	if err != nil {
		return nil, err
	}
	got := answer.GetPredict().GetPredictions()
	if len(got) != len(ids) {
		return nil, s.nonsense("its predict hook answered %d of %d IDs", len(got), len(ids))
	}
	all := make([]engram.Prediction, len(ids))
	for i, p := range got {
		all[i] = engram.Prediction{ID: ids[i], Snapshot: wire.SnapshotFromMessage(p.GetSnapshot()), Err: wire.ErrorFromMessage(p.GetError())}
		if all[i].Err == nil && (all[i].Snapshot == nil || len(all[i].Snapshot.Instances) == 0) {
			all[i].Snapshot, all[i].Err = nil, s.nonsense("its predict hook answered neither a snapshot nor an error")
		}
	}
	return all, nil
}

// nonsense is the error for an answer that cannot be.
func (s *session) nonsense(format string, a ...any) error {
	return engram.Errorf(engram.Internal, s.memory, "the program %q hosts this memory: %w", s.program, fmt.Errorf(format, a...))
}
