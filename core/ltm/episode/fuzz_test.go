package episode_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// sample returns the bytes of a small episode.
func sample(f *testing.F, sealed bool) []byte {
	f.Helper()
	return record(f, 12, sealed).bytes
}

// FuzzEpisode gives any bytes to all that reads files: they are answered or refused,
// and what Repair makes of them is sound.
func FuzzEpisode(f *testing.F) {
	b := sample(f, true)
	f.Add(b)
	f.Add(sample(f, false))
	f.Add(b[:len(b)/2])
	f.Add(append(bytes.Clone(b[:len(b)/3]), b[len(b)/3+5:]...))
	if golden, err := os.ReadFile(goldenFiles[len(goldenFiles)-1]); err == nil {
		f.Add(golden)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := context.Background()
		o := episode.Options{FS: newMemoryFS(map[string][]byte{"a": b}), Types: registry, Cache: episode.NewCache(1 << 20)}
		readAll(t, "a", o)
		episode.Verify(ctx, "a", o)
		if _, _, err := episode.Repair(ctx, "a", "b", o); err != nil {
			return
		}
		if problems, err := episode.Verify(ctx, "b", o); err != nil || len(problems) > 0 {
			t.Fatalf("the repaired episode is not sound: %v, %v", problems, err)
		}
		if !readAll(t, "b", o) {
			t.Fatal("the repaired episode cannot be read")
		}
	})
}

// readAll reads all that a file answers with, and returns whether that is all.
func readAll(t *testing.T, path string, o episode.Options) bool {
	r, err := episode.Open(path, o)
	if err != nil {
		if engram.CodeOf(err) == engram.Internal {
			t.Fatal(err)
		}
		return false
	}
	defer r.Close()
	all := true
	for _, e := range r.Entities() {
		tl, err := r.Timeline(e.ID)
		if err != nil {
			all = false
			continue
		}
		for i, b := range tl.Blocks() {
			index, err := tl.Index(context.Background(), i)
			if err != nil {
				all = false
				continue
			}
			if _, err := tl.Load(context.Background(), i, 0, len(index)); err != nil || len(index) != b.Count {
				all = false
			}
		}
	}
	return all
}

// FuzzEnvelope gives any bytes to the reader of envelopes; what it takes, it can
// write so that it takes it again.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x0a\x07a/b/c/d\x18\x01\x28\x01\x30\x02\x3a\x01\x02\x42\x01\x02\x4a\x01\x02\x7a\x01T"))
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := episode.ParseRun(b)
		if err != nil {
			return
		}
		twice, err := episode.ParseRun(again)
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("an envelope that was read and written again reads %x, %v; want %x", twice, err, again)
		}
	})
}

// FuzzIndex gives any bytes to the reader of indices.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00ENGIDX01"))
	f.Add([]byte("\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00ENGIDX01"))
	b := sample(f, true)
	if at := bytes.Index(b, []byte("ENGIDX01")); at > 0 {
		f.Add(b[at-300 : at+8])
	}
	f.Fuzz(func(t *testing.T, b []byte) { episode.ParseIndex(b) })
}
