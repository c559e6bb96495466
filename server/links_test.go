package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/episode"
	longterm "github.com/seed-301d4374/engram/ltm/service"
	"github.com/seed-301d4374/engram/server"
)

// sourcesOf returns what links to something, as "entity@time path".
func sourcesOf(t testing.TB, s *server.Server, q service.BackQuery) string {
	t.Helper()
	return sourcesIn(t, s.Links(), q)
}

func sourcesIn(t testing.TB, l service.Service, q service.BackQuery) string {
	t.Helper()
	var out []string
	for b, err := range l.BackLinks(t.Context(), q) {
		if err != nil {
			out = append(out, engram.CodeOf(err).String())
			break
		}
		at, _ := b.Source.Time()
		text := at.String()
		out = append(out, b.Source.Entity()+"@"+strings.TrimLeft(text[len(text)-3:], "0"))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func to(id string) map[string]any { return map[string]any{"to": engram.MustID(id)} }

// A link to an entity means its newest snapshot at or before the snapshot that has the link.
func TestBackLinks(t *testing.T) {
	s := serving.New(t, serving.Memory("M", server.Hooks{}))
	const image = "M/Any/camera/front"
	testkit.Commit(t, s,
		testkit.Update(t, image, 10, "pixels"), testkit.Update(t, image, 20, "pixels"),
		testkit.Update(t, "M/Any/p/exact", 11, to(image+"/10")), testkit.Update(t, "M/Any/p/exact", 21, to(image+"/20")),
		testkit.Update(t, "M/Any/p/one", 12, to(image+"/10/0")), testkit.Update(t, "M/Any/p/loose", 15, to(image)), testkit.Update(t, "M/Any/p/loose", 25, to(image)),
		testkit.Update(t, "M/Any/p/both", 16, []any{engram.MustID(image), engram.MustID("M/Any/p/other")}), testkit.Update(t, "M/Any/p/both", 17, "nothing"),
	)
	at := func(t engram.Time) *engram.Time { return &t }
	for _, x := range []struct {
		q    service.BackQuery
		want string
	}{
		{service.BackQuery{Target: engram.MustID(image)}, "both@16 exact@11 exact@21 loose@15 loose@25 one@12"},
		{service.BackQuery{Target: engram.MustID(image + "/10")}, "both@16 exact@11 loose@15 one@12"},
		{service.BackQuery{Target: engram.MustID(image + "/20")}, "exact@21 loose@25"},
		{service.BackQuery{Target: engram.MustID(image + "/10/0")}, "both@16 exact@11 loose@15 one@12"},
		{service.BackQuery{Target: engram.MustID(image + "/10/1")}, "both@16 exact@11 loose@15"},
		{service.BackQuery{Target: engram.MustID("M/Any/p/other")}, "both@16"},
		{service.BackQuery{Target: engram.MustID(image), At: at(18)}, "exact@11 loose@15 one@12"},
		{service.BackQuery{Target: engram.MustID(image), Span: engram.Interval{Start: 12, End: 16}}, "loose@15 one@12"},
		{service.BackQuery{Target: engram.MustID(image), From: engram.MustPattern("M/Any/p/~e.*")}, "exact@11 exact@21"},
		{service.BackQuery{Target: engram.MustID(image), Limit: 6}, "both@16 exact@11 exact@21 loose@15 loose@25 one@12"},
		{service.BackQuery{Target: engram.MustID("M/Any/nobody/nothing")}, ""},
		{service.BackQuery{}, "invalid argument"},
	} {
		if got := sourcesOf(t, s, x.q); got != x.want && !(x.want == "invalid argument" && strings.HasPrefix(got, "invalid")) {
			t.Errorf("%v at %v: %s, not %s", x.q.Target, x.q.At, got, x.want)
		}
	}
	// What supersedes has no link; what was known before it had.
	before, _ := s.Latest(t.Context(), engram.MustID("M/Any/p/one"))
	testkit.Commit(t, s, testkit.Update(t, "M/Any/p/one", 12, "nothing"))
	if got := sourcesOf(t, s, service.BackQuery{Target: engram.MustID(image + "/10/0")}); got != "both@16 exact@11 loose@15" {
		t.Errorf("superseded: %s", got)
	}
	if got := sourcesOf(t, s, service.BackQuery{Target: engram.MustID(image + "/10/0"), AsOf: &before.Arrived}); got != "both@16 exact@11 loose@15 one@12" {
		t.Errorf("as of before: %s", got)
	}
}

// hidden is a scope without some entities.
type hidden []string

func (h hidden) Visibility(id engram.ID) engram.Visibility {
	for _, text := range h {
		switch out := engram.MustID(text); {
		case out.Contains(id):
			return engram.Hidden
		case id.Contains(out):
			return engram.Partial
		}
	}
	return engram.Visible
}

// Nothing of what a caller may not read is in an answer, a count or an error.
func TestLinksWithinRights(t *testing.T) {
	s := serving.New(t, serving.Memory("M", server.Hooks{}))
	testkit.Commit(t, s,
		testkit.Update(t, "M/Any/secret/plan", 1, "plan"), testkit.Update(t, "M/Any/p/run", 2, map[string]any{"plan": engram.MustID("M/Any/secret/plan"), "gone": engram.MustID("M/Any/secret/nothing")}),
		testkit.Update(t, "M/Any/secret/spy", 3, to("M/Any/p/run")), testkit.Update(t, "M/Any/p/end", 4, to("M/Any/secret/spy")),
	)
	l := s.Links()
	ctx := engram.WithScope(t.Context(), hidden{"M/Any/secret"})
	n := 0
	for range l.BackLinks(ctx, service.BackQuery{Target: engram.MustID("M/Any/p/run"), Limit: 1}) {
		n++
	}
	if n != 0 {
		t.Errorf("%d links from what may not be read", n)
	}
	said := func(start string, d service.Direction) (out string) {
		for p, err := range l.Trace(ctx, service.TraceQuery{Start: engram.MustID(start), Direction: d, Options: service.Options{Members: true}}) {
			switch {
			case err != nil:
				return out + "! " + err.Error()
			case p.Node != nil:
				out += p.Node.ID.Truncate(engram.LevelEntity).Entity() + ":" + p.Node.Missing + " "
			case p.More != "":
				out += "+" + p.More
			}
		}
		return out
	}
	// That a thing which may not be read is there, or not, makes no difference.
	if got, want := said("M/Any/p/run", service.Both), "run: nothing:no right plan:no right "; got != want && got != "run: plan:no right nothing:no right " {
		t.Errorf("a trace: %s, not %s", got, want)
	}
	there, not := said("M/Any/secret/plan", service.Up), said("M/Any/secret/nothing", service.Up)
	if !strings.HasPrefix(there, "! ") || strings.ReplaceAll(there, "plan", "nothing") != not {
		t.Errorf("a trace from what may not be read: %s; from what is not there: %s", there, not)
	}
	checked, err := l.Check(ctx, service.CheckQuery{Dangling: true})
	if err != nil || len(checked) != 1 || checked[0].Provider != engram.MustID("M/Any/p") || checked[0].Links != 3 || checked[0].Dangling[service.MissingNoRight] != 3 {
		t.Errorf("checked: %+v, %v", checked, err)
	}
}

// Without a disk, what was in RAM and is not any more is told apart from what never was.
func TestLinksToWhatWasEvicted(t *testing.T) {
	m := serving.Memory("M", server.Hooks{})
	m.Segments[0].History = engram.Bounds{MaxCount: 1}
	s := serving.New(t, m)
	image := engram.MustID("M/Any/p/image")
	testkit.Commit(t, s, testkit.Update(t, "M/Any/p/image", 1, "pixels"), testkit.Update(t, "M/Any/p/image", 2, "pixels"),
		testkit.Update(t, "M/Any/p/cup", 3, map[string]any{"old": image.At(1), "new": image.At(2), "gone": engram.MustID("M/Any/p/nothing")}))
	var got []string
	for p, err := range s.Links().Trace(t.Context(), service.TraceQuery{Start: engram.MustID("M/Any/p/cup")}) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Node != nil && p.Node.Depth == 1 {
			at, _ := p.Node.ID.Time()
			got = append(got, fmt.Sprint(p.Node.ID.Entity(), int64(at), ":", p.Node.Missing))
		}
	}
	slices.Sort(got)
	if want := "image1:evicted image2: nothing0:never there"; strings.Join(got, " ") != want {
		t.Errorf("%v, not %s", got, want)
	}
}

// keeping returns a server that keeps the last two snapshots of an entity in RAM, and all in a
// folder.
func keeping(t *testing.T, dir string) *server.Server {
	t.Helper()
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: testkit.Quiet, DiskLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := serving.Memory("M", server.Hooks{})
	m.Segments[0].History = engram.Bounds{MaxCount: 2}
	s, err := server.New(server.Config{Memories: []server.Memory{m}, Store: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Links are found in what was evicted to disk, after a restart too, and not in what was
// forgotten; why something that a link leads to is not there is told.
func TestLinksOnDisk(t *testing.T) {
	dir := t.TempDir()
	open := func() *server.Server { return keeping(t, dir) }
	s := open()
	for i := range 20 {
		at := engram.Time(i + 1)
		testkit.Commit(t, s, testkit.Update(t, "M/Any/p/image", at, "pixels"), testkit.Update(t, "M/Any/p/cup", at, map[string]any{"image": engram.MustID("M/Any/p/image").At(at), "class": engram.MustID("M/Any/p/class")}))
		if i%6 == 5 {
			if err := s.LongTerm().Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := func(s *server.Server) int {
		return strings.Count(sourcesOf(t, s, service.BackQuery{Target: engram.MustID("M/Any/p/class")}), "cup@")
	}
	if n := all(s); n != 20 {
		t.Errorf("%d links, of 20 in RAM and on disk", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if n := all(s); n != 20 {
		t.Errorf("%d links, of 20 after a restart", n)
	}
	if got := sourcesOf(t, s, service.BackQuery{Target: engram.MustID("M/Any/p/image/5")}); got != "cup@5" {
		t.Errorf("of a snapshot on disk: %s", got)
	}
	// The newest one, after which nothing is on disk.
	cups := 0
	for p, err := range s.Links().Trace(t.Context(), service.TraceQuery{Start: engram.MustID("M/Any/p/image"), Direction: service.Down}) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Node != nil && p.Node.ID.Entity() == "cup" {
			cups++
		}
	}
	if cups != 1 {
		t.Errorf("what came of an entity on disk has %d nodes of the cup, not 1", cups)
	}
	// Late and superseding, without a link.
	testkit.Commit(t, s, testkit.Update(t, "M/Any/p/cup", 3, "nothing"))
	if n := all(s); n != 19 {
		t.Errorf("%d links, of 19 when one was superseded", n)
	}
	testkit.Commit(t, s, testkit.Update(t, "M/Any/p/cup", 30, "nothing"), testkit.Update(t, "M/Any/p/cup", 31, "nothing"), testkit.Update(t, "M/Any/p/cup", 32, "nothing"))
	if n := all(s); n != 19 {
		t.Errorf("%d links, of 19 when what superseded was evicted", n)
	}
	if _, err := s.LongTerm().Forget(t.Context(), longterm.Forgetting{Why: "test", Patterns: []engram.Pattern{engram.MustPattern("M/Any/p/image")}, Span: engram.Interval{Start: 1, End: 11}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LongTerm().Forget(t.Context(), longterm.Forgetting{Why: "test", Patterns: []engram.Pattern{engram.MustPattern("M/Any/p/cup")}, Span: engram.Interval{Start: 1, End: 6}}, nil); err != nil {
		t.Fatal(err)
	}
	if n := all(s); n != 15 {
		t.Errorf("%d links, of 15 when five were forgotten", n)
	}
	for at, want := range map[string]string{"8": "image:forgotten class:never there", "15": "image: class:never there"} {
		var got []string
		for p, err := range s.Links().Trace(t.Context(), service.TraceQuery{Start: engram.MustID("M/Any/p/cup/" + at)}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Node != nil && p.Node.Depth == 1 {
				got = append(got, p.Node.ID.Entity()+":"+p.Node.Missing)
			}
		}
		slices.Sort(got)
		if slices.Reverse(got); strings.Join(got, " ") != want {
			t.Errorf("what cup at %s was made of: %q, not %s", at, got, want)
		}
	}
}

// The lists of links in episodes say what the payloads say: with late and superseding versions,
// after restarts, forgetting and compaction, with a catalogue that was lost, and where the list
// of an episode is damaged and payloads are read instead.
func TestLinksFromLists(t *testing.T) {
	dir := t.TempDir()
	s := keeping(t, dir)
	defer func() { s.Close() }()
	random := rand.New(rand.NewPCG(16, 3))
	for part := range engram.Time(8) {
		for k := range engram.Time(40) {
			var value any = "nothing"
			if random.IntN(3) > 0 {
				target := engram.MustID(fmt.Sprint("M/Any/t/", random.IntN(3)))
				switch at := engram.Time(random.IntN(50) + 1); random.IntN(3) {
				case 1:
					target = target.At(at)
				case 2:
					target = target.At(at).Instance(random.IntN(3))
				}
				value = []any{target, engram.MustID("M/Any/t/all")}
			}
			at := 100 + part*40 + k
			if random.IntN(4) == 0 {
				at = engram.Time(random.IntN(60) + 1) // late
			}
			testkit.Commit(t, s, testkit.Update(t, fmt.Sprint("M/Any/p/", random.IntN(6)), at, value),
				testkit.Update(t, "M/Any/p/inorder", 100+part*40+k, to("M/Any/t/all")))
		}
		if err := s.LongTerm().Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	check := func(after string) {
		t.Helper()
		late := engram.MaxTime - 1
		for _, asOf := range []*engram.Time{nil, &late} {
			if got, want := backLinks(t, s, asOf), payloadLinks(t, s); got != want || got == "" {
				t.Errorf("%s: links\n%s\nnot\n%s", after, got, want)
			}
		}
	}
	restart := func(between func()) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		between()
		s = keeping(t, dir)
	}
	listed := func() {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(dir, "episodes", "*.mcap"))
		for _, f := range files {
			r, err := episode.Open(f, episode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Links() == nil {
				t.Errorf("%s has no list of links", f)
			}
			r.Close()
		}
		if len(files) == 0 {
			t.Error("there are no episodes")
		}
	}
	check("in one epoch")
	restart(listed)
	check("after a restart")
	if _, err := s.LongTerm().Forget(t.Context(), longterm.Forgetting{Why: "test", Patterns: []engram.Pattern{engram.MustPattern("M/Any/p/~[123]|inorder")}, Span: engram.Interval{Start: 1, End: 150}}, nil); err != nil {
		t.Fatal(err)
	}
	check("after forgetting")
	restart(listed)
	check("after forgetting and a restart")
	if _, err := s.LongTerm().Compact(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	check("after compaction")
	restart(listed)
	check("after compaction and a restart")
	restart(func() {
		for _, f := range []string{"", "-wal", "-shm", ".sum"} {
			os.Remove(filepath.Join(dir, "catalogue.db"+f))
		}
	})
	check("without the catalogue")
	restart(func() {
		files, _ := filepath.Glob(filepath.Join(dir, "episodes", "*.mcap"))
		os.Remove(filepath.Join(dir, "catalogue.db.sum"))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			kind := []byte("application/vnd.engram.links")
			b[bytes.Index(b, kind)+len(kind)+10] ^= 1
			if err := os.WriteFile(f, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	check("with damaged lists")
}

// backLinks returns all links to the targets of TestLinksFromLists, in the order of texts.
func backLinks(t *testing.T, s *server.Server, asOf *engram.Time) string {
	t.Helper()
	var out []string
	for _, target := range []string{"0", "1", "2", "all"} {
		for b, err := range s.Links().BackLinks(t.Context(), service.BackQuery{Target: engram.MustID("M/Any/t/" + target), AsOf: asOf}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(b.Source, " ", b.Path, " ", b.Target))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// payloadLinks returns the same from the payloads that a query returns.
func payloadLinks(t *testing.T, s *server.Server) string {
	t.Helper()
	var out []string
	types := idf.NewRegistry()
	r, err := s.Query(t.Context(), engram.MustPattern("M/Any/p").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.All() {
		for i, in := range it.Instances {
			typ, _ := types.Get(in.Payload.Type)
			links, err := typ.Links(in.Payload.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range links {
				out = append(out, fmt.Sprint(it.ID.Instance(i), " ", l.Path, " ", l.ID))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
