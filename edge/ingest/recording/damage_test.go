package recording

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func zstdFrame(t testing.TB, b []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

func writeTemp(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(testkit.Recording(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCut cuts recordings at several places and expects what lies before the cut,
// and a loss that says so.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		whole int
	}{
		{"g1_bottle_10.mcap", 871}, {"rosbag2/wbag_mcap/wbag_0.mcap", 1246}, {"guardian_palette.bag", 18899}, {"tilt_laser.bag", 4093}, {"bag_edge_cases/example-lz4.bag", 8647},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := readFile(t, tt.name)
			before := 0
			for _, percent := range []int{40, 70, 90} {
				cut := len(b) * percent / 100
				g := readAll(t, writeTemp(t, "cut", b[:cut]))
				if len(g.loss) == 0 || g.messages > tt.whole || g.messages < before || g.unsorted > 0 {
					t.Errorf("cut at %d %%: %d messages of %d, %d out of order, loss %v", percent, g.messages, tt.whole, g.unsorted, g.loss)
				}
				if percent == 90 && g.messages < tt.whole/2 {
					t.Errorf("cut at 90 %%: only %d messages of %d; loss %v", g.messages, tt.whole, g.loss)
				}
				before = g.messages
			}
		})
	}
}

// TestCutAnywhere cuts a small file at every place: no cut may crash, hang, bring
// more than there was, or pass as whole.
func TestCutAnywhere(t *testing.T) {
	b := smallMCAP(t, mcap.CompressionZSTD)
	whole := readAll(t, writeTemp(t, "whole.mcap", b))
	if len(whole.loss) > 0 || whole.messages != 200 {
		t.Fatalf("the whole: %d messages, loss %v", whole.messages, whole.loss)
	}
	dir := t.TempDir()
	before := 0
	for cut := 60; cut < len(b); cut += 17 {
		path := filepath.Join(dir, "cut.mcap")
		if err := os.WriteFile(path, b[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		g := readAll(t, path)
		if len(g.loss) == 0 || g.messages < before || g.messages > 200 {
			t.Fatalf("cut at %d of %d: %d messages after %d, loss %v", cut, len(b), g.messages, before, g.loss)
		}
		before = g.messages
	}
	if before != 200 {
		t.Errorf("the last cut, in the footer, left %d messages of 200", before)
	}
}

// smallMCAP has 200 messages in several chunks.
func smallMCAP(t testing.TB, c mcap.CompressionFormat) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: c != "loose", ChunkSize: 500, Compression: c, IncludeCRC: true})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.WriteHeader(&mcap.Header{}))
	check(w.WriteSchema(&mcap.Schema{ID: 1, Name: "std_msgs/String", Encoding: "ros1msg", Data: []byte("string data")}))
	check(w.WriteChannel(&mcap.Channel{ID: 0, SchemaID: 1, Topic: "/a", MessageEncoding: "ros1"}))
	check(w.WriteChannel(&mcap.Channel{ID: 1, Topic: "/json", MessageEncoding: "json"}))
	for i := range 200 {
		check(w.WriteMessage(&mcap.Message{ChannelID: uint16(i % 2), LogTime: uint64(1000 + i), Data: []byte(`{"some":"data"}`)}))
	}
	check(w.Close())
	return b.Bytes()
}

func TestMCAPForms(t *testing.T) {
	for _, c := range []mcap.CompressionFormat{mcap.CompressionNone, mcap.CompressionLZ4, mcap.CompressionZSTD, "loose"} {
		g := readAll(t, writeTemp(t, "form.mcap", smallMCAP(t, c)))
		if g.messages != 200 || g.topics["/json"] != 100 || len(g.loss) > 0 {
			t.Errorf("%q: %d messages, %v, loss %v", c, g.messages, g.topics, g.loss)
		}
	}
}

// TestDamagedChunk flips a bit in one chunk: that chunk is lost, with its topics
// and its span, and nothing else is.
func TestDamagedChunk(t *testing.T) {
	b := smallMCAP(t, mcap.CompressionZSTD)
	r, err := openFile(writeTemp(t, "x.mcap", b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := r.(*chunkReader).chunks[2]
	bad := bytes.Clone(b)
	bad[c.offset+c.size/2] ^= 0x10
	g := readAll(t, writeTemp(t, "bad.mcap", bad))
	if len(g.loss) != 1 {
		t.Fatalf("loss %v", g.loss)
	}
	l := g.loss[0]
	if l.Messages == 0 || g.messages+int(l.Messages) != 200 || !l.HasSpan || l.Span.Start < c.start || l.Span.End != c.end.Add(1) || len(l.Topics) != 2 || l.Bytes == 0 {
		t.Errorf("%d messages, loss %v", g.messages, l)
	}

	// The length of a chunk's record: the chunk itself tells it once more.
	bad = bytes.Clone(b)
	bad[c.offset-8-4-32-8+1] ^= 0x7F // a byte of the record's length
	g = readAll(t, writeTemp(t, "bad.mcap", bad))
	if g.messages != 200 || len(g.loss) != 1 {
		t.Errorf("damaged length: %d messages, loss %v", g.messages, g.loss)
	}
}

func TestDamagedBagChunk(t *testing.T) {
	b := readFile(t, "guardian_palette.bag")
	r, err := openFile(testkit.Recording(t, "guardian_palette.bag"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := r.(*chunkReader).chunks[3]
	bad := bytes.Clone(b)
	bad[c.offset+5] ^= 0x55
	g := readAll(t, writeTemp(t, "bad.bag", bad))
	if len(g.loss) != 1 || g.messages+int(g.loss[0].Messages) != 18899 || !g.loss[0].HasSpan || len(g.loss[0].Topics) < 5 {
		t.Errorf("%d messages, loss %v", g.messages, g.loss)
	}
	// The record's head: the next record is found.
	bad = bytes.Clone(b)
	copy(bad[c.offset-20:], bytes.Repeat([]byte{0xFF}, 20))
	g = readAll(t, writeTemp(t, "head.bag", bad))
	if g.messages < 18899*7/10 || g.messages >= 18899 || len(g.loss) == 0 {
		t.Errorf("damaged head: %d messages, loss %v", g.messages, g.loss)
	}
}

func TestDamagedDatabase(t *testing.T) {
	b := readFile(t, "rosbag2/wbag_sqlite3/wbag_0.db3")
	for _, at := range []int{40000, 60000, 85000} {
		bad := bytes.Clone(b)
		copy(bad[at/4096*4096:], make([]byte, 4096))
		g := readAll(t, writeTemp(t, "bad.db3", bad))
		if g.messages > 1246 || g.messages < 200 || g.messages < 1246 && len(g.loss) == 0 {
			t.Errorf("page at %d: %d messages, loss %v", at, g.messages, g.loss)
		}
	}
	for _, percent := range []int{50, 80} {
		path := writeTemp(t, "cut.db3", b[:len(b)*percent/100])
		r, err := Open(path)
		if err != nil {
			continue // what the database needs to be opened at all may be cut off
		}
		g := drain(t, r)
		r.Close()
		if len(g.loss) == 0 {
			t.Errorf("cut at %d %%: %d messages and no loss", percent, g.messages)
		}
	}
}

// TestFlippedBits flips bits all over and expects no crash, no hang, and never
// more messages than there were without saying what is wrong.
func TestFlippedBits(t *testing.T) {
	files := map[string][]byte{"zstd": smallMCAP(t, mcap.CompressionZSTD), "none": smallMCAP(t, mcap.CompressionNone), "lz4": smallMCAP(t, mcap.CompressionLZ4), "loose": smallMCAP(t, "loose")}
	flips := 60
	if testkit.Raced {
		flips = 5
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	flip := func(t *testing.T, name string, b []byte) {
		for range flips {
			bad := bytes.Clone(b)
			for range 1 + rnd.IntN(3) {
				bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
			}
			readDamaged(t, filepath.Join(dir, name), bad)
		}
	}
	for name, b := range files {
		flip(t, name, b)
	}
	t.Run("bag", func(t *testing.T) { flip(t, "bag", readFile(t, "bag_edge_cases/example-unsorted-chunks.bag")) })
}

func readDamaged(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		return
	}
	defer r.Close()
	for n := 0; ; n++ {
		m, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Channel == nil {
			t.Fatal("a message without a channel")
		}
		if n > 100*len(b)+1000 {
			t.Fatal("the messages do not end")
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(smallMCAP(f, mcap.CompressionZSTD))
	f.Add(smallMCAP(f, mcap.CompressionNone))
	f.Add(smallMCAP(f, "loose"))
	f.Add(smallBag())
	f.Add([]byte("#ROSBAG V2.0\n"))
	f.Add(smallDB(f, false))
	for _, frame := range frames {
		f.Add(frame(f, smallMCAP(f, mcap.CompressionNone)))
		f.Add(file(f, &mcap.WriterOptions{}, "cdr", func(b []byte) []byte { return frame(f, b) }))
	}
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 1<<20 {
			readDamaged(t, path, b)
		}
	})
}

// smallBag is a bag with one uncompressed chunk of two messages and no index.
func smallBag() []byte {
	field := func(kv string) []byte {
		return append([]byte{byte(len(kv)), 0, 0, 0}, kv...)
	}
	record := func(data []byte, fields ...string) []byte {
		var h []byte
		for _, kv := range fields {
			h = append(h, field(kv)...)
		}
		b := append([]byte{byte(len(h)), byte(len(h) >> 8), 0, 0}, h...)
		return append(append(b, byte(len(data)), byte(len(data)>>8), 0, 0), data...)
	}
	conn := record(bytes.Join([][]byte{field("type=std_msgs/String"), field("message_definition=string data\n")}, nil),
		"op=\x07", "conn=\x00\x00\x00\x00", "topic=/chatter")
	message := func(sec byte, text string) []byte {
		return record(append([]byte{byte(len(text)), 0, 0, 0}, text...), "op=\x02", "conn=\x00\x00\x00\x00", "time="+string([]byte{sec, 0, 0, 0, 0, 0, 0, 0}))
	}
	content := bytes.Join([][]byte{conn, message(5, "hello"), message(4, "world")}, nil)
	head := record(bytes.Repeat([]byte(" "), 50), "op=\x03", "index_pos="+string(make([]byte, 8)), "conn_count=\x01\x00\x00\x00", "chunk_count=\x01\x00\x00\x00")
	chunk := record(content, "op=\x05", "compression=none", "size="+string([]byte{byte(len(content)), byte(len(content) >> 8), 0, 0}))
	return bytes.Join([][]byte{bagMagic, head, chunk}, nil)
}

// TestUnindexedBag reads a bag that was never closed: no index, and messages out
// of order in the chunk.
func TestUnindexedBag(t *testing.T) {
	g := readAll(t, writeTemp(t, "active.bag", smallBag()))
	if g.messages != 2 || g.unsorted > 0 || len(g.loss) != 1 {
		t.Errorf("%d messages, %d out of order, loss %v", g.messages, g.unsorted, g.loss)
	}
}
