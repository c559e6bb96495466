package local

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// What a side takes by default, and sends at most.
const (
	maxFrame = 128 << 20
	maxIDs   = 4096
	maxTypes = 512
)

// Options configures a server. Zero fields mean the defaults. What goes beyond a
// limit is refused with an Exhausted error that names the limit.
type Options struct {
	MaxFrame       int // bytes of one frame, as of one commit; default 128 MiB, at least 64 KiB
	MaxConnections int // default 4096
	MaxCalls       int // open on one connection, subscriptions included; default 256

	// HelloTimeout bounds how long a client may take to say who it is; default 5 s.
	HelloTimeout time.Duration
	// StallTimeout bounds how long a client may stop in the middle of a frame, or
	// read nothing while it is written to; then its connection is closed. A
	// subscription whose consumer is slow is none of these. Default 60 s.
	StallTimeout time.Duration

	// Grace is how long calls may go on when the server is told to stop; default 5 s.
	Grace time.Duration

	// RPC holds what the rare calls share with edge/transport/rpc: the server's identity,
	// limits on patterns, regexes and queries, and the meter.
	RPC rpc.Options

	Log *slog.Logger // nil means slog.Default()
}

func (o Options) withDefaults() Options {
	o.MaxFrame = max(cmp.Or(o.MaxFrame, maxFrame), minFrame)
	o.MaxConnections = cmp.Or(o.MaxConnections, 4096)
	o.MaxCalls = cmp.Or(o.MaxCalls, 256)
	o.HelloTimeout = cmp.Or(o.HelloTimeout, 5*time.Second)
	o.StallTimeout = cmp.Or(o.StallTimeout, time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.RPC = o.RPC.WithDefaults()
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func (o Options) limits() limits {
	return limits{frame: uint32(min(o.MaxFrame, 1<<31-1)), ids: maxIDs, types: maxTypes}
}
