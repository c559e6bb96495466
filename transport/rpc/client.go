package rpc

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/gen/engram/v1/engramv1connect"
	"github.com/seed-301d4374/engram/transport/internal/resume"
)

// DialOptions configures a [Client]. Zero fields mean the defaults.
type DialOptions struct {
	// Server is the identity the server must have; empty accepts any.
	Server string
	// MaxMessage bounds the bytes of one message, in or out; default 128 MiB.
	MaxMessage int
	// ReconnectFor is how long a subscription tries to reach a server that went
	// away before its Next returns Unavailable; 0 means without end.
	ReconnectFor time.Duration
	// GRPC makes the client speak gRPC instead of the Connect protocol, for
	// servers and proxies that know only that.
	GRPC bool
	// Backbone connects to the server of a name through the backbone, for addresses
	// "nats:server": backbone.Backbone.Dial. Nil means there is none.
	Backbone func(ctx context.Context, server string) (net.Conn, error)
	// Via names a server that the one at the address reaches through the backbone,
	// and that is meant instead.
	Via string
}

// Client reaches one memory server over one multiplexed connection, which is made
// again when it breaks. It implements engram.Service. Safe for concurrent use.
//
// A call that failed because the server was away is repeated, for a moment, if it
// only reads or if it was never sent. Errors are those that the server returned,
// Unavailable if it could not be reached, and Canceled after the end of a call's
// context. Payloads that a call returns are the caller's.
type Client struct {
	address string
	o       DialOptions
	http    *http.Client
	memory  engramv1connect.MemoryServiceClient
	names   engramv1connect.NameServiceClient
	poses   engramv1connect.PoseServiceClient
	ltm     engramv1connect.LongTermServiceClient
	info    Info

	ctx     context.Context // of the client's streams; ends with Close
	cancel  context.CancelFunc
	closing sync.Mutex // no stream may begin once Close waits for them
	streams sync.WaitGroup
}

var _ engram.Service = (*Client)(nil)

// Info tells which server answers, and what it hosts.
type Info struct {
	Server   string
	Epoch    uint64 // identifies the server's life; 0 if unknown
	Memories []string
	Version  string
}

// Dial reaches the memory server at "unix:/path", "http://host:port", "host:port" or
// "nats:server". The error is Unavailable if none answers there, Unsupported if what
// answers is none, and Conflict if it is another one than o.Server.
func Dial(ctx context.Context, address string, o DialOptions) (*Client, error) {
	network, target, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return dialer.DialContext(ctx, network, target) }
	base := "http://engram"
	switch network {
	case "unix":
		if err := checkSocketDir(target); err != nil {
			return nil, err
		}
	case backboneNetwork:
		if o.Backbone == nil {
			return nil, engram.Errorf(engram.Unavailable, address, "this server is reached through the backbone, to which this program is not connected")
		}
		dial = func(ctx context.Context, _ string) (net.Conn, error) { return o.Backbone(ctx, target) }
	default:
		base = "http://" + target
	}
	if o.Via != "" {
		base += viaPath(o.Via)
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, 128<<20)
	c := &Client{address: address, o: o, http: &http.Client{Transport: newTransport(dial)}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	opts := []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(o.MaxMessage),
		connect.WithSendMaxBytes(o.MaxMessage),
	}
	if o.GRPC {
		opts = append(opts, connect.WithGRPC())
	}
	c.memory = engramv1connect.NewMemoryServiceClient(c.http, base, opts...)
	c.names = engramv1connect.NewNameServiceClient(c.http, base, opts...)
	c.poses = engramv1connect.NewPoseServiceClient(c.http, base, opts...)
	c.ltm = engramv1connect.NewLongTermServiceClient(c.http, base, opts...)
	if c.info, err = c.Info(ctx); err == nil && o.Server != "" && c.info.Server != o.Server {
		err = engram.Errorf(engram.Conflict, address, "server %q answers here instead of server %q", c.info.Server, o.Server)
	}
	if engram.CodeOf(err) == engram.Unsupported {
		err = engram.Errorf(engram.Unsupported, address, "what answers here is not a memory server: %w", err)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// newTransport returns a transport that speaks HTTP/2 over the connections that
// dial makes to a host and port: one as long as its streams suffice.
func newTransport(dial func(ctx context.Context, address string) (net.Conn, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, address)
		},
		DisableCompression: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 10 * time.Second, // a server that is gone without a word is noticed
			PingTimeout:     10 * time.Second,
		},
	}
}

// Address returns the address that was dialled.
func (c *Client) Address() string { return c.address }

// Server returns what the server told of itself when it was dialled.
func (c *Client) Server() Info { return c.info }

// Info asks the server for what it is and hosts.
func (c *Client) Info(ctx context.Context) (Info, error) {
	m, err := call(ctx, c, c.memory.Info, &engramv1.InfoRequest{}, repeatable)
	if err != nil {
		return Info{}, err
	}
	return Info{Server: m.GetServer(), Epoch: m.GetEpoch(), Memories: m.GetMemories(), Version: m.GetVersion()}, nil
}

// Close ends the client's streams and closes its connection.
func (c *Client) Close() error {
	c.closing.Lock()
	c.cancel()
	c.closing.Unlock()
	c.streams.Wait()
	c.http.CloseIdleConnections()
	return nil
}

// own runs f in a goroutine that Close waits for, unless the client is closed.
func (c *Client) own(f func()) bool {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.streams.Go(f)
	return true
}

// safety says whether a call that may have been processed may be sent again.
type safety bool

const (
	repeatable safety = true
	once       safety = false
)

func call[Req, Res any](ctx context.Context, c *Client, procedure func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), m *Req, s safety) (*Res, error) {
	var res *connect.Response[Res]
	err := resume.Repeat(ctx, func() (again bool, err error) {
		if c.ctx.Err() != nil {
			return false, errClosed(c.address)
		}
		if res, err = procedure(ctx, connect.NewRequest(m)); err == nil {
			return false, nil
		}
		return s == repeatable || neverSent(err), domainError(ctx, c.address, err)
	})
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

func errClosed(address string) error {
	return engram.Errorf(engram.Canceled, address, "the client is closed")
}

// neverSent reports whether a call failed before anything of it reached a server.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
