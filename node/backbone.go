package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/backbone/updates"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/fleet/mns/robots"
)

// fabric is the backbone of a node.
type fabric struct {
	settings Backbone
	data     []*engram.PatternMatcher // of PublishData
	embedded *embedded.Server         // nil if the backbone is another's
	*backbone.Backbone
	domain   string        // of its JetStream
	robot    string        // its name; that of the domain if it has none of its own, "" if that has none
	own      *kv.Registry  // the robot's own name system; nil until it is joined
	names    *robots.Fleet // nil until it is joined
	listener net.Listener
	provided func() // ends making buckets for others; nil where this is not done

	work    sync.WaitGroup // what it does by itself, until working ends
	working context.Context
	stop    context.CancelFunc
}

// startBackbone connects to the backbone, which it embeds if that is asked for.
func startBackbone(ctx context.Context, s Backbone, robot string, security secure.Options) (b *fabric, err error) {
	s.Embedded.Robot, s.Embedded.Secure = robot, security
	b = &fabric{settings: s}
	b.working, b.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
			b = nil
		}
	}()
	for _, p := range s.PublishData {
		m, err := p.Matcher()
		if err != nil {
			return b, err
		}
		b.data = append(b.data, m)
	}
	o := backbone.Options{URL: s.URL, Robot: robot, Credentials: security.Credentials, CAFile: s.CAFile, CredsFile: s.CredsFile, NKeyFile: s.NKeyFile}
	if s.URL == "" {
		if b.embedded, err = embedded.Start(ctx, s.Embedded); err != nil {
			return b, err
		}
		o.InProcess = b.embedded
	}
	if b.Backbone, err = backbone.Connect(ctx, o); err != nil {
		if engram.CodeOf(err) == engram.Forbidden && o.Credentials == nil && o.CredsFile == "" && o.NKeyFile == "" {
			err = fmt.Errorf("%w; give some with --credentials, or with --backbone-creds or --backbone-nkey those of an existing NATS cluster", err)
		}
		return b, err
	}
	if b.domain, err = b.Domain(ctx); err != nil {
		return b, err
	}
	b.robot = robot
	if b.robot == "" && backbone.CheckRobot(b.domain) == nil {
		b.robot = b.domain
	}
	return b, nil
}

// join joins the name system, and listens for who dials this server by its name.
func (b *fabric) join(ctx context.Context, server string) error {
	err := b.open(ctx)
	if err != nil {
		return err
	}
	alive := func(ctx context.Context, server string, addresses []string) error {
		c, err := reach(ctx, addresses, rpc.DialOptions{Server: server, Backbone: b.Dial, Credentials: b.settings.Embedded.Secure.Credentials})
		if err != nil {
			return err
		}
		return c.Close()
	}
	if b.names, err = robots.Join(b.Conn(), b.own, robots.Options{Robot: b.robot, Alive: alive, Heard: b.Heard, Restarted: b.Restarted}); err != nil {
		return err
	}
	if err = b.Flush(ctx); err != nil {
		return err
	}
	b.listener, err = b.Listen(server)
	return err
}

// open opens the robot's own name system.
func (b *fabric) open(ctx context.Context) error {
	of := b.robot
	if of == b.domain {
		of = ""
	}
	err := b.Names(ctx, func(ctx context.Context) (err error) {
		b.own, err = kv.Open(ctx, b.JetStream(), kv.Options{Robot: of, Identity: string(b.identity()), TTL: b.settings.Lease})
		return err
	})
	if err == nil && b.embedded != nil {
		b.provided, err = b.own.Provide(ctx)
	}
	return err
}

// identity is whom the backbone knows this server as, "" if it asks nobody.
func (b *fabric) identity() access.Identity {
	if c := b.settings.Embedded.Secure.Credentials; c != nil {
		return c.Identity()
	}
	return ""
}

// withData returns a function that reports whether an entity's updates are published with
// their data: by the segment's policy, else by PublishData. It is nil if none ever are.
func (b *fabric) withData(store *ltm.Store) func(engram.ID) bool {
	if store == nil && b.data == nil {
		return nil
	}
	return func(entity engram.ID) bool {
		if store != nil {
			if p := store.Policy(entity).Publish; p != "" {
				return p == policy.PublishData
			}
		}
		return slices.ContainsFunc(b.data, func(m *engram.PatternMatcher) bool { return m.Match(entity) })
	}
}

// publish tells of the server's updates until the backbone is closed, with data where
// withData says so.
func (b *fabric) publish(svc updates.Service, server string, withData func(engram.ID) bool) {
	b.work.Go(func() {
		if err := updates.Publish(b.working, b.Backbone, svc, updates.Options{Robot: b.robot, Server: server, Data: withData}); err != nil {
			slog.Error("updates are no longer published on the backbone", "error", err)
		}
	})
}

// audit notes whose the names of the backbone are, if this process embeds it.
func (b *fabric) audit(security *guard) {
	if b.embedded != nil && security.audit != nil {
		b.work.Go(func() { security.auditNames(b.working, b.own) })
	}
}

// BackboneAddresses are where a node's backbone is reached.
type BackboneAddresses struct {
	Server  string // this node, through the backbone
	Clients string // the embedded NATS server, for programs and servers of this robot; "" if it does not listen
	Leafs   string // the same for leaf nodes: other robots
}

// Backbone returns where the node's backbone is reached; ok is false without one.
func (n *Node) Backbone() (a BackboneAddresses, ok bool) {
	b := n.backbone
	if b == nil {
		return a, false
	}
	a.Server = rpc.AddressOf(b.listener)
	if b.embedded != nil {
		a.Clients, a.Leafs = b.embedded.ClientURL(), b.embedded.LeafURL()
	}
	return a, true
}

// rest ends what the node does on the backbone by itself.
func (b *fabric) rest() {
	if b != nil {
		b.stop()
		b.work.Wait()
	}
}

func (b *fabric) close() error {
	if b == nil {
		return nil
	}
	b.rest()
	var errs []error
	if b.names != nil {
		errs = append(errs, b.names.Close())
	}
	if b.listener != nil {
		if err := b.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if b.provided != nil {
		b.provided()
	}
	if b.Backbone != nil {
		errs = append(errs, b.Backbone.Close())
	}
	if b.embedded != nil {
		errs = append(errs, b.embedded.Close())
	}
	return errors.Join(errs...)
}
