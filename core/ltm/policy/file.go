package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/seed-301d4374/engram"
)

// FileVersion is the version of the policies file that this package writes.
const FileVersion = 1

// maxFileBytes bounds a policies file; one with ten thousand overrides is smaller.
const maxFileBytes = 1 << 20

// ParseFile reads the overrides of a policies file: YAML with a version and, under
// policies, settings by patterns of core segments,
//
//	version: 1
//	policies:
//	  Vision/*:
//	    record: rate
//	    max_rate: 5 Hz
//	    keep: {max_age: 30d, max_bytes: 50 GB}
//
// where later patterns go over earlier ones. Errors are Invalid, OutOfRange or
// NotFound and name the line, the pattern, the setting and its value.
func ParseFile(text []byte) ([]Override, error) {
	if len(text) > maxFileBytes {
		return nil, engram.Errorf(engram.Exhausted, "policies", "the file has %d bytes; at most %d are read", len(text), maxFileBytes)
	}
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "policies", "not YAML: %s", yaml.FormatError(err, false, false))
	}
	var overrides []Override
	version := ""
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		err := eachPair(doc.Body, func(key string, value ast.Node) error {
			switch key {
			case "version":
				version, err = scalar(value)
				return err
			case "policies":
				return eachPair(value, func(pattern string, value ast.Node) error {
					o, err := parseOverride(pattern, value)
					overrides = append(overrides, o)
					return err
				})
			}
			return lineError(value, engram.Invalid, "unknown key %q; a policies file has version and policies", key)
		})
		if err != nil {
			return nil, err
		}
	}
	if version != fmt.Sprint(FileVersion) && (version != "" || len(overrides) > 0) {
		return nil, engram.Errorf(engram.Invalid, "policies", "version %q of the file is not known; write version: %d", version, FileVersion)
	}
	return overrides, nil
}

// checkNesting refuses texts that nest deeper than a policies file does, since the
// parser recurses.
func checkNesting(text []byte) error {
	open := 0
	for line := range bytes.Lines(text) {
		indent := len(line) - len(bytes.TrimLeft(line, " \t-?:"))
		for _, c := range line {
			if c == '[' || c == '{' {
				open++
			}
		}
		if indent > 256 || open > 100_000 {
			return engram.Errorf(engram.Invalid, "policies", "the file nests deeper than policies do")
		}
	}
	return nil
}

func parseOverride(pattern string, value ast.Node) (Override, error) {
	p, err := engram.ParsePattern(pattern)
	if err != nil {
		return Override{}, lineError(value, engram.CodeOf(err), "%w", err)
	}
	o := Override{Pattern: p, Settings: map[string]string{}}
	if err := o.Validate(); err != nil {
		return o, lineError(value, engram.CodeOf(err), "%w", err)
	}
	return o, o.read("", value)
}

// read reads settings whose names begin with prefix.
func (o *Override) read(prefix string, node ast.Node) error {
	return eachPair(node, func(key string, value ast.Node) error {
		name := prefix + key
		if isGroup(name) {
			return o.read(name+".", value)
		}
		text, err := scalar(value)
		if err != nil {
			return err
		}
		o.Settings[name] = text
		if err := new(Policy).Set(name, text); err != nil {
			return lineError(value, engram.CodeOf(err), "%s: %w", o.Pattern, err)
		}
		return nil
	})
}

// isGroup reports whether name is that of a group of settings, such as "keep".
func isGroup(name string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.name, name+".") })
}

// eachPair calls f with the pairs of a mapping; a key may stand once.
func eachPair(node ast.Node, f func(key string, value ast.Node) error) error {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = append(pairs, n)
	case *ast.NullNode:
		return nil
	default:
		return lineError(node, engram.Invalid, "expected settings such as record: all")
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		key, err := scalar(pair.Key)
		if err != nil {
			return err
		}
		if seen[key] {
			return lineError(pair.Key, engram.Invalid, "%q stands there twice", key)
		}
		seen[key] = true
		if err := f(key, pair.Value); err != nil {
			return err
		}
	}
	return nil
}

// scalar returns a value's text as it was written, without quotes.
func scalar(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, nil
	case *ast.MappingKeyNode:
		return scalar(n.Value)
	}
	return "", lineError(node, engram.Invalid, "expected a single value, found a %s", kindOf(node))
}

func kindOf(node ast.Node) string {
	if node == nil {
		return "nothing"
	}
	return strings.ToLower(node.Type().String())
}

func lineError(node ast.Node, code engram.Code, format string, args ...any) error {
	thing := "policies"
	if node != nil {
		if tok := node.GetToken(); tok != nil && tok.Position != nil {
			thing = fmt.Sprintf("policies, line %d", tok.Position.Line)
		}
	}
	return engram.Errorf(code, thing, format, args...)
}

// PrintFile returns the text of a policies file with these overrides, which
// [ParseFile] reads as the same.
func PrintFile(overrides []Override) ([]byte, error) {
	policies := yaml.MapSlice{}
	for _, o := range overrides {
		if err := o.Validate(); err != nil {
			return nil, err
		}
		policies = append(policies, yaml.MapItem{Key: o.Pattern.String(), Value: o.items()})
	}
	return yaml.Marshal(yaml.MapSlice{{Key: "version", Value: FileVersion}, {Key: "policies", Value: policies}})
}

// items returns the settings as they nest in a file, in their order.
func (o Override) items() yaml.MapSlice {
	items := yaml.MapSlice{}
	for i := range settings {
		text, ok := o.Settings[settings[i].name]
		if !ok {
			continue
		}
		group, name, nested := strings.Cut(settings[i].name, ".")
		if !nested {
			items = append(items, yaml.MapItem{Key: group, Value: text})
			continue
		}
		if n := len(items); n == 0 || items[n-1].Key != group {
			items = append(items, yaml.MapItem{Key: group, Value: yaml.MapSlice{}})
		}
		last := &items[len(items)-1]
		last.Value = append(last.Value.(yaml.MapSlice), yaml.MapItem{Key: name, Value: text})
	}
	return items
}
