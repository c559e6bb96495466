package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/internal/intake"
)

// Options configures a [Handler] and how it is served. Zero fields mean the
// defaults. What goes beyond a limit is refused with an Exhausted error that names
// the limit.
type Options struct {
	// Server identifies this server, as in its registration with the name system.
	Server string
	// Robot is the robot whose memories they are, "" if it has no name.
	Robot string

	MaxMessage       int // bytes of one message, in or out; default 128 MiB
	MaxRequest       int // bytes of one request that carries no payloads; default 4 MiB
	MaxValues        int // messages, list items and map entries in one message; default 4,000,000
	MaxStreams       int // streams open on one connection; default 256
	MaxSubscriptions int // subscriptions and watches on the whole server; default 4096
	MaxPattern       int // bytes of a pattern's text; default 8192
	MaxRegex         int // bytes of one regex; default and most engram.MaxRegexLen
	MaxQueryNodes    int // nodes, names, selectors, patterns or IDs in one request; default 10,000

	// MaxDecoding bounds the bytes that all messages take which are read and decoded at
	// once; default 512 MiB, and four times MaxMessage. One message may take half of it.
	MaxDecoding int64
	// Decoding is what MaxDecoding makes, for edges to share; nil makes one.
	Decoding *intake.Budget

	// Subscriptions counts those that there are, for edges to share; nil makes a count.
	Subscriptions *atomic.Int64

	// HeaderTimeout bounds how long a client may take for a request's headers;
	// default 5 s.
	HeaderTimeout time.Duration
	// StallTimeout bounds how long a client may read nothing while it is written
	// to, or send nothing in the middle of a unary request; then the call is cut
	// off. Default 60 s. A client library that buffers hides a program that reads
	// slowly; such a program is dropped updates, not cut off.
	StallTimeout time.Duration
	// Grace is how long calls may go on when the server is told to stop; default 5 s.
	Grace time.Duration

	// Backbone connects to the server of a name through the backbone:
	// backbone.Backbone.Dial. Calls for such a server are handed on to it. Nil means
	// there is no backbone.
	Backbone func(ctx context.Context, server string) (net.Conn, error)

	// Meter counts calls; nil means that nobody looks at the counts.
	Meter *meter.Meter
	// Now is the server's clock, which Info tells; nil means the wall clock.
	Now func() engram.Time
	// Operations answers GET requests for paths that begin with none of the services'
	// names, such as /metrics and /readyz. Nil means there is nothing.
	Operations http.Handler

	// Page makes the handler of the page that browsers show (package edge/web) from what is
	// served, and returns its patterns, as of http.ServeMux. Nil serves none.
	Page func(svc feature.Server) (page http.Handler, patterns []string)

	// Reflection makes the handlers that tell tools what services there are, by their paths
	// (package reflection); nil means that nothing tells.
	Reflection func(services []string, o ...connect.HandlerOption) map[string]http.Handler

	// Features are offered beside those of the server itself.
	Features []feature.Feature

	// Secure says by what clients are known ([ListenSecurely]). Where it has rules, what is
	// served must be behind them ([feature.Guard]); package transport does that.
	Secure secure.Options

	// Web says which web pages may call; by default none but the server's own.
	Web secure.Web

	Log *slog.Logger // nil means slog.Default()
}

// WithDefaults returns the options with the defaults for fields that are zero.
func (o Options) WithDefaults() Options {
	o.MaxMessage = cmp.Or(o.MaxMessage, 128<<20)
	o.MaxRequest = cmp.Or(o.MaxRequest, 4<<20)
	o.MaxValues = cmp.Or(o.MaxValues, 4_000_000)
	o.MaxDecoding = cmp.Or(o.MaxDecoding, max(512<<20, 4*int64(o.MaxMessage)))
	if o.Decoding == nil {
		o.Decoding = intake.NewBudget(o.MaxDecoding, intake.DefaultPatience)
	}
	o.MaxStreams = cmp.Or(o.MaxStreams, 256)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 4096)
	o.MaxPattern = cmp.Or(o.MaxPattern, wire.DefaultLimits.MaxPattern)
	o.MaxRegex = min(cmp.Or(o.MaxRegex, engram.MaxRegexLen), engram.MaxRegexLen)
	o.MaxQueryNodes = cmp.Or(o.MaxQueryNodes, wire.DefaultLimits.MaxNodes)
	if o.Subscriptions == nil {
		o.Subscriptions = new(atomic.Int64)
	}
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 5*time.Second)
	o.StallTimeout = cmp.Or(o.StallTimeout, time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	if o.Meter == nil {
		o.Meter = new(meter.Meter)
	}
	if o.Now == nil {
		o.Now = engram.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// limitsOf returns the bounds of what a request may hold. It needs the defaults.
func limitsOf(o *Options) wire.Limits {
	return wire.Limits{MaxPattern: o.MaxPattern, MaxRegex: o.MaxRegex, MaxNodes: o.MaxQueryNodes}
}

// AdmitSubscription counts a subscription in; release counts it out. It needs the defaults.
func (o *Options) AdmitSubscription() (release func(), err error) {
	if n := o.Subscriptions.Add(1); n > int64(o.MaxSubscriptions) {
		o.Subscriptions.Add(-1)
		return nil, engram.Errorf(engram.Exhausted, "", "the server has %d subscriptions; at most %d are allowed; end one, or raise the limit", n-1, o.MaxSubscriptions)
	}
	return func() { o.Subscriptions.Add(-1) }, nil
}

// partBytes is how many payload bytes the parts of a streamed answer hold, about:
// far below the 4 MiB that gRPC clients of other languages accept by default.
const partBytes = 1 << 20
