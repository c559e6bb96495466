package record

import (
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Records are read by the thousand when a server starts and when a past is asked for, so they are read
// without making values of all they hold. What is not usual (a message in parts, a wrong wire type, a chain) is left
// to package idf.

// layout has the numbers of the members of a type that has triples.
type layout struct {
	members    map[protowire.Number]*member
	document   protowire.Number
	assertions protowire.Number
	assertion  [3]protowire.Number // subject, property, value
	term       [4]protowire.Number // kind, value, datatype, language
	text       [3]protowire.Number // text, datatype, language
}

func newLayout(k Kind, t *idf.Type) layout {
	fields := t.Descriptor().Fields()
	number := func(of protoreflect.FieldDescriptors, name protoreflect.Name) protowire.Number {
		if f := of.ByName(name); f != nil {
			return f.Number()
		}
		return 0
	}
	below := func(of protoreflect.FieldDescriptors, name protoreflect.Name) protoreflect.FieldDescriptors {
		return of.ByName(name).Message().Fields()
	}
	l := layout{members: map[protowire.Number]*member{}, assertions: number(fields, "assertions"), document: number(fields, "document")}
	for i := range members[k] {
		m := &members[k][i]
		l.members[number(fields, protoreflect.Name(m.name))] = m
	}
	assertion := below(fields, "assertions")
	for i, name := range []protoreflect.Name{"subject", "property", "value"} {
		l.assertion[i] = number(assertion, name)
	}
	for i, name := range []protoreflect.Name{"kind", "value", "datatype", "language"} {
		l.term[i] = number(below(assertion, "value"), name)
	}
	for i, name := range []protoreflect.Name{"text", "datatype", "language"} {
		l.text[i] = number(below(fields, "labels"), name)
	}
	return l
}

// triples reads those of a payload; ok is false if package idf has to.
func (l *layout) triples(b []byte, entity rdf.Term, scope string, shared *interned) (out []rdf.Triple, ok bool) {
	ok = eachField(b, func(num protowire.Number, wire protowire.Type, bits uint64, content []byte) bool {
		m := l.members[num]
		switch {
		case num == l.assertions:
			t := rdf.Triple{S: entity}
			good := wire == protowire.BytesType && l.readAssertion(content, &t, scope, shared)
			out = append(out, t)
			return good && t.O.Kind != 0
		case m == nil:
			return num != l.document
		case m.form == flag:
			out = append(out, rdf.Triple{S: entity, P: rdf.NewIRI(m.property), O: rdf.NewIRI(m.value)})
			return wire == protowire.VarintType && bits == 1
		case wire != protowire.BytesType:
			return false
		case m.form == iris:
			out = append(out, rdf.Triple{S: entity, P: rdf.NewIRI(m.property), O: rdf.NewIRI(shared.text(content))})
			return utf8.Valid(content)
		case m.form == texts:
			t := rdf.Term{Kind: rdf.Literal}
			good := eachField(content, func(num protowire.Number, wire protowire.Type, _ uint64, content []byte) bool {
				switch num {
				case l.text[0]:
					t.Value = string(content)
				case l.text[1]:
					t.Type = shared.text(content)
				case l.text[2]:
					t.Lang = shared.text(content)
				}
				return wire == protowire.BytesType && utf8.Valid(content)
			})
			out = append(out, rdf.Triple{S: entity, P: rdf.NewIRI(m.property), O: t})
			return good
		}
		return false
	})
	return out, ok
}

func (l *layout) readAssertion(b []byte, t *rdf.Triple, scope string, shared *interned) bool {
	met := 0
	return eachField(b, func(num protowire.Number, wire protowire.Type, _ uint64, content []byte) bool {
		if met++; wire != protowire.BytesType || met > 3 {
			return false
		}
		switch num {
		case l.assertion[0]:
			t.S = rdf.Term{}
			return l.readTerm(content, &t.S, scope, shared)
		case l.assertion[1]:
			t.P = rdf.NewIRI(shared.text(content))
			return utf8.Valid(content)
		case l.assertion[2]:
			return t.O.IsZero() && l.readTerm(content, &t.O, scope, shared)
		}
		return false
	}) && !t.P.IsZero()
}

func (l *layout) readTerm(b []byte, t *rdf.Term, scope string, shared *interned) bool {
	t.Kind = rdf.IRI
	var value []byte
	ok := eachField(b, func(num protowire.Number, wire protowire.Type, bits uint64, content []byte) bool {
		switch num {
		case l.term[0]:
			t.Kind = rdf.IRI + rdf.Kind(bits)
			return wire == protowire.VarintType && bits <= 2
		case l.term[1]:
			value = content
		case l.term[2]:
			t.Type = shared.text(content)
		case l.term[3]:
			t.Lang = shared.text(content)
		}
		return wire == protowire.BytesType && utf8.Valid(content)
	})
	switch t.Kind {
	case rdf.Blank:
		t.Value = scope + string(value)
	default:
		t.Value = string(value)
	}
	return ok && (t.Kind == rdf.Literal || t.Type == "" && t.Lang == "")
}

// eachField calls f with each field of a message, and reports whether it could read all and f agreed
// with each.
func eachField(b []byte, f func(num protowire.Number, wire protowire.Type, bits uint64, content []byte) bool) bool {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		var bits uint64
		var content []byte
		switch wire {
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
		default:
			return false
		}
		if n < 0 || !f(num, wire, bits, content) {
			return false
		}
		b = b[n:]
	}
	return true
}

// maxInterned is how many texts are shared.
const maxInterned = 16 << 10

// interned are texts that come often: properties, classes, datatypes. It is safe for concurrent use.
type interned struct {
	mu struct {
		sync.RWMutex
		texts map[string]string
	}
}

// text returns the bytes as a text.
func (s *interned) text(b []byte) string {
	s.mu.RLock()
	known, ok := s.mu.texts[string(b)]
	s.mu.RUnlock()
	if ok {
		return known
	}
	text := string(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.texts == nil {
		s.mu.texts = map[string]string{}
	}
	if len(s.mu.texts) < maxInterned {
		s.mu.texts[text] = text
	}
	return text
}
