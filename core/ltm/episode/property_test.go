package episode_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// in is a file system whose names lie below a folder.
type in struct {
	vfs.FS
	dir string
}

func (f in) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.dir, name)
	}
	return f.FS.OpenFile(name, flag, perm)
}

// Whatever is added, in whatever order, coded however: the open episode has it at
// once, the sealed one, a repaired one and a rewritten one have it too.
func TestAnythingAddedIsRead(t *testing.T) {
	codecs := []string{"plain", "chain", "pack"}
	other := idf.NewRegistry() // of a reader that knows nothing of the writer
	rapid.Check(t, func(rt *rapid.T) {
		dir, files := "", newMemoryFS(nil)
		o := episode.Options{FS: files, Types: registry, ChunkBytes: rapid.SampledFrom([]int{50, 500, 5000}).Draw(rt, "chunk")}
		w, err := episode.Create(dir, name, episode.Info{Robot: "armar"}, o)
		if err != nil {
			rt.Fatal(err)
		}
		defer w.Close()
		want := map[engram.ID][]*engram.Snapshot{}
		times := rapid.Custom(func(rt *rapid.T) engram.Time {
			switch rapid.IntRange(0, 9).Draw(rt, "kind of time") {
			case 0:
				return engram.Time(rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1}).Draw(rt, "extreme time"))
			case 1:
				return engram.Time(rapid.Int64Range(math.MinInt64, math.MaxInt64-1).Draw(rt, "any time"))
			}
			return engram.Time(1e18 + rapid.IntRange(0, 30).Draw(rt, "time"))
		})
		n := rapid.IntRange(0, 45).Draw(rt, "versions")
		inForce := rapid.IntRange(0, 5).Draw(rt, "in force")
		for i := range n {
			e := rapid.IntRange(0, 4).Draw(rt, "entity")
			id := entityNumber(e)
			ch := channel(t, id)
			ch.Codec.Codec = codecs[e%len(codecs)]
			if e == 4 { // changes how it is stored
				ch.Codec.Codec = codecs[i/20%len(codecs)]
			}
			s := &engram.Snapshot{Time: times.Draw(rt, "time"), Arrived: engram.Time(2e18 + i), Number: uint64(i + 1)}
			for k := range rapid.IntRange(1, 3).Draw(rt, "instances") {
				in := engram.NewInstance(engram.Payload{Type: engram.ValueType})
				if rapid.Bool().Draw(rt, "another type") {
					in.Payload.Type = "engram.idf.v1.Link"
				}
				if rapid.IntRange(0, 4).Draw(rt, "empty") > 0 {
					in.Payload.Bytes = []byte(secret(i*10 + k))
				}
				if in.HasSent = rapid.Bool().Draw(rt, "has sent"); in.HasSent {
					in.Sent = times.Draw(rt, "sent")
				} else {
					in.Sent = s.Arrived
				}
				in.Confidence = rapid.SampledFrom([]float32{0, 0.25, 1}).Draw(rt, "confidence")
				s.Instances = append(s.Instances, in)
			}
			if e%len(codecs) != 0 || e == 4 { // the test codecs write one type
				for k := range s.Instances {
					s.Instances[k].Payload.Type = engram.ValueType
				}
			}
			if err := w.Add(context.Background(), ch, s, i < inForce); err != nil {
				rt.Fatal(err)
			}
			want[id] = append(want[id], s)
			switch rapid.IntRange(0, 19).Draw(rt, "then") {
			case 0:
				if err := w.Flush(context.Background()); err != nil {
					rt.Fatal(err)
				}
			case 1:
				compare(rt, w, want)
			}
		}
		compare(rt, w, want)
		info, err := w.Seal(context.Background())
		if err != nil {
			rt.Fatal(err)
		}
		compare(rt, w, want)
		path := filepath.Join(dir, name)
		sound := func(what, path string, want map[engram.ID][]*engram.Snapshot) {
			if problems, err := episode.Verify(context.Background(), path, o); err != nil || len(problems) > 0 {
				rt.Fatalf("%s: %v, %v", what, problems, err)
			}
			for _, types := range []*idf.Registry{registry, other} {
				r, err := episode.Open(path, episode.Options{FS: files, Types: types, Cache: episode.NewCache(1 << 20)})
				if err != nil {
					rt.Fatal(err)
				}
				compare(rt, r, want)
				r.Close()
			}
		}
		sound("sealed", path, want)
		if int(info.Snapshots) != n || int(info.InForce) != min(inForce, n) {
			rt.Fatalf("the episode says %+v", info)
		}
		repaired := filepath.Join(dir, "repaired.mcap")
		again, problems, err := episode.Repair(context.Background(), path, repaired, o)
		if err != nil || len(problems) > 0 {
			rt.Fatalf("repair: %v, %v", problems, err)
		}
		sound("repaired", repaired, want)
		if again.Snapshots != info.Snapshots || again.InForce != info.InForce || again.Span != info.Span || again.Arrived != info.Arrived {
			rt.Fatalf("repaired: %+v, was %+v", again, info)
		}
		modulus := rapid.IntRange(1, 5).Draw(rt, "keep")
		keep := func(_ engram.ID, s *engram.Snapshot) bool { return s.Number%uint64(modulus) == 0 }
		if _, err := episode.Rewrite(context.Background(), repaired, episode.Change{Keep: keep, Why: []string{"thinned"}}, o); err != nil {
			rt.Fatal(err)
		}
		less := map[engram.ID][]*engram.Snapshot{}
		for id, list := range want {
			for _, s := range list {
				if keep(id, s) {
					less[id] = append(less[id], s)
				}
			}
		}
		sound(fmt.Sprintf("every %d. kept", modulus), repaired, less)
	})
}
