package ltm

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// tombstone is an order to forget that is being carried out, or waits for that: readers
// leave out what it is about, and tell that it is forgotten. It does not change.
type tombstone struct {
	*unwanted
	kept     *keptThings     // by marks
	episodes map[string]bool // that are kept
}

// orderBook has the orders to forget that are noted, and publishes their tombstones.
type orderBook struct {
	*env
	state  *state
	disk   *disk
	keeper *keeper
}

// tombstone makes one of an order.
func (book *orderBook) tombstone(u *unwanted) *tombstone {
	b := &tombstone{unwanted: u, kept: book.keeper.keptThings(), episodes: map[string]bool{}}
	for _, name := range book.state.content().Kept {
		b.episodes[name] = true
	}
	return b
}

// verdict says what becomes of a version in an episode, or in the working memory if that
// is "".
func (b *tombstone) verdict(episode string, id engram.ID, v *engram.Snapshot, epoch uint64) verdict {
	switch {
	case !b.version(id, v, epoch):
		return stays
	case !b.EvenKept && (b.kept.marked(v.Time) || b.episodes[episode]):
		return isProtected
	}
	return goes
}

// covers reports whether readers leave a version out.
func (b *tombstone) covers(h *handle, id engram.ID, a arrival, t engram.Time) bool {
	name := ""
	if h != nil {
		name = h.name
	}
	return b.verdict(name, id, &engram.Snapshot{Time: t, Arrived: a.arrived, Number: a.number}, a.epoch) == goes
}

// coversLogged reports whether it is about a version of the log of an earlier epoch, which
// has no number: what arrived before the order was given.
func (b *tombstone) coversLogged(id engram.ID, v *engram.Snapshot) bool {
	if !b.entity(id) || v.Arrived > b.Until {
		return false
	}
	logged := *v
	logged.Number = 0
	return b.verdict("", id, &logged, b.Epoch) == goes
}

// tombstonesOf returns those that may be about an entity.
func (v *version) tombstonesOf(id engram.ID) (list []*tombstone) {
	for _, b := range v.tombstones {
		if b.entity(id) {
			list = append(list, b)
		}
	}
	return list
}

// bury publishes tombstones, in the place of those of the same orders.
func (book *orderBook) bury(list ...*tombstone) {
	book.disk.episodes.publish(func(next *version) {
		for _, b := range list {
			next.tombstones = append(next.without(&b.order), b)
		}
	})
}

// buryOrdered publishes the tombstones of what was ordered in earlier epochs and is not done.
func (book *orderBook) buryOrdered() {
	var list []*tombstone
	for _, o := range book.state.content().Orders {
		if u, err := book.compile(o); err == nil { // else who carries it out says so
			list = append(list, book.tombstone(u))
		}
	}
	book.bury(list...)
}

// exhume takes the tombstone of an order away that is carried out.
func (book *orderBook) exhume(o *order) {
	book.disk.episodes.publish(func(next *version) { next.tombstones = next.without(o) })
}

// without returns the tombstones but for that of an order.
func (v *version) without(o *order) []*tombstone {
	return slices.DeleteFunc(slices.Clone(v.tombstones), func(b *tombstone) bool { return b.same(o) })
}
