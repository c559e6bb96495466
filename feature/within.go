package feature

import (
	"context"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
)

// Within returns a Conn to a server in this process, for faces of its memory that use what
// any client uses. It makes unary calls and those with many answers; to Open others is
// Unsupported.
func Within(s Server) Conn { return within{s} }

type within struct{ server Server }

// call returns the call of a procedure, nil if the server offers none.
func (w within) call(procedure string) *Call {
	service, name, _ := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	for _, f := range w.server.Features() {
		if f.Service != service {
			continue
		}
		for i := range f.Calls {
			if f.Calls[i].Name == name {
				return &f.Calls[i]
			}
		}
	}
	return nil
}

func (w within) Call(ctx context.Context, procedure string, request, answer proto.Message) error {
	c := w.call(procedure)
	if c == nil || c.Unary == nil {
		return engram.Errorf(engram.Unsupported, procedure, "the server offers no such call")
	}
	m, err := c.Unary(ctx, request)
	if err == nil {
		proto.Merge(answer, m)
	}
	return err
}

func (w within) Open(ctx context.Context, procedure string, first proto.Message) (ClientStream, error) {
	c := w.call(procedure)
	if c == nil || c.Stream == nil {
		return nil, engram.Errorf(engram.Unsupported, procedure, "the server offers no such call of many answers")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &withinStream{messages: make(chan proto.Message), cancel: cancel}
	go func() {
		defer close(s.messages)
		s.err = c.Stream(ctx, first, func(m proto.Message) error {
			select {
			case s.messages <- m:
				return nil
			case <-ctx.Done():
				return engram.Errorf(engram.Canceled, procedure, "the call was given up: %w", context.Cause(ctx))
			}
		})
	}()
	return s, nil
}

// withinStream is a call with many answers in this process.
type withinStream struct {
	messages chan proto.Message
	err      error // once messages is closed
	cancel   context.CancelFunc
}

func (*withinStream) Send(proto.Message) error {
	return engram.Errorf(engram.Unsupported, "", "the call takes one message")
}

func (s *withinStream) Receive(m proto.Message) error {
	next, ok := <-s.messages
	switch {
	case ok:
		proto.Merge(m, next)
		return nil
	case s.err != nil:
		return s.err
	}
	return io.EOF
}

func (s *withinStream) Close() error {
	s.cancel()
	return nil
}
