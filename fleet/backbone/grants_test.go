package backbone_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// guarded is the fabric of robot1 with a name in it, and a deployment's credentials.
type guarded struct {
	deployment.Deployment
	t      *testing.T
	fabric *embedded.Server
	inside *backbone.Backbone
	names  *kv.Registry
	audit  audited
}

// audited keeps who was denied what.
type audited struct {
	mu  sync.Mutex
	was []string
}

func (a *audited) Audit(e access.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Kind == access.EventDenied {
		a.was = append(a.was, string(e.Identity)+" "+e.Thing)
	}
}

func guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{t: t, Deployment: deployment.New(t)}
	rules := access.New(access.Options{Audit: &g.audit})
	t.Cleanup(func() { rules.Close() })
	err := rules.Set(access.Policy{Rules: []access.Rule{{Actions: access.Read, To: []string{"trusted"}, On: []engram.Pattern{engram.MustPattern("*")}}}})
	if err != nil {
		t.Fatal(err)
	}
	g.fabric, g.inside = start(t, embedded.Options{Robot: "robot1", Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0",
		Secure: secure.Options{Credentials: g.Server(t, "robot1", "robot1:*"), Access: rules}})
	if g.names, err = kv.Open(t.Context(), g.inside.JetStream(), kv.Options{TTL: time.Hour, Identity: "robot1"}); err != nil {
		t.Fatal(err)
	}
	stop, err := g.names.Provide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	g.register(g.names, "s1", "Object")
	return g
}

func (g *guarded) register(r *kv.Registry, server string, memories ...string) {
	g.t.Helper()
	_, err := r.Register(g.t.Context(), mns.Registration{Server: server, Memories: memories, Addresses: []string{"nats:" + server}, Copies: []string{"robot9:Object"}})
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *guarded) connect(id access.Identity, serve ...string) *backbone.Backbone {
	g.t.Helper()
	return fabrics.Connect(g.t, backbone.Options{URL: g.fabric.ClientURL(), Credentials: g.Server(g.t, id, serve...)})
}

// heard returns what is heard inside on subjects while do runs and until a last message
// of the fabric's own has come.
func (g *guarded) heard(on string, do func()) string {
	g.t.Helper()
	s, err := g.inside.Conn().SubscribeSync(on)
	if err != nil {
		g.t.Fatal(err)
	}
	defer s.Unsubscribe()
	if err := g.inside.Conn().Flush(); err != nil {
		g.t.Fatal(err)
	}
	do()
	end := strings.TrimSuffix(on, ">") + "end"
	if err := g.inside.Conn().Publish(end, nil); err != nil {
		g.t.Fatal(err)
	}
	var got []string
	for {
		m, err := s.NextMsg(time.Minute)
		if err != nil {
			g.t.Fatal(err)
		}
		if m.Subject == end {
			return strings.Join(got, " ")
		}
		got = append(got, m.Subject)
	}
}

// intact checks that the name in the fabric is as it was.
func (g *guarded) intact(after string) {
	g.t.Helper()
	if e, err := g.names.Resolve(g.t.Context(), "Object"); err != nil || e.Server != "s1" {
		g.t.Errorf("after %s Object is %+v, %v", after, e, err)
	}
}

// listed returns what a registry holds, as "Memory@server …".
func listed(t *testing.T, r *kv.Registry) string {
	t.Helper()
	entries, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Memory+"@"+e.Server)
	}
	return strings.Join(out, " ")
}

// A server speaks on the fabric for the memories of its certificate, and for no others.
func TestServerSpeaksForItsOwn(t *testing.T) {
	g := guard(t)
	vision := g.connect("vision", "robot1:Vision")
	second := g.connect("robot2", "robot2:*")
	published := func(b *backbone.Backbone, subjects ...string) func() {
		return func() {
			for _, s := range subjects {
				if err := b.Conn().Publish(s, []byte("{}")); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Conn().Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := g.heard("engram.names.>", published(vision, "engram.names.robot2.s", "engram.names.robot1.s")), "engram.names.robot1.s"; got != want {
		t.Errorf("vision has announced %s", got)
	}
	if got, want := g.heard("engram.update.>", published(vision, "engram.update.Object.Instance.a.b", "engram.update.Vision.Image.a.b")), "engram.update.Vision.Image.a.b"; got != want {
		t.Errorf("vision has given notice of %s", got)
	}
	if got, want := g.heard("engram.names.>", published(second, "engram.names.robot1.s", "engram.names.robot2.s")), "engram.names.robot2.s"; got != want {
		t.Errorf("robot2 has announced %s", got)
	}
	for _, b := range []*backbone.Backbone{vision, second} {
		g.heard("$KV.>", published(b, "$KV.engram-names.Object", "$KV.engram-names.copies.robot1.s1", "$KV.engram-names.copies.s1"))
		for _, call := range []string{
			"$JS.API.STREAM.DELETE.KV_engram-names", "$JS.API.STREAM.PURGE.KV_engram-names", "$JS.API.STREAM.CREATE.X",
			"$JS.API.STREAM.UPDATE.KV_engram-names", "$JS.API.STREAM.MSG.DELETE.KV_engram-names", "$JS.robot1.API.STREAM.DELETE.KV_engram-names",
		} {
			mayNotAsk(t, b, call, "")
		}
	}
	g.intact("what a server is not let do")
	g.audit.mu.Lock()
	// What repeats is noted at most every ten seconds.
	if want := []string{"vision engram.names.robot2.s", "robot2 engram.names.robot1.s"}; !slices.Equal(g.audit.was, want) {
		t.Errorf("the audit has %q, want %q", g.audit.was, want)
	}
	g.audit.mu.Unlock()
	if got := listed(t, g.names); got != "Object@s1 robot9:Object@" {
		t.Errorf("the names are %s", got)
	}

	// What it is let do.
	own, err := kv.Open(t.Context(), vision.JetStream(), kv.Options{Identity: "vision", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	g.register(own, "s2", "Vision")
	if got := listed(t, g.names); got != "Object@s1 Vision@s2 robot9:Object@" {
		t.Errorf("the names are %s", got)
	}
	mayNot(t, vision, "$KV.engram-names.Speech", func(ctx context.Context) error {
		_, err := own.Register(ctx, mns.Registration{Server: "s2", Memories: []string{"Speech"}, Addresses: []string{"nats:s2"}})
		return err
	})
	theirs, err := kv.Open(t.Context(), second.JetStream(), kv.Options{Robot: "robot2", Identity: "robot2", TTL: time.Hour})
	if err != nil {
		t.Fatalf("the bucket of robot2: %v", err)
	}
	g.register(theirs, "s3", "Object")
	if got := listed(t, theirs); got != "Object@s3 robot9:Object@" {
		t.Errorf("the names of robot2 are %s", got)
	}
	g.intact("a registration of robot2")
}

// mayNot has a connection do what takes a message on a subject, and checks that just that
// is denied. The fabric tells of it by the subject that it makes of a request's.
func mayNot(t *testing.T, b *backbone.Backbone, subject string, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	thing := strings.TrimPrefix(strings.TrimPrefix(subject, "$JS.robot1."), "$JS.")
	for {
		err := b.Names(ctx, do)
		if engram.CodeOf(err) != engram.Forbidden {
			t.Errorf("on %s it is not denied, but ends with: %v", subject, err)
			return
		}
		if strings.Contains(err.Error(), thing+`"`) {
			return
		}
		if ctx.Err() != nil { // what was told was about something before
			t.Errorf("that it may not publish on %s is not told, but: %v", subject, err)
			return
		}
	}
}

// mayNotAsk is mayNot of a request.
func mayNotAsk(t *testing.T, b *backbone.Backbone, subject, body string) {
	t.Helper()
	mayNot(t, b, subject, func(ctx context.Context) error {
		_, err := b.Conn().RequestWithContext(ctx, subject, []byte(body))
		return err
	})
}

// Notices tell names, so only who may read everything hears them; and nobody hears
// another's answers.
func TestServerHearsItsOwn(t *testing.T) {
	g := guard(t)
	for id, hears := range map[access.Identity]bool{"vision": false, "trusted": true} {
		b := g.connect(id, "robot1:Vision")
		heard := make(chan *nats.Msg, 10)
		for _, on := range []string{"engram.update.>", "_INBOX.>", "engram.tunnel.>", "engram.names.>"} {
			if _, err := b.Conn().ChanSubscribe(on, heard); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Conn().Flush(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"engram.update.Object.a.b.c", "_INBOX.robot1.x", "engram.tunnel.robot1.x.y", "engram.names.robot1.end"} {
			if err := g.inside.Conn().Publish(s, nil); err != nil {
				t.Fatal(err)
			}
		}
		first := testkit.Receive(t, heard).Subject
		if hears && first != "engram.update.Object.a.b.c" || !hears && first != "engram.names.robot1.end" {
			t.Errorf("%s hears %s", id, first)
		}
	}
}

// The fabric of another robot speaks for that robot, changes no names of this one, and
// hears no notices.
func TestLeafSpeaksForItsRobot(t *testing.T) {
	g := guard(t)
	_, robot2 := start(t, embedded.Options{Robot: "robot2", LeafOf: []string{g.fabric.LeafURL()}, Secure: secure.Options{Credentials: g.Server(t, "robot2", "robot2:*")}})
	heard, err := robot2.Conn().SubscribeSync("engram.>") // its own, too, as often as it says it
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Unsubscribe()
	announced, err := g.inside.Conn().SubscribeSync("engram.names.>")
	if err != nil {
		t.Fatal(err)
	}
	defer announced.Unsubscribe()
	testkit.Until(t, func() (string, bool) { // the leaf node connects in its own time
		for _, s := range []string{"engram.names.robot1.s", "$KV.engram-names.Object", "$JS.robot1.API.STREAM.DELETE.KV_engram-names", "engram.names.robot2.s"} {
			if err := robot2.Conn().Publish(s, nil); err != nil {
				t.Fatal(err)
			}
		}
		m, err := announced.NextMsg(50 * time.Millisecond)
		if err == nil && m.Subject != "engram.names.robot2.s" {
			t.Errorf("robot2 has announced %s", m.Subject)
		}
		return fmt.Sprintf("nothing of robot2 is heard: %v", err), err == nil
	})
	g.intact("what a leaf node is not let do")
	for _, s := range []string{"engram.update.Object.a.b.c", "engram.names.robot1.end"} {
		if err := g.inside.Conn().Publish(s, nil); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m, err := heard.NextMsg(testkit.Patience)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m.Subject, "engram.update.") {
			t.Errorf("robot2 hears %s", m.Subject)
		}
		if m.Subject == "engram.names.robot1.end" {
			break
		}
	}
}

// Who answers a request does not lend its rights to the one who asks: the answer goes to
// an inbox, a tunnel's frames to the end of a tunnel.
func TestDialIsNoDeputy(t *testing.T) {
	g := guard(t)
	l, err := g.inside.Listen("s1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	second := g.connect("robot2", "robot2:*")
	got := g.heard("engram.names.>", func() {
		for _, to := range []string{"engram.names.robot1.s", "$KV.engram-names.Object", "engram.tunnel.*.x", "engram.tunnel.", ""} {
			m := nats.NewMsg("engram.dial.s1")
			m.Header.Set("Engram-Tunnel", "1")
			m.Data = []byte(to)
			if _, err := second.Conn().RequestMsg(m, time.Minute); err != nil {
				t.Fatal(err)
			}
			m.Reply = to
			m.Data = []byte("engram.tunnel.robot2.x.y")
			if err := second.Conn().PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := second.Conn().Request("engram.dial.s1", nil, time.Minute); err != nil { // comes after those
			t.Fatal(err)
		}
	})
	if got != "" {
		t.Errorf("the server has published on %s", got)
	}
	g.intact("a dial to a name's key")
}

// JetStream does not lend its rights to who asks it, a server or a program: its answers,
// and what a consumer delivers, go to an inbox and nowhere else; and a name's key changes no
// other.
func TestJetStreamIsNoDeputy(t *testing.T) {
	g := guard(t)
	const mine, object = "$KV.engram-names.Mine", "$KV.engram-names.Object"
	second := g.connect("robot2", "robot2:Mine", "robot1:Mine")
	program := fabrics.Connect(t, backbone.Options{URL: g.fabric.ClientURL(), Credentials: g.Program(t, "trusted")})
	forged := `{"memory":"Object","server":"forged","addresses":["nats:forged"]}`
	if _, err := second.Conn().Request(mine, []byte(forged), time.Minute); err != nil {
		t.Fatal(err)
	}
	get := `{"last_by_subj":"` + mine + `"}`
	consumer := func(to string) string {
		return `{"stream_name":"KV_engram-names","config":{"deliver_subject":"` + to + `","deliver_policy":"all","ack_policy":"none","filter_subject":"` + mine + `"}}`
	}
	deputies := func(c *nats.Conn, to string) {
		t.Helper()
		inbox := c.NewInbox()
		// A consumer delivers where somebody listens to just that subject.
		if _, err := c.Subscribe(to, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*nats.Msg{
			{Subject: "$JS.API.INFO", Reply: to},
			{Subject: "$JS.API.STREAM.INFO.KV_engram-names", Reply: to},
			{Subject: "$JS.API.DIRECT.GET.KV_engram-names." + mine, Reply: to},
			{Subject: "$JS.API.DIRECT.GET.KV_engram-names", Reply: to, Data: []byte(get)},
			{Subject: "$JS.API.STREAM.MSG.GET.KV_engram-names", Reply: to, Data: []byte(get)},
			{Subject: "$JS.API.CONSUMER.CREATE.KV_engram-names", Reply: to, Data: []byte(consumer(inbox))},
			{Subject: "$JS.API.CONSUMER.CREATE.KV_engram-names", Reply: inbox, Data: []byte(consumer(to))},
			{Subject: "$JS.API.CONSUMER.CREATE.KV_engram-names.push." + mine, Reply: inbox, Data: []byte(consumer(to))},
			{Subject: "$JS.API.CONSUMER.CREATE.KV_engram-names", Reply: inbox, Data: []byte(consumer(inbox) + consumer(to))},
			{Subject: mine, Reply: to, Data: []byte(forged)},
			{Subject: mine, Reply: inbox, Data: []byte(forged), Header: nats.Header{"Nats-Trace-Dest": {to}}},
			{Subject: mine, Reply: inbox, Data: []byte(forged), Header: nats.Header{"Nats-Rollup": {"all"}}},
			{Subject: "$JS.asked.API.STREAM.INFO.KV_engram-names", Reply: to},
			{Subject: "$JS.granted.API.STREAM.INFO.KV_engram-names", Reply: to},
			{Subject: "$JS.robot1.API.STREAM.INFO.KV_engram-names", Reply: to},
		} {
			if err := c.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Request("$JS.API.STREAM.INFO.KV_engram-names", nil, time.Minute); err != nil { // comes after those
			t.Fatal(err)
		}
	}
	for _, b := range []*backbone.Backbone{second, program} {
		for on, to := range map[string]string{"engram.names.>": "engram.names.robot3.s", "engram.update.>": "engram.update.Object.x", "$KV.engram-names.O.>": "$KV.engram-names.O.x"} {
			if got := g.heard(on, func() { deputies(b.Conn(), to) }); got != "" {
				t.Errorf("JetStream has published on %s", got)
			}
		}
		deputies(b.Conn(), object)
		g.intact("what JetStream was asked for")
	}
}
