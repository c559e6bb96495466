package ingest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
)

// What an import marks is on disk whatever the policies leave out, and stays there when they
// let it go; what is committed later is not kept by that.
func TestImportMarksWhatItWrites(t *testing.T) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	images := engram.MustPattern("Vision/ImageRGB")
	for name, text := range map[string]string{"record": "rate", "max_rate": "0.1 Hz", "keep.max_age": "1m"} {
		if err := store.SetPolicy(t.Context(), policy.Override{Pattern: images, Settings: map[string]string{name: text}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := server.New(server.Config{Memories: memories.All(), Store: store, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	onDisk := func(provider string) int {
		t.Helper()
		if err := store.Seal(t.Context(), "test"); err != nil && engram.CodeOf(err) != engram.NotFound {
			t.Fatal(err)
		}
		q := engram.MustPattern("Vision/ImageRGB/" + provider).Select(engram.All())
		q.Target = engram.TargetLTM
		res, err := s.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range res.All() {
			n++
		}
		return n
	}
	record := func(begin uint64) string {
		r := newRecorder(t)
		r.now = begin
		r.stamped("/near", picture, times(40, 0)...)
		r.stamped("/wild", picture, times(40, -100*24*time.Hour)...) // of another clock
		return r.file()
	}
	mustImport(t, s, record(1e18), Options{Source: "policies"})
	mustImport(t, s, record(1.1e18), Options{Source: "marked", Mark: func(ctx context.Context, _ string, m episode.Mark) error {
		m.Label = "import"
		return store.Mark(ctx, m)
	}})
	mustImport(t, s, record(1.2e18), Options{Source: "later"})
	for provider, want := range map[string]int{"policies": 8, "marked": 80, "later": 8} {
		if n := onDisk(provider); n != want {
			t.Errorf("of %s %d images are on disk, want %d", provider, n, want)
		}
	}
	if _, err := store.Forget(t.Context(), ltm.Forgetting{Due: true}, nil); err != nil {
		t.Fatal(err)
	}
	for provider, want := range map[string]int{"policies": 0, "marked": 80, "later": 0} {
		if n := onDisk(provider); n != want {
			t.Errorf("after forgetting of %s %d images are on disk, want %d", provider, n, want)
		}
	}
	marks, err := store.Marks(t.Context(), engram.Always())
	if err != nil || len(marks) != 2 {
		t.Errorf("marked is %v, %v; want one of each clock", marks, err)
	}
}

// A memory without a disk is none that all can be kept in: nothing is imported.
func TestImportThatCannotBeMarked(t *testing.T) {
	r := newRecorder(t)
	r.stamped("/camera", picture, 0)
	s := newServer(t)
	report, err := Import(t.Context(), s, r.file(), Options{Source: "x", Mark: func(context.Context, string, episode.Mark) error {
		return engram.Errorf(engram.Unsupported, "Vision", "there is no disk")
	}})
	if engram.CodeOf(err) != engram.Unsupported || report.Stored != 0 {
		t.Errorf("%v, %+v", err, report)
	}
}

// Marks keep all that they are asked for and little more, however times jump.
func TestMarking(t *testing.T) {
	second := func(n int) engram.Time { return engram.Time(n) * 1e9 }
	k := marking{span: engram.Interval{Start: second(10_000), End: second(10_100)}}
	for _, at := range []int{10_050, 10_111, 9_989, 10_120, 0, 15, -20, 50_000, 48_000} {
		k.include(second(at))
		if _, grown := k.include(second(at)); grown {
			t.Errorf("%d is not kept: %v", at, k.marks)
		}
	}
	var kept time.Duration
	for _, m := range k.marks {
		kept += m.Before + m.After
	}
	if len(k.marks) != 3 || kept > 3000*time.Second {
		t.Errorf("%v are kept by %v", kept, k.marks)
	}
	for i := range 10 * maxMarks {
		k.include(second(i * 100_000))
	}
	if len(k.marks) != maxMarks {
		t.Errorf("%d marks", len(k.marks))
	}
}
