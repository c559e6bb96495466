package catalogue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

var registry = idf.NewRegistry()

// record writes an episode with count versions of each entity from a time on, a
// second apart, and returns what it says.
func record(t testing.TB, dir, name string, from engram.Time, count int, entities ...engram.ID) (episode.Info, []episode.Entity) {
	t.Helper()
	return recordLoss(t, dir, name, "", from, count, entities...)
}

// recordLoss is record for an episode that says that it lost something.
func recordLoss(t testing.TB, dir, name, loss string, from engram.Time, count int, entities ...engram.ID) (episode.Info, []episode.Entity) {
	t.Helper()
	value, _ := registry.Get(engram.ValueType)
	w, err := episode.Create(dir, name, episode.Info{Robot: "armar", Marks: []episode.Mark{{Time: from, Label: "m", Before: time.Second}}}, episode.Options{Types: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	def := value.Def()
	for _, e := range entities {
		ch := &episode.Channel{Entity: e, Type: def}
		for i := range count {
			at := from + engram.Time(i)*1e9
			s := &engram.Snapshot{Time: at, Arrived: at, Number: uint64(i), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}
			if err := w.Add(context.Background(), ch, s, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if loss != "" {
		w.Lose(loss)
	}
	info, err := w.Seal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return info, w.Entities()
}

func open(t testing.TB, dir string) *catalogue.Catalogue {
	t.Helper()
	c, problems, err := catalogue.Open(context.Background(), catalogue.Options{
		Dir: dir, File: filepath.Join(dir, "..", "catalogue.sqlite"), Episode: episode.Options{Types: registry},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func folder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "episodes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// state is all that a catalogue tells.
func state(t testing.TB, c *catalogue.Catalogue) string {
	t.Helper()
	ctx := context.Background()
	out := ""
	episodes, err := c.Episodes(ctx, engram.Always())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range episodes {
		out += fmt.Sprintf("%+v\n", e)
	}
	var walk func(engram.ID)
	walk = func(id engram.ID) {
		if id.Level() == engram.LevelEntity {
			h, err := c.Holdings(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintf("%v %+v\n", id, h.All())
			return
		}
		names, err := c.Names(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			child, err := id.Child(n)
			if err != nil {
				t.Fatal(err)
			}
			walk(child)
		}
	}
	walk(engram.ID{})
	for _, level := range []engram.Level{engram.LevelCoreSegment, engram.LevelProviderSegment} {
		totals, err := c.Totals(ctx, level, catalogue.All)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%+v\n", totals)
	}
	return out
}

var (
	left  = engram.MustID("Vision/ImageRGB/Armar/left")
	right = engram.MustID("Vision/ImageRGB/Armar/right")
	cup   = engram.MustID(`Object/Instance/Vision\/Left/cup`)
)

func TestCatalogueFollowsTheEpisodes(t *testing.T) {
	ctx := context.Background()
	dir := folder(t)
	c := open(t, dir)
	if s := state(t, c); s != "[]\n[]\n" {
		t.Fatalf("an empty folder has %s", s)
	}
	infoA, entitiesA := record(t, dir, "a.mcap", 1e18, 10, left, cup)
	if err := c.Put(ctx, infoA, entitiesA); err != nil {
		t.Fatal(err)
	}
	infoB, entitiesB := record(t, dir, "b.mcap", 1e18+100e9, 10, left, right)
	if err := c.Put(ctx, infoB, entitiesB); err != nil {
		t.Fatal(err)
	}
	if names, _ := c.Names(ctx, left.Parent()); !slices.Equal(names, []string{"left", "right"}) {
		t.Errorf("the entities are %v", names)
	}
	h, err := c.Holdings(ctx, left)
	if err != nil || len(h.All()) != 2 || h.All()[0].Episode != "a.mcap" || !reflect.DeepEqual(h.All()[0].Entity, entitiesA[1]) {
		t.Errorf("left is held by %+v, %v; want %+v first", h.All(), err, entitiesA[1])
	}
	if info, err := c.Episode(ctx, "b.mcap"); err != nil || !reflect.DeepEqual(info, infoB) {
		t.Errorf("b says %+v, %v; want %+v", info, err, infoB)
	}
	if _, err := c.Episode(ctx, "c.mcap"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("an episode that is not there: %v", err)
	}
	totals, err := c.Totals(ctx, engram.LevelCoreSegment, catalogue.All)
	if err != nil || len(totals) != 2 || totals[1].Segment != engram.MustID("Vision/ImageRGB") || totals[1].Entities != 2 || totals[1].Snapshots != 30 {
		t.Errorf("the totals are %+v, %v", totals, err)
	}
	before := state(t, c)

	// Opened again, and made anew from nothing, it tells the same.
	c.Close()
	if _, err := c.Holdings(ctx, left); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("a closed catalogue answers %v", err)
	}
	c = open(t, dir)
	if s := state(t, c); s != before {
		t.Errorf("opened again it tells\n%s\nbefore it told\n%s", s, before)
	}
	c.Close()
	if err := os.Remove(filepath.Join(dir, "..", "catalogue.sqlite")); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir)
	if s := state(t, c); s != before {
		t.Errorf("made anew it tells\n%s\nbefore it told\n%s", s, before)
	}

	// An episode takes the place of two.
	infoC, entitiesC := record(t, dir, "c.mcap", 1e18, 3, left)
	if err := c.Put(ctx, infoC, entitiesC, "a.mcap", "b.mcap"); err != nil {
		t.Fatal(err)
	}
	if names, _ := c.Names(ctx, engram.ID{}); !slices.Equal(names, []string{"Vision"}) {
		t.Errorf("the memories are %v; nothing of Object is left", names)
	}
	if h, _ := c.Holdings(ctx, right); len(h.All()) != 0 {
		t.Errorf("right is held by %+v", h.All())
	}
	if err := c.Remove(ctx, "c.mcap"); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(ctx, "c.mcap"); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s != "[]\n[]\n" {
		t.Errorf("with all removed it tells %s", s)
	}
}

// Files that come, change and go while the catalogue is closed.
func TestCatalogueCatchesUp(t *testing.T) {
	dir := folder(t)
	record(t, dir, "a.mcap", 1e18, 10, left)
	record(t, dir, "b.mcap", 2e18, 10, cup)
	c := open(t, dir)
	c.Close()
	if err := os.Remove(filepath.Join(dir, "b.mcap")); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "a.mcap"))
	record(t, dir, "a.mcap", 1e18, 20, left, right)
	record(t, dir, "d.mcap", 3e18, 5, right)
	if err := os.WriteFile(filepath.Join(dir, "e.mcap"), []byte("no episode"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, problems, err := catalogue.Open(context.Background(), catalogue.Options{
		Dir: dir, File: filepath.Join(dir, "..", "catalogue.sqlite"), Episode: episode.Options{Types: registry},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(problems) != 3 || problems[0].Name != "a.mcap" || !problems[0].Replaced || len(problems[0].Held) != 1 ||
		problems[1].Name != "b.mcap" || engram.CodeOf(problems[1].Err) != engram.NotFound ||
		problems[2].Name != "e.mcap" || engram.CodeOf(problems[2].Err) != engram.Corrupt {
		t.Errorf("the problems are %v", problems)
	}
	episodes, _ := c.Episodes(context.Background(), engram.Always())
	if len(episodes) != 2 || episodes[0].Name != "a.mcap" || episodes[0].Snapshots != 40 || episodes[1].Name != "d.mcap" {
		t.Errorf("the episodes are %+v", episodes)
	}
	if in, _ := c.Episodes(context.Background(), engram.Interval{Start: 3e18 + 1, End: 4e18}); len(in) != 1 || in[0].Name != "d.mcap" {
		t.Errorf("of the last span are %+v", in)
	}
	if names, _ := c.Names(context.Background(), engram.ID{}); !slices.Equal(names, []string{"Vision"}) {
		t.Errorf("the memories are %v", names)
	}
}

// What was taken out of an episode while the catalogue did not know is no damage; another
// episode in its place is, though something was taken out of that, too.
func TestOtherEpisodeInThePlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    engram.Time
		count   int
		loss    string
		problem bool
	}{
		{"written anew", 2e18, 10, "", false},
		{"something was taken out", 2e18, 4, "forgotten on request", false},
		{"something is gone", 2e18, 4, "", true},
		{"another one", 1e18, 10, "", true},
		{"another one, of which something was taken out", 1e18, 10, "forgotten on request", true},
		{"a larger one, of which something was taken out", 2e18, 11, "forgotten on request", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			record(t, dir, "a.mcap", 2e18, 10, left)
			open(t, dir).Close()
			if err := os.Remove(filepath.Join(dir, "a.mcap")); err != nil {
				t.Fatal(err)
			}
			recordLoss(t, dir, "a.mcap", c.loss, c.from, c.count, left)
			cat, problems, err := catalogue.Open(t.Context(), catalogue.Options{
				Dir: dir, File: filepath.Join(dir, "..", "catalogue.sqlite"), Episode: episode.Options{Types: registry},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			if (len(problems) > 0) != c.problem {
				t.Errorf("the problems are %+v", problems)
			}
		})
	}
}

// harms are what may stand in the place of one of the catalogue's files.
var harms = map[string]func(file string, whole []byte) error{
	"missing":        func(file string, _ []byte) error { return os.RemoveAll(file) },
	"empty":          harm(func([]byte) []byte { return nil }),
	"text":           harm(func([]byte) []byte { return []byte("this is no database, whatever its name says. And it goes on.") }),
	"cut":            harm(func(b []byte) []byte { return b[:len(b)/2] }),
	"cut in a page":  harm(func(b []byte) []byte { return b[:min(len(b), 5000)] }),
	"appended to":    harm(func(b []byte) []byte { return append(slices.Clone(b), "and more"...) }),
	"zeros":          harm(func(b []byte) []byte { b = slices.Clone(b); clear(b[min(len(b)-1, 4096):]); return b }),
	"other version":  harm(func(b []byte) []byte { b = slices.Clone(b); b[min(63, len(b)-1)] = 77; return b }),
	"damaged header": harm(func(b []byte) []byte { b = slices.Clone(b); copy(b, "xxxxxxxx"); return b }),
	"noise": harm(func(b []byte) []byte {
		b = slices.Clone(b)
		chance := rand.New(rand.NewPCG(1, uint64(len(b))))
		for i := range b {
			b[i] = byte(chance.Uint32())
		}
		return b
	}),
	"a folder":            func(file string, _ []byte) error { return os.Mkdir(file, 0o700) },
	"a folder of no mode": func(file string, _ []byte) error { return os.Mkdir(file, 0) },
	"a folder with a file": func(file string, _ []byte) error {
		return errors.Join(os.Mkdir(file, 0o700), os.WriteFile(filepath.Join(file, "mine"), nil, 0o600))
	},
	"a folder with a file, again": func(file string, _ []byte) error {
		return errors.Join(os.MkdirAll(filepath.Join(file, "mine"), 0o700), os.MkdirAll(filepath.Join(file+vfs.DamagedSuffix, "mine"), 0o700))
	},
	"a dangling link":             func(file string, _ []byte) error { return os.Symlink("nothing", file) },
	"a link dangling far away":    func(file string, _ []byte) error { return os.Symlink("/nowhere/at/all", file) },
	"a link to itself":            func(file string, _ []byte) error { return os.Symlink(filepath.Base(file), file) },
	"a link to a folder":          func(file string, _ []byte) error { return os.Symlink(".", file) },
	"a link to a file of another": func(file string, _ []byte) error { return os.Symlink("/dev/null", file) },
	"a pipe":                      func(file string, _ []byte) error { return syscall.Mkfifo(file, 0o600) },
	"not to be read":              func(file string, whole []byte) error { return os.WriteFile(file, whole, 0) },
	"not to be written":           func(file string, whole []byte) error { return os.WriteFile(file, whole, 0o400) },
}

func harm(by func([]byte) []byte) func(string, []byte) error {
	return func(file string, whole []byte) error {
		if len(whole) == 0 {
			whole = []byte("what was never there")
		}
		return os.WriteFile(file, by(whole), 0o600)
	}
}

// Whatever stands in the place of one of its files, the catalogue opens, lies in its file
// afterwards and tells what the episodes tell. What is somebody's own is not removed.
func TestDamagedCatalogueIsRebuilt(t *testing.T) {
	dir := folder(t)
	for i := range 20 {
		record(t, dir, fmt.Sprintf("%02d.mcap", i), engram.Time(1e18+i*100e9), 3, left, right, cup)
	}
	c := open(t, dir)
	want := state(t, c)
	file := filepath.Join(dir, "..", "catalogue.sqlite")
	suffixes := []string{"", "-wal", "-shm", "-journal", ".sum"}
	read := func() [5][]byte {
		var files [5][]byte
		for i, suffix := range suffixes {
			var err error
			if files[i], err = os.ReadFile(file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		return files
	}
	killed := read() // while it is open
	c.Close()
	for when, files := range map[string][5][]byte{"ended": read(), "killed": killed} {
		for i, damaged := range suffixes {
			for name, harm := range harms {
				t.Run(fmt.Sprintf("%s %s of one that was %s", name, damaged, when), func(t *testing.T) {
					for k, suffix := range suffixes {
						if err := os.RemoveAll(file + suffix); err != nil {
							t.Fatal(err)
						}
						if k != i && files[k] != nil {
							if err := os.WriteFile(file+suffix, files[k], 0o600); err != nil {
								t.Fatal(err)
							}
						}
					}
					if err := harm(file+damaged, files[i]); err != nil {
						t.Fatal(err)
					}
					c := open(t, dir)
					if s := state(t, c); s != want {
						t.Errorf("it tells\n%s\nwant\n%s", s, want)
					}
					c.Close()
					if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
						t.Errorf("afterwards it is in no file: %v, %v", info, err)
					}
					if strings.Contains(name, "with a file") {
						aside, err := filepath.Glob(file + damaged + vfs.DamagedSuffix + "*/mine")
						if err != nil || len(aside) == 0 {
							t.Errorf("the folder's file is gone: %v", err)
						}
					}
					aside, _ := filepath.Glob(file + "*" + vfs.DamagedSuffix + "*")
					for _, path := range aside {
						if err := os.RemoveAll(path); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// A flipped bit anywhere in its file changes nothing of what the catalogue tells, and one
// that is whole is not made anew.
func TestFlippedBitsOfTheCatalogue(t *testing.T) {
	dir := folder(t)
	for i := range 20 {
		record(t, dir, fmt.Sprintf("%02d.mcap", i), engram.Time(1e18+i*100e9), 3, left, right, cup)
	}
	c := open(t, dir)
	want := state(t, c)
	c.Close()
	file := filepath.Join(dir, "..", "catalogue.sqlite")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	open(t, dir).Close()
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("a catalogue that is whole was made anew: %v", err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(file + ".sum")
	if err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(3, 4))
	for range testkit.Repeats(40, 200) {
		b := slices.Clone(whole)
		at, bit := chance.IntN(len(b)), chance.IntN(8)
		b[at] ^= 1 << bit
		if err := errors.Join(os.WriteFile(file, b, 0o600), os.WriteFile(file+".sum", sum, 0o600)); err != nil {
			t.Fatal(err)
		}
		c := open(t, dir)
		if s := state(t, c); s != want {
			t.Fatalf("with bit %d of byte %d flipped it tells\n%s\nwant\n%s", bit, at, s, want)
		}
		c.Close()
	}
}

// In and Back against a slow model.
func TestHoldingsFind(t *testing.T) {
	dir := folder(t)
	c := open(t, dir)
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		type span struct {
			from  engram.Time
			count int
		}
		spans := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) span {
			return span{engram.Time(rapid.IntRange(0, 20).Draw(rt, "from")) * 1e9, rapid.IntRange(1, 8).Draw(rt, "count")}
		}), 0, 6).Draw(rt, "spans")
		for i, s := range spans {
			info := episode.Info{Name: fmt.Sprintf("%d.mcap", i)}
			if err := os.WriteFile(filepath.Join(dir, info.Name), nil, 0o644); err != nil {
				rt.Fatal(err)
			}
			defer c.Remove(ctx, info.Name)
			e := episode.Entity{ID: left, Span: engram.Interval{Start: s.from, End: s.from + engram.Time(s.count-1)*1e9 + 1}}
			if err := c.Put(ctx, info, []episode.Entity{e}); err != nil {
				rt.Fatal(err)
			}
		}
		h, err := c.Holdings(ctx, left)
		if err != nil {
			rt.Fatal(err)
		}
		iv := engram.Interval{Start: engram.Time(rapid.IntRange(0, 30).Draw(rt, "start")) * 1e9}
		iv.End = iv.Start + engram.Time(rapid.IntRange(0, 10).Draw(rt, "length"))*1e9
		found := map[string]bool{}
		last := engram.MinTime
		for e := range h.In(iv) {
			found[e.Episode] = true
			if e.Span.Start < last {
				rt.Errorf("%v comes after one that begins at %v", e.Span, last)
			}
			last = e.Span.Start
		}
		at := iv.Start
		// The newest time at or before at, by the rule that Back gives.
		best, ok := engram.MinTime, false
		for e := range h.Back(at) {
			if ok && e.Span.End <= best {
				break
			}
			for t := e.Span.Start; t < e.Span.End && t <= at; t += 1e9 {
				if t >= best {
					best, ok = t, true
				}
			}
		}
		wantBest, wantOK := engram.MinTime, false
		for i, s := range spans {
			within := false
			for k := range s.count {
				t := s.from + engram.Time(k)*1e9
				within = within || iv.Contains(t)
				if t <= at && t >= wantBest {
					wantBest, wantOK = t, true
				}
			}
			if name := fmt.Sprintf("%d.mcap", i); within && !found[name] {
				rt.Errorf("%s with %v is not found in %v", name, s, iv)
			}
		}
		if best != wantBest || ok != wantOK {
			rt.Errorf("at or before %v: %v %v, want %v %v", at, best, ok, wantBest, wantOK)
		}
	})
}

// Rebuilding that fails is made up for by the next call.
func TestRebuildingThatFailsIsTriedAgain(t *testing.T) {
	dir := folder(t)
	record(t, dir, "1.mcap", 1e18, 3, left)
	file := filepath.Join(dir, "..", "catalogue.sqlite")
	faulty := vfs.NewFaulty(vfs.OS, dir)
	c, _, err := catalogue.Open(t.Context(), catalogue.Options{Dir: dir, File: file, Episode: episode.Options{Types: registry, FS: faulty}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := state(t, c)
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE episodes SET info = '{'"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for what, fault := range map[string]vfs.Fault{
		"the folder cannot be read":  {Op: vfs.OpReadDir},
		"an episode is not let open": {Op: vfs.OpOpen, Name: "1.mcap", Err: syscall.EMFILE}, // it would not be told that it is lacking
	} {
		faulty.Inject(fault)
		for range 2 {
			if _, err := c.Episodes(t.Context(), engram.Always()); engram.CodeOf(err) != engram.Unavailable {
				t.Errorf("while %s: %v; want Unavailable", what, err)
			}
		}
		faulty.Heal()
	}
	if got := state(t, c); got != want {
		t.Errorf("it tells\n%s\nwant\n%s", got, want)
	}
}

// What a crash left open is known by the name that it is to have, as far as it is whole, and
// without damage; when it is sealed, or had nothing and is gone, nothing is said to be missing.
func TestLeftOpen(t *testing.T) {
	dir := folder(t)
	options := func(left ...string) catalogue.Options {
		return catalogue.Options{Dir: dir, File: filepath.Join(dir, "..", "catalogue.sqlite"), Episode: episode.Options{Types: registry}, Left: left}
	}
	value, _ := registry.Get(engram.ValueType)
	for _, name := range []string{"1.mcap", "2.mcap", "3.mcap"} {
		w, err := episode.Create(dir, name, episode.Info{Robot: "armar"}, options().Episode)
		if err != nil {
			t.Fatal(err)
		}
		s := &engram.Snapshot{Time: 1e18, Arrived: 1e18, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}
		if err := w.Add(t.Context(), &episode.Channel{Entity: left, Type: value.Def()}, s, name == "2.mcap"); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	for range 2 { // read, and known
		c, problems, err := catalogue.Open(t.Context(), options("1.mcap.open", "2.mcap.open", "3.mcap.open"))
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		list, err := c.Episodes(t.Context(), engram.Always())
		if err != nil || len(list) != 3 || list[0].Name != "1.mcap" || list[0].Sealed || list[0].Damage != nil || list[0].Snapshots != 1 {
			t.Errorf("there are %+v, %v", list, err)
		}
		if h, err := c.Holdings(t.Context(), left); err != nil || len(h.All()) != 3 {
			t.Errorf("%+v, %v", h.All(), err)
		}
		c.Close()
	}
	if _, _, err := episode.Salvage(t.Context(), filepath.Join(dir, "1.mcap.open"), filepath.Join(dir, "1.mcap"), options().Episode); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"2.mcap.open", "3.mcap.open"} { // the first was nothing but a value in force
		if err := os.Remove(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	c, problems, err := catalogue.Open(t.Context(), options("1.mcap.open"))
	if err != nil || len(problems) != 1 || problems[0].Name != "3.mcap" || engram.CodeOf(problems[0].Err) != engram.NotFound || len(problems[0].Held) != 1 {
		t.Errorf("problems are %+v, %v; want that what is gone is missing", problems, err)
	}
	if list, err := c.Episodes(t.Context(), engram.Always()); err != nil || len(list) != 1 || !list[0].Sealed || list[0].Damage != nil {
		t.Errorf("there are %+v, %v; want the sealed one", list, err)
	}
	c.Close()
}

// More entities than a statement takes, in several segments, and some of them gone again.
func TestManyEntities(t *testing.T) {
	ctx := context.Background()
	dir := folder(t)
	c := open(t, dir)
	var all []engram.ID
	for i := range 450 {
		all = append(all, engram.MustID(fmt.Sprintf("RobotState/Proprioception/robot-%d/joint-%03d", i%2, i)))
	}
	info, entities := record(t, dir, "a.mcap", 1e18, 1, all...)
	if err := c.Put(ctx, info, entities); err != nil {
		t.Fatal(err)
	}
	info, entities = record(t, dir, "b.mcap", 2e18, 2, all[:3]...)
	if err := c.Put(ctx, info, entities); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{225, 225} {
		if names, err := c.Names(ctx, engram.MustID(fmt.Sprintf("RobotState/Proprioception/robot-%d", i))); err != nil || len(names) != want {
			t.Errorf("robot %d has %d joints, %v", i, len(names), err)
		}
	}
	for i, id := range all {
		want := 1
		if i < 3 {
			want = 2
		}
		if h, err := c.Holdings(ctx, id); err != nil || len(h.All()) != want {
			t.Fatalf("%v: %+v, %v", id, h, err)
		}
	}
	held, err := c.Held(ctx, all[0].Parent(), catalogue.All)
	if err != nil || len(held) != 225 || held[0] != (catalogue.Held{
		Name: "joint-000", Type: engram.ValueType, Snapshots: 3, Bytes: held[0].Bytes, Span: engram.Interval{Start: 1e18, End: 2e18 + 1e9 + 1},
	}) {
		t.Errorf("%d entities are held, the first is %+v, %v", len(held), held[0], err)
	}
	if held, err = c.Held(ctx, all[0].Parent(), only(func(name string) bool { return name == "b.mcap" })); err != nil || len(held) != 2 || held[0].Snapshots != 2 {
		t.Errorf("of one episode: %+v, %v", held, err)
	}
	// What leaves between a look into the cache and one into the file is asked for anew.
	moments := 0
	leaving := func() func(string) bool {
		moments++
		gone := []string{"", "a.mcap", "b.mcap"}[moments]
		return func(name string) bool { return name != gone }
	}
	if held, err = c.Held(ctx, all[0].Parent(), leaving); err != nil || moments != 2 || len(held) == 0 {
		t.Errorf("in %d moments %+v, %v", moments, held, err)
	}
	if totals, err := c.Totals(ctx, engram.LevelProviderSegment, only(func(name string) bool { return name == "b.mcap" })); err != nil || len(totals) != 2 || totals[0].Snapshots != 4 {
		t.Errorf("of one episode: %+v, %v", totals, err)
	}
	if err := c.Remove(ctx, "a.mcap"); err != nil {
		t.Fatal(err)
	}
	if names, err := c.Names(ctx, all[0].Parent()); err != nil || !slices.Equal(names, []string{"joint-000", "joint-002"}) {
		t.Errorf("robot 0 has %v, %v", names, err)
	}
	if held, err := c.Held(ctx, all[1].Parent(), catalogue.All); err != nil || len(held) != 1 || held[0].Snapshots != 2 {
		t.Errorf("robot 1 has %+v, %v", held, err)
	}
}

// What is late is told of the episodes and the core segments that are asked about, each entity
// once; of what was not recorded, such as values in force, nothing is.
func TestLate(t *testing.T) {
	ctx := context.Background()
	dir := folder(t)
	c := open(t, dir)
	const hour = engram.Time(time.Hour)
	x, y, z, other := engram.MustID("M/A/p/x"), engram.MustID("M/A/q/y"), engram.MustID("M/B/p/z"), engram.MustID("M/C/p/x")
	for _, e := range []struct {
		name string
		from engram.Time
		of   []engram.ID
	}{{"a.mcap", hour, []engram.ID{x, y, z, other}}, {"b.mcap", 2 * hour, []engram.ID{x, other}}, {"c.mcap", 3 * hour, []engram.ID{x, y, z, other}}} {
		info, entities := record(t, dir, e.name, e.from, 1, e.of...)
		for i := range entities {
			if e.name == "c.mcap" && entities[i].ID == y {
				entities[i].Recorded = engram.Interval{}
			}
		}
		if err := c.Put(ctx, info, entities); err != nil {
			t.Fatal(err)
		}
	}
	type found = map[engram.ID]catalogue.Late
	a, b := x.Truncate(engram.LevelCoreSegment), z.Truncate(engram.LevelCoreSegment)
	for _, q := range []struct {
		episodes []string
		after    map[engram.ID]engram.Time
		besides  engram.ID
		want     found
	}{
		{nil, map[engram.ID]engram.Time{a: 0}, engram.ID{}, found{}},
		{[]string{"a.mcap", "b.mcap"}, map[engram.ID]engram.Time{a: hour - 1, b: hour}, engram.ID{}, found{a: {2, x, 2 * hour}}},
		{[]string{"a.mcap", "b.mcap"}, map[engram.ID]engram.Time{a: hour - 1, b: 0}, x, found{a: {1, y, hour}, b: {1, z, hour}}},
		{[]string{"a.mcap", "c.mcap"}, map[engram.ID]engram.Time{a: hour, b: 3*hour - 1}, engram.ID{}, found{a: {1, x, 3 * hour}, b: {1, z, 3 * hour}}},
		{[]string{"a.mcap", "b.mcap", "c.mcap"}, map[engram.ID]engram.Time{a: 3 * hour}, engram.ID{}, found{}},
	} {
		got, err := c.Late(ctx, q.episodes, q.after, func(id engram.ID) bool { return id == q.besides })
		if err != nil || !reflect.DeepEqual(got, q.want) {
			t.Errorf("of %v after %v there is %+v, %v; want %+v", q.episodes, q.after, got, err, q.want)
		}
	}
}

// A catalogue that an earlier release has made so that others may read it is for this
// user alone once it is opened.
func TestOpeningMakesItPrivate(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "..", "catalogue.sqlite")
	open(t, dir).Close()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	made, err := filepath.Glob(file + "*")
	if err != nil || len(made) == 0 {
		t.Fatalf("files %v, %v", made, err)
	}
	for _, path := range made {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want one that only this user may read", path, info.Mode(), err)
		}
	}
}

// Whoever asks about entities in the order of their names, for whom those that follow are
// read ahead, is told the same as who asks in any order; also of names that are not there.
func TestHoldingsInTheOrderOfNames(t *testing.T) {
	dir := folder(t)
	var entities, asked []engram.ID
	for i := range 600 {
		id := engram.MustID(fmt.Sprintf("Test/S/p%d/e%d", i%2, i))
		asked = append(asked, id)
		if i%7 != 0 {
			entities = append(entities, id)
		}
	}
	for i := range 3 {
		record(t, dir, fmt.Sprintf("%d.mcap", i), engram.Time(i)*100e9, 2, entities[i*100:i*100+250]...)
	}
	want, ordered := open(t, dir), open(t, dir)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	holdings := map[engram.ID][]catalogue.Holding{}
	for _, id := range asked {
		h, err := want.Holdings(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		holdings[id] = slices.Clone(h.All())
	}
	slices.SortFunc(asked, engram.ID.Compare)
	there := 0
	for _, id := range asked {
		h, err := ordered.Holdings(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(slices.Clone(h.All()), holdings[id]) {
			t.Errorf("%v: %+v in the order of names, %+v in any", id, h.All(), holdings[id])
		}
		there += len(h.All())
	}
	if there != 750 {
		t.Errorf("%d holdings are there; want 750", there)
	}
}

// only has those episodes count of which a condition holds.
func only(counts func(string) bool) catalogue.Counting {
	return func() func(string) bool { return counts }
}
