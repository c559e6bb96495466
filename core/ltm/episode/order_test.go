package episode_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// logged is a message as it stands in a file.
type logged struct {
	topic string
	log   uint64
	bytes int
}

// inFile returns the messages of a file in its order.
func inFile(t *testing.T, path string) (list []logged) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lexer, err := mcap.NewLexer(f)
	if err != nil {
		t.Fatal(err)
	}
	topics := map[uint16]string{}
	for {
		token, data, err := lexer.Next(nil)
		if err == io.EOF || token == mcap.TokenDataEnd {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case mcap.TokenChannel:
			c, err := mcap.ParseChannel(data)
			if err != nil {
				t.Fatal(err)
			}
			topics[c.ID] = c.Topic
		case mcap.TokenMessage:
			m, err := mcap.ParseMessage(data)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, logged{topics[m.ChannelID], m.LogTime, len(m.Data)})
		}
	}
}

// TestOrderOfLogTimes writes entities of several rates. But for large messages, which
// stand apart unless the order is strict, nothing stands behind what is later.
func TestOrderOfLogTimes(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict ", strict), func(t *testing.T) {
			dir := t.TempDir()
			w := create(t, dir, episode.Options{ChunkBytes: 4 << 10, Strict: strict})
			want := map[engram.ID][]*engram.Snapshot{}
			put := func(id engram.ID, s *engram.Snapshot, inForce bool) {
				add(t, w, channel(t, id), s, inForce)
				want[id] = append(want[id], s)
			}
			const start = engram.Time(1_700_000_000e9)
			image := engram.MustID("Vision/ImageRGB/Armar/left")
			put(cup, snapshot(start-3600e9, 1, "in force", "in two instances"), true)
			put(cup, snapshot(0, 2, "known before"), false)
			for i := range engram.Time(600) {
				at := start + i*1e7
				put(joints, snapshot(at, uint64(4*i+3), secret(int(i))), false)
				if i%7 == 0 {
					put(cup, snapshot(at, uint64(4*i+4), "cup", fmt.Sprint(i), ""), false)
				}
				if i%50 == 0 {
					put(image, snapshot(at, uint64(4*i+5), strings.Repeat(fmt.Sprint(i), 20_000)), false)
				}
			}
			put(cup, snapshot(-3, 2500, "told late"), false)
			seal(t, w)
			path := filepath.Join(dir, name)
			var latest uint64
			behind := 0
			for i, m := range inFile(t, path) {
				if m.log < latest {
					if behind++; strict || m.bytes < 16<<10 {
						t.Fatalf("message %d, of %s, has the log time %d after %d", i, m.topic, m.log, latest)
					}
				}
				if m.log < uint64(start) {
					t.Errorf("message %d, of %s, has the log time %d before the beginning", i, m.topic, m.log)
				}
				latest = max(latest, m.log)
			}
			if !strict && behind == 0 {
				t.Error("large messages stand among small ones")
			}
			if problems, err := episode.Verify(t.Context(), path, quick); err != nil || len(problems) > 0 {
				t.Errorf("%v, %v", problems, err)
			}
			r := open(t, path, quick)
			compare(t, r, want)
			recorded := engram.Interval{Start: start, End: start + 599e7 + 1}
			if info := r.Info(); info.Recorded != recorded || info.InForce != 1 || info.Span.Start != -3 {
				t.Errorf("the episode is of %v and recorded %v with %d in force; want %v and 1", info.Span, info.Recorded, info.InForce, recorded)
			}
			for _, e := range r.Entities() {
				if e.ID == cup && e.Recorded != (engram.Interval{Start: start, End: start + 595e7 + 1}) {
					t.Errorf("of %s %v is recorded", e.ID, e.Recorded)
				}
			}
		})
	}
}

// What has the time 0 of a clock that begins there, as a simulation's, has the log time 0 in
// the file, too.
func TestLogTimesFromZero(t *testing.T) {
	for _, strict := range []bool{false, true} {
		dir := t.TempDir()
		w := create(t, dir, episode.Options{Strict: strict})
		var want []*engram.Snapshot
		for i := range engram.Time(3) {
			s := snapshot(i*1e9, uint64(i+1), fmt.Sprint(i))
			add(t, w, channel(t, cup), s, false)
			want = append(want, s)
		}
		seal(t, w)
		path := filepath.Join(dir, name)
		var times []uint64
		for _, m := range inFile(t, path) {
			if m.topic == cup.String() {
				times = append(times, m.log)
			}
		}
		if !slices.Equal(times, []uint64{0, 1e9, 2e9}) {
			t.Errorf("strict %v: the log times are %v", strict, times)
		}
		if problems, err := episode.Verify(t.Context(), path, quick); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		compare(t, open(t, path, quick), map[engram.ID][]*engram.Snapshot{cup: want})
	}
}

// TestMetadataNamesDiffer has no two metadata records of one name, in one file or in two.
func TestMetadataNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		dir := t.TempDir()
		w := create(t, dir, quick)
		add(t, w, channel(t, cup), snapshot(5, 1, "x"), false)
		for range 3 {
			w.Lose("something")
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		seal(t, w)
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := mcap.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		info, err := r.Info()
		if err != nil {
			t.Fatal(err)
		}
		if len(info.MetadataIndexes) < 4 {
			t.Errorf("%d metadata records, want 4 or more", len(info.MetadataIndexes))
		}
		for _, x := range info.MetadataIndexes {
			if seen[x.Name] {
				t.Errorf("the name %s stands twice", x.Name)
			}
			seen[x.Name] = true
		}
	}
}
