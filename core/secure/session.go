package secure

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// How long a token is good for, and how long what it opens.
const (
	TokenLife   = time.Minute
	SessionLife = 12 * time.Hour
)

// TokenPath is where a page sends its token: a POST whose body is the token.
const TokenPath = "/session"

// Sessions let in browsers, which have no credentials of their own: one that shows a token
// gets a cookie, by which it is known from then on, also when it loads images. All is in
// RAM only. Make one with [NewSessions]. Safe for concurrent use.
type Sessions struct {
	now func() time.Time

	mu     sync.Mutex
	tokens map[[32]byte]*token
	open   map[[32]byte]session // by cookies
}

// session is what a cookie is good for.
type session struct {
	until time.Time
	ended context.Context // ends with it, and ends what is under way
	end   context.CancelFunc
}

// token opens one session.
type token struct {
	until   time.Time
	session [32]byte // what it opened; zero before
}

// NewSessions returns one that lets nobody in yet. now tells the time; nil means the wall
// clock.
func NewSessions(now func() time.Time) *Sessions {
	if now == nil {
		now = time.Now
	}
	return &Sessions{now: now, tokens: map[[32]byte]*token{}, open: map[[32]byte]session{}}
}

// Token makes a token, which is good once, for [TokenLife].
func (s *Sessions) Token() string {
	text := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[sha256.Sum256([]byte(text))] = &token{until: s.now().Add(TokenLife)}
	return text
}

// exchange returns the cookie that a token is good for. A token that comes twice was seen
// by somebody else, who may have come first: what it opened is closed.
func (s *Sessions) exchange(text string) (cookie string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, now := s.tokens[sha256.Sum256([]byte(text))], s.now()
	const again = "run 'engram ui --as' again"
	switch {
	case t == nil:
		return "", engram.Errorf(engram.Forbidden, "", "this address holds no token of this program; %s", again)
	case t.session != [32]byte{}:
		s.end(t.session)
		return "", engram.Errorf(engram.Forbidden, "", "this address was used before, and is good once; what it opened is closed, since somebody else may have used it; %s", again)
	case now.After(t.until):
		return "", engram.Errorf(engram.Forbidden, "", "this address was good for %v, which are over; %s", TokenLife, again)
	}
	cookie = rand.Text()
	t.session = sha256.Sum256([]byte(cookie))
	ended, end := context.WithTimeout(context.Background(), SessionLife)
	s.open[t.session] = session{until: now.Add(SessionLife), ended: ended, end: end}
	return cookie, nil
}

// end ends a session, if it has not ended. s.mu is held.
func (s *Sessions) end(key [32]byte) {
	if one, ok := s.open[key]; ok {
		one.end()
		delete(s.open, key)
	}
}

// of returns the session whose cookie a request has, if it has not ended.
func (s *Sessions) of(r *http.Request) (one session, ok bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return one, false
	}
	key := sha256.Sum256([]byte(c.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok = s.open[key]; ok && s.now().After(one.until) {
		s.end(key)
		ok = false
	}
	return one, ok
}

// cookieName has the port in it, since browsers send cookies to all ports of a host.
func cookieName(r *http.Request) string {
	name := "engram"
	if a, ok := localAddress(r); ok {
		name += "-" + strconv.Itoa(a.Port)
	}
	return name
}

// Handler puts the sessions, and before them the checks of web, before another handler.
// Without a session it gets only requests for the page's own files, which are the same for
// everyone. What changes something must also say that it comes from the page itself.
func (s *Sessions) Handler(web Web, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		refuse := func(err error) { refuseSession(w, http.StatusForbidden, "permission_denied", err) }
		switch {
		case !web.Handle(w, r, refuse):
		case reads && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/ui/") && path.Clean(r.URL.Path) == r.URL.Path):
			next.ServeHTTP(w, r)
		case !reads && r.Header.Get("Origin") == "":
			refuse(engram.Errorf(engram.Forbidden, "", "a browser says which page such a request comes from (Origin); programs use the server itself, with credentials"))
		case r.URL.Path == TokenPath:
			s.signIn(w, r)
		default:
			one, ok := s.of(r)
			if !ok {
				refuseSession(w, http.StatusUnauthorized, "unauthenticated", engram.Errorf(engram.Forbidden, "", "this browser has not shown a token, or its session has ended; open the page with 'engram ui --as'"))
				return
			}
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(one.ended, cancel)()
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

// signIn takes a token and gives a cookie.
func (s *Sessions) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuseSession(w, http.StatusMethodNotAllowed, "invalid_argument", engram.Errorf(engram.Invalid, "", "a token is sent by POST"))
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256))
	if err != nil {
		refuseSession(w, http.StatusBadRequest, "invalid_argument", engram.Errorf(engram.Invalid, "", "the token cannot be read: %w", err))
		return
	}
	cookie, err := s.exchange(string(text))
	if err != nil {
		refuseSession(w, http.StatusForbidden, "permission_denied", err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// refuseSession answers as the API does.
func refuseSession(w http.ResponseWriter, status int, code string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The writer fails only if the browser has gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": err.Error()})
}
