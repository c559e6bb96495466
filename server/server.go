package server

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/wm"
)

// Config configures a server.
type Config struct {
	Memories []Memory
	Types    *idf.Registry // nil means a new one
	Now      func() engram.Time
	Limits   wm.Limits
	Log      *slog.Logger // nil means slog.Default()
}

// Server hosts memories. It implements engram.Service. Safe for concurrent use.
type Server struct {
	wm    *wm.WM
	log   *slog.Logger
	names []string          // of the memories, sorted
	hooks map[string]*Hooks // by memory
	has   struct{ commit, write, stored, query bool }
	poses service.Service

	ctx    context.Context // of the Start and Run hooks; ends with Close
	cancel context.CancelFunc
	run    sync.WaitGroup // the Run hooks

	close   sync.Once
	closed  atomic.Bool
	refused refusals
}

var _ engram.Service = (*Server)(nil)

// New makes a server, adds the memories' types and segments, and runs their Start
// hooks in the order of the memories. If one fails, what was begun is ended and
// the error returned.
func New(c Config) (*Server, error) {
	s := &Server{
		wm:    wm.New(wm.Config{Types: c.Types, Now: c.Now, Limits: c.Limits}),
		log:   c.Log,
		hooks: make(map[string]*Hooks, len(c.Memories)),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.start(c.Memories); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(memories []Memory) error {
	for i := range memories {
		if err := s.add(&memories[i]); err != nil {
			return engram.Errorf(engram.CodeOf(err), memories[i].Name, "the memory cannot be set up: %w", err)
		}
	}
	slices.Sort(s.names)
	for i := range memories {
		m := &memories[i]
		if m.Hooks.Start != nil {
			if err := m.Hooks.Start(s.ctx, s); err != nil {
				return engram.Errorf(engram.CodeOf(err), m.Name, "the memory's Start hook failed: %w", err)
			}
		}
		if m.Hooks.Run != nil {
			s.run.Go(func() {
				if err := m.Hooks.Run(s.ctx, s); err != nil && s.ctx.Err() == nil {
					s.log.Error("the memory's Run hook ended", "memory", m.Name, "error", err)
				}
			})
		}
	}
	return nil
}

// add sets one memory up. Start hooks run when all memories are there, so that
// they can commit to each other.
func (s *Server) add(m *Memory) error {
	if s.hooks[m.Name] != nil {
		return engram.Errorf(engram.AlreadyExists, "", "two memories have this name")
	}
	if err := s.wm.AddMemory(m.Name, m.Bounds); err != nil {
		return err
	}
	for _, t := range m.Types {
		if err := s.wm.AddType(s.ctx, t); err != nil {
			return err
		}
	}
	for _, seg := range m.Segments {
		if seg.ID.Memory() != m.Name {
			return engram.Errorf(engram.Invalid, seg.ID.String(), "the segment lies in another memory")
		}
		if err := s.wm.AddCoreSegment(s.ctx, seg); err != nil {
			return err
		}
	}
	if m.Poses != nil {
		if s.poses != nil {
			return engram.Errorf(engram.AlreadyExists, "", "another memory of this server keeps poses already")
		}
		s.poses = m.Poses
	}
	h := m.Hooks
	s.hooks[m.Name] = &h
	s.names = append(s.names, m.Name)
	s.has.commit = s.has.commit || h.Commit != nil
	s.has.write = s.has.write || len(h.Write) > 0
	s.has.stored = s.has.stored || h.Stored != nil
	s.has.query = s.has.query || h.Query != nil
	return nil
}

// Memories returns the names of the memories hosted, sorted.
func (s *Server) Memories() []string { return slices.Clone(s.names) }

// Poses returns the poses that a memory of the server keeps, nil if none does.
func (s *Server) Poses() service.Service { return s.poses }

// Epoch identifies this life of the server; it is never 0.
func (s *Server) Epoch() uint64 { return s.wm.Epoch() }

// Number returns the number of the newest update, 0 if there was none.
func (s *Server) Number() uint64 { return s.wm.Number() }

// Close ends the hooks' context, waits for the Run hooks, which may still commit
// what they have, and ends all subscriptions. What is called afterwards returns
// Unavailable. It must not be called by a hook.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		s.cancel()
		s.run.Wait()
		s.closed.Store(true)
		err = s.wm.Close()
	})
	return err
}

func (s *Server) alive() error {
	if s.closed.Load() {
		return engram.Errorf(engram.Unavailable, "", "the memory server is closed")
	}
	return nil
}
