package server

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/link"
	"github.com/seed-301d4374/engram/query"
	"github.com/seed-301d4374/engram/wm"
)

// linkIndex is the name of the secondary index of links.
const linkIndex = "links"

// maxLinkIndex bounds it: some ten million links.
const maxLinkIndex = 512 << 20

// Links returns what follows links in the server's memories. What it needs of them lies in
// RAM from the first question on.
func (s *Server) Links() link.Local { return s.links }

func newLinks(s *Server, c *Config) link.Local {
	l := link.Config{
		Robot: s.robot, Reader: s, Types: c.Types, Since: c.Now(), Keeps: s.ltm != nil,
		Index: func(ctx context.Context, read func(*link.Index, map[engram.ID]bool) error) error {
			return s.Indexes().Read(ctx, linkIndex, func(of query.Index, unsure map[engram.ID]bool) error {
				return read(of.(*link.Index), unsure)
			})
		},
		View: func(ctx context.Context, asOf *engram.Time) link.View { return s.wm.View(ctx, asOf).Cursor() },
		Hosts: func(memory string) bool { // its own or a copy
			id, err := engram.NewID(memory)
			return err == nil && s.wm.View(s.ctx, nil).Has(id)
		},
	}
	if s.ltm != nil {
		l.Losses = s.ltm.Losses
	}
	if c.Elsewhere != nil {
		l.Elsewhere = func(ctx context.Context) (link.Elsewhere, error) { return c.Elsewhere(ctx) }
	}
	return link.NewLocal(l)
}

func registerLinks(indexes *wm.Indexes, types *idf.Registry, of *link.Local) error {
	return indexes.Register(linkIndex, wm.IndexOptions{
		New: func() query.Index { return link.NewIndex(types, of.Robot, of.Losses) }, Knows: link.Knows, NeedsPayloads: true, MaxBytes: maxLinkIndex,
	})
}
