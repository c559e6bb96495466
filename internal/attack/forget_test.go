package attack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The fates of a snapshot that was committed as synced, as its client knows them.
type fate uint8

const (
	unsure   fate = iota // its commit was not answered
	there                // it was acknowledged
	doomed               // forgetting it was asked for, and not answered
	vanished             // it is forgotten
)

// life is one entity of the attack on forgetting: the fate of each of its snapshots, by
// their times. Times and entities are never used again. Safe for concurrent use.
type life struct {
	id   engram.ID
	mu   sync.Mutex
	of   []fate
	sure int  // so many were acknowledged, whatever became of them since
	done bool // nothing more is committed to it
}

// mark gives the snapshots of [from, until) a fate, if that comes later than theirs.
func (l *life) mark(from, until int, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := from; i < min(until, len(l.of)); i++ {
		l.of[i] = max(l.of[i], f)
	}
}

// fates returns what is known now.
func (l *life) fates() []fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]fate(nil), l.of...)
}

// judge says what is wrong with the times that an answer found, that was asked for when
// before was known and came when after was.
func (l *life) judge(found map[int]bool, before, after []fate) string {
	for t := range found {
		switch {
		case t < len(before) && before[t] == vanished:
			return fmt.Sprintf("%s at %d was forgotten and is back", l.id, t)
		case t >= len(after):
			return fmt.Sprintf("%s at %d was never committed", l.id, t)
		}
	}
	for t, f := range before {
		if f == there && after[t] == there && !found[t] {
			return fmt.Sprintf("%s at %d of %d is missing, and nobody asked to forget it (%d were found)", l.id, t, len(before), len(found))
		}
	}
	return ""
}

// What judges the answers finds what is wrong with them.
func TestForgettingIsJudged(t *testing.T) {
	l := &life{id: entity(synced, 0)}
	known := []fate{there, vanished, unsure, doomed}
	for name, c := range map[string]struct {
		found []int
		wrong bool
	}{
		"all":            {[]int{0, 2, 3}, false},
		"what is sure":   {[]int{0}, false},
		"lost":           {[]int{2, 3}, true},
		"back":           {[]int{0, 1}, true},
		"from elsewhere": {[]int{0, 4}, true},
	} {
		found := map[int]bool{}
		for _, n := range c.found {
			found[n] = true
		}
		if wrong := l.judge(found, known, known); (wrong != "") != c.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// lives are those of a run.
type lives struct {
	mu      sync.Mutex
	all     []*life
	dropped atomic.Int64 // episodes
}

func (ls *lives) add(segment engram.ID, snapshots int) *life {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := &life{id: entity(segment, len(ls.all)), of: make([]fate, 0, snapshots)}
	ls.all = append(ls.all, l)
	return l
}

func (ls *lives) any(chance *rand.Rand) *life {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.all) == 0 {
		return nil
	}
	return ls.all[chance.IntN(len(ls.all))]
}

func (ls *lives) list() []*life {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return append([]*life(nil), ls.all...)
}

// counts returns how many snapshots have each fate.
func (ls *lives) counts() map[fate]int {
	counts := map[fate]int{}
	for _, l := range ls.list() {
		for _, f := range l.fates() {
			counts[f]++
		}
	}
	return counts
}

// tried reports whether some are there, and some forgotten.
func (ls *lives) tried() bool {
	counts := ls.counts()
	return counts[there] > 0 && counts[vanished] > 0
}

// forgetters are clients of one server process, until that is killed.
type forgetters struct {
	ctx    context.Context
	v      *victim
	dir    string // of the server's folder
	lives  *lives
	fail   func(format string, args ...any)
	killed atomic.Bool
}

// dead reports whether an error may be, as the server was killed.
func (f *forgetters) dead(err error) bool {
	if err == nil {
		return false
	}
	if !f.killed.Load() && f.ctx.Err() == nil {
		f.fail("%v", err)
	}
	return true
}

// connect returns a client of its own.
func (f *forgetters) connect() (*client.Client, bool) {
	c, err := client.Connect(f.ctx, client.Options{Address: f.v.unix()})
	return c, !f.dead(err)
}

// commit writes one entity after the other.
func (f *forgetters) commit(c *client.Client, segment engram.ID, chance *rand.Rand) {
	const most = 60
	l := f.lives.add(segment, most)
	defer func() {
		l.mu.Lock()
		l.done = true
		l.mu.Unlock()
	}()
	for n := range 1 + chance.IntN(most) {
		l.mu.Lock()
		l.of = append(l.of, unsure)
		l.mu.Unlock()
		if f.dead(commit(f.ctx, c, l.id, n, textAt(l.id, n))) {
			return
		}
		l.mark(n, n+1, there)
		l.mu.Lock()
		l.sure = n + 1
		l.mu.Unlock()
	}
}

// query asks for a whole history.
func (f *forgetters) query(c *client.Client, chance *rand.Rand) {
	l := f.lives.any(chance)
	if l == nil {
		return
	}
	before := l.fates()
	result, err := c.Query(f.ctx, engram.SelectID(l.id, engram.All()))
	if f.dead(err) {
		return
	}
	found, wrong := timesOf(l.id, result)
	if wrong == "" {
		wrong = l.judge(found, before, l.fates())
	}
	if wrong != "" {
		f.fail("a query: %s; it says that %v is missing", wrong, result.Missing)
	}
}

// timesOf returns the times of an entity's snapshots, or what is wrong with one.
func timesOf(id engram.ID, result *engram.Result) (map[int]bool, string) {
	found := map[int]bool{}
	for s := range result.All() {
		if s.ID.Truncate(engram.LevelEntity) != id {
			continue
		}
		n := int(s.Time)
		text, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
		if err != nil || text != textAt(id, n) {
			return nil, fmt.Sprintf("%s at %d is %v, %v", id, n, text, err)
		}
		if found[n] {
			return nil, fmt.Sprintf("%s at %d is there twice", id, n)
		}
		found[n] = true
	}
	return found, ""
}

// export exports everything, and looks at what is in the file.
func (f *forgetters) export(c *client.Client, file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.fail("%v", err)
		return
	}
	all := f.lives.list()
	before := make([][]fate, len(all))
	for i, l := range all {
		before[i] = l.fates()
	}
	_, err := ingest.Export(f.ctx, c, file, ingest.ExportOptions{Patterns: []engram.Pattern{engram.PatternOf(synced)}})
	found := map[engram.ID]map[int]bool{}
	if engram.CodeOf(err) != engram.NotFound { // there is nothing
		if f.dead(err) {
			return
		}
		if found, err = exported(f.ctx, file); err != nil {
			f.dead(fmt.Errorf("an export cannot be read: %w", err))
			return
		}
	}
	for i, l := range all {
		if wrong := l.judge(found[l.id], before[i], l.fates()); wrong != "" {
			f.fail("an export: %s", wrong)
			return
		}
	}
}

// exported returns the times of the snapshots in a file.
func exported(ctx context.Context, file string) (map[engram.ID]map[int]bool, error) {
	r, err := episode.Open(file, episode.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	found := map[engram.ID]map[int]bool{}
	for _, e := range r.Entities() {
		tl, err := r.Timeline(e.ID)
		if err != nil {
			return nil, err
		}
		found[e.ID] = map[int]bool{}
		for i, b := range tl.Blocks() {
			all, err := tl.Load(ctx, i, 0, b.Count)
			if err != nil {
				return nil, err
			}
			for _, s := range all {
				n := int(s.Time)
				if text, err := idf.DecodeValue(s.Instances[0].Payload.Bytes); err != nil || text != textAt(e.ID, n) {
					return nil, fmt.Errorf("%s at %d is %v, %v", e.ID, n, text, err)
				}
				if found[e.ID][n] {
					return nil, fmt.Errorf("%s at %d is there twice", e.ID, n)
				}
				found[e.ID][n] = true
			}
		}
	}
	return found, nil
}

// forget forgets a snapshot, a span or an entity.
func (f *forgetters) forget(c *client.Client, chance *rand.Rand) {
	l := f.lives.any(chance)
	if l == nil || len(l.fates()) == 0 {
		return
	}
	l.mu.Lock()
	n, done := len(l.of), l.done
	sure := l.sure // what its client does not know to be there may be committed later
	l.mu.Unlock()
	from, until := 0, n
	how := admin.Forgetting{Why: "it is attacked", By: "a test", EvenKept: chance.IntN(2) == 0}
	switch kind := chance.IntN(4); kind {
	case 0, 1: // snapshots, which were found wrong
		from = chance.IntN(n)
		until = from + 1
		how.IDs = []engram.ID{l.id.At(engram.Time(from))}
	default:
		how.Patterns = []engram.Pattern{engram.PatternOf(l.id)}
		if kind == 2 || !done { // all of an entity would be what is committed meanwhile, too
			from = chance.IntN(n)
			until = from + 1 + chance.IntN(n-from)
			how.Span = engram.Interval{Start: engram.Time(from), End: engram.Time(until)}
		}
	}
	l.mark(from, until, doomed)
	_, err := c.LongTerm("GeneralPurpose").Forget(f.ctx, how, nil)
	if code := engram.CodeOf(err); code == engram.NotFound {
		return
	}
	if f.dead(err) {
		return
	}
	l.mark(from, min(until, sure), vanished)
}

// tidy seals, compacts or, now and then, drops an episode.
func (f *forgetters) tidy(c *client.Client, chance *rand.Rand) {
	disk := c.LongTerm("GeneralPurpose")
	var err error
	switch n := chance.IntN(12); {
	case n < 6:
		err = disk.Seal(f.ctx, "")
	case n < 9:
		_, err = disk.Compact(f.ctx, false, nil)
	default:
		err = f.drop(disk, chance)
	}
	if code := engram.CodeOf(err); code == engram.Conflict || code == engram.NotFound {
		return // others compact, or nothing is open
	}
	f.dead(err)
}

// drop drops an episode. What it holds may be found afterwards, in the working memory or
// another episode, or not.
func (f *forgetters) drop(disk admin.Service, chance *rand.Rand) error {
	episodes, err := disk.Episodes(f.ctx, engram.Always())
	if err != nil || len(episodes) == 0 {
		return err
	}
	e := episodes[chance.IntN(len(episodes))]
	if !e.Sealed {
		return nil
	}
	holds, err := exported(f.ctx, filepath.Join(f.dir, "data", "episodes", e.Name))
	if err != nil {
		return nil // it was dropped or written anew meanwhile
	}
	for _, l := range f.lives.list() {
		for n := range holds[l.id] {
			l.mark(n, n+1, doomed)
		}
	}
	if err = disk.DropEpisode(f.ctx, e.Name, "it is attacked", "a test"); err == nil {
		f.lives.dropped.Add(1)
	}
	return err
}

// What was not asked to be forgotten is in every answer and every export, whole, and what
// was forgotten comes never back: while others forget, seal, compact and drop whole
// episodes, and after kills.
func TestRacesOfForgetting(t *testing.T) {
	testkit.RealTime(t, "clients forget and are answered between kills at random moments")
	binary, chance, dir := built(t), chance(t), folder(t)
	all := &lives{}
	var failed sync.Once
	kills := 0
	for begun := time.Now(); !t.Failed() && (time.Since(begun) < *lasting || !all.tried() && time.Since(begun) < 10**lasting); kills++ {
		v, err := run(binary, dir, "--memory", "GeneralPurpose", "--episode-size", "64 KiB")
		if err == nil && v.server == "" {
			err = errors.New("the server does not start")
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, v.said)
		}
		if kills == 0 { // another server leaves the folder alone
			if second, err := run(binary, dir, "--memory", "GeneralPurpose"); err != nil || second.server != "" || !strings.Contains(second.said.String(), fmt.Sprint(v.cmd.Process.Pid)) {
				second.end(syscall.SIGKILL)
				v.end(syscall.SIGKILL)
				t.Fatalf("a second server over the folder of process %d: %v\n%s", v.cmd.Process.Pid, err, second.said)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		f := &forgetters{ctx: ctx, v: v, dir: dir, lives: all, fail: func(format string, args ...any) {
			failed.Do(func() { t.Errorf("in life %d: %s\n%s", kills, fmt.Sprintf(format, args...), tail(v.said.String())) })
			cancel()
		}}
		admin, ok := f.connect()
		if ok {
			f.dead(admin.AddCoreSegment(ctx, engram.CoreSegment{ID: synced, Durability: engram.Synced, History: engram.Bounds{MaxCount: 8}}))
			for _, l := range all.list() { // what a kill has left
				before := l.fates()
				result, err := admin.Query(ctx, engram.SelectID(l.id, engram.All()))
				if f.dead(err) {
					break
				}
				found, wrong := timesOf(l.id, result)
				if wrong == "" {
					wrong = l.judge(found, before, l.fates())
				}
				if wrong != "" {
					f.fail("after a kill: %s; it says that %v is missing", wrong, result.Missing)
					break
				}
			}
		}
		var attacking sync.WaitGroup
		did := make(chan struct{})
		each := func(seed *rand.Rand, do func(c *client.Client, chance *rand.Rand)) {
			own := rand.New(rand.NewPCG(seed.Uint64(), 0))
			attacking.Go(func() {
				c, ok := f.connect()
				if !ok {
					return
				}
				defer c.Close()
				for ctx.Err() == nil && !f.killed.Load() {
					do(c, own)
					select {
					case did <- struct{}{}:
					case <-ctx.Done():
					}
				}
			})
		}
		for range 3 {
			each(chance, func(c *client.Client, chance *rand.Rand) { f.commit(c, synced, chance) })
		}
		for range 3 {
			each(chance, f.query)
		}
		for range 2 {
			each(chance, f.forget)
		}
		each(chance, f.tidy)
		each(chance, func(c *client.Client, _ *rand.Rand) { f.export(c, filepath.Join(dir, "export.mcap")) })
		for n := 1 + chance.IntN(400); n > 0 && ctx.Err() == nil; n-- {
			select {
			case <-did:
			case <-ctx.Done():
			}
		}
		f.killed.Store(true)
		v.end(syscall.SIGKILL)
		cancel()
		attacking.Wait()
		if admin != nil {
			admin.Close()
		}
	}
	if !t.Failed() && !all.tried() {
		t.Error("nothing was tried")
	}
	counts := all.counts()
	t.Logf("%d lives, %d entities, %d episodes dropped, snapshots: %d there, %d forgotten, %d not answered or dropped", kills, len(all.list()), all.dropped.Load(), counts[there], counts[vanished], counts[unsure]+counts[doomed])
}

// tail returns the end of what a server said.
func tail(text string) string { return text[max(0, len(text)-4000):] }
