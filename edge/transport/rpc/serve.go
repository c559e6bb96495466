package rpc

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/internal/h2"
)

// Serve serves h on the listeners until ctx ends, then stops in good order: no new
// connections, streams ended with Unavailable, calls under way finished for at
// most the handler's Grace. It closes the listeners and returns when everything
// has ended: nil if ctx was the reason, otherwise why a listener failed.
func Serve(ctx context.Context, h *Handler, listeners ...net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true) // over TLS
	var calls sync.WaitGroup
	var over struct { // once it is, no call begins: it would not be waited for
		sync.Mutex
		yes bool
	}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			over.Lock()
			if over.yes {
				over.Unlock()
				h.refuse(w, r, errDraining())
				return
			}
			calls.Add(1)
			over.Unlock()
			defer calls.Done()
			h.ServeHTTP(w, r)
		}),
		Protocols:         protocols,
		ReadHeaderTimeout: h.o.HeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if id, ok := secure.IdentityOf(c); ok {
				ctx = access.WithIdentity(ctx, id)
			}
			return context.WithValue(ctx, connKey{}, new(connection))
		},
		ErrorLog: h.errorLog(),
	}
	h2.Serve(srv, h2.Options{
		// Unary calls need streams of HTTP/2 too.
		MaxStreams: h.o.MaxStreams + 256,
		// Images are committed; the default windows throttle them.
		ConnWindow: 4<<20 - 1, StreamWindow: 2 << 20,
		MaxHeaderBytes: srv.MaxHeaderBytes,
		HeaderTimeout:  h.o.HeaderTimeout, IdleTimeout: srv.IdleTimeout, StallTimeout: h.o.StallTimeout,
		// A client that is gone without a word is noticed.
		PingTimeout: 20 * time.Second,
		ErrorLog:    srv.ErrorLog,
	})
	var serving sync.WaitGroup
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		serving.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- engram.Errorf(engram.Unavailable, AddressOf(l), "the listener failed: %w", err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	h.Drain()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.o.Grace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close()
	}
	serving.Wait()
	over.Lock()
	over.yes = true
	over.Unlock()
	calls.Wait() // closed connections end their calls' contexts
	if h.forward != nil {
		h.forward.transport.CloseIdleConnections()
	}
	return err
}

// errorLog is for what package http reports of bad clients.
func (h *Handler) errorLog() *log.Logger {
	return slog.NewLogLogger(h.o.Log.Handler(), slog.LevelDebug)
}
