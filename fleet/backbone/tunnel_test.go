package backbone

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
)

// A connection that is dialled while the listener closes ends, at both ends.
func TestDialledWhileTheListenerCloses(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	b, err := Connect(t.Context(), Options{InProcess: s})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	plain, err := b.Listen("s")
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	// Its callback runs to the end although the listener has been closed.
	answered, err := b.conn.SubscribeSync("_INBOX.answers")
	if err != nil {
		t.Fatal(err)
	}
	request := nats.NewMsg(dialSubject("s"))
	request.Header.Set("Engram-Tunnel", tunnelVersion)
	request.Data, request.Reply = []byte(b.tunnels.prefix+"far"), "_INBOX.answers"
	request.Sub = answered
	plain.(*listener).dialled(request)
	answer, err := answered.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Header.Get("Engram-Error") == "" {
		t.Errorf("the dialler was told that it is connected: %q", answer.Data)
	}
	b.tunnels.mu.Lock()
	defer b.tunnels.mu.Unlock()
	if n := len(b.tunnels.conns); n != 0 {
		t.Errorf("%d connections are still there", n)
	}
	if _, err := plain.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// A server that was killed tells nobody. As soon as it is back, connections to the process before end, and
// no others.
func TestConnectionsToTheProcessBeforeEnd(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() }) // after the connections
	connect := func() *Backbone {
		b, err := Connect(t.Context(), Options{InProcess: s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	listen := func(b *Backbone, name string) *listener {
		l, err := b.Listen(name)
		if err != nil {
			t.Fatal(err)
		}
		return l.(*listener)
	}
	holder, first, second, other := connect(), connect(), connect(), connect()
	dial := func(name string) net.Conn {
		c, err := holder.Dial(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	killed := listen(first, "robot")
	listen(other, "base")
	before, beside := dial("robot"), dial("base")
	if err := errors.Join(killed.sub.Unsubscribe(), first.conn.Flush()); err != nil {
		t.Fatal(err)
	}
	first.conn.Close() // as if it were killed: its ends of connections say nothing
	listen(second, "robot")
	holder.Restarted(t.Context(), "robot")
	after := dial("robot")
	holder.Restarted(t.Context(), "robot")
	ended := func(c net.Conn) error {
		if err := c.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := c.Read(make([]byte, 1))
		return err
	}
	if err := ended(before); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("to the process before: %v", err)
	}
	for name, c := range map[string]net.Conn{"to the process now": after, "to another server": beside} {
		if err := ended(c); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(holder.tunnels.to("robot")); n != 1 {
		t.Errorf("%d connections to the server are left", n)
	}
}
