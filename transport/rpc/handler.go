package rpc

import (
	"context"
	"math"
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/engram/v1/engramv1connect"
	"github.com/seed-301d4374/engram/mns"
)

// Handler serves a memory and a name system as gRPC, gRPC-Web, Connect and
// HTTP/JSON, with health checks and reflection. [Serve] serves it; any http.Server
// that speaks HTTP/1.1 and unencrypted HTTP/2 can.
type Handler struct {
	svc    engram.Service
	names  mns.Registry
	o      Options
	limits limits
	types  payloadTypes

	mux     *http.ServeMux
	refusal *connect.ErrorWriter
	health  *grpchealth.StaticChecker
	forward *forward // nil without a backbone

	draining      context.Context // ends when the server is told to stop
	drain         context.CancelFunc
	subscriptions atomic.Int64
}

// NewHandler returns a handler for svc, and for names unless that is nil. It owns
// neither.
func NewHandler(svc engram.Service, names mns.Registry, o Options) *Handler {
	o = o.WithDefaults()
	h := &Handler{
		svc: svc, names: names, o: o,
		limits:  limits{pattern: o.MaxPattern, regex: o.MaxRegex, nodes: o.MaxQueryNodes},
		types:   payloadTypes{service: svc},
		mux:     http.NewServeMux(),
		refusal: connect.NewErrorWriter(),
	}
	h.draining, h.drain = context.WithCancel(context.Background())
	if o.Backbone != nil {
		h.forward = newForward(h)
	}
	opts := connect.WithHandlerOptions(
		withStrictJSON(),
		connect.WithReadMaxBytes(o.MaxMessage),
		connect.WithSendMaxBytes(o.MaxMessage),
		connect.WithCompressMinBytes(math.MaxInt), // accept gzip, never send it; see doc.go
		connect.WithRecover(h.recovered),
	)
	services := []string{engramv1connect.MemoryServiceName}
	h.mux.Handle(engramv1connect.NewMemoryServiceHandler(memoryHandler{h}, opts))
	if names != nil {
		services = append(services, engramv1connect.NameServiceName)
		h.mux.Handle(engramv1connect.NewNameServiceHandler(nameHandler{h}, opts))
	}
	if poses := posesOf(svc); poses != nil {
		services = append(services, engramv1connect.PoseServiceName)
		h.mux.Handle(engramv1connect.NewPoseServiceHandler(poseHandler{h, poses}, opts))
	}
	if store := longTermOf(svc); store != nil {
		services = append(services, engramv1connect.LongTermServiceName)
		h.mux.Handle(engramv1connect.NewLongTermServiceHandler(longTermHandler{h, store}, opts))
	}
	if source := copiesOf(svc); source != nil || o.Copies != nil {
		services = append(services, engramv1connect.CopyServiceName)
		h.mux.Handle(engramv1connect.NewCopyServiceHandler(copyHandler{h, source, o.Copies}, opts))
	}
	h.health = grpchealth.NewStaticChecker(services...)
	h.mux.Handle(grpchealth.NewHandler(h.health, opts))
	reflector := grpcreflect.NewStaticReflector(append(services, grpchealth.HealthV1ServiceName)...)
	h.mux.Handle(grpcreflect.NewHandlerV1(reflector, opts))
	h.mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, opts))
	if o.Operations != nil {
		h.mux.Handle("/", h.guardOperations(o.Operations))
	}
	return h
}

// Drain makes health checks answer that the server stops, ends subscriptions and
// commit streams with Unavailable, and refuses new ones. Other calls go on.
func (h *Handler) Drain() {
	h.health.SetStatus("", grpchealth.StatusNotServing)
	h.health.SetStatus(engramv1connect.MemoryServiceName, grpchealth.StatusNotServing)
	if posesOf(h.svc) != nil {
		h.health.SetStatus(engramv1connect.PoseServiceName, grpchealth.StatusNotServing)
	}
	if longTermOf(h.svc) != nil {
		h.health.SetStatus(engramv1connect.LongTermServiceName, grpchealth.StatusNotServing)
	}
	if copiesOf(h.svc) != nil || h.o.Copies != nil {
		h.health.SetStatus(engramv1connect.CopyServiceName, grpchealth.StatusNotServing)
	}
	if h.names != nil {
		h.health.SetStatus(engramv1connect.NameServiceName, grpchealth.StatusNotServing)
	}
	h.drain()
}

func errDraining() error {
	return engram.Errorf(engram.Unavailable, "", "the memory server is stopping; try again when it is back")
}

// ended returns the error of a stream that err ended: that the server stops, if
// that is why.
func (h *Handler) ended(err error) error {
	if h.draining.Err() != nil {
		err = errDraining()
	}
	return wireError(err)
}

// recovered turns a panic of the service, such as in a memory's hook, into an
// error of that call alone.
func (h *Handler) recovered(_ context.Context, spec connect.Spec, _ http.Header, cause any) error {
	h.o.Log.Error("a call panicked", "procedure", spec.Procedure, "cause", cause, "stack", string(debug.Stack()))
	return wireError(engram.Errorf(engram.Internal, "", "the call failed by a defect of the memory server: %v", cause))
}

// admitSubscription counts a subscription in; release counts it out.
func (h *Handler) admitSubscription() (release func(), err error) {
	if n := h.subscriptions.Add(1); n > int64(h.o.MaxSubscriptions) {
		h.subscriptions.Add(-1)
		return nil, engram.Errorf(engram.Exhausted, "", "the server has %d subscriptions; at most %d are allowed; end one, or raise the limit", n-1, h.o.MaxSubscriptions)
	}
	return func() { h.subscriptions.Add(-1) }, nil
}
