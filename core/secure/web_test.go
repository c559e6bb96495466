package secure_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/secure"
)

var (
	overTCP  net.Addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7411}
	overUnix net.Addr = &net.UnixAddr{Name: "/run/s", Net: "unix"}
)

// Who rebinds a name of his own, or has a page of another site call, is refused; those
// who use the server's names and addresses, and the pages that may call, are not.
func TestWebPagesOfOthersAreRefused(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	open := secure.Web{Origins: []string{"https://studio.example"}, Hosts: []string{"robot1.lab"}}
	for _, tt := range []struct {
		name, host, origin, site string
		web                      secure.Web
		over                     net.Addr
		ok                       bool
	}{
		{name: "an address", host: "127.0.0.1:7411", ok: true},
		{name: "an IPv6 address", host: "[::1]:7411", ok: true},
		{name: "one without a port", host: "[::1]", ok: true},
		{name: "localhost", host: "localhost:7411", ok: true},
		{name: "LOCALHOST.", host: "LOCALHOST.:7411", ok: true},
		{name: "the computer's name", host: own + ":7411", ok: true},
		{name: "another name", host: "evil.example:7411"},
		{name: "a name that looks like one of its own", host: "localhost.evil.example:7411"},
		{name: "an address as a name", host: "127.0.0.1.evil.example:7411"},
		{name: "no name", host: ""},
		{name: "a name that is allowed", host: "Robot1.lab:80", web: open, ok: true},
		{name: "another name beside it", host: "robot2.lab", web: open},
		{name: "any name", host: "evil.example", web: secure.Web{Hosts: []string{"*"}}, ok: true},
		{name: "its own page", host: "localhost:7411", origin: "http://localhost:7411", ok: true},
		{name: "a page at another port", host: "localhost:7411", origin: "http://localhost:3000"},
		{name: "a page of another site", host: "localhost:7411", origin: "https://evil.example"},
		{name: "a rebound page", host: "evil.example:7411", origin: "http://evil.example:7411"},
		{name: "a file", host: "localhost:7411", origin: "null"},
		{name: "a page that is allowed", host: "localhost:7411", origin: "https://studio.example", web: open, ok: true},
		{name: "one with its default port", host: "localhost:7411", origin: "https://studio.example", web: secure.Web{Origins: []string{"https://studio.example:443"}}, ok: true},
		{name: "one with another's default port", host: "localhost:7411", origin: "https://studio.example", web: secure.Web{Origins: []string{"https://studio.example:80"}}},
		{name: "one whose name begins so", host: "localhost:7411", origin: "https://studio.example.evil.example", web: open},
		{name: "one without TLS", host: "localhost:7411", origin: "http://studio.example", web: open},
		{name: "every page", host: "localhost:7411", origin: "https://evil.example", web: secure.Web{Origins: []string{"*"}}, ok: true},
		{name: "every page by another name", host: "evil.example", origin: "https://evil.example", web: secure.Web{Origins: []string{"*"}}},
		{name: "an image on a page", host: "localhost:7411", site: "cross-site"},
		{name: "typed by the user", host: "localhost:7411", site: "none", ok: true},
		{name: "a Unix socket", host: "engram", over: overUnix, ok: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.over == nil {
				tt.over = overTCP
			}
			served := false
			h := tt.web.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, tt.over), http.MethodGet, "/metrics", nil)
			r.Host = tt.host
			for k, v := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if served != tt.ok || !tt.ok && w.Code != http.StatusForbidden {
				t.Errorf("served: %v, %d %s", served, w.Code, w.Body)
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); (got != "") != (tt.ok && tt.web.Allows(tt.origin)) || got != "" && got != tt.origin {
				t.Errorf("pages of %q may see the answer, to %q", got, tt.origin)
			}
		})
	}
}

// A browser asks first, and is told, about the pages that may call.
func TestPreflight(t *testing.T) {
	s := httptest.NewServer(secure.Web{Origins: []string{"https://studio.example"}}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the question was served")
	})))
	defer s.Close()
	for origin, status := range map[string]int{"https://studio.example": http.StatusNoContent, "https://evil.example": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL+"/engram.v1.MemoryService/Commit", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "content-type,connect-protocol-version")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		allowed := strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Connect-Protocol-Version") && strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST")
		if res.StatusCode != status || allowed != (status == http.StatusNoContent) {
			t.Errorf("%s: %d %v", origin, res.StatusCode, res.Header)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestCheckOrigin(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://studio.example": true, "http://localhost:8080": true, "*": true, "app://obsidian.md": true,
		"studio.example": false, "https://studio.example/": false, "https://Studio.example": false, "": false, "https://": false, "null": false,
	} {
		if err := secure.CheckOrigin(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
