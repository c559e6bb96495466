package prolog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// maxCompletions is how many words Complete returns at most.
const maxCompletions = 200

// Complete returns the words that may stand where a question ends, sorted, and where in it the
// word begins that they replace: predicates, prefixes, and after a prefix names of the facts.
func (p *Program) Complete(v *knowledge.View, question string) (from int, words []string) {
	from = len(question)
	quoted := false
	for from > 0 {
		r, n := utf8.DecodeLastRuneInString(question[:from])
		switch {
		case r == '\'' && from > 1 && question[from-2] == ':': // knowrob:'Do
			quoted = true
		case quoted && r == '\'' || !isAlnum(r) && r != ':' && r != '-' && r != '.':
			return from, p.completions(v, question[from:])
		}
		from -= n
	}
	return from, p.completions(v, question)
}

func (p *Program) completions(v *knowledge.View, word string) []string {
	found := map[string]bool{}
	if prefix, local, ok := strings.Cut(word, ":"); ok {
		namespace, known := p.prefixes.IRI(prefix)
		if !known {
			return nil
		}
		begin := namespace + strings.TrimPrefix(local, "'")
		take := func(t rdf.Term) bool {
			if t.Kind == rdf.IRI && strings.HasPrefix(t.Value, begin) {
				found[prefix+":"+quoteAtom(t.Value[len(namespace):])] = true
			}
			return len(found) < maxCompletions
		}
		for s := range v.RDFSIndividualOf(rdf.Term{}, rdf.NewIRI(rdf.NSRDFS+"Resource")) {
			if !take(s) {
				break
			}
		}
		for s := range v.Predicates() {
			if !take(s) {
				break
			}
		}
	} else if word != "" {
		for i, pred := range p.preds {
			name := string(i.name)
			if pred.exists() && strings.HasPrefix(name, word) && i.arity > 0 {
				found[name+"("] = true
			}
		}
		for prefix := range p.prefixes.All() {
			if strings.HasPrefix(prefix, word) {
				found[prefix+":"] = true
			}
		}
	}
	words := make([]string, 0, len(found))
	for w := range found {
		words = append(words, w)
	}
	slices.Sort(words)
	return words[:min(len(words), maxCompletions)]
}
