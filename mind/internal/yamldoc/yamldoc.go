// Package yamldoc parses YAML that anybody may have written: the parser is not ours, so it is
// guarded from what would take it long or end the program.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxDepth bounds how deeply lists and mappings nest.
const MaxDepth = 100

// Parse returns the one document of a text, whose length the caller bounds: it takes some hundred
// times as much main memory. Errors name the line, and have no code.
func Parse(b []byte) (body ast.Node, err error) {
	if line := nestsTooDeeply(b); line > 0 {
		return nil, fmt.Errorf("line %d: lists and mappings nest more than %d deep", line, MaxDepth)
	}
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, fmt.Errorf("the YAML cannot be parsed: %v", p)
		}
	}()
	f, err := parser.ParseBytes(withoutDirectives(b), 0)
	if err != nil {
		return nil, fmt.Errorf("the YAML cannot be parsed: %w", err)
	}
	if len(f.Docs) > 1 {
		return nil, fmt.Errorf("the file holds %d YAML documents; write one", len(f.Docs))
	}
	if len(f.Docs) == 1 {
		body = f.Docs[0].Body
	}
	return body, nil
}

// Syntax returns the line and the message of an error of [Parse], without the lines around it; 0 where that is not known.
func Syntax(err error) (line int, message string) {
	at, ok := errors.AsType[interface {
		error
		GetMessage() string
		GetToken() *token.Token
	}](err)
	if !ok || at.GetToken() == nil || at.GetToken().Position == nil {
		return 0, err.Error()
	}
	return at.GetToken().Position.Line, at.GetMessage()
}

// withoutDirectives returns a text whose directives, such as %YAML 1.2, are comments, and which has no
// byte order mark: the parser takes a directive for a document of its own, and knows one at most.
func withoutDirectives(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	var found []int
	at := 0
	for line := range bytes.Lines(b) {
		switch word := bytes.TrimSpace(line); {
		case line[0] == '%':
			found = append(found, at)
		case len(found) > 0 && bytes.HasPrefix(word, []byte("---")):
			b = bytes.Clone(b)
			for _, i := range found {
				b[i] = '#'
			}
			return b
		case len(word) > 0 && word[0] != '#':
			return b
		}
		at += len(line)
	}
	return b
}

// Errorf returns an error about a node, with its line.
func Errorf(n ast.Node, format string, args ...any) error {
	if line := Line(n); line > 0 {
		format = fmt.Sprintf("line %d: %s", line, format)
	}
	return fmt.Errorf(format, args...)
}

// Line returns the line that a node begins in; 0 if that is not known.
func Line(n ast.Node) int {
	if n == nil {
		return 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// nestsTooDeeply returns the first line with more open brackets, more list marks
// at its beginning, or more tags and anchors one after the other than anything
// sensible has; 0 if there is none. It guards the parser, which descends as deeply as its
// input does.
func nestsTooDeeply(b []byte) (line int) {
	const limit = 10 * MaxDepth // brackets may stand in texts
	open, tags := 0, 0
	for text := range bytes.Lines(b) {
		line++
		if len(text)-len(bytes.TrimLeft(text, " ")) > limit {
			return line
		}
		marks := 0
		for word := range bytes.FieldsSeq(text) {
			if marks >= 0 && len(word) == 1 && strings.IndexByte("-?:", word[0]) >= 0 {
				marks++
			} else if marks > limit {
				return line
			} else {
				marks = -1
			}
			if word[0] != '!' && word[0] != '&' {
				tags = 0
			} else if tags++; tags > MaxDepth {
				return line
			}
		}
		if marks > limit {
			return line
		}
		for _, c := range text {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			if open > limit {
				return line
			}
		}
	}
	return 0
}
