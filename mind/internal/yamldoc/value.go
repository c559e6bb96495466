package yamldoc

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Values turns a document's nodes into plain values: nil, bool, json.Number, string, []any and
// map[string]any; what is no number in JSON is "NaN", "Infinity" or "-Infinity". One goroutine at a time.
type Values struct {
	anchors map[string]ast.Node
	budget  int
	most    int
}

// NewValues returns a Values that makes at most so many nodes, which bounds what aliases grow to.
func NewValues(most int) *Values {
	return &Values{anchors: map[string]ast.Node{}, budget: most, most: most}
}

// Of returns the value of a node. Aliases stand for anchors in nodes that it was given before, too. Errors name the line,
// and have no code.
func (y *Values) Of(n ast.Node) (any, error) { return y.value(n, 0) }

func (y *Values) value(n ast.Node, depth int) (any, error) {
	if n == nil {
		return nil, nil
	}
	if depth > MaxDepth {
		return nil, Errorf(n, "lists and mappings nest more than %d deep", MaxDepth)
	}
	if y.budget--; y.budget < 0 {
		return nil, Errorf(n, "the file holds more than %d values", y.most)
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
			return nil, Errorf(n, "there is no anchor &%s above", name)
		}
		return y.value(target, depth+1)
	}
	return nil, Errorf(n, "a %s cannot stand here", n.Type())
}

func (y *Values) mapping(values []*ast.MappingValueNode, depth int) (any, error) {
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
			return nil, Errorf(kv, "a mapping's key is text")
		}
		if _, twice := m[name]; twice {
			return nil, Errorf(kv, "the key %q stands twice", name)
		}
		if m[name], err = y.value(kv.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// tagged takes the tags that say what a scalar is.
func (y *Values) tagged(n *ast.TagNode, depth int) (any, error) {
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
		return nil, Errorf(n, "the tag %s is not known", tag)
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
