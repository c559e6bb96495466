package foxglove_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/foxglove"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// export writes what a memory has from a time on, with what is derived of it.
func export(t *testing.T, from feature.Server, start engram.Time) string {
	t.Helper()
	robots := serving.NewOf(t, server.Config{Memories: []server.Memory{memories.RobotState()}, Log: testkit.Quiet})
	derive, err := foxglove.NewDeriver(t.Context(), from, robots)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "export.mcap")
	if _, err := ingest.Export(t.Context(), from, path, ingest.ExportOptions{Span: engram.Interval{Start: start, End: engram.MaxTime}, Derive: derive}); err != nil {
		t.Fatal(err)
	}
	return path
}

// derivedStory is 4 s in which a robot drives from x = 0 to 4 m, a cup goes away, and somebody
// spoke before.
func derivedStory(t *testing.T, srv *server.Server) (start engram.Time) {
	t.Helper()
	start = engram.Now().Add(-time.Minute)
	pose := func(entity, parent, child string, at engram.Time, x float64) engram.EntityUpdate {
		return encoded(t, "RobotState/Localization/Test/"+entity, at, "engram.robot_state.Localization", m{
			"timestamp": at, "parent_frame_id": parent, "child_frame_id": child, "translation": m{"x": x}, "rotation": m{"w": 1.0},
		})
	}
	item := func(name string, at engram.Time, x float64, gone bool) engram.EntityUpdate {
		v := m{
			"source": "Perception", "placement": m{"frame_id": "map", "pose": m{"position": m{"x": x}, "orientation": m{"w": 1.0}}},
			"description": m{"kinds": []any{"object"}, "label": "the " + name},
		}
		if gone {
			v = m{"source": "Perception", "removed": m{"reason": "it was taken away"}}
		}
		return encoded(t, "World/Item/Test/"+name, at, "engram.world.Item", v)
	}
	testkit.Commit(t, srv, pose("lidar", "base", "lidar", 0, 0.25), spoken(t, "a", start.Add(-time.Second), "early"), item("table", start.Add(-time.Second), 2.5, false))
	for i := range 401 {
		at := start.Add(time.Duration(i) * 10 * time.Millisecond)
		testkit.Commit(t, srv, pose("base", "map", "base", at, float64(i)/100))
		if i%100 == 50 {
			testkit.Commit(t, srv, encoded(t, "Vision/LaserScan/Test/front", at, "engram.vision.LaserScan", m{"timestamp": at, "frame_id": "lidar", "ranges": []any{1.0, 2.0}}))
		}
	}
	testkit.Commit(t, srv, item("cup", start.Add(time.Second), 1, false), item("cup", start.Add(2*time.Second), 1.5, false), item("cup", start.Add(3*time.Second), 0, true))
	return start
}

// An export has what viewers draw, as the format's authors' own reader sees it, and nothing of
// that comes back with an import.
func TestDerivedChannelsOfAnExport(t *testing.T) {
	from := memory(t)
	start := derivedStory(t, from)
	path := export(t, from, start)
	if problems, err := episode.Verify(t.Context(), path, episode.Options{}); err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}

	t.Run("read", func(t *testing.T) {
		const reader = "../ltm/episode/testdata/interop"
		node := testkit.Node(t, reader, "@mcap/core")
		cmd := exec.Command(node, filepath.Join(reader, "read.mjs"), path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		checkDerived(t, out, start)
	})

	t.Run("import", func(t *testing.T) {
		to := memory(t)
		report, err := ingest.ImportEpisode(t.Context(), to, path, ingest.Options{})
		if err != nil || report.Refused > 0 {
			t.Fatal(err, report)
		}
		want, got := everything(t, from), everything(t, to)
		if !maps.Equal(got, want) {
			t.Errorf("%d instances came back, want %d", len(got), len(want))
		}
		for _, topic := range report.Topics {
			if strings.HasPrefix(topic.Topic, "/") {
				t.Errorf("%s was imported", topic.Topic)
			}
		}
		if again := export(t, to, start); !bytes.Equal(derivedOf(t, again), derivedOf(t, path)) {
			t.Error("what is derived of the import differs from what was derived of the export")
		}
	})

	t.Run("import as a recording", func(t *testing.T) {
		report, err := ingest.Import(t.Context(), memory(t), path, ingest.Options{Source: "other"})
		if err != nil {
			t.Fatal(err)
		}
		skipped := 0
		for _, topic := range report.Topics {
			if strings.HasPrefix(topic.Topic, "/") {
				skipped++
				if topic.Stored > 0 || topic.Skipped != topic.Messages || len(topic.Notes) != 1 {
					t.Errorf("%+v", topic)
				}
			}
		}
		if skipped != 4 {
			t.Errorf("%d topics were skipped", skipped)
		}
	})

	t.Run("repair", func(t *testing.T) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cut := filepath.Join(t.TempDir(), "cut.mcap")
		if err := os.WriteFile(cut, whole[:len(whole)-100], 0o600); err != nil {
			t.Fatal(err)
		}
		to := memory(t)
		if _, err := ingest.ImportEpisode(t.Context(), to, cut, ingest.Options{}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(everything(t, from), everything(t, to)) {
			t.Error("what was cut off at its end does not hold the same")
		}
	})
}

// everything returns all that a memory holds, by instances.
func everything(t *testing.T, r engram.Reader) map[string]string {
	t.Helper()
	res, err := r.Query(t.Context(), engram.MustPattern("*").Select(engram.In(engram.Always())))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for it := range res.All() {
		for i, in := range it.Instances {
			all[it.ID.Instance(i).String()] = fmt.Sprintf("%s %x", in.Payload.Type, in.Payload.Bytes)
		}
	}
	return all
}

// derivedLine is a message of a derived channel, as testdata/interop/read.mjs prints it.
type derivedLine struct {
	How, Topic, Schema, Log string
	Derived                 []byte
}

func derivedLines(t *testing.T, out []byte) (list []derivedLine) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l derivedLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.How == "index" && strings.HasPrefix(l.Topic, "/") {
			list = append(list, l)
		}
	}
	return list
}

func checkDerived(t *testing.T, out []byte, start engram.Time) {
	t.Helper()
	count, last := map[string]int{}, int64(0)
	frames := map[string][]float64{}
	var drawn, gone []string
	for _, l := range derivedLines(t, out) {
		log, err := strconv.ParseInt(l.Log, 10, 64)
		if err != nil || log < last || engram.Time(log) < start {
			t.Fatalf("%s at %s, after %d; the export begins at %d: %v", l.Topic, l.Log, last, int64(start), err)
		}
		last = log
		count[l.Topic+" "+l.Schema]++
		read := func(m proto.Message) {
			if err := proto.Unmarshal(l.Derived, m); err != nil {
				t.Fatal(err)
			}
		}
		switch l.Topic {
		case "/tf":
			var tf foxglovepb.FrameTransforms
			read(&tf)
			for _, f := range tf.Transforms {
				edge := f.ParentFrameId + " " + f.ChildFrameId
				frames[edge] = append(frames[edge], f.Translation.X)
				if f.Timestamp.AsTime().After(engram.Time(log).Std()) {
					t.Errorf("%s has the time %v at %v", edge, f.Timestamp.AsTime(), log)
				}
			}
		case "/world":
			var scene foxglovepb.SceneUpdate
			read(&scene)
			for _, e := range scene.Entities {
				drawn = append(drawn, fmt.Sprint(e.Id, e.Spheres[0].Pose.Position.X))
			}
			for _, d := range scene.Deletions {
				gone = append(gone, d.Id)
			}
		case "/speech":
			var said foxglovepb.Log
			read(&said)
			if said.Message != "early" || log != int64(start) {
				t.Errorf("%v at %d", &said, log)
			}
		}
	}
	// The fixed frame is told once, the robot's 25 times a second.
	if xs := frames["Test/base Test/lidar"]; !slices.Equal(xs, []float64{0.25}) {
		t.Errorf("the lidar is at %v", xs)
	}
	xs := frames["Test/map Test/base"]
	if len(xs) < 95 || len(xs) > 102 || !slices.IsSorted(xs) || xs[0] != 0 || xs[len(xs)-1] != 4 {
		t.Errorf("the robot is at %v", xs)
	}
	for _, want := range []string{"table2.5", "cup1", "cup1.5"} {
		if !slices.Contains(drawn, want) {
			t.Errorf("%s is not among %v", want, drawn)
		}
	}
	if !slices.Equal(gone, []string{"cup"}) {
		t.Errorf("%v went away, want the cup", gone)
	}
	if count["/scan/Test/front foxglove.LaserScan"] != 4 || count["/speech foxglove.Log"] != 1 {
		t.Errorf("there are %v", count)
	}
}

// derivedOf returns all that is derived in an export.
func derivedOf(t *testing.T, path string) (all []byte) {
	t.Helper()
	testkit.Messages(t, path, func(_ *mcap.Schema, ch *mcap.Channel, msg *mcap.Message) {
		if episode.IsDerived(ch.Metadata) {
			all = fmt.Appendf(all, "%s %d %x\n", ch.Topic, msg.LogTime, msg.Data)
		}
	})
	return all
}
