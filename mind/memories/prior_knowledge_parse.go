package memories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/seed-301d4374/engram/mind/internal/yamldoc"
)

const (
	// maxKnowledgeDepth bounds how deeply a file's lists and mappings nest.
	maxKnowledgeDepth = yamldoc.MaxDepth
	// maxKnowledgeNodes bounds what a file grows to when its aliases are followed.
	maxKnowledgeNodes = 4_000_000
	// maxYAML bounds a YAML file, in bytes; large content is referred to.
	maxYAML = 4 * mib
)

// parseKnowledge returns a file's content as nil, bool, json.Number, string, []any
// and map[string]any. The format is told by the file's ending.
func parseKnowledge(file string, b []byte) (any, error) {
	if path.Ext(file) == ".json" {
		return parseJSON(b)
	}
	return parseYAML(b)
}

func parseJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("something follows the JSON value")
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	offset := d.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	line := 1 + bytes.Count(b[:min(int(offset), len(b))], []byte("\n"))
	return nil, fmt.Errorf("line %d: %w", line, err)
}

func parseYAML(b []byte) (any, error) {
	if len(b) > maxYAML {
		return nil, fmt.Errorf("a YAML file may have %d bytes; write JSON, or refer to files with $text and $bytes", maxYAML)
	}
	body, err := yamldoc.Parse(b)
	if err != nil {
		return nil, err
	}
	y := yamlReader{anchors: map[string]ast.Node{}, budget: maxKnowledgeNodes}
	return y.value(body, 0)
}

// yamlReader turns YAML's nodes into plain values.
type yamlReader struct {
	anchors map[string]ast.Node
	budget  int // of nodes
}

func (y *yamlReader) value(n ast.Node, depth int) (any, error) {
	if n == nil {
		return nil, nil
	}
	if depth > maxKnowledgeDepth {
		return nil, yamldoc.Errorf(n, "lists and mappings nest more than %d deep", maxKnowledgeDepth)
	}
	if y.budget--; y.budget < 0 {
		return nil, yamldoc.Errorf(n, "the file holds more than %d values", maxKnowledgeNodes)
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return json.Number(fmt.Sprint(n.Value)), nil
	case *ast.FloatNode:
		return yamlFloat(n.Value), nil
	case *ast.InfinityNode:
		return yamlFloat(n.Value), nil
	case *ast.NanNode:
		return yamlFloat(math.NaN()), nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			v, err := y.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case *ast.MappingNode:
		return y.mapping(n.Values, depth)
	case *ast.MappingValueNode:
		return y.mapping([]*ast.MappingValueNode{n}, depth)
	case *ast.TagNode:
		return y.tagged(n, depth)
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		v, err := y.value(n.Value, depth+1)
		// Known only from here on, so that it cannot hold itself.
		y.anchors[name] = n.Value
		return v, err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := y.anchors[name]
		if !ok {
			return nil, yamldoc.Errorf(n, "there is no anchor &%s above", name)
		}
		return y.value(target, depth+1)
	}
	return nil, yamldoc.Errorf(n, "a %s cannot stand here", n.Type())
}

func (y *yamlReader) mapping(values []*ast.MappingValueNode, depth int) (any, error) {
	m := make(map[string]any, len(values))
	for _, kv := range values {
		key, err := y.value(kv.Key, depth+1)
		if err != nil {
			return nil, err
		}
		var name string
		switch k := key.(type) {
		case string:
			name = k
		case json.Number:
			name = k.String()
		case bool:
			name = strconv.FormatBool(k)
		default:
			return nil, yamldoc.Errorf(kv, "a mapping's key is text")
		}
		if _, twice := m[name]; twice {
			return nil, yamldoc.Errorf(kv, "the key %q stands twice", name)
		}
		if m[name], err = y.value(kv.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// tagged takes the tags that say what a scalar is.
func (y *yamlReader) tagged(n *ast.TagNode, depth int) (any, error) {
	v, err := y.value(n.Value, depth+1)
	if err != nil {
		return nil, err
	}
	switch tag := n.Start.Value; tag {
	case "!!str", "!!timestamp":
		if _, ok := v.(string); !ok && n.Value != nil {
			return n.Value.GetToken().Value, nil
		}
	case "!!binary":
		if text, ok := v.(string); ok {
			return strings.Join(strings.Fields(text), ""), nil
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!seq", "!!map":
	default:
		return nil, yamldoc.Errorf(n, "the tag %s is not known", tag)
	}
	return v, nil
}

// yamlFloat returns a number in the form that idf reads from JSON.
func yamlFloat(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
