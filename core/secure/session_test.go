package secure_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/core/secure"
)

// door is a server of sessions at 127.0.0.1:7411, and what a browser sends it.
type door struct {
	t        *testing.T
	now      time.Time
	sessions *secure.Sessions
	web      secure.Web
	served   bool // the last request got through
}

func newDoor(t *testing.T) *door {
	d := &door{t: t, now: time.Unix(1_800_000_000, 0)}
	d.sessions = secure.NewSessions(func() time.Time { return d.now })
	return d
}

const own = "http://127.0.0.1:7411"

// send sends a request with headers, given as names and values in turn.
func (d *door) send(method, path, body string, headers ...string) *http.Response {
	d.t.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(d.t.Context(), http.LocalAddrContextKey, overTCP), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7411"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		if headers[i] == "TLS" {
			r.TLS = new(tls.ConnectionState)
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.served = false
	d.sessions.Handler(d.web, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { d.served = true })).ServeHTTP(w, r)
	return w.Result()
}

// enter exchanges a token, and returns the cookie as a browser sends it; "" if there is none.
func (d *door) enter(token string) string {
	d.t.Helper()
	return cookieOf(d.t, d.send(http.MethodPost, secure.TokenPath, token, "Origin", own))
}

func cookieOf(t *testing.T, res *http.Response) string {
	t.Helper()
	if len(res.Cookies()) == 0 {
		if res.StatusCode < 400 {
			t.Errorf("no cookie, and status %d", res.StatusCode)
		}
		return ""
	}
	c := res.Cookies()[0]
	return c.Name + "=" + c.Value
}

// looks reports whether an image is served to who sends a cookie.
func (d *door) looks(cookie string) bool {
	d.t.Helper()
	res := d.send(http.MethodGet, "/view/image?id=x", "", "Cookie", cookie)
	if !d.served && res.StatusCode != http.StatusUnauthorized {
		d.t.Errorf("refused with status %d", res.StatusCode)
	}
	return d.served
}

func TestTokenOpensASession(t *testing.T) {
	d := newDoor(t)
	if d.looks("") || d.looks("engram-7411=guessed") {
		t.Error("served without a session")
	}
	res := d.send(http.MethodPost, secure.TokenPath, d.sessions.Token(), "Origin", own)
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.Domain != "" {
		t.Errorf("the cookie: %+v", c)
	}
	cookie := cookieOf(t, res)
	if !d.looks(cookie) {
		t.Error("not served with a session")
	}
	if res := d.send(http.MethodPost, "/engram.v1.MemoryService/Commit", "{}", "Cookie", cookie, "Origin", own); !d.served {
		t.Errorf("a call of the page is refused with status %d", res.StatusCode)
	}
	if c := d.send(http.MethodPost, secure.TokenPath, d.sessions.Token(), "Origin", "https://127.0.0.1:7411", "TLS", "1").Cookies()[0]; !c.Secure {
		t.Error("over TLS the cookie may be sent without")
	}
	d.now = d.now.Add(secure.SessionLife + time.Second)
	if d.looks(cookie) {
		t.Error("served after the session's end")
	}
}

// A token is good once: who comes second is refused, and the first, who may be somebody
// else, is let in no more.
func TestTokenUsedTwice(t *testing.T) {
	d := newDoor(t)
	token, other := d.sessions.Token(), d.enter(d.sessions.Token())
	first := d.enter(token)
	if !d.looks(first) {
		t.Fatal("the first is not let in")
	}
	if second := d.enter(token); second != "" {
		t.Error("the second is let in")
	}
	if d.looks(first) {
		t.Error("the first still is let in")
	}
	if !d.looks(other) {
		t.Error("what another token opened is closed")
	}
}

// What is under way ends with its session.
func TestSessionEndsWhatIsUnderWay(t *testing.T) {
	d := newDoor(t)
	token := d.sessions.Token()
	cookie := d.enter(token)
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, overTCP), http.MethodPost, "/engram.v1.MemoryService/Subscribe", nil)
		r.Host = "127.0.0.1:7411"
		r.Header.Set("Origin", own)
		r.Header.Set("Cookie", cookie)
		d.sessions.Handler(d.web, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		})).ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-begun
	if d.enter(token) != "" {
		t.Error("let in by a token that was used")
	}
	<-ended
}

func TestTokenThatIsNone(t *testing.T) {
	d := newDoor(t)
	late := d.sessions.Token()
	d.now = d.now.Add(secure.TokenLife + time.Second)
	for name, token := range map[string]string{
		"expired": late, "none": "", "made up": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "long": strings.Repeat("A", 10_000), "another one's": newDoor(t).sessions.Token(),
	} {
		if d.enter(token) != "" {
			t.Errorf("%s: let in", name)
		}
	}
	if res := d.send(http.MethodGet, secure.TokenPath+"?"+d.sessions.Token(), ""); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a token in a GET: status %d", res.StatusCode)
	}
}

// Only the page itself exchanges a token or uses a cookie: no page of another site or
// port, and none whose name was made to lead here.
func TestSessionsOfOtherPages(t *testing.T) {
	d := newDoor(t)
	cookie := d.enter(d.sessions.Token())
	for name, headers := range map[string][]string{
		"another site":        {"Origin", "https://evil.example"},
		"another port":        {"Origin", "http://127.0.0.1:3000"},
		"a file":              {"Origin", "null"},
		"no origin":           {},
		"a rebound name":      {"Origin", "http://evil.example:7411", "Host", "evil.example:7411"},
		"a name without page": {"Host", "evil.example:7411"},
	} {
		token := d.sessions.Token()
		for path, body := range map[string]string{secure.TokenPath: token, "/engram.v1.MemoryService/Commit": "{}"} {
			res := d.send(http.MethodPost, path, body, append(headers, "Cookie", cookie)...)
			text, _ := io.ReadAll(res.Body) // a recorder's
			if d.served || res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 || strings.Contains(string(text), token) {
				t.Errorf("%s at %s: served: %v, %d %s", name, path, d.served, res.StatusCode, text)
			}
		}
		if d.enter(token) == "" {
			t.Errorf("%s has used up the token", name)
		}
	}
	for _, site := range []string{"cross-site", "same-site"} {
		if res := d.send(http.MethodGet, "/view/image", "", "Cookie", cookie, "Sec-Fetch-Site", site); d.served || res.StatusCode != http.StatusForbidden {
			t.Errorf("an image on a page of another site: %d", res.StatusCode)
		}
	}
	// Where an origin is allowed, its pages have no cookie, which is for the same site only.
	d.web.Origins = []string{"https://studio.example"}
	if res := d.send(http.MethodPost, "/engram.v1.MemoryService/Info", "{}", "Origin", "https://studio.example"); d.served || res.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("a page that may call is somebody: %d %v", res.StatusCode, res.Header)
	}
}

// The page's files are for everyone, so that it can show its token; nothing else is.
func TestFilesWithoutASession(t *testing.T) {
	d := newDoor(t)
	for path, ok := range map[string]bool{
		"/": true, "/ui/index.js": true,
		"/ui/../view/image": false, "/ui/%2e%2e/view/image": false, "/ui//view": false, "/ui": false, "/view/image": false, "/readyz": false, "/metrics": false,
	} {
		if d.send(http.MethodGet, path, ""); d.served != ok {
			t.Errorf("%s: served: %v", path, d.served)
		}
		if d.send(http.MethodPost, path, "", "Origin", own); d.served {
			t.Errorf("POST %s: served", path)
		}
	}
}
