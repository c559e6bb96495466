package rpc

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
)

// viaPrefix begins the paths of calls to another server, which are handed on
// through the backbone: /via/<server in hexadecimal digits>/engram.v1.….
const viaPrefix = "/via/"

// viaPath returns what the paths of calls to a server begin with.
func viaPath(server string) string { return viaPrefix + hex.EncodeToString([]byte(server)) }

// forward hands calls on to servers that this one reaches through the backbone, for
// clients that have no route to them and are not on the backbone themselves.
type forward struct {
	proxy     httputil.ReverseProxy
	transport *http.Transport
}

func newForward(h *Handler) *forward {
	f := &forward{transport: newTransport(func(ctx context.Context, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, engram.Errorf(engram.Internal, address, "not a server on the backbone: %w", err)
		}
		server, err := hex.DecodeString(host)
		if err != nil {
			return nil, engram.Errorf(engram.Internal, address, "not a server on the backbone: %w", err)
		}
		conn, err := h.o.Backbone(ctx, string(server))
		if err != nil || h.o.Secure.Credentials == nil {
			return conn, err
		}
		return secure.Client(ctx, h.o.Secure.Credentials, conn, string(server))
	})}
	f.transport.IdleConnTimeout = time.Minute
	f.proxy = httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			server, path, _ := cutVia(r.In.URL.Path)
			r.Out.URL = &url.URL{Scheme: "http", Host: hex.EncodeToString([]byte(server)), Path: path, RawQuery: r.In.URL.RawQuery}
			// Which web page calls by which name was looked at here.
			r.Out.Host = "localhost"
			r.Out.Header.Del("Origin")
			r.Out.Header.Del("Sec-Fetch-Site")
			h.forwardIdentity(r.In, r.Out)
			r.Out.Header.Del(servesHeader) // it is looked at here
		},
		Transport:     &believing{Transport: f.transport, claims: claimed},
		FlushInterval: -1, // answers stream
		ErrorLog:      h.errorLog(),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, credentials.ErrNotBelieved) {
				w.Header().Set(notBelievedHeader, "1")
			} else if code := engram.CodeOf(err); code != engram.Unavailable && code != engram.Invalid {
				err = engram.Errorf(engram.Unavailable, "", "the call could not be handed on through the backbone: %w", err)
			}
			h.refuse(w, r, err)
		},
	}
	return f
}

// claimsKey is the context key of a forwarded call's claims: the memories that its sender
// expects the server to serve.
type claimsKey struct{}

// withClaims returns a call with the claims of its header in its context.
func (h *Handler) withClaims(r *http.Request) (*http.Request, error) {
	if h.o.Secure.Credentials == nil {
		return r, nil // nobody is known by a certificate
	}
	claims, err := parseServes(r.Header.Get(servesHeader))
	return r.WithContext(context.WithValue(r.Context(), claimsKey{}, claims)), err
}

// claimed returns what withClaims has found.
func claimed(r *http.Request) []credentials.Claim {
	claims, _ := r.Context().Value(claimsKey{}).([]credentials.Claim)
	return claims
}

// cutVia takes apart the path of a call to another server.
func cutVia(path string) (server, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, viaPrefix)
	if !ok {
		return "", "", false
	}
	digits, rest, _ := strings.Cut(path, "/")
	name, err := hex.DecodeString(digits)
	return string(name), "/" + rest, err == nil && len(name) > 0
}

func (f *forward) serve(h *Handler, w http.ResponseWriter, r *http.Request) {
	server, rest, ok := cutVia(r.URL.Path)
	switch {
	case strings.HasPrefix(rest, viaPrefix): // one call would be many
		h.refuse(w, r, engram.Errorf(engram.Invalid, server, "a call is handed on once, not to another server's backbone"))
	case !ok:
		h.refuse(w, r, engram.Errorf(engram.Invalid, r.URL.Path, "the path of a call to another server is %s<name in hexadecimal digits>/<procedure>", viaPrefix))
	case f == nil:
		h.refuse(w, r, engram.Errorf(engram.Unavailable, server, "this server has no backbone through which that one could be reached"))
	default:
		r, err := h.withClaims(r)
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		f.proxy.ServeHTTP(w, r)
	}
}
