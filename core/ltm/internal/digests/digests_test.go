package digests_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/digests"
	"github.com/seed-301d4374/engram/internal/vfs"
)

var head = digests.Head{Episode: "e.mcap", Of: episode.Fingerprint{Bytes: 1, Data: 2, Summary: 3}, Formats: []string{"links 1", "words 2"}}

// entry is a digest of a format.
type entry struct {
	format int
	entity engram.ID
	at     engram.Time
	digest string
}

// write writes a file beside the episode at path.
func write(t testing.TB, path string, entries []entry) {
	t.Helper()
	w, err := digests.Create(vfs.OS, path, head)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, e := range entries {
		if err := w.Add(e.format, e.entity, e.at, []byte(e.digest)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(map[string]string{"lab.Cup": "0123", "lab.Pan": ""}); err != nil {
		t.Fatal(err)
	}
}

// read reads all of the file beside the episode at path, as far as it can be.
func read(fsys vfs.FS, path string) (list []entry, err error) {
	f, err := digests.Open(fsys, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for k, format := range f.Head().Formats {
		err := f.Each(context.Background(), format, func(id engram.ID, t engram.Time, digest []byte) error {
			list = append(list, entry{k, id, t, string(digest)})
			return nil
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

func sample(n int, r *rand.Rand) (list []entry) {
	for k := range 2 {
		for e := range n {
			id := engram.MustID(fmt.Sprintf(`Lab/Cups/p/e%d\/x`, e))
			for range r.IntN(4) {
				digest := bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(2000))
				list = append(list, entry{k, id, engram.Time(r.Int64() - r.Int64()), string(digest)})
			}
		}
	}
	return list
}

// What is written is read, and the file says of what it is; another format is not found.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, n := range []int{0, 1, 5, 800} {
		path := filepath.Join(t.TempDir(), "e.mcap")
		want := sample(n, rand.New(rand.NewPCG(uint64(n), 1)))
		write(t, path, want)
		got, err := read(vfs.OS, path)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("of %d digests %d are read, %v", len(want), len(got), err)
		}
		f, err := digests.Open(vfs.OS, path)
		if err != nil {
			t.Fatal(err)
		}
		if h := f.Head(); h.Episode != head.Episode || h.Of != head.Of || h.Types["lab.Cup"] != "0123" || len(h.Types) != 2 {
			t.Errorf("the head is %+v", h)
		}
		if err := f.Each(t.Context(), "links 2", nil); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("another format: %v", err)
		}
		f.Close()
		if files, _ := filepath.Glob(path + "*"); len(files) != 1 {
			t.Errorf("there are %q", files)
		}
	}
}

// What is too large is refused, and blocks of the largest digests are read.
func TestLargeDigests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.mcap")
	largest := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
	w, err := digests.Create(vfs.OS, path, head)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	id := engram.MustID("Lab/Cups/p/e")
	if err := w.Add(0, id, 1, append(largest, 'x')); !errors.Is(err, digests.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := errors.Join(w.Add(0, id, 1, []byte("small")), w.Add(0, id, 2, largest), w.Finish(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(vfs.OS, path); err != nil || len(got) != 2 || got[1].digest != string(largest) {
		t.Errorf("%d are read, %v", len(got), err)
	}
}

// A file of which a bit has flipped, or that is cut, is Corrupt, or what it says is true.
func TestDamageIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.mcap")
	want := sample(6, rand.New(rand.NewPCG(3, 4)))
	write(t, path, want)
	whole, err := os.ReadFile(path + digests.Ext)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, damaged []byte) {
		t.Helper()
		if err := os.WriteFile(path+digests.Ext, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := read(vfs.OS, path)
		if code := engram.CodeOf(err); code != engram.Corrupt {
			t.Errorf("%s: %d of %d are read, %v", what, len(got), len(want), err)
		}
	}
	for i := range whole {
		check(fmt.Sprint("cut at ", i), whole[:i])
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		check(fmt.Sprint("a bit at ", i), flipped)
	}
}

// A disk that refuses leaves neither a file that is not finished nor a finished one.
func TestWhatIsNotFinishedGoes(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename} {
		dir := t.TempDir()
		path, disk := filepath.Join(dir, "e.mcap"), vfs.NewFaulty(vfs.OS, dir)
		disk.Inject(vfs.Fault{Op: op, Name: digests.Unfinished, Err: vfs.ErrFull})
		w, err := digests.Create(disk, path, head)
		if err == nil {
			if err = w.Add(0, engram.MustID("Lab/Cups/p/e"), 1, []byte("x")); err == nil {
				err = w.Finish(nil)
			}
			if err2 := w.Close(); err2 != nil {
				t.Error(err2)
			}
		}
		if engram.CodeOf(err) != engram.Exhausted || !errors.Is(err, digests.ErrUnwritten) || !vfs.IsFull(err) {
			t.Errorf("%s: %v", op, err)
		}
		if files, _ := filepath.Glob(path + "*"); len(files) != 0 {
			t.Errorf("%s: there are %q", op, files)
		}
	}
}
