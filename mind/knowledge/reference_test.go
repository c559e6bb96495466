package knowledge

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// load reads files of the reference into a graph, as SWI-Prolog does.
func load(t testing.TB, files ...string) *Graph {
	t.Helper()
	g := NewGraph()
	for i, file := range files {
		f, err := os.Open(testkit.Shared(t, "knowledge", "maps", file))
		if err != nil {
			t.Fatal(err)
		}
		_, err = rdf.Read(f, rdf.RDFXML, rdf.ReadOptions{Name: file, Base: "file:///" + file, Scope: fmt.Sprintf("f%d", i), Lists: true}, func(q rdf.Quad) error {
			g.Add(q.Triple)
			return nil
		})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// table reads a file of tab-separated values, without its header.
func table(t testing.TB, name string) [][]string {
	data, err := os.ReadFile(testkit.Shared(t, "knowledge", name))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n")[1:] {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

// node is a term of Prolog: a variable, a name or a text, or a structure.
type node struct {
	variable bool
	quoted   bool
	name     string
	args     []*node
}

// goals reads a conjunction of the predicates that the graph has; ok is false if
// the question has anything else in it.
type goals struct {
	text     string
	at       int
	anything int
	prefixes map[string]string
}

func (p *goals) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *goals) take(s string) bool {
	p.space()
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *goals) conjunction() ([]*node, bool) {
	var all []*node
	for {
		n, ok := p.term()
		if !ok {
			return nil, false
		}
		all = append(all, n)
		if !p.take(",") {
			return all, true
		}
	}
}

func (p *goals) word() string {
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			break
		}
		p.at++
	}
	return p.text[start:p.at]
}

func (p *goals) term() (*node, bool) {
	p.space()
	if p.take(`\+`) {
		if !p.take("(") {
			n, ok := p.term()
			return &node{name: `\+`, args: []*node{n}}, ok
		}
		inner, ok := p.conjunction()
		return &node{name: `\+`, args: inner}, ok && p.take(")")
	}
	var n *node
	if p.at < len(p.text) && p.text[p.at] == '\'' {
		end := strings.IndexByte(p.text[p.at+1:], '\'')
		n = &node{name: p.text[p.at+1 : p.at+1+end], quoted: true}
		p.at += end + 2
	} else {
		w := p.word()
		if w == "" {
			return nil, false
		}
		n = &node{name: w, variable: w[0] == '_' || w[0] >= 'A' && w[0] <= 'Z'}
		if w == "_" {
			p.anything++
			n.name = fmt.Sprint("_", p.anything)
		}
	}
	if strings.HasPrefix(p.text[p.at:], ":") {
		p.at++
		local, ok := p.term()
		if !ok || p.prefixes[n.name] == "" {
			return nil, false
		}
		return &node{name: p.prefixes[n.name] + local.name}, true
	}
	if !strings.HasPrefix(p.text[p.at:], "(") {
		return n, true
	}
	p.at++
	var ok bool
	if n.args, ok = p.conjunction(); !ok || !p.take(")") {
		return nil, false
	}
	return n, true
}

var predicates = []string{"rdf", "rdf_has", "rdf_reachable", "owl_has", "owl_individual_of", "owl_subclass_of", "owl_direct_subclass_of", "rdfs_individual_of", "rdfs_subclass_of", "rdfs_subproperty_of", "class_properties", "owl_restriction_on", "rdf_is_bnode", "rdf_equal", `\+`, "="}

func known(all []*node) bool {
	for _, n := range all {
		if !slices.Contains(predicates, n.name) || n.name == `\+` && !known(n.args) {
			return false
		}
	}
	return true
}

// value is what a variable has: a term, or a text that is a part of one.
type value struct {
	term rdf.Term
	text any
}

type binding map[string]value

func (b binding) term(n *node) (rdf.Term, bool) {
	if n.variable {
		v, ok := b[n.name]
		return v.term, !ok || v.term.Kind != 0
	}
	return rdf.NewIRI(n.name), true
}

func (b binding) with(name string, v value) (binding, bool) {
	if old, ok := b[name]; ok {
		return b, reflect.DeepEqual(old, v)
	}
	out := binding{name: v}
	for n, v := range b {
		out[n] = v
	}
	return out, true
}

// pattern reads literal(...) and returns what binds its variables.
func (b binding) pattern(n *node) (Pattern, func(rdf.Term, binding) (binding, bool)) {
	var p Pattern
	what := n.args[len(n.args)-1]
	if len(n.args) == 2 {
		p.Text = n.args[0].args[0].name
		p.Match = map[string]TextMatch{"like": Like, "exact": Exact, "prefix": Prefix, "substring": Substring, "word": Word, "plain": Same}[n.args[0].name]
		if n.args[0].name == "plain" {
			p.Qualifier = Plain
		}
	}
	text := what
	qualified := ""
	if len(what.args) == 2 {
		text = what.args[1]
		p.Qualifier = Typed
		to := &p.Type
		if what.name == "lang" {
			p.Qualifier = Tagged
			to = &p.Lang
		}
		if v, ok := b[what.args[0].name]; what.args[0].variable && ok {
			*to = v.text.(string)
		} else if !what.args[0].variable {
			*to = what.args[0].name
		} else {
			qualified = what.args[0].name
		}
	}
	if len(n.args) == 1 {
		if v, ok := b[text.name]; text.variable && ok {
			p.Match, p.Text = Same, v.text.(string)
		} else if !text.variable {
			p.Match, p.Text = Same, text.name
		}
	}
	return p, func(t rdf.Term, b binding) (binding, bool) {
		ok := true
		if qualified != "" {
			if b, ok = b.with(qualified, value{text: t.Type + t.Lang}); !ok {
				return b, false
			}
		}
		if !text.variable {
			return b, true
		}
		var whole any = t.Value
		if len(what.args) == 0 && t.Type != "" {
			whole = map[string]any{"type": t.Type, "value": t.Value}
		} else if len(what.args) == 0 && t.Lang != "" {
			whole = map[string]any{"lang": t.Lang, "value": t.Value}
		}
		return b.with(text.name, value{text: whole})
	}
}

func solve(g *Graph, all []*node, b binding, yield func(binding) bool) bool {
	if len(all) == 0 {
		return yield(b)
	}
	n, rest := all[0], all[1:]
	bind := func(pairs ...any) bool { // node, term, node, term …
		next, ok := b, true
		for i := 0; ok && i < len(pairs); i += 2 {
			n, t := pairs[i].(*node), pairs[i+1].(rdf.Term)
			if n.variable {
				next, ok = next.with(n.name, value{term: t})
			} else {
				ok = n.name == t.Value
			}
		}
		return !ok || solve(g, rest, next, yield)
	}
	if n.name == `\+` {
		if !solve(g, n.args, b, func(binding) bool { return false }) {
			return true
		}
		return solve(g, rest, b, yield)
	}
	var terms [3]rdf.Term
	for i, a := range n.args {
		if a.name == "literal" || n.name == "owl_restriction_on" && i == 1 {
			continue
		}
		var ok bool
		if terms[i], ok = b.term(a); !ok {
			return true
		}
	}
	switch n.name {
	case "rdf_is_bnode":
		return terms[0].Kind != rdf.Blank || solve(g, rest, b, yield)
	case "rdf_equal":
		return terms[0] != terms[1] || solve(g, rest, b, yield)
	case "owl_restriction_on":
		property, facet := n.args[1].args[0], n.args[1].args[1]
		for it := range g.RestrictionOn(terms[0]) {
			if it.Facet != map[string]Facet{"has_value": HasValue, "some_values_from": SomeValuesFrom, "all_values_from": AllValuesFrom}[facet.name] {
				continue
			}
			if !bind(property, it.Property, facet.args[0], it.Value) {
				return false
			}
		}
		return true
	}
	if len(n.args) == 2 {
		ask := map[string]func(a, b rdf.Term) func(func(a, b rdf.Term) bool){
			"owl_individual_of":      func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.IndividualOf(a, b) },
			"owl_subclass_of":        func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.SubclassOf(a, b) },
			"owl_direct_subclass_of": func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.DirectSubclassOf(a, b) },
			"rdfs_individual_of":     func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.RDFSIndividualOf(a, b) },
			"rdfs_subclass_of":       func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.RDFSSubclassOf(a, b) },
			"rdfs_subproperty_of":    func(a, b rdf.Term) func(func(a, b rdf.Term) bool) { return g.RDFSSubpropertyOf(a, b) },
		}[n.name]
		for x, y := range ask(terms[0], terms[1]) {
			if !bind(n.args[0], x, n.args[1], y) {
				return false
			}
		}
		return true
	}
	if object := n.args[2]; object.name == "literal" {
		ask := map[string]func(s, p rdf.Term, o Pattern) func(func(rdf.Triple) bool){
			"rdf":     func(s, p rdf.Term, o Pattern) func(func(rdf.Triple) bool) { return g.MatchLiteral(s, p, o) },
			"rdf_has": func(s, p rdf.Term, o Pattern) func(func(rdf.Triple) bool) { return g.HasLiteral(s, p, o) },
			"owl_has": func(s, p rdf.Term, o Pattern) func(func(rdf.Triple) bool) { return g.OWLHasLiteral(s, p, o) },
		}[n.name]
		pattern, bound := b.pattern(object)
		for t := range ask(terms[0], terms[1], pattern) {
			next, ok := bound(t.O, b)
			if !ok {
				continue
			}
			before := b
			b = next
			goOn := bind(n.args[0], t.S, n.args[1], t.P)
			b = before
			if !goOn {
				return false
			}
		}
		return true
	}
	ask := map[string]func(s, p, o rdf.Term) func(func(rdf.Triple) bool){
		"rdf":           func(s, p, o rdf.Term) func(func(rdf.Triple) bool) { return g.Match(s, p, o) },
		"rdf_has":       func(s, p, o rdf.Term) func(func(rdf.Triple) bool) { return g.Has(s, p, o) },
		"rdf_reachable": func(s, p, o rdf.Term) func(func(rdf.Triple) bool) { return g.Reachable(s, p, o) },
		"owl_has":       func(s, p, o rdf.Term) func(func(rdf.Triple) bool) { return g.OWLHas(s, p, o) },
		"class_properties": func(s, p, o rdf.Term) func(func(rdf.Triple) bool) {
			return g.ClassProperties(s, p)
		},
	}[n.name]
	for t := range ask(terms[0], terms[1], terms[2]) {
		if !bind(n.args[0], t.S, n.args[1], t.P, n.args[2], t.O) {
			return false
		}
	}
	return true
}

// row is a binding as the reference writes it.
func (b binding) row() map[string]any {
	out := map[string]any{}
	for name, v := range b {
		if name[0] == '_' {
			continue
		}
		switch t := v.term; {
		case t.Kind == 0:
			out[name] = v.text
		case t.Kind != rdf.Literal:
			out[name] = t.Value
		case t.Type != "":
			out[name] = map[string]any{"literal": t.Value, "type": t.Type}
		case t.Lang != "":
			out[name] = map[string]any{"literal": t.Value, "lang": t.Lang}
		default:
			out[name] = map[string]any{"literal": t.Value}
		}
	}
	return out
}

// The questions of the reference that need no more of Prolog than conjunction
// and negation have the answers that SWI-Prolog gave.
func TestAnswersOfTheReference(t *testing.T) {
	prefixes := map[string]string{}
	for _, row := range table(t, "prefixes.tsv") {
		prefixes[row[0]] = row[1]
	}
	graphs := map[string]*Graph{}
	asked := 0
	for _, row := range table(t, "queries.tsv") {
		id, files, question, answers := row[0], row[2], row[3], row[7]
		p := &goals{text: question, prefixes: prefixes}
		all, ok := p.conjunction()
		if !ok || p.at < len(p.text) || !known(all) {
			continue
		}
		asked++
		g := graphs[files]
		if g == nil {
			g = load(t, strings.Fields(files)...)
			graphs[files] = g
		}
		var want []map[string]any
		if err := json.Unmarshal([]byte(answers), &want); err != nil {
			t.Fatal(err)
		}
		var got []map[string]any
		solve(g, all, binding{}, func(b binding) bool {
			row := b.row()
			if !slices.ContainsFunc(got, func(known map[string]any) bool { return reflect.DeepEqual(known, row) }) {
				got = append(got, row)
			}
			return true
		})
		if a, b := sorted(got), sorted(want); !slices.Equal(a, b) {
			t.Errorf("%s: %s\n  got %s\n want %s", id, question, strings.Join(a, "\n      "), strings.Join(b, "\n      "))
		}
	}
	if asked < 50 {
		t.Errorf("only %d questions were asked", asked)
	}
	t.Logf("%d questions", asked)
}

func sorted(rows []map[string]any) []string {
	var out []string
	for _, row := range rows {
		text, _ := json.Marshal(row)
		out = append(out, string(text))
	}
	slices.Sort(out)
	return out
}
