package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Config configures a working memory.
type Config struct {
	Types *idf.Registry      // nil means a new one
	Now   func() engram.Time // the clock; nil means the wall clock
	Limits
}

// Limits bound what one call may ask for. Zero fields mean the defaults.
type Limits struct {
	MaxPayload    int // bytes of one payload; default 64 MiB
	MaxInstances  int // of one snapshot; default 4096
	MaxQueryNodes int // nodes, names and selectors of one query; default 10,000
	MaxResults    int // snapshots in one answer; default 1,000,000
	MaxQueue      int // of one subscription; default 65,536
}

// WM is a working memory. It implements engram.Writer, Reader, PartReader,
// LatestReader, Subscriber, Segments, Types and Statistician. Safe for concurrent
// use.
type WM struct{}

// New returns an empty working memory.
func New(c Config) *WM { panic("to be built") }

// AddMemory adds a memory; bounds limit all it holds together. Conflict if it
// exists with other bounds.
func (w *WM) AddMemory(name string, bounds engram.Bounds) error { panic("to be built") }

// Epoch identifies this life of the working memory; it is never 0.
func (w *WM) Epoch() uint64 { panic("to be built") }

// Close ends all subscriptions.
func (w *WM) Close() error { panic("to be built") }

// Commit implements engram.Writer.
func (w *WM) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	panic("to be built")
}
