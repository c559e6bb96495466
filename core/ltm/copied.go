package ltm

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Copies returns the names of the memories that the folder holds copies of, which are
// other servers': the working memory must have them before Begin.
func (p *past) Copies() []string {
	return slices.Clone(p.state.content().Copies)
}

// NoteCopy notes that a memory is a copy of another server's, or is so no more.
func (p *past) NoteCopy(memory string, copied bool) error {
	if slices.Contains(p.Copies(), memory) == copied {
		return nil
	}
	return p.state.change(func(c *stateContent) {
		c.Copies = slices.DeleteFunc(slices.Clone(c.Copies), func(name string) bool { return name == memory })
		if copied {
			c.Copies = append(c.Copies, memory)
		}
	})
}

// Held tells which versions of copies are on disk. One goroutine may use it, and must
// close it.
type Held struct {
	disk *disk
	held *held
}

// Held returns what tells it: of each entity as of the first question about it.
func (p *past) Held() *Held {
	h := newHeld(p.disk)
	h.found = true
	return &Held{p.disk, h}
}

// Close releases the episodes.
func (h *Held) Close() { h.held.close() }

// Has reports whether a version of an entity is on disk. evicted says that the working
// memory may have held it in this epoch; otherwise only earlier epochs can have left it.
func (h *Held) Has(ctx context.Context, entity engram.ID, v *engram.Snapshot, evicted bool) (bool, error) {
	if !evicted {
		b, err := h.disk.beforeOf(ctx, nil, entity)
		if err != nil || !b.any || v.Arrived > b.arrived {
			return false, err
		}
	}
	return h.held.has(ctx, entity, v)
}

// ForgetCopied forgets what a pattern matches of copies with times in span but not in
// except, as far as it arrived up to a time by its owner's clock. It returns how many
// versions went, as far as they are counted.
func (f *forgetter) ForgetCopied(ctx context.Context, pattern engram.Pattern, span engram.Interval, except []engram.Interval, until engram.Time, why string) (uint64, error) {
	if f.recorder == nil {
		return 0, errNotBegun
	}
	o := order{
		Patterns: []string{pattern.String()}, Span: span, Except: except, Until: until, Why: why, EvenKept: true, Copies: true,
		Epoch: f.wm.Epoch(), Number: f.wm.Number(),
	}
	u, err := f.orders.compile(o)
	if err != nil {
		return 0, err
	}
	if err := f.forgetting.lock(ctx); err != nil {
		return 0, err
	}
	defer f.forgetting.unlock()
	// What is not recorded yet may be in neither memory.
	recorded := f.recorder.recorded(ctx, u.Number)
	if err := checkContext(ctx); err != nil {
		return 0, err
	}
	survey, err := f.surveyOrder(ctx, u)
	if err != nil || recorded && survey.Versions == 0 && survey.Volatile == 0 && len(f.repairer.unserved()) == 0 {
		return 0, err
	}
	if !slices.ContainsFunc(f.state.content().Orders, func(given order) bool { return given.same(&o) }) {
		if err := f.state.change(func(c *stateContent) { c.Orders = append(c.Orders, o) }); err != nil {
			return 0, err
		}
	}
	done, err := f.carryOut(ctx, u, nil)
	return max(done.Versions, done.Volatile), err
}

// Doomed returns what reports whether an order about copies that is not carried out yet
// is about a version, which would go with it or be taken for what goes; nil if there is
// no such order.
func (book *orderBook) Doomed() (func(entity engram.ID, v *engram.Snapshot) bool, error) {
	var orders []*unwanted
	for _, o := range book.state.content().Orders {
		if !o.Copies {
			continue
		}
		u, err := book.compile(o)
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
func (book *orderBook) lastCopied() map[string]engram.Time {
	var last map[string]engram.Time
	for _, name := range book.wm.Copies().Names() {
		id, err := engram.NewID(name)
		if err != nil {
			continue
		}
		if t := book.wm.Copies().Last(id); t > engram.MinTime {
			if last == nil {
				last = map[string]engram.Time{}
			}
			last[name] = t
		}
	}
	return last
}

// Gone tells what was forgotten of the entities that match, in all epochs, and what
// policies left out of them in earlier ones.
func (p *past) Gone(match func(engram.ID) bool) (gone []engram.Missing) {
	add := func(of map[engram.ID]forgottenOf, reason string) {
		for id, f := range of {
			if f.Versions > 0 && match(id) {
				gone = append(gone, engram.Missing{ID: id, Reason: reason, Count: f.Versions, Interval: engram.Interval{Start: f.First, End: f.Last + 1}})
			}
		}
	}
	add(p.disk.episodes.current().forgotten, engram.MissingForgotten)
	add(p.account.earlier, engram.MissingFiltered)
	return gone
}
