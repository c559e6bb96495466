package idf

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// maxDepth is how deep messages may be nested in a payload; most languages'
// protobuf refuses more.
const maxDepth = 100

// Check scans b and returns a Corrupt error with the member's path and the offset
// if it is not the wire form of the type: bad tags, cut values, wrong wire types,
// strings that are not UTF-8, nesting beyond 100. Unknown fields pass. Members
// with a shape, such as a Matrix of 4 rows, must have it: the error is TypeMismatch
// and names the member. It does not allocate on success.
func (t *Type) Check(b []byte) error {
	p := t.check()
	s := scanner{b: b}
	if _, ok := s.message(p, 0, len(b), 0, 0); !ok {
		return engram.Errorf(engram.Corrupt, t.Name(), "%sat byte %d: %s", s.member(), s.at, s.what)
	}
	if p.shaped {
		if s.shapes(p, 0, len(b)); s.what != "" {
			return engram.Errorf(engram.TypeMismatch, t.Name(), "%s%s", s.member(), s.what)
		}
	}
	return nil
}

// scanner checks encoded messages in place. When a check fails, what says why, at
// where, and path collects the members from the innermost outwards.
type scanner struct {
	b    []byte
	at   int
	what string
	path []string
}

func (s *scanner) fail(at int, what string) bool {
	s.at, s.what = at, what
	return false
}

// member returns "member a.b: " for the path that failed, or "" for the whole.
func (s *scanner) member() string {
	if len(s.path) == 0 {
		return ""
	}
	path := "member "
	for i := len(s.path) - 1; i >= 0; i-- {
		path += s.path[i]
		if i > 0 {
			path += "."
		}
	}
	return path + ": "
}

// message scans the fields in b[i:end]. group is the number of the group they are
// in, 0 for a message; a group ends with its end tag. It returns the offset after
// what it scanned.
func (s *scanner) message(p *checkPlan, i, end, depth int, group protowire.Number) (int, bool) {
	b := s.b[:end]
	for i < len(b) {
		start := i
		tag := uint64(b[i])
		if i++; tag >= 0x80 {
			var ok bool
			if tag, i, ok = s.varint(b, start); !ok {
				return 0, false
			}
		}
		num := tag >> 3
		if num == 0 || num > uint64(protowire.MaxValidNumber) {
			return 0, s.fail(start, "a tag without a valid field number")
		}
		f := p.field(num)
		wire := protowire.Type(tag & 7)
		if f != nil && wire != f.wire && !(f.packable && wire == protowire.BytesType) {
			return 0, s.failIn(f, start, "the wire type is not that of the member's type")
		}
		switch wire {
		case protowire.VarintType:
			if i < len(b) && b[i] < 0x80 {
				i++
				continue
			}
			var ok bool
			if _, i, ok = s.varint(b, i); !ok {
				return 0, s.in(f)
			}
		case protowire.Fixed64Type:
			if i += 8; i > len(b) {
				return 0, s.failIn(f, start, "the value is cut")
			}
		case protowire.Fixed32Type:
			if i += 4; i > len(b) {
				return 0, s.failIn(f, start, "the value is cut")
			}
		case protowire.BytesType:
			n, next, ok := s.varint(b, i)
			if !ok {
				return 0, s.in(f)
			}
			if n > uint64(len(b)-next) {
				return 0, s.failIn(f, start, "the value is cut: it is longer than what follows")
			}
			i = next + int(n)
			if f != nil && !s.bytes(f, next, i, depth) {
				return 0, s.in(f)
			}
		case protowire.StartGroupType:
			if depth+1 >= maxDepth {
				return 0, s.failIn(f, start, "nested beyond 100 messages")
			}
			sub := &anyFields
			if f != nil {
				sub = f.sub
			}
			var ok bool
			if i, ok = s.message(sub, i, end, depth+1, protowire.Number(num)); !ok {
				return 0, s.in(f)
			}
		case protowire.EndGroupType:
			if group == 0 || protowire.Number(num) != group {
				return 0, s.fail(start, "the end of a group that was not begun")
			}
			return i, true
		default:
			return 0, s.failIn(f, start, "a tag of unknown wire type")
		}
	}
	if group != 0 {
		return 0, s.fail(i, "a group without an end")
	}
	return i, true
}

// bytes checks the content b[i:end] of a length-delimited field.
func (s *scanner) bytes(f *checkField, i, end, depth int) bool {
	switch {
	case f.sub != nil:
		if depth+1 >= maxDepth {
			return s.fail(i, "nested beyond 100 messages")
		}
		_, ok := s.message(f.sub, i, end, depth+1, 0)
		return ok
	case f.utf8:
		if !utf8.Valid(s.b[i:end]) {
			return s.fail(i, "the string is not UTF-8")
		}
	case f.wire == protowire.VarintType:
		return s.packedVarints(i, end)
	case f.wire == protowire.Fixed32Type && (end-i)%4 != 0, f.wire == protowire.Fixed64Type && (end-i)%8 != 0:
		return s.fail(i, "the packed values are cut")
	}
	return true
}

// packedVarints checks that b[i:end] is a row of varints.
func (s *scanner) packedVarints(i, end int) bool {
	b := s.b[:end]
	for i < len(b) {
		// Eight values of one byte at once, where there are.
		for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&0x8080808080808080 == 0 {
			i += 8
		}
		if i == len(b) {
			break
		}
		var ok bool
		if _, i, ok = s.varint(b, i); !ok {
			return false
		}
	}
	return true
}

// varint reads the varint at b[i] and returns it with the offset after it.
func (s *scanner) varint(b []byte, i int) (uint64, int, bool) {
	var v uint64
	for n := 0; i+n < len(b); n++ {
		c := b[i+n]
		if n == 9 && c > 1 {
			return 0, 0, s.fail(i, "a varint of more than 64 bits")
		}
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return v, i + n + 1, true
		}
	}
	return 0, 0, s.fail(i, "a varint is cut")
}

// in adds the member f to the path of a failure inside it.
func (s *scanner) in(f *checkField) bool {
	if f != nil {
		s.path = append(s.path, f.name)
	}
	return false
}

func (s *scanner) failIn(f *checkField, at int, what string) bool {
	s.in(f)
	return s.fail(at, what)
}
