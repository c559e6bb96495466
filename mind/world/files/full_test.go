package files_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// TestFull reads a file that the memory has no room for: who is refused is told with a line,
// and what was there stays.
func TestFull(t *testing.T) {
	small := memories.World()
	small.Bounds = engram.Bounds{MaxCount: 3}
	w, err := world.Over(t.Context(), serving.New(t, small), "me", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	read := func(text string) error {
		t.Helper()
		c, err := files.Read([]byte(text), "f.yaml")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.State(t.Context(), w)
		return err
	}
	if err := read("- name: shelf\n  parent: ''\n"); err != nil {
		t.Fatal(err)
	}
	err = read("- name: book1\n  parent: shelf\n- name: book2\n  parent: shelf\n- name: book3\n  parent: shelf\n- name: book4\n  parent: shelf\n")
	if !errors.Is(err, engram.Exhausted) || !strings.Contains(err.Error(), "f.yaml:5: ") || !strings.Contains(err.Error(), "f.yaml:7: ") {
		t.Errorf("%v", err)
	}
	if err := read("- name: shelf\n  parent: ''\n  label: full\n"); err != nil {
		t.Errorf("what is there is changed: %v", err)
	}
	f, err := w.View(t.Context())
	if err != nil || f.Len() != 3 || !f.Has("shelf") || !f.Has("book2") {
		t.Errorf("%d items, %v", f.Len(), err)
	}
}
