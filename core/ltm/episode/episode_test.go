package episode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

func TestMain(m *testing.M) {
	var err error
	if hourDir, err = os.MkdirTemp("", "episode"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(hourDir)
		os.Exit(code)
	}))
}

const name = "2026-11-20T12-51-46Z-000123.mcap"

var (
	registry = idf.NewRegistry()
	joints   = engram.MustID("RobotState/Proprioception/Armar/joints")
	cup      = engram.MustID(`Object/Instance/Vision\/Left/blue-cup`)
)

// valueType is the definition of the variant.
func valueType(t testing.TB) engram.TypeDef {
	t.Helper()
	v, ok := registry.Get(engram.ValueType)
	if !ok {
		t.Fatal("the variant is not known")
	}
	return v.Def()
}

func channel(t testing.TB, entity engram.ID) *episode.Channel {
	return &episode.Channel{Entity: entity, Type: valueType(t), Policy: "all", Codec: codec.Config{Codec: codec.Plain}}
}

func snapshot(at engram.Time, number uint64, payloads ...string) *engram.Snapshot {
	s := &engram.Snapshot{Time: at, Arrived: at + 1000, Number: number}
	for i, p := range payloads {
		in := engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: []byte(p)})
		in.Sent, in.HasSent = at+engram.Time(i), true
		s.Instances = append(s.Instances, in)
	}
	return s
}

// sameVersion says how two versions differ, or "".
func sameVersion(got, want *engram.Snapshot, payloads bool) string {
	if got == nil {
		return "is nil"
	}
	if got.Time != want.Time || got.Arrived != want.Arrived || got.Number != want.Number || len(got.Instances) != len(want.Instances) {
		return fmt.Sprintf("is %v arrived %v number %d with %d instances, want %v, %v, %d, %d",
			got.Time, got.Arrived, got.Number, len(got.Instances), want.Time, want.Arrived, want.Number, len(want.Instances))
	}
	for i := range got.Instances {
		g, w := got.Instances[i], want.Instances[i]
		if g.Sent != w.Sent || g.HasSent != w.HasSent || g.Confidence != w.Confidence || g.Payload.Type != w.Payload.Type {
			return fmt.Sprintf("instance %d is %+v, want %+v", i, g, w)
		}
		if payloads && !bytes.Equal(g.Payload.Bytes, w.Payload.Bytes) {
			return fmt.Sprintf("instance %d has payload %x, want %x", i, g.Payload.Bytes, w.Payload.Bytes)
		}
		if !payloads && g.Payload.Bytes != nil {
			return fmt.Sprintf("instance %d has a payload", i)
		}
	}
	return ""
}

func byTime(a, b *engram.Snapshot) int {
	if a.Time != b.Time {
		if a.Time < b.Time {
			return -1
		}
		return 1
	}
	if a.Arrived < b.Arrived {
		return -1
	} else if a.Arrived > b.Arrived {
		return 1
	}
	return 0
}

// failer is what a test of either kind offers.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// versionsOf reads all versions of an entity, and checks the blocks on the way.
func versionsOf(t failer, s episode.Source, entity engram.ID) []*engram.Snapshot {
	t.Helper()
	tl, err := s.Timeline(entity)
	if err != nil {
		t.Fatal(err)
	}
	var all []*engram.Snapshot
	for i, b := range tl.Blocks() {
		index, err := tl.Index(context.Background(), i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tl.Load(context.Background(), i, 0, b.Count)
		if err != nil {
			t.Fatal(err)
		}
		if len(index) != b.Count || len(got) != b.Count {
			t.Fatalf("block %d of %v has %d versions in its index and %d loaded; it says %d", i, entity, len(index), len(got), b.Count)
		}
		if !slices.IsSortedFunc(index, byTime) {
			t.Fatalf("block %d of %v is not sorted", i, entity)
		}
		for k := range index {
			if d := sameVersion(index[k], got[k], false); d != "" {
				t.Fatalf("block %d of %v: the index of version %d %s", i, entity, k, d)
			}
			if !b.Span.Contains(index[k].Time) || !b.Arrived.Contains(index[k].Arrived) {
				t.Fatalf("block %d of %v has version %v outside its span %v", i, entity, index[k].Time, b.Span)
			}
		}
		all = append(all, got...)
	}
	slices.SortStableFunc(all, byTime)
	return all
}

// compare checks that a source holds what was added, for every entity.
func compare(t failer, s episode.Source, want map[engram.ID][]*engram.Snapshot) {
	t.Helper()
	entities := s.Entities()
	if len(entities) != len(want) {
		t.Fatalf("%d entities, want %d", len(entities), len(want))
	}
	for _, e := range entities {
		w := slices.Clone(want[e.ID])
		slices.SortStableFunc(w, byTime)
		got := versionsOf(t, s, e.ID)
		if len(got) != len(w) || e.Snapshots != uint64(len(w)) {
			t.Fatalf("%v has %d versions and says %d, want %d", e.ID, len(got), e.Snapshots, len(w))
		}
		for i := range w {
			if d := sameVersion(got[i], w[i], true); d != "" {
				t.Fatalf("version %d of %v %s", i, e.ID, d)
			}
		}
	}
}

func create(t testing.TB, dir string, o episode.Options) *episode.Writer {
	t.Helper()
	if o.Types == nil {
		o.Types = registry
	}
	w, err := episode.Create(dir, name, episode.Info{Robot: "armar", Epoch: 7, Labels: map[string]string{"reason": "test"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func open(t testing.TB, path string, o episode.Options) *episode.Reader {
	t.Helper()
	r, err := episode.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func add(t testing.TB, w *episode.Writer, ch *episode.Channel, s *engram.Snapshot, inForce bool) {
	t.Helper()
	if err := w.Add(context.Background(), ch, s, inForce); err != nil {
		t.Fatal(err)
	}
}

func seal(t testing.TB, w *episode.Writer) episode.Info {
	t.Helper()
	info, err := w.Seal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestWriteReadSeal(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, episode.Options{ChunkBytes: 2000})
	want := map[engram.ID][]*engram.Snapshot{}
	put := func(entity engram.ID, ch *episode.Channel, s *engram.Snapshot, inForce bool) {
		add(t, w, ch, s, inForce)
		want[entity] = append(want[entity], s)
	}
	base := engram.Time(1_700_000_000_000_000_000)
	chJoints, chCup := channel(t, joints), channel(t, cup)
	put(cup, chCup, snapshot(base-5_000_000_000, 1, "cup"), true)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		at := base + engram.Time(i)*1000
		switch i % 100 {
		case 7:
			at -= 50_000 // late
		case 8:
			at -= 1000 // supersedes
		}
		payload := binary.LittleEndian.AppendUint64(nil, rng.Uint64())
		put(joints, chJoints, snapshot(at, uint64(i+2), string(payload)), false)
		if i%50 == 0 {
			put(cup, chCup, snapshot(at, uint64(i+2), "a", "", "ccc"), false)
		}
		if i%777 == 0 {
			compare(t, w, want)
		}
	}
	compare(t, w, want)
	w.Mark(episode.Mark{Time: base, Label: "fell", Before: 60e9, After: 30e9})
	w.Lose("a loss")
	info := seal(t, w)
	compare(t, w, want)
	r := open(t, filepath.Join(dir, name), episode.Options{Cache: episode.NewCache(1 << 20)})
	for range 2 { // from the file, from the cache
		compare(t, r, want)
	}
	got := r.Info()
	if fmt.Sprint(got) != fmt.Sprint(info) {
		t.Errorf("the sealed episode says\n%+v, the writer said\n%+v", got, info)
	}
	if got.Snapshots != 3061 || got.InForce != 1 || got.Messages != 3000+60*3+1 || len(got.Marks) != 1 || got.Marks[0].Before != 60e9 || got.Losses[0] != "a loss" || got.Robot != "armar" || got.Epoch != 7 {
		t.Errorf("the episode says %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, name+".open")); err == nil {
		t.Error("the open file is still there")
	}
}
