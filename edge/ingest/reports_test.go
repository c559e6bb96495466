package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// shown returns a snapshot's payload as 'engram get -o json' shows it.
func shown(t testing.TB, s *server.Server, snap *engram.Snapshot) string {
	t.Helper()
	p := snap.Instances[0].Payload
	def, err := s.Type(t.Context(), p.Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	j, err := typ.JSON(p.Bytes, idf.JSONOptions{SummarizeBytes: 256})
	if err != nil || !json.Valid(j) {
		t.Fatalf("%s: %v", j, err)
	}
	return string(j)
}

// TestReports reads small recordings that once came out wrong.
func TestReports(t *testing.T) {
	for _, tt := range []struct {
		file, segment, entity string
		want                  []string
	}{
		{"json_big_integers.mcap", "GeneralPurpose/lab.Counters", "/counters", []string{
			`{"hash":{"$uint64":"18446744073709551615"},"id":{"$int64":"9007199254740993"},"n":0}`,
			`{"hash":{"$uint64":"9223372036854775808"},"id":{"$int64":"9223372036854775807"},"n":1}`,
			`{"hash":{"$uint64":"12297829382473034411"},"id":{"$int64":"-9223372036854775808"},"n":2}`,
		}},
		{"json_nan.mcap", "GeneralPurpose/lab.Fix", "/fix", []string{
			`{"lat":{"$double":"NaN"},"lon":1.5}`, `{"lat":48.5,"lon":11.5}`, `{"lat":{"$double":"Infinity"},"lon":{"$double":"-Infinity"}}`,
		}},
		{"proto_twice.mcap", "GeneralPurpose/lab.Seen", "/seen", seen},
		{"proto_users_first.mcap", "GeneralPurpose/lab.Seen", "/seen", seen},
		{"same_short_name.mcap", `GeneralPurpose/radar_msgs\/msg\/Locations`, "/radar", []string{
			radar(1000), radar(1001), radar(1002),
		}},
		{"joints_without.mcap", "RobotState/Proprioception", "/joint_states", []string{joints(`"position":[0.5,0.6]`, 20), joints(`"position":[0.5,0.6]`, 21), joints(`"position":[0.5,0.6]`, 22)}},
		{"joints_nan.mcap", "RobotState/Proprioception", "/joint_states", []string{nanJoints("0", 20), nanJoints("0.1", 21), nanJoints("0.2", 22)}},
		{"compressed_messages_0.db3", "Speech/Text", "/talk", said(5)},
		{"compression_none.mcap", "Speech/Text", "/talk", said(5)},
		{"log_time_zero.mcap", "Speech/Text", "/talk", said(3)},
	} {
		t.Run(tt.file, func(t *testing.T) {
			s := newServer(t)
			r := mustImport(t, s, testkit.Shared(t, "reports", tt.file), Options{Source: "x"})
			if r.Refused > 0 || len(r.Loss) > 0 {
				t.Errorf("report %+v", r)
			}
			segment := engram.MustID(tt.segment)
			var got []string
			for _, snap := range snapshots(t, s, segment.Memory(), segment.CoreSegment(), "x", tt.entity) {
				got = append(got, shown(t, s, snap))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// All recordings that once came out wrong, also those that no test looks into, are kept whole but for what is told.
func TestReportsAreKept(t *testing.T) {
	folder := testkit.Shared(t, "reports")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	lacking := map[string]uint64{"odd_topics.mcap": 2, "compression_brotli.mcap": 0} // refused, or lost
	kept := 0
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".mcap" && ext != ".db3" && ext != ".bag" {
			continue
		}
		r := mustImport(t, newServer(t), filepath.Join(folder, e.Name()), Options{})
		refused, told := lacking[e.Name()]
		if r.Lossy() != told || r.Refused != refused || r.Evicted > 0 || r.Stored+r.Refused < r.Messages {
			t.Errorf("%s: %+v", e.Name(), r)
		}
		if r.Stored > 0 {
			kept++
		}
	}
	if kept < 15 {
		t.Errorf("%d recordings are kept", kept)
	}
}

var seen = []string{
	`{"at":"2023-11-14T22:13:20.000000Z","where":{"y":0.5},"hash":"18446744073709551615","names":["a","b"]}`,
	`{"at":"2023-11-14T22:13:21.000000Z","where":{"x":1,"y":0.5},"hash":"18446744073709551614","names":["a","b"]}`,
	`{"at":"2023-11-14T22:13:22.000000Z","where":{"x":2,"y":0.5},"hash":"18446744073709551613","names":["a","b"]}`,
}

func radar(cycle int) string {
	return fmt.Sprintf(`{"header":{"stamp":"2023-11-14T22:13:%d.000000Z","frame_id":"radar"},"info":{"cycle":%d,"version":"AQID"},"near":[{"range":5.5,"azimuth":0.25}],"far":[{"range":1.5,"azimuth":2.5},{"range":3.5,"azimuth":4.5}],"speed":{"x":7,"y":8,"z":9}}`, 20+cycle-1000, cycle)
}

func joints(members string, second int) string {
	return fmt.Sprintf(`{"timestamp":"2023-11-14T22:13:%d.000000Z",%s}`, second, members)
}

func nanJoints(first string, second int) string {
	return joints(`"name":["a","b"],"position":[`+first+`,"NaN"],"velocity":["Infinity","-Infinity"],"effort":["NaN","NaN"]`, second)
}

func said(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(`{"text":"word %d"}`, i))
	}
	return texts
}

// Every topic but the empty one is kept under its name.
func TestOddTopics(t *testing.T) {
	s := newServer(t)
	r := mustImport(t, s, testkit.Shared(t, "reports", "odd_topics.mcap"), Options{Source: "x"})
	for _, topic := range r.Topics {
		got := snapshots(t, s, "GeneralPurpose", "std_msgs/msg/String", "x", cmpName(topic.Topic))
		if topic.Topic == "" {
			if topic.Refused != 2 || len(topic.Reasons) != 1 || !strings.Contains(topic.Reasons[0].Text, "a name is empty") {
				t.Errorf("the empty topic: %+v", topic)
			}
		} else if len(got) != 2 || topic.Refused > 0 {
			t.Errorf("%q: %d snapshots, %+v", topic.Topic, len(got), topic)
		}
	}
	if len(r.Topics) < 10 {
		t.Errorf("%d topics", len(r.Topics))
	}
}

func cmpName(topic string) string {
	if topic == "" {
		return "none"
	}
	return topic
}

// What compresses a chunk is named, if it is not known.
func TestUnknownCompression(t *testing.T) {
	r, err := Import(t.Context(), newServer(t), testkit.Shared(t, "reports", "compression_brotli.mcap"), Options{})
	if err != nil || len(r.Loss) != 1 || !strings.Contains(r.LossSummary(), `its compression "brotli" is not known`) || !r.Loss[0].HasSpan {
		t.Errorf("loss %+v, %v", r.Loss, err)
	}
}

// TestIntegersComeBack imports integers of 64 bits as JSON, exports them and imports the export.
func TestIntegersComeBack(t *testing.T) {
	s := newServer(t)
	rapid.Check(t, func(rt *rapid.T) {
		ints := rapid.SliceOfN(rapid.Int64(), 1, 5).Draw(rt, "int64")
		uints := rapid.SliceOfN(rapid.Uint64(), 1, 5).Draw(rt, "uint64")
		j, err := json.Marshal(map[string]any{"i": ints, "u": uints, "edges": []any{int64(-1 << 63), uint64(1<<64 - 1), 1<<53 + 1}})
		if err != nil {
			rt.Fatal(err)
		}
		outs, err := (&jsonConverter{}).convert(j)
		if err != nil {
			rt.Fatal(err)
		}
		text := shown(t, s, &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType, Bytes: outs[0].bytes})}})
		value, _ := idf.NewRegistry().Get(engram.ValueType)
		if back, err := value.FromJSON([]byte(text)); err != nil || !bytes.Equal(back, outs[0].bytes) {
			rt.Fatalf("%s is read as %x, %v, not as %x", text, back, err, outs[0].bytes)
		}
		for _, n := range ints {
			if !strings.Contains(text, fmt.Sprint(n)) {
				rt.Fatalf("%d is not in %s", n, text)
			}
		}
		for _, n := range uints {
			if !strings.Contains(text, fmt.Sprint(n)) {
				rt.Fatalf("%d is not in %s", n, text)
			}
		}
	})
	mustImport(t, s, testkit.Shared(t, "reports", "json_big_integers.mcap"), Options{Source: "x"})
	path := filepath.Join(t.TempDir(), "export.mcap")
	if _, err := Export(t.Context(), s, path, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	other := newServer(t)
	if _, err := ImportEpisode(t.Context(), other, path, Options{}); err != nil {
		t.Fatal(err)
	}
	for i, snap := range snapshots(t, other, "GeneralPurpose", "lab.Counters", "x", "/counters") {
		was := snapshots(t, s, "GeneralPurpose", "lab.Counters", "x", "/counters")[i]
		if !bytes.Equal(snap.Instances[0].Payload.Bytes, was.Instances[0].Payload.Bytes) {
			t.Errorf("came back as %s, was %s", shown(t, other, snap), shown(t, s, was))
		}
	}
}

// The words for numbers that JSON does not have stay texts in texts, and what is damaged stays damaged.
func TestJSONWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"NaN": NaN, "a": "-Infinity \" NaN", "b": [Infinity,-Infinity,-1]}`: `map[NaN:NaN a:-Infinity " NaN b:[+Inf -Inf -1]]`,
		"\ufeff{\"a\": 1}": "map[a:1]", "\ufeff[NaN]": "[NaN]", `[inf, -inf, nan, -nan, Inf, -Inf, infinity, null]`: "[+Inf -Inf NaN NaN +Inf -Inf +Inf <nil>]",
		`{"a": nul}`: "", `{"a": information}`: "", `"Inf: \"nan"`: `Inf: "nan`,
		`NaN`: "NaN", `[1e400, 18446744073709551617, 0.1]`: "[+Inf 18446744073709551617 0.1]",
		`{"a": NaNa}`: "", `{"a": Infinit}`: "", `{"a": --Infinity}`: "", `{"a": NaN`: "", `NaN NaN`: "",
		`{"a": 1}} and more`: "", `[1]]`: "", `[NaN]}`: "", "[1] \n": "[1]",
	} {
		outs, err := (&jsonConverter{}).convert([]byte(text))
		if err != nil {
			if want != "" || engram.CodeOf(err) != engram.Corrupt {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		v, err := idf.DecodeValue(outs[0].bytes)
		if err != nil || fmt.Sprint(v) != want {
			t.Errorf("%s is %v, %v, want %s", text, v, err, want)
		}
	}
}

// The summary of losses names each reason, and not only the first.
func TestLossReasons(t *testing.T) {
	r := Report{File: "x.mcap"}
	for _, name := range []string{"brotli", "xz", "brotli", "snappy", "lzma"} {
		r.Loss = append(r.Loss, recording.Loss{Messages: 1, Reason: name})
	}
	if got, want := r.LossSummary(), "x.mcap: 5 messages: brotli; xz; snappy; and 1 more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
