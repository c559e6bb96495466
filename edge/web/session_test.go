package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// secured serves a memory server with its page behind rules until the test ends, and returns its addresses: of mutual TLS
// and of a Unix socket, where this process is the owner.
func secured(t *testing.T, d deployment.Deployment, srv *server.Server, rules string) (tls, unix string) {
	t.Helper()
	o := secure.Options{Credentials: d.Server(t, "robot1"), Access: serving.Rules(t, rules), Log: testkit.Quiet}
	e, err := transport.ListenSecurely(o, serving.AnyPort, serving.Socket(t))
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, func(ctx context.Context) error {
		return e.Serve(ctx, srv, nil, rpc.Options{Server: "robot1", Log: testkit.Quiet, Page: func(svc feature.Server) (http.Handler, []string) {
			return web.New(svc, web.Options{Log: testkit.Quiet}), web.Paths
		}})
	})
	return rpc.AddressOf(e.Listeners()[0]), rpc.AddressOf(e.Listeners()[1])
}

// shown shows the page of a server as an identity, as "engram ui --as" does.
func shown(t *testing.T, c *rpc.Client, as access.Identity) (url string, sessions *secure.Sessions) {
	t.Helper()
	page, err := c.Page(t.Context(), as)
	if err != nil {
		t.Fatal(err)
	}
	sessions = secure.NewSessions(nil)
	s := httptest.NewServer(sessions.Handler(secure.Web{}, page))
	t.Cleanup(s.Close)
	return s.URL, sessions
}

// Who has a session may what its identity may, whoever made it, in the page's pieces and in its calls.
func TestSessionHasTheRightsOfItsIdentity(t *testing.T) {
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	const seen, hidden = "Speech/Text/p/seen", "Speech/Command/p/hidden"
	for _, entity := range []string{seen, hidden} {
		testkit.Commit(t, srv, engram.EntityUpdate{Entity: engram.MustID(entity), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{})}})
	}
	d := deployment.New(t)
	tls, unix := secured(t, d, srv, "rules:\n  - {allow: read, to: guest, on: Speech/Text}\n  - {allow: read, to: operator, on: '*'}")

	asOwner := serving.Dial(t, unix, rpc.DialOptions{})
	asGuest := serving.Dial(t, tls, rpc.DialOptions{Credentials: d.Program(t, "guest")})
	if _, err := asGuest.Page(t.Context(), "operator"); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "forward") {
		t.Errorf("a guest shows the page as an operator: %v", err)
	}
	if _, err := asOwner.Page(t.Context(), access.Owner); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "cannot be") {
		t.Errorf("as the owner: %v", err)
	}
	for name, tt := range map[string]struct {
		by         *rpc.Client
		as         access.Identity
		sees       bool // what is there for guests
		seesHidden bool // what is hidden from them
	}{
		"a guest with credentials": {by: asGuest, sees: true},
		"a guest, by the owner":    {by: asOwner, as: "guest", sees: true},
		"an operator":              {by: asOwner, as: "operator", sees: true, seesHidden: true},
		"somebody without rights":  {by: asOwner, as: "stranger"},
	} {
		t.Run(name, func(t *testing.T) {
			address, sessions := shown(t, tt.by, tt.as)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			browser := &http.Client{Jar: jar, Transport: new(http.Transport)}
			defer browser.CloseIdleConnections()
			ask := func(method, path, body string) (int, string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				if method == http.MethodPost {
					r.Header.Set("Origin", address)
				}
				if path != secure.TokenPath { // who makes up who they are stays who they are
					r.Header.Set("Engram-Identity", "operator")
				}
				res, err := browser.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return res.StatusCode, string(b)
			}
			piece := func(entity string) (status int, there bool) {
				t.Helper()
				status, text := ask(http.MethodGet, "/view/density?n=1&id="+url.QueryEscape(entity), "")
				return status, strings.Contains(text, entity)
			}
			const stats, commit = "/engram.v1.MemoryService/Stats", "/engram.v1.MemoryService/Commit"
			if status, _ := ask(http.MethodPost, stats, "{}"); status != http.StatusUnauthorized {
				t.Errorf("without a session: %d", status)
			}
			if status, there := piece(seen); status != http.StatusUnauthorized || there {
				t.Errorf("a piece without a session: %d", status)
			}
			if status, text := ask(http.MethodGet, "/", ""); status != http.StatusOK || !strings.Contains(text, "<html") {
				t.Errorf("the page: %d %s", status, text)
			}
			if status, text := ask(http.MethodPost, secure.TokenPath, sessions.Token()); status != http.StatusNoContent {
				t.Fatal(status, text)
			}
			if status, there := piece(seen); status != http.StatusOK || there != tt.sees {
				t.Errorf("a piece: %d, %v", status, there)
			}
			if status, there := piece(hidden); status != http.StatusOK || there != tt.seesHidden {
				t.Errorf("a hidden piece: %d, %v", status, there)
			}
			if status, text := ask(http.MethodPost, stats, `{"depth": "LEVEL_ENTITY"}`); status != http.StatusOK || strings.Contains(text, hidden) != tt.seesHidden {
				t.Errorf("%d %s", status, text)
			}
			if status, text := ask(http.MethodPost, commit, `{"commit": {"updates": [{"entity": "Vision/ImageRGB/p/camera"}]}}`); !strings.Contains(text, "no rule lets") {
				t.Errorf("a commit: %d %s", status, text)
			}
		})
	}
}

// "engram ui --as" in a browser: the token is gone from the address, numbers and images come, and the address is good
// once.
func TestPageAs(t *testing.T) {
	srv, _ := living(t, 100)
	_, unix := secured(t, deployment.New(t), srv, "rules: [{allow: [read, subscribe], to: guest, on: '~Vision|Object|RobotState'}]")
	url, sessions := shown(t, serving.Dial(t, unix, rpc.DialOptions{}), "guest")
	browser(t, "session.mjs", url, map[string]func() string{"token": sessions.Token})
}
