package recording

import (
	"bytes"
	"database/sql"
	"fmt"
	"github.com/seed-301d4374/engram/internal/testkit"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// smallDB is a rosbag2 database of 60 messages on two topics, the last of which is
// not listed. Messages may be compressed one by one.
func smallDB(t testing.TB, compressed bool) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.db3")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(q string, args ...any) {
		t.Helper()
		if _, err := db.Exec(q, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("PRAGMA page_size=512")
	exec("PRAGMA journal_mode=OFF")
	exec("PRAGMA synchronous=OFF")
	exec("CREATE TABLE topics(id INTEGER PRIMARY KEY,name TEXT NOT NULL,type TEXT NOT NULL,serialization_format TEXT NOT NULL,offered_qos_profiles TEXT NOT NULL)")
	exec("CREATE TABLE messages(id INTEGER PRIMARY KEY,topic_id INTEGER NOT NULL,timestamp INTEGER NOT NULL, data BLOB NOT NULL)")
	exec("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
	exec("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String', 'cdr', ''), (2, '/b', 'std_msgs/msg/String', 'cdr', '')")
	if compressed {
		exec("CREATE TABLE metadata(id INTEGER PRIMARY KEY,metadata_version INTEGER NOT NULL,metadata TEXT NOT NULL)")
		exec("INSERT INTO metadata VALUES (1, 7, ?)", "message_count: 60\ncompression_format: zstd\ncompression_mode: MESSAGE\n")
	}
	for i := range 60 {
		data := append([]byte{0, 1, 0, 0, 40, 0, 0, 0}, fmt.Sprintf("%039d\x00", i)...)
		if compressed {
			data = zstdFrame(t, data)
		}
		exec("INSERT INTO messages VALUES (?, ?, ?, ?)", i+1, 1+i%2, 1000+i*7%60, data)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDatabase(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		r, err := Open(writeTemp(t, "small.db3", smallDB(t, compressed)))
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Next()
		if err != nil || m.LogTime != 1000 || !bytes.HasSuffix(m.Data, []byte("000\x00")) || len(m.Data) != 48 {
			t.Errorf("compressed %v: first message %v, %v", compressed, m, err)
		}
		g := drain(t, r)
		r.Close()
		if g.messages != 59 || g.unsorted > 0 || len(g.loss) > 0 {
			t.Errorf("compressed %v: %d more messages, %d out of order, loss %v", compressed, g.messages, g.unsorted, g.loss)
		}
	}
}

// TestDatabasePages wipes one page after the other: what is on the others is read,
// and what is missing is told.
func TestDatabasePages(t *testing.T) {
	whole := smallDB(t, false)
	best := 0
	for page := 1; page < len(whole)/512; page++ {
		bad := bytes.Clone(whole)
		copy(bad[page*512:], make([]byte, 512))
		r, err := Open(writeTemp(t, "bad.db3", bad))
		if err != nil {
			continue // the page held what is needed to understand the rest
		}
		g := drain(t, r)
		r.Close()
		if g.messages > 60 || g.messages < 60 && len(g.loss) == 0 {
			t.Errorf("page %d: %d messages, loss %v", page, g.messages, g.loss)
		}
		if g.messages < 60 {
			best = max(best, g.messages)
		}
	}
	if best < 40 {
		t.Errorf("with one page of %d lost, at most %d of 60 messages were read", len(whole)/512, best)
	}
}

func TestDatabaseOfAnotherKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE recipes(id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "not of rosbag2") {
		t.Errorf("a database of another kind: %v", err)
	}
}

func TestDatabaseWithLog(t *testing.T) {
	path := writeTemp(t, "open.db3", smallDB(t, false))
	if err := os.WriteFile(path+"-wal", []byte("pages that were not written back"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(filepath.Dir(path))
	g := readAll(t, path)
	after, _ := os.ReadDir(filepath.Dir(path))
	if g.messages != 60 || len(g.loss) != 1 || !strings.HasSuffix(g.loss[0].File, "-wal") {
		t.Errorf("%d messages, loss %v", g.messages, g.loss)
	}
	if len(before) != len(after) {
		t.Errorf("reading left files beside the recording: %v", after)
	}
}

// TestDatabaseFlippedBits expects no crash, no hang and no endless stream of a
// damaged database.
func TestDatabaseFlippedBits(t *testing.T) {
	flips := 50
	if testkit.Raced {
		flips = 3
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "flipped.db3")
	for _, whole := range [][]byte{smallDB(t, false), smallDB(t, true)} {
		for range flips {
			bad := bytes.Clone(whole)
			for range 1 + rnd.IntN(4) {
				bad[16+rnd.IntN(len(bad)-16)] ^= 1 << rnd.IntN(8)
			}
			readDamaged(t, path, bad)
		}
	}
}

// TestCutDatabase cuts a database behind each of its pages, in the middle of some:
// what is there is read, and the loss says how much is missing.
func TestCutDatabase(t *testing.T) {
	whole := smallDB(t, false)
	best := 0
	for cut := 512; cut < len(whole); cut += 256 {
		r, err := Open(writeTemp(t, "cut.db3", whole[:cut]))
		if err != nil {
			if cut > len(whole)/2 {
				t.Errorf("cut at %d of %d: %v", cut, len(whole), err)
			}
			continue // the list of topics is behind the cut
		}
		g := drain(t, r)
		if err := r.Close(); err != nil {
			t.Errorf("cut at %d: closing: %v", cut, err)
		}
		if len(g.loss) == 0 || g.loss[0].Bytes != int64(len(whole)-cut) || g.loss[0].Offset != int64(cut) || !g.loss[0].Beyond || len(g.loss[0].Topics) != 2 {
			t.Errorf("cut at %d of %d: %d messages, loss %v", cut, len(whole), g.messages, g.loss)
		}
		best = max(best, g.messages)
	}
	if best < 50 {
		t.Errorf("at most %d of 60 messages were read", best)
	}
}

// TestDamagedDefinitions wipes the page that the definitions stand on: the messages
// are read, and the loss is told.
func TestDamagedDefinitions(t *testing.T) {
	path := writeTemp(t, "defined.db3", smallDB(t, false))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE TABLE message_definitions(id INTEGER PRIMARY KEY,topic_type TEXT,encoding TEXT,encoded_message_definition TEXT,type_description_hash TEXT)",
		"INSERT INTO message_definitions VALUES (1, 'std_msgs/msg/String', 'ros2msg', 'string data', '')",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	var page int
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'message_definitions'").Scan(&page); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if g := readAll(t, path); g.messages != 60 || len(g.loss) > 0 {
		t.Fatalf("the whole: %d messages, loss %v", g.messages, g.loss)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[(page-1)*512:], make([]byte, 512))
	if g := readAll(t, writeTemp(t, "bad.db3", b)); g.messages != 60 || len(g.loss) != 1 || !strings.Contains(g.loss[0].Reason, "definitions") {
		t.Errorf("%d messages, loss %v", g.messages, g.loss)
	}
}
