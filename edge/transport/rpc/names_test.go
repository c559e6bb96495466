package rpc_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// remoteNames returns a name system behind a server.
func remoteNames(t *testing.T) (mns.Registry, *serving.Handler) {
	t.Helper()
	local := mns.NewLocal()
	t.Cleanup(func() { local.Close() })
	at := serving.Serve(t, serving.New(t, testMemory(server.Hooks{})), local, rpc.Options{}, serving.Socket(t))
	return serving.Dial(t, at.Address, rpc.DialOptions{}).Names(), at
}

func TestNameSystemOverTheNetwork(t *testing.T) {
	names, _ := remoteNames(t)
	ctx := t.Context()
	a := mns.Registration{Server: "a", Memories: []string{"Vision", "Speech"}, Addresses: []string{"unix:/a", "http://a:1"}, TTL: time.Minute}
	lease, err := names.Register(ctx, a)
	if err != nil || lease.ID == 0 || lease.TTL != time.Minute {
		t.Fatalf("lease %+v, %v", lease, err)
	}
	_, err = names.Register(ctx, mns.Registration{Server: "b", Memories: []string{"Vision"}, Addresses: []string{"unix:/b"}})
	want(t, "a second claim", err, engram.Conflict, "Vision", `"a"`)
	e, err := names.Resolve(ctx, "Vision")
	if err != nil || e.Server != "a" || !slices.Equal(e.Addresses, a.Addresses) {
		t.Errorf("resolved %+v, %v", e, err)
	}
	_, err = names.Resolve(ctx, "Object")
	want(t, "an unknown name", err, engram.NotFound, "Object", "Speech, Vision")
	if err := names.Renew(ctx, lease.ID); err != nil {
		t.Error(err)
	}
	want(t, "renewing no lease", names.Renew(ctx, lease.ID+1), engram.NotFound)
	entries, err := names.List(ctx)
	if err != nil || len(entries) != 2 || entries[0].Memory != "Speech" {
		t.Errorf("listed %+v, %v", entries, err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = names.Wait(short, "Object")
	want(t, "a wait past its deadline", err, engram.Canceled)
	if err := names.Release(ctx, lease.ID); err != nil {
		t.Error(err)
	}
	_, err = names.Resolve(ctx, "Vision")
	want(t, "a released name", err, engram.Unavailable, "Vision", `"a"`, "taken it over")
}

func TestWatchAndWaitOverTheNetwork(t *testing.T) {
	names, at := remoteNames(t)
	waited := make(chan mns.Entry, 1)
	go func() {
		e, err := names.Wait(t.Context(), "Object")
		if err != nil {
			t.Error(err)
		}
		waited <- e
	}()
	var events []string
	r := mns.Registration{Server: "a", Memories: []string{"Object"}, Addresses: []string{"unix:/a"}}
	var lease mns.Lease
	for e, err := range names.Watch(t.Context()) {
		switch {
		case err != nil:
			want(t, "a watch of a server that stopped", err, engram.Unavailable, "stopping")
			events = append(events, "end")
		case e.Synced:
			events = append(events, "synced")
			if lease, err = names.Register(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		case e.Removed:
			events = append(events, "-"+e.Entry.Memory)
			go at.Stop()
		default:
			events = append(events, "+"+e.Entry.Memory)
			if e := <-waited; e.Server != "a" {
				t.Errorf("waited for %+v", e)
			}
			if err := names.Release(t.Context(), lease.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(events, " "); got != "synced +Object -Object end" {
		t.Errorf("watched %q", got)
	}
}

func TestServerWithoutANameSystem(t *testing.T) {
	at := serving.Serve(t, serving.New(t, testMemory(server.Hooks{})), nil, rpc.Options{}, serving.Socket(t))
	_, err := serving.Dial(t, at.Address, rpc.DialOptions{}).Names().List(t.Context())
	want(t, "names of a server that offers none", err, engram.Unsupported)
}
