package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/go-rosbag"
	"github.com/foxglove/mcap/go/mcap"
	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// got is what was read of a recording.
type got struct {
	messages int
	topics   map[string]int
	bytes    int
	unsorted int
	loss     []Loss
}

func readAll(t testing.TB, path string) got {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatalf("Open(%s): %v", path, err)
	}
	defer r.Close()
	return drain(t, r)
}

func drain(t testing.TB, r Reader) got {
	t.Helper()
	g := got{topics: map[string]int{}}
	last := engram.MinTime
	for {
		m, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		g.messages++
		g.topics[m.Channel.Topic]++
		g.bytes += len(m.Data)
		if m.LogTime < last {
			g.unsorted++
		}
		last = m.LogTime
	}
	if done, total := r.Progress(); done != total {
		t.Errorf("progress at the end is %d of %d", done, total)
	}
	g.loss = r.Loss()
	return g
}

func TestRecordings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages int
		topics   map[string]int // some of them
	}{
		{"g1_bottle_2.mcap", 1030, map[string]int{"/camera/color/image_raw/compressed": 343, "/joint_states": 343, "/joint_commands": 343, "/task": 1}},
		{"g1_bottle_10.mcap", 871, map[string]int{"/camera/color/image_raw/compressed": 290, "/task": 1}},
		{"guardian_palette.bag", 18899, map[string]int{"/tf": 9358, "/joint_states": 2947, "/guardian/odom": 839}},
		{"tilt_laser.bag", 4093, map[string]int{"/scan": 178, "/imu_data": 356}},
		{"husky_outdoor.bag", 16806, map[string]int{"/imu/data": 11865, "/fix": 989}},
		{"bag_edge_cases/example.bag", 8647, map[string]int{"/tf": 2688}},
		{"bag_edge_cases/example-bz2.bag", 8647, nil},
		{"bag_edge_cases/example-lz4.bag", 8647, nil},
		{"bag_edge_cases/example-unsorted-chunks.bag", 3, nil},
		{"bag_edge_cases/no-messages.bag", 0, nil},
		{"rosbag2/cdr_test_0.db3", 7, map[string]int{"/test_topic": 3, "/array_topic": 4}},
		{"rosbag2/cdr_test_0.mcap", 7, nil},
		{"rosbag2/wrong_rmw_test_0.db3", 7, nil},
		{"rosbag2/talker.mcap", 20, nil},
		{"rosbag2/wbag_mcap", 6074, map[string]int{"AAA": 804, "HHH": 726}},
		{"rosbag2/wbag_sqlite3", 6074, map[string]int{"AAA": 804, "HHH": 726}},
		{"rosbag2/wbag_sqlite3/metadata.yaml", 6074, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := readAll(t, testkit.Recording(t, tt.name))
			if g.messages != tt.messages || len(g.loss) > 0 || g.unsorted > 0 {
				t.Errorf("%d messages (%d out of order), want %d; loss %v; %v", g.messages, g.unsorted, tt.messages, g.loss, g.topics)
			}
			for topic, n := range tt.topics {
				if g.topics[topic] != n {
					t.Errorf("%s: %d messages, want %d", topic, g.topics[topic], n)
				}
			}
		})
	}
}

// TestAgainstLibraries compares each message with what the formats' own libraries
// read from the same file.
func TestAgainstLibraries(t *testing.T) {
	for _, name := range []string{"guardian_palette.bag", "tilt_laser.bag", "bag_edge_cases/example-lz4.bag", "bag_edge_cases/example-unsorted-chunks.bag"} {
		if testkit.Raced && name == "guardian_palette.bag" {
			continue
		}
		path := testkit.Recording(t, name)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lib, err := rosbag.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		it, err := lib.Messages()
		if err != nil {
			t.Fatal(err)
		}
		compareWith(t, path, func() (topic, typ string, schema []byte, at uint64, data []byte, err error) {
			if !it.More() {
				return "", "", nil, 0, nil, io.EOF
			}
			c, m, err := it.Next()
			if err != nil {
				return "", "", nil, 0, nil, err
			}
			return c.Topic, c.Data.Type, c.Data.MessageDefinition, m.Time, m.Data, nil
		})
	}
	for _, name := range []string{"g1_bottle_10.mcap", "rosbag2/talker.mcap", "rosbag2/cdr_test_0.mcap", "rosbag2/wbag_mcap/wbag_2.mcap"} {
		path := testkit.Recording(t, name)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lib, err := mcap.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		it, err := lib.Messages(mcap.InOrder(mcap.LogTimeOrder))
		if err != nil {
			t.Fatal(err)
		}
		compareWith(t, path, func() (topic, typ string, schema []byte, at uint64, data []byte, err error) {
			s, c, m, err := it.NextInto(nil)
			if err != nil {
				return "", "", nil, 0, nil, err
			}
			return c.Topic, s.Name, s.Data, m.LogTime, m.Data, nil
		})
	}
}

// compareWith reads the recording beside the library. Messages of one time may
// come in another order, so those are compared as sets.
func compareWith(t *testing.T, path string, next func() (topic, typ string, schema []byte, at uint64, data []byte, err error)) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type key struct {
		at               engram.Time
		topic, typ, data string
	}
	count := map[key]int{}
	schemas := map[string]string{}
	for {
		m, err := r.Next()
		if err != nil {
			break
		}
		count[key{m.LogTime, m.Channel.Topic, m.Channel.Type, string(m.Data)}]++
		schemas[m.Channel.Type] = string(m.Channel.Schema)
	}
	n := 0
	for {
		topic, typ, schema, at, data, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		n++
		count[key{engram.Time(at), topic, typ, string(data)}]--
		if schemas[typ] != string(schema) {
			t.Errorf("%s: the definition of %s differs", path, typ)
		}
	}
	if n == 0 {
		t.Fatalf("%s: the library read nothing", path)
	}
	for k, c := range count {
		if c != 0 {
			t.Fatalf("%s: %s at %v was read %+d times more often than the library does", path, k.topic, k.at, c)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Mkdir(filepath.Join(dir, "hollow"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lost"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		code engram.Code
		text string
	}{
		{filepath.Join(dir, "nowhere"), engram.NotFound, "no such file"},
		{write("empty.bag", ""), engram.Invalid, "is empty"},
		{write("photo.mcap", "\xff\xd8\xff\xe0 a photo"), engram.Invalid, "not a recording"},
		{write("short.mcap", "\x89MCA"), engram.Corrupt, "cut off in its header"},
		{write("magic.mcap", "\x89MCAP0\r\n"), engram.Corrupt, "header record"},
		{write("magic.bag", "#ROSBAG V2.0\n"), engram.Corrupt, "header record"},
		{write("half.bag", "#ROSBAG V2.0\n\x45\x00\x00\x00\x10\x00"), engram.Corrupt, "header record"},
		{write("old.bag", "#ROSBAG V1.2\nmore of it"), engram.Unsupported, "version"},
		{write("cut.db3", "SQLite format 3\x00"), engram.Corrupt, ""},
		{write("packed.mcap.zstd", "\x28\xb5\x2f\xfd garbage and more"), engram.Corrupt, ""},
		{write("packed.bag.xz", "\xfd7zXZ\x00 and more"), engram.Unsupported, "is packed by xz"},
		{write("packed.zip", "PK\x03\x04 and more"), engram.Unsupported, "is packed by zip"},
		{filepath.Join(dir, "hollow"), engram.Invalid, "holds no recording"},
		{write("lost/metadata.yaml", "rosbag2_bagfile_information:\n  relative_file_paths: [a.db3]\n"), engram.Unavailable, "a.db3"},
		{write("lost/../metadata.yaml", "- : : ["), engram.Invalid, "not a rosbag2 description"},
	} {
		r, err := Open(tt.path)
		if err == nil {
			r.Close()
		}
		if engram.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%s): %v (%v), want %v with %q on one line", tt.path, err, engram.CodeOf(err), tt.code, tt.text)
		}
	}
}

func TestWholeFileCompression(t *testing.T) {
	// The smallest recording there is, compressed as a whole by zstd.
	raw, err := os.ReadFile(testkit.Recording(t, "rosbag2/cdr_test_0.db3"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.db3.zstd")
	if err := os.WriteFile(path, zstdFrame(t, raw), 0o600); err != nil {
		t.Fatal(err)
	}
	if g := readAll(t, path); g.messages != 7 || len(g.loss) > 0 {
		t.Errorf("%d messages, loss %v", g.messages, g.loss)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "engram-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		if b, err := os.ReadFile(l); err == nil && bytes.Equal(b, raw) {
			t.Errorf("the temporary copy %s was left behind", l)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"run_2.mcap", "run_10.mcap", -1}, {"run_10", "run_2", 1}, {"a", "b", -1}, {"a1", "a1", 0}, {"a01b", "a1a", 1}, {"a", "a1", -1}, {"1", "a", -1},
	} {
		if got := compareNatural(tt.a, tt.b); got < 0 != (tt.want < 0) || got > 0 != (tt.want > 0) {
			t.Errorf("compareNatural(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestCloseEarly(t *testing.T) {
	r, err := Open(testkit.Recording(t, "guardian_palette.bag"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	// goleak sees whether the goroutines that load ahead have ended.
}

func TestFolderMissesAPart(t *testing.T) {
	src := testkit.Recording(t, "rosbag2/wbag_sqlite3")
	dir := t.TempDir()
	for _, name := range []string{"metadata.yaml", "wbag_0.db3", "wbag_1.db3", "wbag_3.db3", "wbag_4.db3"} {
		b, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := readAll(t, dir)
	if g.messages != 6074-readAll(t, filepath.Join(src, "wbag_2.db3")).messages || len(g.loss) != 1 || !strings.Contains(g.loss[0].File, "wbag_2.db3") {
		t.Errorf("%d messages, loss %v", g.messages, g.loss)
	}
	if errors.Is(os.Remove(filepath.Join(dir, "metadata.yaml")), os.ErrNotExist) {
		t.Fatal("no metadata to remove")
	}
	if again := readAll(t, dir); again.messages != g.messages || len(again.loss) > 0 {
		t.Errorf("without metadata: %d messages, loss %v", again.messages, again.loss)
	}
}

func TestLossText(t *testing.T) {
	for _, tt := range []struct {
		loss Loss
		want string
	}{
		{Loss{File: "a.bag", Reason: "gone"}, "a.bag: gone"},
		{Loss{File: "a.bag", Offset: 1935283, Bytes: 64717, Beyond: true, Topics: []string{"/a", "/b"}, Reason: "cut"},
			"a.bag: 64,717 bytes at 1,935,283, topics /a /b, beyond the cut unknown: cut"},
		{Loss{File: "a.bag", Offset: 12, Beyond: true, Reason: "cut"}, "a.bag: all from byte 12 on, beyond the cut unknown: cut"},
		{Loss{File: "a.bag", Messages: 1234, HasSpan: true, Span: engram.Interval{Start: 1e18, End: 1e18 + 5e8 + 1}, Reason: "bad"},
			"a.bag: 1,234 messages, 2001-09-09T01:46:40.000Z to 2001-09-09T01:46:40.500Z: bad"},
	} {
		if got := tt.loss.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestSpan compares the span that is known beforehand with what is read.
func TestSpan(t *testing.T) {
	for _, name := range []string{"g1_bottle_2.mcap", "tilt_laser.bag", "rosbag2/cdr_test_0.db3"} {
		r, err := Open(testkit.Recording(t, name))
		if err != nil {
			t.Fatal(err)
		}
		span, read := r.Span(), engram.Interval{Start: engram.MaxTime}
		for {
			m, err := r.Next()
			if err != nil {
				break
			}
			read.Start, read.End = min(read.Start, m.LogTime), max(read.End, m.LogTime.Add(1))
		}
		r.Close()
		if span != read {
			t.Errorf("%s: the span is %v, read were %v", name, span, read)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b10.mcap", "b9.mcap", "split/metadata.yaml", "other/x.mcap", "notes.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "text"
		if strings.HasSuffix(name, ".mcap") {
			text = string(mcapMagic)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		dir:                               {filepath.Join(dir, "b9.mcap"), filepath.Join(dir, "b10.mcap"), filepath.Join(dir, "split")},
		filepath.Join(dir, "split"):       {filepath.Join(dir, "split")},
		filepath.Join(dir, "notes.txt"):   {filepath.Join(dir, "notes.txt")},
		filepath.Join(dir, "nowhere.bag"): {filepath.Join(dir, "nowhere.bag")},
	} {
		got, err := List(path)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("List(%s) = %v, %v; want %v", path, got, err, want)
		}
	}
}
