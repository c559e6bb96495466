package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestParseMappingErrors(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"rules: [", "not a mapping"},
		{"rules:\n  - typo: x\n    to: A/B", "unknown field"},
		{"rules:\n  - type: x", "rule 1"},
		{"rules:\n  - to: A/B\n  - to: A", "rule 2"},
		{"rules:\n  - to: A/B/C", `write the target as "Memory/CoreSegment"`},
		{"rules:\n  - skip: true\n    to: A/B", "both skips"},
		{"rules:\n  - to: A/B\n    entity: 'a{b'", "unclosed"},
		{"rules:\n  - to: A/{type}\n    split: x", "no meaning"},
		{"rules:\n  - to: A/B\n    members: {x: {to: y, convert: nonsense}}", "no conversion"},
		{"rules:\n  - to: A/B\n    members: {x: {}}", "has no target"},
		{strings.Repeat("#", maxMapping+1), "at most"},
	} {
		_, err := ParseMapping("my.yaml", []byte(tt.yaml))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "my.yaml") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want one line with %q", tt.yaml, err, tt.want)
		}
	}
}

func TestRuleFits(t *testing.T) {
	m, err := ParseMapping("m", []byte(`
rules:
  - {type: sensor_msgs/Imu, to: A/1}
  - {type: "sensor_msgs/*", topic: ["/left/*", "/right/*"], to: A/2}
  - {type: [a/B, "c/?"], to: A/3}
  - {topic: "*/raw", skip: true}
default: true
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ typ, topic, want string }{
		{"sensor_msgs/Imu", "/imu", "A/1"},
		{"sensor_msgs/msg/Imu", "/imu", "A/1"},
		{"sensor_msgs/msg/Image", "/left/cam/raw", "A/2"},
		{"c/D", "/x", "A/3"},
		{"c/DD", "/x/raw", ""},
		{"nav_msgs/msg/Odometry", "/odom", "RobotState/Localization"},
		{"anything", "/x", "GeneralPurpose/{type}"},
	} {
		for i := range m.Rules {
			if r := &m.Rules[i]; r.fits(tt.typ, tt.topic) {
				if r.To != tt.want {
					t.Errorf("%s on %s goes to %q, want %q", tt.typ, tt.topic, r.To, tt.want)
				}
				break
			}
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"*", "", true}, {"*", "/a/b", true}, {"a*c", "abbc", true}, {"a*c", "abb", false}, {"?", "", false}, {"?b", "ab", true},
		{"*tf_static", "/robot/tf_static", true}, {"*a*b", "xaxbxb", true}, {"a", "ab", false}, {"**", "x", true},
		{strings.Repeat("a*", 50) + "b", strings.Repeat("a", 5000), false}, // must not take for ever
	} {
		if got := glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("glob(%q, %.20q) = %v", tt.pattern, tt.s, got)
		}
	}
}

// TestOwnMapping uses each key of a mapping file.
func TestOwnMapping(t *testing.T) {
	m, err := ParseMapping("map.yaml", []byte(`
default: true
rules:
  - {topic: "/noise", skip: true}
  - type: std_msgs/String
    topic: "/said/*"
    when: {data: "robot*"}
    to: Speech/Text
    entity: "who-{data}"
    members: {data: text}
    set: {language: en, speaker: the operator}
  - {type: geometry_msgs/Vector3, to: Speech/Text}
  - {type: std_msgs/Int32, to: Nowhere/AtAll}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	text := func(topic, s string) {
		r.write(topic, "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr(s))
	}
	text("/noise", "psst")
	text("/said/a", "robot, stop")
	text("/said/a", "dog, come")
	r.write("/v", "geometry_msgs/msg/Vector3", "cdr", "ros2msg", []byte("float64 x\nfloat64 y\nfloat64 z"), cdr(1., 2., 3.))
	r.write("/n", "std_msgs/msg/Int32", "cdr", "ros2msg", []byte("int32 data"), cdr(uint32(4)))
	s := newServer(t)
	rep := mustImport(t, s, r.file(), Options{Mapping: m})
	if rep.Skipped != 1 || rep.Stored != 4 || rep.Refused > 0 {
		t.Errorf("stored %d, skipped %d, refused %d", rep.Stored, rep.Skipped, rep.Refused)
	}
	said := decoded(t, s, snapshots(t, s, "Speech", "Text", "test", "who-robot, stop")[0])
	if said["text"] != "robot, stop" || said["language"] != "en" || said["speaker"] != "the operator" {
		t.Errorf("said %v", said)
	}
	if got := snapshots(t, s, "Speech", "Text", "test", "/said/a"); len(got) != 1 {
		t.Errorf("the default took %d of the others, want 1", len(got))
	}
	// A vector has nothing for a text: the rule does not fit.
	if v := topic(t, rep, "/v"); fmt.Sprint(v.Targets) != `[GeneralPurpose/geometry_msgs\/msg\/Vector3]` || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "not into Speech/Text") {
		t.Errorf("/v: %+v", v)
	}
	n := topic(t, rep, "/n")
	if fmt.Sprint(n.Targets) != `[GeneralPurpose/std_msgs\/msg\/Int32]` || len(n.Notes) != 1 || !strings.Contains(n.Notes[0], "Nowhere/AtAll") {
		t.Errorf("/n: %+v", n)
	}
}

// TestRuleThatCannotBeApplied has no rule to fall back on: every message counts as
// refused, with the reason once.
func TestRuleThatCannotBeApplied(t *testing.T) {
	m, err := ParseMapping("m", []byte("rules: [{to: Nowhere/AtAll}]"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	for range 5 {
		r.write("/n", "std_msgs/msg/Int32", "cdr", "ros2msg", []byte("int32 data"), cdr(uint32(4)))
	}
	n := topic(t, mustImport(t, newServer(t), r.file(), Options{Mapping: m}), "/n")
	if n.Messages != 5 || n.Refused != 5 || n.Skipped != 0 || len(n.Notes) != 0 || len(n.Reasons) != 1 || n.Reasons[0].Count != 5 || !strings.Contains(n.Reasons[0].Text, "not into Nowhere/AtAll") {
		t.Errorf("%+v", n)
	}
}

// plain is a destination without a pipeline, which can be made to fail.
type plain struct {
	Destination
	commits int
	failAt  int
}

func (p *plain) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	if p.commits++; p.failAt > 0 && p.commits >= p.failAt {
		return nil, engram.Errorf(engram.Unavailable, "", "the server went away")
	}
	return p.Destination.Commit(ctx, c)
}

func TestDestinationWithoutPipeline(t *testing.T) {
	path := testkit.Recording(t, "tilt_laser.bag")
	p := &plain{Destination: newServer(t)}
	rep := mustImport(t, p, path, Options{})
	if rep.Messages != 4093 || rep.Refused > 0 || p.commits < 4093/batchUpdates {
		t.Errorf("%d messages, %d commits", rep.Messages, p.commits)
	}
	p = &plain{Destination: newServer(t), failAt: 5}
	rep, err := Import(context.Background(), p, path, Options{})
	if !errors.Is(err, engram.Unavailable) || rep == nil || rep.Stored == 0 || p.commits != 5 {
		t.Errorf("a destination that went away: %v, %+v, %d commits", err, rep, p.commits)
	}
}

// breaking is a pipeline whose answers stop with an error.
type breaking struct {
	Destination
	engram.CommitStreamer
	after int
}

func (b breaking) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	s, err := b.CommitStreamer.CommitStream(ctx)
	return &breakingStream{CommitStream: s, left: b.after}, err
}

type breakingStream struct {
	engram.CommitStream
	left int
}

func (b *breakingStream) Recv() ([]engram.UpdateResult, error) {
	if b.left--; b.left < 0 {
		return nil, engram.Errorf(engram.Unavailable, "", "the connection broke")
	}
	return b.CommitStream.Recv()
}

func TestPipelineBreaks(t *testing.T) {
	s := newServer(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rep, err := Import(context.Background(), breaking{s, s, 2}, testkit.Recording(t, "tilt_laser.bag"), Options{})
		if !errors.Is(err, engram.Unavailable) || rep == nil || rep.Stored > 2*batchUpdates {
			t.Errorf("%v, %+v", err, rep)
		}
	}()
	testkit.Receive(t, done)
}

// away is a memory that is away when the first core segment is added.
type away struct {
	Destination
	asked int
}

func (a *away) AddCoreSegment(ctx context.Context, seg engram.CoreSegment) error {
	if a.asked++; a.asked == 1 {
		return engram.Errorf(engram.Unavailable, "", "the server went away")
	}
	return a.Destination.AddCoreSegment(ctx, seg)
}

// A message is not kept as bytes because the memory was away: the import ends.
func TestMemoryAwayIsNoReasonForBytes(t *testing.T) {
	r := newRecorder(t)
	r.write("/n", "std_msgs/msg/UInt32", "cdr", "ros2msg", []byte("uint32 data"), cdr(uint32(1)))
	a := &away{Destination: newServer(t)}
	rep, err := Import(t.Context(), a, r.file(), Options{})
	if !errors.Is(err, engram.Unavailable) || a.asked != 1 || rep == nil || rep.Stored > 0 {
		t.Errorf("%v, asked %d times, %+v", err, a.asked, rep)
	}
}

func TestSourceName(t *testing.T) {
	for path, want := range map[string]string{
		"a/run.mcap": "run", "a/run": "run", "a/run/metadata.yaml": "run", "run.tar.bag": "run.tar", "a/.bag": ".bag", "a/split/": "split",
		"run.mcap.zst": "run", "run_0.db3.zstd": "run_0", "run.bag.gz": "run", "run.gz": "run", "a/.bag.gz": ".bag",
	} {
		if got := SourceName(path); got != want {
			t.Errorf("SourceName(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestReasonsAreBounded(t *testing.T) {
	var tr TopicReport
	for i := range 100 {
		tr.refuse(engram.Errorf(engram.Invalid, fmt.Sprint("thing", i), "reason %d", i), 1)
		tr.refuse(engram.Errorf(engram.Invalid, fmt.Sprint("thing", i), "always"), 1)
	}
	var sum uint64
	for _, r := range tr.Reasons {
		sum += r.Count
	}
	if tr.Refused != 200 || sum != 200 || len(tr.Reasons) > maxReasons+1 {
		t.Errorf("%d refused, %d in %d reasons", tr.Refused, sum, len(tr.Reasons))
	}
	for _, r := range tr.Reasons {
		if r.Text == "always" && r.Count != 100 {
			t.Errorf("the same reason of different things is counted %d times, want 100", r.Count)
		}
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add(string(defaultYAML))
	f.Add("rules: [{to: A/B, members: {x: {to: y, values: [1]}}, entity: '{a},{b}'}]\ndefault: true")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMapping("fuzz", []byte(text))
		if err != nil {
			if c := engram.CodeOf(err); c != engram.Invalid && c != engram.Exhausted {
				t.Fatal(err)
			}
			return
		}
		for i := range m.Rules {
			m.Rules[i].fits("sensor_msgs/msg/Imu", "/a/b")
		}
	})
}

// FuzzConvertProto feeds damaged protobuf messages to the conversions that look
// inside them.
func FuzzConvertProto(f *testing.F) {
	pose, err := proto.Marshal(&foxglove.PoseInFrame{FrameId: "map", Pose: &foxglove.Pose{Position: &foxglove.Vector3{X: 4}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pose)
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	registry := idf.NewRegistry()
	typ := func(name string) *idf.Type {
		t, ok := registry.Get(name)
		if !ok {
			f.Fatalf("no type %s", name)
		}
		return t
	}
	build := func(from, to string, rule *Rule, fields ...string) converter {
		t := typ(from)
		c, err := (&protoSource{typ: t, def: t.Def()}).convert(typ(to), rule, fields)
		if err != nil {
			f.Fatal(err)
		}
		return c
	}
	converters := []converter{
		build("foxglove.PoseInFrame", "foxglove.FrameTransform", &Rule{Members: map[string]Target{"frame_id": {To: "parent_frame_id"}, "pose.position": {To: "translation"}}}, "frame_id"),
		build("foxglove.FrameTransforms", "foxglove.FrameTransform", &Rule{Split: "transforms"}, "parent_frame_id", "child_frame_id"),
		build("foxglove.RawImage", "foxglove.RawImage", &Rule{}, "encoding", "width"),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range converters {
			outs, err := c.convert(b)
			if err != nil && !errors.Is(err, engram.Corrupt) {
				t.Fatal(err)
			}
			for _, o := range outs {
				if len(o.bytes) > 2*len(b)+16 {
					t.Fatalf("%d bytes became %d", len(b), len(o.bytes))
				}
			}
		}
	})
}
