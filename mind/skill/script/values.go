package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// reference is a parameter in a text, or $$.
var reference = regexp.MustCompile(`\$(?:\$|([A-Za-z_]\w*)|\{([^{}$]+)\})`)

// plain returns a value of a file as IDF has it: numbers as int64, uint64 or float64. The error tells of a $ that names no
// parameter.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u, nil
		}
		return v.Float64()
	case string:
		if strings.Contains(reference.ReplaceAllString(v, ""), "$") {
			return v, fmt.Errorf("%.60q: $ names a parameter, as $object or ${object}; write $$ for a dollar sign", v)
		}
	case []any:
		for i := range v {
			item, err := plain(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			item, err := plain(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return v, nil
}

// parametersIn returns the parameters that the texts of a value name, sorted.
func parametersIn(v any) []string {
	found := map[string]bool{}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			for _, m := range reference.FindAllStringSubmatch(v, -1) {
				if m[1]+m[2] != "" {
					found[m[1]+m[2]] = true
				}
			}
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			for _, item := range v {
				look(item)
			}
		}
	}
	look(v)
	return slices.Sorted(maps.Keys(found))
}

// filled returns a copy of a value with parameters, of which it has all that the value names.
func filled(v any, parameters map[string]any) any {
	switch v := v.(type) {
	case string:
		if m := reference.FindStringSubmatch(v); m != nil && m[0] == v && v != "$$" {
			return parameters[m[1]+m[2]]
		}
		return reference.ReplaceAllStringFunc(v, func(text string) string {
			if text == "$$" {
				return "$"
			}
			return textOf(parameters[strings.Trim(text, "${}")])
		})
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = filled(v[i], parameters)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key := range v {
			m[key] = filled(v[key], parameters)
		}
		return m
	}
	return v
}

// textOf returns a value as it stands within a text.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case engram.ID:
		return v.String()
	}
	return fmt.Sprint(v)
}

// typed returns values as a type has them, such as a link for the text of an ID; only members that are given. Without a name
// they are what they are.
func (m *memory) typed(ctx context.Context, name string, values map[string]any) (map[string]any, error) {
	if name == "" || values == nil {
		return values, nil
	}
	b, t, err := m.encoded(ctx, name, values)
	if err != nil {
		return nil, err
	}
	v, err := t.Decode(b)
	all, ok := v.(map[string]any)
	if err != nil || !ok {
		return values, err
	}
	maps.DeleteFunc(all, func(key string, _ any) bool { _, given := values[key]; return !given })
	return all, nil
}

// encoded returns values as the payload of a type.
func (m *memory) encoded(ctx context.Context, name string, values map[string]any) ([]byte, *idf.Type, error) {
	def, err := m.svc.Type(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, nil, err
	}
	b, err := t.Encode(values)
	return b, t, err
}
