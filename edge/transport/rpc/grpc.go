package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// direct has the procedures that move data. In gRPC's own protocol they are served here,
// in one copy of each message less than connect takes, and none of its objects; in every
// other protocol, and where a request is unusual, by connect.
var direct = map[string]func(memoryHandler, *grpcCall) error{
	memoryPath + "Commit": func(h memoryHandler, c *grpcCall) error {
		m := new(engramv1.CommitRequest)
		if err := c.only(m); err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return c.broken(err)
		}
		results, err := h.commit(c.ctx, m)
		if err != nil {
			return wireError(err)
		}
		return c.send(results)
	},
	memoryPath + "CommitStream": func(h memoryHandler, c *grpcCall) error {
		return h.commitStream(c.ctx, func() (*engramv1.CommitRequest, error) {
			m := new(engramv1.CommitRequest)
			return m, c.receive(m)
		}, func(m *engramv1.CommitResponse) error { return c.send(m) })
	},
	SubscribePath: func(h memoryHandler, c *grpcCall) error {
		m := new(engramv1.SubscribeRequest)
		if err := c.only(m); err != nil {
			return err
		}
		return h.subscribe(c.ctx, m, func(m *engramv1.SubscribeResponse) error { return c.send(m) })
	},
}

// grpcCall is a call in gRPC's own protocol. Its errors are those of RPC, with the codes
// that connect has for the same. It is not safe for concurrent use.
type grpcCall struct {
	h   *Handler
	w   *guardedWriter
	r   *http.Request
	in  *messages
	ctx context.Context

	streams bool // each message is sent at once
}

// call hands a call on to what serves it.
func (h *Handler) call(w *guardedWriter, r *http.Request, in *messages) {
	serve := direct[r.URL.Path]
	if serve == nil || r.Method != http.MethodPost || r.ProtoMajor < 2 || !plainGRPC(r.Header) {
		h.mux.ServeHTTP(w, r)
		return
	}
	c := &grpcCall{h: h, w: w, r: r, in: in, ctx: r.Context(), streams: in.p.streams}
	if text := r.Header["Grpc-Timeout"]; len(text) > 0 {
		timeout, ok := grpcTimeout(text[0])
		if !ok {
			h.mux.ServeHTTP(w, r) // connect says what is wrong with it
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, timeout)
		defer cancel()
		c.ctx = ctx
	}
	answer := w.Header()
	answer["Content-Type"] = r.Header["Content-Type"]
	answer["Grpc-Accept-Encoding"] = acceptsGzip
	answer["Date"] = nil // nobody reads it
	c.end(c.run(serve))
}

var acceptsGzip, statusOK = []string{"gzip"}, []string{"0"}

// plainGRPC reports whether a request's headers are the usual ones of a gRPC client.
func plainGRPC(h http.Header) bool {
	switch h.Get("Content-Type") {
	case "application/grpc", "application/grpc+proto":
	default:
		return false
	}
	switch h.Get("Grpc-Encoding") {
	case "", "identity", "gzip":
		return len(h[timesHeader]) == 0
	}
	return false
}

var timeoutUnits = map[byte]time.Duration{'n': time.Nanosecond, 'u': time.Microsecond, 'm': time.Millisecond, 'S': time.Second, 'M': time.Minute, 'H': time.Hour}

// grpcTimeout reads the header of a call's deadline, which is at most eight digits and a
// unit.
func grpcTimeout(text string) (time.Duration, bool) {
	if len(text) < 2 || len(text) > 9 {
		return 0, false
	}
	unit, ok := timeoutUnits[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	return time.Duration(n) * unit, ok && err == nil && time.Duration(n) <= math.MaxInt64/unit
}

// run serves the call. A panic is the error of this call alone.
func (c *grpcCall) run(serve func(memoryHandler, *grpcCall) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			err = c.h.recovered(c.ctx, connect.Spec{Procedure: c.r.URL.Path}, nil, cause)
		}
	}()
	return serve(memoryHandler{c.h}, c)
}

// only receives the message of a call that takes one.
func (c *grpcCall) only(m proto.Message) error {
	switch err := c.receive(m); {
	case errors.Is(err, io.EOF):
		return connect.NewError(connect.CodeUnimplemented, errors.New("unary request has zero messages"))
	case err != nil:
		return err
	}
	switch err := c.in.last(); {
	case err == nil:
		return connect.NewError(connect.CodeUnimplemented, errors.New("unary request has multiple messages"))
	case !errors.Is(err, io.EOF):
		return c.broken(err)
	}
	return nil
}

// receive receives the next message. The error is io.EOF if there is none.
func (c *grpcCall) receive(m proto.Message) error {
	flags, message, err := c.in.take()
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return c.broken(err)
	case flags == compressed:
		return connect.NewError(connect.CodeInternal, errors.New("protocol error: sent compressed message without compression support"))
	case flags != 0:
		return connect.NewError(connect.CodeInternal, fmt.Errorf("protocol error: invalid envelope flags %d", flags))
	}
	if err := proto.Unmarshal(message, m); err != nil {
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("unmarshal message: unmarshal into %T: %w", m, err))
	}
	return nil
}

// broken returns the error of a call that err has ended in the middle of something.
func (c *grpcCall) broken(err error) error {
	if ce, ok := errors.AsType[*connect.Error](err); ok {
		return ce
	}
	for _, why := range []error{err, c.ctx.Err()} {
		switch {
		case errors.Is(why, context.Canceled):
			return connect.NewError(connect.CodeCanceled, err)
		case errors.Is(why, context.DeadlineExceeded), errors.Is(why, os.ErrDeadlineExceeded):
			return connect.NewError(connect.CodeDeadlineExceeded, err)
		}
	}
	return connect.NewError(connect.CodeInternal, fmt.Errorf("protocol error: incomplete envelope: %w", err))
}

// send sends a message.
func (c *grpcCall) send(m proto.Message) error {
	size := proto.Size(m)
	if size > c.h.o.MaxMessage {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("message size %d exceeds sendMaxBytes %d", size, c.h.o.MaxMessage))
	}
	b := buffers.get(envelopeSize + size)
	defer buffers.put(b)
	binary.BigEndian.PutUint32((*b)[1:envelopeSize], uint32(size))
	(*b)[0] = 0
	whole, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*b)[:envelopeSize], m)
	if err != nil {
		return connect.NewError(connect.CodeInternal, fmt.Errorf("marshal message: %w", err))
	}
	if _, err := c.w.Write(whole); err != nil {
		return c.broken(err)
	}
	if c.streams { // else it goes with the status
		c.w.Flush()
	}
	return nil
}

// end ends the call with the status of an error, written as connect writes it, or of none.
func (c *grpcCall) end(err error) {
	answer := c.w.Header()
	if err == nil {
		answer[http.TrailerPrefix+"Grpc-Status"] = statusOK
		return
	}
	status := trailersOnly{}
	_ = c.h.refusal.Write(status, c.r, err) // it goes nowhere that could fail
	for _, name := range []string{"Content-Type", "Trailer"} {
		delete(status, name)
	}
	for name, values := range status {
		answer[http.TrailerPrefix+name] = values
	}
}

// trailersOnly takes the headers of an answer that has nothing else.
type trailersOnly http.Header

func (t trailersOnly) Header() http.Header         { return http.Header(t) }
func (t trailersOnly) Write(b []byte) (int, error) { return len(b), nil }
func (t trailersOnly) WriteHeader(int)             {}
