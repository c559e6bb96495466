package episode_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// unsynced is a file system that does not wait for the disk: what is damaged here
// is damaged by the test.
type unsynced struct{ vfs.FS }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	return unsyncedFile{f}, err
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }

var quick = episode.Options{FS: unsynced{vfs.OS}, Types: registry}

// recorded is an episode of several entities in chunks of a few hundred bytes, and
// what was put into it.
type recorded struct {
	dir, path string
	bytes     []byte
	want      map[engram.ID][]*engram.Snapshot
	repaired  episode.Options // that the last repair's "repaired.mcap" is read with
}

func record(t testing.TB, versions int, sealed bool) *recorded {
	t.Helper()
	dir := t.TempDir()
	w := create(t, dir, episode.Options{FS: unsynced{vfs.OS}, ChunkBytes: 600})
	r := &recorded{dir: dir, path: filepath.Join(dir, name), want: map[engram.ID][]*engram.Snapshot{}}
	rng := rand.New(rand.NewPCG(3, 4))
	entities := []engram.ID{joints, cup, engram.MustID("Robot/A/B/c"), engram.MustID("Robot/A/B/d")}
	channels := map[engram.ID]*episode.Channel{}
	for _, e := range entities {
		channels[e] = channel(t, e)
	}
	for i := range versions {
		e := entities[rng.IntN(len(entities))]
		at := engram.Time(1e18 + i*1e6)
		if rng.IntN(10) == 0 {
			at -= engram.Time(rng.IntN(50) * 1e6)
		}
		payloads := []string{secret(i)}
		for range rng.IntN(3) {
			payloads = append(payloads, secret(i)+"more")
		}
		s := snapshot(at, uint64(i+1), payloads...)
		s.Instances[0].Confidence = 0.5
		add(t, w, channels[e], s, i < 3)
		r.want[e] = append(r.want[e], s)
		if i%40 == 39 {
			if err := w.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Mark(episode.Mark{Time: 1e18, Label: "here"})
	if sealed {
		seal(t, w)
	} else {
		if err := w.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.path += ".open"
	}
	w.Close()
	var err error
	if r.bytes, err = os.ReadFile(r.path); err != nil {
		t.Fatal(err)
	}
	return r
}

// secret is the payload of version i.
func secret(i int) string { return fmt.Sprintf("secret-%06d-%x", i, uint64(i)*0x9e3779b97f4a7c15) }

// number says of which version a payload is.
func numberOf(payload []byte) (n int) {
	fmt.Sscanf(string(payload), "secret-%06d", &n)
	return n
}

// repair repairs an episode of these bytes and checks what comes out: that it is
// sound, and that each version in it is one that was put in. It returns how many
// of them are whole, and how many without what only the envelope knows.
func (r *recorded) repair(t testing.TB, b []byte) (whole, bare int, problems []episode.Problem) {
	t.Helper()
	const damaged, to = "damaged.mcap.open", "repaired.mcap"
	r.repaired = episode.Options{FS: newMemoryFS(map[string][]byte{damaged: b}), Types: registry}
	info, problems, err := episode.Repair(context.Background(), damaged, to, r.repaired)
	if err != nil {
		if engram.CodeOf(err) != engram.Corrupt {
			t.Fatalf("repair: %v", err)
		}
		return 0, 0, append(problems, episode.Problem{What: err.Error()})
	}
	if found, err := episode.Verify(context.Background(), to, r.repaired); err != nil || len(found) > 0 {
		t.Fatalf("the repaired episode is not sound: %v, %v", found, err)
	}
	if !info.Recovered || !info.Sealed {
		t.Fatalf("the repaired episode says %+v", info)
	}
	got := open(t, to, r.repaired)
	defer got.Close()
	for _, e := range got.Entities() {
		for _, s := range versionsOf(t, got, e.ID) {
			n := numberOf(s.Instances[0].Payload.Bytes)
			k := slices.IndexFunc(r.want[e.ID], func(w *engram.Snapshot) bool { return w.Number == uint64(n+1) })
			if k < 0 {
				t.Fatalf("%v has a version that was never put in: %q", e.ID, s.Instances[0].Payload.Bytes)
			}
			w := r.want[e.ID][k]
			if sameVersion(s, w, true) == "" {
				whole++
				continue
			}
			bare++
			if s.Arrived != w.Arrived || len(s.Instances) != len(w.Instances) || (s.Time != w.Time && n >= 3) {
				t.Fatalf("%v: version %d has become %+v, was %+v", e.ID, n, s, w)
			}
			for i := range s.Instances {
				if !bytes.Equal(s.Instances[i].Payload.Bytes, w.Instances[i].Payload.Bytes) {
					t.Fatalf("%v: version %d has become %+v, was %+v", e.ID, n, s, w)
				}
			}
		}
	}
	return whole, bare, problems
}

func TestVerifyFindsNothingInSoundEpisodes(t *testing.T) {
	for _, versions := range []int{0, 1, 500} {
		r := record(t, versions, true)
		problems, err := episode.Verify(context.Background(), r.path, quick)
		if err != nil || len(problems) > 0 {
			t.Errorf("%d versions: %v, %v", versions, problems, err)
		}
	}
}

func TestRepairOfWhatIsWholeLosesNothing(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		r := record(t, 500, sealed)
		whole, bare, problems := r.repair(t, r.bytes)
		if whole != 500 || bare != 0 || len(problems) != 0 {
			t.Errorf("sealed %v: %d versions, %d of them bare, problems %v", sealed, whole, bare, problems)
		}
		got := open(t, "repaired.mcap", r.repaired)
		if info := got.Info(); info.Robot != "armar" || info.Epoch != 7 || len(info.Marks) != 1 || info.Labels["reason"] != "test" || info.InForce != 3 {
			t.Errorf("sealed %v: the repaired episode says %+v", sealed, info)
		}
	}
}

// boundaries are the offsets at which records begin, and some within.
func boundaries(t testing.TB, b []byte) (list []int) {
	t.Helper()
	for off := 8; off < len(b)-8; {
		n := int(b[off+1]) | int(b[off+2])<<8 | int(b[off+3])<<16
		for _, d := range []int{0, 5, 9 + n/2} {
			list = append(list, off+d)
		}
		off += 9 + n
	}
	return append(list, len(b)-8, len(b)-1)
}

// A crash leaves the beginning of what was written: all that is whole comes back.
func TestRepairOfCutEpisodes(t *testing.T) {
	r := record(t, 40, true)
	lastWhole := 0
	for _, n := range boundaries(t, r.bytes) {
		whole, bare, problems := r.repair(t, r.bytes[:n])
		if whole < lastWhole {
			t.Errorf("cut at %d: %d versions come back, but %d of a shorter one", n, whole, lastWhole)
		}
		lastWhole = max(lastWhole, whole)
		if bare > 0 && len(problems) == 0 {
			t.Errorf("cut at %d: %d versions lost their envelope and nothing is told", n, bare)
		}
	}
	if lastWhole != 40 {
		t.Errorf("of the whole file %d versions come back", lastWhole)
	}
}

// Damage anywhere is found by Verify, costs a repair no more than the chunk that it
// is in (with what that chunk tells of), and is told.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	r := record(t, 120, true)
	rng := rand.New(rand.NewPCG(5, 6))
	step := testkit.Repeats(1000, 400)
	const damaged = "flipped.mcap"
	for at := 0; at < len(r.bytes); at += 1 + rng.IntN(2*step) {
		b := slices.Clone(r.bytes)
		b[at] ^= 1 << rng.IntN(8)
		found, err := episode.Verify(context.Background(), damaged, episode.Options{FS: newMemoryFS(map[string][]byte{damaged: b}), Types: registry})
		if err != nil || len(found) == 0 {
			t.Fatalf("bit flip at %d of %d: verify finds nothing (%v)", at, len(b), err)
		}
		whole, bare, problems := r.repair(t, b)
		if whole+bare < 80 {
			t.Errorf("bit flip at %d: only %d versions come back, %d bare", at, whole, bare)
		}
		if whole < 120 && len(problems) == 0 {
			t.Errorf("bit flip at %d: %d versions come back, %d bare, and no loss is told", at, whole, bare)
		}
	}
}

// An episode with a hole: whatever is asked of it, it answers right or with Corrupt.
func TestReaderOfDamagedEpisodes(t *testing.T) {
	r := record(t, 120, true)
	rng := rand.New(rand.NewPCG(7, 8))
	const damaged = "flipped.mcap"
	answered := 0
	for range 300 {
		b := slices.Clone(r.bytes)
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		src, err := episode.Open(damaged, episode.Options{FS: newMemoryFS(map[string][]byte{damaged: b}), Types: registry, Cache: episode.NewCache(1 << 20)})
		if err != nil {
			if c := engram.CodeOf(err); c != engram.Corrupt && c != engram.Invalid && c != engram.Unsupported {
				t.Fatalf("open: %v", err)
			}
			continue
		}
		for _, e := range src.Entities() {
			tl, err := src.Timeline(e.ID)
			if err != nil {
				if engram.CodeOf(err) != engram.Corrupt {
					t.Fatalf("timeline: %v", err)
				}
				continue
			}
			for i, block := range tl.Blocks() {
				got, err := tl.Load(context.Background(), i, 0, block.Count)
				if err != nil {
					if engram.CodeOf(err) != engram.Corrupt {
						t.Fatalf("load: %v", err)
					}
					continue
				}
				for _, s := range got {
					w := r.want[e.ID][slices.IndexFunc(r.want[e.ID], func(w *engram.Snapshot) bool { return w.Number == s.Number })]
					if d := sameVersion(s, w, true); d != "" {
						t.Fatalf("%v of a damaged file %s", e.ID, d)
					}
					answered++
				}
			}
		}
		src.Close()
	}
	if answered < 300*60 {
		t.Errorf("only %d versions were answered in 300 damaged files", answered)
	}
}

// What was dropped is not in the file any more: not in plain, not in a chunk.
func TestRewriteLeavesNoByte(t *testing.T) {
	r := record(t, 500, true)
	keep := func(id engram.ID, s *engram.Snapshot) bool { return id != cup && s.Number%3 != 0 }
	before := open(t, r.path, quick)
	info, err := episode.Rewrite(context.Background(), r.path, episode.Change{Keep: keep, Why: []string{"forgotten on request"}}, quick)
	if err != nil {
		t.Fatal(err)
	}
	want := map[engram.ID][]*engram.Snapshot{}
	dropped := map[string]bool{}
	for id, list := range r.want {
		for _, s := range list {
			if keep(id, s) {
				want[id] = append(want[id], s)
			} else {
				dropped[secret(int(s.Number)-1)] = true
			}
		}
	}
	compare(t, open(t, r.path, quick), want)
	compare(t, before, r.want) // who has it open still reads the old one
	if problems, err := episode.Verify(context.Background(), r.path, quick); err != nil || len(problems) > 0 {
		t.Errorf("the rewritten episode is not sound: %v, %v", problems, err)
	}
	if !slices.Contains(info.Losses, "forgotten on request") || len(info.Marks) != 1 || info.Recovered || info.Name != name {
		t.Errorf("the rewritten episode says %+v", info)
	}
	raw, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	if n := countSecrets(t, raw, dropped); n != 0 {
		t.Errorf("%d dropped versions are in the file", n)
	}
	if n := countSecrets(t, r.bytes, dropped); n != len(dropped) {
		t.Fatalf("the search finds %d of %d in the old file: it is no good", n, len(dropped))
	}
	if bytes.Contains(raw, []byte("blue-cup")) {
		t.Error("the name of an entity that was dropped wholly is in the file")
	}
	if left, _ := filepath.Glob(r.path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// countSecrets counts the dropped payloads in a file, its chunks decompressed by
// the mcap library.
func countSecrets(t testing.TB, raw []byte, dropped map[string]bool) int {
	t.Helper()
	lexer, err := mcap.NewLexer(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer lexer.Close()
	all := string(raw)
	for {
		_, content, err := lexer.Next(nil)
		if err != nil {
			break
		}
		all += string(content)
	}
	n := 0
	for s := range dropped {
		if strings.Contains(all, s) {
			n++
		}
	}
	return n
}
