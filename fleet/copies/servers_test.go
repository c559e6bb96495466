package copies_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// node is a memory server, with a folder if dir is not "".
type node struct {
	*serve.Server
	address string
	stop    func()
}

func startNode(t testing.TB, name, dir string, l net.Listener, memories ...server.Memory) *node {
	t.Helper()
	return startWith(t, rpc.Options{Server: name}, dir, l, memories...)
}

func startWith(t testing.TB, o rpc.Options, dir string, l net.Listener, memories ...server.Memory) *node {
	t.Helper()
	o.Log, o.Grace = testkit.Quiet, 50*time.Millisecond
	c := server.Config{Memories: memories, Log: testkit.Quiet}
	if dir != "" {
		var err error
		if c.Store, err = ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: testkit.Quiet}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Server: s, address: rpc.AddressOf(l)}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- rpc.Serve(ctx, rpc.NewHandler(s, nil, o), l)
	}()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func object() server.Memory {
	return server.Memory{Name: "Object", Segments: []engram.CoreSegment{{ID: engram.MustID("Object/Instance"), Durability: engram.Logged}}}
}

// oneOwner is the way to one server.
type oneOwner struct {
	server, address string
	dial            rpc.DialOptions
}

func (o oneOwner) Find(context.Context, string) (string, error) { return o.server, nil }

func (o oneOwner) Memories(context.Context) ([]string, error) { return nil, nil }

func (o oneOwner) Dial(ctx context.Context, _, server string) (copies.Owner, error) {
	dial := o.dial
	dial.Server = server
	c, err := rpc.Dial(ctx, o.address, dial)
	if err != nil {
		return nil, err
	}
	return ownerOverRPC{c, pull.NewClient(c)}, nil
}

// ownerOverRPC is an owner at the other end of a connection.
type ownerOverRPC struct {
	*rpc.Client
	contract.Source
}

func (o oneOwner) Watch(ctx context.Context, changed func()) { changed(); <-ctx.Done() }

func hold(t testing.TB, n *node, owners copies.Owners, dir string, texts ...string) *copies.Holder {
	t.Helper()
	o := copies.Options{Memory: n.Server, Owners: owners, Server: "base", Robot: "base", Dir: dir, Log: testkit.Quiet, Owned: n.Memories()}
	for _, text := range texts {
		c, err := copies.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Configured = append(o.Configured, c)
	}
	h, err := copies.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// link is a TCP proxy that can be cut, as a radio is: packets vanish, and nobody is
// told.
type link struct {
	net.Listener
	mu     sync.Mutex
	target string
	cut    chan struct{} // closed while it is cut
	open   chan struct{} // closed while it is not
	conns  []net.Conn
	bytes  [2]int64 // to the target, and back
	wait   sync.WaitGroup
}

func newLink(t testing.TB, target string) *link {
	l := &link{Listener: listen(t, "127.0.0.1:0"), target: target, cut: make(chan struct{}), open: make(chan struct{})}
	close(l.open)
	l.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			l.wait.Go(func() { l.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		l.set(false)
		l.mu.Lock()
		for _, c := range l.conns {
			c.Close()
		}
		l.mu.Unlock()
		l.wait.Wait()
	})
	return l
}

// lead has new connections lead elsewhere.
func (l *link) lead(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.open = make(chan struct{}), make(chan struct{})
	if cut {
		close(l.cut)
		for _, c := range l.conns {
			c.SetDeadline(time.Unix(1, 0)) // what is under way is gone
		}
	} else {
		close(l.open)
	}
}

func (l *link) state() (cut bool, open chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.cut:
		return true, l.open
	default:
		return false, l.open
	}
}

func (l *link) carry(c net.Conn) {
	defer c.Close()
	if cut, _ := l.state(); cut {
		return
	}
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	d, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer d.Close()
	l.mu.Lock()
	l.conns = append(l.conns, c, d)
	l.mu.Unlock()
	var both sync.WaitGroup
	for i, p := range [][2]net.Conn{{c, d}, {d, c}} {
		both.Go(func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := p[0].Read(buffer)
				if cut, _ := l.state(); cut {
					break // not closed: the other side hears nothing
				}
				if n > 0 {
					l.mu.Lock()
					l.bytes[i] += int64(n)
					l.mu.Unlock()
					if _, err := p[1].Write(buffer[:n]); err != nil {
						break
					}
				}
				if err != nil {
					if err == io.EOF {
						p[1].Close()
						p[0].Close()
					}
					break
				}
			}
		})
	}
	both.Wait()
	for {
		cut, _ := l.state()
		if !cut {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *link) total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes[0] + l.bytes[1]
}

// commit commits n snapshots of random payloads of so many bytes, and returns how many
// payload bytes.
func commit(t testing.TB, s *serve.Server, entity string, from, n, size int) (bytes int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(from), 7))
	for i := range n {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		p := testkit.Value(t, data)
		bytes += int64(len(p.Bytes))
		testkit.Commit(t, s, engram.EntityUpdate{
			Entity: engram.MustID("Object/Instance/Vision/" + entity), Time: engram.Time(1e18 + (from+i)*1e6), Instances: []engram.Instance{engram.NewInstance(p)},
		})
	}
	return bytes
}

// until waits for something that comes about sooner or later; what it returns else is
// why it has not.
func until(t testing.TB, missing func() string) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		problem := missing()
		return problem, problem == ""
	})
}

// same waits until the copy is what its owner has.
func same(t testing.TB, copy, owner *node) {
	t.Helper()
	want := content(t, owner.Server, "Object")
	until(t, func() string {
		got := content(t, copy.Server, "robot1:Object")
		if slices.Equal(got, want) {
			return ""
		}
		return fmt.Sprintf("the copy has %d snapshots, its owner has %d", len(got), len(want))
	})
}

// live waits until the only copy of a holder has noted that it has all there is.
func live(t testing.TB, h *copies.Holder, owner *node) (s contract.Status) {
	t.Helper()
	until(t, func() string {
		if s = testStatus(t, h); s.State == contract.StateLive && s.Position.Number == owner.Number() {
			return ""
		}
		return fmt.Sprintf("the copy is %+v, its owner at %d", s, owner.Number())
	})
	return s
}

func content(t testing.TB, s *serve.Server, memory string) []string {
	t.Helper()
	r, err := s.Query(t.Context(), engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(memory)}}.Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for it := range r.All() {
		in := it.Instances[0]
		out = append(out, fmt.Sprint(it.ID.Names()[1:], it.Time, it.Arrived, in.Sent, in.Confidence, in.Payload.Type, len(in.Payload.Bytes), in.Payload.Bytes[max(len(in.Payload.Bytes)-8, 0):]))
	}
	return out
}

// A copy over HTTP: what was there, what comes, a cut that nobody tells of, restarts of
// both sides.
func TestTwoServers(t *testing.T) {
	ownerDir, baseDir := t.TempDir(), t.TempDir()
	first := listen(t, "127.0.0.1:0")
	owner := startNode(t, "robot1", ownerDir, first, object())
	radio := newLink(t, first.Addr().String())
	owners := oneOwner{server: "robot1", address: "http://" + radio.Addr().String()}
	base := startNode(t, "base", baseDir, listen(t, "127.0.0.1:0"))
	state := filepath.Join(baseDir, "copies")
	h := hold(t, base, owners, state, "robot1:Object/Instance")

	commit(t, owner.Server, "cup", 0, 500, 100)
	same(t, base, owner)
	commit(t, owner.Server, "can", 500, 50, 100)
	same(t, base, owner)
	results, err := base.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("robot1:Object/Instance/Vision/cup"), Time: 1, Instances: []engram.Instance{{}}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a commit to the copy: %v", err)
	}

	radio.set(true)
	commit(t, owner.Server, "cup", 550, 200, 100)
	radio.set(false)
	same(t, base, owner)

	// The holder restarts; what it had is not pulled again.
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	base.stop()
	commit(t, owner.Server, "cup", 750, 10, 100)
	base = startNode(t, "base", baseDir, listen(t, "127.0.0.1:0"))
	h = hold(t, base, owners, state, "robot1:Object/Instance")
	same(t, base, owner)
	if s := live(t, h, owner); s.Received != 10 {
		t.Errorf("after the restart %d versions were pulled, want 10: %+v", s.Received, s)
	}

	// The owner restarts.
	owner.stop()
	again := listen(t, "127.0.0.1:0")
	radio.lead(again.Addr().String())
	owner = startNode(t, "robot1", ownerDir, again, object())
	commit(t, owner.Server, "box", 760, 10, 100)
	same(t, base, owner)

	// A segment goes.
	if err := owner.RemoveSegment(t.Context(), engram.MustID("Object/Instance/Vision")); err != nil {
		t.Fatal(err)
	}
	same(t, base, owner)
	commit(t, owner.Server, "cup", 770, 1, 10)
	same(t, base, owner)

	// Another core segment takes its name, with another type.
	if err := owner.RemoveSegment(t.Context(), engram.MustID("Object/Instance")); err != nil {
		t.Fatal(err)
	}
	const other = "foxglove.Quaternion"
	if err := owner.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Object/Instance"), Type: other}); err != nil {
		t.Fatal(err)
	}
	results, err = owner.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("Object/Instance/Vision/cup"), Time: 5, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: other})},
	}}})
	if err = cmp.Or(err, engram.FirstError(results)); err != nil {
		t.Fatal(err)
	}
	same(t, base, owner)
	if got := content(t, base.Server, "robot1:Object"); len(got) != 1 || !strings.Contains(got[0], other) {
		t.Errorf("the copy holds %v", got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func testStatus(t testing.TB, h *copies.Holder) contract.Status {
	t.Helper()
	list, err := h.CopyStatus(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list[0]
}

// A copy of a server that is reached through the backbone only, and via another one.
func TestOverTheBackbone(t *testing.T) {
	fabric, err := embedded.Start(t.Context(), embedded.Options{Robot: "robot1", Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer fabric.Close()
	near, err := backbone.Connect(t.Context(), backbone.Options{InProcess: fabric})
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := backbone.Connect(t.Context(), backbone.Options{URL: fabric.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	tunnels, err := near.Listen("robot1")
	if err != nil {
		t.Fatal(err)
	}
	owner := startNode(t, "robot1", "", tunnels, object())
	middle := startWith(t, rpc.Options{Server: "middle", Backbone: far.Dial}, "", listen(t, "127.0.0.1:0"))
	commit(t, owner.Server, "cup", 0, 300, 100)
	commit(t, owner.Server, "image", 300, 2, 1<<20)
	for i, way := range []oneOwner{
		{server: "robot1", address: rpc.AddressOf(tunnels), dial: rpc.DialOptions{Backbone: far.Dial}},
		{server: "robot1", address: middle.address, dial: rpc.DialOptions{Via: "robot1"}},
	} {
		base := startNode(t, "base", "", listen(t, "127.0.0.1:0"))
		h := hold(t, base, way, "", "robot1:Object")
		same(t, base, owner)
		commit(t, owner.Server, "cup", 310+20*i, 20, 100)
		same(t, base, owner)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		base.stop()
	}
	middle.stop()
	owner.stop()
}

// What rules leave out is told by the copy's queries, and can be fetched.
func TestRulesOfTwoServers(t *testing.T) {
	owner := startNode(t, "robot1", "", listen(t, "127.0.0.1:0"), object())
	base := startNode(t, "base", "", listen(t, "127.0.0.1:0"))
	h := hold(t, base, oneOwner{server: "robot1", address: owner.address}, "", "robot1:Object/Instance rate=100 max-payload=1KB")
	commit(t, owner.Server, "cup", 0, 100, 50)
	commit(t, owner.Server, "image", 100, 3, 5000)
	all := engram.MustPattern("robot1:Object").Select(engram.All())
	live(t, h, owner)
	r, err := base.Query(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]uint64{}
	for _, m := range r.Missing {
		count[m.Reason] += m.Count
	}
	if n := len(r.Items()); n != 10 || count[engram.MissingLeftOut] != 93 {
		t.Errorf("%d snapshots are in the copy, of 1,000 per second at 100, and missing is %+v", n, r.Missing)
	}
	got, err := h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}})
	if err != nil || got.Versions != 93 || got.Had != 10 {
		t.Errorf("fetched %+v, %v", got, err)
	}
	same(t, base, owner)
	if r, err = base.Query(t.Context(), all); err != nil || len(r.Missing) != 0 {
		t.Errorf("after fetching missing is %+v, %v", r.Missing, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
