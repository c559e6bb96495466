package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// served starts a node that serves until the test ends, on a socket of its own if it is told
// of no address.
func served(t *testing.T, c Config) *Node {
	t.Helper()
	if len(c.Listen) == 0 {
		c.Listen = []string{"unix:" + filepath.Join(t.TempDir(), "s")}
	}
	n, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	n.within = testkit.Patience // a busy machine may take longer than [EndWithin]
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && engram.CodeOf(err) != engram.Unavailable { // a test may take its backbone away
			t.Error(err)
		}
	})
	return n
}

// Two servers of a robot whose clocks differ by 10 s find out; the times of what is
// committed are not changed.
func TestClocksThatDifferAreFound(t *testing.T) {
	all := memories.All()
	address := testkit.FreeAddress(t)
	first := served(t, Config{Memories: all[:1], Name: "first", Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	second := served(t, Config{Memories: all[1:2], Name: "second", Backbone: &Backbone{URL: "nats://" + address},
		Now: func() engram.Time { return engram.Now().Add(10 * time.Second) }})
	for _, test := range []struct {
		at   *Node
		of   string
		want time.Duration
	}{{first, "second", 10 * time.Second}, {second, "first", -10 * time.Second}} {
		test.at.ops.settings.ClockEvery = time.Hour
		test.at.ops.watch(test.at)
		clocks := test.at.ops.clocks
		var skews []clock.Skew
		testkit.Until(t, func() (string, bool) { // until one is measured fast enough to tell
			clocks.Round(t.Context())
			if skews = clocks.Skews(); len(skews) != 1 || !strings.HasSuffix(skews[0].Server, test.of) {
				t.Fatalf("the clocks that are known are %+v", skews)
			}
			return fmt.Sprintf("%+v", skews), skews[0].Uncertainty() <= 5*time.Second
		})
		s := skews[0]
		if wrong := s.Offset - test.want; max(wrong, -wrong) > s.Uncertainty()+time.Millisecond {
			t.Errorf("the clock of %s is off by %v ± %v (%s), want %v", s.Server, s.Offset, s.Uncertainty(), s.Error, test.want)
		}
		_, body, err := rpc.Get(t.Context(), test.at.addresses[0], "/metrics", rpc.DialOptions{})
		if err != nil || !strings.Contains(string(body), "engram_clock_skew_seconds{peer=") {
			t.Errorf("the metrics do not tell of the clock: %v", err)
		}
	}
}

// Why a server is not ready, or works in part, is said, and it is ready again when that
// is over.
func TestReadinessSaysWhy(t *testing.T) {
	address := testkit.FreeAddress(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	operators := l.Addr().String()
	l.Close()
	n := served(t, Config{Memories: memories.All()[:1], Name: "first", Operations: Operations{Listen: operators},
		Backbone: &Backbone{Embedded: embedded.Options{Listen: address}}})
	ready := func(want health.Status, check, reason string) {
		t.Helper()
		_, body, err := rpc.Get(t.Context(), "http://"+operators, "/readyz", rpc.DialOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var r health.Report
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if r.Status != want {
			t.Errorf("the server is %s, want %s: %+v", r.Status, want, r.Checks)
		}
		for _, c := range r.Checks {
			if c.Check == check && !strings.Contains(c.Reason, reason) {
				t.Errorf("%s says %q, want %q", check, c.Reason, reason)
			}
		}
	}
	ready(health.OK, "", "")
	if f := n.backbone.Conn(); f != nil {
		f.Close() // as if the backbone were away for good
	}
	ready(health.Degraded, "backbone", "works on alone")
	n.ops.drain()
	ready(health.Failed, "memories", "stopping")
	res, err := http.Get("http://" + operators + "/healthz")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a server that is not ready lives: %v %v", res, err)
	} else {
		res.Body.Close()
	}
}

// Every port that speaks HTTP looks at which page calls, and by which name.
func TestEveryPortLooksAtWebPages(t *testing.T) {
	operators := testkit.FreeAddress(t)
	n := served(t, Config{Memories: memories.All()[:1], Listen: []string{"127.0.0.1:0"}, Operations: Operations{Listen: operators},
		Security: Security{Web: secure.Web{Origins: []string{"https://studio.example"}}}})
	defer http.DefaultClient.CloseIdleConnections()
	info := n.addresses[len(n.addresses)-1] + "/engram.v1.MemoryService/Info?encoding=json&message={}"
	for _, target := range []string{info, n.addresses[len(n.addresses)-1] + "/metrics", "http://" + operators + "/metrics", "http://" + operators + "/healthz"} {
		for _, tt := range []struct {
			host, origin string
			status       int
		}{
			{"", "", http.StatusOK},
			{"", "https://studio.example", http.StatusOK},
			{"", "https://evil.example", http.StatusForbidden},
			{"evil.example:7411", "", http.StatusForbidden},
			{"evil.example:7411", "http://evil.example:7411", http.StatusForbidden},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != tt.status {
				t.Errorf("%s, host %q, a page of %q: %d; want %d", target, tt.host, tt.origin, res.StatusCode, tt.status)
			}
		}
	}
}

// A server that something keeps from ending gives up, and says that something may be
// lost; what was acknowledged as synced is there when it is started again.
func TestServerThatCannotEnd(t *testing.T) {
	dir := t.TempDir()
	release := make(chan struct{})
	memory := server.Memory{Name: "Stuck", Segments: []engram.CoreSegment{{ID: engram.MustID("Stuck/Kept"), Durability: engram.Synced}}}
	start := func(m server.Memory) *Node {
		n, err := New(t.Context(), Config{
			Listen: []string{"unix:" + filepath.Join(t.TempDir(), "s")}, Memories: []server.Memory{m}, Data: &ltm.Options{Dir: dir},
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	stuck := memory
	stuck.Hooks.Run = func(context.Context, engram.Service) error {
		<-release
		return nil
	}
	n := start(stuck)
	n.within = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	c, err := rpc.Dial(t.Context(), n.addresses[0], rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cup := engram.MustID("Stuck/Kept/p/cup")
	r, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: cup, Time: 1,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}}})
	if err := errors.Join(err, engram.FirstError(r), c.Close()); err != nil {
		t.Fatal(err)
	}
	stop()
	err = <-ended
	if _, ok := errors.AsType[*LossError](err); !ok || !strings.Contains(err.Error(), "could not end in good order within 50ms") ||
		!strings.Contains(err.Error(), "updates of volatile segments may not be recorded") {
		t.Errorf("the end: %v", err)
	}
	close(release)
	if err := n.srv.Close(); err != nil { // another process would find the data given up
		t.Fatal(err)
	}

	again := start(memory)
	defer again.Close()
	if _, err := again.srv.Latest(t.Context(), cup); err != nil {
		t.Errorf("what was synced: %v", err)
	}
}
