package rpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
)

var _ feature.Conn = (*Client)(nil)

// clients are those of procedures, by clientKey: a *sync.Map of *connect.Client[carrier, carrier].
// An interface keeps the generics of both, which each package that has to do with a Client
// would compile again, in this package.
type clients interface {
	Load(key any) (client any, ok bool)
	LoadOrStore(key, client any) (actual any, loaded bool)
}

// clientKey is what a client is for. A procedure may have two: who calls one of this
// package's services as a feature's ([Client.Call]) gets the bytes of its answers.
type clientKey struct {
	procedure string // its path
	raw       bool   // answers are received as bytes
}

// connectClient returns the client of a procedure, whose answers are received into what
// answer makes; nil for those of features, whose types are not known here.
func connectClient(c *Client, procedure string, answer func() proto.Message) *connect.Client[carrier, carrier] {
	key := clientKey{procedure, answer == nil}
	if known, ok := c.procedures.Load(key); ok {
		return known.(*connect.Client[carrier, carrier])
	}
	o := append([]connect.ClientOption{connect.WithCodec(carriers{})}, c.options...)
	if answer != nil {
		o = append(o, connect.WithResponseInitializer(func(_ connect.Spec, v any) error {
			v.(*carrier).m = answer()
			return nil
		}))
	}
	made, _ := c.procedures.LoadOrStore(key, connect.NewClient[carrier, carrier](c.http, c.base+procedure, o...))
	return made.(*connect.Client[carrier, carrier])
}

// made returns an empty message.
func made[M proto.Message]() proto.Message {
	var none M
	return none.ProtoReflect().New().Interface()
}

// ask makes a unary call of a service of this package once. Its error is one of RPC.
func ask(ctx context.Context, c *Client, procedure string, m proto.Message, answer func() proto.Message) (proto.Message, error) {
	if c.carry != nil {
		got := answer()
		return got, wireError(c.carry(ctx, procedure, m, got))
	}
	res, err := connectClient(c, procedure, answer).CallUnary(ctx, connect.NewRequest(&carrier{m: m}))
	if err != nil {
		return nil, err
	}
	return res.Msg.m, nil
}

// call makes a unary call of a service of this package. After an error its answer is nil.
func call[Answer proto.Message](ctx context.Context, c *Client, procedure string, m proto.Message, s safety) (answer Answer, err error) {
	var got proto.Message
	err = repeat(ctx, c, s, func() (err error) {
		got, err = ask(ctx, c, procedure, m, made[Answer])
		return err
	})
	if err == nil {
		answer = got.(Answer)
	}
	return answer, err
}

// receive opens a stream of a service of this package, whose messages are received into what
// answer makes. Its errors are those of RPC.
func receive(ctx context.Context, c *Client, procedure string, m proto.Message, answer func() proto.Message) (*connect.ServerStreamForClient[carrier], error) {
	return connectClient(c, procedure, answer).CallServerStream(ctx, connect.NewRequest(&carrier{m: m}))
}

// Call implements feature.Conn.
func (c *Client) Call(ctx context.Context, procedure string, request, answer proto.Message) error {
	var res *connect.Response[carrier]
	err := repeat(ctx, c, safety(feature.Repeatable(procedure)), func() (err error) {
		res, err = connectClient(c, procedure, nil).CallUnary(ctx, connect.NewRequest(&carrier{m: request}))
		return err
	})
	if err != nil {
		return err
	}
	return c.read(res.Msg, answer)
}

// read fills a message with what was received.
func (c *Client) read(from *carrier, m proto.Message) error {
	if err := proto.Unmarshal(from.raw, m); err != nil {
		return engram.Errorf(engram.Corrupt, c.address, "the server's answer is not a %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return nil
}

// Open implements feature.Conn. The client's Close ends the call, and waits for its Close.
func (c *Client) Open(ctx context.Context, procedure string, first proto.Message) (feature.ClientStream, error) {
	s := &clientStream{c: c}
	c.closing.Lock()
	closed := c.ctx.Err() != nil
	if !closed {
		c.streams.Add(1)
	}
	c.closing.Unlock()
	if closed {
		return nil, errClosed(c.address)
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.unbind = context.AfterFunc(c.ctx, s.cancel)
	client := connectClient(c, procedure, nil)
	if !feature.SendsMany(procedure) {
		stream, err := client.CallServerStream(s.ctx, connect.NewRequest(&carrier{m: first}))
		if err != nil {
			err = s.failed(err)
			s.Close()
			return nil, err
		}
		s.close = stream.Close
		s.receive = func() (*carrier, error) {
			if stream.Receive() {
				return stream.Msg(), nil
			}
			if err := stream.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		return s, nil
	}
	stream := client.CallBidiStream(s.ctx)
	s.send, s.receive = stream.Send, stream.Receive
	s.close = func() error { return errors.Join(stream.CloseRequest(), stream.CloseResponse()) }
	// While a request's body is open, HTTP/2 does not see that its context has ended.
	unbind, end := s.unbind, context.AfterFunc(s.ctx, func() { stream.CloseRequest() })
	s.unbind = func() bool { end(); return unbind() }
	if err := s.Send(first); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// clientStream implements feature.ClientStream.
type clientStream struct {
	c       *Client
	ctx     context.Context
	cancel  context.CancelFunc
	unbind  func() bool
	send    func(*carrier) error
	receive func() (*carrier, error)
	close   func() error // nil before the call began
	once    sync.Once
}

func (s *clientStream) Send(m proto.Message) error {
	if s.send == nil {
		return engram.Errorf(engram.Invalid, "", "the procedure takes one message")
	}
	// Why the call has ended is for Receive to say.
	if err := s.send(&carrier{m: m}); err != nil && !errors.Is(err, io.EOF) {
		return s.failed(err)
	}
	return nil
}

func (s *clientStream) Receive(m proto.Message) error {
	got, err := s.receive()
	if err != nil {
		return s.failed(err)
	}
	return s.c.read(got, m)
}

func (s *clientStream) failed(err error) error {
	switch {
	case s.c.ctx.Err() != nil:
		return errClosed(s.c.address)
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return s.c.domainError(s.ctx, err)
}

func (s *clientStream) Close() error {
	s.once.Do(func() {
		s.cancel() // first: closing would wait for what comes
		if s.close != nil {
			_ = s.close() // what it could say is that the call was given up
		}
		s.unbind()
		s.c.streams.Done()
	})
	return nil
}
