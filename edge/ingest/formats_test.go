package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// recorder writes an MCAP file for a test.
type recorder struct {
	t        testing.TB
	b        bytes.Buffer
	w        *mcap.Writer
	channels map[string]uint16
	now      uint64
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	r := &recorder{t: t, channels: map[string]uint16{}, now: 1e18}
	w, err := mcap.NewWriter(&r.b, &mcap.WriterOptions{Chunked: true, Compression: mcap.CompressionLZ4})
	if err != nil {
		t.Fatal(err)
	}
	r.w = w
	r.check(w.WriteHeader(&mcap.Header{}))
	return r
}

func (r *recorder) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// write records a message, its channel first if need be.
func (r *recorder) write(topic, typ, encoding, schemaEncoding string, schema, data []byte) {
	r.t.Helper()
	key := topic + "\x00" + typ + "\x00" + string(schema)
	id, ok := r.channels[key]
	if !ok {
		id = uint16(len(r.channels) + 1)
		r.channels[key] = id
		var schemaID uint16
		if schemaEncoding != "" {
			schemaID = id
			r.check(r.w.WriteSchema(&mcap.Schema{ID: id, Name: typ, Encoding: schemaEncoding, Data: schema}))
		}
		r.check(r.w.WriteChannel(&mcap.Channel{ID: id, SchemaID: schemaID, Topic: topic, MessageEncoding: encoding}))
	}
	r.now += 1e9
	r.check(r.w.WriteMessage(&mcap.Message{ChannelID: id, LogTime: r.now, PublishTime: r.now, Data: data}))
}

func (r *recorder) proto(topic string, m proto.Message) {
	r.t.Helper()
	b, err := proto.Marshal(m)
	r.check(err)
	md := m.ProtoReflect().Descriptor()
	r.write(topic, string(md.FullName()), "protobuf", "protobuf", fileSet(r.t, md.ParentFile()), b)
}

func fileSet(t testing.TB, f protoreflect.FileDescriptor) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(f)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// file closes the recording and returns its path.
func (r *recorder) file() string {
	r.t.Helper()
	r.check(r.w.Close())
	path := filepath.Join(r.t.TempDir(), "test.mcap")
	r.check(os.WriteFile(path, r.b.Bytes(), 0o600))
	return path
}

// cdr serialises values as CDR: uint8, uint32, float32, float64, string, []byte.
func cdr(values ...any) []byte {
	b := []byte{0, 1, 0, 0}
	pad := func(n int) {
		for (len(b)-4)%n != 0 {
			b = append(b, 0)
		}
	}
	for _, v := range values {
		switch v := v.(type) {
		case uint8:
			b = append(b, v)
		case uint32, float32:
			pad(4)
			b, _ = binary.Append(b, binary.LittleEndian, v)
		case float64:
			pad(8)
			b, _ = binary.Append(b, binary.LittleEndian, v)
		case string:
			pad(4)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)+1))
			b = append(append(b, v...), 0)
		case []byte:
			pad(4)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return b
}

func targets(t testing.TB, r *Report, name string) string {
	t.Helper()
	tr := topic(t, r, name)
	if tr.Refused > 0 {
		t.Errorf("%s: refused %v", name, tr.Reasons)
	}
	return strings.Trim(fmt.Sprint(tr.Targets), "[]")
}

func TestImagesByEncoding(t *testing.T) {
	r := newRecorder(t)
	// Old rosbag2 MCAP files name the type in a schema without content; here it is
	// the built-in definition that is found.
	schema := func(topic, typ string, data []byte) {
		r.write(topic, typ, "cdr", "none", nil, data)
	}
	for _, e := range []struct {
		topic, encoding string
	}{{"/rgb", "rgb8"}, {"/mono", "mono8"}, {"/depth16", "16UC1"}, {"/depth32", "32FC1"}, {"/mono16", "mono16"}} {
		schema(e.topic, "sensor_msgs/msg/Image", cdr(uint32(5), uint32(6), "cam", uint32(1), uint32(2), e.encoding, uint8(0), uint32(4), bytes.Repeat([]byte{7}, 4)))
	}
	for _, e := range []struct{ topic, format string }{
		{"/jpeg", "jpeg"}, {"/ros_jpeg", "rgb8; jpeg compressed bgr8"}, {"/depth_png", "16UC1; compressedDepth png"}, {"/png", "bgr8; png compressed bgr8"},
	} {
		schema(e.topic, "sensor_msgs/msg/CompressedImage", cdr(uint32(5), uint32(6), "cam", e.format, []byte{1, 2, 3}))
	}
	// Big-endian pixels would be read wrongly as a RawImage; single bytes have no order.
	for topic, encoding := range map[string]string{"/big16": "16UC1", "/big8": "rgb8"} {
		schema(topic, "sensor_msgs/msg/Image", cdr(uint32(5), uint32(6), "cam", uint32(1), uint32(2), encoding, uint8(1), uint32(4), bytes.Repeat([]byte{7}, 4)))
	}
	s := newServer(t)
	rep := mustImport(t, s, r.file(), Options{})
	for _, tt := range []struct{ topic, target, member, value string }{
		{"/big16", `GeneralPurpose/sensor_msgs\/msg\/Image`, "encoding", "16UC1"}, {"/big8", "Vision/ImageRGB", "encoding", "rgb8"},
		{"/rgb", "Vision/ImageRGB", "encoding", "rgb8"}, {"/mono", "Vision/ImageRGB", "encoding", "mono8"},
		{"/depth16", "Vision/ImageDepth", "encoding", "16UC1"}, {"/depth32", "Vision/ImageDepth", "encoding", "32FC1"}, {"/mono16", "Vision/ImageDepth", "encoding", "mono16"},
		{"/jpeg", "Vision/ImageRGB", "format", "jpeg"}, {"/ros_jpeg", "Vision/ImageRGB", "format", "jpeg"}, {"/png", "Vision/ImageRGB", "format", "png"},
		{"/depth_png", "Vision/ImageDepth", "format", "16UC1; compressedDepth png"},
	} {
		if got := targets(t, rep, tt.topic); got != tt.target {
			t.Errorf("%s went to %s, want %s; notes %q", tt.topic, got, tt.target, topic(t, rep, tt.topic).Notes)
			continue
		}
		id := engram.MustID(tt.target)
		snaps := snapshots(t, s, id.Memory(), id.CoreSegment(), "test", tt.topic)
		v := decoded(t, s, snaps[0])
		if id.Memory() == "GeneralPurpose" {
			v["frame_id"] = v["header"].(map[string]any)["frame_id"]
		}
		if v[tt.member] != tt.value || v["frame_id"] != "cam" || snaps[0].Time != 5*1e9+6 {
			t.Errorf("%s: %v at %v", tt.topic, v, snaps[0].Time)
		}
	}
}

func TestProtobufChannels(t *testing.T) {
	r := newRecorder(t)
	stamp := timestamppb.New(engram.Time(77 * 1e9).Std())
	edge := func(parent, child string, x float64) *foxglove.FrameTransform {
		return &foxglove.FrameTransform{Timestamp: stamp, ParentFrameId: parent, ChildFrameId: child,
			Translation: &foxglove.Vector3{X: x}, Rotation: &foxglove.Quaternion{W: 1}}
	}
	r.proto("/tf", &foxglove.FrameTransforms{Transforms: []*foxglove.FrameTransform{edge("map", "odom", 1), edge("odom", "base", 2)}})
	r.proto("/one", edge("base", "cam", 3))
	r.proto("/pose", &foxglove.PoseInFrame{Timestamp: stamp, FrameId: "map", Pose: &foxglove.Pose{Position: &foxglove.Vector3{X: 4}, Orientation: &foxglove.Quaternion{W: 1}}})
	r.proto("/rgb", &foxglove.RawImage{Timestamp: stamp, Encoding: "rgb8", Data: []byte{1}})
	r.proto("/depth", &foxglove.RawImage{Timestamp: stamp, Encoding: "16UC1", Data: []byte{1, 2}})
	r.proto("/jpeg", &foxglove.CompressedImage{Timestamp: stamp, Format: "jpeg", Data: []byte{3}})
	r.proto("/cloud", &foxglove.PointCloud{Timestamp: stamp, PointStride: 4})
	r.proto("/scan", &foxglove.LaserScan{Timestamp: stamp, Ranges: []float64{1, 2}})
	r.proto("/log", &foxglove.Log{Timestamp: stamp, Message: "hello"})
	s := newServer(t)
	rep := mustImport(t, s, r.file(), Options{})
	if rep.Refused > 0 || rep.Stored != 10 {
		t.Errorf("stored %d, refused %d: %+v", rep.Stored, rep.Refused, rep.Topics)
	}
	for name, want := range map[string]string{
		"/tf": "RobotState/Localization", "/pose": "RobotState/Localization", "/rgb": "Vision/ImageRGB", "/depth": "Vision/ImageDepth", "/jpeg": "Vision/ImageRGB",
		"/cloud": "Vision/PointCloud", "/scan": "Vision/LaserScan", "/log": "GeneralPurpose/foxglove.Log",
	} {
		if got := targets(t, rep, name); got != want {
			t.Errorf("%s went to %s, want %s; notes %q", name, got, want, topic(t, rep, name).Notes)
		}
	}
	for entity, x := range map[string]float64{"map,odom": 1, "odom,base": 2, "base,cam": 3, "/pose": 4} {
		v := atTime(t, s, 77*1e9, "RobotState", "Localization", "test", entity)
		if v["translation"].(map[string]any)["x"] != x {
			t.Errorf("%s: %v", entity, v)
		}
	}
	if v := atTime(t, s, 77*1e9, "RobotState", "Localization", "test", "/pose"); v["parent_frame_id"] != "map" {
		t.Errorf("the pose's frame: %v", v)
	}
	if v := atTime(t, s, 77*1e9, "GeneralPurpose", "foxglove.Log", "test", "/log"); v["message"] != "hello" {
		t.Errorf("log %v", v)
	}
}

// value returns the plain Go value of a snapshot of type Value.
func value(t testing.TB, snap *engram.Snapshot) map[string]any {
	t.Helper()
	if snap.Instances[0].Payload.Type != engram.ValueType {
		t.Fatalf("payload of type %s", snap.Instances[0].Payload.Type)
	}
	v, err := idf.DecodeValue(snap.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestJSONAndOpaqueChannels(t *testing.T) {
	r := newRecorder(t)
	r.write("/free", "", "json", "", nil, []byte(`{"a": 1, "b": [1.5, "x", null, true], "timestamp": {"sec": 9, "nsec": 8}}`))
	r.write("/free", "", "json", "", nil, []byte(`{"a": `))
	r.write("/schema", "my.Thing", "json", "jsonschema", []byte(`{"type":"object"}`), []byte(`{"n": 12345678901234567}`))
	r.write("/image", "foxglove.CompressedImage", "json", "jsonschema", []byte(`{}`),
		[]byte(`{"timestamp": {"sec": 5, "nsec": 1}, "frame_id": "cam", "data": "AQID", "format": "jpeg"}`))
	r.write("/bytes", "", "secret", "", nil, []byte{1, 2, 3})
	r.write("/idl", "my_msgs/msg/Odd", "cdr", "ros2idl", []byte("module my_msgs {}"), cdr(uint32(1)))
	r.write("/broken", "my_msgs/msg/Broken", "cdr", "ros2msg", []byte("Nowhere x"), cdr(uint32(1)))
	s := newServer(t)
	rep := mustImport(t, s, r.file(), Options{})
	free := topic(t, rep, "/free")
	if free.Stored != 2 || free.Refused != 0 || len(free.Noted) != 1 || free.Noted[0].Code != engram.Corrupt || rep.Refused > 0 {
		t.Errorf("/free: %+v", free)
	}
	snaps := snapshots(t, s, "GeneralPurpose", "json", "test", "/free")
	if v := value(t, snaps[1]); string(v["data"].(*idf.NDArray).Data) != `{"a": ` || v["encoding"] != "json" {
		t.Errorf("/free: %v", v)
	}
	if v := value(t, snaps[0]); v["a"] != int64(1) || fmt.Sprint(v["b"]) != "[1.5 x <nil> true]" || snaps[0].Time != 9*1e9+8 {
		t.Errorf("/free: %v at %v", v, snaps[0].Time)
	}
	if v := value(t, snapshots(t, s, "GeneralPurpose", "my.Thing", "test", "/schema")[0]); v["n"] != int64(12345678901234567) {
		t.Errorf("/schema: %v", v)
	}
	v := decoded(t, s, snapshots(t, s, "Vision", "ImageRGB", "test", "/image")[0])
	if v["format"] != "jpeg" || string(v["data"].([]byte)) != "\x01\x02\x03" || v["timestamp"] != engram.Time(5*1e9+1) {
		t.Errorf("/image: %v", v)
	}
	for name, want := range map[string]string{"/bytes": "secret", "/idl": "my_msgs/msg/Odd", "/broken": "my_msgs/msg/Broken"} {
		tr := topic(t, rep, name)
		if tr.Stored != 1 || len(tr.Notes) != 1 {
			t.Errorf("%s: %+v", name, tr)
			continue
		}
		kept := value(t, snapshots(t, s, "GeneralPurpose", want, "test", name)[0])
		if kept["encoding"] != tr.Encoding || kept["type"] != tr.Type || kept["data"] == nil || (kept["schema"] == nil) != (name == "/bytes") {
			t.Errorf("%s: %v", name, kept)
		}
		if name == "/broken" && string(kept["schema"].(*idf.NDArray).Data) != "Nowhere x" {
			t.Errorf("%s: %v", name, kept)
		}
	}
}

// TestDefinitionsOfOneName imports two definitions that share a name: both keep
// all their members, in types and segments of their own.
func TestDefinitionsOfOneName(t *testing.T) {
	r := newRecorder(t)
	r.write("/a", "my_msgs/msg/Thing", "cdr", "ros2msg", []byte("uint32 a"), cdr(uint32(1)))
	r.write("/b", "my_msgs/msg/Thing", "cdr", "ros2msg", []byte("uint32 b\nstring c"), cdr(uint32(2), "x"))
	r.write("/c", "my_msgs/Thing", "ros1", "ros1msg", []byte("uint32 c"), []byte{3, 0, 0, 0})
	path := r.file()
	s := newServer(t)
	for _, source := range []string{"first", "second"} {
		rep := mustImport(t, s, path, Options{Source: source})
		if rep.Refused > 0 || rep.Stored != 3 {
			t.Fatalf("%+v", rep)
		}
		seen := map[string]bool{}
		for name, want := range map[string]map[string]any{"/a": {"a": uint32(1)}, "/b": {"b": uint32(2), "c": "x"}, "/c": {"c": uint32(3)}} {
			core := topic(t, rep, name).Targets[0]
			seen[core.CoreSegment()] = true
			v := decoded(t, s, snapshots(t, s, core.Memory(), core.CoreSegment(), source, name)[0])
			for k, x := range want {
				if v[k] != x {
					t.Errorf("%s: %v, want %v", name, v, want)
				}
			}
		}
		if len(seen) != 3 || !seen["my_msgs/msg/Thing"] || !seen["my_msgs/Thing"] {
			t.Errorf("segments %v", seen)
		}
	}
	names, err := s.TypeNames(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if strings.Contains(name, "my_msgs.Thing") {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d types of that name, want 3 even after two imports: %v", n, names)
	}
}

// Messages that cannot be read are kept as bytes, with the reason, beside those that can.
func TestMessagesThatCannotBeRead(t *testing.T) {
	r := newRecorder(t)
	r.write("/s", "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr("good"))
	for range 3 {
		r.write("/s", "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), []byte{0, 1, 0, 0, 200, 0, 0, 0, 'x'})
	}
	r.write("/s", "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), []byte{0, 7, 0, 0, 1, 0, 0, 0, 0})
	r.write("/joint_states", "sensor_msgs/msg/JointState", "cdr", "ros2msg", []byte("string[] name"), []byte{0, 3})
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(wrapperspb.File_google_protobuf_wrappers_proto)}})
	if err != nil {
		t.Fatal(err)
	}
	r.write("/proto", "google.protobuf.StringValue", "protobuf", "protobuf", set, []byte{0x0a, 5, 'x'})
	r.write("/proto", "google.protobuf.StringValue", "protobuf", "protobuf", set, []byte{0x0a, 1, 'x'})
	r.write("/image", "foxglove.CompressedImage", "json", "jsonschema", []byte(`{}`), []byte(`{"data": 7}`))
	for range 2 {
		r.write("/idl", "my_msgs/msg/Odd", "cdr", "ros2idl", []byte("module my_msgs {}"), cdr(uint32(1)))
	}
	r.write("/lines", "", "json", "", nil, []byte("{\"a\":1}\n{\"a\":2}\n"))
	const packed = "\x28\xb5\x2f\xfd and damaged"
	r.write("/packed", "std_msgs/msg/Header", "cdr", "ros2msg", []byte("uint32 seq"), []byte(packed))
	path := r.file()
	s := newServer(t)
	rep := mustImport(t, s, path, Options{})
	tr := topic(t, rep, "/s")
	if tr.Messages != 5 || tr.Stored != 5 || len(tr.Noted) != 2 || tr.Noted[0].Count != 3 || tr.Noted[1].Code != engram.Unsupported || rep.Lossy() {
		t.Errorf("%+v", tr)
	}
	for _, tt := range []struct {
		segment, topic string
		data           []string
	}{
		{"std_msgs/msg/String_bytes", "/s", []string{"\x00\x01\x00\x00\xc8\x00\x00\x00x", "\x00\x01\x00\x00\xc8\x00\x00\x00x", "\x00\x01\x00\x00\xc8\x00\x00\x00x", "\x00\x07\x00\x00\x01\x00\x00\x00\x00"}},
		{"sensor_msgs/msg/JointState_bytes", "/joint_states", []string{"\x00\x03"}},
		{"google.protobuf.StringValue_bytes", "/proto", []string{"\x0a\x05x"}},
		{"foxglove.CompressedImage_bytes", "/image", []string{`{"data": 7}`}},
		{"std_msgs/msg/Header_bytes", "/packed", []string{packed}},
		{"json", "/lines", []string{"{\"a\":1}\n{\"a\":2}\n"}},
	} {
		snaps := snapshots(t, s, "GeneralPurpose", tt.segment, "test", tt.topic)
		if len(snaps) != len(tt.data) {
			t.Errorf("%s: %d snapshots", tt.topic, len(snaps))
			continue
		}
		for i, snap := range snaps {
			if v := value(t, snap); string(v["data"].(*idf.NDArray).Data) != tt.data[i] || v["encoding"] == "" || snap.Time != snap.Instances[0].Sent {
				t.Errorf("%s: %v at %v", tt.topic, v, snap.Time)
			}
		}
	}
	if idl := snapshots(t, s, "GeneralPurpose", "my_msgs/msg/Odd", "test", "/idl"); len(idl) != 2 || value(t, idl[0])["schema"] == nil || value(t, idl[1])["schema"] != nil {
		t.Errorf("the definition is not with the first of %d messages alone", len(idl))
	}
	if tr := topic(t, rep, "/packed"); len(tr.Noted) != 1 || !strings.Contains(tr.Noted[0].Text, "compressed by zstd, it cannot be decompressed") {
		t.Errorf("%+v", tr)
	}
	if again := mustImport(t, s, path, Options{}); again.Stored != rep.Stored || again.Superseded != rep.Stored {
		t.Errorf("imported again: %+v", again)
	}
	// Without a rule that keeps all there is no place for them.
	m, err := ParseMapping("m", []byte("rules: [{type: std_msgs/String, to: Speech/Text, members: {data: text}}]"))
	if err != nil {
		t.Fatal(err)
	}
	rep = mustImport(t, newServer(t), path, Options{Mapping: m})
	if tr := topic(t, rep, "/s"); tr.Stored != 1 || tr.Refused != 4 || len(tr.Reasons) != 2 || tr.Reasons[0].Count != 3 || tr.Reasons[1].Code != engram.Unsupported || !rep.Lossy() {
		t.Errorf("%+v", tr)
	}
}

// What stands beside the messages is kept with the recording, and exported as it was.
func TestAsides(t *testing.T) {
	r := newRecorder(t)
	r.write("/say", "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr("hello"))
	attach := func(name string, logged, created uint64, content string) {
		r.check(r.w.WriteAttachment(&mcap.Attachment{LogTime: logged, CreateTime: created, Name: name, MediaType: "image/x-portable-graymap", DataSize: uint64(len(content)), Data: strings.NewReader(content)}))
	}
	attach("map.pgm", 7e18, 8, "a map")
	attach("maps/other.pgm", 0, 0, strings.Repeat("another map", 1<<18))
	attach("engram.index", 7, 7, "an episode's own")
	r.check(r.w.WriteMetadata(&mcap.Metadata{Name: "run", Metadata: map[string]string{"operator": "me", "site": ""}}))
	path := r.file()
	s := newServer(t)
	report := mustImport(t, s, path, Options{Source: "lab"})
	if tr := topic(t, report, "attachments"); tr.Stored != 2 || tr.Evicted != 0 || report.Lossy() || report.Messages != 1 {
		t.Fatalf("%+v in %+v", tr, report)
	}
	if m := snapshots(t, s, "GeneralPurpose", "Metadata", "lab", "run"); len(m) != 1 || m[0].Time != 1e18+1e9 {
		t.Errorf("the metadata are %v", m)
	}
	if a := snapshots(t, s, "GeneralPurpose", "Attachment", "lab", "map.pgm"); len(a) != 1 || a[0].Time != 7e18 {
		t.Errorf("the attachment is %v", a)
	}
	want := asidesOf(t, path)
	for _, life := range []string{"first", "imported again"} {
		file := filepath.Join(t.TempDir(), "export.mcap")
		if _, err := Export(t.Context(), s, file, ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := asidesOf(t, file); !maps.Equal(got, want) {
			t.Errorf("%s: the export has %d beside the messages, want %d", life, len(got), len(want))
		}
		if problems, err := episode.Verify(t.Context(), file, episode.Options{}); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", life, problems, err)
		}
		s = newServer(t)
		if _, err := ImportEpisode(t.Context(), s, file, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// asidesOf returns a text for each attachment and record of metadata of a recording that
// is no episode's own.
func asidesOf(t *testing.T, path string) map[string]string {
	t.Helper()
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	all := map[string]string{}
	for _, a := range recording.Asides(rec) {
		if episode.IsOwn(a.Name) {
			continue
		}
		text := fmt.Sprint(a.MediaType, a.Logged, a.Created, a.Metadata)
		if a.Metadata == nil {
			b, err := a.Content() // checks the CRC
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		all[a.Name] = text
	}
	return all
}
