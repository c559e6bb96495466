package memories_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// segments are the core segments that there are, with their types.
var segments = map[string]string{
	"RobotState/Description":        "engram.robot_state.Description",
	"RobotState/Proprioception":     "engram.robot_state.Proprioception",
	"RobotState/Localization":       "engram.robot_state.Localization",
	"RobotState/Revision":           "engram.robot_state.Revision",
	"RobotState/Acquisition":        "engram.robot_state.Acquisition",
	"Object/Class":                  "engram.object.Class",
	"Object/Instance":               "engram.object.Instance",
	"Object/Attachments":            "engram.object.Attachment",
	"Object/ArticulatedAttachments": "engram.object.ArticulatedAttachment",
	"Vision/ImageRGB":               "engram.vision.Image",
	"Vision/ImageDepth":             "engram.vision.Image",
	"Vision/PointCloud":             "foxglove.PointCloud",
	"Vision/LaserScan":              "foxglove.LaserScan",
	"Speech/Answer":                 "engram.speech.Answer",
	"Speech/Command":                "engram.speech.Command",
	"Speech/Text":                   "engram.speech.Text",
	"Skill/Description":             "engram.skill.Description",
	"Skill/Request":                 "engram.skill.Request",
	"Skill/Abort":                   "engram.skill.Abort",
	"Skill/Provider":                "engram.skill.Provider",
	"Skill/Switch":                  "engram.skill.Switch",
	"Skill/Caller":                  "engram.skill.Caller",
	"Skill/Condition":               "engram.skill.Condition",
	"Skill/Execution":               "engram.skill.Execution",
	"Skill/Activity":                "engram.skill.Activity",
	"Skill/Transition":              "engram.skill.Transition",
	"Skill/Plan":                    "engram.skill.Plan",
	"Skill/Trajectory":              "engram.skill.Trajectory",
	"Navigation/Location":           "engram.navigation.Location",
	"Navigation/Graph":              "engram.navigation.Graph",
	"Navigation/Costmap":            "foxglove.Grid",
	"Navigation/Plan":               "engram.navigation.Plan",
	"Navigation/Event":              "engram.navigation.Event",
	"Navigation/Result":             "engram.navigation.Result",
	"Grasp/Affordance":              "engram.grasp.Affordance",
	"Grasp/Candidate":               "engram.grasp.Candidate",
	"World/Item":                    "engram.world.Item",
	"World/Map":                     "engram.world.Map",
	"World/MapData":                 "engram.world.MapData",
	"World/Articulation":            "engram.world.Articulation",
	"World/Component":               "engram.world.Component",
	"World/State":                   "engram.world.State",
	"World/Observation":             "engram.world.Observation",
	"World/Clock":                   "engram.system_state.Clock",
	"Knowledge/Ontology":            "engram.knowledge.Ontology",
	"Knowledge/Class":               "engram.knowledge.Class",
	"Knowledge/Property":            "engram.knowledge.Property",
	"Knowledge/Individual":          "engram.knowledge.Individual",
	"SystemState/Cpu":               "engram.system_state.Cpu",
	"SystemState/Ram":               "engram.system_state.Ram",
	"SystemState/Memory":            "engram.system_state.Memory",
	"SystemState/Clock":             "engram.system_state.Clock",
	"SystemState/Forgetting":        "engram.system_state.Forgetting",
	"SystemState/Audit":             "engram.system_state.Audit",
	"Example/ExampleData":           "engram.example.ExampleData",
}

func newServer(t testing.TB, all ...server.Memory) *server.Server {
	t.Helper()
	if all == nil {
		all = memories.All()
	}
	srv, err := server.New(server.Config{Memories: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func TestSegments(t *testing.T) {
	described, err := newServer(t).Describe(t.Context(), engram.Pattern{})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	for id, typ := range segments {
		left[id] = typ
	}
	for _, d := range described {
		id := d.ID.String()
		if left[id] != d.Type {
			t.Errorf("%s is of type %s, want %s", id, d.Type, left[id])
		}
		if d.History.MaxCount == 0 {
			t.Errorf("%s keeps any number of snapshots", id)
		}
		delete(left, id)
	}
	for id := range left {
		t.Errorf("there is no segment %s", id)
	}
}

// TestEachMemoryAlone starts each memory in a server of its own: its types do not
// need another memory's.
func TestEachMemoryAlone(t *testing.T) {
	for _, m := range memories.All() {
		srv := newServer(t, m)
		if got := srv.Memories(); !slices.Equal(got, []string{m.Name}) {
			t.Errorf("the server hosts %v", got)
		}
		if m.Doc == "" || strings.Contains(m.Doc, "\n") {
			t.Errorf("%s is not described in one line: %q", m.Name, m.Doc)
		}
	}
}

func TestBounds(t *testing.T) {
	var sum int64
	for _, m := range memories.All() {
		if m.Bounds.MaxBytes == 0 || m.Bounds.MaxCount == 0 {
			t.Errorf("%s has the bounds %+v", m.Name, m.Bounds)
		}
		sum += m.Bounds.MaxBytes
		for _, s := range m.Segments {
			if s.History.MaxBytes > m.Bounds.MaxBytes {
				t.Errorf("an entity of %v may have %d bytes, its memory %d", s.ID, s.History.MaxBytes, m.Bounds.MaxBytes)
			}
		}
	}
	if limit := int64(2) << 30; sum > limit {
		t.Errorf("all memories together keep %d bytes, want at most %d", sum, limit)
	}
}

func TestExtends(t *testing.T) {
	for _, c := range []struct {
		typ, core string
		want      bool
	}{
		{"foxglove.RawImage", "engram.vision.Image", true},
		{"foxglove.CompressedImage", "engram.vision.Image", true},
		{"foxglove.CompressedVideo", "engram.vision.Image", true},
		{"engram.vision.LaserScan", "foxglove.LaserScan", true},
		{"engram.robot_state.Localization", "foxglove.FrameTransform", true},
		{"engram.object.ArticulatedAttachment", "engram.object.Attachment", true},
		{"engram.grasp.Candidate", "engram.grasp.Affordance", true},
		{"foxglove.LocationFix", "engram.vision.Image", false},
		{"foxglove.FrameTransform", "engram.robot_state.Localization", false},
	} {
		typ, core := typeOf(t, c.typ), typeOf(t, c.core)
		if err := typ.CheckExtends(core); (err == nil) != c.want {
			t.Errorf("%s extends %s: %v, want %v", c.typ, c.core, err, c.want)
		}
	}
}

// TestImageSegments commits images of either type beside each other, and refuses
// what is no image.
func TestImageSegments(t *testing.T) {
	srv := newServer(t)
	for _, c := range []struct {
		segment string
		m       proto.Message
		code    engram.Code
	}{
		{"Vision/ImageRGB", &foxglove.RawImage{Timestamp: timestamppb.New(engram.Time(5).Std()), Width: 1, Height: 1, Step: 3, Encoding: "rgb8", Data: []byte{1, 2, 3}}, 0},
		{"Vision/ImageRGB", &foxglove.CompressedImage{Format: "jpeg", Data: []byte{1}}, 0},
		{"Vision/ImageDepth", &foxglove.RawImage{Encoding: "32FC1"}, 0},
		{"Vision/LaserScan", &foxglove.LaserScan{Ranges: []float64{1}}, 0},
		{"Vision/ImageRGB", &foxglove.LocationFix{}, engram.TypeMismatch},
	} {
		b, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		typ := string(c.m.ProtoReflect().Descriptor().FullName())
		results, err := srv.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID(c.segment + "/test/" + typ), Time: 5,
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})},
		}}})
		if err != nil || engram.CodeOf(results[0].Err) != c.code {
			t.Errorf("%s to %s: %v, %v", typ, c.segment, results, err)
		}
	}
}

// TestGeneralPurpose adds a segment while the memory runs.
func TestGeneralPurpose(t *testing.T) {
	srv := newServer(t)
	ctx := context.Background()
	if err := srv.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Notes")}); err != nil {
		t.Fatal(err)
	}
	p := testkit.Value(t, map[string]any{"anything": 1.5})
	results, err := srv.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("GeneralPurpose/Notes/me/today"), Instances: []engram.Instance{engram.NewInstance(p)},
	}}})
	if err != nil || results[0].Err != nil {
		t.Errorf("%v, %v", results, err)
	}
}

// TestDocs checks that the guide names every segment with its type.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/memories.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	for id, typ := range segments {
		if !slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "| `"+id+"` | `"+typ+"`")
		}) {
			t.Errorf("docs/memories.md has no row for %s of type %s", id, typ)
		}
	}
	for _, m := range memories.All() {
		if !strings.Contains(string(b), "## "+m.Name+"\n") {
			t.Errorf("docs/memories.md has no section about %s", m.Name)
		}
	}
}
