package attack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// dial connects to the server's address over a transport: "tcp", "unix" or "local".
func (v *victim) dial(t *testing.T, over string) transport.Client {
	t.Helper()
	address := map[string]string{"tcp": v.server, "unix": v.unix(), "local": "local:" + v.socket}[over]
	c, err := transport.Dial(t.Context(), address, rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// value returns a payload.
func value(t *testing.T, v any) engram.Payload {
	t.Helper()
	p, err := idf.ValuePayload(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bystander is a datum of somebody else, and the program that asks for it.
type bystander struct {
	c    transport.Client
	id   engram.ID
	kept engram.Payload
}

// bystander commits a datum that has to be there after an attack.
func (v *victim) bystander(t *testing.T) *bystander {
	t.Helper()
	b := &bystander{c: v.dial(t, "tcp"), id: engram.MustID("Example/Kept/p/e"), kept: value(t, "this stays")}
	if err := b.c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: b.id.Truncate(engram.LevelCoreSegment), Durability: engram.Synced}); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), b.c, b.id, engram.Now(), b.kept); err != nil {
		t.Fatal(err)
	}
	return b
}

// put commits one datum.
func put(ctx context.Context, c engram.Writer, id engram.ID, at engram.Time, p engram.Payload) error {
	results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// check fails the test unless the server lives, has not panicked, has the datum, takes
// commits, refuses those that are wrong, and never took more memory than that.
func (b *bystander) check(t *testing.T, v *victim, most int64) {
	t.Helper()
	v.lives(t)
	if s, err := b.c.Latest(t.Context(), b.id); err != nil || string(s.Instances[0].Payload.Bytes) != string(b.kept.Bytes) {
		t.Errorf("what was there is %+v, %v", s, err)
	}
	other := engram.MustID("Example/Kept/p/after")
	if err := put(t.Context(), b.c, other, engram.Now(), b.kept); err != nil {
		t.Errorf("a commit afterwards: %v", err)
	}
	if _, err := b.c.Latest(t.Context(), other); err != nil {
		t.Errorf("what was committed afterwards: %v", err)
	}
	b.refused(t)
	peak := v.peak(t)
	t.Logf("peak %d MiB", peak>>20)
	if peak > most && !*report {
		t.Errorf("the server took %d MiB; at most %d are promised", peak>>20, most>>20)
	}
}

// refused commits updates that are wrong among some that are not, in one commit and in a
// pipeline: each is answered at its place, of a wrong one nothing is stored, it is counted,
// and what is far ahead of the clock evicts nothing.
func (b *bystander) refused(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	count := func() (n uint64) {
		t.Helper()
		all, err := b.c.Stats(ctx, engram.PatternOf(b.id.Parent()), engram.LevelProviderSegment)
		if err != nil {
			t.Fatalf("statistics: %v", err)
		}
		for _, s := range all {
			if s.ID == b.id.Parent() {
				n = s.Refused
			}
		}
		return n
	}
	before := count()
	whole := engram.NewInstance(b.kept)
	half := engram.NewInstance(engram.Payload{Type: b.kept.Type, Bytes: []byte{0x0a, 1}}) // cut short
	var commit engram.Commit
	for i, instances := range [][]engram.Instance{{whole}, {whole, half}, {whole}, {whole}, {whole}} {
		id := engram.MustID(fmt.Sprint(b.id.Parent(), "/part", i))
		commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: id, Time: engram.Now(), Instances: instances})
	}
	wrong := map[int]engram.Code{1: engram.Corrupt, 3: engram.OutOfRange}
	commit.Updates[3].Entity, commit.Updates[3].Time = b.id, engram.Now().Add(100*time.Hour)
	answered := func(how string, i int, r engram.UpdateResult) {
		t.Helper()
		if engram.CodeOf(r.Err) != wrong[i] || r.Err == nil && r.ID.Truncate(engram.LevelEntity) != commit.Updates[i].Entity {
			t.Errorf("%s, update %d is answered with %v of %v; want the code %v", how, i, r.Err, r.ID, wrong[i])
		}
	}
	results, err := b.c.Commit(ctx, commit)
	if err != nil || len(results) != len(commit.Updates) {
		t.Fatalf("a commit of which some is wrong: %v %v", results, err)
	}
	for i, r := range results {
		answered("in a commit", i, r)
	}
	pipeline, err := b.c.CommitStream(ctx)
	if err != nil {
		t.Fatalf("a pipeline: %v", err)
	}
	defer pipeline.Close()
	for _, u := range commit.Updates {
		if err := pipeline.Send(engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil {
			t.Fatalf("a pipeline: %v", err)
		}
	}
	if err := pipeline.CloseSend(); err != nil {
		t.Fatalf("a pipeline: %v", err)
	}
	for i := range commit.Updates {
		results, err := pipeline.Recv()
		if err != nil || len(results) != 1 {
			t.Fatalf("answer %d of a pipeline: %v %v", i, results, err)
		}
		answered("in a pipeline", i, results[0])
	}
	for i, u := range commit.Updates {
		s, err := b.c.Latest(ctx, u.Entity)
		switch {
		case i == 1 && engram.CodeOf(err) != engram.NotFound:
			t.Errorf("of an update that was refused there is %+v, %v", s, err)
		case i != 1 && (err != nil || len(s.Instances) != 1 || string(s.Instances[0].Payload.Bytes) != string(b.kept.Bytes)):
			t.Errorf("of an update beside one that was refused there is %+v, %v", s, err)
		}
	}
	if n := count() - before; n != uint64(2*len(wrong)) {
		t.Errorf("%d refusals are counted, of %d", n, 2*len(wrong))
	}
}

// Whatever is committed, as much as can be, the server takes no more than its memories'
// bounds and what it may take for messages, and answers others.
func TestFloods(t *testing.T) {
	testkit.RealTime(t, "a server is answered to beside floods by clients that go on for seconds")
	deep := any(1)
	for range 40 {
		deep = []any{deep}
	}
	long := strings.Repeat("x", engram.MaxNameLen-12)
	empty := engram.NewInstance(engram.Payload{Type: engram.ValueType})
	many := make([]engram.Instance, 4096)
	for i := range many {
		many[i] = empty
	}
	instances := func(all ...engram.Instance) func(int64) []engram.Instance {
		return func(int64) []engram.Instance { return all }
	}
	fixed := func(id string) func(int64) string { return func(int64) string { return id } }
	named := func(format string) func(int64) string { return func(n int64) string { return fmt.Sprintf(format, n) } }
	floods := []struct {
		name      string
		entity    func(n int64) string
		instances func(n int64) []engram.Instance
		at        int // updates in one commit
	}{
		{"empty payloads", fixed("p/e"), instances(empty), 10_000},
		{"ever new entities", named("p/e%d"), instances(empty), 10_000},
		{"long names", named("p/%012d" + long), instances(empty), 5_000},
		{"deep values", func(n int64) string { return fmt.Sprint("p/e", n%100) }, instances(engram.NewInstance(value(t, deep))), 5_000},
		{"many instances", fixed("p/e"), instances(many...), 10},
		{"large payloads", fixed("p/e"), instances(engram.NewInstance(value(t, make([]byte, 10*mib)))), 1},
		{"ever new provider segments", named("p%d/e"), instances(empty), 10_000}, // last, as there is no room for others then
	}
	v := begin(t)
	b := v.bystander(t)
	segment := "GeneralPurpose/Flood/"
	if err := b.c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Flood")}); err != nil {
		t.Fatal(err)
	}
	for _, flood := range floods {
		t.Run(flood.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), *lasting/time.Duration(len(floods)))
			defer cancel()
			start := int64(engram.Now()) - int64(24*time.Hour)
			var n, taken atomic.Int64
			var refused sync.Map
			var flooding sync.WaitGroup
			for range 3 {
				c := v.dial(t, "local")
				flooding.Go(func() {
					for first := true; first || ctx.Err() == nil; first = false {
						var commit engram.Commit
						for range flood.at {
							i := n.Add(1)
							commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: engram.MustID(segment + flood.entity(i)), Time: engram.Time(start + i), Instances: flood.instances(i)})
						}
						results, err := c.Commit(t.Context(), commit)
						for i := range results {
							if results[i].Err == nil {
								taken.Add(1)
							} else {
								refused.Store(engram.CodeOf(results[i].Err), results[i].Err)
							}
						}
						if err != nil {
							refused.Store(engram.CodeOf(err), err)
						}
					}
				})
			}
			flooding.Wait()
			t.Logf("%d updates, %d taken", n.Load(), taken.Load())
			refused.Range(func(code, err any) bool {
				t.Logf("%v: %.200v", code, err)
				if code != engram.Exhausted && code != engram.TooOld {
					t.Errorf("it refuses with %v: %v", code, err)
				}
				return true
			})
			if taken.Load() == 0 {
				t.Error("nothing was taken: nothing was tried")
			}
			b.check(t, v, mostKept)
		})
	}
}

// mostKept is what a server may take whose memories are full: what all memories keep at most
// (docs/memories.md).
const mostKept = 7 << 28
