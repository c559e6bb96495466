package rpc

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/internal/resume"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
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
	// Credentials say who this program is. With them, connections over TCP and the
	// backbone are mutual TLS, whatever the address says; a server of another
	// deployment, or one without TLS, is refused. Nil means none.
	Credentials *credentials.Store
	// Via names a server that the one at the address reaches through the backbone,
	// and that is meant instead.
	Via string
	// Serves returns what the names say that the server serves. With credentials, calls
	// are sent only to one whose certificate allows all of that; to another they fail
	// with a credentials.ErrNotBelieved. Nil means that whatever server answers is meant.
	// What it returns is not changed. Calls about names and revocations, by which one
	// learns that the server serves less by now, also go to one whose certificate is of
	// the identity that was met first.
	Serves func() []credentials.Claim
}

// Client reaches one memory server over one multiplexed connection, which is made
// again when it breaks. It implements engram.Service, and
// feature.Conn for the clients of features. Safe for concurrent use.
//
// A call that failed because the server was away is repeated, for a moment, if it
// only reads or if it was never sent. Errors are those that the server returned,
// Unavailable if it could not be reached, and Canceled after the end of a call's
// context. Payloads that a call returns are the caller's.
type Client struct {
	address string
	o       DialOptions
	base    string // of URLs
	http    *http.Client
	carry   Carrier // in place of http; nil for none
	info    Info

	options    []connect.ClientOption
	procedures clients

	met      atomic.Pointer[access.Identity] // by the first certificate; nil before
	received atomic.Uint64                   // bytes, over all connections
	refused  atomic.Bool                     // the newest connection ended with the server's refusal of the certificate

	ctx     context.Context // of the client's streams; ends with Close
	cancel  context.CancelFunc
	closing sync.Mutex // no stream may begin once Close waits for them
	streams sync.WaitGroup
}

var _ engram.Service = (*Client)(nil)

// Info tells which server answers, and what it hosts.
type Info struct {
	Server   string
	Epoch    uint64 // identifies the server's epoch; 0 if unknown
	Memories []string
	Version  string
	// Received and Sent are the server's clock when the question came and when the
	// answer left; 0 if it does not tell.
	Received, Sent engram.Time
}

// Dial reaches the memory server at "unix:/path", "http://host:port", "host:port" or
// "nats:server". The error is Unavailable if none answers there, Unsupported if what
// answers is none, and Conflict if it is another one than o.Server.
func Dial(ctx context.Context, address string, o DialOptions) (*Client, error) {
	c, err := newClient(address, o)
	if err != nil {
		return nil, err
	}
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

// newClient returns a client that has not called yet.
func newClient(address string, o DialOptions) (*Client, error) {
	network, target, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return dialer.DialContext(ctx, network, target) }
	tls := o.Credentials != nil && network != "unix"
	if !tls && strings.HasPrefix(address, securePrefix) {
		return nil, engram.Errorf(engram.Forbidden, address, "this server wants to know who connects; give credentials with --credentials or ENGRAM_CREDENTIALS ('engram auth add' makes them)")
	}
	base := "http://engram" // TLS, where it is spoken, is a matter of the connection
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
	c := &Client{address: address, o: o, base: base, procedures: new(sync.Map)}
	way := newTransport(func(ctx context.Context, target string) (net.Conn, error) {
		c.refused.Store(false)
		conn, err := dial(ctx, target)
		if err != nil {
			return nil, err
		}
		conn = heardConn{conn, &c.received}
		if !tls {
			return conn, nil
		}
		if conn, err = secure.Client(ctx, o.Credentials, conn, address); err != nil {
			return nil, err
		}
		if met := identityOf(certificateOf(conn)); met != "" {
			c.met.CompareAndSwap(nil, &met)
		}
		return doubtedConn{conn, &c.refused}, nil
	})
	c.http = &http.Client{Transport: way}
	switch {
	case o.Serves == nil:
	case o.Via != "":
		c.http.Transport = &telling{Transport: way, serves: o.Serves}
	case tls:
		c.http.Transport = &believing{Transport: way, claims: func(*http.Request) []credentials.Claim { return o.Serves() }, knows: c.knows}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	opts := []connect.ClientOption{
		connect.WithAcceptCompression("gzip", nil, nil),
		connect.WithReadMaxBytes(o.MaxMessage),
		connect.WithSendMaxBytes(o.MaxMessage),
	}
	if o.GRPC {
		opts = append(opts, connect.WithGRPC())
	}
	c.options = opts
	return c, nil
}

// knows reports whether a request is about names and revocations, and a certificate is of
// the identity that was met first: that one may be asked it whatever the names have said.
func (c *Client) knows(r *http.Request, cert *x509.Certificate) bool {
	met := c.met.Load()
	return met != nil && identityOf(cert) == *met && strings.HasPrefix(r.URL.Path, namePath)
}

// identityOf returns whose a certificate is, "" if there is none.
func identityOf(cert *x509.Certificate) access.Identity {
	if cert == nil {
		return ""
	}
	id, err := credentials.IdentityOf(cert)
	if err != nil {
		return ""
	}
	return id
}

// newTransport returns a transport that speaks HTTP/2 over the connections that
// dial makes to a host and port: one as long as its streams suffice. Its URLs are
// http also where the connections are TLS.
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

// heardConn counts the bytes that come.
type heardConn struct {
	net.Conn
	received *atomic.Uint64
}

func (c heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(uint64(n))
	return n, err
}

// doubtedConn notes whether the server accepts this program's certificate: TLS 1.3 tells
// only after the handshake, and HTTP/2 does not hand on why a connection ended that no
// request has used yet.
type doubtedConn struct {
	net.Conn
	refused *atomic.Bool
}

func (c doubtedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 || err != nil {
		c.refused.Store(secure.Refused(err))
	}
	return n, err
}

// Received returns how many bytes have come from the server: while they do, it is
// there, also if an answer takes long over a slow link.
func (c *Client) Received() uint64 { return c.received.Load() }

// Address returns the address that was dialled.
func (c *Client) Address() string { return c.address }

// Server returns what the server told of itself when it was dialled.
func (c *Client) Server() Info { return c.info }

// Info asks the server for what it is and hosts.
func (c *Client) Info(ctx context.Context) (Info, error) {
	m, err := call[*engramv1.InfoResponse](ctx, c, memoryPath+"Info", &engramv1.InfoRequest{}, repeatable)
	if err != nil {
		return Info{}, err
	}
	return Info{Server: m.GetServer(), Epoch: m.GetEpoch(), Memories: m.GetMemories(), Version: m.GetVersion(),
		Received: engram.Time(m.GetReceived()), Sent: engram.Time(m.GetSent())}, nil
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

// repeat makes a call, and makes it again, for a moment, if the server was away.
func repeat(ctx context.Context, c *Client, s safety, try func() error) error {
	return resume.Repeat(ctx, func() (again bool, err error) {
		if c.ctx.Err() != nil {
			return false, errClosed(c.address)
		}
		if err = try(); err == nil {
			return false, nil
		}
		return s == repeatable || neverSent(err), c.domainError(ctx, err)
	})
}

func errClosed(address string) error {
	return engram.Errorf(engram.Canceled, address, "the client is closed")
}

// neverSent reports whether a call failed before anything of it reached a server.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
