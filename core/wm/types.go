package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// AddType implements engram.Types. If it cannot be journaled that is an error; the
// type may be known nevertheless, and adding it again journals it.
func (w *WM) AddType(ctx context.Context, t engram.TypeDef) error {
	known, err := w.types.Add(t)
	if err != nil || w.journal == nil {
		return err
	}
	w.defining.Lock()
	defer w.defining.Unlock()
	return w.journal.AddType(ctx, known.Def())
}

// Type implements engram.Types.
func (w *WM) Type(_ context.Context, name string) (engram.TypeDef, error) {
	t, err := knownType(w.types, name)
	if err != nil {
		return engram.TypeDef{}, err
	}
	return t.Def(), nil
}

// TypeNames implements engram.Types.
func (w *WM) TypeNames(context.Context) ([]string, error) { return w.types.Names(), nil }
