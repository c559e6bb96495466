package server

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/wal"
	"github.com/seed-301d4374/engram/wm"
)

var _ service.Memory = (*Server)(nil)

// holding is the server as a holder of copies. It implements service.Memory.
type holding struct {
	wm      *wm.WM
	ltm     *ltm.Store // nil if there is no long-term memory
	journal *wal.Journal
	log     *slog.Logger
	hosts   func(memory string) bool // the server itself
	alive   func() error
	refused refusals
	explain atomic.Pointer[func(*engram.Query) ([]engram.Missing, []engram.CopyUsed)] // see ExplainCopies
}

// addCopies makes the memories known that the folder holds copies of, before they are
// restored.
func (s *holding) addCopies() error {
	if s.ltm == nil {
		return nil
	}
	for _, name := range s.ltm.Copies() {
		if s.hosts(name) {
			s.log.Warn("the folder holds a copy of a memory that this server hosts itself now", "memory", name)
			continue
		}
		if err := s.wm.Copies().Add(name, ownerOf(name)); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf names the owner of a copied memory, as far as its name tells.
func ownerOf(memory string) string {
	robot, _, ok := strings.Cut(memory, ":")
	if !ok {
		return ""
	}
	return "a server of " + robot
}

// refuseCopy returns why a call that would change a segment is refused if that is a
// copy.
func (s *holding) refuseCopy(id engram.ID) error {
	if !s.wm.Copies().Has(id) {
		return nil
	}
	return engram.Errorf(engram.Unsupported, id.String(), "the memory is a copy here; change it at its owner, or end the copy")
}

// Copies implements service.Memory.
func (s *holding) Copies() []string { return s.wm.Copies().Names() }

// PrepareCopy implements service.Memory. Where there is a log, what is copied goes
// through it; otherwise it is volatile.
func (s *holding) PrepareCopy(ctx context.Context, segments []service.Segment) error {
	if err := s.alive(); err != nil {
		return err
	}
	for i := range segments {
		if err := s.prepareCopy(ctx, &segments[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *holding) prepareCopy(ctx context.Context, seg *service.Segment) error {
	name := seg.Core.ID.Memory()
	if s.hosts(name) {
		return engram.Errorf(engram.Conflict, name, "this server hosts the memory itself; it cannot hold a copy of it")
	}
	if err := s.wm.Copies().Add(name, ownerOf(name)); err != nil {
		return err
	}
	if s.ltm != nil {
		if err := s.ltm.NoteCopy(name, true); err != nil {
			return err
		}
	}
	for _, t := range seg.Types {
		if err := s.wm.AddType(ctx, t); err != nil {
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
	list, err := s.wm.Describe(ctx, engram.PatternOf(at))
	if err != nil {
		return err
	}
	known := map[engram.ID]string{} // their types
	for i := range list {
		known[list[i].ID] = list[i].Type
	}
	c := seg.Core
	c.FixedProviders = false // those that the owner has come by themselves
	c.Durability = durability(s.journal, policy.Policy{}, engram.Logged)
	if c.Type == "" {
		c.Type = engram.ValueType
	}
	if here, ok := known[c.ID]; !ok {
		if err := s.wm.AddCoreSegment(ctx, c); err != nil {
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
	return s.wm.AddProviderSegment(ctx, p)
}

func otherType(id engram.ID, here, there string) error {
	return engram.Errorf(engram.TypeMismatch, id.String(), "the copy has the type %s, its owner's segment %s; drop the copy and begin it anew", here, there)
}

// ApplyCopy implements service.Memory.
func (s *holding) ApplyCopy(ctx context.Context, c service.Changes) (a service.Applied, err error) {
	if err := s.alive(); err != nil {
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
	results, err := s.wm.Copies().Write(ctx, fresh)
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
		a.Number = s.wm.Number()
	}
	return a, err
}

// refuseDoomed returns Unavailable if something of what is to be stored is to be forgotten
// first, as of a copy that is being dropped: that goes on by itself.
func (s *holding) refuseDoomed(c *service.Changes) error {
	if s.ltm == nil || len(c.Versions) == 0 {
		return nil
	}
	doomed, err := s.ltm.Doomed()
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
func (s *holding) unknown(ctx context.Context, c *service.Changes) ([]wm.Copied, error) {
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
		known := s.wm.Copies().Knows(v.Entity, v.Snapshot.Time, v.Snapshot.Arrived)
		has := known == wm.Known
		switch {
		case c.Whole, has:
			has = has && !c.Whole // the memory compares
		case s.ltm == nil:
			has = known == wm.Evicted
		default:
			evicted := known != wm.Unknown
			if evicted && !asked {
				asked, recorded = true, s.ltm.Recorded(ctx, s.wm.Number())
				if disk != nil { // it tells what was there before
					disk.Close()
					disk = nil
				}
			}
			if disk == nil {
				disk = s.ltm.Held()
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
func (s *holding) applyRemoval(ctx context.Context, r *service.Removal) (uint64, error) {
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
	if !s.wm.Copies().Has(segment) || s.wm.Copies().Last(segment) > r.Until {
		return 0, nil // it is done: what there is came later
	}
	return s.removeCopied(ctx, segment)
}

// removeBesides removes the segments of copies that the owner has no more.
func (s *holding) removeBesides(ctx context.Context, r *service.Removal) (n uint64, err error) {
	list, err := s.describe(ctx, r.Pattern)
	if err != nil {
		return 0, err
	}
	for _, d := range list {
		if d.ID.Level() != engram.LevelProviderSegment || !s.wm.Copies().Has(d.ID) || slices.Contains(r.Besides, d.ID) || s.wm.Copies().Last(d.ID) > r.Until {
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
func (s *holding) removeCopied(ctx context.Context, segment engram.ID) (n uint64, err error) {
	stats, err := s.wm.Stats(ctx, engram.PatternOf(segment), segment.Level())
	if err != nil {
		return 0, err
	}
	for _, st := range stats {
		if st.ID == segment {
			n = st.Snapshots + st.Superseded
		}
	}
	if err := s.wm.RemoveSegment(ctx, segment); engram.CodeOf(err) == engram.NotFound {
		if any, err := s.holdsAny(ctx, segment); !any || err != nil { // nor on disk
			return 0, err
		}
	} else if err != nil {
		return 0, err
	}
	if s.ltm != nil {
		err = s.ltm.Removed(ctx, segment)
	}
	s.refused.forget(segment)
	return n, err
}

// forgetCopied forgets versions of copies.
func (s *holding) forgetCopied(ctx context.Context, r *service.Removal, why string) (n uint64, err error) {
	if s.ltm != nil {
		return s.ltm.ForgetCopied(ctx, r.Pattern, r.Span, r.Except, r.Until, why)
	}
	m, err := r.Pattern.Matcher()
	if err != nil {
		return 0, err
	}
	var entities []engram.ID
	for id := range s.wm.View(ctx, nil).Entities() {
		if s.wm.Copies().Has(id) && m.Match(id) {
			entities = append(entities, id)
		}
	}
	for _, id := range entities {
		gone, err := s.wm.Erase(ctx, id, r.Covers)
		n += gone
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// SyncCopies implements service.Memory.
func (s *holding) SyncCopies(ctx context.Context) (kept bool, err error) {
	if s.journal == nil {
		return false, nil
	}
	for _, name := range s.wm.Copies().Names() {
		if l := s.journal.Log(name); l != nil {
			if err := l.Sync(ctx, l.End()); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// DropCopy implements service.Memory.
func (s *holding) DropCopy(ctx context.Context, p engram.Pattern) error {
	if err := s.alive(); err != nil {
		return err
	}
	all := service.Removal{Pattern: p, Span: engram.Always(), Until: engram.MaxTime}
	if _, err := s.forgetCopied(ctx, &all, "the copy was ended"); err != nil {
		return err
	}
	m, err := p.Matcher()
	if err != nil {
		return err
	}
	for _, name := range s.wm.Copies().Names() {
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
func (s *holding) dropEmpty(ctx context.Context, memory string) error {
	id, err := engram.NewID(memory)
	if err != nil {
		return err
	}
	list, err := s.describe(ctx, engram.PatternOf(id))
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
	if err := s.wm.Copies().Remove(memory); err != nil {
		return err
	}
	if s.ltm != nil {
		return s.ltm.NoteCopy(memory, false)
	}
	return nil
}

// holdsAny reports whether a segment has an entity, in either memory.
func (s *holding) holdsAny(ctx context.Context, segment engram.ID) (bool, error) {
	q := engram.PatternOf(segment).Select(engram.Latest(1))
	q.WithoutPayload = true
	var r *engram.Result
	var err error
	if s.ltm != nil {
		r, err = s.ltm.Query(ctx, q)
	} else {
		r, err = s.wm.Query(ctx, q)
	}
	if err != nil {
		return false, err
	}
	for range r.All() {
		return true, nil
	}
	return false, nil
}

// describe describes what the pattern matches, in both memories.
func (s *holding) describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	known, err := s.wm.Describe(ctx, p)
	if err != nil || s.ltm == nil {
		return known, err
	}
	return s.ltm.Describe(ctx, p, known)
}

// ExplainCopies implements service.Memory.
func (s *holding) ExplainCopies(explain func(q *engram.Query) ([]engram.Missing, []engram.CopyUsed)) {
	if explain == nil {
		s.explain.Store(nil)
		return
	}
	s.explain.Store(&explain)
}

// explainCopies adds to a result what copies lack of what a query asks for, and how old
// they are.
func (s *holding) explainCopies(ctx context.Context, q *engram.Query, r *engram.Result) {
	f := s.explain.Load()
	if f == nil {
		return
	}
	scope := engram.ScopeOf(ctx)
	missing, used := (*f)(q)
	for _, m := range missing {
		if engram.VisibilityIn(scope, m.ID) == engram.Visible {
			r.Missing = append(r.Missing, m)
		}
	}
	for _, c := range used {
		if id, err := engram.NewID(c.Memory); err == nil && engram.VisibilityIn(scope, id) != engram.Hidden {
			r.Copies = append(r.Copies, c)
		}
	}
}
