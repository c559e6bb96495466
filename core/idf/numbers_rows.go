package idf

import (
	"math"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// NumberRows reads numbers at some paths of one of the instances of snapshots, whatever types their payloads have: a row
// for each snapshot. It is used by one goroutine.
type NumberRows struct {
	types    *Registry
	paths    []string
	instance int
	met      func(typ string)
	by       map[string]*NumberReader
	key      string
}

// NumberReader reads those of the paths that a type has.
type NumberReader struct {
	*Numbers
	Columns []int // of a row: where the numbers go
	out     []float64
	places  []*NumberPlace
	kept    Kept
}

// NewNumberRows returns a reader of paths, as [Type.Numbers] takes them. Met, which may be nil, is told of each type when it
// is met first. The error is Exhausted for too many paths.
func NewNumberRows(types *Registry, paths []string, instance int, met func(typ string)) (*NumberRows, error) {
	if len(paths) > maxProjectPaths {
		return nil, engram.Errorf(engram.Exhausted, "", "%d paths to read; at most %d are allowed", len(paths), maxProjectPaths)
	}
	return &NumberRows{types: types, paths: paths, instance: instance, met: met, by: map[string]*NumberReader{}}, nil
}

// Len returns how many numbers a row has, and Instance which instance they are of.
func (r *NumberRows) Len() int      { return len(r.paths) }
func (r *NumberRows) Instance() int { return r.instance }

// Key tells what is read: readers with the same key read the same of the same snapshots.
func (r *NumberRows) Key() string {
	if r.key == "" {
		r.key = strconv.Itoa(r.instance) + "\x00" + strings.Join(r.paths, "\x00")
	}
	return r.key
}

// Of returns the reader for a type; of one that is not known it reads nothing.
func (r *NumberRows) Of(typ string) *NumberReader {
	of := r.by[typ]
	if of != nil {
		return of
	}
	of = &NumberReader{}
	if t, ok := r.types.Get(typ); ok {
		var has []string
		for i, path := range r.paths {
			if _, err := t.Numbers([]string{path}); err == nil {
				of.Columns, has = append(of.Columns, i), append(has, path)
			}
		}
		of.Numbers, _ = t.Numbers(has) // each of them was compiled
		of.out, of.places = make([]float64, len(has)), make([]*NumberPlace, len(has))
		for i := range has {
			of.places[i] = of.Place(i)
		}
		of.kept = keptOf(choiceOf(layoutOf(t), of.places), layoutOf(t))
	}
	r.by[typ] = of
	if r.met != nil {
		r.met(typ)
	}
	return of
}

// Places returns where the numbers stand, as [Numbers.Place] does.
func (r *NumberReader) Places() []*NumberPlace { return r.places }

// Kept returns what has to be read of payloads to find the numbers that have places.
func (r *NumberReader) Kept() Kept { return r.kept }

// Read sets a row to the numbers of a snapshot: NaN where it has none, as [Numbers.Read] does. The error is Corrupt.
func (r *NumberRows) Read(s *engram.Snapshot, row []float64) error {
	if r.instance >= len(s.Instances) {
		Unset(row)
		return nil
	}
	p := &s.Instances[r.instance].Payload
	return r.ReadPayload(p.Type, p.Bytes, row)
}

// ReadPayload is Read of the payload of a snapshot.
func (r *NumberRows) ReadPayload(typ string, b []byte, row []float64) error {
	Unset(row)
	of := r.Of(typ)
	if len(of.Columns) == 0 {
		return nil
	}
	if err := of.Numbers.Read(b, of.out); err != nil {
		return err
	}
	for i, at := range of.Columns {
		row[at] = of.out[i]
	}
	return nil
}

// Unset sets a row to no numbers.
func Unset(row []float64) {
	for i := range row {
		row[i] = math.NaN()
	}
}
