// Package transport picks the way to a memory server: edge/transport/local between
// processes of one host, edge/transport/rpc for everything else. Servers offer both,
// clients take the best they can reach, and nothing else in a program changes.
package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/local"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Client reaches one memory server.
type Client interface {
	engram.Service
	Address() string  // that was dialled
	Server() rpc.Info // what the server told of itself when it was dialled
	Close() error     // ends the client's streams and connections
}

// Dial reaches the memory server at "local:/path", "unix:/path", "https://host:port",
// "http://host:port" or "host:port". The errors are those of local.Dial and rpc.Dial.
func Dial(ctx context.Context, address string, o rpc.DialOptions) (Client, error) {
	// Not a nil pointer in an interface.
	if IsLocal(address) {
		c, err := local.Dial(ctx, address, local.DialOptions{Server: o.Server, MaxFrame: o.MaxMessage, ReconnectFor: o.ReconnectFor})
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	c, err := rpc.Dial(ctx, address, o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// IsLocal reports whether an address is one of edge/transport/local.
func IsLocal(address string) bool { return strings.HasPrefix(address, "local:") }

// Endpoint is where a server listens. Make one with [Listen].
type Endpoint struct {
	secure     secure.Options
	rpc, local []net.Listener
	addresses  []string
}

// Listen listens on "unix:/path", "http://host:port" or "host:port" with
// edge/transport/rpc, and beside each Unix socket with edge/transport/local. The errors are
// those of rpc.Listen.
func Listen(addresses ...string) (*Endpoint, error) {
	return ListenSecurely(secure.Options{}, addresses...)
}

// ListenSecurely is [Listen] for clients that prove who they are: on TCP by mutual TLS,
// if there are credentials, on Unix sockets by the kernel's word.
func ListenSecurely(o secure.Options, addresses ...string) (*Endpoint, error) {
	e := &Endpoint{secure: o}
	for _, address := range addresses {
		l, err := rpc.ListenSecurely(address, o)
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		e.rpc = append(e.rpc, l)
		beside, ok := local.Beside(rpc.AddressOf(l))
		if ok {
			if l, err = local.Listen(beside); err != nil {
				return nil, errors.Join(err, e.Close())
			}
			e.local = append(e.local, l)
			e.addresses = append(e.addresses, beside)
		}
	}
	for _, l := range e.rpc {
		e.addresses = append(e.addresses, rpc.AddressOf(l))
	}
	return e, nil
}

// Add has edge/transport/rpc serve another listener, such as one on the backbone, which
// the endpoint closes.
func (e *Endpoint) Add(l net.Listener) error {
	l, err := e.secure.Listener(l)
	if err == nil {
		e.rpc = append(e.rpc, l)
	}
	return err
}

// Addresses returns where clients on this host reach the server, the best first:
// what it registers with the name system.
func (e *Endpoint) Addresses() []string { return e.addresses }

// Listeners returns those of edge/transport/rpc, in the order of the addresses given to
// [Listen].
func (e *Endpoint) Listeners() []net.Listener { return e.rpc }

// Serve serves svc, and names unless that is nil, until ctx ends or a listener
// fails; it closes the endpoint. o's limits hold for both transports. If there are
// access rules, svc, names and o's features are put behind them; svc must answer within
// the scopes of calls (engram.ScopeOf).
func (e *Endpoint) Serve(ctx context.Context, svc feature.Server, names mns.Registry, o rpc.Options) error {
	o.Secure = e.secure
	o = o.WithDefaults() // what bounds the server is one for all ways to it
	if rules := e.secure.Access; rules != nil {
		svc = feature.Guard(svc, rules)
		if names != nil {
			names = mns.Guard(names, rules)
		}
		o.Features = slices.Clone(o.Features)
		for i, f := range o.Features {
			o.Features[i] = f.Guarded(rules)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error)
	begin := func(serve func() error) {
		go func() {
			err := serve()
			cancel() // one that fails ends the others
			ended <- err
		}()
	}
	begin(func() error { return rpc.Serve(ctx, rpc.NewHandler(svc, names, o), e.rpc...) })
	for _, l := range e.local {
		begin(func() error {
			return local.Serve(ctx, l, svc, local.Options{MaxFrame: o.MaxMessage, StallTimeout: o.StallTimeout, Grace: o.Grace, RPC: o, Log: o.Log})
		})
	}
	var errs []error
	for range 1 + len(e.local) {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// Close stops listening. [Endpoint.Serve] does it too.
func (e *Endpoint) Close() error {
	var errs []error
	for _, l := range append(e.rpc, e.local...) {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
