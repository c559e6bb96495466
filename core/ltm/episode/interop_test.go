package episode_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// read is a line that testdata/interop/read.mjs prints.
type read struct {
	How, Topic, Schema, Encoding, SchemaHash, Codec, ID, Hash, Name string
	Channel                                                         uint16
	Sequence                                                        uint32
	Log, Publish                                                    string
	Size                                                            int
	Metadata                                                        map[string]string
	Done                                                            bool
	BytesRemaining                                                  int
	Statistics                                                      struct{ MessageCount string }
}

// Sealed episodes as the format's authors' own reader for JavaScript sees them,
// message by message: by the index and as a stream, every CRC checked.
func TestAnIndependentReaderReadsEpisodes(t *testing.T) {
	skip := t.Skip
	if os.Getenv("CI") != "" {
		skip = t.Fatal // .ci/run installs both
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip("node is not installed")
	}
	if _, err := os.Stat("testdata/interop/node_modules/@mcap/core"); err != nil {
		skip("@mcap/core is not installed; run: npm ci --prefix core/ltm/episode/testdata/interop")
	}
	dir := t.TempDir()
	w := create(t, dir, episode.Options{FS: quick.FS, ChunkBytes: 3000})
	type key struct{ topic, schema, log, publish, hash string }
	want := map[key]int{}
	first := engram.Time(1e18)
	put := func(id engram.ID, codec string, s *engram.Snapshot, inForce bool) {
		ch := channel(t, id)
		ch.Codec.Codec = codec
		add(t, w, ch, s, inForce)
		if codec != "plain" {
			return // its messages are the codec's own
		}
		log := s.Time
		if log < 0 { // it holds at all times, and comes last
			log = first + 1999*1000
		}
		if inForce {
			log = max(log, first)
		}
		for _, in := range s.Instances {
			sum := sha256.Sum256(in.Payload.Bytes)
			want[key{id.String(), in.Payload.Type, strconv.FormatInt(int64(log), 10), strconv.FormatInt(int64(s.Arrived), 10), hex.EncodeToString(sum[:])}]++
		}
	}
	put(cup, "plain", snapshot(5, 1, "in force for long"), true)
	for i := range 2000 {
		at := first + engram.Time(i)*1000
		switch i % 50 {
		case 1:
			put(cup, "plain", snapshot(at, uint64(i), "one", "", "three"), false)
		case 2:
			put(cup, "plain", snapshot(at-2000, uint64(i), "late"), false)
		case 3:
			s := snapshot(at, uint64(i), "a link")
			s.Instances[0].Payload.Type = "engram.idf.v1.Link"
			put(cup, "plain", s, false)
		}
		put(joints, "plain", snapshot(at, uint64(i), secret(i)), false)
		put(entityNumber(1), "pack", snapshot(at, uint64(i), secret(i)), false)
	}
	s := snapshot(first, 5000, "before 1970")
	s.Time = -7
	put(joints, "plain", s, false)
	info := seal(t, w)

	cmd := exec.Command(node, "read.mjs", filepath.Join(dir, name))
	cmd.Dir = "testdata/interop"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	got := map[string]map[key]int{"index": {}, "stream": {}}
	type place struct { // of a message: sequences count within a channel
		how     string
		channel uint16
	}
	sequences := map[place]map[uint32]bool{}
	packed := map[string]int{}
	var names []string
	var last read
	definition := sha256.Sum256(idf.OpenCycles(valueType(t).Descriptors, engram.ValueType))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r read
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		last = r
		switch {
		case r.How == "metadata" && strings.HasPrefix(r.Name, "engram.episode."):
			if r.Metadata["robot"] != "armar" || r.Metadata["format"] != "2" || r.Metadata["snapshots"] != strconv.FormatUint(info.Snapshots, 10) {
				t.Errorf("the metadata are %v", r.Metadata)
			}
			names = append(names, r.Name)
		case r.How == "attachment":
			names = append(names, r.Name)
		case got[r.How] == nil || r.Topic == "engram/envelope":
		default:
			if r.Encoding != "protobuf" || r.ID != r.Topic || r.Schema == engram.ValueType && r.SchemaHash != hex.EncodeToString(definition[:]) {
				t.Fatalf("a message's channel is %+v", r)
			}
			at := place{r.How, r.Channel}
			if sequences[at] == nil {
				sequences[at] = map[uint32]bool{}
			}
			if sequences[at][r.Sequence] {
				t.Fatalf("the sequence %d comes twice in a channel of %s", r.Sequence, r.Topic)
			}
			sequences[at][r.Sequence] = true
			if r.Codec == "pack" {
				packed[r.How]++
				continue
			}
			got[r.How][key{r.Topic, r.Schema, r.Log, r.Publish, r.Hash}]++
		}
	}
	for how, messages := range got {
		for k, n := range want {
			if messages[k] != n {
				t.Fatalf("%s: %d messages %+v, want %d", how, messages[k], k, n)
			}
		}
		if len(messages) != len(want) {
			t.Errorf("%s: %d different messages, want %d", how, len(messages), len(want))
		}
		if packed[how] != (2000+packSize-1)/packSize {
			t.Errorf("%s: %d messages of the codec", how, packed[how])
		}
	}
	if len(names) != 2 || !strings.HasPrefix(names[0], "engram.episode.") || names[1] != "engram.index" {
		t.Errorf("metadata and attachments are %v", names)
	}
	if last.How != "end" || !last.Done || last.BytesRemaining != 0 {
		t.Errorf("the stream's end is %+v", last)
	}
}
