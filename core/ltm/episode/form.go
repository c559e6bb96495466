package episode

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// form is what versions are loaded as.
type form[T any] interface {
	// begin is told which block is being loaded.
	begin(block int)
	// around says that what is written between versions may be loaded with them.
	around() bool
	// of puts whole snapshots into out.
	of(list []*engram.Snapshot, out []T) error
	// enter is told which run's versions are loaded from messages next. It returns them if they are held already.
	enter(r *placedRun, first, last int) ([]T, bool)
	// held returns what the cache has of a message, whose whole snapshots have a key.
	held(m *codedMessage, whole cacheKey) ([]T, bool)
	// decode decodes a message for the cache.
	decode(ctx context.Context, d *pooledDecoder, m *codedMessage, want []bool, whole cacheKey) ([]T, error)
	// leave is told that the versions were loaded, or that one of them cannot be.
	leave(r *placedRun, first, last int)
}

// asSnapshots loads snapshots, with the members that are asked for at least.
type asSnapshots struct{ t *timeline }

// begin has what comes next read ahead.
func (f asSnapshots) begin(block int) { f.t.ahead.loaded(f.t, block) }

func (asSnapshots) around() bool { return false }

func (asSnapshots) of(list, out []*engram.Snapshot) error {
	copy(out, list)
	return nil
}

func (asSnapshots) enter(*placedRun, int, int) ([]*engram.Snapshot, bool) { return nil, false }
func (asSnapshots) leave(*placedRun, int, int)                            {}

func (f asSnapshots) held(_ *codedMessage, at cacheKey) ([]*engram.Snapshot, bool) {
	v, ok := f.t.cache.get(at)
	if !ok && f.t.members != nil {
		at.members = f.t.membersName
		v, ok = f.t.cache.get(at)
	}
	got, _ := v.([]*engram.Snapshot)
	return got, ok
}

func (f asSnapshots) decode(ctx context.Context, d *pooledDecoder, m *codedMessage, want []bool, at cacheKey) ([]*engram.Snapshot, error) {
	members := f.t.members
	if _, can := d.Decoder.(codec.MemberDecoder); !can {
		members = nil
	} else if members != nil {
		at.members = f.t.membersName
	}
	got, err := d.decode(ctx, m, want, members)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, s := range got {
		if s != nil {
			size += s.Size() + 112
		}
	}
	f.t.cache.put(at, got, int64(size))
	return got, nil
}

// asRows loads rows of numbers. The cache has them by run: a long time has so many messages that entries of their own would
// cost as much as reading some.
type asRows struct {
	t    *timeline
	rows *idf.NumberRows

	key  cacheKey // of the run
	run  heldRows
	last int  // of the run's versions, the one behind those that are loaded
	own  bool // the cache has not seen what run has
	room snapshotRoom
}

// heldRows are the rows of some versions of a run.
type heldRows struct {
	first int
	rows  [][]float64 // nil where none is held; it does not change once it is in the cache
}

// of returns the rows of the versions first to last, exclusive, if all are held.
func (h *heldRows) of(first, last int) ([][]float64, bool) {
	if first < h.first || last > h.first+len(h.rows) {
		return nil, false
	}
	some := h.rows[first-h.first : last-h.first]
	return some, !slices.ContainsFunc(some, func(row []float64) bool { return row == nil })
}

// begin has nothing read ahead: rows may be held, and who reads many has several goroutines.
func (*asRows) begin(int) {}

// around says yes: whole messages are decoded.
func (*asRows) around() bool { return true }

func (f *asRows) of(list []*engram.Snapshot, out [][]float64) error {
	copy(out, codec.RowsOf(list, f.rows))
	return nil
}

func (f *asRows) enter(r *placedRun, first, last int) ([][]float64, bool) {
	f.key = cacheKey{source: f.t.source, kind: cacheNumbers, offset: r.at, at: int64(r.offset), members: f.rows.Key()}
	v, _ := f.t.cache.get(f.key)
	f.run, _ = v.(heldRows)
	f.last, f.own = last, false
	return f.run.of(first, last)
}

func (f *asRows) held(m *codedMessage, _ cacheKey) ([][]float64, bool) {
	return f.run.of(m.first, m.last)
}

func (f *asRows) decode(ctx context.Context, d *pooledDecoder, m *codedMessage, _ []bool, _ cacheKey) ([][]float64, error) {
	own, can := d.Decoder.(codec.NumberDecoder)
	room := &f.room
	if !can {
		room = &snapshotRoom{} // a decoder may keep them
	}
	got, err := decoded(d, m, room, func(coded codec.Message) ([][]float64, error) {
		if can {
			return own.DecodeNumbers(ctx, coded, f.rows)
		}
		all, err := d.Decode(ctx, coded, nil)
		if err != nil {
			return nil, err
		}
		return codec.RowsOf(all, f.rows), nil
	})
	if err == nil && f.t.cache != nil {
		f.hold(m, got)
	}
	return got, err
}

// hold adds the rows of a message to those of the run.
func (f *asRows) hold(m *codedMessage, rows [][]float64) {
	first, last := m.first, max(m.last, f.last)
	if n := len(f.run.rows); n > 0 {
		first, last = min(first, f.run.first), max(last, f.run.first+n)
	}
	if !f.own || last-first > len(f.run.rows) {
		more := heldRows{first, make([][]float64, last-first)}
		if len(f.run.rows) > 0 {
			copy(more.rows[f.run.first-first:], f.run.rows)
		}
		f.run, f.own = more, true
	}
	copy(f.run.rows[m.first-f.run.first:], rows)
}

// leave tells the rows of the types of their payloads, also of those that the cache has. Their messages are needed no more:
// a long time has far more of them than of rows, and would drive these out of the cache.
func (f *asRows) leave(r *placedRun, first, last int) {
	if f.own {
		size := int64(0)
		for _, row := range f.run.rows {
			size += 24 + int64(8*len(row))
		}
		f.t.cache.put(f.key, f.run, size)
	}
	f.t.cache.spend(f.t.chunkKey(r.at))
	c, before := r.columns, int64(-1)
	for k := first; k < last; k++ {
		from, to := c.instances(k, k+1)
		if from += f.rows.Instance(); from >= to {
			continue
		}
		if typ := c.of.at(from); typ != before {
			f.rows.Of(c.types[typ])
			before = typ
		}
	}
}
