package digests_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/digests"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// memory is a file system in which every file has the same bytes.
type memory struct {
	vfs.FS
	b []byte
}

func (m memory) OpenFile(string, int, fs.FileMode) (vfs.File, error) { return memoryFile{b: m.b}, nil }

type memoryFile struct {
	vfs.File
	b []byte
}

func (f memoryFile) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(b, at)
}
func (f memoryFile) Stat() (fs.FileInfo, error) { return fstest.MapFS{"x": {Data: f.b}}.Stat("x") }
func (f memoryFile) Close() error               { return nil }

// FuzzDigests gives any bytes to what reads such files, as a file, as its directory, as a block
// as it is stored and as it is read: they are read or refused as Corrupt, and what is read are
// versions of entities.
func FuzzDigests(f *testing.F) {
	path := filepath.Join(f.TempDir(), "e.mcap")
	for _, n := range []int{0, 3} {
		write(f, path, sample(n, rand.New(rand.NewPCG(5, 6))))
		whole, err := os.ReadFile(path + digests.Ext)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(whole)
		directory, blocks := digests.Parts(whole)
		f.Add(directory)
		for _, b := range blocks {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range [][]byte{b, digests.WithTrailer(b), digests.OfBlock(b)} {
			list, err := read(memory{b: file}, "x")
			if err != nil && engram.CodeOf(err) != engram.Corrupt {
				t.Fatal(err)
			}
			for _, e := range list {
				if e.entity.Level() != engram.LevelEntity || e.digest == "" {
					t.Fatalf("a digest of %v: %q", e.entity, e.digest)
				}
			}
		}
		digests.ParseBlock(b, func(engram.ID, engram.Time, []byte) error { return nil })
	})
}
