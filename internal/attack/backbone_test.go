package attack

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// The subjects that another robot's server tries, and names for answers, of which none is
// its own; it may send to those of dials and tunnels, but nobody there believes it, and ask
// JetStream, which answers on none of them.
var othersSubjects = []string{
	"engram.names.robot1.s1", "engram.names.robot1.robot1", "engram.update.Object.Instance.p.e", "engram.dial.robot1", "engram.tunnel.robot1.1", "engram.tunnel.x",
	"$KV.engram-names.Object", "$KV.engram-names-robot1.Object", "$KV.engram-names.copy.robot1", "_INBOX.robot1.x", "_INBOX.x",
	"$JS.API.STREAM.DELETE.KV_engram-names", "$JS.API.STREAM.PURGE.KV_engram-names", "$JS.API.STREAM.UPDATE.KV_engram-names", "$JS.API.STREAM.CREATE.mine",
	"$JS.API.STREAM.MSG.DELETE.KV_engram-names", "$JS.API.CONSUMER.CREATE.KV_engram-names", "$JS.API.STREAM.NAMES", "$JS.robot1.API.STREAM.DELETE.KV_engram-names",
	"$JS.API.STREAM.INFO.KV_engram-names", "$JS.API.DIRECT.GET.KV_engram-names", "$JS.asked.API.STREAM.INFO.KV_engram-names", "$JS.granted.API.STREAM.INFO.KV_engram-names",
	"$JS.API.ACCOUNT.PURGE.x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
}

// siege is a server with an embedded backbone, of robot1, among whose rules robot2 has
// no right, and what is needed to attack it.
type siege struct {
	deployment.Deployment
	v            *victim
	owner        *client.Client
	clients      string // where the backbone listens for clients …
	leaves       string // … and for leaf nodes
	policy       string // the file of the rules
	namesAtFirst string
}

func besiege(t *testing.T) *siege {
	t.Helper()
	dir := folder(t)
	s := &siege{Deployment: deployment.New(t), clients: testkit.FreeAddress(t), leaves: testkit.FreeAddress(t), policy: filepath.Join(dir, "access.yaml")}
	server := filepath.Join(dir, "server")
	deployment.Write(t, server, s.Server(t, "robot1", "robot1:*"))
	s.rule(t, rules)
	var err error
	s.v, err = run(built(t), dir, "--credentials", server, "--access", s.policy, "--robot", "robot1", "--name", "robot1",
		"--backbone", "embedded", "--backbone-listen", s.clients, "--leaf-listen", s.leaves, "--publish-data", "*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.v.end(syscall.SIGKILL) })
	if s.v.server == "" {
		t.Fatalf("the server did not start:\n%s", s.v.said)
	}
	if s.owner, err = client.Connect(t.Context(), client.Options{Address: s.v.unix()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.owner.Close() })
	for _, id := range []engram.ID{logged, synced} { // write commits to both
		if err := s.owner.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	s.namesAtFirst = s.names(t)
	return s
}

// rule replaces the rules.
func (s *siege) rule(t *testing.T, text string) {
	t.Helper()
	if err := access.WriteFile(s.policy, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// names returns the memories that the server knows, and where they are.
func (s *siege) names(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), built(t), "mns", "ls", "--address", s.v.unix(), "-o", "csv").CombinedOutput()
	if err != nil {
		t.Fatalf("mns ls: %v\n%s\n%s", err, out, tail(s.v.said.String()))
	}
	var list []string // the first two columns, as others tell times
	for line := range strings.Lines(string(out)) {
		columns := strings.Split(line, ",")
		list = append(list, strings.Join(columns[:min(2, len(columns))], "@"))
	}
	return strings.Join(list, " ")
}

// held is called at the end: the names are what they were, and the server is well.
func (s *siege) held(t *testing.T, written int) {
	t.Helper()
	if after := s.names(t); after != s.namesAtFirst {
		t.Errorf("the names have changed:\nbefore %s\nafter  %s", s.namesAtFirst, after)
	}
	if out, err := exec.CommandContext(t.Context(), built(t), "health", "--address", s.v.unix()).CombinedOutput(); err != nil {
		t.Errorf("the server is not well: %v\n%s\n%s", err, out, tail(s.v.said.String()))
	}
	if _, err := s.owner.Latest(t.Context(), entity(logged, 0)); err != nil || written == 0 {
		t.Errorf("after %d commits: %v", written, err)
	}
}

// commits commits until the context ends, and returns how often.
func (s *siege) commits(t *testing.T, ctx context.Context) (written int) {
	t.Helper()
	for ctx.Err() == nil && written < 1<<20 {
		if err := write(t.Context(), s.owner, written, written+1); err != nil {
			t.Errorf("commits meanwhile: %v", err)
			return written
		}
		written++
	}
	return written
}

// forged is what intruders send: nothing, noise, or a claim.
func forged(own *rand.Rand) *nats.Msg {
	data := make([]byte, []int{0, 1, 100, 10_000, 900_000}[own.IntN(5)])
	for i := range min(len(data), 1000) {
		data[i] = byte(own.Uint32())
	}
	m := &nats.Msg{Subject: othersSubjects[own.IntN(len(othersSubjects))], Data: data}
	if own.IntN(2) == 0 {
		m.Reply = othersSubjects[own.IntN(len(othersSubjects))]
	}
	if own.IntN(4) == 0 {
		m.Data = []byte(`{"memory":"Object","server":"robot2","addresses":["http://127.0.0.1:1"],"name":"KV_engram-names"}`)
	}
	return m
}

// Another robot's server, whatever it publishes and asks for on the backbone, whoever else
// connects there and whatever bytes they send, changes no name, hears nothing of what it may
// not read, and keeps nobody from their work.
func TestIntruderOnTheBackbone(t *testing.T) {
	testkit.RealTime(t, "what an intruder does and others commit goes on at once for seconds")
	chance, s := chance(t), besiege(t)
	intruder := s.Server(t, "robot2", "robot2:*")

	ctx, cancel := context.WithTimeout(t.Context(), *lasting)
	defer cancel()
	var attacking sync.WaitGroup
	random := func() *rand.Rand { return rand.New(rand.NewPCG(chance.Uint64(), 0)) }
	for range 2 {
		own := random()
		b, err := backbone.Connect(t.Context(), backbone.Options{URL: "nats://" + s.clients, Credentials: intruder, Log: testkit.Quiet})
		if err != nil {
			t.Fatalf("the intruder, which is a server of the deployment, is not let in: %v", err)
		}
		attacking.Go(func() {
			defer b.Close()
			c := b.Conn()
			for _, on := range []string{">", "engram.update.>", "$KV.>", "_INBOX.>", "engram.tunnel.>", "$JS.>", "$SYS.>"} {
				_, _ = c.Subscribe(on, func(m *nats.Msg) {
					if strings.Contains(string(m.Data), secret) || strings.HasPrefix(m.Subject, "engram.update.") {
						t.Errorf("the intruder heard %s %.200q", m.Subject, m.Data)
					}
				}) // what is denied is told later, by the connection
			}
			for ctx.Err() == nil {
				_ = c.PublishMsg(forged(own)) // refused, or lost with the connection
				_ = c.FlushTimeout(time.Second)
			}
		})
	}
	for i := range 4 { // strangers
		own, port := random(), []string{s.clients, s.leaves}[i%2]
		attacking.Go(func() {
			for ctx.Err() == nil {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", port)
				if err != nil {
					continue
				}
				c.SetDeadline(time.Now().Add(100 * time.Millisecond))
				noise := make([]byte, own.IntN(5000))
				for i := range noise {
					noise[i] = byte(own.Uint32())
				}
				switch own.IntN(4) {
				case 0:
					_, _ = c.Write([]byte("CONNECT {}\r\nPING\r\nPUB engram.names.robot1.s 999999999\r\n" + string(noise)))
				case 1:
					_, _ = c.Write([]byte("GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"))
				case 2:
					_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
				default:
					_, _ = c.Write(noise)
				}
				c.Close()
			}
		})
	}
	written := s.commits(t, ctx)
	cancel()
	attacking.Wait()
	s.held(t, written)
}
