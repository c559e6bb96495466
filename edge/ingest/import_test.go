package ingest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foxglove/go-rosbag"
	"github.com/foxglove/mcap/go/mcap"
	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer returns a server with all memories whose bounds keep everything.
func newServer(t testing.TB) *server.Server {
	t.Helper()
	all := memories.All()
	for i := range all {
		all[i].Bounds = engram.Bounds{}
		for j := range all[i].Segments {
			all[i].Segments[j].History = engram.Bounds{}
		}
	}
	s, err := server.New(server.Config{Memories: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustImport(t testing.TB, s Destination, path string, o Options) *Report {
	t.Helper()
	r, err := Import(context.Background(), s, path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// topic returns the report of a topic.
func topic(t testing.TB, r *Report, name string) TopicReport {
	t.Helper()
	for _, tr := range r.Topics {
		if tr.Topic == name {
			return tr
		}
	}
	t.Fatalf("no topic %s in the report: %+v", name, r.Topics)
	return TopicReport{}
}

// snapshots returns all snapshots of an entity, in the order of time.
func snapshots(t testing.TB, s *server.Server, names ...string) []*engram.Snapshot {
	t.Helper()
	id, err := engram.NewID(names...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Query(context.Background(), engram.SelectID(id, engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var out []*engram.Snapshot
	for it := range res.All() {
		out = append(out, it.Snapshot)
	}
	return out
}

// decoded returns the payload of a snapshot's first instance as plain Go values.
func decoded(t testing.TB, s *server.Server, snap *engram.Snapshot) map[string]any {
	t.Helper()
	def, err := s.Type(context.Background(), snap.Instances[0].Payload.Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	v, err := typ.Decode(snap.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestImportG1(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames int
	}{{"g1_bottle_2", 343}, {"g1_bottle_10", 290}} {
		t.Run(tt.name, func(t *testing.T) {
			path := testkit.Recording(t, tt.name+".mcap")
			s := newServer(t)
			r := mustImport(t, s, path, Options{})
			if r.Lossy() || r.Source != tt.name || r.Stored != r.Messages || r.Messages != uint64(3*tt.frames+1) {
				t.Errorf("report %+v", r)
			}
			images := topic(t, r, "/camera/color/image_raw/compressed")
			if images.Stored != uint64(tt.frames) || fmt.Sprint(images.Targets) != "[Vision/ImageRGB]" {
				t.Errorf("images: %+v", images)
			}
			if got := snapshots(t, s, "Vision", "ImageRGB", tt.name, "/camera/color/image_raw/compressed"); len(got) != tt.frames {
				t.Errorf("%d images, want %d", len(got), tt.frames)
			}
			joints := snapshots(t, s, "RobotState", "Proprioception", tt.name, "/joint_states")
			if len(joints) != tt.frames {
				t.Fatalf("%d joint states, want %d", len(joints), tt.frames)
			}
			for _, snap := range joints {
				if v := decoded(t, s, snap); len(v["name"].([]any)) != 26 || len(v["position"].([]any)) != 26 {
					t.Fatalf("joint state %v", v)
				}
			}
			task := snapshots(t, s, "Speech", "Text", tt.name, "/task")
			if len(task) != 1 || decoded(t, s, task[0])["text"] == "" {
				t.Errorf("task %v", task)
			}
			compareG1(t, s, path, tt.name)
		})
	}
}

// compareG1 compares what was stored with the recording as the mcap library reads
// it, decoded here by hand.
func compareG1(t *testing.T, s *server.Server, path, provider string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lib, err := mcap.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	it, err := lib.Messages()
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string][]*engram.Snapshot{}
	for n := 0; ; n++ {
		_, ch, m, err := it.NextInto(nil)
		if err != nil {
			break
		}
		segment := map[string][]string{
			"/joint_states": {"RobotState", "Proprioception"}, "/camera/color/image_raw/compressed": {"Vision", "ImageRGB"},
		}[ch.Topic]
		if segment == nil || n%7 != 0 {
			continue
		}
		if stored[ch.Topic] == nil {
			stored[ch.Topic] = snapshots(t, s, append(segment, provider, ch.Topic)...)
		}
		c := &hand{t: t, b: m.Data, off: 4, align: true}
		stamp := engram.Time(int64(c.u32())*1e9 + int64(c.u32()))
		frame := c.str()
		var snap *engram.Snapshot
		for _, x := range stored[ch.Topic] {
			if x.Time == stamp {
				snap = x
			}
		}
		if snap == nil {
			t.Fatalf("%s: no snapshot at %v", ch.Topic, stamp)
		}
		if in := snap.Instances[0]; !in.HasSent || in.Sent != engram.Time(m.LogTime) || in.Confidence != 1 {
			t.Errorf("%s: sent %v, want the log time %v", ch.Topic, in.Sent, m.LogTime)
		}
		v := decoded(t, s, snap)
		if v["timestamp"] != stamp || frame != "" && v["frame_id"] != frame {
			t.Errorf("%s: timestamp %v, frame %v, want %v, %q", ch.Topic, v["timestamp"], v["frame_id"], stamp, frame)
		}
		if ch.Topic == "/joint_states" {
			for i, count := 0, int(c.u32()); i < count; i++ {
				if name := c.str(); v["name"].([]any)[i] != name {
					t.Errorf("name %d is %v, want %s", i, v["name"].([]any)[i], name)
				}
			}
			for i, count := 0, int(c.u32()); i < count; i++ {
				if pos := c.f64(); v["position"].([]any)[i] != pos {
					t.Errorf("position %d is %v, want %v", i, v["position"].([]any)[i], pos)
				}
			}
			continue
		}
		format := c.str()
		n := int(c.u32())
		data := c.b[c.off : c.off+n]
		if v["format"] != format || string(v["data"].([]byte)) != string(data) {
			t.Errorf("image at %v differs", stamp)
		}
	}
	if len(stored) != 2 {
		t.Fatalf("only %d topics were compared", len(stored))
	}
}

// hand decodes ROS messages by hand, independent of package rosmsg.
type hand struct {
	t     *testing.T
	b     []byte
	off   int
	align bool // CDR
}

func (h *hand) at(n int) []byte {
	if h.align {
		h.off = 4 + (h.off-4+n-1)/n*n
	}
	b := h.b[h.off : h.off+n]
	h.off += n
	return b
}

func (h *hand) u32() uint32  { return binary.LittleEndian.Uint32(h.at(4)) }
func (h *hand) f64() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(h.at(8))) }
func (h *hand) f32() float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(h.at(4))))
}

func (h *hand) str() string {
	n := int(h.u32())
	s := string(h.b[h.off : h.off+n])
	h.off += n
	return strings.TrimSuffix(s, "\x00")
}

func TestImportBags(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages uint64
		targets  map[string]string
	}{
		{"guardian_palette.bag", 18899, map[string]string{
			"/tf": "RobotState/Localization", "/joint_states": "RobotState/Proprioception", "/guardian/odom": "RobotState/Localization",
			"/guardian/laser_tilt_front": "Vision/LaserScan", "/joy": `GeneralPurpose/sensor_msgs\/Joy`, "/guardian_node/state": `GeneralPurpose/guardian_node\/guardian_state`}},
		{"tilt_laser.bag", 4093, map[string]string{"/tf": "RobotState/Localization", "/scan": "Vision/LaserScan", "/imu_data": `GeneralPurpose/sensor_msgs\/Imu`}},
		{"husky_outdoor.bag", 16806, map[string]string{"/fix": `GeneralPurpose/sensor_msgs\/NavSatFix`}},
		{"bag_edge_cases/example.bag", 8647, map[string]string{"/tf_static": "RobotState/Localization"}},
		{"bag_edge_cases/example-bz2.bag", 8647, nil},
		{"bag_edge_cases/example-lz4.bag", 8647, map[string]string{"/turtle1/pose": `GeneralPurpose/turtlesim\/Pose`}},
		{"bag_edge_cases/example-unsorted-chunks.bag", 3, map[string]string{"foo": `GeneralPurpose/std_msgs\/String`}},
		{"bag_edge_cases/no-messages.bag", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			r := mustImport(t, s, testkit.Recording(t, tt.name), Options{})
			if r.Lossy() || r.Messages != tt.messages || r.Stored < tt.messages {
				t.Errorf("messages %d, stored %d, refused %d, loss %v", r.Messages, r.Stored, r.Refused, r.Loss)
			}
			for _, tr := range r.Topics {
				if len(tr.Notes) > 0 || len(tr.Reasons) > 0 {
					t.Errorf("%s: notes %q, refused %v", tr.Topic, tr.Notes, tr.Reasons)
				}
			}
			for name, target := range tt.targets {
				if got := fmt.Sprint(topic(t, r, name).Targets); got != "["+target+"]" {
					t.Errorf("%s went to %s, want %s", name, got, target)
				}
			}
		})
	}
}

// TestImportedBagValues compares stored values with those in the bag, read by the
// rosbag library and decoded by hand.
func TestImportedBagValues(t *testing.T) {
	path := testkit.Recording(t, "guardian_palette.bag")
	s := newServer(t)
	mustImport(t, s, path, Options{Source: "guardian"})
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
	compared := map[string]int{}
	for n := 0; it.More(); n++ {
		c, m, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if n%97 != 0 && c.Topic != "/guardian/odom" || compared[c.Topic] > 40 {
			continue
		}
		h := &hand{t: t, b: m.Data}
		switch c.Topic {
		case "/tf":
			for range h.u32() {
				h.u32() // seq
				stamp := engram.Time(int64(h.u32())*1e9 + int64(h.u32()))
				parent, child := h.str(), h.str()
				v := atTime(t, s, stamp, "RobotState", "Localization", "guardian", parent+","+child)
				tr, rot := v["translation"].(map[string]any), v["rotation"].(map[string]any)
				for _, member := range []any{tr["x"], tr["y"], tr["z"], rot["x"], rot["y"], rot["z"], rot["w"]} {
					if want := h.f64(); number(member) != want {
						t.Errorf("/tf at %v: %v, want %v in %v", stamp, member, want, v)
					}
				}
				if v["parent_frame_id"] != parent || v["child_frame_id"] != child || v["timestamp"] != stamp {
					t.Errorf("/tf: %v", v)
				}
			}
		case "/guardian/odom":
			h.u32()
			stamp := engram.Time(int64(h.u32())*1e9 + int64(h.u32()))
			frame, child := h.str(), h.str()
			v := atTime(t, s, stamp, "RobotState", "Localization", "guardian", c.Topic)
			if v["parent_frame_id"] != frame || v["child_frame_id"] != child {
				t.Errorf("odometry frames %v", v)
			}
			if x := h.f64(); number(v["translation"].(map[string]any)["x"]) != x {
				t.Errorf("odometry x %v, want %v", v["translation"], x)
			}
			h.off += 6 * 8
			for i := range 36 {
				if want := h.f64(); v["pose_covariance"].([]any)[i] != want {
					t.Errorf("covariance %d: %v, want %v", i, v["pose_covariance"].([]any)[i], want)
				}
			}
			if vx := h.f64(); number(v["linear_velocity"].(map[string]any)["x"]) != vx {
				t.Errorf("velocity %v, want %v", v["linear_velocity"], vx)
			}
		case "/guardian/laser_tilt_front":
			h.u32()
			stamp := engram.Time(int64(h.u32())*1e9 + int64(h.u32()))
			frame := h.str()
			v := atTime(t, s, stamp, "Vision", "LaserScan", "guardian", c.Topic)
			angleMin, angleMax := h.f32(), h.f32()
			h.f32() // angle_increment
			if v["frame_id"] != frame || v["start_angle"] != angleMin || v["end_angle"] != angleMax ||
				number(v["time_increment"]) != h.f32() || number(v["scan_time"]) != h.f32() || v["range_min"] != h.f32() || v["range_max"] != h.f32() {
				t.Errorf("scan %v", v)
			}
			for i, n := 0, int(h.u32()); i < n; i++ {
				if want := h.f32(); math.Float64bits(v["ranges"].([]any)[i].(float64)) != math.Float64bits(want) {
					t.Fatalf("range %d: %v, want %v", i, v["ranges"].([]any)[i], want)
				}
			}
			if w := v["pose"].(map[string]any)["orientation"].(map[string]any)["w"]; w != 1.0 {
				t.Errorf("pose %v", v["pose"])
			}
		case "/joy":
			h.u32()
			stamp := engram.Time(int64(h.u32())*1e9 + int64(h.u32()))
			h.str()
			v := atTime(t, s, stamp, "GeneralPurpose", "sensor_msgs/Joy", "guardian", c.Topic)
			for i, n := 0, int(h.u32()); i < n; i++ {
				if want := h.f32(); float64(v["axes"].([]any)[i].(float32)) != want {
					t.Errorf("axis %d: %v, want %v", i, v["axes"].([]any)[i], want)
				}
			}
		default:
			continue
		}
		compared[c.Topic]++
	}
	if len(compared) != 4 {
		t.Errorf("compared %v", compared)
	}
}

func number(v any) float64 {
	f, _ := v.(float64) // a member without presence that is zero may be absent
	return f
}

// atTime returns the decoded payload of an entity at a time.
func atTime(t *testing.T, s *server.Server, at engram.Time, names ...string) map[string]any {
	t.Helper()
	id, err := engram.NewID(names...)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.AtOrBefore(context.Background(), id, at)
	if err != nil || snap.Time != at {
		t.Fatalf("%v at %v: %v, %v", id, at, snap, err)
	}
	return decoded(t, s, snap)
}

func TestImportRosbag2(t *testing.T) {
	for _, tt := range []struct {
		name, provider string
		messages       uint64
	}{
		{"rosbag2/cdr_test_0.db3", "cdr_test_0", 7}, {"rosbag2/cdr_test_0.mcap", "cdr_test_0", 7}, {"rosbag2/wrong_rmw_test_0.db3", "wrong_rmw_test_0", 7},
		{"rosbag2/wbag_mcap", "wbag_mcap", 6074}, {"rosbag2/wbag_sqlite3", "wbag_sqlite3", 6074}, {"rosbag2/wbag_sqlite3/metadata.yaml", "wbag_sqlite3", 6074},
		{"rosbag2/talker.mcap", "talker", 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			r := mustImport(t, s, testkit.Recording(t, tt.name), Options{})
			if r.Lossy() || r.Messages != tt.messages || r.Stored != tt.messages || r.Source != tt.provider {
				t.Errorf("report %+v", r)
			}
			for _, tr := range r.Topics {
				if len(tr.Notes) > 0 {
					t.Errorf("%s: %q", tr.Topic, tr.Notes)
				}
			}
			switch {
			case tt.messages == 7:
				compareTestMsgs(t, s, tt.provider)
			case tt.messages == 6074:
				if got := topic(t, r, "AAA"); got.Stored != 804 || fmt.Sprint(got.Targets) != `[GeneralPurpose/std_msgs\/msg\/String]` {
					t.Errorf("AAA: %+v", got)
				}
			}
		})
	}
}

// compareTestMsgs checks the values that rosbag2's own test writes.
func compareTestMsgs(t *testing.T, s *server.Server, provider string) {
	t.Helper()
	basic := snapshots(t, s, "GeneralPurpose", "test_msgs/msg/BasicTypes", provider, "/test_topic")
	if len(basic) != 3 || decoded(t, s, basic[0])["int32_value"] != int32(123) {
		t.Errorf("BasicTypes %v", basic)
	}
	arrays := snapshots(t, s, "GeneralPurpose", "test_msgs/msg/Arrays", provider, "/array_topic")
	if len(arrays) != 4 {
		t.Fatalf("Arrays %v", arrays)
	}
	v := decoded(t, s, arrays[0])
	if got := fmt.Sprint(v["string_values"]); got != "[Complex Hello1 Complex Hello2 Complex Hello3]" {
		t.Errorf("string_values %s", got)
	}
	// The last members, behind the empty messages and many alignments.
	if got := fmt.Sprint(v["string_values_default"]); got != "[ max value min value]" {
		t.Errorf("string_values_default %s", got)
	}
	if got := fmt.Sprint(v["int64_values_default"]); got != "[0 9223372036854775807 -9223372036854775808]" {
		t.Errorf("int64_values_default %s", got)
	}
	if got := v["uint8_values_default"]; hex.EncodeToString(got.([]byte)) != "0001ff" {
		t.Errorf("uint8_values_default %v", got)
	}
	def, err := s.Type(context.Background(), "ros2.test_msgs.Arrays")
	if err != nil || def.Format != "ros2msg" || !strings.Contains(def.Source, "alignment_check") {
		t.Errorf("the definition was not kept: %v, %v", def.Format, err)
	}
}

func TestImportRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "photo.jpg")
	if err := os.WriteFile(other, []byte("\xff\xd8\xff\xe0 a photo"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.mcap")
	if err := os.WriteFile(cut, mcap.Magic, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	for _, tt := range []struct {
		path string
		o    Options
		code engram.Code
	}{
		{testkit.Recording(t, "bag_edge_cases/empty-file.bag"), Options{}, engram.Invalid},
		{other, Options{}, engram.Invalid},
		{cut, Options{}, engram.Corrupt},
		{filepath.Join(dir, "nowhere"), Options{}, engram.NotFound},
		{testkit.Recording(t, "rosbag2/talker.mcap"), Options{Rate: -1}, engram.Invalid},
		{testkit.Recording(t, "rosbag2/talker.mcap"), Options{Source: "a\x00b"}, engram.Invalid},
	} {
		if _, err := Import(context.Background(), s, tt.path, tt.o); engram.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %v", tt.path, err, tt.code)
		}
	}
	if n := len(snapshots(t, s)); n != 0 {
		t.Errorf("%d snapshots were stored by refused imports", n)
	}
}

func TestImportDamaged(t *testing.T) {
	for _, name := range []string{"g1_bottle_10.mcap", "tilt_laser.bag"} {
		b, err := os.ReadFile(testkit.Recording(t, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b[:len(b)*2/3], 0o600); err != nil {
			t.Fatal(err)
		}
		r := mustImport(t, newServer(t), path, Options{})
		if !r.Lossy() || r.Stored == 0 || r.Refused > 0 || r.LossSummary() == "" || strings.Contains(r.LossSummary(), "\n") {
			t.Errorf("%s: stored %d, refused %d, loss %q", name, r.Stored, r.Refused, r.LossSummary())
		}
	}
}

// TestReplayRate replays a recording of three messages a second apart in fake time.
func TestReplayRate(t *testing.T) {
	path := testkit.Recording(t, "bag_edge_cases/example-unsorted-chunks.bag")
	s := newServer(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := mustImport(t, s, path, Options{Rate: 4})
		if took := time.Since(began); took != 500*time.Millisecond || r.Stored != 3 {
			t.Errorf("%d messages in %v, want 3 in 0.5 s", r.Stored, took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		r, err := Import(ctx, s, path, Options{Rate: 1})
		if !errors.Is(err, engram.Canceled) || r.Stored != 2 {
			t.Errorf("cancelled after 1.5 s: %v, stored %d", err, r.Stored)
		}
	})
}

// TestProgressByTime expects a replay's progress in recorded time, to its end.
func TestProgressByTime(t *testing.T) {
	path := testkit.Recording(t, "bag_edge_cases/example-unsorted-chunks.bag")
	s := newServer(t)
	synctest.Test(t, func(t *testing.T) {
		var last, whole int64
		mustImport(t, s, path, Options{Rate: 1, Progress: func(done, total int64) { last, whole = done, total }})
		if span := int64(2 * time.Second); whole < span || whole > span+1 || last < span {
			t.Errorf("progress ended at %d of %d, want 2 s", last, whole)
		}
	})
}

func TestImportTwice(t *testing.T) {
	path := testkit.Recording(t, "tilt_laser.bag")
	s := newServer(t)
	first := mustImport(t, s, path, Options{})
	second := mustImport(t, s, path, Options{Source: "again"})
	if first.Stored != second.Stored || second.Refused > 0 {
		t.Errorf("first %d, second %d stored, %d refused", first.Stored, second.Stored, second.Refused)
	}
	for _, tr := range second.Topics {
		if len(tr.Notes) > 0 {
			t.Errorf("%s: %q", tr.Topic, tr.Notes)
		}
	}
}

func TestProgress(t *testing.T) {
	var last, whole int64
	calls := 0
	mustImport(t, newServer(t), testkit.Recording(t, "tilt_laser.bag"), Options{Progress: func(done, total int64) {
		if done < last || done > total {
			t.Fatalf("progress went from %d to %d of %d", last, done, total)
		}
		last, whole = done, total
		calls++
	}})
	if last != whole || whole == 0 || calls < 10 {
		t.Errorf("progress ended at %d of %d after %d calls", last, whole, calls)
	}
}

func BenchmarkImportGuardianPalette(b *testing.B) {
	path := testkit.Recording(b, "guardian_palette.bag")
	b.ReportAllocs()
	var messages, updates uint64
	for b.Loop() {
		s := newServer(b)
		r, err := Import(context.Background(), s, path, Options{})
		if err != nil || r.Lossy() {
			b.Fatal(r, err)
		}
		messages += r.Messages
		updates += r.Stored
	}
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64(updates)/b.Elapsed().Seconds(), "updates/s")
}
