package urdf

import (
	"errors"
	"io"
)

// Element is an element of a description as it is written.
type Element struct {
	Name       string
	Attributes []Attribute
	Line       int
	Children   []Element
}

// Attribute is a value that an element has.
type Attribute struct{ Name, Value string }

// Attr returns an attribute's value, and whether it is there.
func (e *Element) Attr(name string) (string, bool) {
	for _, a := range e.Attributes {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Elements reads all elements of a description, those that [Read] does not look at
// among them, without the texts between, as UTF-8. The errors are those of Read about the form.
func Elements(text []byte, file string) (*Element, error) {
	p := &reader{file: file, scan: newScanner([]byte(UTF8(text)))}
	for {
		t, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil, p.refuse(1, "<robot>", "the file holds no <robot>")
		}
		if err != nil {
			return nil, err
		}
		e, err := p.element(t)
		if err != nil {
			return nil, err
		}
		if e.Name == "robot" {
			return &e, nil
		}
	}
}

// element reads to the end of an element, which was just begun.
func (p *reader) element(t tag) (Element, error) {
	e := Element{Name: t.name, Line: t.line}
	for _, a := range t.attrs {
		e.Attributes = append(e.Attributes, Attribute{a.name, a.value})
	}
	err := p.children(t, func(t tag) (bool, error) {
		c, err := p.element(t)
		e.Children = append(e.Children, c)
		return true, err
	})
	return e, err
}
