package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// rawClient is a peer that says what it wants.
type rawClient struct {
	t testing.TB
	*net.UnixConn
}

func rawDial(t testing.TB, address string) rawClient {
	t.Helper()
	conn, err := net.Dial("unix", strings.TrimPrefix(address, "local:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return rawClient{t, conn.(*net.UnixConn)}
}

func clientHello() hello {
	return hello{version: version, minVersion: version, limits: limits{frame: maxFrame, ids: maxIDs, types: maxTypes}}
}

// greet exchanges hellos.
func (c rawClient) greet() rawClient {
	c.t.Helper()
	c.send(clientHello().append(nil, false))
	var b [answerSize]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		c.t.Fatal(err)
	}
	if h, err := parseHello(b[:]); err != nil || h.version != version {
		c.t.Fatalf("the server says %+v, %v", h, err)
	}
	return c
}

func (c rawClient) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// refusal reads until the server closes the connection and returns the error it
// sent last, nil if it sent none.
func (c rawClient) refusal() error {
	c.t.Helper()
	rd := newReader(c, limits{frame: maxFrame, ids: maxIDs, types: maxTypes}, 0)
	var last error
	for {
		h, err := rd.next()
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return last
		}
		if err != nil {
			c.t.Fatalf("the server does not close the connection: %v", err)
		}
		if h.kind == kindError {
			last = rd.err()
		}
		rd.b = nil
		rd.payload(uint32(rd.rest))
		if err := rd.finish(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// frame returns a frame with records as they are.
func frame(k kind, flags uint8, call uint32, records ...byte) []byte {
	b := make([]byte, headerSize)
	header{length: uint32(len(records)), meta: uint32(len(records)), call: call, kind: k, flags: flags}.put(b)
	return append(b, records...)
}

// encoded returns a frame as our own side writes it.
func encoded(k kind, flags uint8, call uint32, fill func(*encoder)) []byte {
	e := &encoder{}
	e.ids.limit, e.types.limit = maxIDs, maxTypes
	e.begin(&batch{})
	fill(e)
	e.end(k, flags, call)
	var b []byte
	for _, v := range e.vectors(nil) {
		b = append(b, v...)
	}
	return b
}

func commitFrame(flags uint8, call uint32, updates ...engram.EntityUpdate) []byte {
	return encoded(kindCommit, flags, call, func(e *encoder) { e.updates(updates) })
}

// What breaks the rules ends the connection, with the reason, and nothing else.
func TestBadFrames(t *testing.T) {
	address := serve(t, newFake(), Options{MaxFrame: 1 << 20})
	witness := client(t, address, DialOptions{})
	good := commitFrame(0, 1, update("M/C/P/e", 1, payload(33, 0)))
	u32 := func(v ...uint32) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		return b
	}
	tooLong := make([]byte, headerSize)
	header{length: 1<<20 + 1, kind: kindCommit, call: 1}.put(tooLong)
	reserved := frame(kindCancel, 0, 1)
	reserved[14] = 1
	metaOver := frame(kindCancel, 0, 1)
	metaOver[4] = 1
	stray := frame(kindCancel, 0, 1, 9)
	payloadNobodys := frame(kindCancel, 0, 1, 9)
	payloadNobodys[4] = 0
	for name, c := range map[string]struct {
		frame []byte
		code  engram.Code
	}{
		"too long":               {tooLong, engram.Exhausted},
		"reserved bits":          {reserved, engram.Corrupt},
		"records beyond frame":   {metaOver, engram.Corrupt},
		"records left over":      {stray, engram.Corrupt},
		"payload left over":      {payloadNobodys, engram.Corrupt},
		"unknown kind":           {frame(0x55, 0, 1), engram.Corrupt},
		"kind of a server":       {frame(kindResults, 0, 1), engram.Corrupt},
		"call 0":                 {commitFrame(0, 0), engram.Corrupt},
		"more updates than room": {frame(kindCommit, 0, 1, u32(1000)...), engram.Corrupt},
		"undefined slot":         {frame(kindCommit, 0, 1, append(u32(1, 7), make([]byte, 12)...)...), engram.Corrupt},
		"slot out of order":      {frame(kindCommit, 0, 1, append(u32(1, 7|defined), make([]byte, 12)...)...), engram.Corrupt},
		"name that is none":      {frame(kindCommit, 0, 1, append(u32(1, 0|defined), append([]byte{1, 0, 0}, make([]byte, 12)...)...)...), engram.Corrupt},
		"credit cut":             {frame(kindCredit, 0, 1, 1, 2), engram.Corrupt},
		"cut in the header":      {good[:7], engram.Corrupt},
		"cut in the records":     {good[:40], engram.Corrupt},
		"cut in the payload":     {good[:len(good)-1], engram.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			peer := rawDial(t, address).greet()
			peer.send(commitFrame(flagStream, 1, update("M/C/P/"+name, 1, payload(33, 0))))
			peer.send(c.frame)
			peer.CloseWrite()
			if err := peer.refusal(); engram.CodeOf(err) != c.code {
				t.Errorf("refused with %v, want %v", err, c.code)
			}
			// What was stored before is there, and others are served.
			if _, err := witness.Latest(testkit.Context(t), engram.MustID("M/C/P/"+name)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A call number that is in use cannot be used again.
func TestCallNumberTwice(t *testing.T) {
	f := newFake()
	f.commitHook = func(ctx context.Context, _ engram.Commit) error {
		<-ctx.Done()
		return ctx.Err()
	}
	peer := rawDial(t, serve(t, f, Options{})).greet()
	open := commitFrame(0, 5, update("M/C/P/e", 1))
	peer.send(open)
	peer.send(open)
	if err := peer.refusal(); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("refused with %v", err)
	}
}

func TestBadHellos(t *testing.T) {
	patient, impatient := serve(t, newFake(), Options{HelloTimeout: never}), serve(t, newFake(), Options{HelloTimeout: 50 * time.Millisecond})
	newer, older, narrow := clientHello(), clientHello(), clientHello()
	newer.version, newer.minVersion = 9, 7
	older.version, older.minVersion = 0, 0
	narrow.frame = 100
	for name, c := range map[string]struct {
		address string
		hello   []byte
		code    engram.Code
	}{
		"newer client":     {patient, newer.append(nil, false), engram.Unsupported},
		"older client":     {patient, older.append(nil, false), engram.Unsupported},
		"useless limits":   {patient, narrow.append(nil, false), engram.Corrupt},
		"another protocol": {patient, []byte("GET / HTTP/1.1\r\nHost: engram\r\n\r\n"), engram.Corrupt},
		"nothing":          {impatient, nil, engram.Invalid},
		"half":             {impatient, clientHello().append(nil, false)[:10], engram.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			peer := rawDial(t, c.address)
			if _, err := peer.Write(c.hello); err != nil && c.address == patient { // else it may be refused already
				t.Fatal(err)
			}
			var b [answerSize]byte
			if _, err := io.ReadFull(peer, b[:]); err != nil {
				t.Fatal(err)
			}
			if h, err := parseHello(b[:]); err != nil || h.version != 0 {
				t.Errorf("the server says %+v, %v", h, err)
			}
			if err := peer.refusal(); engram.CodeOf(err) != c.code {
				t.Errorf("refused with %v, want %v", err, c.code)
			}
		})
	}
}

// A client meets servers that are none, or of another version.
func TestDialBadServers(t *testing.T) {
	other := hello{version: version + 1, limits: limits{frame: maxFrame, ids: 1, types: 1}}
	for name, c := range map[string]struct {
		answer string
		code   engram.Code
	}{
		"another version":  {string(other.append(nil, true)), engram.Unsupported},
		"another protocol": {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", engram.Corrupt},
		"silence":          {"", engram.Unavailable},
		"half":             {string(other.append(nil, true)[:20]), engram.Unavailable},
		"refusal unsaid":   {string(hello{}.append(nil, true)), engram.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "local") // short: the path of a socket is bounded
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			path := filepath.Join(dir, "s")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				io.ReadFull(conn, make([]byte, helloSize))
				io.WriteString(conn, c.answer)
			}()
			if _, err := Dial(testkit.Context(t), "local:"+path, DialOptions{}); engram.CodeOf(err) != c.code {
				t.Errorf("Dial: %v, want %v", err, c.code)
			}
		})
	}
	for address, code := range map[string]engram.Code{
		"unix:/tmp/x": engram.Invalid, "local:": engram.Invalid, "local:/nonexistent/engram": engram.Unavailable,
	} {
		if _, err := Dial(testkit.Context(t), address, DialOptions{}); engram.CodeOf(err) != code {
			t.Errorf("Dial(%q): %v, want %v", address, err, code)
		}
	}
}

// Who stops in the middle of a frame, or reads nothing, is cut off.
func TestStalledPeers(t *testing.T) {
	address := serve(t, newFake(), Options{StallTimeout: 50 * time.Millisecond})
	for name, sent := range map[string][]byte{
		"in the header":  commitFrame(0, 1)[:9],
		"in the records": commitFrame(0, 1, update("M/C/P/e", 1, payload(33, 0)))[:30],
		"in the payload": commitFrame(0, 1, update("M/C/P/e", 1, payload(100_000, 0)))[:50_000],
	} {
		t.Run(name, func(t *testing.T) {
			peer := rawDial(t, address).greet()
			peer.send(sent)
			peer.refusal() // fails if the connection is not closed
		})
	}
	t.Run("reads nothing", func(t *testing.T) {
		peer := rawDial(t, address).greet()
		// Results come back for as long as commits are taken.
		commit := commitFrame(flagStream, 1, make([]engram.EntityUpdate, 1000)...)
		for {
			if _, err := peer.Write(commit); errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A subscriber that does not take its updates costs the others nothing and the
// server no more than its queue and the window; it learns what it lost.
func TestSlowSubscriber(t *testing.T) {
	const size, updates, queue, window = 50_000, 400, 10, 500_000
	f := newFake()
	address := serve(t, f, Options{})
	c := client(t, address, DialOptions{Window: window})
	ctx := testkit.Context(t)
	slow, err := c.Subscribe(ctx, engram.Subscription{WithData: true, Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	quick, err := c.Subscribe(ctx, engram.Subscription{Queue: updates})
	if err != nil {
		t.Fatal(err)
	}
	defer quick.Close()
	seen := uint64(0)
	for i := range updates {
		if _, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", engram.Time(i), payload(size, byte(i)))}}); err != nil {
			t.Fatal(err)
		}
		for seen <= uint64(i) {
			batch, err := quick.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			seen += uint64(len(batch))
		}
	}
	var got, dropped, last uint64
	for last < updates {
		batch, err := slow.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range batch {
			if u.Number <= last {
				t.Fatalf("update %d after %d", u.Number, last)
			}
			got, dropped, last = got+1, dropped+u.Dropped, u.Number
		}
	}
	if got+dropped != updates || got > window/size+queue+maxBatch/10 || got < queue {
		t.Errorf("%d updates and %d dropped of %d; window and queue hold %d", got, dropped, updates, window/size+queue)
	}
}

// More connections than there may be are refused with a reason, and closing some
// makes room.
func TestManyConnections(t *testing.T) {
	const attempts, allowed = 10_000, 100
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < attempts+2*allowed+200 {
		t.Skipf("the test needs %d file descriptors, and %d are allowed (ulimit -n)", attempts+2*allowed+200, limit.Cur)
	}
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	t.Cleanup(func() { settled(t, goroutines, descriptors) })
	path := filepath.Join(t.TempDir(), "s")
	// Those who connect first wait for the last before they say who they are.
	stop := serveAt(t, path, newFake(), Options{MaxConnections: allowed, HelloTimeout: never})
	defer stop()
	var conns []rawClient
	for range attempts {
		conn, err := net.Dial("unix", path)
		for errors.Is(err, syscall.EAGAIN) { // the queue of those not yet accepted is full
			runtime.Gosched()
			conn, err = net.Dial("unix", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, rawClient{t, conn.(*net.UnixConn)})
	}
	refused := 0
	for i, c := range conns {
		c.Write(clientHello().append(nil, false)) // a refused one may be closed already
		var b [answerSize]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		if h, err := parseHello(b[:]); err != nil {
			t.Fatal(err)
		} else if h.version == version {
			continue
		}
		refused++
		if err := c.refusal(); engram.CodeOf(err) != engram.Exhausted {
			t.Fatalf("refused with %v", err)
		}
	}
	if refused != attempts-allowed {
		t.Errorf("%d of %d were refused, %d are allowed", refused, attempts, allowed)
	}
	for _, c := range conns {
		c.Close()
	}
	for { // until the server has noticed
		c, err := Dial(testkit.Context(t), "local:"+path, DialOptions{})
		if engram.CodeOf(err) == engram.Exhausted {
			runtime.Gosched()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return
	}
}

func openDescriptors(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files cannot be counted without /proc/self/fd: %v", err)
	}
	return len(entries)
}

// never is longer than any test.
const never = time.Hour

// settled waits until goroutines and descriptors are as many as before.
func settled(t testing.TB, goroutines, descriptors int) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		g, d := runtime.NumGoroutine(), openDescriptors(t)
		return fmt.Sprintf("%d goroutines and %d descriptors, before %d and %d", g, d, goroutines, descriptors), g <= goroutines && d <= descriptors
	})
}

// Too many calls at once are refused one by one; the connection goes on.
func TestManyCalls(t *testing.T) {
	f := newFake()
	release := make(chan struct{})
	f.commitHook = func(context.Context, engram.Commit) error { <-release; return nil }
	peer := rawDial(t, serve(t, f, Options{MaxCalls: 3})).greet()
	for i := range uint32(5) {
		peer.send(commitFrame(0, i+1, update(fmt.Sprintf("M/C/P/e%d", i), 1)))
	}
	rd := newReader(peer, limits{frame: maxFrame, ids: maxIDs, types: maxTypes}, 0)
	answers := map[kind]int{}
	for range 5 {
		h, err := rd.next()
		if err != nil {
			t.Fatal(err)
		}
		if answers[h.kind]++; h.kind == kindError {
			if err := rd.err(); engram.CodeOf(err) != engram.Exhausted {
				t.Errorf("call %d: %v", h.call, err)
			}
			if answers[kindError] == 2 {
				close(release)
			}
		}
		rd.b = nil
		rd.finish()
	}
	if answers[kindError] != 2 || answers[kindResults] != 3 {
		t.Errorf("answers %v, want 3 results and 2 errors", answers)
	}
}

// A client that is killed in the middle of a batch loses nobody anything: what was
// acknowledged is there, updates are whole, others are served, nothing leaks.
func TestKilledClient(t *testing.T) {
	f := newFake()
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stop := serveAt(t, filepath.Join(dir, "memory"), f, Options{})
	defer stop()
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	for round := range 5 {
		// Of each round, as a connection has more goroutines from its first slow call on.
		witness := client(t, "local:"+filepath.Join(dir, "memory"), DialOptions{})
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=victim", childEnv+"_DIR="+dir)
		acknowledged, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.StdinPipe(); err != nil { // open as long as the child is to live
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := -1
		for last < 20+10*round {
			if _, err := fmt.Fscanln(acknowledged, &last); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Process.Kill()
		rest, _ := io.ReadAll(acknowledged)
		for _, line := range strings.Split(strings.TrimSuffix(string(rest), "\n"), "\n") {
			fmt.Sscan(line, &last)
		}
		cmd.Wait()
		s, err := witness.Latest(testkit.Context(t), engram.MustID("M/C/P/victim"))
		if err != nil || int(s.Time) < last {
			t.Fatalf("latest is %+v, %v, but %d was acknowledged", s, err, last)
		}
		checkInstances(t, s, s.Time, payload(victimPayload, byte(s.Time)))
		if err := witness.Close(); err != nil {
			t.Error(err)
		}
		settled(t, goroutines, descriptors)
	}
}

const victimPayload = 49225

// victim commits until it is killed, and tells what was acknowledged.
func victim(dir string) error {
	c, err := Dial(context.Background(), "local:"+filepath.Join(dir, "memory"), DialOptions{})
	if err != nil {
		return err
	}
	st, err := c.CommitStream(context.Background())
	if err != nil {
		return err
	}
	go func() {
		for i := 0; ; {
			var cm engram.Commit
			for range 5 {
				cm.Updates = append(cm.Updates, update("M/C/P/victim", engram.Time(i), payload(victimPayload, byte(i))))
				i++
			}
			st.Send(cm)
		}
	}()
	for {
		results, err := st.Recv()
		if err != nil {
			return err
		}
		t, _ := results[len(results)-1].ID.Time()
		fmt.Println(int64(t))
	}
}

// Many goroutines share a client.
func TestConcurrentCalls(t *testing.T) {
	c := client(t, serve(t, newFake(), Options{MaxCalls: 8}), DialOptions{})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			entity := fmt.Sprintf("M/C/P/e%d", g)
			for i := range 50 {
				p := payload(1+g*1000+i, byte(g))
				results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(entity, engram.Time(i), p)}})
				if err != nil || results[0].Err != nil || results[0].ID != engram.MustID(entity).At(engram.Time(i)) {
					t.Errorf("%+v, %v", results, err)
					return
				}
				s, err := c.Latest(t.Context(), engram.MustID(entity))
				if err != nil {
					t.Error(err)
					return
				}
				checkInstances(t, s, engram.Time(i), p)
			}
		})
	}
	wg.Wait()
}

// A socket that Listen made is this user's alone, is not taken from a live server,
// and serves.
func TestListen(t *testing.T) {
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	address, ok := Beside("unix:" + filepath.Join(dir, "engram.sock"))
	if !ok || address != "local:"+filepath.Join(dir, "engram.local") {
		t.Errorf("beside is %q", address)
	}
	if _, ok := Beside("http://127.0.0.1:1"); ok {
		t.Error("a local socket beside TCP")
	}
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(strings.TrimPrefix(address, "local:")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Listen(address); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("a second listener: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, newFake(), Options{}) }()
	client(t, address, DialOptions{})
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := Dial(testkit.Context(t), address, DialOptions{}); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("Dial of a server that ended: %v", err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("one cannot listen by TCP here: %v", err)
	}
	go func() { served <- Serve(t.Context(), tcp, newFake(), Options{}) }()
	conn, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-served; engram.CodeOf(err) != engram.Invalid {
		t.Errorf("Serve on TCP: %v", err)
	}
}
