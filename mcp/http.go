package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-301d4374/engram/transport/secure"
)

// Path is where a server answers over HTTP.
const Path = "/mcp"

// Handler answers agents over HTTP, by the protocol's streamable transport without sessions, at
// [Path]. They show the token as "Authorization: Bearer TOKEN". Requests of web pages, and those
// to names that a page may have made lead here, are refused as by [secure.Web].
func (s *Server) Handler(token string) http.Handler {
	agents := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
	want := sha256.Sum256([]byte(token))
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if got := sha256.Sum256([]byte(given)); !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="engram"`)
			http.Error(w, "this server wants its token as 'Authorization: Bearer TOKEN'; 'engram mcp' printed it when it began", http.StatusUnauthorized)
			return
		}
		agents.ServeHTTP(w, r)
	})
	return secure.Web{}.Handler(mux)
}
