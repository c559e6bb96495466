package rpc

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// ServeHTTP implements http.Handler. It guards each call against clients that
// stop reading or sending, bounds the streams of a connection, and ends long
// streams when the server stops.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.o.Web.Handle(w, r, func(err error) { h.refuse(w, r, err) }) {
		return
	}
	g := &guard{rc: http.NewResponseController(w), timeout: h.o.StallTimeout}
	defer g.finish()
	guarded := &guardedWriter{ResponseWriter: w, stall: g.watch(g.cutWrite)}
	streams, bidi := h.streamKind(r.URL.Path)
	r, err := h.identified(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	var m *messages
	if !strings.HasPrefix(r.URL.Path, viaPrefix) { // what is handed on is not decoded here
		if m, err = h.intake(r, g.watch(g.cutRead), bidi); err != nil {
			h.refuse(w, r, err)
			return
		}
		defer m.release()
		r.Body = m
		if !bidi {
			guarded.request = m
		}
	}
	if !streams {
		h.call(guarded, r, m)
		return
	}
	if h.draining.Err() != nil {
		h.refuse(w, r, errDraining())
		return
	}
	if c, ok := r.Context().Value(connKey{}).(*connection); ok {
		if n := c.streams.Add(1); int(n) > h.o.MaxStreams {
			c.streams.Add(-1)
			h.refuse(w, r, engram.Errorf(engram.Exhausted, "", "%d streams are open on this connection; at most %d are allowed; end one, or open another connection", n-1, h.o.MaxStreams))
			return
		}
		defer c.streams.Add(-1)
	}
	if strings.HasPrefix(r.URL.Path, viaPrefix) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.draining, cancel)()
		h.forward.serve(h, guarded, r.WithContext(ctx))
		return
	}
	switch r.URL.Path {
	case SubscribePath:
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.draining, cancel)()
		r = r.WithContext(ctx)
	case memoryPath + "CommitStream":
		// The commit at hand is finished and answered; the next is not waited for.
		defer context.AfterFunc(h.draining, g.cutRead)()
	default:
		if bidi {
			r = r.WithContext(context.WithValue(r.Context(), cutReadKey{}, g.cutRead))
		}
	}
	h.call(guarded, r, m)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	// The writer fails only if the client has gone.
	_ = h.refusal.Write(w, r, wireError(err))
}

// streamKind reports whether a procedure streams, and whether its client may send
// when it likes. All others take one message and answer with one.
func (h *Handler) streamKind(path string) (streams, bidi bool) {
	if p := h.procedures[path]; p != nil {
		return p.streams, p.bidi
	}
	open := strings.HasPrefix(path, "/grpc.reflection.") || strings.HasPrefix(path, viaPrefix)
	return open, open
}

// connection counts what is open on one connection; it is in the context of each
// request that [Serve] serves.
type connection struct{ streams atomic.Int32 }

type connKey struct{}

// guard cuts a call off whose client stalls. Deadlines are set when it is too
// late, not in advance: setting one costs more than a small message does.
type guard struct {
	timeout time.Duration
	rc      *http.ResponseController
	timers  []*time.Timer

	mu       sync.Mutex // no deadline may be set once the call has returned
	finished bool
}

// watch returns a stopped timer that cuts when it fires.
func (g *guard) watch(cut func()) stall {
	t := time.AfterFunc(g.timeout, cut)
	t.Stop()
	g.timers = append(g.timers, t)
	return stall{timer: t, timeout: g.timeout}
}

// A controller that supports no deadlines, as in tests without a connection,
// leaves nothing to cut.
func (g *guard) cutRead()  { g.cut(func() { _ = g.rc.SetReadDeadline(time.Unix(1, 0)) }) }
func (g *guard) cutWrite() { g.cut(func() { _ = g.rc.SetWriteDeadline(time.Unix(1, 0)) }) }

func (g *guard) cut(set func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.finished {
		set()
	}
}

func (g *guard) finish() {
	for _, t := range g.timers {
		t.Stop()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finished = true
}

// stall runs its timer while the client is waited for.
type stall struct {
	timer   *time.Timer
	timeout time.Duration
}

func (s stall) begin() { s.timer.Reset(s.timeout) }
func (s stall) end()   { s.timer.Stop() }

type guardedWriter struct {
	http.ResponseWriter
	stall   stall
	request *messages // is done with once there is an answer; nil: there may be more
}

func (w *guardedWriter) Write(p []byte) (int, error) {
	if w.request != nil {
		w.request.release()
	}
	w.stall.begin()
	defer w.stall.end()
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which streams need.
func (w *guardedWriter) Flush() {
	w.stall.begin()
	defer w.stall.end()
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap serves http.ResponseController.
func (w *guardedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
