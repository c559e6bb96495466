package rdf

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"slices"
	"strings"
)

// literal reads what an element holds as a literal of XML, in the form of
// exclusive canonicalization: an element declares the namespaces that it uses
// and no element around it has declared.
func (r *xmlReader) literal(outer xml.StartElement, s scope) (string, error) {
	type open struct {
		name     xml.Name
		scope    scope
		declared *space
	}
	stack := []open{{outer.Name, s, nil}}
	var b bytes.Buffer
	for {
		top := stack[len(stack)-1]
		token, err := r.within(top.name)
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			textEscaper.WriteString(&b, string(token))
		case xml.StartElement:
			if len(stack) > maxDepth {
				return "", r.tooDeep(r.line())
			}
			e := open{name: token.Name, scope: top.scope, declared: top.declared}
			for _, a := range token.Attr {
				if a.Name.Space == "xmlns" {
					e.scope.spaces = e.scope.spaces.with(a.Name.Local, a.Value)
				} else if a.Name == (xml.Name{Local: "xmlns"}) {
					e.scope.spaces = e.scope.spaces.with("", a.Value)
				}
			}
			if s := e.scope.spaces; s != nil && s.within >= maxSpaces {
				return "", r.tooMany(r.line())
			}
			if e.declared, err = r.startTag(&b, token, e.scope, e.declared); err != nil {
				return "", err
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return b.String(), nil
			}
			b.WriteString("</" + rawName(token.Name) + ">")
		}
	}
}

// startTag writes a start tag and returns what is declared within it.
func (r *xmlReader) startTag(b *bytes.Buffer, start xml.StartElement, s scope, declared *space) (*space, error) {
	type written struct{ space, local, text string }
	var spaces, attrs []written
	use := func(prefix string) (string, error) {
		iri, ok := s.spaces.find(prefix)
		if !ok {
			return "", r.fault(r.line(), "the prefix %s is not declared", prefix)
		}
		if known, _ := declared.find(prefix); known == iri || prefix == "xml" {
			return iri, nil
		}
		declared = declared.with(prefix, iri)
		name := "xmlns"
		if prefix != "" {
			name += ":" + prefix
		}
		spaces = append(spaces, written{local: prefix, text: name + `="` + attrEscaper.Replace(iri) + `"`})
		return iri, nil
	}
	if _, err := use(start.Name.Space); err != nil {
		return nil, err
	}
	for _, a := range start.Attr {
		if a.Name.Space == "xmlns" || a.Name == (xml.Name{Local: "xmlns"}) {
			continue
		}
		iri := ""
		if a.Name.Space != "" {
			var err error
			if iri, err = use(a.Name.Space); err != nil {
				return nil, err
			}
		}
		attrs = append(attrs, written{iri, a.Name.Local, rawName(a.Name) + `="` + attrEscaper.Replace(a.Value) + `"`})
	}
	order := func(a, b written) int {
		return cmp.Or(strings.Compare(a.space, b.space), strings.Compare(a.local, b.local))
	}
	slices.SortFunc(spaces, order)
	slices.SortFunc(attrs, order)
	b.WriteString("<" + rawName(start.Name))
	for _, w := range append(spaces, attrs...) {
		b.WriteString(" " + w.text)
	}
	b.WriteString(">")
	return declared, nil
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")
)
