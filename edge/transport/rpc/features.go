package rpc

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
)

// carrier carries a message of any type through connect, whose generics are compiled once
// then, and not for each procedure.
type carrier struct {
	m   proto.Message
	raw []byte // what a client received of a feature, of which this package knows no type; in place of m
}

// messageOf returns the message that connect hands to a codec.
func messageOf(v any) (proto.Message, error) {
	if c, ok := v.(*carrier); ok {
		v = c.m
	}
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", v)
	}
	return m, nil
}

// carriers is the codec of carriers in the wire form. It replaces that of connect, whose
// errors are the same.
type carriers struct{}

func (carriers) Name() string { return "proto" }

func (carriers) Marshal(v any) ([]byte, error) {
	m, err := messageOf(v)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(m)
}

// MarshalAppend spares connect a copy of each message.
func (carriers) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, err := messageOf(v)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

func (carriers) Unmarshal(data []byte, v any) error {
	if c, ok := v.(*carrier); ok && c.m == nil {
		c.raw = append([]byte(nil), data...)
		return nil
	}
	m, err := messageOf(v)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("unmarshal into %T: %w", m, err)
	}
	return nil
}

// offer serves the calls of a feature.
func (h *Handler) offer(f *feature.Feature, opts ...connect.HandlerOption) {
	for i := range f.Calls {
		c := &f.Calls[i]
		path := f.Procedure(c)
		own := append([]connect.HandlerOption{connect.WithCodec(carriers{}),
			connect.WithRequestInitializer(func(_ connect.Spec, v any) error {
				v.(*carrier).m = c.NewRequest()
				return nil
			})}, opts...)
		if feature.ReadsOnly(path) {
			own = append(own, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
		}
		h.handle(func(json ...connect.HandlerOption) (string, http.Handler) {
			return path, h.serve(path, c, append(own, json...)...)
		})
	}
}

// serve returns the handler of a feature's call.
func (h *Handler) serve(path string, c *feature.Call, opts ...connect.HandlerOption) http.Handler {
	// begin returns the context of the call; end must be called, also if it panics.
	begin := func(ctx context.Context) (_ context.Context, end func(), err error) {
		ctx = h.limited(ctx)
		if !c.Lasts {
			return ctx, func() {}, nil
		}
		release := func() {}
		if c.Watches {
			if release, err = h.o.AdmitSubscription(); err != nil {
				return nil, nil, wireError(err)
			}
		}
		// It must not keep a stopping server up.
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(h.draining, cancel)
		return ctx, func() { stop(); cancel(); release() }, nil
	}
	// result returns the error of the call as RPC knows it.
	result := func(err error) error {
		if err != nil && c.Lasts {
			return h.ended(err)
		}
		return wireError(err)
	}
	switch {
	case c.Unary != nil:
		return connect.NewUnaryHandler(path, func(ctx context.Context, r *connect.Request[carrier]) (*connect.Response[carrier], error) {
			ctx, end, err := begin(ctx)
			if err != nil {
				return nil, err
			}
			defer end()
			m, err := c.Unary(ctx, r.Msg.m)
			if err != nil {
				return nil, result(err)
			}
			return connect.NewResponse(&carrier{m: m}), nil
		}, opts...)
	case c.Stream != nil:
		return connect.NewServerStreamHandler(path, func(ctx context.Context, r *connect.Request[carrier], s *connect.ServerStream[carrier]) error {
			ctx, end, err := begin(ctx)
			if err != nil {
				return err
			}
			defer end()
			return result(c.Stream(ctx, r.Msg.m, func(m proto.Message) error { return s.Send(&carrier{m: m}) }))
		}, opts...)
	}
	return connect.NewBidiStreamHandler(path, func(ctx context.Context, s *connect.BidiStream[carrier, carrier]) error {
		ctx, end, err := begin(ctx)
		if err != nil {
			return err
		}
		defer end()
		return result(c.Pipe(ctx, pipe{s, ctx, h.o.StallTimeout}))
	}, opts...)
}

// pipe implements feature.Messages.
type pipe struct {
	*connect.BidiStream[carrier, carrier]
	ctx      context.Context
	patience time.Duration
}

func (p pipe) Send(m proto.Message) error { return p.BidiStream.Send(&carrier{m: m}) }

func (p pipe) Receive() (proto.Message, error) {
	m, err := p.BidiStream.Receive()
	if err != nil {
		return nil, err
	}
	return m.m, nil
}

func (p pipe) CloseReceive() {
	if cut, ok := p.ctx.Value(cutReadKey{}).(func()); ok {
		cut()
	}
}

func (p pipe) Patience() time.Duration { return p.patience }

// cutReadKey is the context's key of the function that ends a call's reading.
type cutReadKey struct{}

// notOffered answers calls of a service of which the server offers only others.
func (h *Handler) notOffered(w http.ResponseWriter, r *http.Request) {
	h.refuse(w, r, engram.Errorf(engram.Unsupported, r.URL.Path, "this server does not offer the call"))
}
