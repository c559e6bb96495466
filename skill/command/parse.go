package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// MaxText is how many bytes a command may have.
const MaxText = 1000

// Request is a skill that an agent is to run.
type Request struct {
	Agent      string
	Skill      string
	Verb       string            // the pattern that was recognised
	Parameters map[string]string // by name
}

// Command is what was understood of a text.
type Command struct {
	Requests []Request // in the order in which they were said
	// RefersTo are the things that were named and have an ID, each once.
	RefersTo []engram.ID
}

// NotUnderstood says which words of a text have no meaning, and what could be said instead. It
// is the cause of an error of code Invalid.
type NotUnderstood struct {
	Part string   // the words
	Why  string   // a clause, such as `nobody is called "scuots"`
	Near string   // what was perhaps meant; "" if nothing is near
	Know []string // what would have been understood there, sorted
}

// Error implements error: a sentence that can be said to who spoke.
func (e *NotUnderstood) Error() string {
	s := "I did not understand: " + e.Why
	switch {
	case e.Near != "":
		s += fmt.Sprintf("; did you mean %q?", e.Near)
	case len(e.Know) > 0:
		s += "; I know " + list(e.Know, 8)
	}
	return s
}

func list(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Parse understands a text: one clause or several, each with whom it is for, a verb and
// what that takes. A clause after "and" that names nobody is for those of the clause before.
// The cause of an error is a [*NotUnderstood].
func (v *Vocabulary) Parse(text string) (*Command, error) {
	if len(text) > MaxText {
		return nil, engram.Errorf(engram.Invalid, "", "a command of %d bytes; %d are possible", len(text), MaxText)
	}
	p := parser{v: v, text: words(text), c: &Command{}}
	for len(p.text) > 0 && isBreak(p.text[0]) {
		p.text = p.text[1:]
	}
	if len(p.text) == 0 {
		return nil, refuse("", "there are no words", "", nil)
	}
	for {
		if err := p.clause(); err != nil {
			return nil, err
		}
		for len(p.text) > 0 && isBreak(p.text[0]) {
			p.text = p.text[1:]
		}
		if len(p.text) == 0 {
			return p.c, nil
		}
	}
}

func isBreak(w string) bool { return w == "," || w == "and" }

func refuse(part, why, near string, know []string) error {
	slices.Sort(know)
	e := &NotUnderstood{Part: part, Why: why, Near: near, Know: slices.Compact(know)}
	return engram.Errorf(engram.Invalid, "", "%w", e)
}

type parser struct {
	v    *Vocabulary
	text []string // what is left
	who  []*Agent // whom the present clause is for
	c    *Command
}

// clause reads one clause.
func (p *parser) clause() error {
	before := p.who
	if err := p.addressees(); err != nil {
		return err
	}
	verb, found, err := p.verb()
	if err != nil {
		return err
	}
	if p.who == nil {
		if p.who = before; before == nil {
			return refuse("", "it is not said whom it is for", "", p.v.addressable())
		}
	}
	parameters := maps.Clone(verb.Parameters)
	if parameters == nil {
		parameters = map[string]string{}
	}
	for slot, t := range found {
		parameters[slot] = t.Name
		if !t.ID.IsRoot() && !slices.Contains(p.c.RefersTo, t.ID) {
			p.c.RefersTo = append(p.c.RefersTo, t.ID)
		}
	}
	for _, a := range p.who {
		if !a.has(verb.Skill) {
			if len(p.who) > 1 {
				continue // of a group those who can
			}
			return refuse(verb.Pattern, fmt.Sprintf("%s cannot %q", a.Name, verb.Pattern), "", p.v.patterns(a))
		}
		p.c.Requests = append(p.c.Requests, Request{Agent: a.Name, Skill: verb.Skill, Verb: verb.Pattern, Parameters: maps.Clone(parameters)})
	}
	if len(p.c.Requests) == 0 {
		return refuse(verb.Pattern, fmt.Sprintf("none of them can %q", verb.Pattern), "", nil)
	}
	return nil
}

// addressees reads whom the clause is for; who is nil if it does not say.
func (p *parser) addressees() error {
	p.who = nil
	rest := p.text
	for {
		agents, n := p.v.addressed(rest)
		if n == 0 {
			break
		}
		for _, a := range agents {
			if !slices.Contains(p.who, a) {
				p.who = append(p.who, a)
			}
		}
		rest = rest[n:]
		p.text = rest
		for len(rest) > 0 && isBreak(rest[0]) {
			rest = rest[1:]
		}
		if len(p.text) > 0 && p.text[0] == "," {
			p.text = rest
		}
	}
	if p.who != nil {
		for len(p.text) > 0 && isBreak(p.text[0]) {
			p.text = p.text[1:]
		}
		if len(p.text) == 0 {
			return refuse("", "it is not said what to do", "", p.v.patterns(nil))
		}
		return nil
	}
	// "Scuots, find …": what stands before the first comma is meant to be somebody.
	if comma := slices.Index(p.text, ","); comma > 0 && comma < len(p.text)-1 {
		if n, _, _ := p.v.verbAt(p.text); n == nil {
			name := strings.Join(p.text[:comma], " ")
			known := p.v.addressable()
			return refuse(name, fmt.Sprintf("nobody is called %q", name), spelling.Nearest(name, known), known)
		}
	}
	return nil
}

// addressed returns who is called by the first words of a text, and how many words that are.
func (v *Vocabulary) addressed(text []string) (who []*Agent, n int) {
	if n = starts(text, spellings(everybody...)); n > 0 {
		for i := range v.Agents {
			who = append(who, &v.Agents[i])
		}
		return who, n
	}
	for i := range v.Agents {
		a := &v.Agents[i]
		names := append([]string{a.Name}, a.Spoken...)
		names = append(names, a.Groups...)
		switch m := starts(text, spellings(names...)); {
		case m > n:
			who, n = []*Agent{a}, m
		case m == n && m > 0:
			who = append(who, a)
		}
	}
	return who, n
}

// addressable are all names by which somebody can be called.
func (v *Vocabulary) addressable() (names []string) {
	for i := range v.Agents {
		names = append(append(names, v.Agents[i].Name), v.Agents[i].Groups...)
	}
	names = append(names, everybody[0])
	slices.Sort(names)
	return slices.Compact(names)
}

// patterns are what can be asked of an agent, or of anybody.
func (v *Vocabulary) patterns(a *Agent) (out []string) {
	for i := range v.Verbs {
		if a == nil || a.has(v.Verbs[i].Skill) {
			out = append(out, v.Verbs[i].Pattern)
		}
	}
	return out
}

// verb reads the verb of the clause and what its slots are.
func (p *parser) verb() (*Verb, map[string]*Thing, error) {
	verb, found, n := p.v.verbAt(p.text)
	if verb != nil {
		p.text = p.text[n:]
		if len(p.text) == 0 || isBreak(p.text[0]) {
			return verb, found, nil
		}
		rest := strings.Join(p.text, " ")
		return nil, nil, refuse(rest, fmt.Sprintf("after %q comes %q", verb.Pattern, rest), "", nil)
	}
	end := len(p.text)
	if i := slices.IndexFunc(p.text, isBreak); i > 0 {
		end = i
	}
	said := p.text[:end]
	// A verb whose words are there, but not what it takes, says more than none.
	for i := range p.v.Verbs {
		if e := p.v.Verbs[i].missing(p.v, said); e != nil {
			return nil, nil, e
		}
	}
	what := strings.Join(said, " ")
	known := p.v.patterns(nil)
	return nil, nil, refuse(what, fmt.Sprintf("nobody knows how to %q", what), spelling.Nearest(what, known), known)
}

// verbAt returns the verb that the first words are, the longest if there are several.
func (v *Vocabulary) verbAt(text []string) (best *Verb, found map[string]*Thing, n int) {
	for i := range v.Verbs {
		if f, m := v.Verbs[i].match(v, text); m > n {
			best, found, n = &v.Verbs[i], f, m
		}
	}
	return best, found, n
}

// slot is a part of a pattern: a word, or what takes a thing.
type slot struct{ word, parameter, kind string }

func (w *Verb) slots() (out []slot) {
	for _, f := range strings.Fields(w.Pattern) {
		if in, ok := strings.CutPrefix(f, "{"); ok {
			parameter, kind, two := strings.Cut(strings.TrimSuffix(in, "}"), ":")
			if !two {
				kind = parameter
			}
			out = append(out, slot{parameter: parameter, kind: kind})
			continue
		}
		for _, word := range words(f) {
			out = append(out, slot{word: word})
		}
	}
	return out
}

// match returns how many of the words the pattern takes; 0 if it does not fit.
func (w *Verb) match(v *Vocabulary, text []string) (map[string]*Thing, int) {
	found, n := map[string]*Thing{}, 0
	for _, s := range w.slots() {
		if s.word != "" {
			if n >= len(text) || text[n] != s.word {
				return nil, 0
			}
			n++
			continue
		}
		t, m := v.thing(s.kind, text[n:])
		if t == nil {
			return nil, 0
		}
		found[s.parameter] = t
		n += m
	}
	return found, n
}

// missing returns an error if the text begins with the words of the pattern and a slot is
// not what it should be.
func (w *Verb) missing(v *Vocabulary, text []string) error {
	n := 0
	for i, s := range w.slots() {
		if s.word != "" {
			if n >= len(text) || text[n] != s.word {
				return nil
			}
			n++
			continue
		}
		if i == 0 {
			return nil
		}
		if t, m := v.thing(s.kind, text[n:]); t != nil {
			n += m
			continue
		}
		known := v.named(s.kind)
		what := strings.Join(text[n:], " ")
		if what == "" {
			return refuse("", fmt.Sprintf("%q is not said of which %s", w.Pattern, s.kind), "", known)
		}
		return refuse(what, fmt.Sprintf("I know no %s %q", s.kind, what), spelling.Nearest(what, known), known)
	}
	return nil
}

// thing returns the thing of a kind that the first words name, by its longest name.
func (v *Vocabulary) thing(kind string, text []string) (best *Thing, n int) {
	for i := range v.Things {
		t := &v.Things[i]
		if t.Kind != kind {
			continue
		}
		if m := starts(text, spellings(append([]string{t.Name}, t.Spoken...)...)); m > n {
			best, n = t, m
		}
	}
	return best, n
}

// named are the names of the things of a kind, as people say them.
func (v *Vocabulary) named(kind string) (names []string) {
	for i := range v.Things {
		if t := &v.Things[i]; t.Kind == kind {
			names = append(names, cmp.Or(strings.Join(t.Spoken[:min(1, len(t.Spoken))], ""), t.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
