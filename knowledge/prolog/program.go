package prolog

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/knowledge"
)

//go:embed library.pl
var libraryText string

// source is a text that a program was read from. Positions in all of a program's sources are
// one sequence, like the positions of package go/token.
type source struct {
	name string
	text string
	base int32
}

func (s *source) end() int32 { return s.base + int32(len(s.text)) + 1 }

// Program is what questions may use beside facts: rules and prefixes. It is not changed while
// questions are asked.
type Program struct {
	preds    map[indicator]*pred
	prefixes *knowledge.Prefixes
	sources  []*source
}

// maxSource bounds the text of a question and of a file of rules, in bytes.
const maxSource = 16 << 20

// library is the program that every other begins with.
var library = sync.OnceValue(func() *Program {
	p := &Program{preds: map[indicator]*pred{}, prefixes: knowledge.NewPrefixes()}
	for name, do := range builtins() {
		p.preds[name] = &pred{indicator: name, do: do, library: true}
	}
	for name, do := range factPredicates() {
		p.preds[name] = &pred{indicator: name, do: do, library: true, expand: true}
	}
	for name, do := range timePredicates() {
		p.preds[name] = &pred{indicator: name, do: do, library: true, expand: name.name != "$at" && name.name != "$is_property_goal"}
	}
	if err := p.read("library", libraryText); err != nil {
		panic(err)
	}
	for i, pred := range p.preds {
		if !pred.exists() && !isControl(i) {
			panic(fmt.Sprintf("the library calls %s/%d, which does not exist", i.name, i.arity))
		}
		pred.library = true
	}
	return p
})

// NewProgram returns a program without rules of its own: the library, and the prefixes that are common.
func NewProgram() *Program {
	l := library()
	p := &Program{preds: make(map[indicator]*pred, len(l.preds)), prefixes: l.prefixes.Clone(), sources: slices.Clone(l.sources)}
	maps.Copy(p.preds, l.preds)
	return p
}

// AddPrefix has name:local stand for iri followed by local.
func (p *Program) AddPrefix(name, iri string) { p.prefixes.Add(name, iri) }

// UsePrefixes has the program use the prefixes of a view, in place of those that it had. Rules that were added before keep theirs.
func (p *Program) UsePrefixes(of *knowledge.Prefixes) { p.prefixes = of.Clone() }

// AddRules adds the clauses of a text, such as a file's. Directives that declare are
// followed; those that do something are refused. An error names the text, line and column.
func (p *Program) AddRules(name, text string) error { return p.read(name, text) }

func (p *Program) read(name, text string) error {
	if len(text) > maxSource {
		return engram.Errorf(engram.Exhausted, name, "rules of %d bytes; %d are the most", len(text), maxSource)
	}
	src := &source{name: name, text: text, base: 1}
	if n := len(p.sources); n > 0 {
		src.base = p.sources[n-1].end()
	}
	p.sources = append(p.sources, src)
	// Variables of what is read are told apart by their identity only.
	r := newReader(text, src.base, true, func() *Var { return &Var{} })
	added := map[*pred]bool{}
	for {
		t, err := r.clause(false)
		at := r.tok.at
		if err == nil && t == nil {
			for changed := range added {
				changed.reindex()
			}
			return nil
		}
		if err == nil {
			if c, ok := t.(*Compound); ok {
				at = int(c.pos - src.base)
			}
			err = p.add(t, added)
		}
		if err != nil {
			return p.located(src, at, err)
		}
	}
}

// located puts the place into an error of reading or adding a clause.
func (p *Program) located(src *source, at int, err error) error {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		at = syntax.at
	}
	var ex *exception
	if errors.As(err, &ex) {
		err = errors.New(told(ex.term))
	}
	return engram.Errorf(engram.Invalid, src.name, "%s: %s", place(src.text, at, true), err.Error())
}

// place tells a place in a text: its column, and its line if there are several.
func place(text string, at int, line bool) string {
	at = min(max(at, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	column := len([]rune(text[start:at])) + 1
	if line || strings.Contains(strings.TrimSpace(text), "\n") {
		return fmt.Sprintf("line %d, column %d", strings.Count(text[:at], "\n")+1, column)
	}
	return fmt.Sprintf("column %d", column)
}

// add adds a clause or follows a directive.
func (p *Program) add(t Term, added map[*pred]bool) error {
	if c, ok := isFunctor(t, ":-", 1); ok {
		return p.directive(c.args[0])
	}
	if _, ok := isFunctor(t, "?-", 1); ok {
		return errors.New("a file of rules asks no questions")
	}
	if _, ok := isFunctor(t, "-->", 2); ok {
		return errors.New("grammar rules (-->) are not supported")
	}
	head, body := t, Term(atomTrue)
	if c, ok := isFunctor(t, ":-", 2); ok {
		head, body = c.args[0], c.args[1]
	}
	pred, err := p.headPred(head)
	if err != nil {
		return err
	}
	if pred.expand { // as rdf_meta declares
		if head, err = p.expandKnown(head); err != nil {
			return err
		}
	}
	comp := compiler{find: p.find, expand: p.expandKnown}
	c, err := comp.clause(head, body)
	if err != nil {
		return err
	}
	pred.clauses = append(pred.clauses, c)
	added[pred] = true
	return nil
}

// headPred returns the predicate that a clause is of, if it may have clauses.
func (p *Program) headPred(head Term) (*pred, error) {
	i, err := headOf(head)
	if err != nil {
		return nil, err
	}
	found := p.find(i)
	if found.library || isControl(i) {
		return nil, redefines(i)
	}
	return found, nil
}

func redefines(i indicator) error {
	return thrown(newTerm("permission_error", Atom("modify"), Atom("static_procedure"), newTerm("/", i.name, Int(i.arity))),
		"%s/%d belongs to the language and cannot be changed; give the rule another name", i.name, i.arity)
}

func headOf(head Term) (indicator, error) {
	switch h := deref(head).(type) {
	case *Var:
		return indicator{}, instantiationError()
	case Atom:
		return indicator{h, 0}, nil
	case *Compound:
		return indicator{h.name, len(h.args)}, nil
	default:
		return indicator{}, thrown(newTerm("type_error", Atom("callable"), h), "a fact or a rule is wanted, not %s", show(h))
	}
}

// isControl tells what the compiler makes of goals by itself.
func isControl(i indicator) bool {
	switch i {
	case indicator{",", 2}, indicator{";", 2}, indicator{"|", 2}, indicator{"->", 2}, indicator{"*->", 2}, indicator{`\+`, 1}, indicator{"!", 0}, indicator{atomTrue, 0}, indicator{":-", 1}, indicator{":-", 2}:
		return true
	}
	return false
}

func (p *Program) find(i indicator) *pred {
	found, ok := p.preds[i]
	if !ok {
		found = &pred{indicator: i}
		p.preds[i] = found
	}
	return found
}

// directive follows a declaration.
func (p *Program) directive(t Term) error {
	c, ok := t.(*Compound)
	if !ok {
		return fmt.Errorf("the directive %s is not supported: rules declare, and do nothing when they are read", show(t))
	}
	switch c.name {
	case "module", "use_module", "ensure_loaded", "set_prolog_flag", "style_check", "license":
		return nil // all predicates are in one place
	case "dynamic", "discontiguous", "multifile", "table":
		return p.declare(c.args[0], func(pred *pred) { pred.defined = true })
	case "rdf_meta":
		return p.declare(c.args[0], func(pred *pred) { pred.expand = true })
	case "rdf_register_ns", "rdf_register_prefix":
		if len(c.args) >= 2 {
			name, ok1 := c.args[0].(Atom)
			iri, ok2 := c.args[1].(Atom)
			if ok1 && ok2 {
				p.AddPrefix(string(name), string(iri))
				return nil
			}
		}
	case ":": // rdf_db:rdf_register_ns(…)
		if len(c.args) == 2 {
			return p.directive(c.args[1])
		}
	case ",":
		for _, arg := range c.args {
			if err := p.directive(arg); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("the directive %s is not supported: rules declare, and do nothing when they are read", show(t))
}

// declare calls f with the predicates that name/arity or name(mode, …) list.
func (p *Program) declare(t Term, f func(*pred)) error {
	c, ok := t.(*Compound)
	if !ok {
		if t == Term(atomNil) {
			return nil
		}
		return fmt.Errorf("name/arity is wanted, not %s", show(t))
	}
	switch {
	case c.name == "," || c.name == atomDot:
		for _, arg := range c.args {
			if err := p.declare(arg, f); err != nil {
				return err
			}
		}
		return nil
	case c.name == ":" && len(c.args) == 2:
		return p.declare(c.args[1], f)
	}
	i := indicator{c.name, len(c.args)}
	if c.name == "/" && len(c.args) == 2 {
		name, ok1 := c.args[0].(Atom)
		arity, ok2 := c.args[1].(Int)
		if !ok1 || !ok2 {
			return fmt.Errorf("name/arity is wanted, not %s", show(t))
		}
		i = indicator{name, int(arity)}
	}
	found := p.find(i)
	if !found.library {
		f(found)
	}
	return nil
}

// unknown is the error of a goal whose predicate does not exist.
func (m *machine) unknown(p *pred) error {
	err := thrown(newTerm("existence_error", Atom("procedure"), newTerm("/", p.name, Int(p.arity))), "there is no predicate %.100s/%d", p.name, p.arity)
	err.(*exception).hint = func() string { return m.meant(p) }
	return err
}

// meant tells what may be meant instead of a predicate that does not exist.
func (m *machine) meant(p *pred) (hint string) {
	if why, ok := withheld[p.name]; ok {
		hint = ": " + why
	} else {
		var names []string
		arities := []string{}
		for i, other := range m.program.preds {
			if !other.exists() || strings.HasPrefix(string(i.name), "$") {
				continue
			}
			if i.name == p.name {
				arities = append(arities, fmt.Sprintf("%s/%d", i.name, i.arity))
			}
			names = append(names, string(i.name))
		}
		slices.Sort(arities)
		if len(arities) > 0 {
			hint = "; there is " + strings.Join(arities, ", ")
		} else if near := nearest(string(p.name), names); near != "" {
			hint = "; did you mean " + near + "?"
		}
	}
	return hint
}

// nearest is spelling.Nearest, with names of about the same length first: among those that are
// as near, it is meant rather than one that is a part of it.
func nearest(typed string, names []string) string {
	apart := func(name string) int { return max(len(name)-len(typed), len(typed)-len(name)) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(apart(a), apart(b)), strings.Compare(a, b)) })
	return spelling.Nearest(typed, names)
}

// withheld are predicates of Prolog systems that a question does not have, and why.
var withheld = func() map[Atom]string {
	why := map[Atom]string{}
	for names, reason := range map[string]string{
		"open close see seen tell told append read read_term read_file_to_terms load_files consult ensure_loaded exists_file exists_directory delete_file directory_files rdf_load rdf_save rdf_parse owl_parse": "questions neither read nor write files",
		"shell process_create halt getenv setenv unsetenv system thread_create thread_send_message tcp_socket http_open jpl_call jpl_new":                                                                        "questions run no programs and reach no network",
		"listing write_canonical": "a question prints by print/1, writeq/1, format/2 and portray_clause/1",
		"set_prolog_flag op set_flag prompt use_module module garbage_collect initialization": "questions do not change the system",
		"rdf_assert rdf_retractall rdf_update rdf_reset_db rdf_transaction":                   "questions change no facts",
		":-":                                  "a rule stands in a file of rules, or is asserted for one question by assertz/1",
		"flag recorda recordz recorded erase": "questions have no such variables; nb_setval/2 sets one",
	} {
		for name := range strings.FieldsSeq(names) {
			why[Atom(name)] = reason
		}
	}
	return why
}()
