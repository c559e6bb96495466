package knowledge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// common are prefixes that stand for the same everywhere, by name. Those of the W3C and of ours are fixed; others mean what
// documents say that declare them.
var common = []struct {
	prefix, iri string
	fixed       bool
}{
	{"rdf", rdf.NS, true},
	{"rdfs", rdf.NSRDFS, true},
	{"owl", rdf.NSOWL, true},
	{"xsd", rdf.NSXSD, true},
	{"engram", "https://engram.dev/ontology#", true},
	{"world", "https://engram.dev/world#", true},
	{"knowrob", "http://knowrob.org/kb/knowrob.owl#", false},
	{"property", "https://engram.dev/property#", false},
	{"roboearth", "http://www.roboearth.org/kb/roboearth.owl#", false},
	{"srdl2", "http://knowrob.org/kb/srdl2.owl#", false},
	{"srdl2cap", "http://knowrob.org/kb/srdl2-cap.owl#", false},
	{"srdl2comp", "http://knowrob.org/kb/srdl2-comp.owl#", false},
	{"state", "https://engram.dev/state#", false},
	{"swrl", "http://www.w3.org/2003/11/swrl#", false},
	{"swrlb", "http://www.w3.org/2003/11/swrlb#", false},
	{"time", "https://engram.dev/time#", false},
}

// Prefixes say what prefix:local stands for. nil has the common ones.
type Prefixes struct {
	known   map[string]string
	order   []string            // of two that stand for the same, the first shortens
	several map[string][]string // what documents say of prefixes that are not known, sorted
}

// A Document has prefixes: "" is the default one.
type Document struct {
	Name     string // such as a file's, without its extension
	Prefixes map[string]string
}

// NewPrefixes returns the common prefixes and those of documents. One that documents say different things of is none. A
// document's default prefix has the document's name, too, if nothing else shortens what it stands for.
func NewPrefixes(documents ...Document) *Prefixes {
	p := &Prefixes{known: map[string]string{}, several: map[string][]string{}}
	declared, defaults := map[string][]string{}, map[string][]string{}
	say := func(said map[string][]string, prefix, iri string) {
		if iri != "" && !slices.Contains(said[prefix], iri) {
			said[prefix] = append(said[prefix], iri)
		}
	}
	for _, d := range documents {
		for prefix, iri := range d.Prefixes {
			say(declared, prefix, iri)
		}
		if name := prefixOf(d.Name); name != "" {
			iri := d.Prefixes[""]
			if begin, twice := strings.CutSuffix(iri, "##"); twice { // RoboEarth's files have xmlns="&map;#", where the entity ends with #
				iri = begin + "#"
			}
			say(defaults, name, iri)
		}
	}
	for _, c := range common {
		if said := declared[c.prefix]; c.fixed || len(said) != 1 {
			p.add(c.prefix, c.iri)
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(declared)) {
		p.declare(prefix, declared[prefix])
	}
	shortened := map[string]bool{} // what prefixes stand for
	for prefix, iri := range p.known {
		shortened[iri] = shortened[iri] || prefix != ""
	}
	for _, prefix := range slices.Sorted(maps.Keys(defaults)) {
		if iris := defaults[prefix]; len(iris) > 1 || !shortened[iris[0]] {
			p.declare(prefix, iris)
			shortened[p.known[prefix]] = true
		}
	}
	return p
}

// declare has a prefix stand for the one that documents say, if it stands for nothing yet.
func (p *Prefixes) declare(prefix string, iris []string) {
	slices.Sort(iris)
	_, known := p.known[prefix]
	switch {
	case known || p.several[prefix] != nil:
	case len(iris) > 1:
		p.several[prefix] = iris
	default:
		p.add(prefix, iris[0])
	}
}

// prefixOf returns the prefix that a document's name gives: letters, digits and _, of which the first is a small letter; "" if
// it begins otherwise.
func prefixOf(name string) string {
	prefix := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name)
	if prefix == "" || prefix[0] == '_' || prefix[0] <= '9' {
		return ""
	}
	return strings.ToLower(prefix[:1]) + prefix[1:]
}

var ofNoDocument = NewPrefixes()

func (p *Prefixes) orCommon() *Prefixes {
	if p == nil {
		return ofNoDocument
	}
	return p
}

// Clone returns prefixes that change on their own.
func (p *Prefixes) Clone() *Prefixes {
	p = p.orCommon()
	return &Prefixes{known: maps.Clone(p.known), order: slices.Clone(p.order), several: maps.Clone(p.several)}
}

// Add has a prefix stand for the beginning of IRIs, whatever it stood for before. It shortens before others.
func (p *Prefixes) Add(prefix, iri string) {
	p.order = slices.DeleteFunc(p.order, func(other string) bool { return other == prefix })
	p.order = slices.Insert(p.order, 0, prefix)
	p.known[prefix] = iri
}

func (p *Prefixes) add(prefix, iri string) {
	p.order = append(p.order, prefix)
	p.known[prefix] = iri
}

// IRI returns the beginning of IRIs that a prefix stands for.
func (p *Prefixes) IRI(prefix string) (iri string, known bool) {
	iri, known = p.orCommon().known[prefix]
	return iri, known
}

// All returns prefixes and the beginnings of IRIs that they stand for.
func (p *Prefixes) All() map[string]string { return maps.Clone(p.orCommon().known) }

// Shorten returns the prefix and the local name of an IRI, by the longest beginning; "" and the IRI if no prefix other than
// the default one has it.
func (p *Prefixes) Shorten(iri string) (prefix, local string) {
	p = p.orCommon()
	longest := 0
	for _, name := range p.order {
		if begin := p.known[name]; name != "" && len(begin) > longest && strings.HasPrefix(iri, begin) {
			prefix, longest = name, len(begin)
		}
	}
	return prefix, iri[longest:]
}

// A PrefixError is the cause of an error about a prefix that stands for nothing, or for several.
type PrefixError struct {
	Prefix  string
	Several []string // what documents say that it stands for, sorted; none if nobody does
	Near    []string // prefixes that may be meant, the nearest first
}

// Error says what is wrong and what to do.
func (e *PrefixError) Error() string {
	switch {
	case len(e.Several) > 0 && e.Prefix == "":
		return fmt.Sprintf("documents say that the default prefix stands for %s; give another one, or the name alone", strings.Join(e.Several, " or "))
	case len(e.Several) > 0:
		return fmt.Sprintf("documents say that the prefix %s stands for %s; --prefix %s=IRI says which", e.Prefix, strings.Join(e.Several, " or "), e.Prefix)
	case e.Prefix == "":
		return "there is no default prefix, as :Cup has; give another one, or the name alone"
	}
	hint := ""
	if len(e.Near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("there is no prefix %s%s (--prefix %s=IRI says what it stands for)", e.Prefix, hint, e.Prefix)
}

// Unknown returns the error of a prefix that stands for no beginning of IRIs, with others that may be meant.
func (p *Prefixes) Unknown(prefix string) *PrefixError {
	const most = 3
	p = p.orCommon()
	e := &PrefixError{Prefix: prefix, Several: p.several[prefix]}
	rest := slices.Collect(maps.Keys(p.known))
	spelling.Sort(prefix, rest)
	for len(e.Near) < most {
		near := spelling.Nearest(prefix, rest)
		if near == "" {
			break
		}
		e.Near = append(e.Near, near)
		rest = slices.DeleteFunc(rest, func(name string) bool { return name == near })
	}
	return e
}
