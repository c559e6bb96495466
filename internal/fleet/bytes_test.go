//go:build linux

package fleet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/netlab"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Of four robots one has a world of 1,000 items of which ten change each second. On the link of
// another one, which has a view of all, travels little more than what changed;
// where the whole tree is told at each change, as TeMoto does, hundreds of times as much.
func TestBytesPerChange(t *testing.T) {
	testkit.RealTime(t, "changes are made at a rate of ten a second")
	w := fourWorlds(t)
	for i := range w.srv {
		w.join(i)
	}
	w.now.Store(int64(engram.Now()))
	r := rand.New(rand.NewPCG(1, 2))
	item := func(i int) world.NamedItem {
		at := pose.Pose{R: pose.RPY(0, 0, 6*r.Float64()), T: pose.Vec3{X: 9 * r.Float64(), Y: 9 * r.Float64(), Z: r.Float64()}}
		return world.NamedItem{Name: fmt.Sprint("item", i), Item: world.Item{
			Structure:   &world.Structure{Parent: "room"},
			Placement:   &world.Placement{Pose: at, Cov: pose.DiagonalCov(0.1*r.Float64(), 0.1*r.Float64())},
			Description: &world.Description{Kinds: []string{world.KindObject}, Label: "a thing"},
		}}
	}
	tree := func() []world.NamedItem {
		items := []world.NamedItem{{Name: "room", Item: world.Item{Structure: &world.Structure{}}}}
		for i := range 1000 {
			items = append(items, item(i))
		}
		return items
	}
	_, mark, err := w.at[0].Update(w.ctx, tree()...)
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
		_, mark, err := w.at[0].Update(w.ctx, item(i*7%1000))
		w.must(err)
		return mark
	})
	// TeMoto's way: the whole tree as one message over a TCP connection, as ROS has them.
	var message []byte
	for _, it := range tree() {
		p, err := codec.EncodeItem(&it.Item)
		w.must(err)
		message = append(append(message, it.Name...), p.Bytes...)
	}
	to, from := connection(t, w.srv[1].Host, w.base.Host)
	whole, _, _ := during(5, 2*time.Second, func(int) world.Mark {
		_, err := from.Write(message)
		w.must(err)
		_, err = io.CopyN(io.Discard, to, int64(len(message)))
		w.must(err)
		return mark
	})
	size := float64(len(payload.Bytes))
	beyond := max(one-idle/rested*took, size) // without what the link carries anyway
	t.Logf("payload %.0f B; an idle link carries %.0f B/s, the writer's %.0f B/s", size, idle/rested, idleWriter/rested)
	t.Logf("a reader's link carries %.0f B per change (%.2f times the payload; %.2f without what it carries anyway), %.0f B where the whole tree is told (%.0f times as much)",
		one, one/size, beyond/size, whole, whole/one)
	t.Logf("the writer's link, from which three robots read, carries %.0f B per change (%.2f times the payload)", oneWriter, oneWriter/size)
	if beyond > 2.5*size {
		t.Errorf("%.0f B on the link per change, of at most %.0f", beyond, 2.5*size)
	}
	if whole < 300*beyond {
		t.Errorf("where the whole tree is told, the link carries %.0f times as much, not 300", whole/beyond)
	}
}

// connection returns the ends of a TCP connection between two hosts.
func connection(t *testing.T, a, b *netlab.Host) (net.Conn, net.Conn) {
	t.Helper()
	var l net.Listener
	var ends [2]net.Conn
	err := a.Within(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(a.Address, "0"))
		return err
	})
	if err == nil {
		err = b.Within(func() (err error) {
			ends[1], err = net.Dial("tcp", l.Addr().String())
			return err
		})
	}
	if err == nil {
		ends[0], err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		ends[0].Close()
		ends[1].Close()
	})
	return ends[0], ends[1]
}
