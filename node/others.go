package node

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// others reaches memories of other servers, as a client of the node with the node's own
// credentials. It connects when it is first asked; the node closes it.
type others struct {
	n      *Node
	access string
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // it is held while it connects
	client *client.Client
}

func (o *others) begin(n *Node, s Security) {
	o.n, o.access = n, s.Access
	o.ctx, o.cancel = context.WithCancel(context.Background())
}

// everywhere is all memories that a client reaches.
type everywhere struct {
	*client.Client
	service.Follower
}

func (o *others) connect(ctx context.Context) (server.Reach, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return nil, engram.Errorf(engram.Unavailable, "", "the server is ending")
	}
	if o.client == nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(o.ctx, cancel)()
		addresses := slices.Clone(o.n.addresses)
		if o.n.security.Credentials != nil { // at a socket it would be known by its user
			slices.SortStableFunc(addresses, func(a, b string) int {
				return cmp.Compare(strings.Count(a, "unix:"), strings.Count(b, "unix:"))
			})
		}
		c, err := client.Connect(ctx, client.Options{Address: addresses[0], Access: o.access, Dial: rpc.DialOptions{
			Credentials: o.n.security.Credentials, MaxMessage: o.n.options.MaxMessage,
		}})
		if err != nil {
			return nil, err
		}
		o.client = c
	}
	return everywhere{o.client, o.client.Links()}, nil
}

func (o *others) close() error {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client == nil {
		return nil
	}
	return o.client.Close()
}
