package query

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Shape is what a reader wants to have of the payloads: all, none, or some members.
type Shape struct {
	types          *idf.Registry
	fields         []string
	withoutPayload bool

	projections map[string]*idf.Projection // by type; nil if it has none of the fields
	known       map[string]bool            // fields that some type had
	unknown     map[string]error           // what the first type without it said
}

// NewShape returns the shape that a query asks for.
func NewShape(types *idf.Registry, fields []string, withoutPayload bool) *Shape {
	s := &Shape{types: types, fields: fields, withoutPayload: withoutPayload}
	if len(fields) > 0 {
		s.projections = make(map[string]*idf.Projection)
		s.known = make(map[string]bool)
		s.unknown = make(map[string]error)
	}
	return s
}

// Whole reports whether nothing is to be left out.
func (s *Shape) Whole() bool { return !s.withoutPayload && len(s.fields) == 0 }

// Apply returns a copy of snap in the wanted shape.
func (s *Shape) Apply(snap *engram.Snapshot) (*engram.Snapshot, error) {
	out := *snap
	out.Instances = append([]engram.Instance(nil), snap.Instances...)
	for i := range out.Instances {
		p := &out.Instances[i].Payload
		projection := s.projection(p.Type)
		if s.withoutPayload || projection == nil {
			p.Bytes = nil
			continue
		}
		var err error
		if p.Bytes, err = projection.Apply(p.Bytes); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// Members returns what of a type's payloads has to be read for the fields that are wanted, and a name of them that others
// with the same fields have, too. It is nil if all has to be read.
func (s *Shape) Members() (name string, of func(typ string) idf.Kept) {
	if len(s.fields) == 0 {
		return "", nil
	}
	fields := slices.Sorted(slices.Values(s.fields))
	return strings.Join(slices.Compact(fields), "\x00"), func(typ string) idf.Kept {
		p := s.projection(typ)
		if p == nil {
			return idf.KeptWhole()
		}
		for _, f := range s.fields {
			if !s.known[f] || s.unknown[f] != nil { // a type without it may be replaced by one that has it
				return idf.KeptWhole()
			}
		}
		return p.Kept()
	}
}

// projection returns the projection of that type's payloads onto those of the
// fields that it has; nil if it has none.
func (s *Shape) projection(typ string) *idf.Projection {
	if len(s.fields) == 0 {
		return nil
	}
	p, ok := s.projections[typ]
	if ok {
		return p
	}
	if t, ok := s.types.Get(typ); ok {
		var has []string
		for _, f := range s.fields {
			if _, err := t.Project([]string{f}); err == nil {
				has = append(has, f)
				s.known[f] = true
			} else if s.unknown[f] == nil {
				s.unknown[f] = err
			}
		}
		if len(has) > 0 {
			p, _ = t.Project(has)
		}
	}
	s.projections[typ] = p
	return p
}

// Check returns an error if a field was in none of the types that were met.
func (s *Shape) Check() error {
	for _, f := range s.fields {
		if err := s.unknown[f]; err != nil && !s.known[f] {
			return err
		}
	}
	return nil
}
