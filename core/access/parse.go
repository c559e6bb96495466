package access

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/seed-301d4374/engram"
)

// MaxFile is the size of the largest file of rules, in bytes.
const MaxFile = 8 << 20

// Parse reads a file of access rules:
//
//	rules:
//	  - allow: [read, subscribe]
//	    to: planner
//	    on: Object
//	  - deny: read
//	    to: ["guest*", anonymous]
//	    on: [Vision/*/Bedroom, "Speech"]
//	revoked:
//	  - identity: old-laptop
//	    at: 2026-11-20 16:00
//	    why: stolen
//	  - serial: 5f3a9c
//
// The error is Invalid or Exhausted and names the line.
func Parse(text []byte) (Policy, error) {
	if len(text) > MaxFile {
		return Policy{}, engram.Errorf(engram.Exhausted, "", "the rules have %d bytes; at most %d are allowed", len(text), MaxFile)
	}
	doc, err := parseYAML(text)
	if err != nil {
		return Policy{}, err
	}
	var p Policy
	entries, err := doc.mapping()
	if err != nil {
		return Policy{}, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.key] {
			return Policy{}, e.errorf("%q is there twice", e.key)
		}
		seen[e.key] = true
		items, err := e.value.sequence()
		if err != nil {
			return Policy{}, err
		}
		for _, item := range items {
			switch e.key {
			case "rules":
				r, err := parseRule(item)
				if err != nil {
					return Policy{}, err
				}
				p.Rules = append(p.Rules, r)
			case "revoked":
				r, err := parseRevocation(item)
				if err != nil {
					return Policy{}, err
				}
				p.Revoked = append(p.Revoked, r)
			}
		}
		if e.key != "rules" && e.key != "revoked" {
			return Policy{}, e.errorf("there are \"rules\" and \"revoked\", but no %.64q", e.key)
		}
	}
	if _, err := Compile(p); err != nil {
		return Policy{}, err
	}
	return p, nil
}

func parseRule(n value) (Rule, error) {
	r := Rule{Line: n.line}
	entries, err := n.mapping()
	if err != nil {
		return r, err
	}
	verb := ""
	seen := map[string]bool{}
	for _, e := range entries {
		texts, err := e.value.texts()
		if err != nil {
			return r, err
		}
		if seen[e.key] {
			return r, e.errorf("%q is there twice", e.key)
		}
		seen[e.key] = true
		switch e.key {
		case "allow", "deny":
			if verb != "" {
				return r, e.errorf("a rule allows or denies, not both")
			}
			verb, r.Deny = e.key, e.key == "deny"
			for _, text := range texts {
				a, err := ParseAction(text)
				if err != nil {
					return r, e.wrap(err)
				}
				r.Actions |= a
			}
		case "to":
			r.To = texts
		case "on":
			for _, text := range texts {
				p, err := engram.ParsePattern(text)
				if err != nil {
					return r, e.wrap(err)
				}
				r.On = append(r.On, p)
			}
		default:
			return r, e.errorf("a rule has \"allow\" or \"deny\", \"to\" and \"on\", but no %.64q", e.key)
		}
	}
	return r, n.wrap(r.Check())
}

func parseRevocation(n value) (Revocation, error) {
	r := Revocation{Line: n.line}
	entries, err := n.mapping()
	if err != nil {
		return r, err
	}
	for _, e := range entries {
		texts, err := e.value.texts()
		if err == nil && len(texts) != 1 {
			err = e.errorf("one value is expected")
		}
		if err != nil {
			return r, err
		}
		switch e.key {
		case "identity":
			r.Identity = Identity(texts[0])
		case "serial":
			r.Serial = texts[0]
			if normalSerial(r.Serial) == "" || strings.Trim(normalSerial(r.Serial), "0123456789abcdef") != "" {
				return r, e.errorf("%.64q is no serial of a certificate, in hexadecimal digits", r.Serial)
			}
		case "at":
			r.At = texts[0]
		case "why":
			r.Why = texts[0]
		default:
			return r, e.errorf("a revocation has \"identity\" or \"serial\", \"at\" and \"why\", but no %.64q", e.key)
		}
	}
	if (r.Identity == "") == (r.Serial == "") {
		return r, n.errorf("a revocation names an identity, or the serial of a certificate")
	}
	if r.Identity == Owner {
		return r, n.errorf("the user whom the server runs as cannot be revoked")
	}
	return r, nil
}

// value is a node of a YAML document with its line.
type value struct {
	node ast.Node
	line int
}

type entry struct {
	key   string
	value value
	line  int
}

func (v value) errorf(format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("line %d", v.line), format, args...)
}

func (v value) wrap(err error) error {
	if err == nil {
		return nil
	}
	return atLine(v.line, err)
}

func (e entry) errorf(format string, args ...any) error {
	return value{line: e.line}.errorf(format, args...)
}
func (e entry) wrap(err error) error { return value{line: e.line}.wrap(err) }

// maxNesting is far more than what rules need.
const maxNesting = 64

// parseYAML reads a document. The YAML parser recurses, so what is nested too deeply
// is not given to it.
func parseYAML(text []byte) (doc value, err error) {
	brackets, line := 0, 1
	for l := range bytes.Lines(text) {
		indent := len(l) - len(bytes.TrimLeft(l, " \t-?:&!|>"))
		deepest := 0
		for _, c := range l { // one by one: those that close come after those that they close
			switch c {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets = max(brackets-1, 0)
			}
			deepest = max(deepest, brackets)
		}
		if deepest > maxNesting || indent > 2*maxNesting {
			return value{}, value{line: line}.errorf("the rules are nested too deeply, or there is a bracket that is not closed")
		}
		line++
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = engram.Errorf(engram.Invalid, "", "not YAML: %v", cause)
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return value{}, engram.Errorf(engram.Invalid, "", "not YAML: %w", err)
	}
	for _, d := range file.Docs {
		switch d.Body.(type) {
		case nil, *ast.CommentGroupNode:
		default:
			if doc.node != nil {
				return value{}, engram.Errorf(engram.Invalid, "", "more than one YAML document")
			}
			doc = of(d.Body)
		}
	}
	return doc, nil
}

func of(n ast.Node) value {
	v := value{node: n, line: 1}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		v.line = n.GetToken().Position.Line
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		v.line = of(m.Values[0].Key).line
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		v.line = of(m.Key).line
	}
	return v
}

// mapping returns the entries of a mapping; nothing is an empty one.
func (v value) mapping() ([]entry, error) {
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return nil, v.errorf("names with values are expected, such as \"to: planner\"")
	}
	var out []entry
	for _, p := range pairs {
		key, err := of(p.Key).text()
		if err != nil {
			return nil, err
		}
		out = append(out, entry{key, of(p.Value), of(p.Key).line})
	}
	return out, nil
}

// sequence returns the items of a list; nothing is an empty one.
func (v value) sequence() ([]value, error) {
	switch n := v.node.(type) {
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.SequenceNode:
		var out []value
		for _, item := range n.Values {
			out = append(out, of(item))
		}
		return out, nil
	}
	return nil, v.errorf("a list is expected, whose items begin with \"- \"")
}

// texts returns a plain value, or those of a list.
func (v value) texts() ([]string, error) {
	if _, ok := v.node.(*ast.SequenceNode); !ok {
		text, err := v.text()
		return []string{text}, err
	}
	items, err := v.sequence()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		text, err := item.text()
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (v value) text() (string, error) {
	switch n := v.node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", v.errorf("a plain value is expected; put what begins with a special character in quotes: '*'")
}
