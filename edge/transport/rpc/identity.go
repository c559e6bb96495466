package rpc

import (
	"io"
	"net/http"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// identityHeader holds who makes a call that a server hands on. It is believed of
// identities that may forward, and refused from others.
const identityHeader = "Engram-Identity"

// identified returns r with the identity that it is made for, if another server hands
// it on.
func (h *Handler) identified(r *http.Request) (*http.Request, error) {
	name := r.Header.Get(identityHeader)
	if name == "" || h.o.Secure.Access == nil {
		return r, nil
	}
	by := access.IdentityOf(r.Context())
	if !h.o.Secure.Access.MayForward(by) {
		return r, engram.Errorf(engram.Forbidden, string(by), "no rule lets this identity hand on the calls of others; it needs \"allow: forward\"")
	}
	if access.Identity(name) == access.Owner || len(name) > 2*access.MaxIdentityLen {
		return r, engram.Errorf(engram.Invalid, string(by), "a call is handed on for somebody who cannot be: %.64q", name)
	}
	return r.WithContext(access.WithIdentity(r.Context(), access.Identity(name))), nil
}

// forwardIdentity says in a call that is handed on who makes it. The user whom this
// server runs as holds its credentials, and so makes calls as the server; other users
// of this computer are known elsewhere as its users.
func (h *Handler) forwardIdentity(in, out *http.Request) {
	out.Header.Del(identityHeader)
	if h.o.Secure.Credentials == nil {
		return
	}
	id, server := access.IdentityOf(in.Context()), h.o.Secure.Credentials.Identity()
	switch {
	case id == access.Owner:
		id = server
	case strings.HasPrefix(string(id), access.UserPrefix) && !strings.Contains(string(id), "@"):
		id += "@" + server
	}
	out.Header.Set(identityHeader, string(id))
}

// guardOperations shows the pages for operators only to identities that may read
// everything. Everybody may see whether the server is alive and ready, but not why.
func (h *Handler) guardOperations(pages http.Handler) http.Handler {
	rules := h.o.Secure.Access
	if rules == nil {
		return pages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case rules.May(r.Context(), access.Read, engram.ID{}):
			pages.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz":
			r = r.Clone(r.Context())
			r.URL.RawQuery = "" // which of the checks fails is not told either
			status := &statusOnly{w: w}
			pages.ServeHTTP(status, r)
			status.WriteHeader(http.StatusOK)
		default:
			http.Error(w, "no rule lets this identity read everything on this server", http.StatusForbidden)
		}
	})
}

// statusOnly hands on an answer's status, and of its content nothing: that names what
// does not work.
type statusOnly struct {
	w    http.ResponseWriter
	told bool
}

func (s *statusOnly) Header() http.Header { return http.Header{} }

func (s *statusOnly) WriteHeader(status int) {
	if s.told {
		return
	}
	s.told = true
	text := "ok"
	if status >= http.StatusBadRequest {
		text = "failed"
	}
	s.w.Header().Set("Content-Type", "application/json")
	s.w.Header().Set("Cache-Control", "no-store")
	s.w.WriteHeader(status)
	// The writer fails only if the client has gone.
	_, _ = io.WriteString(s.w, `{"status":"`+text+`"}`+"\n")
}

func (s *statusOnly) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}
