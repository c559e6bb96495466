package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
)

// parquetRows reads a file with a reader that is not ours.
func parquetRows(t *testing.T, node, path string) (rows []map[string]any) {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "parquet.mjs", path)
	cmd.Dir = "testdata/interop"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, stderr.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// floats returns a list of numbers, however deep.
func floats(v any) (out []float64) {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		for _, e := range v {
			out = append(out, floats(e)...)
		}
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(1, math.Abs(b)) }

// Two recordings become two episodes of one data set, which is loaded back by the documented layout: every
// frame has the joints of the recording, its place, and its image in the video.
func TestExportLeRobotLoadsByItsLayout(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "hyparquet")
	probe := testkit.Program(t, "ffprobe")
	s := newServer(t)
	for _, name := range []string{"g1_bottle_2.mcap", "g1_bottle_10.mcap"} {
		if _, err := Import(t.Context(), s, testkit.Recording(t, name), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "picking")
	report, err := exportSet(t, s, dir, LeRobotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Signals {
		if r.Held+r.Dropped+r.Ahead+r.Gaps > 0 || r.MaxError > 100*time.Microsecond || r.Frames != r.Samples {
			t.Errorf("signals of one rate were resampled: %+v", r)
		}
	}
	var info struct {
		Version  string                    `json:"codebase_version"`
		Episodes int                       `json:"total_episodes"`
		Frames   int                       `json:"total_frames"`
		Tasks    int                       `json:"total_tasks"`
		FPS      int                       `json:"fps"`
		Data     string                    `json:"data_path"`
		Video    string                    `json:"video_path"`
		Splits   map[string]string         `json:"splits"`
		Features map[string]map[string]any `json:"features"`
	}
	readJSON(t, filepath.Join(dir, "meta/info.json"), &info)
	if info.Version != "v3.0" || info.Episodes != 2 || info.Frames != 343+290 || info.Tasks != 1 || info.FPS != 30 || info.Splits["train"] != "0:2" {
		t.Errorf("info.json: %+v", info)
	}
	const video = "observation.images.camera_color"
	names := info.Features["observation.state"]["names"].([]any)
	if len(names) != 26 || names[3] != "kLeftElbow" || info.Features[video]["dtype"] != "video" || !slices.Equal(floats(info.Features[video]["shape"]), []float64{480, 640, 3}) {
		t.Errorf("features: %v", info.Features)
	}
	path := func(template, key string, chunk, file any) string {
		for name, n := range map[string]any{"chunk_index": chunk, "file_index": file} {
			template = strings.ReplaceAll(template, "{"+name+":03d}", fmt.Sprintf("%03d", int(n.(float64))))
		}
		return filepath.Join(dir, strings.ReplaceAll(template, "{video_key}", key))
	}
	tasks := parquetRows(t, node, filepath.Join(dir, "meta/tasks.parquet"))
	if len(tasks) != 1 || tasks[0]["task_index"] != 0.0 || tasks[0]["task"] != "Pick up the yellow bottle on the table." {
		t.Errorf("tasks: %v", tasks)
	}
	episodes := parquetRows(t, node, filepath.Join(dir, "meta/episodes/chunk-000/file-000.parquet"))
	frames := 0
	for i, e := range episodes {
		source := []string{"g1_bottle_2", "g1_bottle_10"}[i]
		from, to := int(e["dataset_from_index"].(float64)), int(e["dataset_to_index"].(float64))
		if e["episode_index"] != float64(i) || from != frames || to-from != int(e["length"].(float64)) || e["videos/"+video+"/from_timestamp"] != float64(from)/30 || !near(e["videos/"+video+"/to_timestamp"].(float64), float64(to)/30) {
			t.Errorf("episode %d: %v", i, e)
		}
		frames = to
		rows := parquetRows(t, node, path(info.Data, "", e["data/chunk_index"], e["data/file_index"]))[from:to]
		compareFrames(t, s, source, i, from, rows)
		// The statistics are those of the frames, as numpy computes them.
		var sum, squares float64
		lowest := math.Inf(1)
		for _, r := range rows {
			x := floats(r["action"])[10]
			sum, squares, lowest = sum+x, squares+x*x, min(lowest, x)
		}
		n := float64(len(rows))
		if got := floats(e["stats/action/std"])[10]; math.Abs(got-math.Sqrt(squares/n-sum*sum/n/n)) > 1e-4 || !near(floats(e["stats/action/min"])[10], lowest) || !near(floats(e["stats/action/mean"])[10], sum/n) {
			t.Errorf("episode %d: std %v, min %v, mean %v", i, got, floats(e["stats/action/min"])[10], floats(e["stats/action/mean"])[10])
		}
		if m := floats(e["stats/"+video+"/mean"]); len(m) != 3 || m[0] <= 0 || m[0] >= 1 {
			t.Errorf("episode %d: the mean colour is %v", i, m)
		}
	}
	file := path(info.Video, video, episodes[1]["videos/"+video+"/chunk_index"], episodes[1]["videos/"+video+"/file_index"])
	out, err := exec.Command(probe, "-v", "error", "-show_entries", "stream=codec_name,width,height,r_frame_rate,nb_frames", "-of", "csv=p=0", file).Output()
	if got, want := strings.TrimSpace(string(out)), "h264,640,480,30/1,"+strconv.Itoa(frames); err != nil || got != want {
		t.Errorf("the video is %s, want %s (%v)", got, want, err)
	}
	var stats map[string]map[string]any
	readJSON(t, filepath.Join(dir, "meta/stats.json"), &stats)
	if c := floats(stats[video]["count"]); c[0] != float64(frames) || len(floats(stats["action"]["max"])) != 26 {
		t.Errorf("stats.json: %v", stats[video])
	}
}

// exportSet exports as the program does.
func exportSet(t *testing.T, s Source, dir string, o LeRobotOptions) (*LeRobotReport, error) {
	o.Commanded = memories.Commanded
	return ExportLeRobot(t.Context(), s, dir, o)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compareFrames compares an episode's rows with the joint states of a memory.
func compareFrames(t *testing.T, r engram.Reader, source string, episode, from int, rows []map[string]any) {
	t.Helper()
	typ := proprioception(t)
	for feature, topic := range map[string]string{"observation.state": `\/joint_states`, "action": `\/joint_commands`} {
		res, err := r.Query(t.Context(), engram.MustPattern("RobotState/Proprioception/"+source+"/"+topic).Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		items := res.Items()
		if len(items) != len(rows) {
			t.Fatalf("%d frames of %d joint states", len(rows), len(items))
		}
		for k, row := range rows {
			p := items[k].Instances[0].Payload
			want := positions(t, typ, p.Bytes)
			got := floats(row[feature])
			for j := range want {
				if got[j] != float64(float32(want[j])) {
					t.Fatalf("frame %d of %s: joint %d of %s is %v, want %v", k, source, j, feature, got[j], want[j])
				}
			}
			if row["frame_index"] != float64(k) || row["episode_index"] != float64(episode) || row["index"] != float64(from+k) || row["task_index"] != 0.0 || !near(row["timestamp"].(float64), float64(k)/30) {
				t.Fatalf("frame %d of %s: %v", k, source, row)
			}
		}
	}
}

// positions returns the joint positions of a payload of engram.robot_state.Proprioception.
func positions(t *testing.T, typ *idf.Type, payload []byte) []float64 {
	t.Helper()
	v, err := typ.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, x := range v.(map[string]any)["position"].([]any) {
		out = append(out, x.(float64))
	}
	return out
}

func proprioception(t *testing.T) *idf.Type {
	t.Helper()
	def, err := newServer(t).Type(t.Context(), "engram.robot_state.Proprioception")
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// A robot whose signals have rates of their own, for tests of resampling.
type robot struct {
	t   *testing.T
	s   engram.Service
	typ *idf.Type
}

func newRobot(t *testing.T) *robot { return &robot{t, newServer(t), proprioception(t)} }

const began = engram.Time(1_700_000_000_000_000_000)

func (r *robot) commit(id string, at time.Duration, p engram.Payload) {
	r.t.Helper()
	entity, err := engram.Parse(id)
	if err != nil {
		r.t.Fatal(err)
	}
	testkit.Commit(r.t, r.s, engram.EntityUpdate{Entity: entity, Time: began.Add(at), Instances: []engram.Instance{{Payload: p, Confidence: 1}}})
}

func (r *robot) joints(id string, at time.Duration, names []any, values ...any) {
	r.t.Helper()
	b, err := r.typ.Encode(map[string]any{"name": names, "position": values})
	if err != nil {
		r.t.Fatal(err)
	}
	r.commit(id, at, engram.Payload{Type: "engram.robot_state.Proprioception", Bytes: b})
}

func (r *robot) image(at time.Duration, width, height int) {
	r.t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	img.SetGray(1, 1, color.Gray{200})
	var data bytes.Buffer
	if err := jpeg.Encode(&data, img, nil); err != nil {
		r.t.Fatal(err)
	}
	b, err := proto.Marshal(&foxglove.CompressedImage{Format: "jpeg", Data: data.Bytes()})
	if err != nil {
		r.t.Fatal(err)
	}
	r.commit("Vision/ImageRGB/camera/front", at, engram.Payload{Type: "foxglove.CompressedImage", Bytes: b})
}

const (
	felt      = "RobotState/Proprioception/arm/joints"
	commanded = "RobotState/Proprioception/arm/joint_commands"
)

var elbow = []any{"elbow"}

// run commits a second of a camera at 10 Hz that begins late, joints at 100 Hz, and commands at 4 Hz with a
// gap.
func (r *robot) run() {
	for i := range 100 {
		r.joints(felt, time.Duration(i)*10*time.Millisecond, elbow, float64(i))
	}
	for _, i := range []int{0, 1, 2, 3, 4, 8} {
		r.joints(commanded, time.Duration(i)*60*time.Millisecond, elbow, float64(i))
	}
	for i := 1; i < 10; i++ {
		r.image(time.Duration(i)*100*time.Millisecond+2*time.Millisecond, 17, 9)
	}
}

// Frames have what was in force, or what is nearest, and the report tells what that did to each signal.
func TestExportLeRobotResamples(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "hyparquet")
	testkit.Program(t, "ffmpeg")
	r := newRobot(t)
	r.run()
	for _, c := range []struct {
		nearest        bool
		state, command []float64
		want           map[string]SignalReport
	}{
		// Frames at 102, 202, 302, 402 ms, until the commands end at 480 ms.
		{false, []float64{10, 20, 30, 40}, []float64{1, 3, 4, 4}, map[string]SignalReport{
			"observation.state":        {Samples: 39, Frames: 4, Dropped: 35, MaxError: 2 * time.Millisecond},
			"action":                   {Samples: 5, Frames: 4, Held: 1, Dropped: 2, MaxError: 162 * time.Millisecond, Gaps: 1, LongestGap: 240 * time.Millisecond},
			"observation.images.front": {Samples: 4, Frames: 4},
		}},
		{true, []float64{10, 20, 30, 40}, []float64{2, 3, 4, 8}, map[string]SignalReport{
			"action": {Samples: 5, Frames: 4, Dropped: 1, Ahead: 2, MaxError: 78 * time.Millisecond, Gaps: 1, LongestGap: 240 * time.Millisecond},
		}},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		report, err := exportSet(t, r.s, dir, LeRobotOptions{Task: "wave", Nearest: c.nearest})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range parquetRows(t, node, filepath.Join(dir, "data/chunk-000/file-000.parquet")) {
			if floats(row["observation.state"])[0] != c.state[i] || floats(row["action"])[0] != c.command[i] {
				t.Errorf("nearest %v: frame %d is %v", c.nearest, i, row)
			}
		}
		for _, got := range report.Signals {
			want, ok := c.want[got.Feature]
			if got.Entity, got.Feature = (engram.ID{}), ""; ok && got != want {
				t.Errorf("nearest %v: %+v, want %+v", c.nearest, got, want)
			}
		}
		if e := report.Episodes[0]; report.FPS != 10 || e.Frames != 4 || e.CutStart != 102*time.Millisecond || e.CutEnd != 510*time.Millisecond {
			t.Errorf("nearest %v: %d fps, %+v", c.nearest, report.FPS, e)
		}
	}
}

// What cannot become a data set is refused with a code and the name of what is wrong, and leaves nothing.
func TestExportLeRobotRefuses(t *testing.T) {
	testkit.Program(t, "ffmpeg")
	none := []LeRobotSignal{}
	for name, c := range map[string]struct {
		make func(r *robot)
		o    LeRobotOptions
		code engram.Code
		says string
	}{
		"no images":   {func(r *robot) { r.joints(felt, 0, elbow, 1.0); r.joints(commanded, 0, elbow, 1.0) }, LeRobotOptions{}, engram.NotFound, "an image"},
		"no commands": {func(r *robot) { r.joints(felt, 0, elbow, 1.0); r.image(0, 9, 9) }, LeRobotOptions{}, engram.NotFound, "--action none"},
		"no task":     {(*robot).run, LeRobotOptions{}, engram.NotFound, "--task"},
		"changed joints": {func(r *robot) {
			r.run()
			r.joints(felt, 305*time.Millisecond, []any{"wrist"}, 1.0)
			r.joints(felt, 310*time.Millisecond, []any{"wrist"}, 1.0)
		}, LeRobotOptions{Task: "x", FPS: 200}, engram.Conflict, "elbow is gone"},
		"unequal lists": {func(r *robot) { r.run(); r.joints(felt, 305*time.Millisecond, elbow) }, LeRobotOptions{Task: "x", FPS: 200}, engram.OutOfRange, "unequal lengths"},
		"more values":   {func(r *robot) { r.run(); r.joints(felt, 305*time.Millisecond, elbow, 1.0, 2.0) }, LeRobotOptions{Task: "x", FPS: 200}, engram.Conflict, "more numbers"},
		"unequal first": {func(r *robot) { r.run(); r.joints(felt, 100*time.Millisecond, elbow, 1.0, 2.0) }, LeRobotOptions{Task: "x"}, engram.Invalid, "unequal lengths"},
		"another size":  {func(r *robot) { r.run(); r.image(302*time.Millisecond, 20, 9) }, LeRobotOptions{Task: "x"}, engram.Conflict, "from 17x9 to 20x9"},
		"no such field": {(*robot).run, LeRobotOptions{Task: "x", State: []LeRobotSignal{{Entities: engram.MustPattern("RobotState/*/*/joints"), Fields: []string{"speed"}}}}, engram.NotFound, "position"},
		"apart":         {func(r *robot) { r.run(); r.joints("RobotState/Proprioception/arm/legs", time.Hour, elbow, 1.0) }, LeRobotOptions{Task: "x"}, engram.OutOfRange, "do not meet"},
		"another time":  {(*robot).run, LeRobotOptions{Task: "x", Episodes: []engram.Interval{{Start: 1, End: 2}}}, engram.OutOfRange, "not in the span"},
		"nothing":       {(*robot).run, LeRobotOptions{State: none, Action: none, Images: none, Task: "x"}, engram.Invalid, "nothing"},
		"rate":          {(*robot).run, LeRobotOptions{FPS: 5000}, engram.Invalid, "frames per second"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRobot(t)
			c.make(r)
			dir := t.TempDir()
			_, err := exportSet(t, r.s, filepath.Join(dir, "set"), c.o)
			if engram.CodeOf(err) != c.code || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (%v), want %v with %q", err, engram.CodeOf(err), c.code, c.says)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// Without a text that is called a task, frames have the skill that is executed; of several the one that
// called the others.
func TestExportLeRobotTasksOfSkills(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "hyparquet")
	testkit.Program(t, "ffmpeg")
	r := newRobot(t)
	r.run()
	def, err := r.s.Type(t.Context(), "engram.skill.Execution")
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	step := func(id, skill, status string, at time.Duration) {
		b, err := typ.FromJSON([]byte(fmt.Sprintf(`{"skill": "Skill/Description/arm/%s", "status": %q, "parameters": {"object": "cup"}}`, skill, status)))
		if err != nil {
			t.Fatal(err)
		}
		r.commit("Skill/Execution/arm/"+id, at, engram.Payload{Type: "engram.skill.Execution", Bytes: b})
	}
	step("1", "BringObject", "Running", 150*time.Millisecond)
	step("2", "GraspObject", "Running", 250*time.Millisecond)
	step("1", "BringObject", "Succeeded", 350*time.Millisecond)
	dir := filepath.Join(t.TempDir(), "set")
	report, err := exportSet(t, r.s, dir, LeRobotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range parquetRows(t, node, filepath.Join(dir, "data/chunk-000/file-000.parquet")) {
		got = append(got, report.Tasks[int(row["task_index"].(float64))])
	}
	if want := []string{"", "BringObject(object: cup)", "BringObject(object: cup)", "GraspObject(object: cup)"}; !slices.Equal(got, want) || report.Episodes[0].Untasked != 1 {
		t.Errorf("the tasks are %q, want %q; %+v", got, want, report.Episodes[0])
	}
}
