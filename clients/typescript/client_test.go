// Package typescript tests the client for browsers and Node.js against a real server.
package typescript

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// The suite of the client, in Node.js, over HTTP.
func TestClient(t *testing.T) {
	node := testkit.Node(t, ".", "typescript")
	built := exec.CommandContext(testkit.Context(t), node, "node_modules/typescript/bin/tsc", "-p", ".")
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	srv := serving.New(t, memories.All()...)
	const ticks = 300
	robot, err := sim.New(sim.Config{Start: engram.Now().Add(-sim.Period * time.Duration(ticks))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := robot.RunTicks(t.Context(), srv, 0, ticks); err != nil {
		t.Fatal(err)
	}
	h := serving.Serve(t, srv, nil, rpc.Options{Log: testkit.Quiet}, "")
	restarted := serving.Serve(t, serving.New(t, memories.All()...), nil, rpc.Options{Log: testkit.Quiet}, "") // as one that began anew
	cmd := exec.CommandContext(testkit.Context(t), node, "--test", "test/")
	cmd.Env = append(os.Environ(), "ENGRAM_HTTP="+h.Address, "ENGRAM_HTTP_RESTARTED="+restarted.Address)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
