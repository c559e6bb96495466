package ingest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// A patch makes what it was made for, of whatever two messages.
func TestPatchesMakeTheMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := rapid.SliceOf(rapid.ByteRange(0, 3)).Draw(t, "made")
		want := bytes.Clone(made)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(want)).Draw(t, "at")
			end := rapid.IntRange(at, len(want)).Draw(t, "end")
			with := rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "with")
			want = append(append(bytes.Clone(want[:at]), with...), want[end:]...)
		}
		big := rapid.Bool().Draw(t, "big")
		patch := makePatch(made, want, big)
		got, ok := applyPatch([]byte("before"), made, patch)
		if !ok || string(got) != "before"+string(want) || isBig(patch) != big {
			t.Fatalf("%x makes %x of %x, want %x", patch, got, made, want)
		}
		if len(patch) > len(want)+2 && len(patch) > 16 {
			t.Fatalf("a patch of %d bytes for a message of %d", len(patch), len(want))
		}
	})
}

// A damaged patch is refused, or makes something of another checksum.
func FuzzApplyPatch(f *testing.F) {
	f.Add([]byte("made"), []byte{patchRuns, 1, 1, 'x'})
	f.Add([]byte("made"), []byte{patchSplice | patchBig, 1, 1, 'x'})
	f.Fuzz(func(t *testing.T, made, patch []byte) {
		out, _ := applyPatch(nil, made, patch)
		if len(out) > 2*len(made)+len(patch) {
			t.Errorf("%d bytes of %d by %d", len(out), len(made), len(patch))
		}
	})
}

func FuzzDecodeRecorded(f *testing.F) {
	r := recorded{entities: []engram.ID{engram.MustID("A/B/c/d")}, messages: []recordedMessage{
		{number: 1, log: 5, publish: 4, sequence: 7, crc: 9, parts: []recordedPart{{0, 6}, {0, 8}}}, {number: 3, log: 5, publish: 5, patch: []byte("x")},
	}}
	f.Add(r.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecorded(b)
		if err != nil {
			return
		}
		again, err := decodeRecorded(r.encode())
		if err != nil {
			t.Fatal(err)
		}
		if len(again.messages) != len(r.messages) || len(again.entities) != len(r.entities) {
			t.Errorf("%+v came back as %+v", r, again)
		}
	})
}

func TestRecordedComesBack(t *testing.T) {
	r := &recorded{
		channel: recording.Channel{Topic: "/a", Type: "p/T", Encoding: "cdr", SchemaEncoding: "ros2msg", Schema: []byte("int8 x\n"), Metadata: map[string]string{"a": "b", "c": ""}},
		payload: "ros2.p.T", rule: "{}", entities: []engram.ID{engram.MustID("A/B/c/d"), engram.MustID("A/B/c/e")},
		messages: []recordedMessage{
			{number: 4, log: 1e18, publish: 1e18 - 5, sequence: 7, crc: 9, patch: []byte{}, parts: []recordedPart{{1, 1e18 + 6}, {0, -8}}},
			{number: 9, log: 1e18, publish: 1e18, patch: []byte("x")},
		},
	}
	got, err := decodeRecorded(r.encode())
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v came back as %+v, %v", r, got, err)
	}
}

// oddFile writes an MCAP file of what other recordings seldom have: big-endian messages,
// padding that is not zero, bytes behind the end, texts that are no UTF-8, equal stamps and
// log times, messages that do not fit their definition, encodings that are not read.
func oddFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "odd.mcap")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := mcap.NewWriter(f, &mcap.WriterOptions{Chunked: true, ChunkSize: 1 << 20})
	check(err)
	check(w.WriteHeader(&mcap.Header{Profile: "ros2"}))
	definition := "builtin_interfaces/Time stamp\nbool yes\nfloat64 d\nstring s\nfloat32[] f\nwstring w\n"
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "odd_msgs/msg/Odd", Encoding: "ros2msg", Data: []byte(definition)}))
	check(w.WriteSchema(&mcap.Schema{ID: 2, Name: "odd_msgs/msg/Unknown", Encoding: "ros2idl", Data: []byte("module odd {}")}))
	check(w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/odd", MessageEncoding: "cdr", Metadata: map[string]string{"offered_qos_profiles": "- history: 3\n"}}))
	check(w.WriteChannel(&mcap.Channel{ID: 2, SchemaID: 1, Topic: "/odd", MessageEncoding: "cdr", Metadata: map[string]string{"offered_qos_profiles": "other"}}))
	check(w.WriteChannel(&mcap.Channel{ID: 3, SchemaID: 2, Topic: "/unknown", MessageEncoding: "cdr"}))
	message := func(order binary.AppendByteOrder, head []byte, pad byte, yes byte, bits uint64, s string, end ...byte) []byte {
		b := order.AppendUint32(bytes.Clone(head), 12)
		b = order.AppendUint32(b, 2_000_000_000) // nanoseconds beyond a second
		b = append(b, yes, pad, pad, pad, pad, pad, pad, pad)
		b = order.AppendUint64(b, bits)
		b = append(append(order.AppendUint32(b, uint32(len(s)+1)), s...), 0)
		for len(b)%4 != 0 {
			b = append(b, pad)
		}
		b = order.AppendUint32(order.AppendUint32(b, 1), 0x7fa00001) // a signalling NaN
		b = order.AppendUint32(order.AppendUint32(order.AppendUint32(b, 2), 'h'), 0x20ac)
		return append(b, end...)
	}
	little, big := binary.LittleEndian, binary.BigEndian
	n := uint32(0)
	write := func(channel uint16, log uint64, data []byte) {
		n += 3
		check(w.WriteMessage(&mcap.Message{ChannelID: channel, Sequence: n, LogTime: log, PublishTime: log - uint64(n), Data: data}))
	}
	const nan = 0x7ff0000000000001
	for range 3 {
		write(1, 1000, message(little, []byte{0, 1, 0, 0}, 0, 1, nan, "same"))
		write(2, 1000, message(big, []byte{0, 0, 0, 0}, 0, 1, nan, "big"))
	}
	write(1, 1000, message(little, []byte{0, 1, 0, 3}, 0xcd, 7, 1<<63, "pad\xff", 0, 0, 0))
	write(1, 2000, []byte{0, 1, 0, 0, 1})
	write(1, 2000, []byte{0, 7, 0, 0, 1, 2, 3, 4})
	write(1, 2000, nil)
	write(3, 2000, []byte{1, 2, 3})
	write(2, 3000, message(big, []byte{0, 0, 0, 1}, 0xcd, 0, 0, ""))
	check(w.Close())
	return path
}

// What is odd about messages comes back too, also what an import refuses.
func TestOddMessagesAreExportedAsTheyWere(t *testing.T) {
	path := oddFile(t)
	s := newServer(t)
	r := mustImport(t, s, path, Options{})
	if r.Refused == 0 || r.Shifted == 0 {
		t.Fatalf("nothing is odd: %+v", r)
	}
	out, report := exportROS(t, s, rosmsg.ROS2, ExportOptions{})
	sameMessages(t, readAll(t, out), readAll(t, path))
	for _, topic := range report.Topics {
		if topic.Recorded != topic.Messages {
			t.Errorf("%+v", topic)
		}
	}
	out, _ = exportROS(t, s, rosmsg.ROS2, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("*/*/odd"), engram.MustPattern("GeneralPurpose/*/odd")}})
	sameMessages(t, readAll(t, out), readAll(t, path))
}

// What is gone or became another is told, and the rest comes.
func TestWhatIsGoneIsTold(t *testing.T) {
	s := newServer(t)
	path := testkit.Shared(t, "recordings", "rosbag2", "talker.mcap")
	mustImport(t, s, path, Options{Source: "x"})
	out, _ := exportROS(t, s, rosmsg.ROS2, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("Speech")}})
	all := readAll(t, out)
	if len(all) != 10 {
		t.Fatalf("%d messages", len(all))
	}
	entity := engram.MustID(`Speech/Text/x/\/topic`)
	put(t, s, entity.String(), all[3].LogTime, "engram.speech.Text", `{"text": "another"}`)
	out, report := exportROS(t, s, rosmsg.ROS2, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("Speech")}})
	if got := readAll(t, out); len(got) != 10 || !bytes.Contains(got[3].Data, []byte("another")) {
		t.Errorf("%d messages, one is %q", len(got), got[3].Data)
	}
	if topic := report.Topics[0]; topic.Changed != 1 || topic.Recorded != 9 {
		t.Errorf("told is %+v", topic)
	}
}

// Joints that are renamed have their recorded names in an export.
func TestRenamedJointsAreExportedAsRecorded(t *testing.T) {
	s := newServer(t)
	path := testkit.Shared(t, "recordings", "g1_bottle_2.mcap")
	r := mustImport(t, s, path, Options{Source: "x", Joints: JointMap{"kLeftElbow": "left", "nothing": "x"}})
	if len(r.UnmatchedJoints) != 1 || r.UnmatchedJoints[0] != "nothing" {
		t.Errorf("unmatched are %v", r.UnmatchedJoints)
	}
	first := snapshots(t, s, "RobotState", "Proprioception", "x", "/joint_states")[0]
	if b := first.Instances[0].Payload.Bytes; !bytes.Contains(b, []byte("\x04left")) || bytes.Contains(b, []byte("kLeftElbow")) {
		t.Errorf("the names are as they were: %q", b)
	}
	out, _ := exportROS(t, s, rosmsg.ROS2, ExportOptions{})
	sameMessages(t, readAll(t, out), readAll(t, path))
	if _, err := Import(t.Context(), s, path, Options{Joints: JointMap{"a": "c", "b": "c"}}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("two joints of one name: %v", err)
	}
}

// BenchmarkExportROS exports a recording of many small messages: messages/s are printed.
func BenchmarkExportROS(b *testing.B) {
	s := newServer(b)
	mustImport(b, s, testkit.Shared(b, "recordings", "guardian_palette.bag"), Options{Source: "x"})
	for _, v := range []rosmsg.Version{rosmsg.ROS1, rosmsg.ROS2} {
		b.Run(v.Format(), func(b *testing.B) {
			n := uint64(0)
			for b.Loop() {
				path := filepath.Join(b.TempDir(), "out")
				r, err := ExportROS(b.Context(), s, path, v, ExportOptions{})
				if err != nil {
					b.Fatal(err)
				}
				n += r.Messages
				if err := os.Remove(path); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
