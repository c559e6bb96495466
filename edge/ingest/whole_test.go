package ingest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// witness notes what is committed to a server: the payloads of each entity, as they
// come.
type witness struct {
	*server.Server
	payloads map[string][][]byte
}

// Commit implements engram.Writer. A witness has no pipeline.
func (w *witness) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	for _, u := range c.Updates {
		for _, in := range u.Instances {
			id := u.Entity.String()
			w.payloads[id] = append(w.payloads[id], in.Payload.Bytes)
		}
	}
	return w.Server.Commit(ctx, c)
}

// destination hides what a witness has beside a Destination.
type destination struct {
	engram.Writer
	engram.Segments
	engram.Types
	engram.Statistician
}

// importWhole imports a recording, exports it, and checks that nothing is missing: each
// message of each topic is in the export once, with the payload that it was given.
func importWhole(t *testing.T, path string) *Report {
	t.Helper()
	w := &witness{Server: newServer(t), payloads: map[string][][]byte{}}
	r := mustImport(t, destination{w, w, w, w}, path, Options{Source: "x"})
	if r.Stored == 0 {
		return r
	}
	if r.Superseded+r.Evicted+r.Refused > 0 {
		t.Errorf("of %d stored %d are superseded, %d evicted; %d refused", r.Stored, r.Superseded, r.Evicted, r.Refused)
	}
	recorded := countRecorded(t, path)
	for _, tr := range r.Topics {
		if n := recorded[tr.Topic+" "+tr.Type]; n != tr.Messages {
			t.Errorf("%s: %d messages are recorded, %d were read", tr.Topic, n, tr.Messages)
		}
	}
	file := filepath.Join(t.TempDir(), "out.mcap")
	if _, err := Export(t.Context(), w.Server, file, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	exported := exportedPayloads(t, file)
	if len(exported) != len(w.payloads) {
		t.Errorf("%d entities are exported, want %d", len(exported), len(w.payloads))
	}
	for id, want := range w.payloads {
		got := exported[id]
		slices.SortFunc(got, bytes.Compare)
		slices.SortFunc(want, bytes.Compare)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %d payloads are exported; %d were committed, or others", id, len(got), len(want))
		}
	}
	for _, tr := range r.Topics {
		if len(tr.Targets) != 1 || tr.Targets[0].Memory() != "GeneralPurpose" {
			continue
		}
		id, err := tr.Targets[0].Child("x")
		if err == nil {
			id, err = id.Child(tr.Topic)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := uint64(len(exported[id.String()])); n != tr.Messages {
			t.Errorf("%s: %d messages are exported of %d", tr.Topic, n, tr.Messages)
		}
	}
	again := mustImport(t, destination{w, w, w, w}, path, Options{Source: "x"})
	if again.Superseded != again.Stored || again.Shifted != r.Shifted {
		t.Errorf("imported again, %d of %d are in the place of themselves; %d of equal stamps, %d the first time", again.Superseded, again.Stored, again.Shifted, r.Shifted)
	}
	return r
}

// countRecorded counts a recording's messages by topic and type.
func countRecorded(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	n := map[string]uint64{}
	for {
		m, err := rec.Next()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n[m.Channel.Topic+" "+m.Channel.Type]++
	}
}

// exportedPayloads returns the messages of an export by topic, as the MCAP library
// reads them.
func exportedPayloads(t *testing.T, file string) map[string][][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := mcap.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Messages()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][][]byte{}
	for {
		schema, ch, m, err := it.NextInto(nil)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(schema.Name, "engram.ltm.") {
			all[ch.Topic] = append(all[ch.Topic], m.Data)
		}
	}
}

// TestNothingVanishes imports every recording.
func TestNothingVanishes(t *testing.T) {
	root := testkit.Shared(t, "recordings")
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() != "empty-file.bag" && slices.Contains([]string{".mcap", ".bag", ".db3", ".yaml"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, file := range files {
		name := strings.TrimPrefix(file, root+string(filepath.Separator))
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			if importWhole(t, testkit.Recording(t, name)).Stored > 0 {
				whole++
			}
		})
	}
	if whole < 8 && !testkit.Raced {
		t.Errorf("%d of %d recordings were imported, want 8 or more", whole, len(files))
	}
}

// TestEqualStamps has messages of equal stamps of every kind: of one publisher and of
// several, without stamps, with clocks of a millisecond, identical ones.
func TestEqualStamps(t *testing.T) {
	const point = "std_msgs/Header header\nfloat64 x\n" +
		"================================================================================\n" +
		"MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" +
		"================================================================================\n" +
		"MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
	stamped := func(sec, nsec uint32, x int) []byte {
		return cdr(sec, nsec, "map", float64(x))
	}
	for _, tt := range []struct {
		name    string
		shifted uint64
		write   func(r *recorder)
	}{
		{"log times that are equal", 299, func(r *recorder) {
			for i := range 300 {
				r.now = 5e9
				r.write("/tick", "std_msgs/msg/UInt8", "cdr", "ros2msg", []byte("uint8 data"), cdr(uint8(i)))
			}
		}},
		{"stamps of a millisecond, not in order", 400, func(r *recorder) {
			for i := range 500 {
				r.write("/p", "my/msg/P", "cdr", "ros2msg", []byte(point), stamped(7, uint32(99-i%100)*1e6, i))
			}
		}},
		{"stamps of zero beside log times", 0, func(r *recorder) {
			for i := range 10 {
				r.write("/p", "my/msg/P", "cdr", "ros2msg", []byte(point), stamped(0, 0, i))
			}
		}},
		{"a stamp that is a neighbour already", 2, func(r *recorder) {
			for _, nsec := range []uint32{5, 6, 5, 6} {
				r.write("/p", "my/msg/P", "cdr", "ros2msg", []byte(point), stamped(7, nsec, 0))
			}
		}},
		{"identical words", 9, func(r *recorder) {
			for range 10 {
				r.now = 5e9
				r.write("/say", "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr("hello"))
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			tt.write(r)
			if report := importWhole(t, r.file()); report.Shifted != tt.shifted || report.Stored != report.Messages {
				t.Errorf("of %d messages %d are stored and %d have a time of a neighbour, want %d", report.Messages, report.Stored, report.Shifted, tt.shifted)
			}
		})
	}
}
