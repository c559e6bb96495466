package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/server"
)

const ownStart = engram.Time(1_700_000_000_000_000_000)

// put commits a snapshot of payloads given as JSON or as messages.
func put(t testing.TB, s *server.Server, id string, at engram.Time, typ string, payloads ...any) {
	t.Helper()
	u := engram.EntityUpdate{Entity: engram.MustID(id), Time: at}
	for _, p := range payloads {
		var b []byte
		var err error
		switch p := p.(type) {
		case proto.Message:
			b, err = proto.Marshal(p)
		default:
			var def engram.TypeDef
			var typed *idf.Type
			if def, err = s.Type(t.Context(), typ); err == nil {
				if typed, err = idf.ParseType(def); err == nil {
					b, err = typed.FromJSON([]byte(p.(string)))
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		u.Instances = append(u.Instances, engram.Instance{Payload: engram.Payload{Type: typ, Bytes: b}, Confidence: 1})
	}
	results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ownServer has something of every type that corresponds to a message of ROS, and of others.
func ownServer(t testing.TB) *server.Server {
	s := newServer(t)
	at := ownStart
	stamp := timestamppb.New(at.Std())
	put(t, s, "Navigation/Location/Prior/home", 0, "engram.navigation.Location", `{"names": ["home"], "frame_id": "map"}`)
	put(t, s, "RobotState/Localization/Prior/base,lidar", 0, "engram.robot_state.Localization",
		`{"parent_frame_id": "base", "child_frame_id": "lidar", "translation": {"z": 0.5}, "rotation": {"w": 1}, "is_static": true}`)
	put(t, s, "RobotState/Proprioception/Body/joints", at, "engram.robot_state.Proprioception", `{"timestamp": "2023-11-14T22:13:20Z", "name": ["a", "b"], "position": [0.25, -1.5]}`)
	put(t, s, "RobotState/Localization/Odometry/odom,base", at+1, "engram.robot_state.Localization",
		`{"parent_frame_id": "odom", "child_frame_id": "base", "translation": {"x": 2}, "rotation": {"w": 1}, "linear_velocity": {"x": 0.5}}`)
	image := func(v byte) *foxglovepb.RawImage {
		return &foxglovepb.RawImage{Timestamp: stamp, FrameId: "camera", Width: 2, Height: 1, Encoding: "mono8", Step: 2, Data: []byte{v, v + 1}}
	}
	put(t, s, "Vision/ImageRGB/Stereo/head", at+2, "foxglove.RawImage", image(7), image(9))
	put(t, s, "Vision/Calibration/Stereo/head", at+3, "foxglove.CameraCalibration",
		&foxglovepb.CameraCalibration{Timestamp: stamp, FrameId: "camera", Width: 2, Height: 1, DistortionModel: "plumb_bob", K: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}})
	put(t, s, "Vision/LaserScan/Lidar/front", at+4, "engram.vision.LaserScan", `{"start_angle": -1, "end_angle": 1, "ranges": [1, 2.5], "range_max": 30}`)
	put(t, s, "Speech/Text/Microphone/user", at+5, "engram.speech.Text", `{"text": "Grüß Gott"}`)
	put(t, s, "Navigation/Costmap/Nav/floor", at+6, "foxglove.Grid", &foxglovepb.Grid{
		Timestamp: stamp, FrameId: "map", ColumnCount: 2, RowStride: 2, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 0.5, Y: 0.5},
		Fields: []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}, Data: []byte{0, 254, 255, 128},
	})
	put(t, s, "Object/Instance/Camera/cup", at+7, "engram.object.Instance", `{}`)
	return s
}

// What the memories hold is exported as the messages that it corresponds to, and what
// corresponds to none with a definition of its own; what holds at all times stands at the
// beginning.
func TestOwnTypesAreMessagesOfROS(t *testing.T) {
	s := ownServer(t)
	for _, v := range []rosmsg.Version{rosmsg.ROS1, rosmsg.ROS2} {
		path, report := exportROS(t, s, v, ExportOptions{})
		var got strings.Builder
		for _, m := range readAll(t, path) {
			if m.LogTime < ownStart || m.LogTime > ownStart+7 {
				t.Errorf("%s is at %v", m.Channel.Topic, m.LogTime)
			}
			typ := strings.Replace(m.Channel.Type, "/msg/", "/", 1)
			for line := range strings.Lines(readPlainly(t, &m)) {
				got.WriteString(m.Channel.Topic + " " + typ + " " + line)
			}
		}
		for _, want := range []string{
			"/tf_static tf2_msgs/TFMessage .transforms[0].child_frame_id[0]=lidar",
			"/RobotState/Proprioception/Body/joints sensor_msgs/JointState .name[1]=b",
			"/RobotState/Proprioception/Body/joints sensor_msgs/JointState .header[0].stamp[0]=[1700000000 0]",
			"/RobotState/Proprioception/Body/joints sensor_msgs/JointState .position[0]=4598175219545276416",
			"/tf tf2_msgs/TFMessage .transforms[0].header[0].frame_id[0]=odom",
			"/tf tf2_msgs/TFMessage .transforms[0].header[0].stamp[0]=[1700000000 1]",
			"/RobotState/Localization/Odometry/odom_base nav_msgs/Odometry .twist[0].twist[0].linear[0].x[0]=4602678819172646912",
			"/Vision/ImageRGB/Stereo/head sensor_msgs/Image .data[0]=7",
			"/Vision/ImageRGB/Stereo/head/n1 sensor_msgs/Image .data[1]=10",
			"/Vision/Calibration/Stereo/head sensor_msgs/CameraInfo .k[8]=4621256167635550208",
			"/Vision/LaserScan/Lidar/front sensor_msgs/LaserScan .ranges[1]=1075838976",
			"/Speech/Text/Microphone/user std_msgs/String .data[0]=Grüß Gott",
			"/Navigation/Costmap/Nav/floor nav_msgs/OccupancyGrid .data[0]=0",
			"/Navigation/Costmap/Nav/floor nav_msgs/OccupancyGrid .data[1]=100",
			"/Navigation/Costmap/Nav/floor nav_msgs/OccupancyGrid .data[2]=255",
			"/Navigation/Costmap/Nav/floor nav_msgs/OccupancyGrid .data[3]=50",
			"/Navigation/Costmap/Nav/floor nav_msgs/OccupancyGrid .info[0].width[0]=2",
			"/Navigation/Location/Prior/home engram_navigation/Location .names[0]=home",
		} {
			if !strings.Contains(got.String(), want+"\n") {
				t.Errorf("%s: there is no %s in\n%s", v.Format(), want, got.String())
			}
		}
		told := false
		for _, topic := range report.Topics {
			told = told || topic.Topic == "/Object/Instance/Camera/cup" && strings.Contains(strings.Join(topic.Notes, ""), "no message in ROS")
		}
		if !told {
			t.Errorf("%s: it is not told what corresponds to nothing: %+v", v.Format(), report.Topics)
		}
	}
}

// Only what is asked for is exported.
func TestAPartIsExportedForROS(t *testing.T) {
	s := ownServer(t)
	path, _ := exportROS(t, s, rosmsg.ROS2, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("RobotState")}, Span: engram.Interval{Start: ownStart + 1, End: ownStart + 2}})
	var topics []string
	for _, m := range readAll(t, path) {
		if m.LogTime != ownStart+1 {
			t.Errorf("%s is at %v", m.Channel.Topic, m.LogTime)
		}
		topics = append(topics, m.Channel.Topic)
	}
	want := "/RobotState/Proprioception/Body/joints /tf_static /RobotState/Localization/Odometry/odom_base /tf"
	for topic := range strings.SplitSeq(want, " ") {
		if !strings.Contains(strings.Join(topics, " "), topic) || len(topics) != 4 {
			t.Errorf("%v, want %s", topics, want)
		}
	}
	_, err := ExportROS(t.Context(), s, filepath.Join(t.TempDir(), "x.bag"), rosmsg.ROS1, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("Grasp")}})
	if engram.CodeOf(err) != engram.NotFound {
		t.Errorf("nothing is exported with %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.part")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// interopMessage is a line that testdata/interop/read.mjs prints.
type interopMessage struct {
	Topic, Type, MD5Sum, Log string
	Size                     int
	Message                  json.RawMessage
}

// independent reads an export with readers that are not ours.
func independent(t *testing.T, node, path string) (all []interopMessage) {
	t.Helper()
	cmd := exec.Command(node, "read.mjs", path)
	cmd.Dir = "testdata/interop"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m interopMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// The readers of Foxglove's authors, of MCAP, bags and both serialisations, read each message
// of an export by its definition: with the same time, length and content.
func TestIndependentReadersReadExportsForROS(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "@foxglove/rosbag")
	recorded := newServer(t)
	mustImport(t, recorded, testkit.Shared(t, "recordings", "tilt_laser.bag"), Options{})
	mustImport(t, recorded, testkit.Shared(t, "recordings", "rosbag2", "talker.mcap"), Options{})
	for name, s := range map[string]*server.Server{"recorded": recorded, "own": ownServer(t)} {
		for _, v := range []rosmsg.Version{rosmsg.ROS1, rosmsg.ROS2} {
			t.Run(name+" "+v.Format(), func(t *testing.T) {
				path, _ := exportROS(t, s, v, ExportOptions{})
				compareIndependent(t, independent(t, node, path), readAll(t, path))
			})
		}
	}
}

func compareIndependent(t *testing.T, got []interopMessage, want []recording.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages are read of %d", len(got), len(want))
	}
	// Readers differ in the order of messages of one time.
	slices.SortStableFunc(got, func(a, b interopMessage) int {
		return cmp.Or(strings.Compare(a.Log, b.Log), strings.Compare(a.Topic, b.Topic))
	})
	slices.SortStableFunc(want, func(a, b recording.Message) int {
		return cmp.Or(cmp.Compare(a.LogTime, b.LogTime), strings.Compare(a.Channel.Topic, b.Channel.Topic))
	})
	sums := map[string]string{"sensor_msgs/LaserScan": "90c7ef2dc6895d81024acba2ac42f369", "std_msgs/String": "992ce8a1687cec8c8bd883ec73ca41d1"}
	texts := map[string]string{"/Speech/Text/Microphone/user": `{"data":"Grüß Gott"}`}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.Topic != w.Channel.Topic || g.Type != w.Channel.Type || g.Log != strconv.FormatInt(int64(w.LogTime), 10) || g.Size != len(w.Data) {
			t.Fatalf("message %d is %s %s of %d bytes, want %s %s of %d", i, g.Topic, g.Type, g.Size, w.Channel.Topic, w.Channel.Type, len(w.Data))
		}
		if sum := sums[g.Type]; sum != "" && g.MD5Sum != "" && g.MD5Sum != sum {
			t.Errorf("%s has the checksum %s", g.Type, g.MD5Sum)
		}
		if text := texts[g.Topic]; text != "" && text != string(g.Message) {
			t.Errorf("%s reads %s, want %s", g.Topic, g.Message, text)
		}
		if g.Type == "nav_msgs/OccupancyGrid" && !strings.Contains(string(g.Message), `"data":[0,100,-1,50]`) {
			t.Errorf("the grid reads %s", g.Message)
		}
	}
}
