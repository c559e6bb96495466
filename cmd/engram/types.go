package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
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

// json returns a payload as JSON; bytes over 64 are summarised unless all are wanted.
func (c *typeCache) json(ctx context.Context, p engram.Payload, allBytes bool) ([]byte, error) {
	t, err := c.get(ctx, p.Type)
	if err != nil {
		return nil, err
	}
	o := idf.JSONOptions{SummarizeBytes: 64}
	if allBytes {
		o.SummarizeBytes = -1
	}
	return t.JSON(p.Bytes, o)
}

// text returns a payload as people read it: on one line, or a member per line.
func (c *typeCache) text(ctx context.Context, p engram.Payload, lines bool) string {
	t, err := c.get(ctx, p.Type)
	if err == nil {
		var s string
		if s, err = t.Text(p.Bytes, idf.TextOptions{Lines: lines}); err == nil {
			return strings.TrimRight(s, "\n")
		}
	}
	return fmt.Sprintf("(%d bytes of %s, not shown: %v)", len(p.Bytes), p.Type, err)
}
