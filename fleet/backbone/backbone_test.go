package backbone_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*ipQueue[...]).push"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// start embeds a server and connects to it.
func start(t testing.TB, o embedded.Options) (*embedded.Server, *backbone.Backbone) {
	t.Helper()
	s := fabrics.Start(t, o)
	return s, fabrics.Connect(t, backbone.Options{InProcess: s, Robot: o.Robot})
}

// pair is a connection through the message fabric from one backbone to another.
func pair(t testing.TB, server, dialler *backbone.Backbone) (near, far net.Conn) {
	t.Helper()
	l, err := server.Listen("robot1/vision computer")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = dialler.Dial(t.Context(), "robot1/vision computer")
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

func TestTunnelIsAConn(t *testing.T) {
	_, b := start(t, embedded.Options{})
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		c1, c2 = pair(t, b, b)
		return c1, c2, func() { c1.Close(); c2.Close() }, nil
	})
}

// Two robots that are leaf nodes of a base station reach each other through it.
func TestTunnelAcrossLeafNodes(t *testing.T) {
	base, _ := start(t, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0"})
	_, one := start(t, embedded.Options{Robot: "robot1", LeafOf: []string{base.LeafURL()}})
	_, two := start(t, embedded.Options{Robot: "robot2", LeafOf: []string{base.LeafURL()}})
	l, err := one.Listen("robot1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if _, err := io.Copy(c, c); err != nil {
			t.Error(err)
		}
	}()
	var c net.Conn
	testkit.Until(t, func() (string, bool) { // the links come up in the background
		if c, err = two.Dial(t.Context(), "robot1"); err != nil && engram.CodeOf(err) != engram.Unavailable {
			t.Fatal(err)
		}
		return fmt.Sprint(err), err == nil
	})
	text := strings.Repeat("over the fabric ", 1<<18) // four windows
	go func() {
		if _, err := io.WriteString(c, text); err != nil {
			t.Error(err)
		}
	}()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Errorf("what came back differs, %v", err)
	}
	c.Close()
	<-echoed
}

func TestDialWithoutAServer(t *testing.T) {
	_, b := start(t, embedded.Options{})
	_, err := b.Dial(t.Context(), "nobody")
	if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("dialling nobody: %v", err)
	}
	l, err := b.Listen("somebody")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := b.Listen("somebody"); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("listening twice: %v", err)
	}
}

// A process that dies leaves its connections to end by themselves; one that closes
// its backbone ends them at once.
func TestTunnelEndsWithItsBackbone(t *testing.T) {
	s, server := start(t, embedded.Options{Listen: "127.0.0.1:0"})
	client := fabrics.Connect(t, backbone.Options{URL: s.ClientURL()})
	near, far := pair(t, server, client)
	defer near.Close()
	defer far.Close()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the far end reads %v; want EOF", err)
	}
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("the near end of a closed backbone can be written to")
	}
}

func TestWrongOptions(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		name string
		o    embedded.Options
		want engram.Code
	}{
		{"robot", embedded.Options{Robot: "my robot"}, engram.Invalid},
		{"leaf without robot", embedded.Options{LeafOf: []string{"nats-leaf://:secret@base:7422"}}, engram.Invalid},
		{"no port", embedded.Options{Listen: "localhost"}, engram.Invalid},
		{"taken", embedded.Options{Listen: taken.Addr().String()}, engram.Conflict},
		{"not a URL", embedded.Options{Robot: "r", LeafOf: []string{"base"}}, engram.Invalid},
		{"not a leaf node's URL", embedded.Options{Robot: "r", LeafOf: []string{"nats-leef://:secret@base:7422"}}, engram.Invalid},
		{"not a route's URL", embedded.Options{Cluster: "127.0.0.1:0", Routes: []string{":secret@base:6222"}}, engram.Invalid},
	} {
		tt.o.Log = testkit.Quiet
		_, err := embedded.Start(t.Context(), tt.o)
		if engram.CodeOf(err) != tt.want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.want)
		}
	}
	_, err = backbone.Connect(t.Context(), backbone.Options{URL: "nats://user:secret@127.0.0.1:1", Log: testkit.Quiet})
	if engram.CodeOf(err) != engram.Unavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
}
