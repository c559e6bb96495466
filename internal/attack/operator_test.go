package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// Who runs the NATS cluster between servers, hears all that passes, and sends it again
// altered, reads nothing of what is in tunnels and changes nothing there: a copy that is
// pulled through it is what its owner has.
func TestOperatorOfTheCluster(t *testing.T) {
	testkit.RealTime(t, "copies that are altered on their way go on between two alterations")
	chance, d := chance(t), deployment.New(t)
	config, err := d.Server(t, "cluster").ServerConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	config.ClientAuth, config.VerifyConnection, config.NextProtos = tls.RequestClientCert, nil, nil
	cluster, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 8 << 20, TLSConfig: config, TLSTimeout: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Start()
	t.Cleanup(func() { cluster.Shutdown(); cluster.WaitForShutdown() })
	if !cluster.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server is not ready")
	}
	start := func(robot string, serving credentials.Serving, flags ...string) *victim {
		t.Helper()
		dir := folder(t)
		own := filepath.Join(dir, "credentials")
		deployment.Write(t, own, d.Serving(t, access.Identity(robot), serving))
		return started(t, built(t), dir, append(flags, "--robot", robot, "--name", robot, "--credentials", own, "--backbone", strings.Replace(cluster.ClientURL(), "nats://", "tls://", 1))...)
	}
	owner := start("robot1", credentials.Serving{Own: []string{"robot1:*"}}, "--memory", "GeneralPurpose")
	base := start("base", credentials.Serving{Own: []string{"base:*"}, Copies: []string{"*:*"}}, "--memory", "SystemState", "--copy", "robot1:GeneralPurpose")

	operator, err := nats.Connect("", nats.InProcessServer(cluster), nats.Secure(&tls.Config{InsecureSkipVerify: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	var mu sync.Mutex
	own := rand.New(rand.NewPCG(chance.Uint64(), 0))
	var heard, altered atomic.Int64
	_, err = operator.Subscribe("engram.>", func(m *nats.Msg) {
		if m.Header.Get(by) != "" || !strings.HasPrefix(m.Subject, "engram.tunnel.") {
			return
		}
		heard.Add(1)
		if strings.Contains(string(m.Data), "DamagedSynced") {
			t.Errorf("the operator reads %.200q on %s", m.Data, m.Subject)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(m.Data) == 0 || own.IntN(100) > 0 {
			return
		}
		m.Data[own.IntN(len(m.Data))] ^= 1 << own.IntN(8)
		if operator.PublishMsg(&nats.Msg{Subject: m.Subject, Reply: m.Reply, Data: m.Data}) == nil {
			altered.Add(1)
		}
	})
	if err == nil {
		err = operator.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Connect(t.Context(), client.Options{Address: owner.unix()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, id := range []engram.ID{logged, synced} {
		if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id, Durability: engram.Synced}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), *lasting)
	defer cancel()
	for n := 0; n < 20 || ctx.Err() == nil && n < 1<<16; n++ {
		if err := write(t.Context(), c, n, n+1); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Until(t, func() (string, bool) {
		want, err := copied(t.Context(), owner, synced, "GeneralPurpose", engram.SourceAny)
		var got map[string]string
		if err == nil {
			got, err = copied(t.Context(), base, synced, "robot1:GeneralPurpose", engram.SourceCopy)
		}
		return fmt.Sprintf("the copy has %d snapshots, its owner %d, %v; %d frames were heard\n%s", len(got), len(want), err, heard.Load(), tail(base.said.String())), err == nil && len(want) > 0 && maps.Equal(got, want)
	})
	if heard.Load() == 0 {
		t.Error("nothing went through a tunnel: nothing was tried")
	}
	t.Logf("%d frames were heard, %d altered", heard.Load(), altered.Load())
}
