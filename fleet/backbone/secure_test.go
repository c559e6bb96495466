package backbone_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
)

// With credentials the fabric takes servers of the deployment, and programs that the
// rules let read everything; programs cannot speak for servers.
func TestSecureFabric(t *testing.T) {
	d := deployment.New(t)
	rules := access.New(access.Options{})
	set := func(revoked ...access.Revocation) {
		t.Helper()
		err := rules.Set(access.Policy{Rules: []access.Rule{
			{Actions: access.Read, To: []string{"reader"}, On: []engram.Pattern{engram.MustPattern("*")}},
			{Actions: access.Read, To: []string{"poor"}, On: []engram.Pattern{engram.MustPattern("Object")}},
		}, Revoked: revoked})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(access.Revocation{Identity: "gone"})
	s, inside := start(t, embedded.Options{Robot: "robot1", Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		Secure: secure.Options{Credentials: d.Server(t, "robot1"), Access: rules}})
	if _, err := inside.JetStream().AccountInfo(t.Context()); err != nil {
		t.Fatalf("the process's own connection: %v", err)
	}

	for name, o := range map[string]backbone.Options{
		"no certificate":    {},
		"another authority": {Credentials: deployment.New(t).Server(t, "robot1")},
		"revoked":           {Credentials: d.Server(t, "gone")},
		"a poor program":    {Credentials: d.Program(t, "poor")},
	} {
		o.URL, o.Log = s.ClientURL(), testkit.Quiet
		if b, err := backbone.Connect(t.Context(), o); err == nil {
			b.Close()
			t.Errorf("%s: let in", name)
		} else if strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}

	second := fabrics.Connect(t, backbone.Options{URL: s.ClientURL(), Credentials: d.Server(t, "second")})
	heard := make(chan string, 10)
	listening, err := inside.Conn().Subscribe("engram.>", func(m *nats.Msg) { heard <- m.Subject })
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	reader := fabrics.Connect(t, backbone.Options{URL: s.ClientURL(), Credentials: d.Program(t, "reader")})
	for _, subject := range []string{"engram.update.Object.Instance.a.b", "engram.names.robot1.x", "_INBOX.x", "engram.names"} {
		if err := reader.Conn().Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := reader.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	if got := testkit.Receive(t, heard); got != "engram.names" {
		t.Errorf("a program could publish on %s", got)
	}
	programCannotChangeNames(t, inside, reader)

	if err := listening.Unsubscribe(); err != nil {
		t.Fatal(err)
	}

	// Who is revoked is disconnected.
	gone := make(chan struct{})
	reader.Conn().SetDisconnectErrHandler(func(*nats.Conn, error) { close(gone) })
	reader.Conn().Opts.AllowReconnect = false
	set(access.Revocation{Identity: "gone"}, access.Revocation{Identity: "reader"})
	testkit.Receive(t, gone)
	if err := second.Conn().Flush(); err != nil {
		t.Errorf("the other's connection: %v", err)
	}

	t.Run("leaf", func(t *testing.T) {
		_, robot2 := start(t, embedded.Options{Robot: "robot2", LeafOf: []string{s.LeafURL()}, Secure: secure.Options{Credentials: d.Server(t, "robot2")}})
		tunnelled(t, inside, robot2, d)
	})
	t.Run("leaf of another deployment", func(t *testing.T) {
		testkit.Until(t, func() (string, bool) { return "robot2 is still there", s.Figures().LeafNodes == 0 })
		way := wayTo(t, s.LeafURL())
		_, robot3 := start(t, embedded.Options{Robot: "robot3", LeafOf: []string{way.url}, Secure: secure.Options{Credentials: deployment.New(t).Server(t, "robot3")}})
		testkit.Until(t, func() (string, bool) {
			if n := s.Figures().LeafNodes; n > 0 {
				t.Errorf("%d leaf nodes have joined", n)
			}
			return "the leaf node was not turned away", way.ended.Load() > 1
		})
		_, err := robot3.Conn().Request("engram.nobody", nil, time.Minute)
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Error(err)
		}
		if _, err := robot3.JetStreamOf("robot1"); err != nil {
			t.Fatal(err)
		}
		if c, err := robot3.Dial(t.Context(), "server of leaf"); err == nil {
			c.Close()
			t.Error("a robot of another deployment has joined")
		}
	})
}

// way is a way to a listener that counts the connections that have ended.
type way struct {
	url   string
	ended atomic.Int32
}

// wayTo leads to where leaf nodes are listened for.
func wayTo(t *testing.T, leafURL string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{url: "nats-leaf://" + l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(leafURL, "nats-leaf://"))
			if err != nil {
				near.Close()
				continue
			}
			running.Go(func() {
				var both sync.WaitGroup
				for _, p := range [][2]net.Conn{{near, far}, {far, near}} {
					both.Go(func() {
						_, _ = io.Copy(p[0], p[1]) // how it ends does not matter
						near.Close()
						far.Close()
					})
				}
				both.Wait()
				w.ended.Add(1)
			})
		}
	})
	t.Cleanup(func() { // after the fabrics that are connected
		l.Close()
		running.Wait()
	})
	return w
}

// programCannotChangeNames tries the ways through JetStream's interface, also under the
// domain's name; looking names up works.
func programCannotChangeNames(t *testing.T, server, program *backbone.Backbone) {
	t.Helper()
	names, err := kv.Open(t.Context(), server.JetStream(), kv.Options{TTL: time.Hour}) // a lease that does not run out
	if err != nil {
		t.Fatal(err)
	}
	if _, err := names.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object"}, Addresses: []string{"nats:s"}}); err != nil {
		t.Fatal(err)
	}
	republishing := `{"name":"X","subjects":["x.>"],"storage":"memory","republish":{"src":"x.>","dest":"engram.names.>"}}`
	for subject, body := range map[string]string{
		"$JS.API.STREAM.DELETE.KV_engram-names":        "",
		"$JS.robot1.API.STREAM.DELETE.KV_engram-names": "",
		"$JS.robot1.API.STREAM.PURGE.KV_engram-names":  "",
		"$JS.API.STREAM.CREATE.X":                      republishing,
		"$JS.robot1.API.STREAM.CREATE.X":               republishing,
		"$JS.API.STREAM.RESTORE.Y":                     "{}",
		"$KV.engram-names.Object":                      "{}",
	} {
		mayNotAsk(t, program, subject, body)
	}
	looked, err := kv.Open(t.Context(), program.JetStream(), kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := looked.Resolve(t.Context(), "Object"); err != nil || e.Server != "s" {
		t.Errorf("a program looks a name up: %+v %v", e, err)
	}
	mayNot(t, program, "$KV.engram-names.Mine", func(ctx context.Context) error {
		_, err := looked.Register(ctx, mns.Registration{Server: "p", Memories: []string{"Mine"}, Addresses: []string{"nats:p"}})
		return err
	})
}

// tunnelled has bytes pass through a tunnel with TLS inside, from one robot to another.
func tunnelled(t *testing.T, at, from *backbone.Backbone, d deployment.Deployment) {
	t.Helper()
	plain, err := at.Listen("server of leaf")
	if err != nil {
		t.Fatal(err)
	}
	l, err := secure.Options{Credentials: d.Server(t, "robot1")}.Listener(plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	who := make(chan access.Identity, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		id, _ := secure.IdentityOf(c)
		who <- id
		_, _ = c.Write([]byte("hello")) // the reader tells
		c.Close()
	}()
	var conn net.Conn
	testkit.Until(t, func() (string, bool) { // the leaf's interest takes a moment
		conn, err = from.Dial(t.Context(), "server of leaf")
		return fmt.Sprint(err), err == nil
	})
	c, err := secure.Client(t.Context(), d.Server(t, "robot2"), conn, "robot1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(c); err != nil || got.String() != "hello" {
		t.Errorf("%q %v", got.String(), err)
	}
	if id := testkit.Receive(t, who); id != "robot2" {
		t.Errorf("the identity is %q", id)
	}
}
