package node

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// namedBy is a name system of fixed entries.
type namedBy struct {
	mns.Registry
	entries map[string]mns.Entry
}

func (n namedBy) Resolve(_ context.Context, memory string) (mns.Entry, error) {
	return n.entries[memory], nil
}

// A server of the deployment that announces another robot's memory is not copied from.
func TestCopiesAreOfWhoMayServeThem(t *testing.T) {
	d := deployment.New(t)
	e, err := transport.ListenSecurely(secure.Options{Credentials: d.Server(t, "liar", "robot2:*")}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Memories: []server.Memory{{Name: "Object"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ctx, srv, nil, rpc.Options{Server: "liar", Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-served, srv.Close()); err != nil {
			t.Error(err)
		}
	})
	at := func(robot string) mns.Entry {
		return mns.Entry{Memory: robot + ":Object", Robot: robot, Server: "liar", Addresses: e.Addresses()}
	}
	names := namedBy{entries: map[string]mns.Entry{"robot1:Object": at("robot1"), "robot2:Object": at("robot2")}}
	ask := rpc.DialOptions{Credentials: d.Server(t, "base")}
	var owners *copyOwners
	dial := func(memory string) error {
		found, err := owners.Find(t.Context(), memory)
		if err != nil {
			t.Fatal(err)
		}
		c, err := owners.Dial(t.Context(), memory, found)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	owners = &copyOwners{names: names, dial: ask}
	if err := dial("robot1:Object"); engram.CodeOf(err) != engram.Forbidden || !errors.Is(err, credentials.ErrNotBelieved) {
		t.Errorf("what it may not serve: %v", err)
	}
	owners = &copyOwners{names: names, dial: ask}
	if err := dial("robot2:Object"); err != nil {
		t.Errorf("what it may serve: %v", err)
	}

	// What the names say no more of a server that they know counts no more, and again when
	// they do.
	find := func(memory string, code engram.Code) {
		t.Helper()
		if _, err := owners.Find(t.Context(), memory); engram.CodeOf(err) != code {
			t.Errorf("finding %s: %v", memory, err)
		}
	}
	find("robot1:Object", 0)
	if err := dial("robot2:Object"); !errors.Is(err, credentials.ErrNotBelieved) {
		t.Errorf("with what it may not serve: %v", err)
	}
	delete(names.entries, "robot1:Object")
	find("robot1:Object", engram.NotFound)
	if err := dial("robot2:Object"); err != nil {
		t.Errorf("without what it may not serve: %v", err)
	}
	delete(names.entries, "robot2:Object") // the robot is cut off
	find("robot2:Object", engram.NotFound)
	if c, err := owners.Dial(t.Context(), "robot2:Object", "liar"); !errors.Is(err, credentials.ErrNotBelieved) {
		t.Errorf("of whom nothing is known any more: %v %v", c, err)
	}
}

// Health tells what is wrong with copies: a rule's own problem, and what is wrong with what
// it made only where that is not the rule's.
func TestProblemsOfCopiesAreInTheHealth(t *testing.T) {
	made := func(rule, pattern string, state contract.State, problem string) contract.Status {
		return contract.Status{Copy: contract.Copy{Pattern: engram.MustPattern(pattern)}, Rule: rule, State: state, Error: problem}
	}
	rule := func(problem string) contract.Status { return made("", "*:Object", contract.StateFailed, problem) }
	for name, c := range map[string]struct {
		list []contract.Status
		want string
	}{
		"its own":             {[]contract.Status{rule("no room"), made("*:Object", "robot1:Object", contract.StateLive, "")}, "*:Object: no room"},
		"what it made":        {[]contract.Status{rule("refused"), made("*:Object", "robot1:Object", contract.StateFailed, "refused")}, "robot1:Object: refused"},
		"both":                {[]contract.Status{rule("no room"), made("*:Object", "robot1:Object", contract.StateFailed, "refused")}, "*:Object: no room"},
		"of another the same": {[]contract.Status{rule("refused"), made("", "robot1:Object", contract.StateFailed, "refused")}, "*:Object: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, reason := copiesHealth(nil, c.list, nil); status != health.Degraded || reason != c.want {
				t.Errorf("health is %s: %q, want %q", status, reason, c.want)
			}
		})
	}
}
