package ltm_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/internal/digests"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// linked is a memory with an index of links.
type linked struct {
	*life
	*rand.Rand
	testing.TB
	o        ltm.Options
	byItself bool   // what is kept is written by itself
	root     string // of what was kept of files, to be put back
	arrived  []engram.Time
	used     int // queries that the index answered …
	kept     int // … of which all was kept beside the episodes
	found    int
}

func (x *linked) begin() {
	x.life = beginWithin(x, x.o, wm.Limits{Recent: 64})
	if !x.byItself {
		x.StopDigester()
	}
	x.register("")
}

// register has the index made anew, by a robot of that name.
func (x *linked) register(naming query.Naming) {
	x.wm.Indexes().Remove("links")
	err := x.wm.Indexes().Register("links", wm.IndexOptions{New: func() query.Index { return query.NewLinkIndex(naming, x.Types()) }})
	if err != nil {
		x.Fatal(err)
	}
}

func (x *linked) entity() engram.ID {
	return engram.MustID(fmt.Sprintf("%v/p%d/e%d", segments[x.IntN(len(segments))].ID, x.IntN(2), x.IntN(8)))
}

func (x *linked) target() engram.ID {
	switch e := x.entity(); x.IntN(8) {
	case 0:
		return e.Parent()
	case 1, 2:
		return e
	default:
		return e.At(engram.Time(x.IntN(40)))
	}
}

// commit commits an update of an entity; most have no link.
func (x *linked) commit(entity engram.ID) {
	u := engram.EntityUpdate{Entity: entity, Time: engram.Time(x.IntN(40))}
	for range 1 + x.IntN(2) {
		var links []any
		for x.IntN(2) == 0 {
			links = append(links, x.target())
		}
		p, err := idf.ValuePayload(map[string]any{"of": links, "n": x.IntN(100)})
		if err != nil {
			x.Fatal(err)
		}
		u.Instances = append(u.Instances, engram.NewInstance(p))
	}
	results, err := x.wm.Commit(x.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil || results[0].Err != nil && engram.CodeOf(results[0].Err) != engram.TooOld {
		x.Fatal(err, results)
	}
	if s, err := x.Latest(x.Context(), entity); err == nil && x.IntN(10) == 0 {
		x.arrived = append(x.arrived, s.Arrived)
	}
}

// ask compares the answer to a query with the index and without.
func (x *linked) ask() {
	selectors := []engram.SnapshotSelector{
		engram.All(), engram.Latest(1 + x.IntN(3)), engram.AtOrBefore(engram.Time(x.IntN(40))),
		engram.In(engram.Interval{Start: engram.Time(x.IntN(20)), End: engram.Time(20 + x.IntN(20))}), engram.Indices(-2, 0), engram.Nearest(20, 10),
	}
	q := engram.Pattern{}.Select(selectors[x.IntN(len(selectors))])
	for range 1 + x.IntN(6) {
		q.LinksTo = append(q.LinksTo, x.target())
	}
	q.LinksExactly = x.IntN(4) == 0
	q.Target, q.FilterOrder, q.WithoutPayload = engram.Target(x.IntN(3)), engram.FilterOrder(x.IntN(2)), x.IntN(2) == 0
	if len(x.arrived) > 0 && x.IntN(3) == 0 {
		q.AsOf = &x.arrived[x.IntN(len(x.arrived))]
	}
	if x.IntN(3) > 0 {
		if err := x.wm.Indexes().Await(x.Context(), "links"); err != nil {
			x.Fatal(err)
		}
		x.used++
		if len(files(x, x.o.Dir, "episodes/*.mcap")) > 0 && x.Figures().Undigested == 0 {
			x.kept++
		}
	}
	with, err := x.Query(x.Context(), q)
	if err != nil {
		x.Fatal(err)
	}
	// Who asks for names looks at all entities.
	names := engram.Pattern{}.Select()
	names.Memories[0].Names = engram.OneOf("Nope")
	q.Memories = append(q.Memories, names.Memories...)
	plain, err := x.Query(x.Context(), q)
	if err != nil {
		x.Fatal(err)
	}
	x.found += len(plain.Items())
	if !reflect.DeepEqual(with.Items(), plain.Items()) || !reflect.DeepEqual(with.Missing, plain.Missing) {
		x.Fatalf("what links to %v, target %d, order %d, as of %v, %+v:\nwith the index %v, missing %+v\nwithout %v, missing %+v",
			q.LinksTo, q.Target, q.FilterOrder, q.AsOf, q.Memories[0].Children[0].Children[0].Children[0].Snapshots, ids(with), with.Missing, ids(plain), plain.Missing)
	}
}

// harm does something to what is kept beside episodes.
func (x *linked) harm() {
	list := files(x, x.o.Dir, "episodes/*"+digests.Ext)
	old := files(x, x.root, "*"+digests.Ext)
	if len(list) == 0 {
		return
	}
	path := list[x.IntN(len(list))]
	text, err := os.ReadFile(path)
	if err != nil {
		x.Fatal(err)
	}
	switch x.IntN(6) {
	case 0:
		err = os.Remove(path)
	case 1:
		err = os.Truncate(path, int64(x.IntN(len(text))))
	case 2:
		err = flip(text, x.IntN(len(text)), x.IntN(8))(path)
	case 3: // of another episode
		err = copyFile(path, list[x.IntN(len(list))])
	case 4: // to be put back when the episode is another one
		err = copyFile(filepath.Join(x.root, filepath.Base(path)), path)
	default:
		if len(old) > 0 {
			from := old[x.IntN(len(old))]
			err = copyFile(filepath.Join(x.o.Dir, "episodes", filepath.Base(from)), from)
		}
	}
	if err != nil {
		x.Fatal(err)
	}
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// forget forgets some of an entity, or of all.
func (x *linked) forget() {
	f := ltm.Forgetting{Patterns: []engram.Pattern{engram.PatternOf(x.entity())}, Span: engram.Interval{Start: engram.Time(x.IntN(20)), End: engram.Time(20 + x.IntN(20))}, Why: "test"}
	if x.IntN(4) == 0 {
		f.Patterns, f.Span.End = []engram.Pattern{{}}, f.Span.Start+5
	}
	if _, err := x.Forget(x.Context(), f, nil); err != nil {
		x.Fatal(err)
	}
}

// What links to something is the same with the index as without, whatever is kept beside the
// episodes: all of them or some, as they are sealed, forgotten from, taken together and dropped,
// and if what is kept is deleted, cut, damaged, of another episode or of an earlier one of the
// same name.
func TestDigestsChangeNoAnswer(t *testing.T) {
	used, kept, found := 0, 0, 0
	for seed := range uint64(testkit.Repeats(4, 60)) {
		x := &linked{Rand: rand.New(rand.NewPCG(seed, 3)), TB: t, o: ltm.Options{Dir: fastDir(t)}, root: fastDir(t)}
		x.begin()
		for range 80 {
			switch x.IntN(14) {
			case 0, 1:
				if err := x.Seal(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
			case 2:
				x.end(t)
				if x.IntN(2) == 0 {
					x.harm()
				}
				x.begin()
			case 3:
				x.forget()
			case 4:
				if _, err := x.Compact(t.Context(), false, nil); err != nil {
					t.Fatal(err)
				}
			case 5, 6:
				x.KeepDigests(t.Context())
			case 7, 8:
				x.harm()
				x.register("")
				x.ask()
			case 9, 10:
				for range 1 + x.IntN(20) {
					x.commit(x.entity())
				}
			default:
				x.ask()
			}
		}
		used, kept, found = used+x.used, kept+x.kept, found+x.found
	}
	t.Logf("%d queries, %d with all that is kept, found %d", used, kept, found)
	if used < 20 || kept < 3 || found < 20 {
		t.Errorf("%d queries of the index, %d with all that is kept, found %d", used, kept, found)
	}
}

// linkTo commits something that links to an entity of that name.
func (x *linked) linkTo(name string, at engram.Time) {
	x.life.commit(x, "Test/Logged/p/from-"+name, at, map[string]any{"of": engram.MustID("Test/Logged/p/" + name)})
}

// isKept reports whether a link to an entity of that name is in a file beside an episode, or in
// one that was to be one.
func isKept(t testing.TB, dir, name string) bool {
	t.Helper()
	for _, path := range files(t, dir, "episodes/*"+digests.Ext+"*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, digests.Unfinished) { // nothing else reads it
			copied := filepath.Join(t.TempDir(), "x"+digests.Ext)
			if err := os.WriteFile(copied, text, 0o600); err != nil {
				t.Fatal(err)
			}
			path = copied
		}
		kept := bytes.Contains(text, []byte(name))
		if f, err := digests.Open(vfs.OS, strings.TrimSuffix(path, digests.Ext)); err == nil {
			f.Each(t.Context(), "links 1", func(id engram.ID, _ engram.Time, digest []byte) error {
				kept = kept || bytes.Contains(digest, []byte(name)) || id.Entity() == "from-"+name
				return nil
			})
			f.Close()
		}
		if kept {
			return true
		}
	}
	return false
}

func newLinked(t testing.TB, o ltm.Options) *linked {
	x := &linked{Rand: rand.New(rand.NewPCG(1, 4)), TB: t, o: o, root: fastDir(t)}
	x.begin()
	return x
}

// seal seals an episode and has its digests kept.
func (x *linked) seal() {
	x.Helper()
	if err := x.Seal(x.Context(), "test"); err != nil {
		x.Fatal(err)
	}
	x.KeepDigests(x.Context())
	if n := x.Figures().Undigested; n != 0 {
		x.Fatalf("beside %d episodes something is lacking; health %q", n, x.Health())
	}
}

// What is forgotten, in part or with its episode, is in no file beside an episode either, when
// the order has been carried out.
func TestForgottenLinksAreKeptNowhere(t *testing.T) {
	for what, forget := range map[string]func(x *linked) error{
		"an entity": func(x *linked) error {
			_, err := x.Forget(t.Context(), ltm.Forgetting{Patterns: patterns("Test/Logged/p/from-secret"), Span: engram.Always(), Why: "test"}, nil)
			return err
		},
		"all": func(x *linked) error {
			_, err := x.Forget(t.Context(), ltm.Forgetting{Patterns: patterns("Test"), Span: engram.Always(), Why: "test"}, nil)
			return err
		},
		"an episode": func(x *linked) error {
			list, err := x.Episodes(t.Context(), engram.Always())
			for _, e := range list {
				if e.Sealed && err == nil {
					err = x.DropEpisode(t.Context(), e.Name, "test", "")
				}
			}
			return err
		},
	} {
		x := newLinked(t, ltm.Options{Dir: fastDir(t)})
		x.linkTo("secret", 1)
		x.linkTo("other", 2)
		x.seal()
		if !isKept(t, x.o.Dir, "secret") || !isKept(t, x.o.Dir, "other") {
			t.Fatalf("%s: nothing is kept", what)
		}
		if err := forget(x); err != nil {
			t.Fatal(err)
		}
		if isKept(t, x.o.Dir, "secret") {
			t.Errorf("%s: what was forgotten is kept", what)
		}
		x.KeepDigests(t.Context())
		if other := isKept(t, x.o.Dir, "other"); isKept(t, x.o.Dir, "secret") || other != (what == "an entity") {
			t.Errorf("%s: afterwards what was forgotten is kept, or the other is: %v", what, other)
		}
	}
}

// onCreate calls a function when a file is made whose name ends so, and counts those of them
// that were renamed.
type onCreate struct {
	vfs.FS
	suffix  string
	do      func()
	renamed int
}

func (c *onCreate) Rename(from, to string) error {
	if strings.HasSuffix(from, c.suffix) {
		c.renamed++
	}
	return c.FS.Rename(from, to)
}

func (c *onCreate) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if flag&os.O_CREATE != 0 && strings.HasSuffix(name, c.suffix) {
		c.do()
	}
	return f, err
}

// Who forgets something of an episode while its digests are being written does not wait for
// them, and nothing of them stays.
func TestForgettingWhileDigestsAreWritten(t *testing.T) {
	disk := &onCreate{FS: vfs.OS, suffix: digests.Unfinished, do: func() {}}
	x := newLinked(t, ltm.Options{Dir: fastDir(t), FS: disk})
	x.linkTo("secret", 1)
	x.linkTo("other", 2)
	if err := x.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	disk.do = func() {
		disk.do = func() {}
		go func() {
			_, err := x.Forget(t.Context(), ltm.Forgetting{Patterns: patterns("Test/Logged/p/from-secret"), Span: engram.Always(), Why: "test"}, nil)
			done <- err
		}()
		for !x.IsWanted() {
			runtime.Gosched()
		}
	}
	x.KeepDigests(t.Context())
	if disk.renamed > 0 {
		t.Error("who forgets waited until all was written")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if list := files(t, x.o.Dir, "episodes/*"+digests.Ext+"*"); len(list) > 0 {
		t.Errorf("there are %q", list)
	}
	x.KeepDigests(t.Context())
	if isKept(t, x.o.Dir, "secret") || !isKept(t, x.o.Dir, "other") {
		t.Error("what was forgotten is kept, or the other is not")
	}
}

// A disk that refuses to take digests is told, harms nothing, and is tried again; one that does
// not let them be deleted keeps what is to be forgotten from being told as forgotten.
func TestDigestsOnAFailingDisk(t *testing.T) {
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	x := newLinked(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	x.linkTo("secret", 1)
	if err := x.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename} {
		disk.Inject(vfs.Fault{Op: op, Name: digests.Ext, Err: vfs.ErrFull})
		x.KeepDigests(t.Context())
		if told := strings.Join(x.Health(), "\n"); !strings.Contains(told, "beside episodes") {
			t.Errorf("%s: health says %q", op, told)
		}
		if list := files(t, x.o.Dir, "episodes/*"+digests.Ext+"*"); len(list) > 0 || x.Figures().Undigested != 1 {
			t.Errorf("%s: there are %q, %d are lacking", op, list, x.Figures().Undigested)
		}
		x.ask()
		disk.Heal()
	}
	x.KeepDigests(t.Context())
	if told := x.Health(); len(told) > 0 || x.Figures().Undigested != 0 {
		t.Errorf("%d are lacking, health %q", x.Figures().Undigested, told)
	}
	disk.Inject(vfs.Fault{Op: vfs.OpRemove, Name: digests.Ext})
	order := ltm.Forgetting{Patterns: patterns("Test/Logged/p/from-secret"), Span: engram.Always(), Why: "test"}
	if _, err := x.Forget(t.Context(), order, nil); err == nil || !isKept(t, x.o.Dir, "secret") {
		t.Errorf("what cannot be deleted is forgotten: %v", err)
	}
	disk.Heal()
	x.FinishOrders()
	if isKept(t, x.o.Dir, "secret") || len(x.Orders()) > 0 {
		t.Errorf("what was forgotten is kept %v, orders %+v, health %q", isKept(t, x.o.Dir, "secret"), x.Orders(), x.Health())
	}
}

// An episode that cannot be read just now keeps no other from being looked through, and is tried
// again.
func TestDigestsOfAnEpisodeThatIsRefused(t *testing.T) {
	root := fastDir(t)
	disk := vfs.NewFaulty(vfs.OS, root)
	x := newLinked(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk, CacheBytes: 1})
	for i, name := range []string{"old", "new"} {
		x.linkTo(name, engram.Time(i))
		if err := x.Seal(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	disk.Inject(vfs.Fault{Op: vfs.OpRead, Name: "000002.mcap"})
	x.KeepDigests(t.Context())
	if told := strings.Join(x.Health(), "\n"); !strings.Contains(told, "beside episodes") || !isKept(t, x.o.Dir, "old") || isKept(t, x.o.Dir, "new") {
		t.Errorf("there are %q, health says %q", files(t, x.o.Dir, "episodes/*"), told)
	}
	disk.Heal()
	x.KeepDigests(t.Context())
	if told := x.Health(); len(told) > 0 || !isKept(t, x.o.Dir, "new") {
		t.Errorf("afterwards there are %q, health says %q", files(t, x.o.Dir, "episodes/*"), told)
	}
}

// Power that is lost at any step of keeping digests and of forgetting leaves what answers as if
// there were none; what was ordered to be forgotten is in none of them when that is done.
func TestPowerLossWhileDigestsAreKept(t *testing.T) {
	root := fastDir(t)
	faulty := vfs.NewFaulty(vfs.OS, root)
	chance := rand.New(rand.NewPCG(9, 10))
	var images []string
	var mu sync.Mutex
	taking := false
	disk := vfs.Before(faulty, func() {
		mu.Lock()
		defer mu.Unlock()
		if taking {
			image := filepath.Join(fastDir(t), "image")
			if err := faulty.CrashImage(image, chance); err != nil {
				t.Fatal(err)
			}
			images = append(images, image)
		}
	})
	x := newLinked(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: disk})
	x.linkTo("secret", 1)
	x.linkTo("other", 2)
	if err := x.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	take := func(is bool) int {
		mu.Lock()
		defer mu.Unlock()
		taking = is
		return len(images)
	}
	take(true)
	x.KeepDigests(t.Context())
	written := take(true)
	forget(t, x.life, ltm.Forgetting{Patterns: patterns("Test/Logged/p/from-secret"), Span: engram.Always(), Why: "test"})
	take(false)
	if !slices.ContainsFunc(images, func(image string) bool { return isKept(t, filepath.Join(image, "data"), "secret") }) {
		t.Fatal("in no image something is kept")
	}
	for k := 0; k < len(images); k += testkit.Repeats(3, 1) {
		image := images[k]
		y := newLinked(t, ltm.Options{Dir: filepath.Join(image, "data")})
		if err := y.wm.Indexes().Await(t.Context(), "links"); err != nil {
			t.Fatal(err)
		}
		q := engram.MustPattern("Test").Select(engram.All())
		q.LinksTo = []engram.ID{engram.MustID("Test/Logged/p/secret"), engram.MustID("Test/Logged/p/other")}
		r, err := y.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(ids(r)); n != 2 && k < written || n != 1 && n != 2 {
			t.Errorf("step %d of %d: it finds %v", k, len(images), ids(r))
		}
		ordered := k > written && len(ids(r)) == 1
		y.FinishOrders()
		y.KeepDigests(t.Context())
		if kept := isKept(t, y.o.Dir, "secret"); kept == ordered || len(files(t, y.o.Dir, "episodes/*"+digests.Unfinished)) > 0 {
			t.Errorf("step %d of %d: it is forgotten %v, and kept %v", k, len(images), ordered, kept)
		}
		y.end(t)
	}
}

// An index that is filled after a start reads what is kept, and no episode; what has another
// name of its own robot then, links to what it is called now.
func TestFillingReadsWhatIsKept(t *testing.T) {
	dir := fastDir(t)
	x := newLinked(t, ltm.Options{Dir: dir})
	x.life.commit(t, "Test/Logged/p/from", 1, map[string]any{"of": engram.MustID("robot:Test/Logged/p/to")})
	x.seal()
	x.end(t)
	disk := &onOpen{FS: vfs.OS}
	x = newLinked(t, ltm.Options{Dir: dir, FS: disk})
	for naming, want := range map[query.Naming]string{"": "robot:Test/Logged/p/to", "robot": "Test/Logged/p/to"} {
		x.register(naming)
		disk.opened = nil
		if err := x.wm.Indexes().Await(t.Context(), "links"); err != nil {
			t.Fatal(err)
		}
		if len(disk.opened) != 2 { // what is kept, and the end of the episode
			t.Errorf("filling opened %q", disk.opened)
		}
		c := query.NewLinksTo([]engram.ID{engram.MustID(want)}, false, naming, x.Types())
		l := x.wm.Indexes().Look(query.Request{Condition: c, Span: engram.Always(), AsOf: engram.MaxTime}, true)
		if found := l.Until(x.wm.Number()); found == nil || !slices.Equal(found.Times(engram.MustID("Test/Logged/p/from")), []engram.Time{1}) {
			t.Errorf("called %q, it is found at %v", naming, found)
		}
	}
}

// onOpen notes what is opened of a folder's episodes.
type onOpen struct {
	vfs.FS
	opened []string
}

func (o *onOpen) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	if strings.Contains(name, "episodes/") {
		o.opened = append(o.opened, filepath.Base(name))
	}
	return o.FS.OpenFile(name, flag, perm)
}

// What was kept of payloads of a type is of no use when the type is another one: what was no
// link then may be one now.
func TestDigestsOfATypeThatChanged(t *testing.T) {
	const before = `syntax = "proto3"; package lab; message Target { string id = 1; } message Thing { Target to = 1; }`
	const after = `syntax = "proto3"; package lab; import "engram/idf/v1/value.proto"; message Thing { engram.idf.v1.Link to = 1; }`
	dir, want := fastDir(t), engram.MustID("Test/Logged/p/to")
	begin := func(text string) (x *linked) {
		defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"thing.proto": {Data: []byte(text)}}}, "thing.proto")
		if err != nil {
			t.Fatal(err)
		}
		types := idf.NewRegistry()
		for _, def := range defs {
			if _, err := types.Add(def); err != nil {
				t.Fatal(err)
			}
		}
		return newLinked(t, ltm.Options{Dir: dir, Types: types})
	}
	x := begin(before)
	thing, _ := x.Types().Get("lab.Thing")
	bytes, err := thing.FromJSON([]byte(`{"to": {"id": "Test/Logged/p/to"}}`))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, x.wm, engram.EntityUpdate{Entity: engram.MustID("Test/Volatile/p/from"), Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "lab.Thing", Bytes: bytes})}})
	x.seal()
	x.end(t)
	x = begin(after)
	if err := x.wm.Indexes().Await(t.Context(), "links"); err != nil {
		t.Fatal(err)
	}
	q := engram.MustPattern("Test").Select(engram.All())
	q.LinksTo = []engram.ID{want}
	r, err := x.Query(t.Context(), q)
	if err != nil || len(ids(r)) != 1 {
		t.Errorf("it finds %v, %v", ids(r), err)
	}
	x.KeepDigests(t.Context())
	if !isKept(t, dir, "p/to") {
		t.Error("nothing is kept of the type as it is now")
	}
}

// BenchmarkLinksOnDisk fills an index of links from a thousand episodes (with -short ten), of
// 200 versions of 1 KiB with a link each, and asks for what links to entities to which that many
// episodes have links.
func BenchmarkLinksOnDisk(b *testing.B) {
	const versions = 200
	episodes := 1000
	if testing.Short() {
		episodes = 10
	}
	x := newLinked(b, ltm.Options{Dir: benchDir(b)})
	spread := []int{1, 10, 100, 1000} // in how many episodes each of these is linked to
	text := make([]byte, 700)
	for e := range episodes {
		var c engram.Commit
		for k := range versions {
			at := engram.Time(e*versions + k)
			to := engram.MustID(fmt.Sprintf("Test/Logged/p/image%d", x.IntN(1000))).At(at)
			if k < len(spread) && e%(max(1, episodes/spread[k])) == 0 {
				to = engram.MustID(fmt.Sprintf("Test/Logged/p/spread%d", spread[k]))
			}
			for i := range text {
				text[i] = byte(x.IntN(64)) + ' '
			}
			p, err := idf.ValuePayload(map[string]any{"of": to, "text": string(text)})
			if err != nil {
				b.Fatal(err)
			}
			c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID(fmt.Sprintf("Test/Volatile/p/cup%d", k%20)), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
		}
		results, err := x.wm.Commit(b.Context(), c)
		if err != nil || engram.FirstError(results) != nil {
			b.Fatal(err, results)
		}
		if err := x.Seal(b.Context(), "benchmark"); err != nil {
			b.Fatal(err)
		}
	}
	fill := func(b *testing.B) {
		for b.Loop() {
			x.register("")
			if err := x.wm.Indexes().Await(b.Context(), "links"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(x.wm.Indexes().Figures()[0].Entries), "links")
	}
	b.Run("fill/payloads", fill)
	b.Run("keep", func(b *testing.B) {
		for b.Loop() {
			for _, path := range files(b, x.o.Dir, "episodes/*"+digests.Ext) {
				if err := os.Remove(path); err != nil {
					b.Fatal(err)
				}
			}
			x.LookAgain()
			x.KeepDigests(b.Context())
		}
		if n := x.Figures().Undigested; n > 0 {
			b.Errorf("beside %d episodes something is lacking", n)
		}
		b.ReportMetric(sizes(b, files(b, x.o.Dir, "episodes/*"+digests.Ext))/sizes(b, files(b, x.o.Dir, "episodes/*.mcap")), "of-episodes")
	})
	b.Run("fill/digests", fill)
	for _, n := range spread {
		b.Run(fmt.Sprintf("query/in-%d-episodes", n), func(b *testing.B) {
			if err := x.wm.Indexes().Await(b.Context(), "links"); err != nil {
				b.Fatal(err)
			}
			q := engram.MustPattern("Test").Select(engram.All())
			q.Target, q.LinksTo = engram.TargetLTM, []engram.ID{engram.MustID(fmt.Sprintf("Test/Logged/p/spread%d", n))}
			for b.Loop() {
				r, err := x.Query(b.Context(), q)
				if err != nil || len(ids(r)) != min(n, episodes) {
					b.Fatal(err, len(ids(r)))
				}
			}
		})
	}
}

// sizes returns the bytes of files.
func sizes(b *testing.B, paths []string) (sum float64) {
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		sum += float64(st.Size())
	}
	return sum
}

// slowReads is a disk of which each read takes a while.
type slowReads struct {
	vfs.FS
	took atomic.Int64 // all of them, in ns
}

const readTakes = 5 * time.Millisecond

func (s *slowReads) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	return slowRead{f, s}, err
}

type slowRead struct {
	vfs.File
	disk *slowReads
}

func (f slowRead) ReadAt(b []byte, at int64) (int, error) {
	time.Sleep(readTakes)
	f.disk.took.Add(int64(readTakes))
	return f.File.ReadAt(b, at)
}

// Digests are kept by themselves, in a tenth of the time; a store that is closed does not wait
// for them.
func TestDigestsAreKeptBesideOtherThings(t *testing.T) {
	for what, until := range map[string]time.Duration{"till the end": time.Hour, "until it is closed": time.Second} {
		dir := fastDir(t)
		x := newLinked(t, ltm.Options{Dir: dir})
		for i := range 50 {
			x.linkTo(fmt.Sprint("e", i), engram.Time(i))
		}
		x.seal()
		x.register("")
		if err := x.wm.Indexes().Await(t.Context(), "links"); err != nil { // what decodes is of no bubble then
			t.Fatal(err)
		}
		x.end(t)
		if err := os.Remove(files(t, dir, "episodes/*"+digests.Ext)[0]); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			disk := &slowReads{FS: vfs.OS}
			x := &linked{Rand: rand.New(rand.NewPCG(1, 5)), TB: t, o: ltm.Options{Dir: dir, FS: disk, CacheBytes: 1}, byItself: true}
			x.begin()
			time.Sleep(10 * time.Second) // until it is looked what is lacking
			disk.took.Store(0)
			began := time.Now()
			for x.Figures().Undigested > 0 && time.Since(began) < until {
				time.Sleep(time.Millisecond)
			}
			took, worked, kept := time.Since(began), time.Duration(disk.took.Load()), len(files(t, x.o.Dir, "episodes/*"+digests.Ext)) == 1
			if whole := until == time.Hour; kept != whole || whole && took < 8*worked {
				t.Errorf("%s: after %v, of which %v were work, what is there is %v", what, took, worked, kept)
			}
			began = time.Now()
			x.end(t)
			if took := time.Since(began); took > 10*readTakes || len(files(t, x.o.Dir, "episodes/*"+digests.Unfinished)) > 0 {
				t.Errorf("%s: to close it took %v", what, took)
			}
		})
	}
}

// While the recorder is behind, or the disk is filled beyond its limit, nothing is kept.
func TestDigestsWait(t *testing.T) {
	x := newLinked(t, ltm.Options{Dir: fastDir(t)})
	x.linkTo("cup", 1)
	if err := x.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	release := x.HoldRecorder()
	for i := range 50 {
		var c engram.Commit
		for k := range 100 {
			p, err := idf.ValuePayload(k)
			if err != nil {
				t.Fatal(err)
			}
			c.Updates = append(c.Updates, engram.EntityUpdate{Entity: engram.MustID("Test/Volatile/p/n"), Time: engram.Time(100*i + k), Instances: []engram.Instance{engram.NewInstance(p)}})
		}
		if results, err := x.wm.Commit(t.Context(), c); err != nil || engram.FirstError(results) != nil {
			t.Fatal(err, results)
		}
	}
	x.KeepDigests(t.Context())
	if n := x.Figures().Undigested; n != 1 {
		t.Errorf("while the recorder is behind, beside %d something is lacking", n)
	}
	release()
	x.caughtUp(t)
	x.KeepDigests(t.Context())
	if n := x.Figures().Undigested; n != 0 {
		t.Errorf("afterwards, beside %d something is lacking", n)
	}
	x.end(t)
	x.o.DiskLimit = 1e-9
	x.begin()
	if err := os.Remove(files(t, x.o.Dir, "episodes/*"+digests.Ext)[0]); err != nil {
		t.Fatal(err)
	}
	x.KeepDigests(t.Context())
	if n := x.Figures().Undigested; n == 0 {
		t.Error("on a full disk it is kept")
	}
}
