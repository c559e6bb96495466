package episode_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

var update = flag.Bool("update", false, "write the golden file of this version")

// goldenFiles are of format 1, 2 …
var goldenFiles = []string{"testdata/v1/episode.mcap", "testdata/v2/episode.mcap"}

// goldenVersions are what the golden file holds.
func goldenVersions() (order []engram.ID, want map[engram.ID][]*engram.Snapshot) {
	want = map[engram.ID][]*engram.Snapshot{}
	for i := range 40 {
		id := joints
		s := snapshot(engram.Time(1_700_000_000_000_000_000+i*1_000_000), uint64(i+1), secret(i))
		switch i {
		case 0:
			id = cup
			s.Time = 42
		case 7, 21:
			id = cup
			s = snapshot(s.Time-5_000_000, uint64(i+1), "first", "", "third")
			s.Instances[1].Confidence, s.Instances[2].HasSent = 0.25, false
		case 8:
			s.Time, s.Arrived = -1_000_000_000, s.Arrived+1
		case 9:
			s.Time -= 2_000_000 // supersedes
		}
		want[id] = append(want[id], s)
		order = append(order, id)
	}
	return order, want
}

// Episodes of every released layout are read as they were written.
func TestGoldenFiles(t *testing.T) {
	order, want := goldenVersions()
	if *update {
		goldenFile := goldenFiles[len(goldenFiles)-1]
		dir := t.TempDir()
		w := create(t, dir, episode.Options{ChunkBytes: 700})
		next := map[engram.ID]int{}
		for i, id := range order {
			add(t, w, channel(t, id), want[id][next[id]], i == 0)
			next[id]++
		}
		w.Mark(episode.Mark{Time: 1_700_000_000_000_000_000, Label: "a mark", Before: 60e9, After: 30e9})
		w.Lose("nothing, in truth")
		seal(t, w)
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(goldenFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(goldenFile, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorded := engram.Interval{Start: 1_700_000_000_001_000_000, End: 1_700_000_000_039_000_001}
	for i, file := range goldenFiles {
		if problems, err := episode.Verify(context.Background(), file, quick); err != nil || len(problems) > 0 {
			t.Errorf("%s is not sound: %v, %v", file, problems, err)
		}
		r := open(t, file, quick)
		compare(t, r, want)
		info := r.Info()
		if info.Version != i+1 || info.Snapshots != 40 || info.InForce != 1 || info.Robot != "armar" || info.Epoch != 7 ||
			len(info.Marks) != 1 || info.Marks[0] != (episode.Mark{Time: 1_700_000_000_000_000_000, Label: "a mark", Before: 60e9, After: 30e9}) ||
			len(info.Losses) != 1 || info.Labels["reason"] != "test" {
			t.Errorf("%s says %+v", file, info)
		}
		// Format 1 tells only the ends of what has something that stands at the beginning.
		if info.Recorded.End != recorded.End || i > 0 && info.Recorded != recorded {
			t.Errorf("%s has recorded %v, want %v", file, info.Recorded, recorded)
		}
	}
}
