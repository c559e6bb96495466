package server

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	hosting "github.com/seed-301d4374/engram/core/server/api"
	"github.com/seed-301d4374/engram/core/wm"
)

// maxHosted bounds the memories of programs, as none goes before the server ends.
const maxHosted = 256

// hostings are the memories that programs host at a server. It implements hosting.Server and
// mns.Yielder.
type hostings struct {
	s        *Server
	announce func(ctx context.Context, memories func() []string) error

	turn  chan struct{}   // holds a token while one is taken in
	taken map[string]bool // by name; false where that failed half-way
	pool  wm.Pool
}

// Host takes in a memory. It is known by name from then on, as long as the server runs;
// where there is a long-term memory, after its next start, too.
func (h *hostings) Host(ctx context.Context, m hosting.Memory) error {
	s := h.s
	if err := s.Alive(); err != nil {
		return err
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, m.Name, "the program gave up while another one was taken in: %w", context.Cause(ctx))
	}
	done, again := h.taken[m.Name]
	switch {
	case !done && s.hosted.Load().hosts(m.Name):
		return engram.Errorf(engram.AlreadyExists, m.Name, "the server has a memory of this name itself; choose another")
	case slices.Contains(s.wm.Copies().Names(), m.Name):
		return engram.Errorf(engram.Conflict, m.Name, "the server holds a copy of this memory; end that, or choose another name")
	case !again && len(h.taken) >= maxHosted:
		return engram.Errorf(engram.Exhausted, m.Name, "programs host %d memories here already", maxHosted)
	}
	if err := h.pool.Add(s.wm, m.Name, hostedBounds); err != nil {
		return err
	}
	if !again {
		h.add(m.Name, false)
	}
	if err := h.define(ctx, &m); err != nil {
		return err
	}
	if (!done || s.hosted.Load().elsewhere[m.Name] != "") && h.announce != nil {
		if err := h.announce(ctx, func() []string { return append(s.Memories(), m.Name) }); err != nil {
			return err
		}
	}
	if s.ltm != nil {
		if err := s.ltm.NoteHosted(ltm.Hosted{Memory: m.Name, Program: m.Program, Commits: m.Hooks.Commit != nil}); err != nil {
			return err
		}
	}
	h.add(m.Name, true)
	s.hosted.change(func(all *hosted) { all.add(m.Name, h.hooksOf(m.Hooks), true) })
	return nil
}

// MayYield implements mns.Yielder: another server of the robot may have the name of a memory
// that a program hosts, or has hosted. Otherwise a program that went elsewhere would keep a
// server from beginning.
func (h *hostings) MayYield(memory string) bool { return h.s.hosted.Load().programs[memory] }

// Yielded implements mns.Yielder. What the server holds of these memories stays, but is not
// offered by name, and is not changed.
func (h *hostings) Yielded(elsewhere map[string]string) {
	s := h.s
	before := s.hosted.Load().elsewhere
	s.hosted.change(func(all *hosted) { all.elsewhere = elsewhere })
	for memory, server := range elsewhere {
		if before[memory] != server {
			s.log.Warn("another server hosts a memory that a program hosted here: what this server has of it stays as it is until the name is free", "memory", memory, "server", server)
		}
	}
	for memory := range before {
		if elsewhere[memory] == "" {
			s.log.Info("the name of a memory that a program hosted here is free again, and the server has it", "memory", memory)
		}
	}
}

func (h *hostings) add(memory string, done bool) {
	if h.taken == nil {
		h.taken = map[string]bool{}
	}
	h.taken[memory] = done
}

// define adds types and segments. Their durability is what they have where there is a log.
func (h *hostings) define(ctx context.Context, m *hosting.Memory) error {
	s := h.s
	for _, t := range m.Types {
		if err := s.wm.AddType(ctx, t); err != nil {
			return err
		}
	}
	id, err := engram.NewID(m.Name)
	if err != nil {
		return err
	}
	there, err := s.wm.Describe(ctx, engram.PatternOf(id))
	if err != nil {
		return err
	}
	for _, seg := range m.Cores {
		if i := slices.IndexFunc(there, func(d engram.Description) bool { return d.ID == seg.ID }); i >= 0 {
			seg.Durability = there[i].Durability // a policy may have made it another
		} else {
			var p policy.Policy
			if s.ltm != nil {
				p = s.ltm.Policy(seg.ID)
			}
			seg.Durability = durability(s.journal, p, seg.Durability)
		}
		if err := s.wm.AddCoreSegment(ctx, seg); err != nil {
			return err
		}
	}
	for _, seg := range m.Providers {
		if err := s.wm.AddProviderSegment(ctx, seg); err != nil {
			return err
		}
	}
	return nil
}

// hostedBounds are those of all that the memory of a program holds together, hostedPool those
// of all such memories: programs choose how many there are.
var (
	hostedBounds = engram.Bounds{MaxBytes: 256 << 20, MaxCount: 1_000_000}
	hostedPool   = wm.Pool{MaxBytes: 1 << 30, MinBytes: 4 << 20, MaxSegments: 4096, MinSegments: 16, OwnSegments: 1024}
)

// addKnown adds the memories that programs hosted before the server was started again, as
// those of programs that are away.
func (h *hostings) addKnown() {
	s := h.s
	if s.ltm == nil {
		return
	}
	for _, m := range s.ltm.Hosted() {
		if s.hosted.Load().hosts(m.Memory) {
			continue // the server has it itself now
		}
		if err := h.pool.Add(s.wm, m.Memory, hostedBounds); err != nil {
			s.log.Warn("a memory that a program hosted cannot be added", "memory", m.Memory, "error", err)
			continue
		}
		h.add(m.Memory, true)
		hooks := h.hooksOf(hosting.Away(m.Memory, m.Program, m.Commits))
		s.hosted.change(func(all *hosted) { all.add(m.Memory, hooks, true) })
	}
}

// hooksOf returns the hooks of a program as those of a memory.
func (h *hostings) hooksOf(of hosting.Hooks) Hooks {
	out := Hooks{Commit: of.Commit, Query: of.Query}
	if of.Predict != nil {
		out.Predict = func(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
			all, err := of.Predict(ctx, ids)
			for i := range all {
				if all[i].Err == nil {
					if all[i].Err = h.checkPredicted(ctx, ids[i], all[i].Snapshot); all[i].Err != nil {
						all[i].Snapshot = nil
					}
				}
			}
			return all, err
		}
	}
	return out
}

// checkPredicted checks that what a program predicts could be committed: its types and their
// wire form.
func (h *hostings) checkPredicted(ctx context.Context, id engram.ID, snap *engram.Snapshot) error {
	segments, err := h.s.wm.Describe(ctx, engram.PatternOf(id.Truncate(engram.LevelCoreSegment)))
	if err != nil {
		return err
	}
	want := ""
	for i := range segments {
		if at := segments[i].ID; at == id.Truncate(engram.LevelProviderSegment) || want == "" && at.Level() == engram.LevelCoreSegment {
			want = segments[i].Type
		}
	}
	base, ok := h.s.wm.Registry().Get(want)
	if !ok {
		return engram.Errorf(engram.NotFound, id.String(), "there is no such segment")
	}
	for i := range snap.Instances {
		p := &snap.Instances[i].Payload
		if p.Type == "" {
			p.Type = want
		}
		t, ok := h.s.wm.Registry().Get(p.Type)
		if !ok {
			return engram.Errorf(engram.NotFound, id.String(), "instance %d of the prediction is of type %s, which is not known here", i, p.Type)
		}
		if err = t.CheckExtends(base); err == nil {
			err = t.Check(p.Bytes)
		}
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), id.String(), "instance %d of the prediction: %w", i, err)
		}
	}
	return nil
}
