package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// A program whose credentials are rotated goes on with the new ones, without a restart
// and without loss; it is who they say, also beside the server.
func TestRotation(t *testing.T) {
	d := deployment.New(t)
	serverFile, file := filepath.Join(t.TempDir(), "server"), filepath.Join(t.TempDir(), "eye")
	deployment.Write(t, serverFile, d.Server(t, "server"))
	store, err := credentials.Load(serverFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := access.New(access.Options{})
	set := func(revoked ...access.Revocation) {
		t.Helper()
		if err := rules.Set(access.Policy{Rules: []access.Rule{{Actions: access.Read | access.Subscribe, To: []string{"eye"}, On: []engram.Pattern{engram.MustPattern("M/S")}}}, Revoked: revoked}); err != nil {
			t.Fatal(err)
		}
	}
	set()
	srv, err := server.New(server.Config{Memories: []server.Memory{{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}, {ID: engram.MustID("M/T")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	e, err := transport.ListenSecurely(secure.Options{Credentials: store, Access: rules}, "127.0.0.1:0", "unix:"+filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	names := mns.NewLocal()
	defer names.Close()
	if _, err := names.Register(t.Context(), mns.Registration{Server: "s", Memories: srv.Memories(), Addresses: e.Addresses(), TTL: mns.MaxTTL}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx, srv, names, rpc.Options{Server: "s", Grace: time.Second}) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	first := d.Program(t, "eye")
	deployment.Write(t, file, first)
	c, err := client.Connect(t.Context(), client.Options{Address: rpc.AddressOf(e.Listeners()[0]), Credentials: file})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	commit := func(entity string) {
		t.Helper()
		r, err := srv.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID(entity), Time: 1,
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}}})
		if err == nil {
			err = engram.FirstError(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Subscribe(t.Context(), engram.Subscription{WithData: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	next := func(want string) {
		t.Helper()
		ctx := testkit.Context(t)
		got, err := s.Next(ctx)
		if err != nil || len(got) != 1 || got[0].ID.Truncate(engram.LevelEntity).String() != want {
			t.Fatalf("%v %v, want %s", got, err, want)
		}
	}
	commit("M/T/p/hidden") // the Unix socket beside would show it
	commit("M/S/p/one")
	next("M/S/p/one")

	deployment.Write(t, file, d.Program(t, "eye"))
	set(access.Revocation{Serial: credentials.SerialOf(first.Current().Cert)})
	commit("M/S/p/two")
	next("M/S/p/two")
	if _, err := c.Latest(t.Context(), engram.MustID("M/S/p/two")); err != nil {
		t.Errorf("a call with the new credentials: %v", err)
	}
}

// A program with credentials that is at home over TCP stays who they say also in what goes
// over RPC only, such as poses: a Unix socket at which a server is registered, too, would
// take it for its user, and nobody there shows a certificate.
func TestPosesAreAskedAsTheCredentialsSay(t *testing.T) {
	d := newDeployment(t)
	names := &told{}
	names.say()
	home := d.serve(t, "base", credentials.Serving{}, names, rpc.Options{}, "Own")
	right := d.serve(t, "away", credentials.Serving{Own: []string{"robot1:*"}}, nil, rpc.Options{}, client.PoseMemory)
	others := mns.NewLocal()
	defer others.Close()
	beside := start(t, "away", others, nil, serving.Socket(t), poseMemory(t, 1))

	c, err := client.Connect(t.Context(), client.Options{Address: home.address, DetectionTimeout: time.Minute, Dial: rpc.DialOptions{Credentials: d.program(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tt := range []struct {
		of        string
		addresses []string
		code      engram.Code
		doubted   bool
	}{
		{"robot1", []string{beside.address, right.address}, engram.Unsupported, false}, // it keeps none
		{"robot2", []string{beside.address, right.address}, engram.Forbidden, true},
		{"robot1", []string{beside.address}, engram.Unavailable, false},
	} {
		e := right.at(tt.of, client.PoseMemory)
		e.Addresses = tt.addresses
		wait(t, c, names, e)
		_, err := c.Poses(e.Memory).Tree(t.Context(), nil)
		if engram.CodeOf(err) != tt.code || errors.Is(err, credentials.ErrNotBelieved) != tt.doubted {
			t.Errorf("%s at %q: %v (%v), want %v", e.Memory, tt.addresses, err, engram.CodeOf(err), tt.code)
		}
	}
}
