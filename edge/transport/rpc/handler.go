package rpc

import (
	"context"
	"math"
	"net/http"
	"runtime/debug"
	"slices"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Handler serves a memory server and a name system as gRPC, gRPC-Web, Connect and
// HTTP/JSON, with health checks. [Serve] serves it; any http.Server
// that speaks HTTP/1.1 and unencrypted HTTP/2 can.
type Handler struct {
	svc    feature.Server
	names  mns.Registry
	o      Options
	limits wire.Limits
	types  payloadTypes

	services   []string
	procedures map[string]*procedure // by path

	mux     *http.ServeMux
	refusal *connect.ErrorWriter
	health  *grpchealth.StaticChecker
	forward *forward // nil without a backbone

	draining context.Context // ends when the server is told to stop
	drain    context.CancelFunc
}

// NewHandler returns a handler for svc with its features, and for names unless that is
// nil. It owns neither.
func NewHandler(svc feature.Server, names mns.Registry, o Options) *Handler {
	o = o.WithDefaults()
	h := &Handler{
		svc: svc, names: names, o: o,
		limits:  limitsOf(&o),
		types:   payloadTypes{service: svc},
		mux:     http.NewServeMux(),
		refusal: connect.NewErrorWriter(),
	}
	h.draining, h.drain = context.WithCancel(context.Background())
	if o.Backbone != nil {
		h.forward = newForward(h)
	}
	opts := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(o.MaxMessage),
		connect.WithSendMaxBytes(o.MaxMessage),
		connect.WithCompressMinBytes(math.MaxInt), // accept gzip, never send it; see doc.go
		connect.WithRecover(h.recovered),
	)
	var services []string
	offered := []feature.Feature{h.MemoryService()}
	if names != nil {
		offered = append(offered, nameHandler{h}.service())
	}
	offered = append(append(offered, svc.Features()...), o.Features...)
	for i := range offered {
		if f := &offered[i]; !slices.Contains(services, f.Service) {
			services = append(services, f.Service)
			absent := h.notOffered
			if f.Service == memoryService || f.Service == nameService { // it is all there
				absent = http.NotFound
			}
			h.mux.HandleFunc("/"+f.Service+"/", absent)
		}
		h.offer(&offered[i], opts)
	}
	h.services = services
	h.procedures = procedures(&h.o, services, offered)
	h.health = grpchealth.NewStaticChecker(services...)
	h.mux.Handle(grpchealth.NewHandler(h.health, opts, withStrictJSON(false)))
	if o.Reflection != nil {
		for path, reflection := range o.Reflection(append(services, grpchealth.HealthV1ServiceName), opts, withStrictJSON(false)) {
			h.mux.Handle(path, reflection)
		}
	}
	if o.Page != nil {
		page, patterns := o.Page(svc)
		for _, pattern := range patterns {
			h.mux.Handle(pattern, page)
		}
	}
	if o.Operations != nil {
		h.mux.Handle("/", h.guardOperations(o.Operations))
	}
	return h
}

// Drain makes health checks answer that the server stops, ends subscriptions and
// commit streams with Unavailable, and refuses new ones. Other calls go on.
func (h *Handler) Drain() {
	h.health.SetStatus("", grpchealth.StatusNotServing)
	for _, name := range h.services {
		h.health.SetStatus(name, grpchealth.StatusNotServing)
	}
	h.drain()
}

// limited returns the context of a call within the handler's limits.
func (h *Handler) limited(ctx context.Context) context.Context { return wire.WithLimits(ctx, h.limits) }

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
