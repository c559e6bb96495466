// Package serve makes memory servers with copies: they hold those of other servers' memories, and
// others pull from them what they hold of their own. Package copies has them pulled.
package serve

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
)

// Server is a memory server with copies. Safe for concurrent use.
type Server struct {
	*server.Server
	parts server.Parts
}

var (
	_ feature.Server  = (*Server)(nil)
	_ contract.Memory = (*Server)(nil)
	_ contract.Source = (*Server)(nil)
)

// New makes a memory server with copies, as [server.New] makes one.
func New(c server.Config) (*Server, error) {
	s, err := server.New(c)
	if err != nil {
		return nil, err
	}
	return &Server{s, s.Parts()}, nil
}

// Features implements feature.Server: what the server offers, and what holders of copies pull.
func (s *Server) Features() []feature.Feature {
	return slices.Concat(s.Server.Features(), []feature.Feature{pull.Feature(s)})
}

// Pull implements contract.Source: it tells holders of copies what this server owns.
func (s *Server) Pull(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
	if err := s.Alive(); err != nil {
		return err
	}
	return source.New(s.parts.Working, s.parts.Store).Pull(ctx, r, f)
}

// Copies implements contract.Memory.
func (s *Server) Copies() []string { return s.parts.Working.Copies().Names() }

// PrepareCopy implements contract.Memory. Where there is a log, what is copied goes
// through it; otherwise it is volatile.
func (s *Server) PrepareCopy(ctx context.Context, segments []contract.Segment) error {
	if err := s.Alive(); err != nil {
		return err
	}
	for i := range segments {
		if err := s.prepareCopy(ctx, &segments[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) prepareCopy(ctx context.Context, seg *contract.Segment) error {
	name := seg.Core.ID.Memory()
	if s.parts.Hosts(name) {
		return engram.Errorf(engram.Conflict, name, "this server hosts the memory itself; it cannot hold a copy of it")
	}
	if err := s.parts.Working.Copies().Add(name); err != nil {
		return err
	}
	if s.parts.Store != nil {
		if err := s.parts.Store.NoteCopy(name, true); err != nil {
			return err
		}
	}
	for _, t := range seg.Types {
		if err := s.parts.Working.AddType(ctx, t); err != nil {
			if engram.CodeOf(err) == engram.AlreadyExists {
				return engram.Errorf(engram.TypeMismatch, "", "it is another one here than at its owner: %w", err)
			}
			return err
		}
	}
	at := seg.Core.ID
	if !seg.Provider.ID.IsRoot() {
		at = seg.Provider.ID
	}
	list, err := s.parts.Working.Describe(ctx, engram.PatternOf(at))
	if err != nil {
		return err
	}
	known := map[engram.ID]string{} // their types
	for i := range list {
		known[list[i].ID] = list[i].Type
	}
	c := seg.Core
	c.FixedProviders = false // those that the owner has come by themselves
	if c.Durability = engram.Volatile; s.parts.Journal != nil {
		c.Durability = engram.Logged
	}
	if c.Type == "" {
		c.Type = engram.ValueType
	}
	if here, ok := known[c.ID]; !ok {
		if err := s.parts.Working.AddCoreSegment(ctx, c); err != nil {
			return err
		}
	} else if here != c.Type {
		return otherType(c.ID, here, c.Type)
	}
	p := seg.Provider
	here, ok := known[p.ID]
	switch own := cmp.Or(p.Type, c.Type); {
	case p.ID.IsRoot() || ok && here == own: // whichever of the two says it
		return nil
	case ok:
		return otherType(p.ID, here, own)
	}
	return s.parts.Working.AddProviderSegment(ctx, p)
}

func otherType(id engram.ID, here, there string) error {
	return engram.Errorf(engram.TypeMismatch, id.String(), "the copy has the type %s, its owner's segment %s; drop the copy and begin it anew", here, there)
}

// ApplyCopy implements contract.Memory.
func (s *Server) ApplyCopy(ctx context.Context, c contract.Changes) (a contract.Applied, err error) {
	if err := s.Alive(); err != nil {
		return a, err
	}
	for i := range c.Removed {
		n, err := s.applyRemoval(ctx, &c.Removed[i])
		if err != nil {
			return a, err
		}
		a.Removed += n
	}
	if err := s.refuseDoomed(&c); err != nil {
		return a, err
	}
	fresh, err := s.unknown(ctx, &c)
	if err != nil {
		return a, err
	}
	a.Had = uint64(len(c.Versions) - len(fresh))
	results, err := s.parts.Working.Copies().Write(ctx, fresh)
	for i := range results {
		switch err := results[i].Err; {
		case err == nil:
			a.Stored++
			a.Number = max(a.Number, results[i].Number)
		case engram.CodeOf(err) == engram.AlreadyExists:
			a.Had++
		default:
			if a.Refused++; a.Reason == nil {
				a.Reason = err
			}
		}
	}
	if a.Had > 0 { // they came some time
		a.Number = s.parts.Working.Number()
	}
	return a, err
}

// refuseDoomed returns Unavailable if something of what is to be stored is to be forgotten
// first, as of a copy that is being dropped: that goes on by itself.
func (s *Server) refuseDoomed(c *contract.Changes) error {
	if s.parts.Store == nil || len(c.Versions) == 0 {
		return nil
	}
	doomed, err := s.parts.Store.Doomed()
	if err != nil || doomed == nil {
		return err
	}
	for i := range c.Versions {
		if v := &c.Versions[i]; doomed(v.Entity, v.Snapshot) {
			return engram.Errorf(engram.Unavailable, v.Entity.At(v.Snapshot.Time).String(), "what the copy had of it before is not forgotten yet; the health of the long-term memory says why")
		}
	}
	return nil
}

// unknown returns the versions that are not there, as far as that can be told before
// they are stored.
func (s *Server) unknown(ctx context.Context, c *contract.Changes) ([]wm.Copied, error) {
	fresh := make([]wm.Copied, 0, len(c.Versions))
	var asked, recorded bool
	var disk *ltm.Held
	defer func() {
		if disk != nil {
			disk.Close()
		}
	}()
	for i := range c.Versions {
		v := &c.Versions[i]
		known := s.parts.Working.Copies().Knows(v.Entity, v.Snapshot.Time, v.Snapshot.Arrived)
		has := known == wm.Known
		switch {
		case c.Whole, has:
			has = has && !c.Whole // the memory compares
		case s.parts.Store == nil:
			has = known == wm.Evicted
		default:
			evicted := known != wm.Unknown
			if evicted && !asked {
				asked, recorded = true, s.parts.Store.Recorded(ctx, s.parts.Working.Number())
				if disk != nil { // it tells what was there before
					disk.Close()
					disk = nil
				}
			}
			if disk == nil {
				disk = s.parts.Store.Held()
			}
			var err error
			if has, err = disk.Has(ctx, v.Entity, v.Snapshot, evicted); err != nil {
				return nil, err
			}
			if evicted && !recorded && !has {
				return nil, engram.Errorf(engram.Unavailable, v.Entity.At(v.Snapshot.Time).String(), "it cannot be told whether the copy has it: the long-term memory has not recorded all that came before; its health says why, and if it does not, begin the server anew")
			}
		}
		if !has {
			fresh = append(fresh, wm.Copied{Entity: v.Entity, Snapshot: v.Snapshot, Whole: c.Whole})
		}
	}
	return fresh, nil
}

// applyRemoval carries a removal out, and returns how many versions went.
func (s *Server) applyRemoval(ctx context.Context, r *contract.Removal) (uint64, error) {
	switch {
	case r.Compared:
		return s.removeBesides(ctx, r)
	case !r.Segment:
		return s.forgetCopied(ctx, r, "forgotten by its owner")
	}
	segment := r.Pattern.Enclosing()
	if int(segment.Level()) != len(r.Pattern.Levels) {
		return 0, engram.Errorf(engram.Invalid, r.Pattern.String(), "is not the pattern of one segment")
	}
	if !s.parts.Working.Copies().Has(segment) || s.parts.Working.Copies().Last(segment) > r.Until {
		return 0, nil // it is done: what there is came later
	}
	return s.removeCopied(ctx, segment)
}

// removeBesides removes the segments of copies that the owner has no more.
func (s *Server) removeBesides(ctx context.Context, r *contract.Removal) (n uint64, err error) {
	list, err := s.Describe(ctx, r.Pattern)
	if err != nil {
		return 0, err
	}
	for _, d := range list {
		if d.ID.Level() != engram.LevelProviderSegment || !s.parts.Working.Copies().Has(d.ID) || slices.Contains(r.Besides, d.ID) || s.parts.Working.Copies().Last(d.ID) > r.Until {
			continue
		}
		gone, err := s.removeCopied(ctx, d.ID)
		n += gone
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// removeCopied removes a segment of a copy, if it is there.
func (s *Server) removeCopied(ctx context.Context, segment engram.ID) (n uint64, err error) {
	stats, err := s.parts.Working.Stats(ctx, engram.PatternOf(segment), segment.Level())
	if err != nil {
		return 0, err
	}
	for _, st := range stats {
		if st.ID == segment {
			n = st.Snapshots + st.Superseded
		}
	}
	if err := s.parts.Working.RemoveSegment(ctx, segment); engram.CodeOf(err) == engram.NotFound {
		if any, err := s.holdsAny(ctx, segment); !any || err != nil { // nor on disk
			return 0, err
		}
	} else if err != nil {
		return 0, err
	}
	if s.parts.Store != nil {
		err = s.parts.Store.Removed(ctx, segment)
	}
	s.parts.Removed(segment)
	return n, err
}

// forgetCopied forgets versions of copies.
func (s *Server) forgetCopied(ctx context.Context, r *contract.Removal, why string) (n uint64, err error) {
	if s.parts.Store != nil {
		return s.parts.Store.ForgetCopied(ctx, r.Pattern, r.Span, r.Except, r.Until, why)
	}
	m, err := r.Pattern.Matcher()
	if err != nil {
		return 0, err
	}
	var entities []engram.ID
	for id := range s.parts.Working.View(ctx, nil).Entities() {
		if s.parts.Working.Copies().Has(id) && m.Match(id) {
			entities = append(entities, id)
		}
	}
	for _, id := range entities {
		gone, err := s.parts.Working.Erase(ctx, id, r.Covers)
		n += gone
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// SyncCopies implements contract.Memory.
func (s *Server) SyncCopies(ctx context.Context) (kept bool, err error) {
	if s.parts.Journal == nil {
		return false, nil
	}
	for _, name := range s.parts.Working.Copies().Names() {
		if l := s.parts.Journal.Log(name); l != nil {
			if err := l.Sync(ctx, l.End()); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// DropCopy implements contract.Memory.
func (s *Server) DropCopy(ctx context.Context, p engram.Pattern) error {
	if err := s.Alive(); err != nil {
		return err
	}
	all := contract.Removal{Pattern: p, Span: engram.Always(), Until: engram.MaxTime}
	if _, err := s.forgetCopied(ctx, &all, "the copy was ended"); err != nil {
		return err
	}
	m, err := p.Matcher()
	if err != nil {
		return err
	}
	for _, name := range s.parts.Working.Copies().Names() {
		if !m.Level(engram.LevelMemory).Match(name) {
			continue
		}
		if err := s.dropEmpty(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// dropEmpty removes what holds nothing more of a memory that is a copy.
func (s *Server) dropEmpty(ctx context.Context, memory string) error {
	id, err := engram.NewID(memory)
	if err != nil {
		return err
	}
	list, err := s.Describe(ctx, engram.PatternOf(id))
	if err != nil {
		return err
	}
	full := map[engram.ID]bool{}
	for _, d := range slices.Backward(list) { // providers before their core segments
		if d.ID.Level() == engram.LevelProviderSegment {
			any, err := s.holdsAny(ctx, d.ID)
			if err != nil {
				return err
			}
			full[d.ID] = any
			full[d.ID.Parent()] = full[d.ID.Parent()] || any
		}
		if full[d.ID] {
			full[id] = true
			continue
		}
		if _, err := s.removeCopied(ctx, d.ID); err != nil {
			return err
		}
	}
	if full[id] {
		return nil
	}
	if err := s.parts.Working.Copies().Remove(memory); err != nil {
		return err
	}
	if s.parts.Store != nil {
		return s.parts.Store.NoteCopy(memory, false)
	}
	return nil
}

// holdsAny reports whether a segment has an entity, in either memory.
func (s *Server) holdsAny(ctx context.Context, segment engram.ID) (bool, error) {
	q := engram.PatternOf(segment).Select(engram.Latest(1))
	q.WithoutPayload = true
	var r *engram.Result
	var err error
	if s.parts.Store != nil {
		r, err = s.parts.Store.Query(ctx, q)
	} else {
		r, err = s.parts.Working.Query(ctx, q)
	}
	if err != nil {
		return false, err
	}
	for range r.All() {
		return true, nil
	}
	return false, nil
}
