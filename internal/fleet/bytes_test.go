//go:build linux

package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// Of four robots one has a world of 1,000 items of which ten change each second. On the link of
// another one, which has a copy and a view of all, travels little more than what changed;
// where the whole tree is told at each change, as TeMoto does, hundreds of times as much.
func TestBytesPerChange(t *testing.T) {
	testkit.Long(t)
	w := fourWorlds(t)
	for i := range w.srv {
		w.join(i)
	}
	w.now.Store(int64(engram.Now()))
	item := func(i, x int) world.NamedItem {
		return world.NamedItem{Name: fmt.Sprint("item", i), Item: world.Item{
			Structure:   &world.Structure{Parent: "room"},
			Placement:   &world.Placement{Pose: pose.Translation(float64(x), 1, 2), Cov: pose.DiagonalCov(0.01, 0.02)},
			Description: &world.Description{Kinds: []string{world.KindObject}, Label: "a thing"},
		}}
	}
	tree := func(x int) []world.NamedItem {
		items := []world.NamedItem{{Name: "room", Item: world.Item{Structure: &world.Structure{}}}}
		for i := range 1000 {
			items = append(items, item(i, x))
		}
		return items
	}
	_, mark, err := w.at[0].Update(w.ctx, tree(0)...)
	w.must(err)
	await := func(mark world.Mark) {
		t.Helper()
		for _, reader := range w.at[1:] {
			_, err := reader.View(w.ctx, mark)
			w.must(err)
		}
	}
	await(mark)
	c, err := w.srv[0].Client(w.ctx)
	w.must(err)
	defer c.Close()
	codec, err := world.NewCodec(w.ctx, c)
	w.must(err)
	f, err := w.at[0].View(w.ctx)
	w.must(err)
	m, err := f.Get("item7")
	w.must(err)
	payload, err := codec.EncodeItem(m.Placed.Item)
	w.must(err)

	carried := func(robot int) (bytes int64) {
		for _, back := range []bool{false, true} {
			_, n := w.radio[robot].Carried(back)
			bytes += n
		}
		return bytes
	}
	// during returns what the links of a reader and of the writer carry while each of n changes is made, and
	// how many seconds that takes.
	during := func(n int, each time.Duration, change func(i int) world.Mark) (reader, writer, seconds float64) {
		r, s := carried(1), carried(0)
		var last world.Mark
		began := time.Now()
		due := began
		for i := range n {
			last = change(i)
			due = due.Add(each)
			time.Sleep(time.Until(due)) // the rate is what is measured
		}
		await(last)
		of := float64(n)
		return float64(carried(1)-r) / of, float64(carried(0)-s) / of, time.Since(began).Seconds() / of
	}
	const period = 100 * time.Millisecond
	idle, idleWriter, rested := during(1, 5*time.Second, func(int) world.Mark { return mark })
	one, oneWriter, took := during(200, period, func(i int) world.Mark {
		_, mark, err := w.at[0].Update(w.ctx, item(i*7%1000, i+1))
		w.must(err)
		return mark
	})
	whole, wholeWriter, _ := during(5, 2*time.Second, func(i int) world.Mark {
		_, mark, err := w.at[0].Update(w.ctx, tree(1000+i)...)
		w.must(err)
		return mark
	})
	size := float64(len(payload.Bytes))
	net := max(one-idle/rested*took, size) // without what the link carries anyway
	t.Logf("payload %.0f B; an idle link carries %.0f B/s, the writer's %.0f B/s", size, idle/rested, idleWriter/rested)
	t.Logf("a reader's link carries %.0f B per change (%.2f times the payload; %.2f without what it carries anyway), %.0f B where the whole tree is told (%.0f times as much)",
		one, one/size, net/size, whole, whole/one)
	t.Logf("the writer's link carries %.0f B per change (%.2f times the payload), %.0f B where the whole tree is told (%.0f times as much)",
		oneWriter, oneWriter/size, wholeWriter, wholeWriter/oneWriter)
	if net > 2.5*size {
		t.Errorf("%.0f B on the link per change, of at most %.0f", net, 2.5*size)
	}
	if whole < 300*net {
		t.Errorf("where the whole tree is told, the link carries %.0f times as much, not 300", whole/net)
	}
}
