package world_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// host is a memory server that is reached over a socket.
type host struct {
	address string
	stop    func() // as it is killed: its names stay until somebody takes them away
	leave   func() // takes its names away
}

// serve serves memories to those who find them by the names. home says that the server
// offers the names, too.
func serve(t *testing.T, identity string, names *mns.Local, home bool, address string, has ...server.Memory) *host {
	t.Helper()
	s, err := server.New(server.Config{Memories: has, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := transport.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	var offered mns.Registry
	if home {
		offered = names
	}
	go func() {
		served <- endpoint.Serve(ctx, s, offered, rpc.Options{Server: identity, Log: testkit.Quiet, Grace: time.Millisecond})
	}()
	addresses := endpoint.Addresses()
	h := &host{address: addresses[len(addresses)-1], leave: func() {}}
	if len(has) > 0 {
		kept, err := mns.Keep(t.Context(), names, mns.Registration{Server: identity, Memories: s.Memories(), Addresses: endpoint.Addresses()})
		if err != nil {
			t.Fatal(err)
		}
		h.leave = sync.OnceFunc(func() { kept.Close() })
	}
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	t.Cleanup(func() { h.leave(); h.stop() })
	return h
}

func connect(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// readerAddress has the test binary be the reader of TestReaderInAnotherProcess.
const readerAddress = "ENGRAM_TEST_READER"

// reader reads lines of an attach's number and its mark, and looks at the world after the mark.
func reader(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.Options{Address: address})
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := world.Over(ctx, c, "reader", world.DefaultRules())
	if err != nil {
		return err
	}
	defer w.Close()
	fmt.Println("ready")
	seen := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); seen++ {
		var attach int
		var mark world.Mark
		if _, err := fmt.Sscan(lines.Text(), &attach, &mark.Epoch, &mark.Number); err != nil {
			return err
		}
		f, err := w.View(ctx, mark)
		if err != nil {
			return fmt.Errorf("attach %d: %w", attach, err)
		}
		m, err := f.Get("cup")
		if err != nil {
			return err
		}
		at := int(m.Placement.Pose.T.X)
		if at < attach {
			return fmt.Errorf("after attach %d the cup is where attach %d put it", attach, at)
		}
		if m.Structure.Parent != parentOf(at) || m.Placement.Frame != parentOf(at) {
			return fmt.Errorf("after attach %d the cup belongs to %s, at a pose in %s", at, m.Structure.Parent, m.Placement.Frame)
		}
	}
	fmt.Println("seen", seen)
	return nil
}

func parentOf(attach int) string { return []string{"shelf", "table"}[attach%2] }

// A reader in another process that holds the mark of an attach never sees the state before
// it, nor a parent without its pose.
func TestReaderInAnotherProcess(t *testing.T) {
	if address := os.Getenv(readerAddress); address != "" {
		if err := reader(address); err != nil {
			fmt.Println(err)
		}
		os.Exit(0) // what leaks here ends with the process
	}
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	srv := serve(t, "one", names, true, serving.Socket(t), memories.World())
	k := kit{t, over(t, connect(t, srv.address), "rover"), testkit.Context(t)}
	k.kitchen()
	k.see(k.Attach(k.ctx, "cup", "shelf", &pose.Pose{R: pose.Quat{W: 1}}))

	cmd := exec.CommandContext(k.ctx, os.Args[0], "-test.run=^TestReaderInAnotherProcess$")
	cmd.Env = append(os.Environ(), readerAddress+"="+srv.address)
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(from)
	if said.Scan(); said.Text() != "ready" {
		t.Fatal(said.Text())
	}
	const n = 10_000
	for i := 1; i <= n; i++ {
		at := pose.Translation(float64(i), 0, 0)
		mark, err := k.Attach(k.ctx, "cup", parentOf(i), &at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(to, i, mark.Epoch, mark.Number); err != nil {
			break // it says why
		}
	}
	to.Close()
	if said.Scan(); said.Text() != fmt.Sprint("seen ", n) {
		t.Error(said.Text())
	}
	for said.Scan() { // what the test framework prints
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Another server takes the memory World over. Calls through a switch go on, watchers with them, and
// what was said before stays known.
func TestTakeover(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	home := serve(t, "home", names, true, serving.Socket(t), memories.SystemState())
	first := serve(t, "first", names, false, serving.Socket(t), memories.World())
	plan := kit{t, world.NewSwitch(over(t, connect(t, home.address), "plan")), testkit.Context(t)}
	eye := kit{t, over(t, connect(t, home.address), "eye"), plan.ctx}
	old := plan.put(item("kitchen", "", 0, "map"), item("cup", "kitchen", 1))
	eye.see(old, nil) // a mark that it did not reach before is none at the second server
	watcher, err := eye.Watch(eye.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()

	var wrote, writing atomic.Int64
	ctx, stop := context.WithCancel(plan.ctx)
	var callers sync.WaitGroup
	callers.Go(func() {
		for ctx.Err() == nil {
			writing.Add(1)
			at := pose.Translation(float64(writing.Load()), 0, 0)
			if _, err := plan.Attach(plan.ctx, "cup", "kitchen", &at); err != nil {
				t.Error(err)
				return
			}
			wrote.Store(writing.Load())
		}
	})
	testkit.Until(t, func() (string, bool) { return "nothing was written", wrote.Load() > 0 })
	first.stop()
	first.leave()
	before := writing.Load()
	second := serve(t, "second", names, false, serving.Socket(t), memories.World())
	defer second.leave()
	testkit.Until(t, func() (string, bool) { return "nothing was written at the second server", wrote.Load() > before+10 })
	stop()
	callers.Wait()

	// Also those that wrote nothing have followed, and know what the first server had.
	for x := 0.0; x <= float64(before); {
		c, err := watcher.Next(eye.ctx)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Forest.Get("cup")
		if err != nil || !c.Forest.Has("kitchen") {
			t.Fatal("the kitchen or the cup is gone", err)
		}
		x = m.Placement.Pose.T.X
	}
	f := eye.see(old, nil)
	if !f.Has("kitchen") {
		t.Error("the kitchen is gone")
	}
	mark, err := plan.SetState(plan.ctx, world.State{Item: "cup", Name: "full", Value: true}, 1)
	f = eye.see(mark, err)
	if s, err := f.States("cup"); err != nil || len(s) != 1 {
		t.Error(s, err)
	}
}

// A server that keeps nothing begins anew: what was said before stays in worlds that have heard
// it, marks of before that they have reached too, and of others it is said that they are not.
func TestRestart(t *testing.T) {
	names := mns.NewLocal()
	t.Cleanup(func() { names.Close() })
	address := serving.Socket(t)
	first := serve(t, "one", names, true, address, memories.World())
	rover := kit{t, over(t, connect(t, address), "rover"), testkit.Context(t)}
	arm := kit{t, over(t, connect(t, address), "arm"), rover.ctx}
	old := rover.put(item("kitchen", "", 0, "map"), item("cup", "kitchen", 1))
	arm.see(old, nil)
	first.stop()
	first.leave()
	serve(t, "one", names, true, address, memories.World())
	mark := rover.put(item("cup", "kitchen", 2))
	if mark.Epoch == old.Epoch {
		t.Errorf("the mark %v is of the epoch before", mark)
	}
	f := arm.see(mark, nil)
	arm.at(f, "kitchen", "cup", 2)
	arm.see(old, nil)
	ctx, cancel := context.WithTimeout(arm.ctx, 10*time.Millisecond)
	defer cancel()
	_, err := arm.View(ctx, world.Mark{Epoch: old.Epoch, Number: old.Number + 1})
	arm.code("a mark that the server took with it", err, engram.TooNew)
	says := func(of kit, m world.Mark, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(of.ctx, 10*time.Millisecond)
		defer cancel()
		if _, err := of.View(ctx, m); !errors.Is(err, engram.TooNew) || !strings.Contains(err.Error(), want) {
			t.Errorf("the mark %v: %v, not %q", m, err, want)
		}
	}
	says(arm, world.Mark{Epoch: old.Epoch, Number: old.Number + 1}, "has begun anew since, and this world had not come so far: waiting does not help")
	says(arm, world.Mark{Epoch: mark.Epoch, Number: mark.Number + 1}, "is not there yet; wait longer, or ask again")
	says(arm, world.Mark{Epoch: 1, Number: 1}, "of no server that this world follows now")
	says(kit{t, over(t, connect(t, address), "later"), arm.ctx}, old, "of no server that this world follows now")
	if fresh := (kit{t, over(t, connect(t, address), "plan"), arm.ctx}); fresh.see(mark, nil).Has("kitchen") {
		t.Error("a server that keeps nothing has the kitchen")
	}
}

// faulty is a service that loses what it is told to lose.
type faulty struct {
	*server.Server
	lose    atomic.Int64 // updates that get lost on their way
	silent  atomic.Int64 // queries that get no answer
	unheard atomic.Int64 // commits whose answers get lost
}

func (f *faulty) Subscribe(ctx context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	in, err := f.Server.Subscribe(ctx, s)
	return &lossy{UpdateStream: in, f: f}, err
}

func (f *faulty) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	r, err := f.Server.Commit(ctx, c)
	if f.unheard.Add(-1) >= 0 {
		return nil, engram.Errorf(engram.Unavailable, "test", "the answer is lost")
	}
	return r, err
}

func (f *faulty) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if f.silent.Add(-1) >= 0 {
		return nil, engram.Errorf(engram.Unavailable, "test", "there is no answer")
	}
	return f.Server.Query(ctx, q)
}

// lossy is a stream of updates that loses some, as one whose queue was full.
type lossy struct {
	engram.UpdateStream
	f       *faulty
	dropped uint64
}

func (l *lossy) Next(ctx context.Context) ([]engram.Update, error) {
	for {
		updates, err := l.UpdateStream.Next(ctx)
		var kept []engram.Update
		for _, u := range updates {
			if l.f.lose.Add(-1) >= 0 {
				l.dropped++
				continue
			}
			u.Dropped, l.dropped = u.Dropped+l.dropped, 0
			kept = append(kept, u)
		}
		if err != nil || len(kept) > 0 {
			return kept, err
		}
	}
}

// What the queue of a world loses is read anew, before anybody who holds the mark looks.
func TestLostUpdates(t *testing.T) {
	srv := newServer(t)
	f := &faulty{Server: srv}
	writer, reader := kit{t, over(t, srv, "rover"), testkit.Context(t)}, kit{t, over(t, f, "arm"), testkit.Context(t)}
	reader.see(writer.put(item("kitchen", "", 0)), nil)
	f.lose.Store(3)
	for i := range 3 {
		writer.put(item(fmt.Sprint("cup", i), "kitchen", 1))
	}
	got := reader.see(writer.put(item("fork", "kitchen", 1)), nil)
	if got.Len() != 5 {
		t.Errorf("there are %q", names(got.All()))
	}
}

// Updates that are lost are noticed at one of another robot's memory, and read anew before anybody who
// holds the mark looks, also if that fails at first and other robots go on speaking.
func TestLostBeforeAnotherRobots(t *testing.T) {
	f := &faulty{Server: robotServer(t, "rover", "tug")}
	m, err := world.Over(t.Context(), f, "plan", world.DefaultRules(), world.Robots("*"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c, err := world.NewCodec(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.EncodeItem(&world.Item{Structure: &world.Structure{}})
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := kit{t, m, testkit.Context(t)}, kit{t, over(t, f.Server, "eye"), testkit.Context(t)}
	for _, silent := range []int64{0, 1} {
		f.silent.Store(silent)
		f.lose.Store(1)
		mark := writer.put(item(fmt.Sprint("cup", silent), "", 0))
		for _, name := range []string{"fork", "spoon"} {
			testkit.Commit(t, f.Server, engram.EntityUpdate{
				Entity: engram.MustID("tug:World/Item/eye/" + name), Time: engram.Time(1 + silent), Instances: []engram.Instance{engram.NewInstance(p)},
			})
			testkit.Until(t, func() (string, bool) {
				v, err := m.View(reader.ctx)
				return name, err == nil && v.Has(name) && len(v.Statements(name)) > 0 && v.Statements(name)[0].Time == engram.Time(1+silent)
			})
		}
		if v := reader.see(mark, nil); !v.Has(fmt.Sprint("cup", silent)) {
			t.Errorf("there is no cup%d after its mark", silent)
		}
	}
}

// A server that allows short queues only has a world, too.
func TestShortQueue(t *testing.T) {
	srv, err := server.New(server.Config{Memories: []server.Memory{memories.World()}, Limits: wm.Limits{MaxQueue: 2}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	k := kit{t, over(t, srv, "rover"), testkit.Context(t)}
	k.put(item("kitchen", "", 0))
	for i := range 9 {
		k.put(item(fmt.Sprint("cup", i), "kitchen", 1))
	}
	mark := k.put(item("fork", "kitchen", 1))
	if got := k.see(mark, nil); got.Len() != 11 {
		t.Errorf("there are %q", names(got.All()))
	}
	reader := kit{t, over(t, srv, "arm"), testkit.Context(t)}
	if got := reader.see(mark, nil); got.Len() != 11 {
		t.Errorf("later there are %q", names(got.All()))
	}
}

// A writer whose commit's answer is lost writes the same again, and no other call sees less.
func TestLostAnswer(t *testing.T) {
	f := &faulty{Server: newServer(t)}
	w := kit{t, over(t, f, "rover"), testkit.Context(t)}
	w.kitchen()
	f.unheard.Store(2)
	at := pose.Translation(9, 0, 0)
	got := w.see(w.Attach(w.ctx, "cup", "shelf", &at))
	w.at(got, "shelf", "cup", 9)
	// Given up meanwhile, it may be there all the same; what is said next knows of it.
	f.unheard.Store(1)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.Attach(ctx, "cup", "table", &at); err == nil {
		t.Error("an answer came")
	}
	f.unheard.Store(0)
	got = w.see(w.SetState(w.ctx, world.State{Item: "cup", Name: "full", Value: true}, 1))
	if m, err := got.Get("cup"); err != nil || m.Structure.Parent != "shelf" && m.Structure.Parent != "table" {
		t.Error(m, err)
	}
	if _, err := w.Remove(w.ctx, "table", "", world.WithChildren); err != nil && !errors.Is(err, engram.NotFound) {
		t.Error(err)
	}
}
