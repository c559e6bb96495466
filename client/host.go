package client

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Hosted is a memory server that [Host] can put on the network, such as
// server.Server.
type Hosted interface {
	feature.Server
	Memories() []string
}

// HostOptions configures [Host]. The zero value is right beside an engram that
// runs on the same computer.
type HostOptions struct {
	// Address of the name system, as in [Options].
	Address string
	// Listen lists where to listen. Empty means a Unix socket beside that of the
	// name system, or a free port of the loopback interface if the name system has
	// none.
	Listen []string
	// Advertise lists the addresses to register; empty means those listened on,
	// which are good for programs on this computer only if they are of the loopback
	// interface.
	Advertise []string
	// TTL of the registration; 0 means mns.DefaultTTL.
	TTL time.Duration
	RPC rpc.Options
}

// Host puts a memory server on the network and registers its memories with the
// name system, until ctx ends: what a program needs that defines a memory of its
// own. If its home is on the backbone, others reach it there, too. The error is
// Conflict if another server hosts one of the memories, and AlreadyExists if the
// program runs already.
func Host(ctx context.Context, svc Hosted, o HostOptions) (err error) {
	home, err := dialHome(ctx, &Options{Address: o.Address, Dial: rpc.DialOptions{Credentials: o.RPC.Secure.Credentials}})
	if err != nil {
		return err
	}
	defer home.close()
	if home.server != nil && home.revoked.independent != nil {
		var following sync.WaitGroup
		follow, enough := context.WithCancel(ctx)
		following.Go(func() { home.followRevocations(follow, nil) })
		defer following.Wait()
		defer enough()
	}
	memories := svc.Memories()
	if len(memories) == 0 {
		return engram.Errorf(engram.Invalid, "", "the server has no memory to host")
	}
	if len(o.Listen) == 0 {
		o.Listen = []string{beside(home.address, memories)}
	}
	endpoint, err := transport.ListenSecurely(o.RPC.Secure, o.Listen...)
	if err != nil {
		return err
	}
	addresses := endpoint.Addresses()
	if o.RPC.Server == "" {
		// The same after a restart, so that the program need not wait for its own old
		// lease; and no other program's, which could not listen here.
		host, _ := os.Hostname()
		o.RPC.Server = strings.TrimSpace(home.ownRobot(ctx) + " " + cmp.Or(host, "localhost") + " " + addresses[0])
	}
	if home.backbone != nil {
		through, err := home.backbone.Listen(o.RPC.Server)
		if err == nil {
			addresses = append(slices.Clone(addresses), rpc.AddressOf(through))
			err = endpoint.Add(through)
		}
		if err != nil {
			return errors.Join(err, endpoint.Close())
		}
	}
	serve, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- endpoint.Serve(serve, svc, nil, o.RPC) }()
	if len(o.Advertise) == 0 {
		o.Advertise = addresses
	}
	// Not given up halfway: a registration whose lease is not known cannot be released.
	register, registered := context.WithTimeout(context.WithoutCancel(ctx), registerTimeout)
	kept, err := mns.Keep(register, home.names, mns.Registration{Server: o.RPC.Server, Memories: memories, Addresses: o.Advertise, TTL: o.TTL})
	registered()
	if err != nil {
		cancel()
		return errors.Join(err, <-served)
	}
	log := cmp.Or(o.RPC.Log, slog.Default())
	log.Info("hosting", "memories", strings.Join(memories, ", "), "addresses", strings.Join(o.Advertise, ", "))
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- nil
	}
	if closeErr := kept.Close(); closeErr != nil && engram.CodeOf(closeErr) != engram.Unavailable {
		err = errors.Join(err, closeErr)
	}
	cancel()
	return errors.Join(err, <-served)
}

// registerTimeout bounds how long the name system may take to register memories.
const registerTimeout = 15 * time.Second

// beside returns where to listen next to the name system at an address.
func beside(home string, memories []string) string {
	path, ok := strings.CutPrefix(home, "unix:")
	if !ok {
		return "127.0.0.1:0"
	}
	name := strings.Map(func(r rune) rune {
		if r == filepath.Separator || r == '.' {
			return '-'
		}
		return r
	}, memories[0])
	return "unix:" + filepath.Join(filepath.Dir(path), "engram-"+name+".sock")
}
