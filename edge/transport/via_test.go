package transport_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// A call that one server hands on to another is made by who made it, if the server may
// forward; nobody else can say who they are.
func TestForwardedIdentity(t *testing.T) {
	d := newDeployment(t)
	far := d.serve(`
rules:
  - {allow: [read, subscribe], to: eye, on: M/S}
  - {allow: all, to: near, on: "*"}
`, server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}, {ID: engram.MustID("M/T")}}})
	commit(t, far.Server, "M/S/p/e")
	commit(t, far.Server, "M/T/p/e")

	near, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	e, err := transport.ListenSecurely(secure.Options{Credentials: d.Server(d.t, "near"), Access: access.New(access.Options{})},
		"127.0.0.1:0", "unix:"+t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ctx, near, nil, rpc.Options{Server: "near", Grace: time.Second, Backbone: func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(far.tcp, "https://"))
		}})
	}()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	tcp, unix := rpc.AddressOf(e.Listeners()[0]), rpc.AddressOf(e.Listeners()[1])
	eye := d.client("eye")
	eye.Via = "far"
	seen := func(c engram.Reader) (ids []string, err error) {
		r, err := c.Query(t.Context(), engram.Pattern{}.Select(engram.All()))
		if err == nil {
			for it := range r.All() {
				ids = append(ids, it.ID.Truncate(engram.LevelEntity).String())
			}
		}
		return ids, err
	}

	if _, err := rpc.Dial(t.Context(), tcp, eye); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("handed on without the right to: %v", err)
	}
	far.set(t, `
rules:
  - {allow: [read, subscribe], to: eye, on: M/S}
  - {allow: all, to: near, on: "*"}
  - {allow: forward, to: near}
`)
	got, err := seen(dial(t, tcp, eye))
	if err != nil || len(got) != 1 || got[0] != "M/S/p/e" {
		t.Errorf("seen via another server: %v %v", got, err)
	}
	// The user whom the near server runs as holds its credentials, and acts as it.
	if got, err = seen(dial(t, unix, rpc.DialOptions{Via: "far"})); err != nil || len(got) != 2 {
		t.Errorf("seen by the near server's user: %v %v", got, err)
	}

	// Who may not forward cannot claim to be somebody, and nobody can claim to be the owner.
	for id, claim := range map[access.Identity]string{"eye": "near", "near": "owner"} {
		config := d.Server(d.t, id).ClientConfig()
		h := &http.Client{Transport: &http.Transport{
			DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
			},
			Protocols: func() *http.Protocols { p := new(http.Protocols); p.SetHTTP2(true); return p }(),
		}}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", far.tcp+"/engram.v1.MemoryService/Info", strings.NewReader("{}"))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Engram-Identity", claim)
		res, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		h.CloseIdleConnections()
		if res.StatusCode == http.StatusOK {
			t.Errorf("%s could claim to be %s", id, claim)
		}
	}
}
