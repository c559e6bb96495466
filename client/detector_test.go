package client

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// A server that cannot even be asked whether it is there falls silent, whatever the reason
// is and though it is told at once.
func TestWhatCannotBeAskedFallsSilent(t *testing.T) {
	quiet := testkit.Quiet
	srv, err := server.New(server.Config{Memories: []server.Memory{{Name: "A"}}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	e, err := transport.Listen("unix:" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx, srv, nil, rpc.Options{Server: "s", Log: quiet, Grace: time.Second}) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for name, refusal := range map[string]error{
		"away":          engram.Errorf(engram.Unavailable, "s", "no way"),
		"forbidden":     engram.Errorf(engram.Forbidden, "s", "the backbone does not let this program do that"),
		"another there": credentials.NotBelieved("another one", "A"),
	} {
		t.Run(name, func(t *testing.T) {
			var first net.Conn
			s, err := rpc.Dial(t.Context(), "nats:s", rpc.DialOptions{Server: "s", Backbone: func(ctx context.Context, _ string) (net.Conn, error) {
				if first != nil {
					return nil, refusal
				}
				var err error
				first, err = (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(rpc.AddressOf(e.Listeners()[0]), "unix:"))
				return first, err
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			first.Close()
			c := &router{o: Options{DetectionTimeout: 10 * time.Millisecond}}
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = c.whileAlive(limit, &conn{server: "s"}, s, func(ctx context.Context, _ transport.Client) error {
				<-ctx.Done()
				return ctx.Err()
			})
			if engram.CodeOf(err) != engram.Unavailable || limit.Err() != nil {
				t.Errorf("given up with %v", err)
			}
		})
	}
}
