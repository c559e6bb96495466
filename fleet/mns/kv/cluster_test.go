package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
)

// In a cluster of three the names outlive the server that leads their bucket: what was
// registered is there at once, can be renewed through the others, and new names can be
// registered. That holds for a bucket that was made without replicas, too.
func TestNamesOutliveAServerOfTheCluster(t *testing.T) {
	testkit.Long(t) // it waits for a cluster to find leaders
	var addresses, routes []string
	for range 3 {
		address := testkit.FreeAddress(t)
		addresses, routes = append(addresses, address), append(routes, "nats://"+address)
	}
	type node struct {
		fabric *embedded.Server
		b      *backbone.Backbone
		names  *kv.Registry
	}
	start := func(i int) node {
		t.Helper()
		s := fabrics.Start(t, embedded.Options{Robot: "robot1", Listen: "127.0.0.1:0", Cluster: addresses[i], Routes: routes, Dir: t.TempDir()})
		n := node{fabric: s}
		b, err := backbone.Connect(t.Context(), backbone.Options{InProcess: s, Robot: "robot1", Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() }) // its server may be gone
		n.b = b
		return n
	}
	join := func(n *node) {
		t.Helper()
		testkit.Until(t, func() (string, bool) { // until the cluster has a leader
			var err error
			n.names, err = kv.Open(t.Context(), n.b.JetStream(), kv.Options{TTL: long})
			return fmt.Sprint(err), err == nil
		})
		stop, err := n.names.Provide(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	cluster := []node{start(0), start(1), start(2)}
	testkit.Until(t, func() (string, bool) { // an earlier release made the bucket
		_, err := cluster[0].b.JetStream().CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "engram-names", TTL: long, LimitMarkerTTL: long, Storage: jetstream.MemoryStorage})
		return fmt.Sprint(err), err == nil
	})
	join(&cluster[0])
	var lease mns.Lease
	testkit.Until(t, func() (string, bool) { // the bucket moves
		var err error
		lease, err = cluster[0].names.Register(t.Context(), registration("a", "Vision"))
		return fmt.Sprint(err), err == nil
	})
	join(&cluster[1])
	join(&cluster[2])

	leader := ""
	testkit.Until(t, func() (string, bool) {
		s, err := cluster[0].b.JetStream().Stream(t.Context(), "KV_engram-names")
		if err != nil {
			return err.Error(), false
		}
		if c := s.CachedInfo().Cluster; c != nil {
			leader = c.Leader
			current := 0
			for _, r := range c.Replicas {
				if r.Current {
					current++
				}
			}
			return fmt.Sprintf("%+v", c), leader != "" && current == 2
		}
		return "no cluster", false
	})
	var left []node
	for i, n := range cluster {
		if strings.HasSuffix(leader, port(addresses[i])) {
			if err := n.fabric.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			left = append(left, n)
		}
	}
	if len(left) != 2 {
		t.Fatalf("%d servers are left without the leader %s", len(left), leader)
	}
	for _, n := range left {
		testkit.Until(t, func() (string, bool) {
			entries, err := n.names.List(t.Context())
			return fmt.Sprint(entries, err), err == nil && len(entries) == 1 && entries[0].Server == "a"
		})
	}
	testkit.Until(t, func() (string, bool) {
		_, err := left[1].names.Register(t.Context(), registration("b", "Object"))
		return fmt.Sprint(err), err == nil
	})
	until(t, left[0].names, "Object@b Vision@a")
	if left[0].names == cluster[0].names || left[1].names == cluster[0].names {
		testkit.Until(t, func() (string, bool) {
			err := cluster[0].names.Renew(t.Context(), lease.ID)
			return fmt.Sprint(err), err == nil
		})
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
