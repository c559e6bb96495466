package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Calls makes the calls of a handler that have one request and one answer, as JSON
// (docs/http.md), within its process and with its limits. Safe for concurrent use.
type Calls struct {
	h     *Handler
	paths []string
}

func newCalls(h *Handler) *Calls {
	c := &Calls{h: h}
	for path, p := range h.procedures {
		if !p.streams {
			c.paths = append(c.paths, path)
		}
	}
	slices.Sort(c.paths)
	return c
}

// Procedures returns the paths of the calls, such as /engram.v1.MemoryService/Query, sorted.
func (c *Calls) Procedures() []string { return c.paths }

// Call makes a call with a request as JSON, and returns the answer as JSON. It is made by
// the identity of ctx. The error is NotFound, or Invalid with what the call says of it.
func (c *Calls) Call(ctx context.Context, procedure string, request []byte) ([]byte, error) {
	if !slices.Contains(c.paths, procedure) {
		return nil, engram.Errorf(engram.NotFound, procedure, "there is no such call")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+procedure, bytes.NewReader(request))
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, procedure, "not a call: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	w := &recorded{header: http.Header{}, status: http.StatusOK}
	c.h.ServeHTTP(w, r)
	if w.status == http.StatusOK {
		return w.body.Bytes(), nil
	}
	var refusal struct{ Message string }
	if json.Unmarshal(w.body.Bytes(), &refusal) != nil || refusal.Message == "" {
		refusal.Message = strings.TrimSpace(w.body.String())
	}
	return nil, engram.Errorf(engram.Invalid, "", "%s", refusal.Message)
}

// Admit counts a viewer in as a subscription; release counts it out.
func (c *Calls) Admit() (release func(), err error) { return c.h.o.AdmitSubscription() }

// recorded is the answer to a call within the process.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header         { return w.header }
func (w *recorded) WriteHeader(status int)      { w.status = status }
func (w *recorded) Write(b []byte) (int, error) { return w.body.Write(b) }
