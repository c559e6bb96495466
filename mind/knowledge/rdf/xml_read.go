package rdf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

const nsXML = "http://www.w3.org/XML/1998/namespace"

// xmlReader reads RDF/XML from the tokens of encoding/xml, without its
// namespaces: a literal of XML keeps its prefixes.
type xmlReader struct {
	*output
	tokens   *xml.Decoder
	doc      *Document
	depth    int
	entities int // the longest entity
	room     int // bytes that entities may still expand to
	rooted   bool
	loose    bool            // whether XML is RDF/XML though neither its name nor its root says so
	ids      map[string]bool // IRIs that rdf:ID has given
}

// scope is what an element hands to those within.
type scope struct {
	base, lang string
	spaces     *space
}

// space is a namespace with those around it.
type space struct {
	prefix, iri string
	outer       *space
	within      int // how many are around it
}

// maxSpaces is how many namespaces may be declared around an element: each is
// looked at to find one.
const maxSpaces = 1000

// with declares a namespace within s.
func (s *space) with(prefix, iri string) *space {
	inner := &space{prefix: prefix, iri: iri, outer: s}
	if s != nil {
		inner.within = s.within + 1
	}
	return inner
}

func (s *space) find(prefix string) (string, bool) {
	if prefix == "xml" {
		return nsXML, true
	}
	for ; s != nil; s = s.outer {
		if s.prefix == prefix {
			return s.iri, true
		}
	}
	return "", prefix == ""
}

// attribute is one with the namespace that its prefix means.
type attribute struct{ space, local, value string }

// element is a start tag with what it is about.
type element struct {
	name  string // namespace and local name
	raw   xml.StartElement
	scope scope
	attrs []attribute
	line  int
}

func readXML(data []byte, out *output, doc *Document, loose bool) error {
	r := &xmlReader{output: out, tokens: xml.NewDecoder(bytes.NewReader(data)), doc: doc, loose: loose, ids: map[string]bool{}}
	r.room = 16<<20 + 16*len(data)
	r.tokens.CharsetReader = charset
	r.tokens.Entity = map[string]string{}
	outer := scope{base: doc.Base}
	for {
		token, err := r.next()
		if err == io.EOF && r.rooted {
			return nil
		}
		if err == io.EOF {
			return r.fault(r.line(), "the document has no element")
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.CharData:
			if !blankText(token) {
				return r.fault(r.line(), "there is text outside of the root element: %s", beginning(bytes.TrimSpace(token)))
			}
		case xml.Directive:
			if err := r.doctype(string(token), data); err != nil {
				return err
			}
		case xml.StartElement:
			if r.rooted {
				return r.fault(r.line(), "there is a second root element <%s>", token.Name.Local)
			}
			r.rooted = true
			e, err := r.element(token, outer)
			if err != nil {
				return err
			}
			r.doc.Base = e.scope.base
			switch what := r.foreign(e); {
			case e.name == NS+"RDF":
				if err = r.only(e); err == nil {
					err = r.nodes(e.scope)
				}
			case what != "":
				err = r.fault(e.line, "this is %s", what)
			default:
				_, err = r.node(e)
			}
			if err != nil {
				return err
			}
		}
	}
}

// foreign says what a document is whose root element is neither rdf:RDF nor a node of RDF/XML; "" if it is one.
func (r *xmlReader) foreign(root element) string {
	named, declared := false, false
	for _, a := range root.attrs {
		named = named || a.space == NS && (a.local == "about" || a.local == "ID" || a.local == "nodeID")
	}
	for s := root.scope.spaces; s != nil; s = s.outer {
		declared = declared || s.iri == NS
	}
	local := root.raw.Name.Local
	switch space := strings.TrimSuffix(root.name, local); {
	case local == "Ontology" && !named && (space == NSOWL || strings.HasPrefix(space, "http://www.w3.org/2006/12/owl")):
		return "OWL/XML, not RDF/XML; " + saveAs
	case strings.EqualFold(local, "html"):
		return html
	case !r.loose && !named && !declared || space == "":
		return fmt.Sprintf("XML with the root element <%s>, not RDF/XML; %s", rawName(root.raw.Name), saveAs)
	}
	return ""
}

func charset(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1":
		latin, err := io.ReadAll(input)
		var b bytes.Buffer
		for _, c := range latin {
			b.WriteRune(rune(c))
		}
		return &b, err
	}
	return nil, fmt.Errorf("the encoding %q is not known; write the file in UTF-8", label)
}

func (r *xmlReader) tooMany(line int) error {
	return engram.Errorf(engram.Exhausted, fmt.Sprintf("%s:%d", r.options.Name, line), "there are more than %d namespaces", maxSpaces)
}

func (r *xmlReader) line() int {
	line, _ := r.tokens.InputPos()
	return line
}

// next returns a token; comments and processing instructions are skipped.
func (r *xmlReader) next() (xml.Token, error) {
	for {
		token, err := r.tokens.RawToken()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				return nil, r.fault(syntax.Line, "not well-formed XML: %s", syntax.Msg)
			}
			return nil, r.fault(r.line(), "not well-formed XML: %w", err)
		}
		switch token.(type) {
		case xml.Comment, xml.ProcInst:
			continue
		}
		return token, nil
	}
}

// within is next where the document may not end.
func (r *xmlReader) within(name xml.Name) (xml.Token, error) {
	token, err := r.next()
	if err == io.EOF {
		return nil, r.fault(r.line(), "the document ends within <%s>", name.Local)
	}
	if end, ok := token.(xml.EndElement); ok && end.Name != name {
		return nil, r.fault(r.line(), "</%s> does not end <%s>", rawName(end.Name), rawName(name))
	}
	return token, err
}

func rawName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// doctype takes the entities that a document type declares. Those that lie
// elsewhere are left out: using one is an error.
func (r *xmlReader) doctype(text string, data []byte) error {
	rest := text
	for {
		i := strings.Index(rest, "<!ENTITY")
		if i < 0 {
			break
		}
		rest = strings.TrimLeft(rest[i+len("<!ENTITY"):], " \t\r\n")
		end := strings.IndexAny(rest, " \t\r\n")
		if end <= 0 {
			continue
		}
		name := rest[:end]
		rest = strings.TrimLeft(rest[end:], " \t\r\n")
		if name == "%" || rest == "" || rest[0] != '"' && rest[0] != '\'' {
			continue
		}
		quote := rest[:1]
		value, after, ok := strings.Cut(rest[1:], quote)
		if !ok {
			return r.fault(r.line(), "the entity %s has no end", name)
		}
		rest = after
		if _, ok := r.tokens.Entity[name]; ok {
			continue // the first declaration counts
		}
		expanded, err := r.expand(value)
		if err != nil {
			return r.fault(r.line(), "the entity %s: %w", name, err)
		}
		r.tokens.Entity[name] = expanded
		r.entities = max(r.entities, len(expanded))
		if len(r.tokens.Entity) > 10_000 {
			return r.exhausted()
		}
	}
	if r.entities > 0 && r.entities*bytes.Count(data, []byte("&")) > r.room {
		return r.measure(data)
	}
	return nil
}

const maxEntity = 64 << 10

func (r *xmlReader) exhausted() error {
	return engram.Errorf(engram.Exhausted, r.options.Name, "its entities expand to too much")
}

// measure refuses a document whose entities expand to too much.
func (r *xmlReader) measure(data []byte) error {
	for {
		i := bytes.IndexByte(data, '&')
		if i < 0 {
			return nil
		}
		data = data[i+1:]
		if end := bytes.IndexByte(data[:min(len(data), 256)], ';'); end > 0 {
			r.room -= len(r.tokens.Entity[string(data[:end])])
		}
		if r.room < 0 {
			return r.exhausted()
		}
	}
}

// expand replaces what an entity's value refers to.
func (r *xmlReader) expand(value string) (string, error) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(value, "&")
		b.WriteString(before)
		if b.Len() > maxEntity {
			return "", fmt.Errorf("it is longer than %d bytes", maxEntity)
		}
		if !ok {
			break
		}
		name, rest, ok := strings.Cut(after, ";")
		if !ok {
			return "", fmt.Errorf("& without ;")
		}
		value = rest
		if number, ok := strings.CutPrefix(name, "#"); ok {
			digits, base := number, 10
			if hex, ok := strings.CutPrefix(number, "x"); ok {
				digits, base = hex, 16
			}
			c, err := strconv.ParseUint(digits, base, 32)
			if err != nil || c > utf8.MaxRune {
				return "", fmt.Errorf("&%s; is no character", name)
			}
			b.WriteRune(rune(c))
			continue
		}
		if predefined, ok := map[string]string{"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": `"`}[name]; ok {
			b.WriteString(predefined)
			continue
		}
		inner, ok := r.tokens.Entity[name]
		if !ok {
			return "", fmt.Errorf("&%s; is not declared before it", name)
		}
		b.WriteString(inner)
	}
	if strings.Contains(b.String(), "<") {
		return "", fmt.Errorf("it has markup, which is not supported")
	}
	return b.String(), nil
}

// element reads a start tag's namespaces, base and language.
func (r *xmlReader) element(start xml.StartElement, outer scope) (element, error) {
	e := element{raw: start, scope: outer, line: r.line()}
	for _, a := range start.Attr {
		switch {
		case a.Name.Space == "xmlns":
			r.declare(&e.scope, a.Name.Local, a.Value)
		case a.Name == xml.Name{Local: "xmlns"}:
			r.declare(&e.scope, "", a.Value)
		case a.Name == xml.Name{Space: "xml", Local: "base"}:
			e.scope.base = resolve(outer.base, a.Value)
		case a.Name == xml.Name{Space: "xml", Local: "lang"}:
			e.scope.lang = a.Value
		}
	}
	if s := e.scope.spaces; s != nil && s.within >= maxSpaces {
		return e, r.tooMany(e.line)
	}
	for _, a := range start.Attr {
		switch a.Name.Space {
		case "xmlns", "xml":
		case "":
			switch a.Name.Local { // as RDF/XML had them once
			case "about", "ID", "nodeID", "resource", "parseType", "datatype", "type":
				e.attrs = append(e.attrs, attribute{NS, a.Name.Local, a.Value})
			}
		default:
			iri, ok := e.scope.spaces.find(a.Name.Space)
			if !ok {
				return e, r.fault(e.line, "the prefix %s is not declared", a.Name.Space)
			}
			e.attrs = append(e.attrs, attribute{iri, a.Name.Local, a.Value})
		}
	}
	iri, ok := e.scope.spaces.find(start.Name.Space)
	if !ok {
		return e, r.fault(e.line, "the prefix %s is not declared", start.Name.Space)
	}
	e.name = iri + start.Name.Local
	if len(e.attrs) > 1 {
		has := make(map[[2]string]bool, len(e.attrs))
		for _, a := range e.attrs {
			name := [2]string{a.space, a.local}
			if has[name] {
				return e, r.fault(e.line, "not well-formed XML: <%s> has the attribute %s twice", rawName(start.Name), a.local)
			}
			has[name] = true
		}
	}
	if iri == "" && outer.spaces != nil { // of the root it is told what it is
		return e, r.fault(e.line, "<%s> has no namespace", start.Name.Local)
	}
	return e, nil
}

// declare adds a namespace to a scope. The document keeps each prefix's first.
func (r *xmlReader) declare(s *scope, prefix, iri string) {
	s.spaces = s.spaces.with(prefix, iri)
	if _, ok := r.doc.Prefixes[prefix]; !ok {
		r.doc.Prefixes[prefix] = iri
	}
}

// syntax tells attributes of RDF/XML from properties.
func (a attribute) syntax() bool {
	if a.space != NS {
		return a.space == nsXML
	}
	switch a.local {
	case "about", "ID", "nodeID", "resource", "parseType", "datatype", "aboutEach", "aboutEachPrefix", "bagID", "li":
		return true
	}
	return false
}

func (e *element) attr(local string) (string, bool) {
	for _, a := range e.attrs {
		if a.space == NS && a.local == local {
			return a.value, true
		}
	}
	return "", false
}

// noProperty are the names of RDF that neither a property has nor, but for Description, a node.
var noProperty = map[string]bool{
	"RDF": true, "ID": true, "about": true, "parseType": true, "resource": true, "nodeID": true, "datatype": true,
	"aboutEach": true, "aboutEachPrefix": true, "bagID": true, "Description": true,
}

// only refuses what an element may not have: attributes of RDF that are none, and those of its syntax that are not allowed,
// or two that say the same.
func (r *xmlReader) only(e element, allowed ...string) error {
	what := ""
	for _, a := range e.attrs {
		if a.space != NS {
			continue
		}
		switch name := a.local; {
		case slices.Contains(allowed, name) && name != "ID":
			if what != "" {
				return r.fault(e.line, "<%s> has both rdf:%s and rdf:%s", rawName(e.raw.Name), what, name)
			}
			what = name
			if name == "nodeID" && !isNCName(a.value) {
				return r.fault(e.line, "rdf:nodeID=%q is no name of XML", a.value)
			}
		case slices.Contains(allowed, name):
		case noProperty[name], name == "li":
			return r.fault(e.line, "<%s> has the attribute rdf:%s, which is not allowed there", rawName(e.raw.Name), name)
		}
	}
	return nil
}

// id returns the IRI that rdf:ID gives. It gives each once.
func (r *xmlReader) id(e element, value string) (Term, error) {
	if !isNCName(value) {
		return Term{}, r.fault(e.line, "rdf:ID=%q is no name of XML", value)
	}
	iri := resolve(e.scope.base, "#"+value)
	if r.ids[iri] {
		return Term{}, r.fault(e.line, "rdf:ID=%q stands twice", value)
	}
	r.ids[iri] = true
	return NewIRI(iri), nil
}

func (s scope) iri(ref string) Term { return NewIRI(resolve(s.base, ref)) }

// blankText says whether character data is white space, which separates
// elements.
func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// nodes reads the nodes within rdf:RDF.
func (r *xmlReader) nodes(s scope) error {
	name := xml.Name{}
	for {
		token, err := r.next()
		if err == io.EOF {
			return r.fault(r.line(), "the document ends within rdf:RDF")
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name = token.Name
			e, err := r.element(token, s)
			if err != nil {
				return err
			}
			if _, err := r.node(e); err != nil {
				return err
			}
		case xml.EndElement:
			if iri, _ := s.spaces.find(token.Name.Space); iri+token.Name.Local != NS+"RDF" {
				return r.fault(r.line(), "</%s> ends nothing; the last element is <%s>", rawName(token.Name), rawName(name))
			}
			return nil
		case xml.CharData:
			if !blankText(token) {
				return r.fault(r.line(), "there is text between nodes")
			}
		}
	}
}

// node reads a node element to its end.
func (r *xmlReader) node(e element) (Term, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return Term{}, r.tooDeep(e.line)
	}
	var subject Term
	local, ofRDF := strings.CutPrefix(e.name, NS)
	if ofRDF && (local == "li" || local != "Description" && noProperty[local]) {
		return subject, r.fault(e.line, "<%s> is no node", rawName(e.raw.Name))
	}
	if err := r.only(e, "about", "ID", "nodeID"); err != nil {
		return subject, err
	}
	about, isAbout := e.attr("about")
	_, isNamed := e.attr("nodeID")
	if id, ok := e.attr("ID"); ok {
		if isAbout || isNamed {
			return subject, r.fault(e.line, "<%s> has rdf:ID and another name", rawName(e.raw.Name))
		}
		var err error
		if subject, err = r.id(e, id); err != nil {
			return subject, err
		}
	} else if isAbout {
		subject = e.scope.iri(about)
	} else if label, ok := e.attr("nodeID"); ok {
		subject = r.named(label)
	} else {
		subject = r.blank()
	}
	if e.name != NS+"Description" {
		if err := r.triple(subject, NewIRI(NS+"type"), NewIRI(e.name)); err != nil {
			return subject, err
		}
	}
	if err := r.attributes(subject, e); err != nil {
		return subject, err
	}
	return subject, r.properties(subject, e)
}

// attributes adds the properties that stand as attributes.
func (r *xmlReader) attributes(subject Term, e element) error {
	for _, a := range e.attrs {
		if a.syntax() {
			continue
		}
		object := NewTagged(a.value, e.scope.lang)
		if a.space+a.local == NS+"type" {
			object = e.scope.iri(a.value)
		}
		if err := r.triple(subject, NewIRI(a.space+a.local), object); err != nil {
			return err
		}
	}
	return nil
}

// properties reads the property elements of a node, to its end.
func (r *xmlReader) properties(subject Term, e element) error {
	items := 0
	for {
		token, err := r.within(e.raw.Name)
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			p, err := r.element(token, e.scope)
			if err != nil {
				return err
			}
			if p.name == NS+"li" {
				items++
				p.name = NS + "_" + strconv.Itoa(items)
			}
			if local, ok := strings.CutPrefix(p.name, NS); ok && noProperty[local] {
				return r.fault(p.line, "<%s> is no property", rawName(p.raw.Name))
			}
			object, err := r.property(p)
			if err != nil {
				return err
			}
			if err := r.statement(subject, p, object); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		case xml.CharData:
			if !blankText(token) {
				return r.fault(r.line(), "there is text between the properties of <%s>", rawName(e.raw.Name))
			}
		}
	}
}

// statement adds a property's triple, and what is said of it if it has an ID.
func (r *xmlReader) statement(subject Term, p element, object Term) error {
	predicate := NewIRI(p.name)
	if err := r.triple(subject, predicate, object); err != nil {
		return err
	}
	id, ok := p.attr("ID")
	if !ok {
		return nil
	}
	it, err := r.id(p, id)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name  string
		value Term
	}{{"type", NewIRI(NS + "Statement")}, {"subject", subject}, {"predicate", predicate}, {"object", object}} {
		if err := r.triple(it, NewIRI(NS+part.name), part.value); err != nil {
			return err
		}
	}
	return nil
}

// property reads a property element to its end and returns its value.
func (r *xmlReader) property(p element) (Term, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return Term{}, r.tooDeep(p.line)
	}
	parse, has := p.attr("parseType")
	properties := ""
	for _, a := range p.attrs {
		if !a.syntax() {
			properties = a.local
		}
	}
	allowed := []string{"ID", "resource", "nodeID", "datatype"}
	if has {
		allowed = []string{"ID", "parseType"}
	}
	if err := r.only(p, allowed...); err != nil {
		return Term{}, err
	}
	if has && properties != "" {
		return Term{}, r.fault(p.line, "<%s> has both rdf:parseType and the property %s", rawName(p.raw.Name), properties)
	}
	switch {
	case has && parse == "Resource":
		object := r.blank()
		return object, r.properties(object, p)
	case has && parse == "Collection":
		return r.collection(p)
	case has: // Literal, and every other
		text, err := r.literal(p.raw, p.scope)
		return NewTyped(text, NS+"XMLLiteral"), err
	}
	var text []byte
	var object Term
	for {
		token, err := r.within(p.raw.Name)
		if err != nil {
			return object, err
		}
		switch token := token.(type) {
		case xml.CharData:
			text = append(text, token...)
		case xml.StartElement:
			if !object.IsZero() {
				return object, r.fault(r.line(), "<%s> has a second value", rawName(p.raw.Name))
			}
			e, err := r.element(token, p.scope)
			if err != nil {
				return object, err
			}
			if object, err = r.node(e); err != nil {
				return object, err
			}
		case xml.EndElement:
			if object.IsZero() {
				return r.value(p, string(text), properties != "")
			}
			err = r.only(p, "ID")
			if !blankText(text) {
				err = r.fault(p.line, "<%s> has both a text and a node", rawName(p.raw.Name))
			} else if err == nil && properties != "" {
				err = r.fault(p.line, "<%s> has both a node and the property %s", rawName(p.raw.Name), properties)
			}
			return object, err
		}
	}
}

// value returns what a property element without elements says.
func (r *xmlReader) value(p element, text string, properties bool) (Term, error) {
	var object Term
	resource, is := p.attr("resource")
	label, named := p.attr("nodeID")
	switch {
	case is:
		object = p.scope.iri(resource)
	case named:
		object = r.named(label)
	case properties:
		object = r.blank()
	default:
		if datatype, ok := p.attr("datatype"); ok {
			return NewTyped(text, resolve(p.scope.base, datatype)), nil
		}
		return NewTagged(text, p.scope.lang), nil
	}
	if !blankText([]byte(text)) {
		return object, r.fault(p.line, "<%s> has both a text and a resource", rawName(p.raw.Name))
	}
	return object, r.attributes(object, p)
}

// collection reads the nodes of a collection and returns its first cell.
func (r *xmlReader) collection(p element) (Term, error) {
	first, last := NewIRI(NS+"nil"), Term{}
	for {
		token, err := r.within(p.raw.Name)
		if err != nil {
			return first, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e, err := r.element(token, p.scope)
			if err != nil {
				return first, err
			}
			item, err := r.node(e)
			if err != nil {
				return first, err
			}
			cell := r.blank()
			if last.IsZero() {
				first = cell
			} else {
				err = r.triple(last, NewIRI(NS+"rest"), cell)
			}
			last = cell
			if err == nil {
				err = r.triple(cell, NewIRI(NS+"first"), item)
			}
			if err == nil && r.options.Lists {
				err = r.triple(cell, NewIRI(NS+"type"), NewIRI(NS+"List"))
			}
			if err != nil {
				return first, err
			}
		case xml.EndElement:
			if last.IsZero() {
				return first, nil
			}
			return first, r.triple(last, NewIRI(NS+"rest"), NewIRI(NS+"nil"))
		case xml.CharData:
			if !blankText(token) {
				return first, r.fault(r.line(), "there is text in a collection")
			}
		}
	}
}
