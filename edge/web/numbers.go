package web

import (
	"cmp"
	"context"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// bucket is the part of a series that lies in a bin. The zero bucket is empty.
type bucket struct {
	count                  int // values
	firstTime, lastTime    engram.Time
	first, last, low, high float64
	none                   int         // snapshots without a finite value
	endTime                engram.Time // of the first of those behind the last value
	ended                  bool        // there is one behind the last value
}

// add adds the number of a snapshot that is newer than those before; one that is not finite ends the value in force. A
// snapshot of other names changes nothing.
func (b *bucket) add(t engram.Time, v float64) {
	if idf.IsUnnamed(v) {
		return
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.none++
		if !b.ended {
			b.ended, b.endTime = true, t
		}
		return
	}
	if b.count == 0 {
		b.firstTime, b.first, b.low, b.high = t, v, v, v
	}
	b.count++
	b.lastTime, b.last = t, v
	b.low, b.high = min(b.low, v), max(b.high, v)
	b.ended = false
}

// join adds what comes later in the same bin.
func (b *bucket) join(later *bucket) {
	ended, endTime := later.ended, later.endTime
	if b.ended && later.count == 0 {
		ended, endTime = true, b.endTime
	}
	none := b.none + later.none
	switch {
	case b.count == 0:
		*b = *later
	case later.count > 0:
		b.count += later.count
		b.lastTime, b.last = later.lastTime, later.last
		b.low, b.high = min(b.low, later.low), max(b.high, later.high)
	}
	b.none, b.ended, b.endTime = none, ended, endTime
}

// numbers reads numbers at some paths of snapshots, whatever types their payloads have. One goroutine uses it.
type numbers struct {
	paths  []string
	values []float64 // of the snapshot read last, by path; NaN where it has none
	texts  []string  // of those that are whole, all digits; nil if they are not asked for

	types    *types
	instance int
	readers  map[string]*numberReader // by type
	errs     []error                  // by path: why some type has no such member
	known    []bool                   // by path: some type has it
}

// numberReader reads those of the paths that a type has.
type numberReader struct {
	*idf.Numbers
	places []int // of its numbers among the paths
	out    []float64
	texts  []string
}

// newNumbers returns a reader of paths, as idf.Type.Numbers takes them, of one of a snapshot's instances.
func newNumbers(ts *types, paths []string, instance int) *numbers {
	return &numbers{
		paths: paths, types: ts, instance: instance, readers: map[string]*numberReader{},
		errs: make([]error, len(paths)), known: make([]bool, len(paths)), values: make([]float64, len(paths)),
	}
}

// err returns why no type that was met has the i-th number; nil if one has.
func (n *numbers) err(i int) error {
	if n.known[i] {
		return nil
	}
	return n.errs[i]
}

// read reads the numbers of a snapshot. The error is Corrupt, or that of asking for a type.
func (n *numbers) read(ctx context.Context, s *engram.Snapshot) error {
	for i := range n.values {
		n.values[i] = math.NaN()
	}
	clear(n.texts)
	if n.instance >= len(s.Instances) {
		return nil
	}
	payload := &s.Instances[n.instance].Payload
	r, err := n.meet(ctx, payload.Type)
	if err != nil {
		return err
	}
	if n.texts == nil {
		if err := r.Read(payload.Bytes, r.out); err != nil {
			return err
		}
	} else if err := r.ReadExactly(payload.Bytes, r.out, r.texts); err != nil {
		return err
	}
	for i, place := range r.places {
		n.values[place] = r.out[i]
		if n.texts != nil {
			n.texts[place] = r.texts[i]
		}
	}
	return nil
}

// meet returns what reads payloads of a type, of which there is one at least.
func (n *numbers) meet(ctx context.Context, name string) (*numberReader, error) {
	if r := n.readers[name]; r != nil {
		return r, nil
	}
	r, err := n.reader(ctx, name)
	if err == nil {
		n.readers[name] = r
	}
	return r, err
}

func (n *numbers) reader(ctx context.Context, name string) (*numberReader, error) {
	t, err := n.types.get(ctx, name)
	if err != nil {
		return nil, err
	}
	var r numberReader
	var has []string
	for i, path := range n.paths {
		if _, err := t.Numbers([]string{path}); err != nil {
			n.errs[i] = cmp.Or(n.errs[i], err)
			continue
		}
		n.known[i] = true
		r.places, has = append(r.places, i), append(has, path)
	}
	r.out, r.texts = make([]float64, len(has)), make([]string, len(has))
	r.Numbers, err = t.Numbers(has)
	return &r, err
}
