// Package feature is the one way by which a package offers calls of its own,
// beyond commit, query, subscribe and predict.
//
// A [Feature] is a service of the API and its calls. A [Call] is a procedure: its name,
// what its caller must be allowed ([Rule]), and a function from request to answer. The
// edges (package edge/transport) serve whatever features a [Server] has; [Guard] applies the
// rules before each call, and there is no other place where they are applied. A client
// of a feature makes its calls over a [Conn], which every client of a server has.
//
// So a new call is a procedure in api/, a function, and a line in the feature's list:
//
//	feature.Unary("LookUp", reading, h.lookUp).Lasting()
//
// This package knows messages and rules, but no transport.
package feature

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Server is a memory server with its features, as the edges serve it.
type Server interface {
	engram.Server
	// Features returns what the server offers beside its memory. They do not change.
	Features() []Feature
}

// Feature is a service of the API, or a part of one. Make one with [New].
type Feature struct {
	Service string // the full name, such as "engram.v1.PoseService"
	Calls   []Call
}

// New returns a feature. It panics if the API has no such service, or the service no
// such procedure: that is a defect of the program.
func New(service string, calls ...Call) Feature {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	s, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		panic("feature: the API has no service " + service)
	}
	for i := range calls {
		m := s.Methods().ByName(protoreflect.Name(calls[i].Name))
		if m == nil || m.Input() != calls[i].request().ProtoReflect().Descriptor() {
			panic(fmt.Sprintf("feature: %s has no procedure %s of %T", service, calls[i].Name, calls[i].request()))
		}
	}
	return Feature{Service: service, Calls: calls}
}

// Procedure returns the path of a call of the feature.
func (f *Feature) Procedure(c *Call) string { return "/" + f.Service + "/" + c.Name }

// Call is a procedure of a feature. Make one with [Unary], [Stream] or [Pipe]; its
// functions are called by many goroutines at once, and return errors of the domain.
type Call struct {
	Name string
	// Lasts says that the call may take long: it is given up when the server stops.
	Lasts bool
	// Watches says that the call is a subscription. It lasts, and is counted as one.
	Watches bool
	// Payload is not 0 for a call whose request carries payloads and so may be large:
	// what an identity must be allowed of anything at all before the request is read.
	Payload access.Actions

	// One of the three is not nil.
	Unary  func(ctx context.Context, request proto.Message) (proto.Message, error)
	Stream func(ctx context.Context, request proto.Message, send func(proto.Message) error) error
	Pipe   func(ctx context.Context, p Messages) error

	rule    Rule
	request func() proto.Message
}

// Messages are those of a call in which both sides may send when they like.
type Messages interface {
	// Receive waits for the next message of the client; io.EOF after the last one.
	Receive() (proto.Message, error)
	Send(proto.Message) error
	// CloseReceive ends a Receive that waits, and all later ones.
	CloseReceive()
	// Patience is how long a client may take nothing before its call is given up.
	Patience() time.Duration
}

// NewRequest returns an empty request of the call.
func (c *Call) NewRequest() proto.Message { return c.request() }

// Request is a message that a call takes.
type Request = proto.Message

// message is a pointer to a message.
type message[M any] interface {
	*M
	proto.Message
}

// Unary returns a call with one request and one answer.
func Unary[Req, Res any, P message[Req], Q message[Res]](name string, r Rule, f func(context.Context, P) (Q, error)) Call {
	c := Call{Name: name, rule: r, request: func() proto.Message { return P(new(Req)) }}
	c.Unary = func(ctx context.Context, m proto.Message) (proto.Message, error) {
		answer, err := f(ctx, m.(P))
		if err != nil {
			return nil, err
		}
		return answer, nil
	}
	return c
}

// Stream returns a call with one request and any number of answers.
func Stream[Req, Res any, P message[Req], Q message[Res]](name string, r Rule, f func(ctx context.Context, request P, send func(Q) error) error) Call {
	c := Call{Name: name, rule: r, request: func() proto.Message { return P(new(Req)) }}
	c.Stream = func(ctx context.Context, m proto.Message, send func(proto.Message) error) error {
		return f(ctx, m.(P), func(q Q) error { return send(q) })
	}
	return c
}

// Pipe returns a call in which both sides may send when they like; Req is the message
// that the client sends. Its rule cannot depend on a request.
func Pipe[Req any, P message[Req]](name string, r Rule, f func(ctx context.Context, p Messages) error) Call {
	return Call{Name: name, rule: r, request: func() proto.Message { return P(new(Req)) }, Pipe: f}
}

// Lasting returns the call as one that may take long.
func (c Call) Lasting() Call {
	c.Lasts = true
	return c
}

// Watching returns the call as a subscription.
func (c Call) Watching() Call {
	c.Lasts, c.Watches = true, true
	return c
}

// Carrying returns the call as one whose request may be large, from who may do a with
// anything.
func (c Call) Carrying(a access.Actions) Call {
	c.Payload = a
	return c
}
