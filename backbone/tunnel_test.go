package backbone

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
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
