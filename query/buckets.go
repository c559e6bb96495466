package query

import (
	"cmp"
	"context"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Bucket is what there is of a series of numbers in a part of a span. The zero Bucket is empty.
type Bucket struct {
	Count                      int
	FirstTime, LastTime        engram.Time
	First, Last, Min, Max, Sum float64
}

// Add adds a value of a time. One that is not finite is left out, and it reports false.
func (b *Bucket) Add(t engram.Time, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	b.Join(&Bucket{Count: 1, FirstTime: t, LastTime: t, First: v, Last: v, Min: v, Max: v, Sum: v})
	return true
}

// Join adds another bucket of the same part.
func (b *Bucket) Join(o *Bucket) {
	switch {
	case o.Count == 0:
		return
	case b.Count == 0:
		*b = *o
		return
	}
	if o.FirstTime < b.FirstTime {
		b.FirstTime, b.First = o.FirstTime, o.First
	}
	if o.LastTime >= b.LastTime {
		b.LastTime, b.Last = o.LastTime, o.Last
	}
	b.Count += o.Count
	b.Min, b.Max = min(b.Min, o.Min), max(b.Max, o.Max)
	b.Sum += o.Sum
}

// Mean returns the mean of the values; NaN if there are none.
func (b *Bucket) Mean() float64 { return b.Sum / float64(b.Count) }

// Numbers reads numbers at some paths of snapshots, whatever types their payloads are of. Make
// one with [NewNumbers]. It is used by one goroutine.
type Numbers struct {
	Paths  []string
	Values []float64 // of the snapshot read last, by path; NaN where it has none

	types    func(ctx context.Context, name string) (*idf.Type, error)
	instance int
	readers  map[string]*numberReader // by type
	errs     []error                  // by path: why some type has no such member
	known    []bool                   // by path: some type has it
}

// numberReader reads those numbers that a type has.
type numberReader struct {
	*idf.Numbers
	places []int // which of the paths each is
	out    []float64
}

// NewNumbers returns a reader of paths, as idf.Type.Numbers takes them, of one of a snapshot's
// instances.
func NewNumbers(types func(ctx context.Context, name string) (*idf.Type, error), paths []string, instance int) *Numbers {
	return &Numbers{
		Paths: paths, types: types, instance: instance, readers: map[string]*numberReader{},
		errs: make([]error, len(paths)), known: make([]bool, len(paths)), Values: make([]float64, len(paths)),
	}
}

// Again returns a reader of the same numbers, for another goroutine.
func (n *Numbers) Again() *Numbers { return NewNumbers(n.types, n.Paths, n.instance) }

// Join takes over what another reader found out of types.
func (n *Numbers) Join(o *Numbers) {
	for i := range n.Paths {
		n.errs[i], n.known[i] = cmp.Or(n.errs[i], o.errs[i]), n.known[i] || o.known[i]
	}
}

// Err returns why no type that was met has the i-th number; nil if one has.
func (n *Numbers) Err(i int) error {
	if n.known[i] {
		return nil
	}
	return n.errs[i]
}

// Read reads the numbers of a snapshot. The error is Corrupt, or that of a type that is not
// known.
func (n *Numbers) Read(ctx context.Context, s *engram.Snapshot) error {
	for i := range n.Values {
		n.Values[i] = math.NaN()
	}
	if n.instance >= len(s.Instances) {
		return nil
	}
	payload := &s.Instances[n.instance].Payload
	r := n.readers[payload.Type]
	if r == nil {
		var err error
		if r, err = n.reader(ctx, payload.Type); err != nil {
			return err
		}
		n.readers[payload.Type] = r
	}
	if err := r.Read(payload.Bytes, r.out); err != nil {
		return err
	}
	for i, place := range r.places {
		n.Values[place] = r.out[i]
	}
	return nil
}

func (n *Numbers) reader(ctx context.Context, name string) (*numberReader, error) {
	t, err := n.types(ctx, name)
	if err != nil {
		return nil, err
	}
	var r numberReader
	var has []string
	for i, path := range n.Paths {
		if _, err := t.Numbers([]string{path}); err != nil {
			n.errs[i] = cmp.Or(n.errs[i], err)
			continue
		}
		n.known[i] = true
		r.places, has = append(r.places, i), append(has, path)
	}
	r.out = make([]float64, len(has))
	r.Numbers, err = t.Numbers(has)
	return &r, err
}
