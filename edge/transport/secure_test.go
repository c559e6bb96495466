package transport_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/memorytest"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deployed is an authority with a server's credentials.
type deployed struct {
	deployment.Deployment
	t    *testing.T
	data string // folder of the servers' long-term memory, "" for none
}

func newDeployment(t *testing.T) deployed { return deployed{Deployment: deployment.New(t), t: t} }

func (d deployed) client(id access.Identity) rpc.DialOptions {
	return rpc.DialOptions{Credentials: d.Program(d.t, id), ReconnectFor: time.Minute}
}

// noted keeps what is audited.
type noted struct {
	mu     sync.Mutex
	events []access.Event
}

func (n *noted) Audit(e access.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *noted) has(kind access.EventKind, id access.Identity) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.events, func(e access.Event) bool { return e.Kind == kind && e.Identity == id })
}

// guarded serves a server behind rules, over TLS and beside that on a Unix socket.
type guarded struct {
	*serve.Server
	rules *access.Control
	tcp   string // address
	unix  string
	local string
	notes *noted
}

func (d deployed) serve(rules string, memories ...server.Memory) guarded {
	d.t.Helper()
	t := d.t
	g := guarded{notes: &noted{}}
	g.rules = access.New(access.Options{Audit: g.notes})
	g.set(t, rules)
	var err error
	config := server.Config{Memories: memories}
	if d.data != "" {
		if config.Store, err = ltm.Open(t.Context(), ltm.Options{Dir: d.data}); err != nil {
			t.Fatal(err)
		}
	}
	if g.Server, err = serve.New(config); err != nil {
		t.Fatal(err)
	}
	e, err := transport.ListenSecurely(secure.Options{Credentials: d.Server(d.t, "server"), Access: g.rules},
		"127.0.0.1:0", "unix:"+filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range e.Addresses() {
		switch {
		case strings.HasPrefix(a, "https://"):
			g.tcp = a
		case strings.HasPrefix(a, "local:"):
			g.local = a
		case strings.HasPrefix(a, "unix:"):
			g.unix = a
		}
	}
	if g.tcp == "" {
		t.Fatalf("no https:// among %v", e.Addresses())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	names := mns.NewLocal()
	go func() {
		served <- e.Serve(ctx, g.Server, names, rpc.Options{Server: "s", Grace: time.Second, Operations: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				w.WriteHeader(http.StatusServiceUnavailable) // what is asked for is not well
			}
			fmt.Fprint(w, "M/S is fine")
		})})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		g.Server.Close()
		names.Close()
		g.rules.Close()
	})
	return g
}

func (g guarded) set(t *testing.T, rules string) {
	t.Helper()
	p, err := access.Parse([]byte(rules))
	if err == nil {
		err = g.rules.Set(p)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, address string, o rpc.DialOptions) transport.Client {
	t.Helper()
	c, err := transport.Dial(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const everything = `
rules:
  - {allow: all, to: tester, on: "*"}
  - {allow: read, to: somebody else, on: "*"}
`

// With full rights, a memory behind the guard is like any other, over TLS and for its
// owner on the Unix sockets.
func TestGuardedMemory(t *testing.T) {
	rules := strings.ReplaceAll(everything, "somebody else", "other")
	for _, way := range []string{"tls", "local"} {
		t.Run(way, func(t *testing.T) {
			d := newDeployment(t)
			g := d.serve(rules, server.Memory{Name: memorytest.MemoryName})
			memorytest.Run(t, func(t *testing.T) memorytest.Memory {
				if way == "local" {
					return dial(t, g.local, rpc.DialOptions{})
				}
				return dial(t, g.tcp, d.client("tester"))
			}, memorytest.Entities(testkit.Repeats(10_000, 100_000)))
		})
	}
}

func TestWhoIsNotLetIn(t *testing.T) {
	d := newDeployment(t)
	g := d.serve(`{rules: [{allow: all, to: "*", on: "*"}], revoked: [{identity: gone}]}`, server.Memory{Name: "M"})
	other := newDeployment(t)
	for _, tt := range []struct {
		name string
		o    rpc.DialOptions
	}{
		{"no certificate", rpc.DialOptions{}},
		{"another authority", other.client("tester")},
		{"expired", rpc.DialOptions{Credentials: d.For(t, "tester", false, -time.Minute)}},
		{"revoked", d.client("gone")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rpc.Dial(t.Context(), g.tcp, tt.o)
			if engram.CodeOf(err) != engram.Forbidden {
				t.Fatalf("%v (%v)", err, engram.CodeOf(err))
			}
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		_, err := rpc.Dial(t.Context(), strings.Replace(g.tcp, "https", "http", 1), rpc.DialOptions{})
		if err == nil {
			t.Fatal("a client without TLS was served")
		}
	})
	t.Run("no certificate at all in the handshake", func(t *testing.T) {
		c, err := tls.Dial("tcp", strings.TrimPrefix(g.tcp, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_, err = c.Read(make([]byte, 1)) // TLS 1.3 tells with the first answer
			c.Close()
		}
		if !secure.Refused(err) {
			t.Fatal(err)
		}
	})
	testkit.Until(t, func() (string, bool) { // the server notes it when it has told the client
		return "the refusal is not noted", g.notes.has(access.EventRefused, "")
	})
	dial(t, g.tcp, d.client("tester"))
	if !g.notes.has(access.EventSignIn, "tester") {
		t.Error("the sign-in was not noted")
	}
}

// A client is not fooled by who has a certificate of the deployment that is no server's.
func TestClientBelievesServersOnly(t *testing.T) {
	d := newDeployment(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return d.Program(d.t, "thief").ClientConfig().GetClientCertificate(nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	if _, err := rpc.Dial(t.Context(), "https://"+l.Addr().String(), d.client("tester")); engram.CodeOf(err) != engram.Forbidden {
		t.Fatalf("%v (%v)", err, engram.CodeOf(err))
	}
	<-done
	if _, err := rpc.ListenSecurely("127.0.0.1:0", secure.Options{Credentials: d.Program(d.t, "thief")}); engram.CodeOf(err) != engram.Invalid {
		t.Fatalf("a client's certificate serves: %v", err)
	}
}

// Streams and connections of who is revoked end at once, and of others go on.
func TestRevokedIsCut(t *testing.T) {
	const allow = `rules: [{allow: all, to: "*", on: "*"}]`
	d := newDeployment(t)
	g := d.serve(allow, server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}}})
	bad := d.client("bad")
	lost := dial(t, g.tcp, bad)
	kept := dial(t, g.tcp, d.client("good"))
	stream := func(c transport.Client) engram.UpdateStream {
		s, err := c.Subscribe(t.Context(), engram.Subscription{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	cut, goes := stream(lost), stream(kept)
	g.set(t, allow+"\nrevoked: [{serial: "+credentials.SerialOf(bad.Credentials.Current().Cert)+"}]")
	ctx := testkit.Context(t)
	if _, err := cut.Next(ctx); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("the stream of a revoked certificate: %v", err)
	}
	if _, err := lost.Describe(ctx, engram.Pattern{}); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("a call by a revoked certificate: %v", err)
	}
	commit(t, kept, "M/S/p/e")
	if got, err := goes.Next(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("the other's stream: %v %v", got, err)
	}
	dial(t, g.tcp, d.client("bad")) // with another certificate
}

// A server that knows the rules leaves servers that are revoked, and does not come back.
func TestRevokedServerIsLeft(t *testing.T) {
	d := newDeployment(t)
	g := d.serve("rules: [{allow: all, to: '*', on: '*'}]", server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}}})
	rules := access.New(access.Options{})
	o := d.client("other")
	secure.Options{Credentials: o.Credentials, Access: rules}.AttendServers()
	c := dial(t, g.tcp, o)
	s, err := c.Subscribe(t.Context(), engram.Subscription{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := rules.Set(access.Policy{Revoked: []access.Revocation{{Identity: "server"}}}); err != nil {
		t.Fatal(err)
	}
	ctx := testkit.Context(t)
	if _, err := s.Next(ctx); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("a stream of a revoked server: %v", err)
	}
	if _, err := transport.Dial(ctx, g.tcp, o); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("another connection to a revoked server: %v", err)
	}
	if err := rules.Set(access.Policy{}); err != nil {
		t.Fatal(err)
	}
	dial(t, g.tcp, o)
}

func commit(t *testing.T, w engram.Writer, entity string) {
	t.Helper()
	if err := try(t.Context(), w, entity); err != nil {
		t.Fatal(err)
	}
}

func try(ctx context.Context, w engram.Writer, entity string) error {
	r, err := w.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID(entity), Time: 1,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}}})
	return errors.Join(err, engram.FirstError(r))
}

// A stream whose rights change begins again under the new ones, and loses nothing of
// what may be seen by both.
func TestChangedRulesBeginStreamsAnew(t *testing.T) {
	d := newDeployment(t)
	g := d.serve(`rules: [{allow: [read, subscribe], to: eye, on: M}]`,
		server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}, {ID: engram.MustID("M/T")}}})
	for _, c := range []transport.Client{dial(t, g.tcp, d.client("eye"))} {
		s, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		next := func() string {
			ctx := testkit.Context(t)
			got, err := s.Next(ctx)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			return got[0].ID.Truncate(engram.LevelEntity).String()
		}
		commit(t, g.Server, "M/T/p/before")
		if got := next(); got != "M/T/p/before" {
			t.Fatal(got)
		}
		g.set(t, `rules: [{allow: [read, subscribe], to: eye, on: M/S}]`)
		commit(t, g.Server, "M/T/p/hidden")
		commit(t, g.Server, "M/S/p/seen")
		if got := next(); got != "M/S/p/seen" {
			t.Fatal(got)
		}
	}
}

// Rules hold for each update of a commit, and what may not be seen is not there.
func TestRulesOverTLS(t *testing.T) {
	d := newDeployment(t)
	g := d.serve(`
rules:
  - {allow: read, to: eye, on: M/S}
  - {allow: write, to: hand, on: M/S/hand}
`, server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}, {ID: engram.MustID("M/Secret")}}},
		server.Memory{Name: "Hidden"})
	eye, hand, owner := dial(t, g.tcp, d.client("eye")), dial(t, g.tcp, d.client("hand")), dial(t, g.unix, rpc.DialOptions{})
	commit(t, hand, "M/S/hand/e")
	commit(t, owner, "M/Secret/p/e")
	for c, entity := range map[transport.Client]string{hand: "M/S/other/e", eye: "M/S/hand/e"} {
		if err := try(t.Context(), c, entity); engram.CodeOf(err) != engram.Forbidden {
			t.Errorf("commit to %s: %v", entity, err)
		}
	}
	if !g.notes.has(access.EventDenied, "hand") {
		t.Error("the denial was not noted")
	}
	r, err := eye.Query(t.Context(), engram.Pattern{}.Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	if items := r.Items(); len(items) != 1 || items[0].ID.Truncate(engram.LevelEntity) != engram.MustID("M/S/hand/e") {
		t.Errorf("seen: %v", items)
	}
	if got := eye.Server().Memories; !slices.Equal(got, []string{"M"}) {
		t.Errorf("memories: %v", got)
	}
	if err := eye.RemoveSegment(t.Context(), engram.MustID("M/S")); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("removing a segment: %v", err)
	}
	if _, err := eye.Latest(t.Context(), engram.MustID("M/Secret/p/e")); engram.CodeOf(err) != engram.NotFound || !strings.Contains(err.Error(), "no core segment") {
		t.Errorf("latest of what is hidden: %v", err)
	}
}
