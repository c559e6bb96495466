package ingest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// recordingServer is a server with all memories that records everything, without loss.
func recordingServer(t *testing.T) *server.Server {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	all := memories.All()
	for i := range all { // whatever the policies of the memories are
		all[i].Policies = map[string]policy.Policy{}
		for _, segment := range all[i].Segments {
			all[i].Policies[segment.ID.CoreSegment()] = policy.Policy{Codec: policy.CodecLossless, Durability: "logged"}
		}
	}
	s, err := server.New(server.Config{Memories: all, Store: store, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// contents returns all that a memory holds, a line per instance.
func contents(t *testing.T, r engram.Reader, span engram.Interval, patterns ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	for _, text := range patterns {
		q := engram.MustPattern(text).Select(engram.In(span))
		res, err := r.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Missing) > 0 {
			t.Fatalf("missing: %+v", res.Missing)
		}
		for item := range res.All() {
			for i, in := range item.Instances {
				all[item.ID.Instance(i).String()] = fmt.Sprintf("%s %v %v %x", in.Payload.Type, in.Confidence, in.Sent, in.Payload.Bytes)
			}
		}
	}
	return all
}

func compareContents(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d instances came back, want %d", len(got), len(want))
	}
	n := 0
	for id, w := range want {
		if g := got[id]; g != w {
			if n++; n < 5 {
				t.Errorf("%s came back as %.200s, want %.200s", id, g, w)
			}
		}
	}
}

// What is exported and imported again is the same memory, for the whole of every recording.
func TestExportAndImport(t *testing.T) {
	root := testkit.Shared(t, "recordings")
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".mcap", ".bag", ".db3"}, filepath.Ext(path)) &&
			!slices.Contains([]string{"empty-file.bag", "no-messages.bag"}, d.Name()) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 8 {
		t.Errorf("there are %d recordings, want 8 or more", len(files))
	}
	for i, file := range files {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(file, root+"/"), "/", "_"), func(t *testing.T) {
			if i%2 == 1 {
				testkit.Long(t) // the other ones are much the same
			}
			from := recordingServer(t)
			report, err := ingest.Import(t.Context(), from, file, ingest.Options{})
			if err != nil || report.Stored == 0 {
				t.Fatalf("nothing of this recording can be imported: %v", err)
			}
			roundTrip(t, from, recordingServer(t), engram.Always())
		})
	}
}

// plainServer is a server without a disk: what it keeps of a recording is compared.
func plainServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Memories: memories.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func roundTrip(t *testing.T, from, to *server.Server, span engram.Interval) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.mcap")
	exported, err := ingest.Export(t.Context(), from, file, ingest.ExportOptions{Span: span})
	if err != nil {
		t.Fatal(err)
	}
	if exported.Snapshots == 0 || !ingest.IsEpisode(file) {
		t.Fatalf("exported %+v", exported)
	}
	if problems, err := episode.Verify(t.Context(), file, episode.Options{}); err != nil || len(problems) > 0 {
		t.Errorf("the file is not whole: %v, %v", problems, err)
	}
	imported, err := ingest.ImportEpisode(t.Context(), to, file, ingest.Options{})
	if err != nil || imported.Lossy() || imported.Stored != exported.Snapshots {
		t.Fatalf("import: %v; %d of %d, refused %d, loss %v", err, imported.Stored, exported.Snapshots, imported.Refused, imported.LossSummary())
	}
	compareContents(t, contents(t, to, span), contents(t, from, span))
	segments := func(s *server.Server) map[string]string {
		all, err := s.Describe(t.Context(), engram.Pattern{})
		if err != nil {
			t.Fatal(err)
		}
		types := map[string]string{}
		for _, d := range all {
			types[d.ID.String()] = d.Type
		}
		return types
	}
	want := segments(from)
	for id, typ := range segments(to) {
		if want[id] != typ {
			t.Errorf("the segment %s has the type %s, want %s", id, typ, want[id])
		}
	}
	if n := readable(t, file); n < exported.Snapshots {
		t.Errorf("the mcap library reads %d messages with a schema, want at least %d", n, exported.Snapshots)
	}
}

// A core segment comes back with its type although all that is exported is of a
// provider's, which extends it.
func TestExportKeepsCoreTypes(t *testing.T) {
	from, to := plainServer(t), plainServer(t)
	ctx := t.Context()
	for _, s := range []*server.Server{from, to} {
		// What both know: another memory than the one that is exported.
		if err := s.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Other")}); err != nil {
			t.Fatal(err)
		}
	}
	core := engram.MustID("GeneralPurpose/Grasps")
	if err := from.AddCoreSegment(ctx, engram.CoreSegment{ID: core, Type: "engram.grasp.Affordance"}); err != nil {
		t.Fatal(err)
	}
	provider := engram.ProviderSegment{ID: engram.MustID("GeneralPurpose/Grasps/me"), Type: "engram.grasp.Candidate"}
	if err := from.AddProviderSegment(ctx, provider); err != nil {
		t.Fatal(err)
	}
	typ, _ := memories.Type("engram.grasp.Candidate")
	b, err := typ.Encode(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := from.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("GeneralPurpose/Grasps/me/cup"), Time: 5,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
	}}})
	if err != nil || r[0].Err != nil {
		t.Fatal(err, r)
	}
	file := filepath.Join(t.TempDir(), "grasps.mcap")
	if _, err := ingest.Export(ctx, from, file, ingest.ExportOptions{Patterns: []engram.Pattern{engram.PatternOf(core)}}); err != nil {
		t.Fatal(err)
	}
	if report, err := ingest.ImportEpisode(ctx, to, file, ingest.Options{}); err != nil || report.Stored != 1 {
		t.Fatal(err, report)
	}
	for _, id := range []engram.ID{core, provider.ID} {
		want, _ := from.Describe(ctx, engram.PatternOf(id))
		got, err := to.Describe(ctx, engram.PatternOf(id))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s came back as %+v, want %+v; %v", id, got, want, err)
		}
	}
}

// readable counts the messages that the MCAP library reads, and checks that all are
// protobuf with a schema.
func readable(t *testing.T, file string) (n uint64) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := mcap.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Messages()
	if err != nil {
		t.Fatal(err)
	}
	for {
		schema, ch, _, err := it.NextInto(nil)
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(ch.Topic, "/engram") || strings.HasPrefix(schema.Name, "engram.ltm.") {
			continue
		}
		if ch.MessageEncoding != "protobuf" || schema == nil || schema.Encoding != "protobuf" || len(schema.Data) == 0 {
			t.Fatalf("%s has the encoding %q and the schema %+v", ch.Topic, ch.MessageEncoding, schema)
		}
		n++
	}
}

// Several instances, confidences, times of sending, segments that the other memory does
// not have, and what only the disk still has: all comes back. What was in force at the
// start of a cut is in it.
func TestExportFromDiskAndMemory(t *testing.T) {
	from := recordingServer(t)
	ctx := t.Context()
	core := engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Mine"), History: engram.Bounds{MaxCount: 3}}
	if err := from.AddCoreSegment(ctx, core); err != nil {
		t.Fatal(err)
	}
	entity := engram.MustID(`GeneralPurpose/Mine/me/a\/b`)
	static := engram.MustID("GeneralPurpose/Mine/me/static")
	commit := func(id engram.ID, at engram.Time, values ...any) {
		u := engram.EntityUpdate{Entity: id, Time: at}
		for i, v := range values {
			p := testkit.Value(t, v)
			u.Instances = append(u.Instances, engram.Instance{Payload: p, Confidence: float32(i) / 4, Sent: at - 5, HasSent: true})
		}
		r, err := from.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
		if err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	commit(static, 1000, "calibration")
	for i := range engram.Time(50) {
		commit(entity, 10_000+i*1e9, int64(i), strings.Repeat("x", int(i)), true)
	}
	commit(entity, 10_000+10e9, "corrected")
	file := filepath.Join(t.TempDir(), "cut.mcap")
	span := engram.Interval{Start: 10_000 + 5e9, End: 10_000 + 20e9}
	done := int64(-1)
	report, err := ingest.Export(ctx, from, file, ingest.ExportOptions{
		Patterns: []engram.Pattern{engram.MustPattern("GeneralPurpose/Mine")}, Span: span,
		Progress: func(n, total int64) {
			if n < done || n > total {
				t.Errorf("progress %d after %d of %d", n, done, total)
			}
			done = n
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Snapshots != 17 || report.InForce != 2 || report.Entities != 2 {
		t.Errorf("exported %+v, want 15 snapshots and 2 in force of 2 entities", report)
	}
	to := plainServer(t)
	if _, err := ingest.ImportEpisode(ctx, to, file, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	if s, err := to.Latest(ctx, static); err != nil || s.Time != 1000 {
		t.Errorf("what was in force came back as %v, %v", s, err)
	}
	d, err := to.Describe(ctx, engram.PatternOf(core.ID))
	if err != nil || len(d) == 0 || d[0].History != core.History || d[0].Type != engram.ValueType {
		t.Errorf("the segment came back as %+v, %v", d, err)
	}
	wide := plainServer(t)
	if err := wide.AddCoreSegment(ctx, engram.CoreSegment{ID: core.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.ImportEpisode(ctx, wide, file, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	compareContents(t, contents(t, wide, span, "GeneralPurpose"), contents(t, from, span, "GeneralPurpose"))

	// A file that was cut gives what is whole of it, and says that something is lost.
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.mcap")
	if err := os.WriteFile(cut, whole[:len(whole)*3/4], 0o644); err != nil {
		t.Fatal(err)
	}
	rest := plainServer(t)
	cutReport, err := ingest.ImportEpisode(ctx, rest, cut, ingest.Options{})
	if err != nil || !ingest.IsEpisode(cut) || !cutReport.Lossy() || cutReport.Stored == 0 {
		t.Errorf("importing a file that was cut: %v, %+v", err, cutReport)
	}

	// Nothing to export, a file that is there, one that cannot be made, given up.
	other := filepath.Join(t.TempDir(), "other.mcap")
	if _, err := ingest.Export(ctx, from, other, ingest.ExportOptions{Patterns: []engram.Pattern{engram.MustPattern("Vision")}}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("exporting nothing: %v, want NotFound", err)
	}
	if _, err := ingest.Export(ctx, from, file, ingest.ExportOptions{}); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("exporting onto a file: %v, want AlreadyExists", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := ingest.Export(ended, from, other, ingest.ExportOptions{}); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("exporting given up: %v, want Canceled", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(other), "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
