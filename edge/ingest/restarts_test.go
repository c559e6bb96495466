package ingest

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// at is a time of the recordings of these tests, whose log times begin at 1e18 + 1 s.
func at(seconds float64) engram.Time { return engram.Time(1e18).Add(secs(seconds)) }

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// moved writes a transform whose x tells the run, at a log time and with a stamp.
func (r *recorder) moved(topic, parent, child string, log, stamp engram.Time, x float64) {
	r.t.Helper()
	r.now = uint64(log) - 1e9 // write counts a second on
	r.proto(topic, &foxglove.FrameTransform{Timestamp: timestamppb.New(stamp.Std()), ParentFrameId: parent, ChildFrameId: child,
		Translation: &foxglove.Vector3{X: x}, Rotation: &foxglove.Quaternion{W: 1}})
}

// look returns x of source in target, or the error.
func look(t *testing.T, s *server.Server, target, source string, at engram.Time) (float64, error) {
	t.Helper()
	answers, err := poses.NewClient(feature.Within(s)).LookUp(t.Context(), []lookup.Question{{Target: target, Source: source, Time: at}})
	if err != nil {
		t.Fatal(err)
	}
	return answers[0].Pose.T.X, answers[0].Err
}

// TestSimTimeReset reads two runs of a simulation, of which each pose is of one.
func TestSimTimeReset(t *testing.T) {
	path := testkit.Shared(t, "reports", "sim_time_reset.mcap")
	start := engram.Time(1_700_000_000e9)
	for _, tt := range []struct {
		rules []TimeRule
		want  map[engram.Time]float64
	}{
		{nil, map[engram.Time]float64{engram.Time(5.5e9): 4.5, engram.Time(25.5e9): 104.5}},
		{[]TimeRule{{Topic: "/tf", Log: true}}, map[engram.Time]float64{start.Add(secs(4.5)): 4.5, start.Add(secs(24.5)): 104.5}},
	} {
		s := newServer(t)
		r := mustImport(t, s, path, Options{Source: "x", Times: tt.rules})
		if len(r.Clocks) != 1-len(tt.rules) || r.Stored != 22 || r.Shifted > 0 {
			t.Errorf("%v: report %+v", tt.rules, r)
		}
		for _, f := range r.Clocks {
			if f.Fault != ClockBack || f.By != 10*time.Second || f.From != 11e9 || f.At != start.Add(20*time.Second) || f.Count != 11 || !slices.Equal(f.Shifts, []time.Duration{20 * time.Second}) || !slices.Equal(f.Topics, []string{"/tf"}) {
				t.Errorf("found %+v", f)
			}
		}
		for when, x := range tt.want {
			if got, err := look(t, s, "x/odom", "x/base", when); err != nil || got < x-1e-9 || got > x+1e-9 {
				t.Errorf("%v: at %v x is %v, %v, want %v", tt.rules, when, got, err, x)
			}
		}
	}
}

// TestRunsStayApart has three runs of a robot, with what goes back by itself, what is seen too seldom to do so, and what
// is of other clocks: x of each pose is 100 times the run, wherever a pose is asked for.
func TestRunsStayApart(t *testing.T) {
	const ahead = 7 * time.Second // of the wall clock's stamps
	r := newRecorder(t)
	picture := func(topic string, log, stamp engram.Time) {
		r.now = uint64(log) - 1e9
		r.proto(topic, &foxglove.CompressedImage{Timestamp: timestamppb.New(stamp.Std()), Format: "jpeg", Data: []byte{1}})
	}
	seldom := []engram.Time{engram.Time(2e9), engram.Time(6e9), engram.Time(7e9)} // the stamps never go back
	for run := range 3 {
		for i := range 90 {
			log := at(1 + float64(20*run) + float64(i)/10)
			stamp := engram.Time(1e8 * (10 + i))
			x := float64(100 * run)
			if i%10 != 3 { // now and then a message is late
				r.moved("/tf", "odom", "base", log, stamp, x)
			}
			if i%10 == 7 {
				r.moved("/tf", "odom", "base", log, stamp-4e8, x)
			}
			r.moved("/tf", "base", "arm", log, stamp+3e8, x)
			if run > 0 {
				r.moved("/tf", "base", "new", log, stamp+20e8, x)
			}
			picture("/camera", log, stamp-2e8)
			picture("/wall", log, log.Add(ahead))
			if stamp == seldom[run] {
				r.moved("/seen", "base", "cup", log, stamp, x)
			}
		}
	}
	s := newServer(t)
	report := mustImport(t, s, r.file(), Options{Source: "x"})
	if report.Refused > 0 || report.Stored != report.Messages {
		t.Fatalf("report %+v", report)
	}
	var back []ClockFinding
	for _, f := range report.Clocks {
		if f.Fault == ClockBack {
			back = append(back, f)
		}
	}
	if len(back) != 1 || !slices.Equal(back[0].Topics, []string{"/camera", "/seen", "/tf"}) || back[0].At != at(21) {
		t.Errorf("what goes back is %+v", back)
	}
	asked, answered := 0, 0
	for _, child := range []string{"base", "arm", "new", "cup"} {
		for _, begin := range []engram.Time{0, at(0)} {
			for i := range 700 {
				got, err := look(t, s, "x/odom", "x/"+child, begin.Add(time.Duration(i)*100*time.Millisecond+30*time.Millisecond))
				asked++
				if err != nil {
					continue
				}
				answered++
				parts := map[string]float64{"base": 1, "arm": 2, "new": 2, "cup": 2}[child]
				if run := got / 100 / parts; run != 0 && run != 1 && run != 2 {
					t.Fatalf("x of %s at %v is %v, of several runs", child, begin.Add(time.Duration(i)*100*time.Millisecond), got)
				}
			}
		}
	}
	if answered < 600 {
		t.Errorf("only %d of %d poses are known", answered, asked)
	}
	for i, snap := range snapshots(t, s, "Vision", "ImageRGB", "x", "/wall") {
		if want := snap.Instances[0].Sent.Add(ahead); snap.Time != want {
			t.Fatalf("image %d of another clock stands at %v, want %v", i, snap.Time, want)
		}
	}
}

// TestShortRuns has runs that end after a few messages or a part of a second, and another edge that has one of each at most: each
// pose is of one run.
func TestShortRuns(t *testing.T) {
	type run struct {
		log, step float64
		n         int
	}
	for _, tt := range []struct {
		name string
		runs []run
	}{
		{"two messages between two runs", []run{{0, 1, 11}, {20, 1, 2}, {30, 1, 11}}},
		{"an aborted run between two", []run{{0, 0.02, 250}, {10, 0.02, 10}, {12, 0.02, 250}}},
		{"three aborted runs", []run{{0, 0.02, 250}, {10, 0.02, 10}, {12, 0.02, 10}, {14, 0.02, 2}}},
		{"a bag of less than a second in a loop", []run{{0, 0.1, 9}, {2, 0.1, 9}, {4, 0.1, 9}, {6, 0.1, 9}}},
		{"two messages each", []run{{0, 1, 2}, {10, 1, 2}, {20, 1, 2}, {30, 1, 2}}},
	} {
		r := newRecorder(t)
		var shifts []time.Duration
		for k, run := range tt.runs {
			for i := range run.n {
				log, stamp := at(1+run.log+float64(i)*run.step), engram.Time(secs(100+float64(i)*run.step))
				r.moved("/tf", "odom", "base", log, stamp, float64(1000*k))
				r.moved("/tf", "base", "arm", log, stamp, float64(1000*k))
				if i == 1 {
					r.moved("/seldom", "base", "cup", log, stamp, float64(1000*k))
				}
			}
			if k > 0 {
				shifts = append(shifts, secs(run.log))
			}
		}
		s := newServer(t)
		report := mustImport(t, s, r.file(), Options{Source: "x"})
		if f := report.Clocks; len(f) != 1 || f[0].Fault != ClockBack || !slices.Equal(f[0].Shifts, shifts) || !slices.Equal(f[0].Topics, []string{"/seldom", "/tf"}) {
			t.Errorf("%s: found %+v, want shifts of %v", tt.name, f, shifts)
		}
		answered := 0
		for i := range 4000 {
			when := engram.Time(secs(99 + float64(i)/50))
			for child, parts := range map[string]float64{"base": 1, "arm": 2, "cup": 2} {
				x, err := look(t, s, "x/odom", "x/"+child, when)
				if err != nil {
					continue
				}
				answered++
				if run := x / parts / 1000; run != float64(int(run)) {
					t.Fatalf("%s: x of %s at %v is %v, of two runs", tt.name, child, when, x)
				}
			}
		}
		if answered == 0 {
			t.Errorf("%s: no pose is known", tt.name)
		}
	}
}

// Stamps that go back by less than a second are told, and stand as they are.
func TestStampsThatGoBackALittle(t *testing.T) {
	r := newRecorder(t)
	for i := range 90 {
		r.moved("/tf", "odom", "base", at(float64(i)/10), engram.Time(secs(100+float64(i)/10-0.5*float64(i/45))), 0)
		r.moved("/tf", "odom", "map", at(float64(i)/10), engram.Time(secs(100+float64(i)/10)), 0)
	}
	report := mustImport(t, newServer(t), r.file(), Options{Source: "x"})
	if f := report.Clocks; len(f) != 2 || f[0].Fault != ClockBack || f[0].By != 400*time.Millisecond || len(f[0].Shifts) > 0 || f[0].At != at(4.5) || !slices.Equal(f[0].Topics, []string{"/tf (odom,base)"}) || f[1].Fault != ClockDrifts {
		t.Errorf("found %+v", report.Clocks)
	}
}

// Stamps of a clock that goes back while the recorder's goes on evenly do not come to stand among its earlier ones, and there is a
// gap that nothing is interpolated over.
func TestClockAheadGoesBack(t *testing.T) {
	r := newRecorder(t)
	for i := range 60 {
		log := at(1 + float64(i)/2)
		stamp := log.Add(5 * time.Second)
		if i >= 30 {
			stamp = log.Add(-8 * time.Second)
		}
		r.moved("/tf", "odom", "base", log, stamp, float64(i))
	}
	s := newServer(t)
	mustImport(t, s, r.file(), Options{Source: "x"})
	for i, snap := range snapshots(t, s, "RobotState", "Localization", "x", "odom,base") {
		want := at(1 + float64(i)/2 + 5)
		if i >= 30 { // half a second apart were too little
			want += engram.Time(betweenRuns - time.Second/2)
		}
		if snap.Time != want {
			t.Fatalf("transform %d stands at %v, want %v", i, snap.Time, want)
		}
	}
}

// The same in a rosbag2 database.
func TestSimTimeResetInDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db3")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)",
		"CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)",
		"INSERT INTO topics VALUES (1, '/tf', 'tf2_msgs/msg/TFMessage', 'cdr', '')",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		data := cdr(uint32(1), uint32(1+i%6), uint32(0), "odom", "base", float64(100*(i/6)), 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
		if _, err := db.Exec("INSERT INTO messages VALUES (?, 1, ?, ?)", i+1, int64(at(float64(i))), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	r := mustImport(t, s, path, Options{})
	if len(r.Clocks) == 0 || r.Clocks[0].Fault != ClockBack || r.Clocks[0].By != 5*time.Second {
		t.Errorf("found %+v", r.Clocks)
	}
	for when, x := range map[engram.Time]float64{engram.Time(3.5e9): 0, engram.Time(9.5e9): 100} {
		if got, err := look(t, s, "run/odom", "run/base", when); err != nil || got != x {
			t.Errorf("at %v x is %v, %v, want %v", when, got, err, x)
		}
	}
}

// The same in a ROS 1 bag that was never closed.
func TestSimTimeResetInBag(t *testing.T) {
	const definition = "geometry_msgs/TransformStamped[] transforms\n" +
		"===\nMSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n" +
		"===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n" +
		"===\nMSG: geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n" +
		"===\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n" +
		"===\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
	u32 := binary.LittleEndian.AppendUint32
	text := func(b []byte, s string) []byte { return append(u32(b, uint32(len(s))), s...) }
	fields := func(all ...string) (b []byte) {
		for _, f := range all {
			b = text(b, f)
		}
		return b
	}
	var bag []byte
	record := func(data []byte, header ...string) {
		h := fields(header...)
		bag = append(u32(append(u32(bag, uint32(len(h))), h...), uint32(len(data))), data...)
	}
	bag = append(bag, "#ROSBAG V2.0\n"...)
	record(make([]byte, 50), "op=\x03", "index_pos="+string(make([]byte, 8)), "conn_count=\x01\x00\x00\x00", "chunk_count=\x00\x00\x00\x00")
	record(fields("topic=/tf", "type=tf2_msgs/TFMessage", "md5sum=94810edda583a504dfda3829e70d7eec", "message_definition="+definition), "op=\x07", "conn=\x00\x00\x00\x00", "topic=/tf")
	for i := range 18 {
		stamp := u32(u32(nil, uint32(1+i%6)), 0)
		data := append(u32(u32(nil, 1), uint32(i)), stamp...)
		data = text(text(data, "odom"), "base")
		for _, x := range []float64{float64(100 * (i / 6)), 0, 0, 0, 0, 0, 1} {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
		record(data, "op=\x02", "conn=\x00\x00\x00\x00", "time="+string(u32(u32(nil, uint32(1_000_000_000+i)), 0)))
	}
	path := filepath.Join(t.TempDir(), "run.bag")
	if err := os.WriteFile(path, bag, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t)
	r := mustImport(t, s, path, Options{})
	if r.Stored != 18 || len(r.Clocks) == 0 || r.Clocks[0].Fault != ClockBack || !slices.Equal(r.Clocks[0].Shifts, []time.Duration{6001 * time.Millisecond, 12002 * time.Millisecond}) {
		t.Errorf("report %+v", r)
	}
	for i := range 200 {
		if x, err := look(t, s, "run/odom", "run/base", engram.Time(i)*1e8); err == nil && x != 0 && x != 100 && x != 200 {
			t.Errorf("at %v x is %v", engram.Time(i)*1e8, x)
		}
	}
	for when, x := range map[engram.Time]float64{engram.Time(3.5e9): 0, engram.Time(9.5e9): 100, engram.Time(15.5e9): 200} {
		if got, err := look(t, s, "run/odom", "run/base", when); err != nil || got != x {
			t.Errorf("at %v x is %v, %v, want %v", when, got, err, x)
		}
	}
}

// fed returns a stream that has taken stamps, each with its log time.
func fed(topic string, pairs ...[2]float64) *stampStream {
	s := &stampStream{topic: &TopicReport{Topic: topic}, every: 1}
	for _, p := range pairs {
		s.course.Follow(at(p[1]), at(p[0]))
		s.note(at(p[1]), at(p[0]))
	}
	return s
}

// evenly returns n log times, step apart, with the stamps that lie off after them.
func evenly(n int, log, off, step float64) (pairs [][2]float64) {
	for i := range n {
		pairs = append(pairs, [2]float64{log + float64(i)*step, log + float64(i)*step + off})
	}
	return pairs
}

// TestShiftOfStamps says by how many seconds stamps of recordings are shifted that are hard to tell.
func TestShiftOfStamps(t *testing.T) {
	type asked struct{ log, stamp, want float64 } // want of 0: not at all
	late := [2]float64{100.85, 99.95}             // of the first of two runs
	long := fed("/tf", slices.Concat(evenly(360_000, 0, 0, 0.01), evenly(400, 3600, -3600, 0.01))...)
	for _, tt := range []struct {
		name    string
		streams []*stampStream // of the first is asked
		asked   []asked
	}{
		{"a short last run after a long one, of which no stamp was sampled", []*stampStream{long}, []asked{{3599, 3599, 0}, {3600, 0, 3600.991}, {3603.99, 3.99, 3600.991}}},
		{"a run between two, of which no stamp was sampled",
			[]*stampStream{fed("/tf", slices.Concat(evenly(3001, 0, 0, 0.1), evenly(3, 400, -350, 0.13), evenly(1000, 500, -500, 0.1))...)},
			[]asked{{400, 50, 350}, {400.26, 50.26, 350}, {500, 0, 500}, {599, 99, 500}}},
		{"a late message of the run before", []*stampStream{fed("/tf", slices.Concat(evenly(1000, 0, 0, 0.1), evenly(9, 100, -100, 0.1), [][2]float64{late}, evenly(3000, 100.9, -100, 0.1))...)},
			[]asked{{100.8, 0.8, 100.901}, {late[0], late[1], 0}, {100.9, 0.9, 100.901}, {300, 200, 100.901}}},
		{"one, of all of which the stamps are sampled", []*stampStream{fed("/tf", slices.Concat(evenly(500, 50, 0, 0.1), evenly(9, 100, -100, 0.1), [][2]float64{late}, evenly(300, 100.9, -100, 0.1))...)},
			[]asked{{100.8, 0.8, 100.901}, {late[0], late[1], 0}, {100.9, 0.9, 100.901}}},
		{"a stream whose stamps were old", []*stampStream{fed("/map", [2]float64{60, 2}, [2]float64{122, 22}),
			fed("/tf", slices.Concat(evenly(1000, 0, 0, 0.1), evenly(1000, 100, -100, 0.1))...)}, []asked{{60, 2, 0}, {122, 22, 100.901}}},
		{"a stream that was right of a clock that was set right", []*stampStream{fed("/camera", evenly(2000, 0, -0.1, 0.1)...),
			fed("/tf", slices.Concat(evenly(1000, 0, 10, 0.1), evenly(1000, 100, 0, 0.1))...)}, []asked{{99, 98.9, 0}, {101, 100.9, 0}, {199, 198.9, 0}}},
		{"one that takes long", []*stampStream{fed("/found", evenly(200, 0, -2, 1)...),
			fed("/tf", slices.Concat(evenly(1000, 0, 10, 0.1), evenly(1000, 100, 0, 0.1))...)}, []asked{{101, 99, 0}, {199, 197, 0}}},
		{"one of the clock itself, of which there are few stamps", []*stampStream{fed("/seen", [2]float64{10, 20}, [2]float64{150, 150}),
			fed("/tf", slices.Concat(evenly(1000, 0, 10, 0.1), evenly(1000, 100, 0, 0.1))...)}, []asked{{10, 20, 0}, {150, 150, 10.901}}},
		{"few stamps of a simulation that is faster than the recorder", []*stampStream{fed("/seen", [2]float64{0, 0}, [2]float64{12.5, 12.5}),
			fed("/tf", slices.Concat(fast(80, 0), fast(80, 10))...)}, []asked{{12.5, 12.5, 41.6}}},
	} {
		c := clocks{order: tt.streams}
		r := c.restarts()
		for _, a := range tt.asked {
			got, ok := r.shift(tt.streams[0], at(a.stamp), at(a.log))
			if want := secs(a.want); (got-want).Abs() > time.Microsecond || ok != (want > 0) {
				t.Errorf("%s: the stamp %v at the log time %v is shifted by %v, %v; want %v", tt.name, a.stamp, a.log, got, ok, want)
			}
		}
	}
}

// fast returns stamps of a simulation that begins at a log time and goes five times as fast.
func fast(n int, log float64) (pairs [][2]float64) {
	for i := range n {
		pairs = append(pairs, [2]float64{log + float64(i)/10, float64(i) / 2})
	}
	return pairs
}

// TestStaticOfALaterRun has static transforms that hold from their run on, not from their stamps.
func TestStaticOfALaterRun(t *testing.T) {
	m, err := ParseMapping("test.yaml", []byte("default: true\nrules:\n- {topic: '*_static', to: RobotState/Localization, entity: '{parent_frame_id},{child_frame_id}', set: {is_static: true}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	for run := range 2 {
		for i := range 90 {
			log, stamp := at(1+float64(20*run)+float64(i)/10), engram.Time(1e8*(10+i))
			if i == 60 { // late: it holds since the run began
				r.moved("/tf_static", []string{"map", "dock"}[run], "odom", log, engram.Time(1e9), float64(50*run))
			}
			r.moved("/tf", "odom", "base", log, stamp, 0)
		}
	}
	s := newServer(t)
	report := mustImport(t, s, r.file(), Options{Source: "x", Mapping: m})
	if f := report.Clocks; len(f) != 1 || f[0].Fault != ClockBack || f[0].Count != 91 || !slices.Equal(f[0].Topics, []string{"/tf", "/tf_static (dock,odom)"}) {
		t.Errorf("found %+v", f)
	}
	for when, want := range map[float64]struct {
		parent string
		x      float64
	}{1.5: {"x/map", 0}, 9: {"x/map", 0}, 21.5: {"x/dock", 50}, 29: {"x/dock", 50}} {
		if got, err := look(t, s, want.parent, "x/base", engram.Time(secs(when))); err != nil || got != want.x {
			t.Errorf("at %v x in %s is %v, %v, want %v", when, want.parent, got, err, want.x)
		}
	}
}

// What only reads times and names reads the same as what makes payloads.
func TestProbesReadTheSame(t *testing.T) {
	foxgloveJSON := `{"timestamp":{"sec":7,"nsec":5},"parent_frame_id":"a","child_frame_id":"b"}`
	transforms := &foxglove.FrameTransforms{Transforms: []*foxglove.FrameTransform{
		{Timestamp: timestamppb.New(at(1).Std()), ParentFrameId: "a", ChildFrameId: "b"}, {ParentFrameId: "b", ChildFrameId: "c"}}}
	b, err := proto.Marshal(transforms)
	if err != nil {
		t.Fatal(err)
	}
	schema := fileSet(t, transforms.ProtoReflect().Descriptor().ParentFile())
	for _, tt := range []struct {
		channel     recording.Channel
		data        []byte
		as          string
		rule        *Rule
		fields      []string
		n           int
		timed, name string // of the first
	}{
		{recording.Channel{Type: "foxglove.FrameTransforms", Encoding: "protobuf", SchemaEncoding: "protobuf", Schema: schema}, b,
			"foxglove.FrameTransform", &Rule{Split: "transforms"}, []string{"child_frame_id"}, 2, at(1).String(), "b"},
		{recording.Channel{Type: "foxglove.FrameTransform", Encoding: "json"}, []byte(foxgloveJSON), "foxglove.FrameTransform", nil, []string{"child_frame_id"}, 1, engram.Time(7e9 + 5).String(), "b"},
		{recording.Channel{Type: "mine", Encoding: "json"}, []byte(`{"header":{"stamp":{"sec":7,"nanosec":5}},"id":3}`), engram.ValueType, nil, []string{"id"}, 1, engram.Time(7e9 + 5).String(), "3"},
		{recording.Channel{Type: "tf2_msgs/msg/TFMessage", Encoding: "cdr"}, cdr(uint32(1), uint32(7), uint32(5), "a", "b", 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
			"foxglove.FrameTransform", &Rule{Split: "transforms", Members: map[string]Target{"transform.translation": {To: "translation"}}}, []string{"child_frame_id"}, 1, engram.Time(7e9 + 5).String(), "b"},
	} {
		s, err := sourceOf(&tt.channel)
		if err != nil {
			t.Fatal(err)
		}
		target, ok := idf.NewRegistry().Get(tt.as)
		if !ok {
			t.Fatalf("no type %s", tt.as)
		}
		split := ""
		if tt.rule != nil {
			split = tt.rule.Split
		}
		full, err := s.convert(target, tt.rule, tt.fields)
		if err != nil {
			t.Fatal(err)
		}
		probe, err := s.probe(tt.fields, split)
		if err != nil {
			t.Fatal(err)
		}
		want, err := full.convert(tt.data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := probe.convert(tt.data)
		if err != nil || len(got) != tt.n || len(want) != tt.n || got[0].time.String() != tt.timed || string(got[0].fields[0]) != tt.name {
			t.Fatalf("%s %s: %d of %d outputs, %v", tt.channel.Encoding, tt.channel.Type, len(got), len(want), err)
		}
		for i := range got {
			if got[i].time != want[i].time || got[i].timed != want[i].timed || !slices.EqualFunc(got[i].fields, want[i].fields, bytes.Equal) || len(got[i].bytes) > 0 || len(want[i].bytes) == 0 {
				t.Errorf("%s %s: output %d is %+v, want the time and fields of %+v", tt.channel.Encoding, tt.channel.Type, i, got[i], want[i])
			}
		}
	}
}
