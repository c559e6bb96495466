package ingest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// rewriting says how another program writes MCAP files anew.
type rewriting struct {
	sorted      bool // by log time
	aside       bool // with metadata and attachments
	topics      *regexp.Regexp
	compression mcap.CompressionFormat
	library     bool // keeps the name of the library that wrote the first
}

type rewrittenMessage struct {
	schema  *mcap.Schema
	channel *mcap.Channel
	message *mcap.Message
}

// rewrite writes files into one, as the mcap tool's sort, compress, decompress, filter,
// recover and merge do: messages as they are, channels and schemas with new numbers, and
// no two metadata records of one name.
func rewrite(t *testing.T, how rewriting, files ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "rewritten.mcap")
	var b bytes.Buffer
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{Chunked: true, ChunkSize: 4 << 10, Compression: how.compression, IncludeCRC: true, OverrideLibrary: how.library})
	check(err)
	header := &mcap.Header{}
	if how.library {
		header.Library = "engram"
	}
	check(w.WriteHeader(header))
	names := map[string]bool{}
	schemas, channels := map[string]uint16{}, map[string]uint16{}
	var messages []rewrittenMessage
	for i, file := range files {
		f, err := os.Open(file)
		check(err)
		defer f.Close()
		lexer, err := mcap.NewLexer(f, &mcap.LexerOptions{AttachmentCallback: func(a *mcap.AttachmentReader) error {
			if !how.aside {
				return nil
			}
			return w.WriteAttachment(&mcap.Attachment{LogTime: a.LogTime, CreateTime: a.CreateTime, Name: a.Name, MediaType: a.MediaType, DataSize: a.DataSize, Data: a.Data()})
		}})
		check(err)
		fileSchemas, fileChannels := map[uint16]*mcap.Schema{}, map[uint16]*mcap.Channel{}
		for end := false; !end; {
			token, data, err := lexer.Next(nil)
			if err == io.EOF {
				break
			}
			check(err)
			switch token {
			case mcap.TokenSchema:
				s, err := mcap.ParseSchema(data)
				check(err)
				fileSchemas[s.ID] = s
			case mcap.TokenChannel:
				c, err := mcap.ParseChannel(data)
				check(err)
				fileChannels[c.ID] = c
			case mcap.TokenMessage:
				m, err := mcap.ParseMessage(slices.Clone(data))
				check(err)
				c := fileChannels[m.ChannelID]
				if how.topics == nil || how.topics.MatchString(c.Topic) {
					messages = append(messages, rewrittenMessage{fileSchemas[c.SchemaID], c, m})
				}
			case mcap.TokenMetadata:
				m, err := mcap.ParseMetadata(data)
				check(err)
				if !how.aside {
					continue
				}
				if names[m.Name] {
					t.Errorf("file %d: a metadata record of the name %s is there already; tools that merge refuse it", i, m.Name)
				}
				names[m.Name] = true
				check(w.WriteMetadata(m))
			case mcap.TokenDataEnd:
				end = true
			}
		}
	}
	if how.sorted {
		slices.SortStableFunc(messages, func(a, b rewrittenMessage) int { return cmp.Compare(a.message.LogTime, b.message.LogTime) })
	}
	for _, m := range messages {
		key := m.schema.Name + string(m.schema.Data)
		if schemas[key] == 0 {
			s := *m.schema
			s.ID = uint16(len(schemas) + 1)
			schemas[key] = s.ID
			check(w.WriteSchema(&s))
		}
		keyChannel := m.channel.Topic + key + fmt.Sprint(m.channel.Metadata)
		if channels[keyChannel] == 0 {
			c := *m.channel
			c.ID, c.SchemaID = uint16(len(channels)+10), schemas[key]
			channels[keyChannel] = c.ID
			check(w.WriteChannel(&c))
		}
		m.message.ChannelID = channels[keyChannel]
		check(w.WriteMessage(m.message))
	}
	check(w.Close())
	check(os.WriteFile(out, b.Bytes(), 0o666))
	return out
}

// identified is a server with what is hard to bring back: several instances, confidences,
// times of sending, values in force, prior knowledge, times before 1970, a core segment
// of its own.
func identified(t *testing.T) *server.Server {
	t.Helper()
	s := recordingServer(t)
	core := engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Mine"), History: engram.Bounds{MaxCount: 300}}
	if err := s.AddCoreSegment(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	commit := func(name string, at engram.Time, values ...any) {
		id, err := core.ID.Child("me")
		if err == nil {
			id, err = id.Child(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		u := engram.EntityUpdate{Entity: id, Time: at}
		for i, v := range values {
			p := testkit.Value(t, v)
			u.Instances = append(u.Instances, engram.Instance{Payload: p, Confidence: float32(i+1) / 4, Sent: at - engram.Time(i), HasSent: i != 1})
		}
		r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	const start = 1_700_000_000e9
	commit("prior", 0, "known before")
	commit("early", -5e9, "before 1970")
	commit("static", start-3600e9, "set long ago", "and so")
	for i := range engram.Time(200) {
		commit("a/b", start+i*1e8, int64(i), strings.Repeat("x", int(i)), true)
		commit("c", start+i*1e8, int64(i))
	}
	return s
}

// What other programs make of exports is the same memory still.
func TestImportRewritten(t *testing.T) {
	from := identified(t)
	span := engram.Interval{Start: 1_700_000_001e9, End: engram.MaxTime}
	export := func(o ingest.ExportOptions) string {
		file := filepath.Join(t.TempDir(), "out.mcap")
		if _, err := ingest.Export(t.Context(), from, file, o); err != nil {
			t.Fatal(err)
		}
		return file
	}
	all, cut := export(ingest.ExportOptions{}), export(ingest.ExportOptions{Span: span})
	first := export(ingest.ExportOptions{Span: engram.Interval{Start: engram.MinTime, End: span.Start}})
	inTopics := regexp.MustCompile("^GeneralPurpose/Mine/me/(prior|static|c|a.*)$")
	bare := func(all map[string]string) map[string]string { // without confidence and time of sending
		out := map[string]string{}
		for id, text := range all {
			if fields := strings.Fields(text); !strings.Contains(id, "early") {
				out[id] = fields[0] + fields[len(fields)-1]
			}
		}
		return out
	}
	whole := contents(t, from, engram.Always(), "GeneralPurpose")
	for _, tt := range []struct {
		name  string
		how   rewriting
		files []string
		bare  bool
	}{
		{"sorted", rewriting{sorted: true, aside: true, compression: mcap.CompressionZSTD}, []string{all}, false},
		{"sorted, by a program that keeps the library's name", rewriting{sorted: true, aside: true, library: true}, []string{all}, false},
		{"compressed anew, without metadata", rewriting{compression: mcap.CompressionLZ4}, []string{all}, false},
		{"filtered by topics", rewriting{topics: inTopics}, []string{all}, true},
		{"merged of two parts", rewriting{sorted: true, aside: true}, []string{first, cut}, false},
		{"merged of two that overlap", rewriting{sorted: true, aside: true}, []string{all, cut}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := rewrite(t, tt.how, tt.files...)
			if !ingest.IsEpisode(file) {
				t.Fatal("the file is not known for what it is")
			}
			to := plainServer(t)
			report, err := ingest.ImportEpisode(t.Context(), to, file, ingest.Options{})
			if err != nil || report.Lossy() || report.Source != "" {
				t.Fatalf("import: %v; %+v", err, report)
			}
			got, want := contents(t, to, engram.Always(), "GeneralPurpose"), whole
			if tt.bare {
				got, want = bare(got), bare(want)
			}
			compareContents(t, got, want)
			d, err := to.Describe(t.Context(), engram.MustPattern("GeneralPurpose/Mine"))
			if err != nil || len(d) == 0 || d[0].History.MaxCount != 300 {
				t.Errorf("the segment came back as %+v, %v", d, err)
			}
			if _, err := episode.Open(file, episode.Options{}); err == nil {
				t.Error("a file that was written anew opens as an episode")
			}
		})
	}
}

// A file that holds an export beside a recording of others gives both.
func TestImportMergedWithOthers(t *testing.T) {
	from := identified(t)
	file := filepath.Join(t.TempDir(), "out.mcap")
	if _, err := ingest.Export(t.Context(), from, file, ingest.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	other := testkit.Recording(t, "rosbag2/talker.mcap")
	to := plainServer(t)
	report, err := ingest.ImportEpisode(t.Context(), to, rewrite(t, rewriting{sorted: true}, file, other), ingest.Options{})
	if err != nil || report.Source != "rewritten" || report.Refused > 0 {
		t.Fatalf("%v; %+v", err, report)
	}
	compareContents(t, contents(t, to, engram.Always(), "GeneralPurpose/Mine"), contents(t, from, engram.Always(), "GeneralPurpose/Mine"))
	if n := len(contents(t, to, engram.Always(), `GeneralPurpose/std_msgs\/msg\/String`)); n == 0 {
		t.Error("nothing of the other recording arrived")
	}
}

// An export is strictly in the order of log times, its chunks do not overlap, what holds
// at all times stands at its beginning, and it tells the span of what was recorded.
func TestExportIsInOrder(t *testing.T) {
	from := identified(t)
	file := filepath.Join(t.TempDir(), "out.mcap")
	report, err := ingest.Export(t.Context(), from, file, ingest.ExportOptions{
		Patterns: []engram.Pattern{engram.MustPattern("GeneralPurpose"), engram.MustPattern("GeneralPurpose/Mine/me/c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Snapshots != 403 {
		t.Errorf("%d snapshots are exported, want 403: each once", report.Snapshots)
	}
	const start, end = 1_700_000_000e9 - 3600e9, 1_700_000_000e9 + 199e8
	if report.Span.Start != start || report.Span.End != end+1 {
		t.Errorf("the export is of %v, want %v to %v", report.Span, engram.Time(start), engram.Time(end))
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lexer, err := mcap.NewLexer(f)
	if err != nil {
		t.Fatal(err)
	}
	var latest, n uint64
	for {
		token, data, err := lexer.Next(nil)
		if err == io.EOF || token == mcap.TokenDataEnd {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if token != mcap.TokenMessage {
			continue
		}
		m, err := mcap.ParseMessage(data)
		if err != nil {
			t.Fatal(err)
		}
		if m.LogTime < latest || n == 0 && m.LogTime != start {
			t.Fatalf("message %d has the log time %d after %d", n, m.LogTime, latest)
		}
		latest = m.LogTime
		n++
	}
	if latest != end {
		t.Errorf("the last log time is %d, want %d", latest, uint64(end))
	}
}
