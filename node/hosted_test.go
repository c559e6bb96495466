package node

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// A program went to another server while the one that hosted its memory was away: that one
// begins all the same, keeps what it has, says so, and has the name when it is free.
func TestNameOfAProgramsMemoryIsElsewhere(t *testing.T) {
	testkit.Long(t)
	address, data := testkit.FreeAddress(t), t.TempDir()
	entity := engram.MustID("Battery/State/test/a")
	config := func(name string, own server.Memory) Config {
		return Config{Memories: []server.Memory{own}, Name: name, Listen: []string{"unix:" + filepath.Join(t.TempDir(), name)}, Backbone: &Backbone{URL: "nats://" + address}}
	}
	middle := config("middle", memories.Speech())
	middle.Backbone = &Backbone{Embedded: embedded.Options{Listen: address}}
	begin(t, middle)
	host := func(n *Node) error {
		c := serving.Dial(t, n.Addresses()[0], rpc.DialOptions{})
		s, err := c.Open(t.Context(), "/engram.v1.HostService/Host", &engramv1.HostRequest{Kind: &engramv1.HostRequest_Begin{Begin: &engramv1.HostBegin{
			Memory: "Battery", Program: "battery", Segments: []*engramv1.Segment{{Id: "Battery/State"}}}}})
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Receive(&engramv1.HostResponse{})
	}
	values := func(n *Node) int {
		r, err := n.srv.Query(t.Context(), engram.MustPattern("Battery").Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for range r.All() {
			count++
		}
		return count
	}
	commit := func(n *Node) error {
		r, err := n.srv.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity.String(), engram.Now(), 1.5)}})
		if err == nil {
			err = engram.FirstError(r)
		}
		return err
	}

	own := config("first", memories.Object())
	own.Data = &ltm.Options{Dir: data}
	first, end := begin(t, own)
	if err := host(first); err != nil {
		t.Fatal(err)
	}
	if err := commit(first); err != nil {
		t.Fatal(err)
	}
	end()
	second, endSecond := begin(t, config("second", memories.Example()))
	testkit.Until(t, func() (string, bool) {
		err := host(second)
		return "the second server does not host the memory", err == nil
	})
	own.Data = &ltm.Options{Dir: data} // options are the node's
	first, _ = begin(t, own)
	if e, err := first.names.Resolve(t.Context(), "Battery"); err != nil || e.Server != "second" {
		t.Errorf("the memory is at %q: %v", e.Server, err)
	}
	if e, err := first.names.Resolve(t.Context(), "Object"); err != nil || e.Server != "first" {
		t.Errorf("a memory of the server itself is at %q: %v", e.Server, err)
	}
	status, reason := namesHealth(first.kept)
	if status != health.Degraded || !strings.Contains(reason, `Battery is hosted by the server "second"`) {
		t.Errorf("health: %v, %s", status, reason)
	}
	if got := first.srv.Memories(); len(got) != 1 {
		t.Errorf("the server offers %q", got)
	}
	if err := commit(first); engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), "second") {
		t.Errorf("a commit to the server that has not the name: %v", err)
	}
	if err := host(first); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("a program begins there: %v", err)
	}
	endSecond()
	testkit.Until(t, func() (string, bool) {
		status, reason := namesHealth(first.kept)
		return reason, status == health.OK
	})
	if n := values(first); n != 1 {
		t.Errorf("it has %d snapshots, not the one that was written to it", n)
	}
	if err := commit(first); err != nil {
		t.Errorf("a commit, when the name is free: %v", err)
	}
	if err := host(first); err != nil {
		t.Errorf("a program begins, when the name is free: %v", err)
	}
}
