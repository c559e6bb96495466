package prolog

import "fmt"

// charge counts memory that is taken. What was taken and is garbage by now counts, too, until
// so much has come together that measuring what is reachable is worth it.
func (m *machine) charge(bytes int) error {
	m.allocated += int64(bytes)
	m.pending += int64(bytes)
	m.steps += int64(bytes) >> 6 // to fill it takes time
	if m.allocated < m.nextMeasure {
		return nil
	}
	if m.limits.Memory <= 0 {
		m.nextMeasure = 1 << 62
		return nil
	}
	if m.pending <= m.limits.Memory {
		m.allocated = m.measure() + m.pending
		m.nextMeasure = m.allocated + m.limits.Memory/4
	}
	if m.allocated > m.limits.Memory {
		return &limitError{fmt.Sprintf("it takes more than %d MB of memory: it may recurse or collect without end, or more memory is needed", m.limits.Memory>>20)}
	}
	return nil
}

// measure returns how many bytes are reachable, beside the program. Each object is marked
// with the number of the measurement, and so counted once.
func (m *machine) measure() int64 {
	m.measurement = m.measurement%250 + 1
	s := sizing{mark: m.measurement, bytes: m.asserted + int64(len(m.trail))*8 + int64(len(m.choices))*200}
	s.frame(&m.frame)
	for i := range m.choices {
		c := &m.choices[i]
		s.frame(&c.frame)
		s.terms(c.args)
	}
	for _, v := range m.trail {
		s.term(v)
	}
	for _, v := range m.answered {
		s.term(v)
	}
	return s.bytes
}

// sizing adds up the sizes of what can be reached.
type sizing struct {
	mark  uint8
	bytes int64
	todo  []Term // compound terms whose arguments are still to be counted
}

func (s *sizing) frame(f *frame) {
	for ; f != nil && f.seen != s.mark; f = f.next {
		f.seen = s.mark
		s.bytes += 120
		s.terms(f.env)
		if f.into != nil {
			s.bytes += 16 * int64(len(f.into.results))
			s.terms(f.into.results)
			s.term(f.into.template)
		}
		if f.in != nil {
			s.term(f.in.catcher)
			s.term(f.in.recovery)
		}
	}
}

func (s *sizing) terms(ts []Term) {
	s.bytes += 16 * int64(len(ts))
	for _, t := range ts {
		s.term(t)
	}
}

func (s *sizing) term(t Term) {
	s.todo = append(s.todo, t)
	for len(s.todo) > 0 {
		t := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		switch t := t.(type) {
		case *Var:
			if uint8(t.id) == s.mark {
				continue
			}
			t.id = t.id&^0xff | uint64(s.mark)
			s.bytes += 24
			if t.ref != nil {
				s.todo = append(s.todo, t.ref)
			}
		case *Compound:
			if t.shared || t.seen == s.mark {
				continue
			}
			t.seen = s.mark
			s.bytes += 64 + 16*int64(len(t.args))
			s.todo = append(s.todo, t.args...)
		case Atom:
			s.bytes += int64(len(t))
		case String:
			s.bytes += int64(len(t))
		}
	}
}
