package vfs_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram/internal/vfs"
)

func create(t *testing.T, f vfs.FS, name string) vfs.File {
	t.Helper()
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestFaultsFailWhatTheyName(t *testing.T) {
	dir := t.TempDir()
	f := vfs.NewFaulty(vfs.OS, dir)
	a, b := create(t, f, filepath.Join(dir, "a")), create(t, f, filepath.Join(dir, "b"))
	f.Inject(vfs.Fault{Op: vfs.OpWrite, Name: "a", Skip: 1, Times: 2, Err: vfs.ErrFull, Short: 3})
	for i, want := range []struct {
		n   int
		err error
	}{{5, nil}, {3, vfs.ErrFull}, {3, vfs.ErrFull}, {5, nil}} {
		if n, err := a.Write([]byte("12345")); n != want.n || !errors.Is(err, want.err) {
			t.Errorf("write %d: %d, %v; want %d, %v", i, n, err, want.n, want.err)
		}
		if n, err := b.Write([]byte("12345")); n != 5 || err != nil {
			t.Errorf("write %d of the other file: %d, %v", i, n, err)
		}
	}
	f.Inject(vfs.Fault{Op: vfs.OpSync})
	if err := b.Sync(); !errors.Is(err, vfs.ErrIO) {
		t.Errorf("sync: %v; want EIO", err)
	}
	f.Heal()
	if err := b.Sync(); err != nil {
		t.Errorf("sync after healing: %v", err)
	}
	if f.Count(vfs.OpSync) != 2 || f.Count(vfs.OpWrite) != 8 {
		t.Errorf("%d syncs, %d writes were counted; want 2 and 8", f.Count(vfs.OpSync), f.Count(vfs.OpWrite))
	}
}

// image returns the content of the files in a crash image.
func image(t *testing.T, f *vfs.Faulty, seed uint64) map[string]string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "image")
	if err := f.CrashImage(to, rand.New(rand.NewPCG(seed, 1))); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(to, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCrashImageHoldsWhatWasSynced(t *testing.T) {
	dir := t.TempDir()
	f := vfs.NewFaulty(vfs.OS, dir)
	sub := filepath.Join(dir, "sub")
	if err := f.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := create(t, f, filepath.Join(sub, "kept"))
	kept.Write([]byte("synced "))
	kept.Sync()
	if err := errors.Join(f.SyncDir(dir), f.SyncDir(sub)); err != nil {
		t.Fatal(err)
	}
	tail := bytes.Repeat([]byte("x"), 3000)
	kept.Write(tail)
	loose := create(t, f, filepath.Join(sub, "loose"))
	loose.Write([]byte("bytes"))
	loose.Sync()

	seen := map[string]bool{}
	for seed := range uint64(200) {
		files := image(t, f, seed)
		got := files["sub/kept"]
		if len(got) < 7 || got[:7] != "synced " {
			t.Fatalf("seed %d: a synced part is lost: %.20q", seed, got)
		}
		switch {
		case len(got) == 7:
			seen["nothing more"] = true
		case got[7:] == string(tail):
			seen["everything"] = true
		default:
			seen["a part"] = true
		}
		if content, ok := files["sub/loose"]; !ok {
			seen["no name"] = true
		} else if content != "bytes" {
			t.Fatalf("seed %d: a synced file whose name survived holds %q", seed, content)
		} else {
			seen["name"] = true
		}
	}
	for _, want := range []string{"nothing more", "everything", "a part", "no name", "name"} {
		if !seen[want] {
			t.Errorf("in 200 crashes there was never the one with: %s", want)
		}
	}
	if err := f.SyncDir(sub); err != nil {
		t.Fatal(err)
	}
	if err := f.Rename(filepath.Join(sub, "loose"), filepath.Join(sub, "renamed")); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(50) {
		files := image(t, f, seed)
		if files["sub/loose"] != "bytes" && files["sub/renamed"] != "bytes" {
			t.Fatalf("seed %d: a renamed file is lost: %v", seed, files)
		}
	}
}

// After a failed fsync the pages count as clean: another one succeeds and writes nothing.
func TestFailedSyncLosesWhatItShouldHaveWritten(t *testing.T) {
	dir := t.TempDir()
	f := vfs.NewFaulty(vfs.OS, dir)
	file := create(t, f, filepath.Join(dir, "file"))
	f.SyncDir(dir)
	file.Write([]byte("first"))
	f.Inject(vfs.Fault{Op: vfs.OpSync, Times: 1})
	if err := file.Sync(); !errors.Is(err, vfs.ErrIO) {
		t.Fatalf("sync: %v; want EIO", err)
	}
	file.Write([]byte("second"))
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := image(t, f, 1)["file"]; got != "\x00\x00\x00\x00\x00second" {
		t.Errorf("after a failed and a successful sync the disk holds %q; want a hole and the second write", got)
	}
	if got := image(t, vfs.NewFaulty(vfs.OS, dir), 1)["file"]; got != "firstsecond" {
		t.Errorf("what is there from the beginning counts as synced, but the disk holds %q", got)
	}
}

func TestWriteBuffers(t *testing.T) {
	dir := t.TempDir()
	for _, fs := range []vfs.FS{vfs.OS, vfs.NewFaulty(vfs.OS, dir)} {
		name := filepath.Join(dir, "buffers")
		os.Remove(name)
		file, err := fs.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var bufs [][]byte
		var want []byte
		for i := range 3000 {
			bufs = append(bufs, bytes.Repeat([]byte{byte(i)}, i%7))
			want = append(want, bufs[i]...)
		}
		n, err := vfs.WriteBuffers(file, bufs)
		if err != nil || n != int64(len(want)) {
			t.Fatalf("%d bytes, %v; want %d", n, err, len(want))
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("the file holds %d other bytes (%v)", len(got), err)
		}
	}
}
