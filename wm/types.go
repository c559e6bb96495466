package wm

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// AddType implements engram.Types.
func (w *WM) AddType(_ context.Context, t engram.TypeDef) error {
	_, err := w.types.Add(t)
	return err
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
