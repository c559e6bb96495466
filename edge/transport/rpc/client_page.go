package rpc

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Web returns where browsers reach the server at the address of the client, with https if it asks who connects; "" if
// the address is of no TCP port.
func (c *Client) Web() string {
	network, target, _ := splitAddress(c.address) // as it was when the client was made
	switch {
	case network != "tcp":
		return ""
	case c.o.Credentials != nil:
		return "https://" + target
	}
	return "http://" + target
}

// Page returns a handler that hands requests of the server's page on to the server, as
// made by an identity, for whom the client must be allowed to forward unless its
// certificate says that it is the one; "" is the client's own. Who may call it is the
// caller's to look at. The error is Forbidden if the server does not let the client speak
// for the identity, and Unsupported if it has no page. The handler is good until the client
// is closed.
func (c *Client) Page(ctx context.Context, as access.Identity) (http.Handler, error) {
	base, err := url.Parse(c.base)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, c.address, "no URL: %w", err)
	}
	own := c.o.Credentials != nil && !strings.HasPrefix(c.address, "unix:") && c.o.Credentials.Identity() == as
	identify := func(h http.Header) {
		if as != "" && !own {
			h.Set(identityHeader, string(as))
		}
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path + r.In.URL.Path, RawQuery: r.In.URL.RawQuery}
			// Which web page calls by which name was looked at here, and for the cookie only this handler's caller has a use.
			r.Out.Host = "localhost"
			for _, name := range []string{"Origin", "Sec-Fetch-Site", "Cookie", "Sec-Websocket-Key", servesHeader, identityHeader} {
				r.Out.Header.Del(name)
			}
			identify(r.Out.Header)
		},
		Transport:     c.http.Transport,
		FlushInterval: -1, // answers stream
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			code, what := engram.Unavailable, "the server does not answer"
			if r.Context().Err() != nil {
				code, what = engram.Canceled, "the request was given up"
			}
			// The writer fails only if the browser has gone.
			_ = connect.NewErrorWriter().Write(w, r, wireError(engram.Errorf(code, c.address, "%s: %w", what, err)))
		},
	}
	return p, c.hasPage(ctx, as, identify)
}

// hasPage asks the server for its page, as an identity, which identify puts into a header.
func (c *Client) hasPage(ctx context.Context, as access.Identity, identify func(http.Header)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/", nil)
	if err != nil {
		return engram.Errorf(engram.Internal, c.address, "no URL: %w", err)
	}
	identify(req.Header)
	res, err := c.http.Do(req)
	if err != nil {
		return engram.Errorf(engram.Unavailable, c.address, "the server does not answer: %w", err)
	}
	defer res.Body.Close()
	var refusal struct {
		Message string `json:"message"`
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	switch {
	case err != nil:
		return engram.Errorf(engram.Unavailable, c.address, "the answer broke off: %w", err)
	case res.StatusCode == http.StatusOK:
		return nil
	case json.Unmarshal(body, &refusal) == nil && refusal.Message != "":
		return engram.Errorf(engram.Forbidden, c.address, "the server does not show the page as %s: %s", as, refusal.Message)
	}
	return engram.Errorf(engram.Unsupported, c.address, "the server shows no page (HTTP status %d); it runs with --no-page, or is of an earlier release", res.StatusCode)
}
