package pattern

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
)

// jsonQuestion is a question in JSON; terms, paths and columns are as in text.
type jsonQuestion struct {
	Patterns []Clause          `json:"patterns"`
	Select   []string          `json:"select,omitempty"`
	Distinct bool              `json:"distinct,omitempty"`
	Order    []string          `json:"order,omitempty"`
	Limit    int               `json:"limit,omitempty"`
	Certain  float64           `json:"certain,omitempty"`
	Mode     string            `json:"mode,omitempty"`
	Prefixes map[string]string `json:"prefixes,omitempty"`
}

// MarshalJSON writes the question as an object: "patterns", each {"s", "p", "o"}, {"not"},
// {"optional"} or {"where"}, with terms as in text, and "select", "distinct", "order", "limit",
// "certain", "mode" and "prefixes".
func (q Question) MarshalJSON() ([]byte, error) {
	j := jsonQuestion{Patterns: q.Body, Distinct: q.Distinct, Limit: q.Limit, Certain: q.Certain, Prefixes: q.Prefixes}
	for _, it := range q.Select {
		j.Select = append(j.Select, it.String())
	}
	for _, o := range q.Order {
		j.Order = append(j.Order, o.String())
	}
	if q.Mode != 0 {
		j.Mode = modeName(q.Mode)
	}
	return marshal(j)
}

// marshal leaves < and > as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (q *Question) UnmarshalJSON(b []byte) error {
	var j jsonQuestion
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		if engram.CodeOf(err) != engram.Internal {
			return err
		}
		return engram.Errorf(engram.Invalid, "", "the question in JSON: %w", err)
	}
	*q = Question{Body: j.Patterns, Distinct: j.Distinct, Limit: j.Limit, Certain: j.Certain, Prefixes: j.Prefixes}
	if len(q.Body) == 0 {
		return engram.Errorf(engram.Invalid, "", "the question in JSON: there are no patterns")
	}
	if q.Limit < 0 || q.Certain < 0 || q.Certain > 1 {
		return engram.Errorf(engram.Invalid, "", "the question in JSON: limit is not negative, and certain is from 0 to 1")
	}
	if j.Mode != "" {
		mode, ok := modes[j.Mode]
		if !ok {
			return engram.Errorf(engram.Invalid, "", "the question in JSON: mode is owl, rdfs or plain, not %s", j.Mode)
		}
		q.Mode = mode
	}
	for _, text := range j.Select {
		err := reading("select, "+text, text, func(p *parser) { q.Select = append(q.Select, p.item()) })
		if err != nil {
			return err
		}
	}
	for _, text := range j.Order {
		err := reading("order, "+text, text, func(p *parser) {
			before := len(q.Order)
			p.scan(0)
			p.order(q)
			if len(q.Order) != before+1 {
				p.unexpected("one column")
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type jsonClause struct {
	S        *string  `json:"s,omitempty"`
	P        string   `json:"p,omitempty"`
	O        *string  `json:"o,omitempty"`
	Not      []Clause `json:"not,omitempty"`
	Optional []Clause `json:"optional,omitempty"`
	Where    string   `json:"where,omitempty"`
}

// MarshalJSON writes the clause.
func (c Clause) MarshalJSON() ([]byte, error) {
	j := jsonClause{Not: c.Not, Optional: c.Optional, Where: c.Where}
	if t := c.Triple; t != nil {
		s, o := t.S.String(), t.O.String()
		j.S, j.P, j.O = &s, t.P.String(), &o
	}
	return marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Clause) UnmarshalJSON(b []byte) error {
	var j jsonClause
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return err
	}
	*c = Clause{Not: j.Not, Optional: j.Optional, Where: strings.TrimSpace(j.Where), pos: -1}
	n := 0
	for _, has := range []bool{j.S != nil || j.P != "" || j.O != nil, len(j.Not) > 0, len(j.Optional) > 0, c.Where != ""} {
		if has {
			n++
		}
	}
	if n != 1 {
		return engram.Errorf(engram.Invalid, "", `the question in JSON: a pattern is {"s", "p", "o"}, {"not"}, {"optional"} or {"where"}, not %.100s`, b)
	}
	if j.P == "" {
		return nil
	}
	t := &Triple{}
	for _, place := range []struct {
		name string
		text *string
		read func(*parser)
	}{
		{"s", j.S, func(p *parser) { t.S = p.term() }},
		{"p", &j.P, func(p *parser) { t.P = p.path() }},
		{"o", j.O, func(p *parser) { t.O = p.term() }},
	} {
		if place.text == nil {
			continue // anything
		}
		if err := reading(fmt.Sprintf("%s %s", place.name, *place.text), *place.text, place.read); err != nil {
			return err
		}
	}
	if t.S.isLiteral() {
		return engram.Errorf(engram.Invalid, "", "s %s: a literal has no properties: the subject is a variable, a name or an IRI", t.S)
	}
	for _, term := range []*Term{&t.S, &t.P.Property, &t.O} {
		term.pos = -1
	}
	c.Triple = t
	return nil
}
