package wal_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Positions are never used again, also if an epoch could write nothing: a removal hides
// what lies before a position, and must not hide what came later.
func TestPositionsAreNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	fs := vfs.NewFaulty(vfs.OS, dir)
	l := start(t, fs, dir)
	for range 4 { // files are begun anew with each epoch
		l.end(t)
		l = start(t, fs, dir)
	}
	l.addCore(t, "Test/Logged", engram.Synced)
	if err := l.put(t, "Test/Logged/p/e", 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := l.RemoveSegment(t.Context(), engram.MustID("Test/Logged")); err != nil {
		t.Fatal(err)
	}
	log := l.journal.Log("Test")
	before := log.Rotate()
	if err := log.Sync(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if err := log.Truncate(before); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	fs.Inject(vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull})
	l = start(t, fs, dir) // can write nothing
	l.WM.Close()
	l.journal.Close()
	fs.Heal()

	l = start(t, fs, dir)
	if end := l.journal.Log("Test").End(); end < before {
		t.Errorf("the log goes on at %v, which lies before %v, where it was", end, before)
	}
	l.addCore(t, "Test/Logged", engram.Synced)
	if err := l.put(t, "Test/Logged/p/e", 2, 2); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	l = start(t, fs, dir)
	defer l.end(t)
	if got := l.content(t); len(got) != 1 {
		t.Errorf("after the restart the memory has %v; want the one that was committed", got)
	}
}
