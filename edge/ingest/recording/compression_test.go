package recording

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/pierrec/lz4/v4"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// frames compress as recorders and people do.
var frames = map[string]func(t testing.TB, b []byte) []byte{
	"zstd": zstdFrame,
	"lz4": func(t testing.TB, b []byte) []byte {
		return written(t, b, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
	},
	"gzip": func(t testing.TB, b []byte) []byte {
		return written(t, b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	},
}

func written(t testing.TB, b []byte, to func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := to(&buf)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// word is a std_msgs/String as CDR.
func word(i int) []byte {
	return fmt.Appendf([]byte{0, 1, 0, 0, 8, 0, 0, 0}, "word %02d\x00", i)
}

// file is an MCAP file of five messages on the topic /talk, log times 0 to 4 s, each as frame
// makes it of the word.
func file(t testing.TB, o *mcap.WriterOptions, encoding string, frame func(b []byte) []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := mcap.NewWriter(&buf, o)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.WriteHeader(&mcap.Header{}))
	check(w.WriteAttachment(&mcap.Attachment{Name: "calibration", MediaType: "text/plain", DataSize: 1, Data: strings.NewReader("1")}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/msg/String", Encoding: "ros2msg", Data: []byte("string data")}))
	check(w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: "/talk", MessageEncoding: encoding}))
	for i := range 5 {
		check(w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: uint64(i) * 1e9, PublishTime: uint64(i) * 1e9, Data: frame(word(i))}))
	}
	check(w.Close())
	return buf.Bytes()
}

// words returns what the messages of a recording hold.
func words(t testing.TB, path string) (data []string, loss []Loss) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		m, err := r.Next()
		if err == io.EOF {
			return data, r.Loss()
		}
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, string(m.Data))
	}
}

func wantWords(t testing.TB, name, path string) {
	t.Helper()
	data, loss := words(t, path)
	var want []string
	for i := range 5 {
		want = append(want, string(word(i)))
	}
	if fmt.Sprint(data) != fmt.Sprint(want) || len(loss) > 0 {
		t.Errorf("%s: %q, loss %v", name, data, loss)
	}
}

// Messages that were compressed one by one are read in every container, by every compression that
// is read, and whatever the metadata say.
func TestMessagesCompressedSingly(t *testing.T) {
	for name, frame := range frames {
		compressed := func(b []byte) []byte { return frame(t, b) }
		wantWords(t, name, writeTemp(t, "x.mcap", file(t, &mcap.WriterOptions{Chunked: true}, "cdr", compressed)))
		for _, mode := range []string{"", "compression_mode: ''", "compression_mode: MESSAGE\ncompression_format: " + name, "compression_mode: NONE"} {
			for _, said := range []func([]byte) []byte{compressed, func(b []byte) []byte { return b }} {
				wantWords(t, name+" "+mode, database(t, "cdr", mode, said))
			}
		}
		// Of other encodings only metadata can say it: a message may begin with these bytes.
		wantWords(t, name+", another encoding", database(t, "words", "compression_mode: MESSAGE\ncompression_format: "+name, compressed))
		if data, loss := words(t, database(t, "words", "", compressed)); len(data) != 5 || data[0] != string(compressed(word(0))) || len(loss) > 0 {
			t.Errorf("%s: of an unknown encoding came %q, %v", name, data, loss)
		}
	}
	broken := file(t, &mcap.WriterOptions{}, "cdr", func(b []byte) []byte {
		b = zstdFrame(t, b)
		b[len(b)-1] ^= 1 // the checksum
		return b
	})
	data, loss := words(t, writeTemp(t, "x.mcap", broken))
	if len(data) != 5 || !strings.HasPrefix(data[0], "\x28\xb5\x2f\xfd") || len(loss) > 0 {
		t.Errorf("damaged messages: %q, %v", data, loss)
	}
}

// A message that cannot be decompressed comes as it is, with the reason: one that is damaged, one that is larger
// than a message may be, and one that only begins as a compression does.
func TestMessagesThatStayCompressed(t *testing.T) {
	large := bytes.Repeat([]byte{0}, 1001)
	for name, frame := range frames {
		whole := frame(t, large)
		for what, b := range map[string][]byte{"larger than 1000": whole, "cut": whole[:len(whole)-1], "the head alone": whole[:12]} {
			r, err := Open(writeTemp(t, "x.mcap", file(t, &mcap.WriterOptions{}, "cdr", func([]byte) []byte { return b })))
			if err != nil {
				t.Fatal(err)
			}
			r.(*singly).most = 1000
			m, err := r.Next()
			if err != nil || string(m.Data) != string(b) || engram.CodeOf(m.Damage) != engram.Corrupt || !strings.Contains(m.Damage.Error(), "compressed by "+name) ||
				what == "larger than 1000" && !strings.Contains(m.Damage.Error(), "more than 1000 bytes") {
				t.Errorf("%s, %s: %q, %v, %v", name, what, m.Data, m.Damage, err)
			}
			r.Close()
		}
	}
	for _, text := range []string{"BZh", "BZhello", "BZh9 and more of it", "\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		r, err := Open(writeTemp(t, "x.mcap", file(t, &mcap.WriterOptions{}, "json", func([]byte) []byte { return []byte(text) })))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := r.Next(); err != nil || string(m.Data) != text || m.Damage != nil {
			t.Errorf("%q: %q, %v, %v", text, m.Data, m.Damage, err)
		}
		r.Close()
	}
}

// database is a rosbag2 database of the words, with or without metadata.
func database(t testing.TB, encoding, metadata string, frame func(b []byte) []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x_0.db3")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)")
	exec("CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)")
	exec("INSERT INTO topics VALUES (1, '/talk', 'std_msgs/msg/String', ?, '')", encoding)
	if metadata != "" {
		exec("CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT NOT NULL)")
		exec("INSERT INTO metadata VALUES (1, 7, ?)", "message_count: 5\n"+metadata)
	}
	for i := range 5 {
		exec("INSERT INTO messages VALUES (?, 1, ?, ?)", i+1, int64(i-1)*1e9, frame(word(i))) // the first is before 1970
	}
	return path
}

// Files that are compressed as a whole are recordings under any name, alone, in a folder, and as
// parts that the metadata know by the name they had before.
func TestFilesCompressed(t *testing.T) {
	raw, err := os.ReadFile(testkit.Recording(t, "rosbag2/cdr_test_0.db3"))
	if err != nil {
		t.Fatal(err)
	}
	for name, frame := range frames {
		dir := t.TempDir()
		write := func(file string, b []byte) string {
			t.Helper()
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		path := write("x.db3."+map[string]string{"zstd": "zstd", "lz4": "lz4", "gzip": "gz"}[name], frame(t, raw))
		if g := readAll(t, path); g.messages != 7 || len(g.loss) > 0 {
			t.Errorf("%s: %d messages, loss %v", name, g.messages, g.loss)
		}
		write("notes."+name, frame(t, []byte("no recording")))
		if list, err := List(dir); err != nil || len(list) != 1 || list[0] != path {
			t.Errorf("%s: List = %v, %v", name, list, err)
		}
		write("y.mcap", file(t, &mcap.WriterOptions{}, "cdr", func(b []byte) []byte { return b }))
		twice := write("y.mcap.gz", frame(t, file(t, &mcap.WriterOptions{}, "cdr", func(b []byte) []byte { return b })))
		if list, err := List(dir); err != nil || len(list) != 2 || filepath.Base(list[1]) != "y.mcap" {
			t.Errorf("%s, with what it was packed of: List = %v, %v", name, list, err)
		}
		if err := os.Remove(twice); err != nil {
			t.Fatal(err)
		}
		write(metadataFile, []byte("rosbag2_bagfile_information:\n  relative_file_paths: [x.db3]\n  message_count: 7\n  starting_time: {nanoseconds_since_epoch: 0}\n  duration: {nanoseconds: 5}\n"))
		if g := readAll(t, dir); g.messages != 7 || len(g.loss) > 0 {
			t.Errorf("%s, by the metadata: %d messages, loss %v", name, g.messages, g.loss)
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := (engram.Interval{Start: 0, End: 6}); r.Span() != want {
			t.Errorf("a recording from 0 on spans %v, want %v", r.Span(), want)
		}
		r.Close()
	}
	if g := readAll(t, writeTemp(t, "example.bag.gz", frames["gzip"](t, readFile(t, "bag_edge_cases/example-bz2.bag")))); g.messages != 8647 || len(g.loss) > 0 {
		t.Errorf("a bag: %d messages, loss %v", g.messages, g.loss)
	}
}

// named is an MCAP file of one chunk, whose compression has that name.
func named(t testing.TB, name string, compress func(b []byte) []byte, crc bool) []byte {
	t.Helper()
	whole := file(t, &mcap.WriterOptions{Chunked: true, ChunkSize: 1 << 20, IncludeCRC: true}, "cdr", func(b []byte) []byte { return b })
	at := bytes.IndexByte(whole, byte(mcap.OpChunk))
	for ; !bytes.HasPrefix(whole[at:], []byte{byte(mcap.OpChunk)}) || binary.LittleEndian.Uint64(whole[at+1:]) > uint64(len(whole)-at); at++ {
	}
	n := int(binary.LittleEndian.Uint64(whole[at+1:]))
	c, err := mcap.ParseChunk(whole[at+recordHead : at+recordHead+n])
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.ChecksumIEEE(c.Records)
	if !crc {
		sum = 0
	}
	records := compress(c.Records)
	var b []byte
	b = binary.LittleEndian.AppendUint64(b, c.MessageStartTime)
	b = binary.LittleEndian.AppendUint64(b, c.MessageEndTime)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(c.Records)))
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(records)))
	b = append(b, records...)
	out := append(bytes.Clone(whole[:at+1]), binary.LittleEndian.AppendUint64(nil, uint64(len(b)))...)
	return append(append(out, b...), whole[at+recordHead+n:]...)
}

// A chunk is read by its content where its compression's name is not known. Where that tells
// nothing, the loss names the compression and says what is known of the chunk.
func TestNamesOfCompressions(t *testing.T) {
	asIs := func(b []byte) []byte { return b }
	for _, tt := range []struct {
		name     string
		compress func(b []byte) []byte
		crc      bool
	}{
		{"none", asIs, true}, {"none", asIs, false}, {"None", asIs, false}, {"uncompressed", asIs, true}, {"", asIs, true},
		{"ZSTD", func(b []byte) []byte { return zstdFrame(t, b) }, false},
		{"zstd (level 19)", func(b []byte) []byte { return zstdFrame(t, b) }, true},
		{"gzip", func(b []byte) []byte { return frames["gzip"](t, b) }, true},
		{"LZ4", func(b []byte) []byte { return frames["lz4"](t, b) }, true},
	} {
		wantWords(t, fmt.Sprintf("%q, checksum %v", tt.name, tt.crc), writeTemp(t, "x.mcap", named(t, tt.name, tt.compress, tt.crc)))
	}
	other := func(b []byte) []byte { return bytes.Repeat([]byte{0x5d, 0x1b}, len(b)/4) }
	for _, name := range []string{"brotli", "snappy", "xz", "org.example.compression.of.our.own/2.1", "mit Wörterbuch", strings.Repeat("x", 100)} {
		path := writeTemp(t, "x.mcap", named(t, name, other, true))
		data, loss := words(t, path)
		if len(data) > 0 || len(loss) != 1 || loss[0].Messages != 5 || strings.Join(loss[0].Topics, " ") != "/talk" || !loss[0].HasSpan ||
			loss[0].Span != (engram.Interval{Start: 0, End: 4e9 + 1}) || !strings.Contains(loss[0].Reason, fmt.Sprintf("its compression %q is not known", name)) {
			t.Errorf("%s: %q, loss %v", name, data, loss)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if a := Asides(r); len(a) != 1 || a[0].Name != "calibration" {
			t.Errorf("%s: the attachment is not there: %v", name, a)
		}
		r.Close()
	}
	for _, kind := range []string{"bz2", "lz4"} {
		bag := bytes.ReplaceAll(readFile(t, "bag_edge_cases/example-"+kind+".bag"), []byte("compression="+kind), []byte("compression=xyz"))
		if g := readAll(t, writeTemp(t, "x.bag", bag)); g.messages != 8647 || len(g.loss) > 0 {
			t.Errorf("a bag of %s by another name: %d messages, loss %v", kind, g.messages, g.loss)
		}
		for at := 0; ; { // and by another content
			i := bytes.Index(bag[at:], []byte(map[string]string{"bz2": "BZh9", "lz4": "\x04\x22\x4d\x18"}[kind]))
			if i < 0 {
				break
			}
			at += i
			bag[at] = 0xff
		}
		g := readAll(t, writeTemp(t, "x.bag", bag))
		if g.messages > 0 || len(g.loss) == 0 || !strings.Contains(g.loss[0].Reason, `its compression "xyz" is not known`) || g.loss[0].Messages == 0 || len(g.loss[0].Topics) == 0 || !g.loss[0].HasSpan {
			t.Errorf("a bag of an unknown compression: %d messages, loss %v", g.messages, g.loss)
		}
	}
	if data, loss := words(t, writeTemp(t, "x.mcap", named(t, "bad\x00name", other, true))); len(data) > 0 || len(loss) == 0 || !strings.Contains(loss[0].Reason, "damaged") {
		t.Errorf("a damaged name: %q, loss %v", data, loss)
	}
}

// Times are what a file says, 0 and numbers that are none among them.
func TestOddLogTimes(t *testing.T) {
	for _, chunked := range []bool{true, false} {
		var buf bytes.Buffer
		w, err := mcap.NewWriter(&buf, &mcap.WriterOptions{Chunked: chunked})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			w.WriteHeader(&mcap.Header{}),
			w.WriteChannel(&mcap.Channel{ID: 1, Topic: "/a", MessageEncoding: "json"}),
			w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 0, PublishTime: 7, Data: []byte("1")}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		only := bytes.Clone(buf.Bytes())
		if chunked {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			only = buf.Bytes()
		}
		r, err := Open(writeTemp(t, "x.mcap", only))
		if err != nil {
			t.Fatal(err)
		}
		if want := (engram.Interval{Start: 0, End: 1}); r.Span() != want {
			t.Errorf("chunks %v: one message at 0 spans %v, want %v", chunked, r.Span(), want)
		}
		m, err := r.Next()
		if err != nil || m.LogTime != 0 || m.PublishTime != 7 {
			t.Errorf("chunks %v: %v, %v", chunked, m, err)
		}
		r.Close()

		buf.Reset()
		if w, err = mcap.NewWriter(&buf, &mcap.WriterOptions{Chunked: chunked}); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			w.WriteHeader(&mcap.Header{}),
			w.WriteChannel(&mcap.Channel{ID: 1, Topic: "/a", MessageEncoding: "json"}),
			w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 1<<64 - 1, PublishTime: 7, Data: []byte("1")}),
			w.WriteMessage(&mcap.Message{ChannelID: 1, LogTime: 9, PublishTime: 0, Data: []byte("2")}),
			w.Close(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		g := readAll(t, writeTemp(t, "x.mcap", buf.Bytes()))
		if g.messages != 2 || len(g.loss) > 0 {
			t.Errorf("chunks %v: with a log time that is none %d messages, loss %v", chunked, g.messages, g.loss)
		}
		if r, err = Open(writeTemp(t, "x.mcap", buf.Bytes())); err != nil {
			t.Fatal(err)
		}
		if span := r.Span(); span.End > span.Start && span.Start != 9 {
			t.Errorf("chunks %v: a chunk whose times are none spans %v", chunked, span)
		}
		r.Close()
	}
}
