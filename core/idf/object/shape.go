package object

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Shape says how a member of type T is written and read.
type Shape[T any] struct {
	write func(w *Writer, n protowire.Number, v T) *failure
	read  func(r *Record, v *T) *failure
}

// Codec says how a single value of type T is written and read.
type Codec[T any] struct {
	wire  protowire.Type
	write func(w *Writer, v T) *failure // without its tag and length
	read  func(r *Record, v *T) *failure
	zero  func(v T) bool
}

// Write writes a member. What fails is told with the member's name.
func Write[T any](w *Writer, n protowire.Number, name string, v T, s Shape[T]) {
	if w.err == nil {
		w.err = s.write(w, n, v).under(name)
	}
}

// Set takes a record for the member v.
func Set[T any](r *Record, name string, v *T, s Shape[T]) { r.err = s.read(r, v).under(name) }

// OneOf checks that of members that exclude each other at most one is set.
func OneOf(w *Writer, names []string, set ...bool) {
	first := slices.Index(set, true)
	if w.err != nil || first < 0 {
		return
	}
	if second := slices.Index(set[first+1:], true); second >= 0 {
		w.err = invalid(fmt.Errorf("excludes %s, which is set too", names[first])).under(names[first+1+second])
	}
}

// record writes one value with its tag.
func (c Codec[T]) record(w *Writer, n protowire.Number, v T) *failure {
	if c.wire != protowire.BytesType {
		w.buf = protowire.AppendTag(w.buf, n, c.wire)
		return c.write(w, v)
	}
	if w.depth >= maxDepth {
		return invalid(fmt.Errorf("objects are nested over %d deep", maxDepth))
	}
	end := w.open(n)
	defer end()
	return c.write(w, v)
}

func (c Codec[T]) one(r *Record, v *T) *failure {
	if r.wire != c.wire {
		return corrupt(errWire)
	}
	return c.read(r, v)
}

// Plain is a member that is always there; zero is not written.
func Plain[T any](c Codec[T]) Shape[T] {
	return Shape[T]{
		write: func(w *Writer, n protowire.Number, v T) *failure {
			if c.zero(v) {
				return nil
			}
			return c.record(w, n, v)
		},
		read: c.one,
	}
}

// Optional is a member that may be unset, nil.
func Optional[T any](c Codec[T]) Shape[*T] {
	return Shape[*T]{
		write: func(w *Writer, n protowire.Number, v *T) *failure {
			if v == nil {
				return nil
			}
			return c.record(w, n, *v)
		},
		read: func(r *Record, v **T) *failure {
			if *v == nil {
				*v = new(T)
			}
			return c.one(r, *v)
		},
	}
}

// Nilable is a member that may be unset, of a kind that has a nil of its own.
func Nilable[T any](c Codec[T]) Shape[T] { return Plain(c) }

// List is a member with any number of items.
func List[T any](c Codec[T]) Shape[[]T] {
	return Shape[[]T]{
		write: func(w *Writer, n protowire.Number, v []T) *failure {
			if c.wire != protowire.BytesType && len(v) > 0 {
				end := w.open(n)
				defer end()
				for i := range v {
					if err := c.write(w, v[i]); err != nil {
						return err.under(fmt.Sprintf("[%d]", i))
					}
				}
				return nil
			}
			for i := range v {
				if err := c.record(w, n, v[i]); err != nil {
					return err.under(fmt.Sprintf("[%d]", i))
				}
			}
			return nil
		},
		read: func(r *Record, v *[]T) *failure {
			if r.wire == protowire.BytesType && c.wire != protowire.BytesType {
				return c.packed(r, v)
			}
			var item T
			if err := c.one(r, &item); err != nil {
				return err.under(fmt.Sprintf("[%d]", len(*v)))
			}
			*v = append(*v, item)
			return nil
		},
	}
}

func (c Codec[T]) packed(r *Record, v *[]T) *failure {
	for b := r.bytes; len(b) > 0; {
		item := Record{Number: r.Number, wire: c.wire}
		k := 0
		if c.wire == protowire.VarintType {
			item.num, k = protowire.ConsumeVarint(b)
		} else if k = protowire.ConsumeFieldValue(r.Number, c.wire, b); k >= 0 {
			item.fixed(b)
		}
		if k < 0 {
			return corrupt(protowire.ParseError(k))
		}
		b = b[k:]
		var value T
		if err := c.read(&item, &value); err != nil {
			return err
		}
		*v = append(*v, value)
	}
	return nil
}

// Dict is a member with values by keys, which are written in their order.
func Dict[K cmp.Ordered, V any](key Codec[K], value Codec[V]) Shape[map[K]V] {
	return dictOf(key, value, func(m map[K]V) []K { return slices.Sorted(maps.Keys(m)) })
}

// BoolDict is a Dict whose keys are false and true.
func BoolDict[V any](value Codec[V]) Shape[map[bool]V] {
	return dictOf(Bool, value, func(m map[bool]V) (keys []bool) {
		for _, k := range []bool{false, true} {
			if _, ok := m[k]; ok {
				keys = append(keys, k)
			}
		}
		return keys
	})
}

func dictOf[K comparable, V any](key Codec[K], value Codec[V], sorted func(map[K]V) []K) Shape[map[K]V] {
	return Shape[map[K]V]{
		write: func(w *Writer, n protowire.Number, v map[K]V) *failure {
			for _, k := range sorted(v) {
				if err := dictEntry(w, n, key, k, value, v[k]); err != nil {
					return err.under(fmt.Sprintf("[%q]", fmt.Sprint(k)))
				}
			}
			return nil
		},
		read: func(r *Record, v *map[K]V) *failure {
			if r.wire != protowire.BytesType {
				return corrupt(errWire)
			}
			var k K
			var item V
			written := false
			err := each(r.bytes, r.depth+1, func(part *Record) *failure {
				switch part.Number {
				case 1:
					return key.one(part, &k)
				case 2:
					written = true
					return value.one(part, &item)
				}
				return nil
			})
			if err == nil && !written && value.wire == protowire.BytesType {
				err = value.read(&Record{wire: value.wire, depth: r.depth + 1}, &item)
			}
			if err != nil {
				return err.under(fmt.Sprintf("[%q]", fmt.Sprint(k)))
			}
			if *v == nil {
				*v = map[K]V{}
			}
			(*v)[k] = item
			return nil
		},
	}
}

func dictEntry[K, V any](w *Writer, n protowire.Number, key Codec[K], k K, value Codec[V], v V) *failure {
	if w.depth >= maxDepth {
		return invalid(fmt.Errorf("objects are nested over %d deep", maxDepth))
	}
	end := w.open(n)
	defer end()
	if err := key.record(w, 1, k); err != nil {
		return err
	}
	return value.record(w, 2, v)
}

// Wrapped is a list, dict or optional value that stands where protobuf wants a message.
func Wrapped[T any](s Shape[T]) Codec[T] {
	return Codec[T]{
		wire:  protowire.BytesType,
		write: func(w *Writer, v T) *failure { return s.write(w, 1, v) },
		read: func(r *Record, v *T) *failure {
			return each(r.bytes, r.depth+1, func(part *Record) *failure {
				if part.Number != 1 {
					return nil
				}
				return s.read(part, v)
			})
		},
		zero: never[T],
	}
}
