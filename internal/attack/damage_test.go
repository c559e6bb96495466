package attack

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The segments of a folder that is damaged, and how many snapshots their entities have.
var (
	logged = engram.MustID("GeneralPurpose/DamagedLogged")
	synced = engram.MustID("GeneralPurpose/DamagedSynced")
)

const (
	entities  = 3
	snapshots = 330 // enough in an episode for a dictionary
	unsealed  = 10  // the last of them
	forgotten = 1   // the entity that was forgotten on request
)

// textAt is what an entity holds at a time.
func textAt(entity engram.ID, number int) string {
	return fmt.Sprintf("%s at %d %s", entity, number, strings.Repeat("x", number%50))
}

// whole starts a server that keeps files of every kind in its folder.
func whole(binary, dir string, more ...string) (*victim, error) {
	return run(binary, dir, append(more, "--robot", "robot1", "--backbone", "embedded", "--backbone-dir", filepath.Join(dir, "data", "backbone"))...)
}

// copiedAway are what the server of a damaged folder holds copies of, whose owners are away.
var copiedAway = []string{"robot2:Object", "*:Speech"}

// fill has a server keep something of every kind in its folder: sealed episodes, an open
// one, logs, segments and types of their own, policies, marks, rules, what was forgotten.
func fill(ctx context.Context, v *victim) error {
	c, err := client.Connect(ctx, client.Options{Address: v.unix()})
	if err != nil {
		return err
	}
	defer c.Close()
	disk := c.LongTerm("GeneralPurpose")
	steps := []func() error{
		func() error {
			for _, text := range copiedAway {
				held, err := copies.Parse(text)
				if err == nil {
					err = c.Copies().AddCopy(ctx, held)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		func() error {
			return c.AddCoreSegment(ctx, engram.CoreSegment{ID: logged, Durability: engram.Logged})
		},
		func() error {
			return c.AddCoreSegment(ctx, engram.CoreSegment{ID: synced, Durability: engram.Synced})
		},
		func() error {
			return disk.SetPolicy(ctx, policy.Override{Pattern: engram.PatternOf(logged), Settings: map[string]string{"priority": "7"}})
		},
		func() error {
			return disk.SetPolicy(ctx, policy.Override{Pattern: engram.PatternOf(synced), Settings: map[string]string{"codec": "zstd"}})
		},
		func() error { return write(ctx, c, 0, snapshots/3) },
		func() error { return disk.Seal(ctx, "") },
		func() error { return write(ctx, c, snapshots/3, 2*snapshots/3) },
		func() error {
			return disk.Mark(ctx, episode.Mark{Time: engram.Time(snapshots / 2), Label: "a mark"})
		},
		func() error {
			_, err := disk.Forget(ctx, admin.Forgetting{Patterns: []engram.Pattern{engram.PatternOf(entity(logged, forgotten))}, EvenKept: true, By: "a test", Why: "it is asked for"}, nil)
			return err
		},
		func() error { return disk.Seal(ctx, "") },
		func() error { return write(ctx, c, 2*snapshots/3, snapshots-unsealed) },
		func() error { return disk.Seal(ctx, "") }, // with a dictionary, as nothing of it is forgotten
		func() error { return write(ctx, c, snapshots-unsealed, snapshots) },
		func() error { // before this is on disk, what is logged may be lost by a kill
			return commit(ctx, c, engram.MustID(synced.String()+"/p/last"), 0, "the last")
		},
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func entity(segment engram.ID, number int) engram.ID {
	return engram.MustID(fmt.Sprintf("%s/p/e%d", segment, number))
}

// write commits the snapshots of numbers from first to before last of every entity.
func write(ctx context.Context, c *client.Client, first, last int) error {
	for n := first; n < last; n++ {
		var commit engram.Commit
		for _, s := range []engram.ID{logged, synced} {
			for e := range entities {
				id := entity(s, e)
				u, err := update(id, n, textAt(id, n))
				if err != nil {
					return err
				}
				commit.Updates = append(commit.Updates, u)
			}
		}
		results, err := c.Commit(ctx, commit)
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commit commits one snapshot.
func commit(ctx context.Context, c *client.Client, id engram.ID, number int, text string) error {
	u, err := update(id, number, text)
	if err != nil {
		return err
	}
	results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = engram.FirstError(results)
	}
	return err
}

// update is one of an entity at a time.
func update(id engram.ID, number int, text string) (engram.EntityUpdate, error) {
	p, err := idf.ValuePayload(text)
	return engram.EntityUpdate{Entity: id, Time: engram.Time(number), Instances: []engram.Instance{engram.NewInstance(p)}}, err
}

// A way to damage a file. It reports whether it has changed anything.
type damage struct {
	name string
	do   func(file string, others []string, chance *rand.Rand) bool
}

var damages = []damage{
	{"emptied", func(f string, _ []string, _ *rand.Rand) bool { return size(f) > 0 && os.Truncate(f, 0) == nil }},
	{"deleted", func(f string, _ []string, _ *rand.Rand) bool { return os.Remove(f) == nil }},
	{"cut at its end", func(f string, _ []string, chance *rand.Rand) bool {
		n := size(f)
		return n > 1 && os.Truncate(f, n-min(n-1, 1+chance.Int64N(40))) == nil
	}},
	{"cut anywhere", func(f string, _ []string, chance *rand.Rand) bool {
		n := size(f)
		return n > 1 && os.Truncate(f, chance.Int64N(n)) == nil
	}},
	{"appended to", func(f string, _ []string, chance *rand.Rand) bool {
		return change(f, func(b []byte) []byte {
			for range 1 + chance.IntN(100) {
				b = append(b, byte(chance.Uint32()))
			}
			return b
		})
	}},
	{"with a flipped bit", func(f string, _ []string, chance *rand.Rand) bool {
		return size(f) > 0 && change(f, func(b []byte) []byte {
			b[chance.IntN(len(b))] ^= 1 << chance.IntN(8)
			return b
		})
	}},
	{"with a block of zeros", func(f string, _ []string, chance *rand.Rand) bool {
		return size(f) > 0 && change(f, func(b []byte) []byte {
			at := chance.IntN(len(b))
			clear(b[at:min(len(b), at+1+chance.IntN(4096))])
			return b
		})
	}},
	{"replaced by another of its kind", func(f string, others []string, chance *rand.Rand) bool {
		b, err := os.ReadFile(others[chance.IntN(len(others))])
		return err == nil && os.WriteFile(f, b, 0o600) == nil
	}},
	{"replaced by noise", func(f string, _ []string, chance *rand.Rand) bool {
		return size(f) > 0 && change(f, func(b []byte) []byte {
			for i := range b {
				b[i] = byte(chance.Uint32())
			}
			return b
		})
	}},
	{"a folder", func(f string, _ []string, _ *rand.Rand) bool { return os.Remove(f) == nil && os.Mkdir(f, 0o700) == nil }},
	{"a folder with a file in it", func(f string, _ []string, _ *rand.Rand) bool {
		b, err := os.ReadFile(f)
		return err == nil && os.Remove(f) == nil && os.Mkdir(f, 0o700) == nil && os.WriteFile(filepath.Join(f, filepath.Base(f)), b, 0o600) == nil
	}},
	{"a dangling link", func(f string, _ []string, _ *rand.Rand) bool {
		return os.Remove(f) == nil && os.Symlink("nothing", f) == nil
	}},
	{"a link to itself", func(f string, _ []string, _ *rand.Rand) bool {
		return os.Remove(f) == nil && os.Symlink(filepath.Base(f), f) == nil
	}},
	{"a pipe", func(f string, _ []string, _ *rand.Rand) bool {
		return os.Remove(f) == nil && syscall.Mkfifo(f, 0o600) == nil
	}},
	{"not to be read", func(f string, _ []string, _ *rand.Rand) bool {
		return os.Geteuid() != 0 && os.Chmod(f, 0) == nil // which does not hold root up
	}},
}

// What may stand in the place of a folder.
var inPlaces = []damage{
	{"a file", func(f string, _ []string, _ *rand.Rand) bool { return os.WriteFile(f, nil, 0o600) == nil }},
	{"a dangling link", func(f string, _ []string, _ *rand.Rand) bool { return os.Symlink("nothing", f) == nil }},
	{"a link to itself", func(f string, _ []string, _ *rand.Rand) bool { return os.Symlink(filepath.Base(f), f) == nil }},
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

func change(file string, by func([]byte) []byte) bool {
	b, err := os.ReadFile(file)
	return err == nil && os.WriteFile(file, by(b), 0o600) == nil
}

// filesOf returns the files, or the folders, below a folder by their kind: the name without
// its numbers.
func filesOf(t *testing.T, dir string, folders bool) map[string][]string {
	t.Helper()
	kinds := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() != folders || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, name)
		kinds[kind] = append(kinds[kind], path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// Whatever happens to a file of the data folder while no server runs: the next one starts,
// or says which file is wrong and what to do, and starts when that is done. Nothing that
// it answers is wrong, nothing that was forgotten is back, and what is missing is told by
// the answers and by its health.
func TestDamagedFolder(t *testing.T) {
	testkit.RealTime(t, "servers over damaged folders answer clients that give up a silent one after 3 s")
	binary, chance := built(t), chance(t)
	masters := map[string]string{}
	for how, signal := range map[string]os.Signal{"ended": os.Interrupt, "killed": syscall.SIGKILL} {
		dir := folder(t)
		v, err := whole(binary, dir)
		if err == nil && v.server == "" {
			err = fmt.Errorf("the server did not start:\n%s", v.said)
		}
		if err == nil {
			err = fill(t.Context(), v)
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "data", "copies", "copy-*.json")
		testkit.Until(t, func() (string, bool) { // of a copy it is written every second
			found, _ := filepath.Glob(file)
			return fmt.Sprintf("of %d copies there are the files %q:\n%s", len(copiedAway), found, v.said), len(found) == len(copiedAway)
		})
		v.end(signal)
		masters[how] = filepath.Join(dir, "data")
		checkKinds(t, masters[how])
	}
	type attempt struct {
		how, kind string
		folder    bool
		damage
	}
	var all []attempt // each kind of file in each way
	for _, how := range slices.Sorted(maps.Keys(masters)) {
		for _, folder := range []bool{false, true} {
			ways := damages
			if folder {
				ways = inPlaces
			}
			for _, kind := range slices.Sorted(maps.Keys(filesOf(t, masters[how], folder))) {
				for _, d := range ways {
					all = append(all, attempt{how, kind, folder, d})
				}
			}
		}
	}
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	tried := 0
	through := *lasting >= 10*time.Minute // all of them
	for deadline := time.Now().Add(*lasting); (through && tried < len(all) || time.Now().Before(deadline)) && !t.Failed(); tried++ {
		a := all[tried%len(all)]
		dir := folder(t)
		data := filepath.Join(dir, "data")
		if err := os.CopyFS(data, os.DirFS(masters[a.how])); err != nil {
			t.Fatal(err)
		}
		files := filesOf(t, data, a.folder)[a.kind]
		file := files[chance.IntN(len(files))]
		what := fmt.Sprintf("a folder whose server was %s, with %s %s", a.how, strings.TrimPrefix(file, dir), a.name)
		aside := filepath.Join(dir, "aside")
		if a.folder {
			if err := os.Rename(file, aside); err != nil {
				t.Fatal(err)
			}
		}
		if a.do(file, files, chance) {
			if a.folder {
				if why := refuses(binary, dir, file, aside); why != "" {
					t.Errorf("%s: %s", what, why)
				}
			}
			if why := survives(t.Context(), binary, dir, filepath.Base(file), !a.folder && startsWith(a.kind, a.name)); why != "" {
				t.Errorf("%s: %s", what, why)
			}
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d damages of %d kinds", tried, len(all))
}

// checkKinds checks that a folder has what a server can have in one.
func checkKinds(t *testing.T, data string) {
	t.Helper()
	kinds := filesOf(t, data, false)
	for _, kind := range []string{"account.json", "catalogue.db", "copies/copy-", "episodes/", "lock", "log/GeneralPurpose/.log", "log/GeneralPurpose/watermark", "log/=definitions/", "manifest.json", "policies.yaml", "reserve", "state.json"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(kinds)), func(k string) bool { return strings.HasPrefix(k, kind) }) {
			t.Fatalf("there is no %s among %q", kind, slices.Sorted(maps.Keys(kinds)))
		}
	}
	episodes, _ := filepath.Glob(filepath.Join(data, "episodes", "*"))
	if !slices.ContainsFunc(episodes, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "engram.dictionary.")
	}) {
		t.Fatalf("no episode has a dictionary, of %q", episodes)
	}
}

// refuses starts a server over a folder of which a part is something else. If that does not
// start it says which, and what was there is put back.
func refuses(binary, dir, part, was string) string {
	v, err := whole(binary, dir)
	switch {
	case err != nil:
		return fmt.Sprintf("%v:\n%s", err, v.said)
	case v.server != "":
		v.end(syscall.SIGKILL)
		return "" // it does without
	case !strings.Contains(v.said.String(), part):
		return fmt.Sprintf("the server refuses to start without naming it:\n%s", v.said)
	}
	if err = os.Remove(part); err == nil {
		err = os.Rename(was, part)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// startsWith reports whether a server starts by itself with a kind of file damaged in a way:
// one that can be made anew or has a copy, and a log with a flipped bit.
func startsWith(kind, how string) bool {
	for _, begin := range []string{"catalogue.db", "state.json", "account.json", "policies.yaml", "manifest.json", "copies/copy-"} {
		if strings.HasPrefix(kind, begin) {
			return slices.Contains([]string{"emptied", "deleted", "cut at its end", "cut anywhere", "with a flipped bit"}, how)
		}
	}
	return strings.HasPrefix(kind, "log/GeneralPurpose/") && strings.HasSuffix(kind, ".log") && how == "with a flipped bit"
}

// survives starts a server over a damaged folder and says what is wrong with what it does.
// alone says that it is to start without --accept-loss.
func survives(ctx context.Context, binary, dir, file string, alone bool) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	v, err := whole(binary, dir)
	if err == nil && v.server == "" && !alone && strings.Contains(v.said.String(), "--accept-loss") {
		if !strings.Contains(v.said.String(), file) {
			return fmt.Sprintf("the server refuses to start without naming %s:\n%s", file, v.said)
		}
		v, err = whole(binary, dir, "--accept-loss")
	}
	switch {
	case err != nil:
		return fmt.Sprintf("%v:\n%s", err, v.said)
	case v.server == "":
		return fmt.Sprintf("the server does not start:\n%s", v.said)
	}
	defer v.end(syscall.SIGKILL)
	c, err := client.Connect(ctx, client.Options{Address: v.unix()})
	if err != nil {
		return fmt.Sprintf("the server is not reached: %v\n%s", err, v.said)
	}
	defer c.Close()
	held, err := c.Copies().CopyStatus(ctx)
	if err != nil || len(held) != len(copiedAway) {
		return fmt.Sprintf("of copies there are %v, %v\n%s", held, err, v.said)
	}
	lost := 0
	for _, s := range []engram.ID{logged, synced} {
		for e := range entities {
			id := entity(s, e)
			result, err := c.Query(ctx, engram.SelectID(id, engram.All()))
			if err != nil {
				return fmt.Sprintf("%s is not answered: %v\n%s", id, err, v.said)
			}
			found := map[int]bool{}
			for snapshot := range result.All() {
				n := int(snapshot.Time)
				text, err := idf.DecodeValue(snapshot.Instances[0].Payload.Bytes)
				if err != nil || text != textAt(id, n) {
					return fmt.Sprintf("%s at %d is answered with %v, %v", id, n, text, err)
				}
				found[n] = true
			}
			missing := snapshots - len(found)
			if s == logged && e == forgotten {
				for n := range 2 * snapshots / 3 {
					if found[n] {
						return fmt.Sprintf("%s at %d was forgotten and is back", id, n)
					}
				}
				missing -= 2 * snapshots / 3
			}
			if missing > 0 {
				lost += missing
				if s == logged && e == forgotten { // of which something is always said
					continue
				}
				if len(result.Missing) == 0 {
					return fmt.Sprintf("%d snapshots of %s are missing, and the answer says nothing of it\n%s", missing, id, v.said)
				}
			}
		}
	}
	if lost > 0 {
		stats, err := c.LongTerm("GeneralPurpose").LTMStats(ctx)
		if err != nil {
			return fmt.Sprintf("the statistics: %v", err)
		}
		if len(stats.Health) == 0 {
			return fmt.Sprintf("%d snapshots are missing, and health says that all is well\n%s", lost, v.said)
		}
	}
	return ""
}
