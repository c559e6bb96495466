package rdf

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
)

func writeLines(w io.Writer, format Format, quads iter.Seq[Quad]) error {
	b := bufio.NewWriter(w)
	for q := range quads {
		terms := []Term{q.S, q.P, q.O, q.Graph}
		if format == NTriples || q.Graph.IsZero() {
			terms = terms[:3]
		}
		for _, t := range terms {
			text, err := lineTerm(t)
			if err != nil {
				return err
			}
			b.WriteString(text)
			b.WriteByte(' ')
		}
		b.WriteString(".\n")
	}
	return b.Flush()
}

// String returns the term as N-Triples has it, "" for none; what cannot be written there as it is.
func (t Term) String() string {
	text, err := lineTerm(t)
	if err != nil {
		return t.Value
	}
	return text
}

// lineTerm is a term as N-Triples has it.
func lineTerm(t Term) (string, error) {
	switch t.Kind {
	case IRI:
		return bracketed(t.Value)
	case Blank:
		return "_:" + blankLabel(t.Value), nil
	case Literal:
		text, err := quoted(t.Value)
		if err != nil {
			return "", err
		}
		if t.Lang != "" {
			if !isLang(t.Lang) {
				return "", engram.Errorf(engram.Invalid, t.Lang, "this is no language tag")
			}
			return text + "@" + t.Lang, nil
		}
		if t.Type != "" {
			datatype, err := bracketed(t.Type)
			return text + "^^" + datatype, err
		}
		return text, nil
	}
	return "", engram.Errorf(engram.Invalid, "", "a triple lacks a term")
}

// isLang says whether a text is letters, then letters and digits between
// hyphens.
func isLang(lang string) bool {
	for i, part := range strings.Split(lang, "-") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
		}) {
			return false
		}
	}
	return true
}

func bracketed(iri string) (string, error) {
	if !utf8.ValidString(iri) {
		return "", engram.Errorf(engram.Invalid, iri, "the IRI is not UTF-8")
	}
	if !strings.ContainsFunc(iri, badInIRI) {
		return "<" + iri + ">", nil
	}
	var b strings.Builder
	for _, c := range iri {
		if badInIRI(c) {
			fmt.Fprintf(&b, `\u%04X`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return "<" + b.String() + ">", nil
}

func badInIRI(c rune) bool { return c <= ' ' || strings.ContainsRune("<>\"{}|^`\\", c) }

// blankLabel makes a label that every format can write: letters and digits.
// Others are written as their code, so that labels stay apart.
func blankLabel(label string) string {
	plain := func(c byte) bool { return c != '_' && c < utf8.RuneSelf && isNameByte(c) && c != '-' }
	var b strings.Builder
	for i := 0; i < len(label); i++ {
		c := label[i]
		if plain(c) && !(i == 0 && c >= '0' && c <= '9') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

func quoted(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", engram.Errorf(engram.Invalid, "", "the text %q is not UTF-8", text)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < ' ' || c == 0x7f {
				fmt.Fprintf(&b, `\u%04X`, c)
			} else {
				b.WriteRune(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}

// names abbreviates IRIs by the longest namespace that they begin with.
type names struct {
	spaces []nameSpace // longest namespace first
}

type nameSpace struct{ prefix, iri string }

func newNames(prefixes map[string]string) *names {
	n := &names{}
	for prefix, iri := range prefixes {
		if isPrefix(prefix) && iri != "" && utf8.ValidString(iri) {
			n.spaces = append(n.spaces, nameSpace{prefix, iri})
		}
	}
	slices.SortFunc(n.spaces, func(a, b nameSpace) int {
		return cmp.Or(len(b.iri)-len(a.iri), strings.Compare(a.prefix, b.prefix))
	})
	return n
}

// isPrefix says whether a prefix can be written in all formats.
func isPrefix(prefix string) bool {
	if strings.HasPrefix(strings.ToLower(prefix), "xml") {
		return false
	}
	return prefix == "" || isPlainName(prefix) && prefix[0] != '_' && !strings.HasSuffix(prefix, ".")
}

// isPlainName says whether a text is a name of XML without colon, of ASCII.
func isPlainName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// of returns an IRI's prefix and local name, if it has both.
func (n *names) of(iri string) (prefix, local string, ok bool) {
	for _, s := range n.spaces {
		if rest, ok := strings.CutPrefix(iri, s.iri); ok && isPlainName(rest) {
			return s.prefix, rest, true
		}
	}
	return "", "", false
}

// escapesNote stands, in what is written, before the first IRI with a character that IRIs do not have, such as a blank.
// Turtle has no form for these: they are written as escapes, which are read after this comment only.
const escapesNote = `# Engram: from here on, IRIs may have escapes such as \u0020 for characters that IRIs do not have.`

func writeTurtle(w io.Writer, doc Document, quads iter.Seq[Quad]) error {
	b := bufio.NewWriter(w)
	names := newNames(doc.Prefixes)
	slices.SortFunc(names.spaces, func(a, b nameSpace) int { return strings.Compare(a.prefix, b.prefix) })
	for _, s := range names.spaces {
		iri, err := bracketed(s.iri)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "@prefix %s: %s .\n", s.prefix, iri)
	}
	names = newNames(doc.Prefixes)
	told := false
	term := func(t Term) (string, error) {
		if !told && (t.Kind == IRI && strings.ContainsFunc(t.Value, badInIRI) || strings.ContainsFunc(t.Type, badInIRI)) {
			told = true
			fmt.Fprintf(b, "\n%s\n", escapesNote)
		}
		if t.Kind == IRI {
			if prefix, local, ok := names.of(t.Value); ok && !strings.HasSuffix(local, ".") {
				return prefix + ":" + local, nil
			}
		}
		if t.Kind == Literal && t.Type != "" && t.Lang == "" {
			if prefix, local, ok := names.of(t.Type); ok && !strings.HasSuffix(local, ".") {
				text, err := quoted(t.Value)
				return text + "^^" + prefix + ":" + local, err
			}
		}
		return lineTerm(t)
	}
	var last Quad
	for q := range quads {
		var texts [3]string
		for i, t := range []Term{q.S, q.P, q.O} {
			var err error
			if texts[i], err = term(t); err != nil {
				return err
			}
		}
		if q.P.Value == NS+"type" {
			texts[1] = "a"
		}
		switch {
		case q.S != last.S:
			if !last.S.IsZero() {
				b.WriteString(" .\n")
			}
			fmt.Fprintf(b, "\n%s %s %s", texts[0], texts[1], texts[2])
		case q.P != last.P:
			fmt.Fprintf(b, " ;\n    %s %s", texts[1], texts[2])
		default:
			fmt.Fprintf(b, ", %s", texts[2])
		}
		last = q
	}
	if !last.S.IsZero() {
		b.WriteString(" .\n")
	}
	return b.Flush()
}

// writeXML writes a node per run of triples with the same subject.
func writeXML(w io.Writer, doc Document, quads iter.Seq[Quad]) error {
	b := bufio.NewWriter(w)
	used := map[string]string{} // namespace to prefix
	taken := map[string]bool{"rdf": true}
	used[NS] = "rdf"
	for _, s := range newNames(doc.Prefixes).spaces {
		if s.prefix != "" && !taken[s.prefix] && used[s.iri] == "" {
			used[s.iri], taken[s.prefix] = s.prefix, true
		}
	}
	// The prefixes stand at the root, so they are known before the first node.
	var all []Quad
	for q := range quads {
		all = append(all, q)
		if q.P.Kind != IRI {
			return engram.Errorf(engram.Invalid, q.P.Value, "a predicate is no IRI")
		}
		namespace, local, ok := splitName(q.P.Value)
		if !ok || namespace == NS && (attribute{space: NS, local: q.P.Value[len(NS):]}.syntax() || local == "RDF" || local == "Description") {
			return engram.Errorf(engram.Invalid, q.P.Value, "RDF/XML has no form for this predicate; write another format")
		}
		for n := 1; used[namespace] == ""; n++ {
			if prefix := fmt.Sprintf("ns%d", n); !taken[prefix] {
				used[namespace], taken[prefix] = prefix, true
			}
		}
	}
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rdf:RDF")
	var spaces []nameSpace
	for iri, prefix := range used {
		spaces = append(spaces, nameSpace{prefix, iri})
	}
	slices.SortFunc(spaces, func(a, b nameSpace) int { return strings.Compare(a.prefix, b.prefix) })
	for _, s := range spaces {
		iri, err := xmlText(s.iri)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n    xmlns:%s=\"%s\"", s.prefix, attrEscaper.Replace(iri))
	}
	b.WriteString(">\n")
	reference := func(t Term, about, node string) (string, error) {
		if t.Kind == Blank {
			return fmt.Sprintf(` rdf:%s="%s"`, node, blankLabel(t.Value)), nil
		}
		iri, err := xmlText(t.Value)
		return fmt.Sprintf(` rdf:%s="%s"`, about, attrEscaper.Replace(iri)), err
	}
	for i := 0; i < len(all); {
		subject := all[i].S
		attr, err := reference(subject, "about", "nodeID")
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "  <rdf:Description%s>\n", attr)
		for ; i < len(all) && all[i].S == subject; i++ {
			namespace, local, _ := splitName(all[i].P.Value)
			name := used[namespace] + ":" + local
			object := all[i].O
			if object.Kind != Literal {
				attr, err := reference(object, "resource", "nodeID")
				if err != nil {
					return err
				}
				fmt.Fprintf(b, "    <%s%s/>\n", name, attr)
				continue
			}
			for _, part := range []string{object.Value, object.Type, object.Lang} {
				if _, err := xmlText(part); err != nil {
					return err
				}
			}
			switch {
			case object.Lang != "":
				attr = fmt.Sprintf(` xml:lang="%s"`, attrEscaper.Replace(object.Lang))
			case object.Type != "":
				attr = fmt.Sprintf(` rdf:datatype="%s"`, attrEscaper.Replace(object.Type))
			default:
				attr = ""
			}
			fmt.Fprintf(b, "    <%s%s>%s</%s>\n", name, attr, textEscaper.Replace(object.Value), name)
		}
		b.WriteString("  </rdf:Description>\n")
	}
	b.WriteString("</rdf:RDF>\n")
	return b.Flush()
}

// splitName divides an IRI where its last name begins.
func splitName(iri string) (namespace, local string, ok bool) {
	i := len(iri)
	for i > 0 {
		c := iri[i-1]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			break
		}
		i--
	}
	for i < len(iri) && !isPlainName(iri[i:]) {
		i++
	}
	return iri[:i], iri[i:], i > 0 && i < len(iri)
}

// xmlText says whether XML can hold a text.
func xmlText(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", engram.Errorf(engram.Invalid, "", "the text %q is not UTF-8", text)
	}
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
			return "", engram.Errorf(engram.Invalid, "", "RDF/XML has no form for %U in the text %q; write another format", c, text)
		}
	}
	return text, nil
}
