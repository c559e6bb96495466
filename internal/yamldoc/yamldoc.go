// Package yamldoc parses YAML that anybody may have written: the parser is not ours, so it is
// guarded from what would take it long or end the program.
package yamldoc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, fmt.Errorf("the YAML cannot be parsed: %w", err)
	}
	docs := 0
	for _, d := range f.Docs { // the parser has a directive, such as %YAML 1.2, as one of its own
		if _, directive := d.Body.(*ast.DirectiveNode); directive {
			continue
		}
		docs++
		body = d.Body
	}
	if docs > 1 {
		return nil, fmt.Errorf("the file holds %d YAML documents; write one", docs)
	}
	return body, nil
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
