package prolog

import (
	"errors"
	"fmt"
	"strings"
)

// exception is a term that was thrown: by throw/1, or as error(What, Context) by a predicate.
type exception struct {
	term Term
	pos  int32         // of the goal
	hint func() string // what people are told beside the term, if nothing catches it; nil for nothing
}

func (e *exception) Error() string { return "exception" }

// limitError is a limit that a question has passed; no catch/3 sees it.
type limitError struct{ msg string }

func (e *limitError) Error() string { return e.msg }

var errNesting = &limitError{"a term is nested too deeply, or contains itself"}

// thrown is an error as ISO Prolog words it, with what people are told as its context.
func thrown(what Term, format string, args ...any) error {
	return &exception{term: newTerm("error", what, Atom(fmt.Sprintf(format, args...)))}
}

func typeError(kind Atom, culprit Term) error {
	return thrown(newTerm("type_error", kind, culprit), "%s is wanted, not %s", article(string(kind)), show(culprit))
}

func domainError(kind Atom, culprit Term) error {
	return thrown(newTerm("domain_error", kind, culprit), "%s is wanted, not %s", article(string(kind)), show(culprit))
}

func instantiationError() error {
	return thrown(Atom("instantiation_error"), "a variable has no value yet where one is needed")
}

func evaluationError(what Atom, format string, args ...any) error {
	return thrown(newTerm("evaluation_error", what), format, args...)
}

// wanted is the error of an argument that is not of a kind, or not known.
func wanted(kind Atom, t Term) error {
	if _, ok := t.(*Var); ok {
		return instantiationError()
	}
	return typeError(kind, t)
}

func article(noun string) string {
	switch noun {
	case "callable":
		return "a goal"
	case "evaluable":
		return "something that can be computed"
	}
	if noun != "" {
		switch noun[0] {
		case 'a', 'e', 'i', 'o', 'u':
			return "an " + noun
		}
	}
	return "a " + noun
}

// maxTold bounds what people are told of an error that a question makes itself, in bytes.
const maxTold = 10_000

// told returns what people are told of a thrown term.
func told(t Term) string {
	t = deref(t)
	if c, ok := isFunctor(t, "error", 2); ok {
		if text, ok := deref(c.args[1]).(Atom); ok {
			if len(text) > maxTold {
				return strings.ToValidUTF8(string(text[:maxTold]), "") + "…"
			}
			return string(text)
		}
		return show(c.args[0])
	}
	return "not caught: " + show(t)
}

func isLimit(err error) bool {
	var limit *limitError
	return errors.As(err, &limit)
}
