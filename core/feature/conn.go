package feature

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Conn makes calls at a server, or at whichever server hosts a memory. It names a
// procedure by its path, "/engram.v1.PoseService/LookUp". Errors are those of the
// domain: of the server, Unsupported if it has no such procedure, Unavailable if it
// cannot be reached, Canceled after the end of ctx. Safe for concurrent use.
type Conn interface {
	// Call makes a unary call, and fills answer. If the server was away it is made
	// again, for a moment, if it was never sent or if the procedure is [Repeatable].
	Call(ctx context.Context, procedure string, request, answer proto.Message) error
	// Open begins a call of any other kind with its first message; ctx bounds the whole
	// call.
	Open(ctx context.Context, procedure string, first proto.Message) (ClientStream, error)
}

// ClientStream is a call of several messages, at its caller. One goroutine may send
// while another receives.
type ClientStream interface {
	// Send sends another message, where the procedure takes several.
	Send(proto.Message) error
	// Receive fills m with the next message; io.EOF after the last one.
	Receive(m proto.Message) error
	// Close ends the call. It does not wait for what comes.
	Close() error
}

// Repeatable reports whether a call may be made again if it is not known whether it was
// made: the API marks such procedures with an idempotency level.
func Repeatable(procedure string) bool {
	return idempotency(procedure) != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}

// ReadsOnly reports whether a call is cheap and changes nothing, so that HTTP's GET may make
// it: the API marks such procedures with an idempotency level, too.
func ReadsOnly(procedure string) bool {
	return idempotency(procedure) == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

func idempotency(procedure string) descriptorpb.MethodOptions_IdempotencyLevel {
	d := descriptor(procedure)
	if d == nil {
		return descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
	}
	o, _ := d.Options().(*descriptorpb.MethodOptions)
	return o.GetIdempotencyLevel()
}

// SendsMany reports whether the caller of a procedure may send several messages.
func SendsMany(procedure string) bool {
	d := descriptor(procedure)
	return d != nil && d.IsStreamingClient()
}

// descriptor returns what the API says of a procedure; nil if it does not know it.
func descriptor(procedure string) protoreflect.MethodDescriptor {
	name := strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	m, _ := d.(protoreflect.MethodDescriptor)
	return m
}
