package live_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/live"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(benchRobot)); err == nil {
		fmt.Fprintln(os.Stderr, benchServe(n))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// robot is a server of the protocol that says what a test has it say.
type robot struct {
	url   string
	peers chan *peer
}

// peer is a connection of a client to a robot.
type peer struct {
	testing.TB
	conn   *websocket.Conn
	asked  chan protocol.Request
	broken chan struct{}
	hangUp func()
}

func newRobot(t testing.TB, subprotocols ...string) *robot {
	r := &robot{peers: make(chan *peer)}
	ctx, cancel := context.WithCancel(t.Context())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		conn, err := websocket.Accept(w, request, &websocket.AcceptOptions{Subprotocols: subprotocols})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx, hangUp := context.WithCancel(ctx)
		defer hangUp()
		p := &peer{t, conn, make(chan protocol.Request, 100), make(chan struct{}), hangUp}
		defer close(p.broken)
		select {
		case r.peers <- p:
		case <-ctx.Done():
			return
		}
		for {
			_, b, err := conn.Read(ctx)
			if err != nil {
				return
			}
			var asked protocol.Request
			if err := json.Unmarshal(b, &asked); err != nil {
				t.Errorf("the client says %s", b)
			}
			p.asked <- asked
		}
	}))
	t.Cleanup(web.Close)
	t.Cleanup(cancel)
	r.url = "ws" + strings.TrimPrefix(web.URL, "http")
	return r
}

func (p *peer) say(message any) {
	p.Helper()
	b, err := json.Marshal(message)
	if err != nil {
		p.Fatal(err)
	}
	p.write(websocket.MessageText, b)
}

func (p *peer) write(kind websocket.MessageType, b []byte) {
	p.Helper()
	if err := p.conn.Write(p.Context(), kind, b); err != nil {
		p.Error(err)
	}
}

// greet says what a server says first.
func (p *peer) greet(capabilities ...string) {
	p.Helper()
	p.say(protocol.ServerInfo{Op: "serverInfo", Name: "robot", Capabilities: capabilities, SessionID: "1"})
}

func (p *peer) advertise(channels ...protocol.Channel) {
	p.Helper()
	p.say(protocol.Advertise{Op: "advertise", Channels: channels})
}

// subscribed returns the client's numbers of channels, by the server's, once it has
// subscribed.
func (p *peer) subscribed() map[uint32]uint32 {
	p.Helper()
	for {
		asked := testkit.Receive(p, p.asked)
		if asked.Op != "subscribe" {
			continue
		}
		subs := map[uint32]uint32{}
		for _, s := range asked.Subscriptions {
			subs[s.ChannelID] = s.ID
		}
		return subs
	}
}

func (p *peer) message(sub uint32, at engram.Time, data []byte) {
	p.Helper()
	p.write(websocket.MessageBinary, protocol.AppendMessage(nil, sub, at, data))
}

// following is an ingestion into a memory.
type following struct {
	*server.Server
	src    *live.Source
	end    context.CancelFunc
	report chan *ingest.Report

	mu   sync.Mutex
	told []string
}

// follow ingests from a server into a new memory, which greet serves the first connection of.
func follow(t testing.TB, url string, o live.Options, greet func()) *following {
	t.Helper()
	f := &following{Server: serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet}), report: make(chan *ingest.Report, 1)}
	o.Tell = func(text string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.told = append(f.told, text)
	}
	var greeted sync.WaitGroup
	greeted.Go(greet)
	defer greeted.Wait()
	ctx, end := context.WithCancel(t.Context())
	f.end = end
	var err error
	if f.src, err = live.Dial(ctx, url, o); err != nil {
		t.Fatal(err)
	}
	go func() {
		report, err := ingest.Follow(ctx, f, f.src, url, ingest.Options{Source: "robot"})
		if err != nil {
			t.Error(err)
		}
		f.report <- report
	}()
	t.Cleanup(func() {
		end()
		if err := f.src.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// finish ends the ingestion and returns its report.
func (f *following) finish(t testing.TB) *ingest.Report {
	t.Helper()
	f.end()
	return testkit.Receive(t, f.report)
}

func (f *following) heard(words string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Contains(strings.Join(f.told, "\n"), words)
}

// values returns what the memory has of a topic in a core segment, in the order of time.
func (f *following) values(t testing.TB, segment, topic string) (values []any, times []engram.Time) {
	t.Helper()
	id, err := engram.MustID(segment).Child("robot")
	if err == nil {
		id, err = id.Child(topic)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Query(t.Context(), engram.SelectID(id, engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range r.Items() {
		p := it.Instances[0].Payload
		def, err := f.Type(t.Context(), p.Type)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, decode(t, def, p.Bytes))
		times = append(times, it.Time)
	}
	return values, times
}

// has waits until the memory has n snapshots of a topic, and returns the last.
func (f *following) has(t testing.TB, n int, segment, topic string) any {
	t.Helper()
	var got any
	testkit.Until(t, func() (string, bool) {
		values, _ := f.values(t, segment, topic)
		if len(values) > 0 {
			got = values[len(values)-1]
		}
		return segment + " " + topic, len(values) == n
	})
	return got
}

// rosString is a text in ROS 1's serialisation.
func rosString(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// cdrString is a text in CDR.
func cdrString(text string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, uint32(len(text)+1))
	return append(append(b, text...), 0)
}
