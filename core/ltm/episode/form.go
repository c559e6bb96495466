package episode

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// form is what versions are loaded as.
type form[T any] interface {
	// begin is told which block is being loaded.
	begin(block int)
	// of puts whole snapshots into out.
	of(list []*engram.Snapshot, out []T) error
	// held returns what the cache has of a message, whose whole snapshots have a key.
	held(whole cacheKey) ([]T, bool)
	// loaded is told which of a run's versions were loaded from messages.
	loaded(r *placedRun, first, last int)
	// decode decodes a message. It returns what goes into the cache, with its key and size.
	decode(ctx context.Context, d *pooledDecoder, m *codedMessage, want []bool, whole cacheKey) ([]T, cacheKey, int, error)
}

// asSnapshots loads snapshots, with the members that are asked for at least.
type asSnapshots struct{ t *timeline }

// begin has what comes next read ahead.
func (f asSnapshots) begin(block int) { f.t.ahead.loaded(f.t, block) }

func (asSnapshots) of(list, out []*engram.Snapshot) error {
	copy(out, list)
	return nil
}

func (asSnapshots) loaded(*placedRun, int, int) {}

func (f asSnapshots) held(at cacheKey) ([]*engram.Snapshot, bool) {
	v, ok := f.t.cache.get(at)
	if !ok && f.t.members != nil {
		at.members = f.t.membersName
		v, ok = f.t.cache.get(at)
	}
	got, _ := v.([]*engram.Snapshot)
	return got, ok
}

func (f asSnapshots) decode(ctx context.Context, d *pooledDecoder, m *codedMessage, want []bool, at cacheKey) ([]*engram.Snapshot, cacheKey, int, error) {
	members := f.t.members
	if _, can := d.Decoder.(codec.MemberDecoder); !can {
		members = nil
	} else if members != nil {
		at.members = f.t.membersName
	}
	got, err := d.decode(ctx, m, want, members)
	size := 0
	for _, s := range got {
		if s != nil {
			size += s.Size() + 112
		}
	}
	return got, at, size, err
}

// asRows loads rows of numbers.
type asRows struct {
	t    *timeline
	rows *idf.NumberRows
}

// begin has nothing read ahead: rows may be held, and who reads many has several goroutines.
func (asRows) begin(int) {}

func (f asRows) of(list []*engram.Snapshot, out [][]float64) error {
	copy(out, codec.RowsOf(list, f.rows))
	return nil
}

// loaded tells the rows of the types of their payloads, also of those that the cache has. Their messages are needed no more:
// a long time has far more of them than of rows, and would drive these out of the cache.
func (f asRows) loaded(r *placedRun, first, last int) {
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

func (f asRows) key(at cacheKey) cacheKey {
	at.kind, at.members = cacheNumbers, f.rows.Key()
	return at
}

func (f asRows) held(at cacheKey) ([][]float64, bool) {
	v, ok := f.t.cache.get(f.key(at))
	got, _ := v.([][]float64)
	return got, ok
}

func (f asRows) decode(ctx context.Context, d *pooledDecoder, m *codedMessage, _ []bool, at cacheKey) ([][]float64, cacheKey, int, error) {
	got, err := decoded(d, m, func(coded codec.Message) ([][]float64, error) {
		if own, can := d.Decoder.(codec.NumberDecoder); can {
			return own.DecodeNumbers(ctx, coded, f.rows)
		}
		all, err := d.Decode(ctx, coded, nil)
		if err != nil {
			return nil, err
		}
		return codec.RowsOf(all, f.rows), nil
	})
	return got, f.key(at), len(got) * (24 + 8*f.rows.Len()), err
}
