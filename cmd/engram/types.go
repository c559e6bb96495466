package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// typeCache fetches the types of what is shown from the memory, each once.
type typeCache struct {
	from  engram.Types
	known *idf.Registry
}

func newTypeCache(from engram.Types) *typeCache {
	return &typeCache{from: from, known: idf.NewRegistry()}
}

func (c *typeCache) get(ctx context.Context, name string) (*idf.Type, error) {
	if t, ok := c.known.Get(name); ok {
		return t, nil
	}
	def, err := c.from.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.known.Add(def)
}

// shape is how payloads are shown as JSON.
type shape struct {
	allBytes bool     // bytes over 64 in full
	fields   []string // only these members; none is all
	none     bool     // the payloads were not asked for
}

// json returns a payload as JSON with all its members, those that are zero too, so
// that programs find what they look for.
func (c *typeCache) json(ctx context.Context, p engram.Payload, s shape) ([]byte, error) {
	if s.none {
		return []byte("null"), nil
	}
	t, err := c.get(ctx, p.Type)
	if err != nil {
		return nil, err
	}
	o := idf.JSONOptions{SummarizeBytes: 64, AllMembers: true}
	if s.allBytes {
		o.SummarizeBytes = -1
	}
	if len(s.fields) == 0 {
		return t.JSON(p.Bytes, o)
	}
	var paths [][]string
	for _, f := range s.fields {
		// Which items of lists were chosen is told by what is there.
		if o.AllMembers = o.AllMembers && !strings.Contains(f, "["); !o.AllMembers {
			return t.JSON(p.Bytes, o)
		}
		paths = append(paths, engram.SplitPath(f))
	}
	j, err := t.JSON(p.Bytes, o)
	if err != nil {
		return nil, err
	}
	return keepMembers(j, paths)
}

// has reports whether the payload's type has one of the members, and true if it is
// not known.
func (c *typeCache) has(ctx context.Context, typeName string, fields []string) bool {
	t, err := c.get(ctx, typeName)
	if err != nil || len(fields) == 0 {
		return true
	}
	return slices.ContainsFunc(fields, func(f string) bool {
		_, err := t.Project([]string{f})
		return err == nil
	})
}

// keepMembers keeps of a JSON object, or of those in a list, what the paths lead to.
func keepMembers(j []byte, paths [][]string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(j))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return j, err
	}
	out := []byte(open.(json.Delim).String())
	first := len(out)
	for d.More() {
		below, whole := paths, false
		var name []byte
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			below = nil
			for _, p := range paths {
				if p[0] == key || p[0] == "*" {
					whole = whole || len(p) == 1
					below = append(below, p[1:])
				}
			}
			if name, err = marshalJSON(key); err != nil {
				return nil, err
			}
			name = append(bytes.TrimSpace(name), ':')
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if below == nil {
			continue
		}
		if !whole {
			if value, err = keepMembers(value, below); err != nil {
				return nil, err
			}
		}
		if len(out) > first {
			out = append(out, ',')
		}
		out = append(append(out, name...), value...)
	}
	return append(out, byte(open.(json.Delim))+2), nil // "{" and "[" stand two before "}" and "]"
}

// text returns a payload as people read it.
func (c *typeCache) text(ctx context.Context, p engram.Payload, o idf.TextOptions) string {
	t, err := c.get(ctx, p.Type)
	if err == nil {
		var s string
		if s, err = t.Text(p.Bytes, o); err == nil {
			return strings.TrimRight(s, "\n")
		}
	}
	return notShown(p, err)
}

// difference returns a payload on one line: what differs from one before of the same type, and
// what does not.
func (c *typeCache) difference(ctx context.Context, p, before engram.Payload, o idf.TextOptions) (changed, same string) {
	t, err := c.get(ctx, p.Type)
	if err == nil {
		if changed, same, err = t.Difference(p.Bytes, before.Bytes, o); err == nil {
			return changed, same
		}
	}
	return notShown(p, err), ""
}

func notShown(p engram.Payload, err error) string {
	return fmt.Sprintf("(%d bytes of %s, not shown: %v)", len(p.Bytes), p.Type, err)
}
