package attack

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// copied returns all texts of a segment, of the memory at a server itself or of the copy that
// it holds.
func copied(ctx context.Context, v *victim, segment engram.ID, memory string, source engram.Source) (map[string]string, error) {
	c, err := client.Connect(ctx, client.Options{Address: v.unix()})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if segment, err = segment.InMemory(memory); err != nil {
		return nil, err
	}
	q := engram.PatternOf(segment).Select(engram.All())
	q.Source = source
	result, err := c.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for s := range result.All() {
		text, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
		if err != nil {
			return nil, err
		}
		at := fmt.Sprint(s.ID.Names()[1:], s.Time)
		if _, twice := out[at]; twice {
			return nil, fmt.Errorf("%s is there twice", at)
		}
		out[at] = fmt.Sprint(text, " arrived ", s.Arrived)
	}
	return out, nil
}

// Whichever of owner and holder of a copy is killed, at whatever moment, and whatever
// happens to the files of the copy: in the end it has what its owner has, byte for byte,
// and nothing of what the owner forgot.
func TestCopiesAfterKillsAndDamage(t *testing.T) {
	testkit.RealTime(t, "servers are heard soon after kills at random moments")
	binary, chance, leaves := built(t), chance(t), testkit.FreeAddress(t)
	dirs := [2]string{folder(t), folder(t)}
	flags := [2][]string{
		{"--robot", "base", "--name", "base", "--memory", "SystemState", "--backbone", "embedded", "--leaf-listen", leaves, "--copy", "robot1:GeneralPurpose"},
		{"--robot", "robot1", "--name", "robot1", "--memory", "GeneralPurpose", "--backbone", "embedded", "--leaf-of", "nats-leaf://" + leaves},
	}
	const base, owner = 0, 1
	var servers [2]*victim
	begin := func(i int) {
		t.Helper()
		servers[i] = started(t, binary, dirs[i], flags[i]...)
	}
	begin(base)
	begin(owner)
	same := func(when string) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			want, err := copied(t.Context(), servers[owner], synced, "GeneralPurpose", engram.SourceAny)
			if err != nil {
				return fmt.Sprintf("%s: the owner: %v", when, err), false
			}
			got, err := copied(t.Context(), servers[base], synced, "robot1:GeneralPurpose", engram.SourceCopy)
			return fmt.Sprintf("%s: the copy has %d snapshots, its owner %d, %v", when, len(got), len(want), err), err == nil && len(want) > 0 && maps.Equal(got, want)
		})
	}
	next, kills := 0, 0
	for deadline := time.Now().Add(*lasting); kills == 0 || time.Now().Before(deadline) && !t.Failed(); kills++ {
		c, err := client.Connect(t.Context(), client.Options{Address: servers[owner].unix()})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []engram.ID{logged, synced} {
			if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id, Durability: engram.Synced}); err != nil {
				t.Fatal(err)
			}
		}
		killed, first := chance.IntN(2), next
		next += 40
		own := rand.New(rand.NewPCG(chance.Uint64(), 0))
		written := make(chan error, 1)
		begun := make(chan struct{})
		go func() { // until it is done or the owner is killed
			err := write(t.Context(), c, first, first+1)
			close(begun)
			if err == nil && own.IntN(2) == 0 {
				_, err = c.LongTerm("GeneralPurpose").Forget(t.Context(), admin.Forgetting{
					Patterns: []engram.Pattern{engram.PatternOf(entity(synced, own.IntN(entities)))}, Span: engram.Interval{Start: 0, End: engram.Time(1 + own.IntN(next))},
					EvenKept: true, Why: "it is attacked", By: "a test",
				}, nil)
			}
			if err == nil || engram.CodeOf(err) == engram.NotFound { // all of it was forgotten before
				err = write(t.Context(), c, first+1, next)
			}
			written <- err
		}()
		<-begun
		servers[killed].end(syscall.SIGKILL)
		if err := <-written; err != nil && killed != owner {
			t.Fatal(err)
		}
		c.Close()
		if files, _ := filepath.Glob(filepath.Join(dirs[base], "data", "copies", "copy-*")); killed == base && len(files) > 0 {
			slices.Sort(files)
			damages[chance.IntN(len(damages))].do(files[chance.IntN(len(files))], files, chance)
		}
		begin(killed)
		same(fmt.Sprintf("after kill %d of %v", kills, [...]string{"the holder", "the owner"}[killed]))
	}
	t.Logf("%d kills", kills)
}
