package pattern

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A NameError is the cause of an error about a name that no thing of the view has, or several.
type NameError struct {
	Name       string
	Role       string   // what was looked for: property, class or thing
	Candidates []string // IRIs of those that have the name, sorted; none if nothing has it
	Nearest    string   // the name that may be meant, if nothing has this one
}

// Error says what is wrong and what to do.
func (e *NameError) Error() string {
	switch {
	case len(e.Candidates) > 0:
		return fmt.Sprintf("several have the name %s: %s; give one as <iri> or prefix:%s", e.Name, strings.Join(e.Candidates, ", "), e.Name)
	case e.Nearest != "":
		return fmt.Sprintf("there is no %s %s; did you mean %s?", e.Role, e.Name, e.Nearest)
	}
	return fmt.Sprintf("there is no %s %s", e.Role, e.Name)
}

type role uint8

const (
	asThing role = iota
	asProperty
	asClass
)

func (r role) String() string { return [...]string{"thing", "property", "class"}[r] }

// datatypes are those of XML Schema that local names stand for where nothing else has them.
var datatypes = []string{
	"string", "boolean", "decimal", "integer", "double", "float", "date", "time", "dateTime", "duration", "anyURI",
	"long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger",
	"unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
}

// names finds what names mean in a view.
type names struct {
	view     *knowledge.View
	cursor   *knowledge.Cursor
	prefixes *knowledge.Prefixes
	computed map[string]bool
	local    map[string][]string // IRIs by the local names that are asked for; nil before they are
	wanted   map[string]bool
	prefixed [][2]string // prefixes and names after them, as they were typed
}

func newNames(v *knowledge.View, c *knowledge.Cursor, prefixes *knowledge.Prefixes) *names {
	n := &names{view: v, cursor: c, prefixes: prefixes, computed: map[string]bool{}, wanted: map[string]bool{}}
	if v.Computed != nil {
		for iri := range v.Computed.Properties() {
			n.computed[iri] = true
		}
	}
	return n
}

// want says that a name will be asked for.
func (n *names) want(t Term) {
	if t.kind == named && !strings.Contains(t.text, ":") {
		n.wanted[t.text] = true
	}
}

// localName returns what follows the last # or / of an IRI.
func localName(iri string) string {
	for i := len(iri) - 1; i >= 0; i-- {
		if iri[i] == '#' || iri[i] == '/' {
			return iri[i+1:]
		}
	}
	return iri[strings.LastIndexByte(iri, ':')+1:]
}

// look finds all that have the wanted names, in one go.
func (n *names) look() {
	n.local = map[string][]string{}
	if len(n.wanted) == 0 {
		return
	}
	seen := map[string]bool{}
	add := func(iri string) {
		name := localName(iri)
		if plain, err := url.PathUnescape(name); err == nil && !n.wanted[name] {
			name = plain
		}
		if n.wanted[name] && !seen[iri] {
			seen[iri] = true
			n.local[name] = append(n.local[name], iri)
		}
	}
	wanted := slices.Collect(maps.Keys(n.wanted))
	encoded := slices.ContainsFunc(wanted, func(name string) bool { return url.PathEscape(name) != name })
	n.cursor.IRIs(func(_ knowledge.ID, iri string) bool {
		if encoded && strings.IndexByte(iri, '%') >= 0 {
			add(iri)
			return true
		}
		for _, name := range wanted {
			if strings.HasSuffix(iri, name) { // most have none: quicker than to look for their local names
				add(iri)
			}
		}
		return true
	})
	for iri := range n.computed {
		add(iri)
	}
	for _, name := range everyday[:3] {
		add(rdf.NSRDFS + name)
	}
	for _, iris := range n.local {
		slices.Sort(iris)
	}
}

// iri returns what a name means.
func (n *names) iri(name string, as role) (string, error) {
	if prefix, local, ok := strings.Cut(name, ":"); ok {
		begin, known := n.prefixes.IRI(prefix)
		if !known {
			return "", n.prefixes.Unknown(prefix)
		}
		n.prefixed = append(n.prefixed, [2]string{prefix, local})
		return begin + local, nil
	}
	if as == asProperty && (name == "a" || name == "type") {
		return rdf.NS + "type", nil
	}
	if n.local == nil {
		n.look()
	}
	all := n.local[name]
	fit := slices.DeleteFunc(slices.Clone(all), func(iri string) bool { return !n.fits(iri, as) })
	if len(fit) > 1 {
		standard := as == asProperty && slices.Contains(everyday, name)
		meant := slices.DeleteFunc(slices.Clone(fit), func(iri string) bool { return isStandard(iri) != standard })
		if len(meant) > 0 {
			fit = meant
		}
	}
	if len(fit) > 1 && as == asProperty { // what something has, before what is only declared
		used := slices.DeleteFunc(slices.Clone(fit), func(iri string) bool {
			return !n.computed[iri] && n.cursor.Count(0, n.cursor.ID(rdf.NewIRI(iri)), 0, 1) == 0
		})
		if len(used) > 0 {
			fit = used
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return "", &NameError{Name: name, Role: as.String(), Candidates: fit}
	case as == asClass && slices.Contains(datatypes, name):
		return rdf.NSXSD + name, nil
	}
	return "", &NameError{Name: name, Role: as.String(), Nearest: n.nearest(name, as)}
}

// everyday are properties of RDFS and OWL that are meant by their names whoever else has these. Of
// their other names, such as Container, those of others are meant.
var everyday = []string{"label", "comment", "seeAlso", "subClassOf", "subPropertyOf", "domain", "range", "sameAs", "inverseOf"}

func isStandard(iri string) bool {
	return strings.HasPrefix(iri, rdf.NS) || strings.HasPrefix(iri, rdf.NSRDFS) || strings.HasPrefix(iri, rdf.NSOWL)
}

// usedAs are properties whose subjects and objects are properties or classes.
var usedAs = map[role]struct{ subjects, objects []string }{
	asProperty: {
		[]string{rdf.NSRDFS + "subPropertyOf", rdf.NSRDFS + "domain", rdf.NSRDFS + "range", rdf.NSOWL + "inverseOf"},
		[]string{rdf.NSRDFS + "subPropertyOf", rdf.NSOWL + "inverseOf", rdf.NSOWL + "onProperty"},
	},
	asClass: {
		[]string{rdf.NSRDFS + "subClassOf", rdf.NSOWL + "equivalentClass"},
		[]string{rdf.NSRDFS + "subClassOf", rdf.NSRDFS + "domain", rdf.NSRDFS + "range", rdf.NS + "type", rdf.NSOWL + "someValuesFrom", rdf.NSOWL + "allValuesFrom"},
	},
}

// metaclasses are the classes of properties and of classes.
var metaclasses = map[role][]string{
	asProperty: {
		rdf.NS + "Property", rdf.NSOWL + "ObjectProperty", rdf.NSOWL + "DatatypeProperty", rdf.NSOWL + "AnnotationProperty",
		rdf.NSOWL + "TransitiveProperty", rdf.NSOWL + "SymmetricProperty", rdf.NSOWL + "FunctionalProperty", rdf.NSOWL + "InverseFunctionalProperty",
	},
	asClass: {rdf.NSOWL + "Class", rdf.NSRDFS + "Class", rdf.NSRDFS + "Datatype"},
}

// fits says whether the view knows an IRI in a role.
func (n *names) fits(iri string, as role) bool {
	if as == asThing {
		return true
	}
	first := localName(iri)
	if isStandard(iri) && first != "" {
		return (first[0] >= 'A' && first[0] <= 'Z') == (as == asClass) // as these vocabularies are written
	}
	if as == asProperty && n.computed[iri] {
		return true
	}
	c := n.cursor
	it := c.ID(rdf.NewIRI(iri))
	has := func(s knowledge.ID, p string, o knowledge.ID) bool {
		return c.Count(s, c.ID(rdf.NewIRI(p)), o, 1) > 0
	}
	if as == asProperty && c.Count(0, it, 0, 1) > 0 {
		return true
	}
	for _, p := range usedAs[as].subjects {
		if has(it, p, 0) {
			return true
		}
	}
	for _, p := range usedAs[as].objects {
		if has(0, p, it) {
			return true
		}
	}
	for _, class := range metaclasses[as] {
		if c.Count(it, knowledge.IDType, c.ID(rdf.NewIRI(class)), 1) > 0 {
			return true
		}
	}
	return false
}

// maxCompared bounds with how many names a wrong one is compared.
const maxCompared = 20_000

// Unheard says of which names with a prefix nothing is known, and which may be meant, as [knowledge.View.UnheardOf] does.
func (c *Compiled) Unheard(v *knowledge.View) []string {
	return v.UnheardOf(c.prefixes, func(yield func(prefix, local string) bool) {
		for _, name := range c.prefixed {
			if !yield(name[0], name[1]) {
				return
			}
		}
	})
}

func (n *names) nearest(name string, as role) string {
	seen := map[string]bool{}
	var all []string
	add := func(iri string) bool {
		local := localName(iri)
		if d := len(local) - len(name); d <= 3+len(name)/2 && -d <= 3+len(name)/2 && !seen[local] && n.fits(iri, as) {
			seen[local] = true
			all = append(all, local)
		}
		return len(all) < maxCompared
	}
	for iri := range n.computed {
		add(iri)
	}
	for _, local := range []string{"label", "comment"} {
		add(rdf.NSRDFS + local)
	}
	for _, iri := range n.cursor.IRIs {
		if !add(iri) {
			break
		}
	}
	off := func(local string) int { return max(len(local)-len(name), len(name)-len(local)) }
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(off(a), off(b)), cmp.Compare(a, b)) })
	return spelling.Nearest(name, all) // of equally near ones the first
}
