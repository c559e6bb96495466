package ingest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// readAll returns a recording's messages, with data of their own, in the order of log times.
func readAll(t testing.TB, path string) []recording.Message {
	t.Helper()
	rec, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	var all []recording.Message
	for {
		m, err := rec.Next()
		if err == io.EOF {
			slices.SortStableFunc(all, func(a, b recording.Message) int { return cmp.Compare(a.LogTime, b.LogTime) })
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Data = bytes.Clone(m.Data)
		all = append(all, m)
	}
}

// sameMessages reports the first difference of two recordings of one generation.
func sameMessages(t *testing.T, got, want []recording.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages are exported of %d", len(got), len(want))
	}
	for i := range want {
		g, w := &got[i], &want[i]
		if g.Channel.Topic != w.Channel.Topic || g.Channel.Type != w.Channel.Type || g.Channel.Encoding != w.Channel.Encoding ||
			g.LogTime != w.LogTime || !bytes.Equal(g.Data, w.Data) {
			t.Fatalf("message %d is\n%s %s %v %x, recorded is\n%s %s %v %x", i, g.Channel.Topic, g.Channel.Type, g.LogTime, g.Data,
				w.Channel.Topic, w.Channel.Type, w.LogTime, w.Data)
		}
		if len(w.Channel.Schema) > 0 && (g.Channel.SchemaEncoding != w.Channel.SchemaEncoding || !bytes.Equal(g.Channel.Schema, w.Channel.Schema)) {
			t.Fatalf("%s has another definition:\n%s\nrecorded is\n%s", g.Channel.Topic, g.Channel.Schema, w.Channel.Schema)
		}
		for key, v := range w.Channel.Metadata {
			if g.Channel.Metadata[key] != v {
				t.Fatalf("%s: %s is %q, recorded is %q", g.Channel.Topic, key, g.Channel.Metadata[key], v)
			}
		}
		if w.Channel.Encoding == "cdr" && (g.Sequence != w.Sequence || g.PublishTime != w.PublishTime) {
			t.Fatalf("message %d of %s has sequence %d, published %v; recorded %d, %v", i, g.Channel.Topic, g.Sequence, g.PublishTime, w.Sequence, w.PublishTime)
		}
	}
}

// eachRecording calls f with every shared recording that has messages.
func eachRecording(t *testing.T, f func(t *testing.T, path string, messages []recording.Message)) {
	root := filepath.Join("..", "..", "shared", "data", "recordings")
	var names []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return nil
	})
	if len(names) == 0 {
		t.Skip("the shared recordings are not here")
	}
	for _, path := range names {
		rec, err := recording.Open(path)
		if err != nil {
			continue // no recording
		}
		rec.Close()
		t.Run(filepath.Base(path), func(t *testing.T) {
			if messages := readAll(t, path); len(messages) > 0 {
				f(t, path, messages)
			}
		})
	}
}

func exportROS(t testing.TB, src Source, v rosmsg.Version, o ExportOptions) (string, *ROSReport) {
	t.Helper()
	name := "out.mcap"
	if v == rosmsg.ROS1 {
		name = "out.bag"
	}
	path := filepath.Join(t.TempDir(), name)
	r, err := ExportROS(t.Context(), src, path, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return path, r
}

// An imported recording that is exported again is the same: messages with their bytes, log
// times and order, channels with their definitions and metadata. Exported for the other
// generation of ROS and back, the messages are the same but for what that does not have.
func TestARecordingIsExportedAsItWas(t *testing.T) {
	eachRecording(t, func(t *testing.T, path string, want []recording.Message) {
		s := newServer(t)
		mustImport(t, s, path, Options{Source: "x"})
		version, other := rosmsg.ROS2, rosmsg.ROS1
		if want[0].Channel.Encoding == "ros1" {
			version, other = other, version
		}
		out, r := exportROS(t, s, version, ExportOptions{})
		sameMessages(t, readAll(t, out), want)
		for _, topic := range r.Topics {
			if topic.Recorded != topic.Messages || topic.Changed+topic.Gone+topic.LeftOut > 0 {
				t.Errorf("%+v", topic)
			}
		}

		path2 := filepath.Join(t.TempDir(), "other.mcap")
		if other == rosmsg.ROS1 {
			path2 = filepath.Join(t.TempDir(), "other.bag")
		}
		r, err := ExportROS(t.Context(), s, path2, other, ExportOptions{})
		if engram.CodeOf(err) == engram.NotFound {
			for _, m := range want {
				if len(m.Channel.Schema) > 0 {
					t.Fatalf("nothing of %s is exported", m.Channel.Topic)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		// ROS 1 has no arrays of messages without fields; that is told.
		told := false
		for _, topic := range r.Topics {
			if topic.LeftOut > 0 && strings.Contains(strings.Join(topic.Notes, ""), "is an array of messages without fields") {
				told = true
				want = slices.DeleteFunc(want, func(m recording.Message) bool { return m.Channel.Topic == topic.Topic })
			}
		}
		if told != strings.Contains(path, "_test_0") {
			t.Fatalf("%+v", r.Topics)
		}
		converted := readAll(t, path2)
		if len(converted) != len(want) {
			t.Fatalf("%d messages of %d are rewritten: %+v", len(converted), len(want), r.Topics)
		}
		for i := range converted {
			sameContent(t, &converted[i], &want[i])
		}
	})
}

// sameContent checks that a message that was rewritten reads as the recorded one does.
func sameContent(t *testing.T, got, want *recording.Message) {
	t.Helper()
	if got.LogTime != want.LogTime || got.Channel.Topic != want.Channel.Topic {
		t.Fatalf("%s at %v in the place of %s at %v", got.Channel.Topic, got.LogTime, want.Channel.Topic, want.LogTime)
	}
	if g, w := readPlainly(t, got), readPlainly(t, want); g != w {
		t.Fatalf("%s is rewritten as\n%s\nrecorded was\n%s\nby\n%s", got.Channel.Topic, g, w, got.Channel.Schema)
	}
}

// readPlainly reads a message field by field, with nothing of what exports use but the parser
// of definitions. Names are in lower case and bytes have no sign, since the generations differ
// in both; a header's number is left out, which only ROS 1 has.
func readPlainly(t *testing.T, m *recording.Message) string {
	t.Helper()
	src, err := sourceOf(m.Channel)
	if err != nil {
		t.Fatal(err)
	}
	d := src.(*rosSource).definition
	r := &plainReader{d: d, b: m.Data, cdr: m.Channel.Encoding == "cdr", order: binary.LittleEndian}
	if r.cdr {
		if r.at = 4; m.Data[1] == 0 {
			r.order = binary.BigEndian
		}
	}
	r.message(d.Root, "")
	return r.out.String()
}

type plainReader struct {
	d     *rosmsg.Definition
	b     []byte
	at    int
	cdr   bool
	order binary.ByteOrder
	out   strings.Builder
}

func (r *plainReader) number(size int) uint64 {
	if r.cdr {
		for (r.at-4)%size != 0 {
			r.at++
		}
	}
	b := r.b[r.at : r.at+size]
	r.at += size
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.order.Uint16(b))
	case 4:
		return uint64(r.order.Uint32(b))
	}
	return r.order.Uint64(b)
}

func (r *plainReader) message(m *rosmsg.Message, path string) {
	for i := range m.Fields {
		f := &m.Fields[i]
		name := path + "." + strings.ToLower(f.Name)
		n := 1
		switch f.Type.Array {
		case rosmsg.Fixed:
			n = f.Type.Len
		case rosmsg.Bounded, rosmsg.Unbounded:
			n = int(r.number(4))
		}
		for j := range n {
			r.value(&f.Type, fmt.Sprintf("%s[%d]", name, j))
		}
	}
	if len(m.Fields) == 0 && r.cdr {
		r.at++
	}
}

func (r *plainReader) value(t *rosmsg.Type, path string) {
	var v any
	switch t.Kind {
	case rosmsg.Struct:
		r.message(r.d.Messages[t.Message], path)
		return
	case rosmsg.String:
		n := int(r.number(4))
		s := r.b[r.at : r.at+n]
		r.at += n
		if r.cdr && n > 0 {
			s = s[:n-1]
		}
		v = string(s)
	case rosmsg.WString:
		n := int(r.number(4))
		runes := make([]rune, n)
		for i := range runes {
			runes[i] = rune(r.number(4))
		}
		v = string(runes)
	case rosmsg.Time, rosmsg.Duration:
		v = [2]uint64{r.number(4), r.number(4)}
	case rosmsg.Bool, rosmsg.Int8, rosmsg.Uint8:
		v = r.number(1)
	case rosmsg.Int16, rosmsg.Uint16:
		v = r.number(2)
	case rosmsg.Int32, rosmsg.Uint32, rosmsg.Float32:
		v = r.number(4)
	default:
		v = r.number(8)
	}
	if !strings.HasSuffix(path, ".header[0].seq[0]") {
		fmt.Fprintf(&r.out, "%s=%v\n", path, v)
	}
}

// A part of a recording begins with what was in force, such as static transforms, and goes on
// as it was recorded.
func TestAPartOfARecordingBeginsWithWhatWasInForce(t *testing.T) {
	s := newServer(t)
	path := testkit.Shared(t, "recordings", "bag_edge_cases", "example.bag")
	mustImport(t, s, path, Options{Source: "x"})
	all := readAll(t, path)
	from := all[len(all)/2].LogTime
	out, _ := exportROS(t, s, rosmsg.ROS1, ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("RobotState")}, Span: engram.Interval{Start: from, End: engram.MaxTime}})
	static, moving := 0, 0
	for _, m := range readAll(t, out) {
		if m.LogTime < from-engram.Time(time.Second) {
			t.Errorf("%s is at %v", m.Channel.Topic, m.LogTime)
		}
		switch m.Channel.Topic {
		case "/tf_static":
			static++
		case "/tf":
			moving++
		}
	}
	want := 0
	for _, m := range all {
		if m.Channel.Topic == "/tf" && m.LogTime >= from {
			want++
		}
	}
	if static != 1 || moving < want-100 || moving > want+100 {
		t.Errorf("%d static and %d other transforms, want 1 and about %d", static, moving, want)
	}
}

// Messages lie in the file in the order of their log times: what was recorded, what was not,
// and what was in force.
func TestExportsForROSAreInOrder(t *testing.T) {
	s := ownServer(t)
	path := testkit.Shared(t, "recordings", "guardian_palette.bag")
	mustImport(t, s, path, Options{Source: "x"})
	middle := readAll(t, path)[9000].LogTime
	put(t, s, "Speech/Text/me/user", middle+1, "engram.speech.Text", `{"text": "in between"}`)
	for _, span := range []engram.Interval{{}, {Start: middle, End: engram.MaxTime}} {
		out, _ := exportROS(t, s, rosmsg.ROS2, ExportOptions{Span: span})
		last, n := uint64(0), 0
		testkit.MessagesAsTheyLie(t, out, func(m *mcap.Message) {
			if n++; m.LogTime < last {
				t.Fatalf("message %d is at %d, the one before at %d", n, m.LogTime, last)
			}
			last = m.LogTime
		})
		if n < 5000 {
			t.Errorf("%d messages", n)
		}
	}
}
