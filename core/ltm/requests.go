package ltm

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// request is an order that was given, as holders of copies are told of it.
type request struct {
	Patterns []string          `json:"patterns,omitempty"`
	IDs      []engram.ID       `json:"ids,omitempty"`
	Span     engram.Interval   `json:"span"`
	Except   []engram.Interval `json:"except,omitempty"` // times of what is kept
	// Entities that the patterns matched, where they tell more than a memory's name: who may
	// not know all of what they name is told by these.
	Entities []engram.ID `json:"entities,omitempty"`
	Until    engram.Time `json:"until"`
	// The life in which it was given, and its newest update then; 0 if that was not noted.
	Epoch  uint64 `json:"epoch,omitempty"`
	Number uint64 `json:"number,omitempty"`
}

// maxRequests bounds the requests that are kept.
const maxRequests = 1024

// noteRequest notes an order on disk, then in the working memory for who follows its
// changes, and sets from where on it is about nothing any more.
func (book *orderBook) noteRequest(ctx context.Context, u *unwanted) error {
	o := &u.order
	q := request{Patterns: o.Patterns, IDs: o.IDs, Span: o.Span}
	if !o.EvenKept {
		q.Except = book.keeper.keptSpans()
	}
	r, err := q.removal()
	if err != nil {
		return err
	}
	matched := map[engram.ID]bool{}
	add := func(id engram.ID) {
		if len(matched) < wm.MaxMatched && u.entity(id) && !book.wm.Copies().Has(id) {
			matched[id] = true
		}
	}
	named := slices.ContainsFunc(r.Patterns, namesMore)
	if named {
		pinned := book.disk.episodes.pin()
		defer pinned.release()
		for _, h := range pinned.writing {
			for _, e := range h.entities() {
				add(e.ID)
			}
		}
		if err := book.disk.each(ctx, engram.ID{}, func(id engram.ID) error { add(id); return nil }); err != nil {
			return err
		}
	}
	return book.wm.Removals().Note(r, func(r *wm.Removal) error {
		if named { // what came up to now
			for id := range book.wm.View(ctx, nil).Entities() {
				add(id)
			}
			q.Entities = slices.SortedFunc(maps.Keys(matched), engram.ID.Compare)
			r.Entities = q.Entities
		}
		o.Number, o.Until, q.Until, q.Epoch, q.Number = r.Number, r.Until, r.Until, r.Epoch, r.Number
		return book.state.changeOrders(func(c *stateContent) { c.Orders = append(c.Orders, *o); c.addRequest(q) })
	})
}

// namesMore reports whether a pattern tells more than a memory's name.
func namesMore(p engram.Pattern) bool {
	for i, l := range p.Levels {
		if l.Kind == engram.NameRegex || i > 0 && l.Kind != engram.NameAll {
			return true
		}
	}
	return false
}

func (c *stateContent) addRequest(q request) {
	c.Requests = append(c.Requests, q)
	if n := len(c.Requests) - maxRequests; n > 0 {
		c.Dropped, c.DroppedEpoch = c.Requests[n-1].Until, c.Requests[n-1].Epoch
		c.Requests = slices.Delete(c.Requests, 0, n)
	}
	matched := len(q.Entities)
	for i := len(c.Requests) - 2; i >= 0; i-- {
		if matched += len(c.Requests[i].Entities); matched > wm.MaxMatched {
			c.Requests[i].Entities = nil
		}
	}
}

// keptSpans returns the times that marks and kept episodes keep.
func (k *keeper) keptSpans() []engram.Interval {
	spans := k.keptThings().spans
	for _, h := range k.disk.episodes.all() {
		if k.state.keeps(h.name) {
			spans = append(spans, h.current().Span)
		}
	}
	return spans
}

func (q *request) removal() (wm.Removal, error) {
	r := wm.Removal{IDs: q.IDs, Span: q.Span, Except: q.Except, Entities: q.Entities, Until: q.Until, Epoch: q.Epoch, Number: q.Number}
	for _, text := range q.Patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return r, err
		}
		r.Patterns = append(r.Patterns, p)
	}
	return r, nil
}

// restoreRemovals tells the working memory what was removed and forgotten on request in
// earlier epochs.
func (book *orderBook) restoreRemovals() {
	content := book.state.content()
	var list []wm.Removal
	for _, r := range content.Removed {
		if !book.wm.Copies().Has(r.Segment) {
			list = append(list, wm.Removal{Segment: r.Segment, Until: r.Arrived, Epoch: r.Epoch, Number: r.Number})
		}
	}
	for i := range content.Requests {
		if r, err := content.Requests[i].removal(); err == nil { // it was understood when it was noted
			list = append(list, r)
		}
	}
	life := func(r wm.Removal) int { return slices.Index(content.Lives, r.Epoch) } // those of unknown epochs are old
	slices.SortStableFunc(list, func(a, b wm.Removal) int {
		return cmp.Or(cmp.Compare(life(a), life(b)), cmp.Compare(a.Until, b.Until))
	})
	book.wm.Removals().Restore(list, wm.Removal{Until: content.Dropped, Epoch: content.DroppedEpoch}, content.Dropped != 0)
}
