// Package backbone lets clients be on the backbone themselves: with
//
//	import _ "github.com/seed-301d4374/engram/client/backbone"
//
// the address of a client.Client or of client.Host may be nats://host:port. It is apart
// so that programs that are at home with a memory server, as nearly all are, carry no NATS.
// They reach servers on the backbone through that server.
package backbone

import (
	"context"
	"errors"
	"time"

	"github.com/seed-301d4374/engram/client/internal/homes"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/fleet/mns/robots"
)

func init() { homes.Use(join) }

// listenFor is how long a client that has just come to the backbone waits for other
// robots to tell their names.
const listenFor = 300 * time.Millisecond

// join connects to the backbone at an address and to the names there.
func join(ctx context.Context, address string, s *credentials.Store) (_ *homes.Backbone, err error) {
	b, err := backbone.Connect(ctx, backbone.Options{URL: address, Credentials: s})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	robot, err := b.Domain(ctx)
	if err != nil {
		return nil, err
	}
	if backbone.CheckRobot(robot) != nil {
		robot = ""
	}
	var own *kv.Registry
	err = b.Names(ctx, func(ctx context.Context) (err error) {
		own, err = kv.Open(ctx, b.JetStream(), kv.Options{})
		return err
	})
	if err != nil {
		return nil, err
	}
	names, err := robots.Join(b.Conn(), own, robots.Options{Robot: robot, Heard: b.Heard})
	if err != nil {
		return nil, err
	}
	names.Gather(ctx, listenFor)
	return &homes.Backbone{
		Address: backbone.Redacted(address), Names: names, Robot: robot,
		Dial: b.Dial, Listen: b.Listen,
		Close: func() error { return errors.Join(names.Close(), b.Close()) },
	}, nil
}
