package attack

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// Connections that are opened and left, that send a request byte by byte, or that send a
// part of one and no more, by the hundred and over every port, keep nobody from the server.
func TestSlowConnections(t *testing.T) {
	testkit.RealTime(t, "a server is heard within 3 s beside 600 slow connections")
	v := begin(t)
	b := v.bystander(t)
	address := strings.TrimPrefix(v.server, "http://")
	request := "POST /engram.v1.MemoryService/Info HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n{"
	for _, attack := range []struct {
		name  string
		send  string // at once
		drips string // byte by byte
	}{
		{"open and silent", "", ""},
		{"headers byte by byte", "", request},
		{"a request without its body", request, ""},
		{"a body byte by byte", request, strings.Repeat(" ", 1000)},
		{"HTTP/2 without a frame", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
		{"HTTP/2 settings byte by byte", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\x01\x04\x00\x00\x00\x01"},
	} {
		t.Run(attack.name, func(t *testing.T) {
			var open []net.Conn
			defer func() {
				for _, c := range open {
					c.Close()
				}
			}()
			for i := range 600 {
				network, at := "tcp", address
				if i%3 > 0 {
					network, at = "unix", []string{v.socket, strings.TrimSuffix(v.socket, ".local")}[i%3-1]
				}
				c, err := net.Dial(network, at)
				if err != nil {
					t.Fatalf("connection %d: %v", i, err)
				}
				open = append(open, c)
				_, _ = io.WriteString(c, attack.send) // it may be cut off at once
			}
			end := time.Now().Add(*lasting / 6)
			for i := 0; ; i++ {
				for _, c := range open {
					if i < len(attack.drips) {
						_, _ = io.WriteString(c, attack.drips[i:i+1]) // it may be cut off by now
					}
				}
				b.check(t, v, mostMemory)
				if !time.Now().Before(end) {
					break
				}
			}
		})
	}
}

// A web page of another site is refused by every procedure, whatever it sends, and so is one
// that reaches the server by a name of its own.
func TestWebPagesOfOtherSites(t *testing.T) {
	v := begin(t)
	b := v.bystander(t)
	address := strings.TrimPrefix(v.server, "http://")
	_, port, _ := net.SplitHostPort(address) // it is one
	c := clients(t)(&Request{})
	paths := []string{"/", "/metrics", "/healthz", "/readyz", "/nothing", "/grpc.health.v1.Health/Check"}
	for _, p := range procedures() {
		paths = append(paths, fmt.Sprintf("/%s/%s", p.Parent().FullName(), p.Name()))
	}
	for _, path := range paths {
		for _, page := range []struct{ host, origin string }{
			{address, "http://evil.example"}, {address, "null"},
			{"evil.example:" + port, ""}, {"evil.example:" + port, "http://evil.example:" + port}, {"127.0.0.1.evil.example", "http://127.0.0.1.evil.example"},
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
				for _, kind := range []string{"application/json", "application/proto", "application/grpc-web+proto", "text/plain"} {
					r, err := http.NewRequestWithContext(t.Context(), method, v.server+path, strings.NewReader("{}"))
					if err != nil {
						t.Fatal(err)
					}
					r.Host = page.host
					r.Header.Set("Content-Type", kind)
					if page.origin != "" {
						r.Header.Set("Origin", page.origin)
					}
					res, err := c.Do(r)
					if err != nil {
						t.Fatalf("%s %s of %+v: %v", method, path, page, err)
					}
					res.Body.Close()
					refused := res.StatusCode == http.StatusForbidden || res.Header.Get("Grpc-Status") == "7" // PERMISSION_DENIED
					if !refused || res.Header.Get("Access-Control-Allow-Origin") != "" {
						t.Errorf("%s %s as %s of a page of %q at host %q: %d %v", method, path, kind, page.origin, page.host, res.StatusCode, res.Header)
					}
				}
			}
		}
	}
	b.check(t, v, mostMemory)
}
