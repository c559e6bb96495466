package secure

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Web says by which names browsers may call a server, and which web pages may. A page
// of another site that a browser has open can call whatever the browser's computer
// reaches, and, by a name of its own that it makes lead there (DNS rebinding), read the
// answers too. So over TCP a request must name the server by an address or a name that
// is its own, and come from no page but the server's own and those of Origins.
type Web struct {
	// Origins are those of web pages that may call, such as "https://studio.example";
	// "*" is every page.
	Origins []string
	// Hosts are names of the server other than its addresses, "localhost" and its
	// computer's name; "*" is any name.
	Hosts []string
}

// CheckOrigin returns an error if text is no origin that a browser would send, and not "*".
func CheckOrigin(text string) error {
	u, err := url.Parse(text)
	if text != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host || strings.ToLower(text) != text) {
		return engram.Errorf(engram.Invalid, text, "not the origin of a web page; write it in small letters and without a path, such as https://studio.example or http://localhost:8080")
	}
	return nil
}

// Check returns the error, Forbidden, of a request that may come from a page that may
// not call. Requests over other ways than TCP, such as Unix sockets, which no page can
// use, are not looked at.
func (w Web) Check(r *http.Request) error {
	if _, ok := localAddress(r); !ok {
		return nil
	}
	host := hostOf(r.Host)
	// Over TLS the name is part of the certificate that the browser has looked at.
	if r.TLS == nil && !w.named(host) {
		return engram.Errorf(engram.Forbidden, host, "this server does not go by the name %.200q, so a web page may have made up that it leads here; use its address, or start it with --allow-host", host)
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "" && follows(r):
	case origin == "":
		// Browsers say so of pages' requests that have no origin, such as for images.
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return engram.Errorf(engram.Forbidden, host, "web pages of other sites may not call this server in this way")
		}
	case w.Allows(origin):
	default:
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return engram.Errorf(engram.Forbidden, origin, "web pages of %.200q may not call this server; to let them, start it with --allow-origin", origin)
		}
	}
	return nil
}

// follows reports whether a browser opens the server's page as a whole, by a link on any
// other page: the page is the same for everyone, and the one with the link sees nothing of it.
func follows(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// Allows reports whether pages of an origin may call.
func (w Web) Allows(origin string) bool {
	return origin != "" && slices.ContainsFunc(w.Origins, func(o string) bool { return o == "*" || withoutDefaultPort(o) == origin })
}

// withoutDefaultPort returns an origin as browsers send it: without the port that its scheme
// has anyway.
func withoutDefaultPort(origin string) string {
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(origin, scheme) {
			return strings.TrimSuffix(origin, port)
		}
	}
	return origin
}

func localAddress(r *http.Request) (*net.TCPAddr, bool) {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return a, ok
}

func hostOf(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostPort, "["), "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// named reports whether a host is an address, which no page can make lead elsewhere, or
// a name of the server.
func (w Web) named(host string) bool {
	if i := strings.IndexByte(host, '%'); i >= 0 {
		host = host[:i] // the zone of an IPv6 address
	}
	if net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(w.Hosts, "*") {
		return true
	}
	if slices.ContainsFunc(w.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	own, err := os.Hostname()
	if own = strings.ToLower(own); err != nil || own == "" {
		return false
	}
	short, _, _ := strings.Cut(own, ".")
	return host == own || host == short || host == short+".local"
}

// What pages of other origins may send, and may see of the answers: the headers of
// gRPC-Web and of the Connect protocol.
const (
	allowedHeaders = "Content-Type, Connect-Protocol-Version, Connect-Timeout-Ms, Connect-Content-Encoding, Connect-Accept-Encoding, Grpc-Timeout, X-Grpc-Web, X-User-Agent, Engram-Times"
	exposedHeaders = "Content-Encoding, Connect-Content-Encoding, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"
)

// Handle checks a request, and lets pages of the allowed origins see the answer. It
// returns whether the request is to be served; else refuse was called, or it was a
// browser's question whether it may call, which is answered.
func (w Web) Handle(rw http.ResponseWriter, r *http.Request, refuse func(error)) bool {
	if err := w.Check(r); err != nil {
		refuse(err)
		return false
	}
	origin, h := r.Header.Get("Origin"), rw.Header()
	if len(w.Origins) > 0 {
		h.Add("Vary", "Origin") // for refused origins, too: a cache may keep the answer
	}
	if !w.Allows(origin) {
		return true
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", "7200")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	rw.WriteHeader(http.StatusNoContent)
	return false
}

// Handler puts the checks before another handler.
func (w Web) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.Handle(rw, r, func(err error) { http.Error(rw, err.Error(), http.StatusForbidden) }) {
			next.ServeHTTP(rw, r)
		}
	})
}
