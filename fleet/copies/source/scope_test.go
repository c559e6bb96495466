package source_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// No filter of a copy tells what may not be read, nor how much of it there is: not in
// what comes, what is left out, what is lost, nor in how far the holder is behind, from
// memory, from disk, or from an earlier epoch.
func TestGuessingByFiltersOfCopies(t *testing.T) {
	dir := t.TempDir()
	const open, secret = 12, 40
	o := begin(t, dir, core("A", 3))
	fill := func() {
		for i := range secret {
			testkit.Commit(t, o, testkit.Update(t, fmt.Sprintf("Test/A/p/secret%d", i%4), engram.Time(i), map[string]any{"pin": int64(i)}))
		}
		for i := range open {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/open", engram.Time(i), map[string]any{"n": int64(i)}))
		}
	}
	fill()
	if err := o.store.Seal(t.Context(), "half"); err != nil {
		t.Fatal(err)
	}
	for i := range secret {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/secret0", engram.Time(secret+i), map[string]any{"pin": int64(i)}))
	}
	look := func(life string) {
		t.Helper()
		for _, where := range []string{"", "pin >= 0", "n >= 0", "has(payload.pin)", "!has(payload.pin)", "type != ''", "size(string(payload.pin)) > 0"} {
			ctx := engram.WithScope(t.Context(), onlyOpen{})
			got := catchUp(t, o, ctx, shareOf("Test", contract.Position{}, contract.Rules{Where: where}))
			told := len(got.items)
			for _, v := range got.items {
				if v.Entity.Entity() != "open" {
					t.Errorf("%s, %q: told was %v", life, where, v.Entity)
				}
			}
			for _, l := range got.leftOut {
				told += int(l.Count)
				if l.Entity.Entity() != "open" {
					t.Errorf("%s, %q: left out was %v", life, where, l.Entity)
				}
			}
			if told != open {
				t.Errorf("%s, %q: of %d versions %d were told or left out", life, where, open, told)
			}
			for _, b := range got.batches {
				if b.Behind.Updates > open {
					t.Errorf("%s, %q: behind by %d updates, of %d that may be read", life, where, b.Behind.Updates, open)
				}
			}
			if len(got.lost)+len(got.removed) > 0 {
				t.Errorf("%s, %q: lost %v, removed %v", life, where, got.lost, got.removed)
			}
		}
	}
	look("this epoch")
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = begin(t, dir, core("A", 3))
	defer func() { o.Close() }()
	look("the next epoch")
}
