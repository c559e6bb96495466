package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// A fabric of somebody that joins the backbone as a leaf node: without credentials, with
// those of a program or of another authority it is not let in; with those of another
// robot's server it speaks and hears for that robot alone, whatever its own clients send
// and listen to; and it is cut when it is revoked.
func TestIntruderAsALeafNode(t *testing.T) {
	testkit.RealTime(t, "what an intruder does and others commit goes on at once for seconds")
	chance, s := chance(t), besiege(t)
	const watching = rules + "  - allow: [read, subscribe]\n    to: watcher\n    on: \"*\"\n"
	s.rule(t, watching)
	watches := backbone.Options{URL: "nats://" + s.clients, Credentials: s.Program(t, "watcher"), Log: testkit.Quiet}
	var watcher *backbone.Backbone
	testkit.Until(t, func() (said string, yes bool) { // once the rules are read again
		var err error
		watcher, err = backbone.Connect(t.Context(), watches)
		return fmt.Sprintf("the watcher is not let in: %v", err), err == nil
	})
	defer watcher.Close()
	var own atomic.Int64 // announcements of the intruder's robot
	for _, on := range []string{"engram.names.>", "engram.update.>"} {
		_, err := watcher.Conn().Subscribe(on, func(m *nats.Msg) {
			switch who := m.Header.Get(by); {
			case who == "robot2" && strings.HasPrefix(m.Subject, "engram.names.robot2."):
				own.Add(1)
			case who != "" && (who != "robot2" || !strings.HasPrefix(m.Subject, "engram.update.")):
				t.Errorf("%s could speak on %s", who, m.Subject)
			}
		})
		if err == nil {
			err = watcher.Conn().Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), *lasting)
	defer cancel()
	var attacking sync.WaitGroup
	robot2 := join(t, "robot2", s.leaves, s.Server(t, "robot2", "robot2:*"))
	testkit.Until(t, func() (string, bool) { return "another robot's server is not let in", robot2.NumLeafNodes() == 1 })
	for name, leaf := range map[string]*server.Server{
		"robot2":         robot2,
		"nobody":         join(t, "nobody", s.leaves, nil),
		"program":        join(t, "program", s.leaves, s.Program(t, "guest")),
		"otherauthority": join(t, "otherauthority", s.leaves, deployment.New(t).Server(t, "robot2", "robot2:*")),
	} {
		own := rand.New(rand.NewPCG(chance.Uint64(), 0))
		attacking.Go(func() {
			c, err := nats.Connect("", nats.InProcessServer(leaf), nats.MaxReconnects(0))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for _, on := range []string{">", "engram.update.>", "$KV.>", "_INBOX.>", "engram.tunnel.>"} {
				_, err := c.Subscribe(on, func(m *nats.Msg) {
					mine := m.Header.Get(by) == name || strings.HasPrefix(m.Subject, "$") || strings.HasPrefix(m.Subject, "_INBOX.") ||
						strings.Contains(string(m.Data), leaf.Name()) // its own fabric answers
					if !mine && (name != "robot2" || strings.HasPrefix(m.Subject, "engram.update.") || strings.HasPrefix(m.Subject, "engram.tunnel.")) {
						t.Errorf("%s heard %s %.200q", name, m.Subject, m.Data)
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
			for ctx.Err() == nil {
				m := forged(own)
				m.Header = nats.Header{by: {name}}
				if own.IntN(4) == 0 {
					m.Subject = "engram.names.robot2.robot2"
				}
				_ = c.PublishMsg(m) // what may not pass is dropped at either end
				_ = c.FlushTimeout(time.Second)
				if name != "robot2" && leaf.NumLeafNodes() > 0 {
					t.Errorf("%s was let in", name)
					return
				}
			}
		})
	}
	written := s.commits(t, ctx)
	cancel()
	attacking.Wait()
	s.held(t, written)
	if own.Load() == 0 {
		t.Error("nothing of robot2 came through, not even what it may say: nothing was tried")
	}
	s.rule(t, watching+"revoked:\n  - identity: robot2\n")
	testkit.Until(t, func() (string, bool) { return "the revoked leaf node is not cut", robot2.NumLeafNodes() == 0 })
}

// by is the header that says who of the intruders sent a message.
const by = "by"

// join runs a fabric that wants to be a leaf node of another, whoever answers there.
func join(t *testing.T, name, of string, own *credentials.Store) *server.Server {
	t.Helper()
	remote := &server.RemoteLeafOpts{URLs: []*url.URL{{Scheme: "nats-leaf", Host: of}}}
	if own != nil {
		remote.TLS, remote.TLSTimeout = true, 10
		remote.TLSConfig = &tls.Config{InsecureSkipVerify: true, GetClientCertificate: own.ClientConfig().GetClientCertificate}
	}
	n, err := server.NewServer(&server.Options{
		ServerName: "intruder-" + name, DontListen: true, NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		LeafNode: server.LeafNodeOpts{Remotes: []*server.RemoteLeafOpts{remote}, ReconnectInterval: 50 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the intruder's own fabric does not start")
	}
	return n
}
