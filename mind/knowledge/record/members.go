package record

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// member stands for the triples of the entity with a property: those whose value is an IRI, those
// whose value is a literal, lists of IRIs, or the one with a certain value.
type member struct {
	name     string
	property string
	form     form
	value    string // of a flag
}

type form uint8

const (
	iris form = iota
	texts
	chains
	flag
)

const (
	typeIRI  = rdf.NS + "type"
	firstIRI = rdf.NS + "first"
	restIRI  = rdf.NS + "rest"
	nilIRI   = rdf.NS + "nil"
)

var (
	labels   = member{name: "labels", property: rdf.NSRDFS + "label", form: texts}
	comments = member{name: "comments", property: rdf.NSRDFS + "comment", form: texts}
	types    = member{name: "types", property: typeIRI}
)

// members are those of each kind; of two for a triple the first counts.
var members = [len(kindNames)][]member{
	Ontology: {
		{"declared", typeIRI, flag, rdf.NSOWL + "Ontology"},
		{name: "imports", property: rdf.NSOWL + "imports"},
		{name: "versions", property: rdf.NSOWL + "versionInfo", form: texts},
		labels, comments,
	},
	Class: {
		types,
		{name: "super_classes", property: rdf.NSRDFS + "subClassOf"},
		{name: "equivalents", property: rdf.NSOWL + "equivalentClass"},
		{name: "disjoint", property: rdf.NSOWL + "disjointWith"},
		labels, comments,
	},
	Property: {
		{"object_property", typeIRI, flag, rdf.NSOWL + "ObjectProperty"},
		{"datatype_property", typeIRI, flag, rdf.NSOWL + "DatatypeProperty"},
		{"transitive", typeIRI, flag, rdf.NSOWL + "TransitiveProperty"},
		{"symmetric", typeIRI, flag, rdf.NSOWL + "SymmetricProperty"},
		{"functional", typeIRI, flag, rdf.NSOWL + "FunctionalProperty"},
		{"inverse_functional", typeIRI, flag, rdf.NSOWL + "InverseFunctionalProperty"},
		types,
		{name: "super_properties", property: rdf.NSRDFS + "subPropertyOf"},
		{name: "inverses", property: rdf.NSOWL + "inverseOf"},
		{name: "equivalents", property: rdf.NSOWL + "equivalentProperty"},
		{name: "domains", property: rdf.NSRDFS + "domain"},
		{name: "ranges", property: rdf.NSRDFS + "range"},
		{name: "chains", property: rdf.NSOWL + "propertyChainAxiom", form: chains},
		labels, comments,
	},
	Individual: {
		types,
		{name: "same_as", property: rdf.NSOWL + "sameAs"},
		labels, comments,
	},
}

// takes reports whether the member may stand for a triple of the entity.
func (m *member) takes(t rdf.Triple) bool {
	if t.P.Value != m.property {
		return false
	}
	switch m.form {
	case texts:
		return t.O.Kind == rdf.Literal
	case chains:
		return t.O.Kind == rdf.Blank
	case flag:
		return t.O.Kind == rdf.IRI && t.O.Value == m.value
	}
	return t.O.Kind == rdf.IRI
}

// valueOf returns a record as the value of its type.
func valueOf(r *Record) (map[string]any, error) {
	v := map[string]any{}
	lists := map[string][]any{}
	entity := rdf.NewIRI(r.Name)
	var left []rdf.Triple
	var inChains map[rdf.Triple]bool // what the chains stand for
	for _, t := range r.Triples {
		if t.O.IsZero() || t.S.Kind != rdf.IRI && t.S.Kind != rdf.Blank || t.P.Kind != rdf.IRI {
			return nil, engram.Errorf(engram.Invalid, r.Name, "%v is not a triple", t)
		}
		at := -1
		if t.S == entity {
			at = slices.IndexFunc(members[r.Kind], func(m member) bool { return m.takes(t) })
		}
		if at < 0 {
			left = append(left, t)
			continue
		}
		m := &members[r.Kind][at]
		switch m.form {
		case iris:
			lists[m.name] = append(lists[m.name], t.O.Value)
		case texts:
			lists[m.name] = append(lists[m.name], textValue(t.O))
		case flag:
			v[m.name] = true
		case chains:
			chain, stand := chainOf(r.Triples, t.O)
			if chain == nil || slices.ContainsFunc(stand, func(s rdf.Triple) bool { return inChains[s] }) {
				left = append(left, t)
				continue
			}
			if inChains == nil {
				inChains = map[rdf.Triple]bool{}
			}
			for _, s := range stand {
				inChains[s] = true
			}
			lists[m.name] = append(lists[m.name], chain)
		}
	}
	for _, t := range left {
		if inChains[t] {
			continue
		}
		a := map[string]any{"property": t.P.Value, "value": termValue(t.O)}
		if t.S != entity {
			a["subject"] = termValue(t.S)
		}
		lists["assertions"] = append(lists["assertions"], a)
	}
	for name, list := range lists {
		v[name] = list
	}
	if d := r.Document; d != nil {
		v["document"] = map[string]any{"source": d.Source, "base": d.Base, "prefixes": d.Prefixes}
	}
	return v, nil
}

// chainOf returns a list of IRIs and the triples that it stands for; nil if it is not a plain one.
func chainOf(triples []rdf.Triple, head rdf.Term) (chain map[string]any, stand []rdf.Triple) {
	var properties, cells []string
	for cell := head; cell != rdf.NewIRI(nilIRI); {
		var first, rest rdf.Term
		for _, t := range triples {
			switch {
			case t.S != cell:
			case t.P.Value == firstIRI && first.IsZero():
				first = t.O
			case t.P.Value == restIRI && rest.IsZero():
				rest = t.O
			case t.P.Value == firstIRI, t.P.Value == restIRI:
				return nil, nil
			}
		}
		if cell.Kind != rdf.Blank || first.Kind != rdf.IRI || rest.IsZero() || slices.Contains(cells, cell.Value) {
			return nil, nil
		}
		properties, cells = append(properties, first.Value), append(cells, cell.Value)
		stand = append(stand, rdf.Triple{S: cell, P: rdf.NewIRI(firstIRI), O: first}, rdf.Triple{S: cell, P: rdf.NewIRI(restIRI), O: rest})
		cell = rest
	}
	return map[string]any{"properties": properties, "cells": cells}, stand
}

func textValue(t rdf.Term) map[string]any {
	v := map[string]any{"text": t.Value}
	if t.Type != "" {
		v["datatype"] = t.Type
	}
	if t.Lang != "" {
		v["language"] = t.Lang
	}
	return v
}

func termValue(t rdf.Term) map[string]any {
	v := map[string]any{"kind": int32(t.Kind - rdf.IRI), "value": t.Value}
	if t.Type != "" {
		v["datatype"] = t.Type
	}
	if t.Lang != "" {
		v["language"] = t.Lang
	}
	return v
}

// reader makes triples of an entity's value.
type reader struct {
	object map[string]any
	entity rdf.Term
	scope  string // what the labels of blank nodes begin with
}

func (d *reader) triples(k Kind) []rdf.Triple {
	var out []rdf.Triple
	add := func(s rdf.Term, p string, o rdf.Term) { out = append(out, rdf.Triple{S: s, P: rdf.NewIRI(p), O: o}) }
	for _, m := range members[k] {
		if m.form == flag {
			if is, _ := d.object[m.name].(bool); is {
				add(d.entity, m.property, rdf.NewIRI(m.value))
			}
			continue
		}
		for _, v := range list(d.object, m.name) {
			switch m.form {
			case iris:
				add(d.entity, m.property, rdf.NewIRI(v.(string)))
			case texts:
				o, _ := v.(map[string]any)
				add(d.entity, m.property, rdf.Term{Kind: rdf.Literal, Value: text(o, "text"), Type: text(o, "datatype"), Lang: text(o, "language")})
			case chains:
				d.chain(v.(map[string]any), func(s rdf.Term, p string, o rdf.Term) {
					if s.IsZero() {
						s, p = d.entity, m.property
					}
					add(s, p, o)
				})
			}
		}
	}
	for _, v := range list(d.object, "assertions") {
		a, _ := v.(map[string]any)
		subject := d.entity
		if s, ok := a["subject"].(map[string]any); ok {
			subject = d.term(s)
		}
		value, _ := a["value"].(map[string]any)
		add(subject, text(a, "property"), d.term(value))
	}
	return out
}

// chain adds the triples of a list; the first has no subject and leads to it.
func (d *reader) chain(v map[string]any, add func(s rdf.Term, p string, o rdf.Term)) {
	cells, properties := list(v, "cells"), list(v, "properties")
	next := rdf.NewIRI(nilIRI)
	for i := min(len(cells), len(properties)) - 1; i >= 0; i-- {
		label, _ := cells[i].(string)
		property, _ := properties[i].(string)
		cell := rdf.NewBlank(d.scope + label)
		add(cell, firstIRI, rdf.NewIRI(property))
		add(cell, restIRI, next)
		next = cell
	}
	add(rdf.Term{}, "", next)
}

func (d *reader) term(v map[string]any) rdf.Term {
	kind, _ := v["kind"].(idf.Enum)
	t := rdf.Term{Kind: rdf.IRI, Value: text(v, "value")}
	switch kind.Number {
	case 1:
		t.Kind, t.Value = rdf.Blank, d.scope+t.Value
	case 2:
		t.Kind, t.Type, t.Lang = rdf.Literal, text(v, "datatype"), text(v, "language")
	}
	return t
}

func documentOf(v map[string]any) *Document {
	d := &Document{Source: text(v, "source"), Base: text(v, "base")}
	if prefixes, _ := v["prefixes"].(map[string]any); len(prefixes) > 0 {
		d.Prefixes = make(map[string]string, len(prefixes))
		for name := range prefixes {
			d.Prefixes[name] = text(prefixes, name)
		}
	}
	return d
}

func list(o map[string]any, name string) []any {
	l, _ := o[name].([]any)
	return l
}

func text(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}
