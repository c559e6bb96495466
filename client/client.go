package client

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// AddressVariable is the environment variable that holds the name system's address.
const AddressVariable = "ENGRAM_ADDRESS"

// Options configures a [Client]. The zero value is right for programs on the
// robot's own computer.
type Options struct {
	// Address of the name system: "unix:/path", "http://host:port" or "host:port".
	// Empty means $ENGRAM_ADDRESS, or else the default Unix socket, or else the
	// default port on this host; see [rpc.DefaultAddresses].
	Address string
	// Dial configures the connections to the servers; its Server is not used.
	Dial rpc.DialOptions
}

// Client reaches all memories that are registered with a name system. It
// implements engram.Service. Safe for concurrent use.
type Client struct {
	o    Options
	home *rpc.Client // the server that offers the name system

	ctx        context.Context // of the client's goroutines; ends with Close
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	// mu is not held while a server is called.
	mu      sync.Mutex
	table   map[string]mns.Entry // by memory: what the name system said last
	stale   map[string]time.Time // entries the name system has lost, and until when they are kept
	changed chan struct{}        // closed and replaced when table changes
	conns   map[string]*conn     // by connKey
	types   []engram.TypeDef     // added by this client, for servers that come later
}

var _ engram.Service = (*Client)(nil)

// Connect finds the name system and learns the names of the memories. The error is
// Unavailable if nothing answers and says where it looked. ctx bounds only the
// call.
func Connect(ctx context.Context, o Options) (*Client, error) {
	home, err := dialHome(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Client{
		o: o, home: home, table: map[string]mns.Entry{}, stale: map[string]time.Time{},
		changed: make(chan struct{}), conns: map[string]*conn{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	synced := make(chan error, 1)
	c.own(func() { c.follow(synced) })
	select {
	case err = <-synced:
	case <-ctx.Done():
		err = engram.Errorf(engram.Canceled, home.Address(), "given up waiting for the names of the memories: %w", ctx.Err())
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func dialHome(ctx context.Context, o Options) (*rpc.Client, error) {
	address := o.Address
	if address == "" {
		address = os.Getenv(AddressVariable)
	}
	dial := o.Dial
	dial.Server = ""
	if address != "" {
		return rpc.Dial(ctx, address, dial)
	}
	looked := rpc.DefaultAddresses()
	var first error
	for _, address := range looked {
		home, err := rpc.Dial(ctx, address, dial)
		if err == nil {
			return home, nil
		}
		if engram.CodeOf(err) != engram.Unavailable {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, engram.Errorf(engram.Unavailable, "", "no memory server answers at %s; start one with \"engram serve\", or say where it is with %s: %w",
		strings.Join(looked, " or "), AddressVariable, first)
}

// own runs f in a goroutine that Close waits for, unless the client is closed.
func (c *Client) own(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownLocked(f)
}

func (c *Client) ownLocked(f func()) bool {
	if c.ctx.Err() != nil {
		return false
	}
	c.goroutines.Go(f)
	return true
}

// Close ends the client's streams and connections.
func (c *Client) Close() error {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.goroutines.Wait()
	c.mu.Lock()
	conns := c.conns
	c.conns = map[string]*conn{}
	c.mu.Unlock()
	for _, cn := range conns {
		cn.close()
	}
	return c.home.Close()
}

// Names returns the name system, such as to wait for a memory.
func (c *Client) Names() mns.Registry { return c.home.Names() }

// Address returns the address of the name system.
func (c *Client) Address() string { return c.home.Address() }
