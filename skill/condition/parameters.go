package condition

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// parts are the texts in parameters that stand for a part of the update.
const memberPrefix = "$update."

// checkParameters refuses texts that begin with "$" and stand for nothing.
func checkParameters(path string, v any) error {
	switch v := v.(type) {
	case string:
		member, ofUpdate := strings.CutPrefix(v, memberPrefix)
		switch {
		case !strings.HasPrefix(v, "$"), strings.HasPrefix(v, "$$"), slices.Contains([]string{"$id", Thing, "$provider", "$time", "$confidence"}, v):
		case ofUpdate:
			if err := idf.CheckPath(member); err != nil {
				return engram.Errorf(engram.Invalid, path, "%w", err)
			}
		default:
			return engram.Errorf(engram.Invalid, path, "%s stands for nothing; there are $id, $entity, $provider, $time, $confidence and $update.MEMBER, and $$ for a dollar sign", v)
		}
	case []any:
		for _, e := range v {
			if err := checkParameters(path, e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkParameters(path+"."+name, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// update is what parameters are taken from.
type update struct {
	id       engram.ID // of the snapshot
	instance *engram.Instance
	typ      *idf.Type // nil if it is not known
	payload  any       // decoded; nil until it is asked for
}

// member returns a member of the payload.
func (u *update) member(path string) (any, error) {
	if u.payload == nil && u.typ != nil {
		v, err := u.typ.Decode(u.instance.Payload.Bytes)
		if err != nil {
			return nil, err
		}
		u.payload = v
	}
	v, ok := lookUp(u.payload, path)
	if !ok {
		return nil, engram.Errorf(engram.NotFound, path, "%s has no such member set", u.id)
	}
	return v, nil
}

// lookUp follows a member path in decoded values.
func lookUp(v any, path string) (any, bool) {
	for path != "" {
		var name string
		if inner, ok := strings.CutPrefix(path, "["); ok {
			index, rest, _ := strings.Cut(inner, "]")
			name, path = strings.Trim(index, `"`), strings.TrimPrefix(rest, ".")
		} else if i := strings.IndexAny(path, ".["); i < 0 {
			name, path = path, ""
		} else {
			name, path = path[:i], strings.TrimPrefix(path[i:], ".")
		}
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[name]
			if !ok || next == nil {
				return nil, false
			}
			v = next
		case []any:
			n := 0
			for _, d := range name {
				if d < '0' || d > '9' || n > len(in) {
					return nil, false
				}
				n = n*10 + int(d-'0')
			}
			if n >= len(in) {
				return nil, false
			}
			v = in[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// resolve returns a parameter's value for the update.
func (u *update) resolve(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if member, ok := strings.CutPrefix(v, memberPrefix); ok {
			return u.member(member)
		}
		switch v {
		case "$id":
			return u.id, nil
		case Thing:
			return u.id.Entity(), nil
		case "$provider":
			return u.id.ProviderSegment(), nil
		case "$time":
			t, _ := u.id.Time()
			return t, nil
		case "$confidence":
			return float64(u.instance.Confidence), nil
		}
		if strings.HasPrefix(v, "$$") {
			return v[1:], nil
		}
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = u.resolve(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			r, err := u.resolve(e)
			if err != nil {
				return nil, err
			}
			out[name] = r
		}
		return out, nil
	}
	return v, nil
}
