package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Copies returns the names of the memories that the folder holds copies of, which are
// other servers': the working memory must have them before Begin.
func (s *Store) Copies() []string {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return slices.Clone(s.state.mu.Copies)
}

// NoteCopy notes that a memory is a copy of another server's, or is so no more.
func (s *Store) NoteCopy(memory string, copied bool) error {
	if slices.Contains(s.Copies(), memory) == copied {
		return nil
	}
	return s.changeState(func(c *stateContent) {
		c.Copies = slices.DeleteFunc(slices.Clone(c.Copies), func(name string) bool { return name == memory })
		if copied {
			c.Copies = append(c.Copies, memory)
		}
	})
}

// Held tells which versions of copies are on disk. One goroutine may use it, and must
// close it.
type Held struct {
	s    *Store
	held *held
}

// Held returns what tells it: of each entity as of the first question about it.
func (s *Store) Held() *Held {
	h := newHeld(s)
	h.found = true
	return &Held{s, h}
}

// Close releases the episodes.
func (h *Held) Close() { h.held.close() }

// Has reports whether a version of an entity is on disk. evicted says that the working
// memory may have held it in this life; otherwise only earlier lives can have left it.
func (h *Held) Has(ctx context.Context, entity engram.ID, v *engram.Snapshot, evicted bool) (bool, error) {
	if !evicted {
		b, err := h.s.beforeOf(ctx, entity)
		if err != nil || !b.any || v.Arrived > b.arrived {
			return false, err
		}
	}
	return h.held.has(ctx, entity, v)
}

// ForgetCopied forgets what a pattern matches of copies with times in span but not in
// except, as far as it arrived up to a time by its owner's clock. It returns how many
// versions went, as far as they are counted.
func (s *Store) ForgetCopied(ctx context.Context, pattern engram.Pattern, span engram.Interval, except []engram.Interval, until engram.Time, why string) (uint64, error) {
	if s.recorder == nil {
		return 0, errNotBegun
	}
	o := order{
		Patterns: []string{pattern.String()}, Span: span, Except: except, Until: until, Why: why, EvenKept: true, Copies: true,
		Epoch: s.wm.Epoch(), Number: s.wm.Number(),
	}
	u, err := s.compile(o)
	if err != nil {
		return 0, err
	}
	if err := s.forgetting.lock(ctx); err != nil {
		return 0, err
	}
	defer s.forgetting.unlock()
	// What is not recorded yet may be in neither memory.
	recorded := s.Recorded(ctx, u.Number)
	if err := checkContext(ctx); err != nil {
		return 0, err
	}
	survey, err := s.surveyOrder(ctx, u)
	if err != nil || recorded && survey.Versions == 0 && survey.Volatile == 0 {
		return 0, err
	}
	if !slices.ContainsFunc(s.ordered(), func(given order) bool { return given.same(&o) }) {
		if err := s.changeState(func(c *stateContent) { c.Orders = append(c.Orders, o) }); err != nil {
			return 0, err
		}
	}
	done, err := s.carryOut(ctx, u, nil)
	return max(done.Versions, done.Volatile), err
}

// Doomed returns what reports whether an order about copies that is not carried out yet
// is about a version, which would go with it or be taken for what goes; nil if there is
// no such order.
func (s *Store) Doomed() (func(entity engram.ID, v *engram.Snapshot) bool, error) {
	var orders []*unwanted
	for _, o := range s.ordered() {
		if !o.Copies {
			continue
		}
		u, err := s.compile(o)
		if err != nil {
			return nil, err
		}
		orders = append(orders, u)
	}
	if orders == nil {
		return nil, nil
	}
	return func(entity engram.ID, v *engram.Snapshot) bool {
		return slices.ContainsFunc(orders, func(u *unwanted) bool { return u.entity(entity) && u.version(entity, v, u.Epoch) })
	}, nil
}

// lastCopied returns the latest arrivals in the memories that are copies, by their
// owners' clocks.
func (s *Store) lastCopied() map[string]engram.Time {
	var last map[string]engram.Time
	for _, name := range s.wm.Copies() {
		id, err := engram.NewID(name)
		if err != nil {
			continue
		}
		if t := s.wm.LastCopied(id); t > engram.MinTime {
			if last == nil {
				last = map[string]engram.Time{}
			}
			last[name] = t
		}
	}
	return last
}

// Gone tells what was forgotten of the entities that match, in all lives, and what
// policies left out of them in earlier ones.
func (s *Store) Gone(match func(engram.ID) bool) (gone []engram.Missing) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	add := func(of map[engram.ID]forgottenOf, reason string) {
		for id, f := range of {
			if f.Versions > 0 && match(id) {
				gone = append(gone, engram.Missing{ID: id, Reason: reason, Count: f.Versions, Interval: engram.Interval{Start: f.First, End: f.Last + 1}})
			}
		}
	}
	add(s.account.mu.Entities, engram.MissingForgotten)
	add(s.account.earlier, engram.MissingFiltered)
	return gone
}
