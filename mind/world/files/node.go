package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/internal/yamldoc"
)

// node is a value of a YAML or JSON file with the line that it begins in.
type node struct {
	line    int
	value   any    // nil, bool, int64, uint64 beyond it, float64, string, []*node or *mapping
	written string // a scalar that is no text, as it stands there
}

// mapping are the members of a mapping in the file's order.
type mapping struct {
	keys []string
	at   map[string]*node
	line map[string]int // of the key
}

// MaxValues bounds what a file grows to when its aliases are followed.
const MaxValues = 4_000_000

// MaxBytes bounds a JSON file, MaxYAML a YAML file, whose parser takes longer.
const (
	MaxBytes = 256 << 20
	MaxYAML  = 32 << 20
)

// parse returns what a file holds: JSON if it begins as such and is, else YAML.
func parse(b []byte, file string) (*node, error) {
	if len(b) > MaxBytes {
		return nil, engram.Errorf(engram.Exhausted, file, "the file has %d bytes; at most %d are read", len(b), MaxBytes)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if begin := bytes.TrimLeft(b, " \t\r\n"); strings.HasSuffix(file, ".json") || len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') && json.Valid(begin) {
		return parseJSON(b, file)
	}
	if len(b) > MaxYAML {
		return nil, engram.Errorf(engram.Exhausted, file, "the file has %d bytes, and of YAML at most %d are read; write it as JSON", len(b), MaxYAML)
	}
	body, err := yamldoc.Parse(b)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	y := yamlReader{file: file, anchors: map[string]ast.Node{}, budget: MaxValues}
	return y.node(body, 0)
}

func tooManyValues(file string) error {
	return engram.Errorf(engram.Exhausted, file, "the file holds more than %d values; split it into several, with parents before children, and import one after the other", MaxValues)
}

// syntaxError returns an error of the YAML parser with file and line, and without the lines
// around it.
func syntaxError(file string, err error) error {
	line, message := yamldoc.Syntax(err)
	if line == 0 {
		return engram.Errorf(engram.Invalid, file, "%w", err)
	}
	return fault(file, line, "the YAML cannot be parsed: %s", message)
}

func fault(file string, line int, format string, args ...any) error {
	return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d", file, line), "%w", fmt.Errorf(format, args...))
}

// bareFloat is a float of YAML 1.2 that the parser takes for a text, such as 1e-4.
var bareFloat = regexp.MustCompile(`^[-+]?[0-9]+[eE][-+]?[0-9]+$`)

type yamlReader struct {
	file    string
	anchors map[string]ast.Node
	budget  int
}

func (y *yamlReader) node(n ast.Node, depth int) (*node, error) {
	if n == nil {
		return &node{line: 1}, nil
	}
	at := yamldoc.Line(n)
	if depth > yamldoc.MaxDepth {
		return nil, fault(y.file, at, "lists and mappings nest more than %d deep", yamldoc.MaxDepth)
	}
	if y.budget--; y.budget < 0 {
		return nil, tooManyValues(y.file)
	}
	out := &node{line: at}
	if scalar, ok := n.(ast.ScalarNode); ok && scalar.GetToken() != nil {
		out.written = scalar.GetToken().Value
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		out.value = n.Value
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			out.value = v
		case uint64:
			if out.value = v; v <= math.MaxInt64 {
				out.value = int64(v)
			}
		default:
			return nil, fault(y.file, at, "%v is no number that is known", n.Value)
		}
	case *ast.FloatNode:
		out.value = n.Value
	case *ast.InfinityNode:
		out.value = n.Value
	case *ast.NanNode:
		out.value = math.NaN()
	case *ast.StringNode:
		out.value = n.Value
		if n.Token != nil && n.Token.Type == token.StringType && bareFloat.MatchString(n.Value) {
			if x, err := strconv.ParseFloat(n.Value, 64); err == nil {
				out.value = x
			}
		}
	case *ast.LiteralNode:
		out.value = n.Value.Value
	case *ast.SequenceNode:
		list := make([]*node, len(n.Values))
		for i, item := range n.Values {
			v, err := y.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		out.value = list
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			out.line = yamldoc.Line(n.Values[0].Key)
		}
		return out, y.mapping(out, n.Values, depth)
	case *ast.MappingValueNode:
		out.line = yamldoc.Line(n.Key)
		return out, y.mapping(out, []*ast.MappingValueNode{n}, depth)
	case *ast.AnchorNode:
		v, err := y.node(n.Value, depth+1)
		// Known only from here on, so that it cannot hold itself.
		y.anchors[n.Name.GetToken().Value] = n.Value
		return v, err
	case *ast.AliasNode:
		target, ok := y.anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, fault(y.file, at, "there is no anchor &%s above", n.Value.GetToken().Value)
		}
		return y.node(target, depth+1)
	case *ast.TagNode:
		v, err := y.node(n.Value, depth+1)
		if err != nil {
			return nil, err
		}
		switch x, number := v.number(); {
		case n.Start.Value == "!!str" && n.Value != nil:
			v.value = n.Value.GetToken().Value
		case n.Start.Value == "!!float" && number:
			v.value = x
		}
		return v, nil
	default:
		return nil, fault(y.file, at, "a %s cannot stand here", n.Type())
	}
	return out, nil
}

func (y *yamlReader) mapping(out *node, values []*ast.MappingValueNode, depth int) error {
	m := &mapping{at: map[string]*node{}, line: map[string]int{}}
	out.value = m
	for _, kv := range values {
		line := yamldoc.Line(kv.Key)
		key, err := y.node(kv.Key, depth+1)
		if err != nil {
			return err
		}
		v, err := y.node(kv.Value, depth+1)
		if err != nil {
			return err
		}
		if err := m.set(y.file, line, key.text(), v); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapping) set(file string, line int, key string, v *node) error {
	if first, twice := m.line[key]; twice {
		return fault(file, line, "the member %q stands twice, first on line %d", key, first)
	}
	m.keys = append(m.keys, key)
	m.at[key], m.line[key] = v, line
	return nil
}

// text returns a scalar as it is written, and of anything else what it is.
func (n *node) text() string {
	switch v := n.value.(type) {
	case string:
		return v
	case []*node, *mapping:
		return n.what()
	}
	return n.written
}

// tree returns a node as it is written again.
func (n *node) tree() any {
	switch v := n.value.(type) {
	case []*node:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item.tree()
		}
		return list
	case *mapping:
		o := make(object, len(v.keys))
		for i, key := range v.keys {
			o[i] = field{key, v.at[key].tree()}
		}
		return o
	}
	return n.value
}

// jsonReader reads JSON with its lines.
type jsonReader struct {
	file  string
	text  []byte
	d     *json.Decoder
	line  int
	upTo  int64
	count int
}

func parseJSON(b []byte, file string) (*node, error) {
	r := &jsonReader{file: file, text: b, d: json.NewDecoder(bytes.NewReader(b)), line: 1}
	r.d.UseNumber()
	n, err := r.node(0)
	if err == nil {
		if _, end := r.d.Token(); !errors.Is(end, io.EOF) {
			err = fault(file, r.at(), "something follows the JSON value")
		}
	}
	return n, err
}

// at returns the line that was read up to.
func (r *jsonReader) at() int {
	to := min(r.d.InputOffset(), int64(len(r.text)))
	r.line += bytes.Count(r.text[r.upTo:to], []byte("\n"))
	r.upTo = to
	return r.line
}

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.d.Token()
	if err == nil {
		return t, nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(r.text[:min(int(syntax.Offset), len(r.text))], []byte("\n"))
		return nil, fault(r.file, line, "it is not JSON: %w", err)
	}
	return nil, fault(r.file, r.at(), "the JSON ends too early")
}

func (r *jsonReader) node(depth int) (*node, error) {
	if depth > yamldoc.MaxDepth {
		return nil, fault(r.file, r.at(), "lists and objects nest more than %d deep", yamldoc.MaxDepth)
	}
	if r.count++; r.count > MaxValues {
		return nil, tooManyValues(r.file)
	}
	t, err := r.token()
	if err != nil {
		return nil, err
	}
	out := &node{line: r.at(), written: fmt.Sprint(t)}
	switch v := t.(type) {
	case nil:
		out.written = "null"
	case json.Number:
		if i, err := v.Int64(); err == nil && v != "-0" { // that is a float
			out.value = i
			return out, nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			out.value = u
			return out, nil
		}
		f, err := v.Float64()
		if err == nil && !strings.ContainsAny(v.String(), ".eE") && v.String() != strconv.FormatFloat(f, 'f', -1, 64) { // as other programs write doubles
			if i, _ := new(big.Int).SetString(v.String(), 10); new(big.Float).SetInt(i).Cmp(big.NewFloat(f)) != 0 {
				return nil, fault(r.file, out.line, "the integer %s does not fit 64 bits; write %s.0 for the double next to it, or a text in quotes", v, v)
			}
		}
		if err != nil {
			return nil, fault(r.file, out.line, "%s is beyond what a number can be", v)
		}
		out.value = f
	case json.Delim:
		if v == '[' {
			list := []*node{}
			for r.d.More() {
				item, err := r.node(depth + 1)
				if err != nil {
					return nil, err
				}
				list = append(list, item)
			}
			out.value = list
		} else {
			m := &mapping{at: map[string]*node{}, line: map[string]int{}}
			for r.d.More() {
				key, err := r.token()
				if err != nil {
					return nil, err
				}
				line := r.at()
				item, err := r.node(depth + 1)
				if err != nil {
					return nil, err
				}
				name, _ := key.(string)
				if err := m.set(r.file, line, name, item); err != nil {
					return nil, err
				}
			}
			out.value = m
		}
		if _, err := r.token(); err != nil { // the closing one
			return nil, err
		}
	default:
		out.value = v
	}
	return out, nil
}
