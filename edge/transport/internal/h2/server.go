// Package h2 serves HTTP/2 for an http.Server in place of what package http has for it. A
// handler's goroutine writes its answer itself, and headers, content and trailers of a
// short one at once; package http hands each to another goroutine and waits for it, which
// takes longer than the rest of a short call. Frames and header compression are those of
// golang.org/x/net/http2.
//
// It leaves out what servers of RPC do not need: push, priorities, trailers of requests,
// CONNECT, answers before the answer (1xx), deadlines in the future.
package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// Options bound what a client may take. All fields must be set.
type Options struct {
	MaxStreams     int           // open on one connection
	StreamWindow   int32         // bytes of a request's content that wait to be read
	ConnWindow     int32         // the same, for all requests of a connection
	MaxHeaderBytes int           // of one request
	HeaderTimeout  time.Duration // for the first frames of a connection
	IdleTimeout    time.Duration // for a connection without a stream
	StallTimeout   time.Duration // for a client that does not read
	PingTimeout    time.Duration // after that, a silent client is asked; after that again, it has gone
	ErrorLog       *log.Logger
}

// Serve makes hs serve HTTP/2 by this package, over TLS and without. Its Shutdown tells the
// clients that no new calls are taken; connections end with their last call then.
func Serve(hs *http.Server, o Options) {
	stopping, stop := context.WithCancel(context.Background())
	hs.RegisterOnShutdown(stop)
	serve := func(nc net.Conn, state *tls.ConnectionState, h http.Handler) {
		base := context.Background()
		if b, ok := h.(interface{ BaseContext() context.Context }); ok { // package http's
			base = b.BaseContext()
		}
		c := newConn(o, nc, state, h, base)
		defer context.AfterFunc(stopping, c.stop)()
		c.serve()
	}
	hs.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, c *tls.Conn, h http.Handler) {
			state := c.ConnectionState()
			serve(c, &state, h)
		},
		// The key of connections without TLS, whose preface has been read.
		"unencrypted_http2": func(_ *http.Server, c *tls.Conn, h http.Handler) {
			if plain, ok := c.NetConn().(interface{ UnencryptedNetConn() net.Conn }); ok {
				serve(plain.UnencryptedNetConn(), nil, h)
			}
		},
	}
}

var (
	errClosed = errors.New("the connection has ended")
	errReset  = errors.New("the client has given the call up")
)

// protocol is the error of a connection.
const protocol = http2.ConnectionError(http2.ErrCodeProtocol)

// reset returns the error of a stream.
func reset(id uint32, code http2.ErrCode) error { return http2.StreamError{StreamID: id, Code: code} }
