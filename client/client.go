package client

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// AddressVariable is the environment variable that holds the name system's address.
const AddressVariable = "ENGRAM_ADDRESS"

// Options configures a [Client]. The zero value is right for programs on the
// robot's own computer.
type Options struct {
	// Address of the name system: "unix:/path", "http://host:port" or "host:port" of a
	// memory server, or "nats://host:port" of the backbone, which the client then is
	// on itself; the program then imports package client/backbone. Empty means $ENGRAM_ADDRESS, or else the default Unix socket, or else
	// the default port on this host; see [rpc.DefaultAddresses].
	Address string
	// Credentials is the file of credentials that says who this program is, where servers
	// want to know ("engram auth add" makes it). Empty means $ENGRAM_CREDENTIALS, or
	// else none.
	Credentials string
	// Access is a file of access rules ("engram auth"), of which the revocations count:
	// servers among them are not believed. It is read again when it changes. Empty means
	// $ENGRAM_ACCESS, or else none: then what is revoked is known from the server that has
	// the names. Without credentials it is not looked at.
	Access string
	// Dial configures the connections to the servers; its Server is not used.
	Dial rpc.DialOptions
	// DetectionTimeout is how long a call waits for a server that sends nothing, if other
	// servers take part in the answer or the server is another robot's; default 3 s. Then
	// the server counts as down.
	DetectionTimeout time.Duration
}

// DefaultDetectionTimeout is the default of [Options.DetectionTimeout].
const DefaultDetectionTimeout = 3 * time.Second

// Client reaches all memories that are registered with a name system, and those of
// other robots that it knows of. It implements engram.Service. Safe for concurrent
// use.
type Client struct {
	router
}

// router finds the servers of memories by the names, connects to them, and makes calls of
// them, as long as they are alive.
type router struct {
	o    Options
	home *home

	ctx        context.Context // of the client's goroutines; ends with Close
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	routed atomic.Pointer[routes] // made from the table; nil when it is to be made again

	// mu is not held while a server is called.
	mu      sync.Mutex
	table   map[string]mns.Entry // by memory: what the name system said last
	robot   string               // this robot's name, as far as it is known
	stale   map[string]time.Time // entries the name system has lost, and until when they are kept
	news    news                 // that came while the name system was asked
	changed chan struct{}        // closed and replaced when table changes
	conns   map[string]*conn     // by connKey
	types   []engram.TypeDef     // added by this client, for servers that come later
}

var _ engram.Service = (*Client)(nil)

// Connect finds the name system and learns the names of the memories. The error is
// Unavailable if nothing answers and says where it looked. ctx bounds only the
// call.
func Connect(ctx context.Context, o Options) (*Client, error) {
	o.DetectionTimeout = cmp.Or(max(o.DetectionTimeout, 0), DefaultDetectionTimeout)
	home, err := dialHome(ctx, &o)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	c.o, c.home, c.robot = o, home, home.robot
	c.table, c.stale, c.conns = map[string]mns.Entry{}, map[string]time.Time{}, map[string]*conn{}
	c.changed = make(chan struct{})
	c.ctx, c.cancel = context.WithCancel(context.Background())
	synced := make(chan error, 1)
	c.own(func() { c.follow(synced) })
	select {
	case err = <-synced:
	case <-ctx.Done():
		err = engram.Errorf(engram.Canceled, home.address, "given up waiting for the names of the memories: %w", ctx.Err())
	}
	if err == nil {
		err = c.awaitRevocations(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// own runs f in a goroutine that Close waits for, unless the client is closed.
func (c *router) own(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownLocked(f)
}

func (c *router) ownLocked(f func()) bool {
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
	return c.home.close()
}

// Robot returns the name of the robot that the client is on, as far as it is known; else "".
func (c *Client) Robot() string { return c.routes().robot }

// Address returns the address of the name system.
func (c *Client) Address() string { return c.home.address }
