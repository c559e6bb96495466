package ingest

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// TestEvictedAlready imports what the bounds of a segment do not hold.
func TestEvictedAlready(t *testing.T) {
	all := memories.All()
	for i := range all {
		for j := range all[i].Segments {
			if all[i].Segments[j].ID.String() == "Speech/Text" {
				all[i].Segments[j].History = engram.Bounds{MaxCount: 4}
			}
		}
	}
	s, err := server.New(server.Config{Memories: all})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	record := func(topic string, start uint64, n int) string {
		r := newRecorder(t)
		r.now = start
		for i := range n {
			r.write(topic, "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr(fmt.Sprint(i)))
		}
		return r.file()
	}
	for _, tt := range []struct {
		name               string
		path               string
		evicted, displaced uint64
		refused            uint64
	}{
		{"within the bounds", record("/said/a", 1e18, 3), 0, 0, 0},
		{"more than they hold", record("/said/b", 1e18, 10), 6, 0, 0},
		{"later, in place of what was there", record("/said/a", 2e18, 2), 0, 1, 0},
		{"earlier than what is there", record("/said/b", 5e17, 2), 0, 0, 2},
	} {
		r := mustImport(t, s, tt.path, Options{Source: "x"})
		if r.Refused != tt.refused || r.Evicted != tt.evicted || r.Displaced != tt.displaced || r.Lossy() != (tt.evicted+tt.refused > 0) {
			t.Errorf("%s: %d of %d evicted, %d displaced; want %d, %d", tt.name, r.Evicted, r.Stored, r.Displaced, tt.evicted, tt.displaced)
		}
		if tt.evicted > 0 && (len(r.Evictions) != 1 || r.Evictions[0].Segment.String() != "Speech/Text" || r.Evictions[0].History.MaxCount != 4) {
			t.Errorf("%s: evictions %+v", tt.name, r.Evictions)
		}
	}
}

func TestSuperseded(t *testing.T) {
	path := testkit.Recording(t, "tilt_laser.bag")
	s := newServer(t)
	first := mustImport(t, s, path, Options{})
	second := mustImport(t, s, path, Options{})
	if first.Superseded > 0 || first.Shifted == 0 || second.Shifted != first.Shifted {
		t.Errorf("the first time %d are superseded; %d and %d have equal stamps", first.Superseded, first.Shifted, second.Shifted)
	}
	if second.Superseded != second.Stored || second.Evicted > 0 || second.Displaced > 0 {
		t.Errorf("of %d stored again %d are superseded (the first time %d), %d evicted", second.Stored, second.Superseded, first.Superseded, second.Evicted)
	}
}
