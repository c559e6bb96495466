package attack

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// guarded starts a server with credentials and rules, among which "guest" may read what is
// not hidden and write to GeneralPurpose/Open, and returns it with its owner's client.
func guarded(t *testing.T, dir string) (d deployment.Deployment, v *victim, owner *client.Client, policy string) {
	t.Helper()
	d, policy = deployment.New(t), filepath.Join(dir, "access.yaml")
	server := filepath.Join(dir, "server")
	deployment.Write(t, server, d.Server(t, "robot1"))
	err := access.WriteFile(policy, []byte(rules))
	if err == nil {
		v, err = run(built(t), dir, "--credentials", server, "--access", policy)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.end(syscall.SIGKILL) })
	if v.server == "" {
		t.Fatalf("the server did not start:\n%s", v.said)
	}
	if owner, err = client.Connect(t.Context(), client.Options{Address: v.unix()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close() })
	if err := owner.AddCoreSegment(t.Context(), engram.CoreSegment{ID: openTo.Truncate(engram.LevelCoreSegment), Durability: engram.Logged}); err != nil {
		t.Fatal(err)
	}
	return d, v, owner, policy
}

// openTo is an entity that the guest may read and write.
var openTo = engram.MustID("GeneralPurpose/Open/p/e")

// Who is on the way between a program and a server hears nothing of what they say, and
// changes nothing: what is altered is not believed. Who answers in the server's place, with
// whatever certificate it can have, is told nothing. Who comes to the port without a valid
// certificate of the deployment is answered nothing.
func TestManInTheMiddle(t *testing.T) {
	testkit.RealTime(t, "an attempt over an altered connection is over within a second, one over a whole one within a minute")
	chance := chance(t)
	d, v, owner, _ := guarded(t, folder(t))
	address := strings.TrimPrefix(v.server, "https://")
	guest := d.Program(t, "guest")

	flip := rand.New(rand.NewPCG(chance.Uint64(), 0))
	var heard atomic.Bool
	var altering atomic.Bool
	var mine = make(chan struct{}, 1) // of flip
	way := leadTo(t, address, chance, func(b []byte) {
		mine <- struct{}{}
		defer func() { <-mine }()
		if bytes.Contains(b, []byte(secret)) {
			heard.Store(true)
		}
		if altering.Load() && flip.IntN(10) == 0 {
			b[flip.IntN(len(b))] ^= 1 << flip.IntN(8)
		}
	})
	text := func(n int) string { return fmt.Sprint(secret, " ", n) }
	written, read := 0, 0
	attempt := func(patience time.Duration) error { // a length that was altered is waited for
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c, err := rpc.Dial(ctx, "https://"+way.address(), rpc.DialOptions{Credentials: guest})
		if err != nil {
			return err
		}
		defer c.Close()
		for range 10 {
			u, err := update(openTo, written, text(written))
			if err != nil {
				return err
			}
			written++
			results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
			if err == nil {
				err = engram.FirstError(results)
			}
			if err != nil {
				return err
			}
			s, err := c.Latest(ctx, openTo)
			if err != nil {
				return err
			}
			read++
			if got, err := idf.DecodeValue(s.Instances[0].Payload.Bytes); err != nil || got != text(int(s.Time)) {
				t.Errorf("the answer is %v, %v; at %d there is %q", got, err, s.Time, text(int(s.Time)))
			}
		}
		return nil
	}
	altering.Store(true)
	failures := 0
	for end := time.Now().Add(*lasting); failures == 0 || time.Now().Before(end); {
		if attempt(time.Second) != nil {
			failures++
		}
	}
	altering.Store(false)
	if err := attempt(time.Minute); err != nil || read == 0 {
		t.Errorf("over a way on which nothing is altered: %v, %d answers", err, read)
	}
	if heard.Load() {
		t.Error("what was said could be heard on the way")
	}
	result, err := owner.Query(t.Context(), engram.SelectID(openTo, engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	for s := range result.All() {
		if got, err := idf.DecodeValue(s.Instances[0].Payload.Bytes); err != nil || got != text(int(s.Time)) || int(s.Time) >= written {
			t.Errorf("at %d is %v, %v, which nobody committed", s.Time, got, err)
		}
	}
	t.Logf("%d commits, %d answers, %d connections failed", written, read, failures)

	others := deployment.New(t)
	for name, own := range map[string]*credentials.Store{
		"of another authority": others.Server(t, "robot1"), "a program's": d.Program(t, "robot1"), "expired": d.For(t, "robot1", true, -time.Minute),
	} {
		cert := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return own.ClientConfig().GetClientCertificate(nil)
		}
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: cert, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		false := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("a server whose certificate is %s was told %s", name, r.URL)
		})}
		go false.Serve(l)
		if c, err := rpc.Dial(t.Context(), "https://"+l.Addr().String(), rpc.DialOptions{Credentials: guest}); err == nil {
			c.Close()
			t.Errorf("a server whose certificate is %s is believed", name)
		}
		false.Close()
	}
	info := Request{Path: memory + "Info", Type: "application/json", Body: []byte("{}")}
	ask := func(own *credentials.Store) (int, error) {
		config := &tls.Config{InsecureSkipVerify: true}
		if own != nil {
			config.GetClientCertificate = own.ClientConfig().GetClientCertificate
		}
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		status, _, err := info.Send(t.Context(), &http.Client{Transport: transport}, v.server)
		return status, err
	}
	for name, own := range map[string]*credentials.Store{
		"no certificate": nil, "one of another authority": others.Program(t, "guest"), "an expired one": d.For(t, "guest", false, -time.Minute),
	} {
		if status, err := ask(own); err == nil {
			t.Errorf("who comes with %s is answered %d", name, status)
		}
	}
	if status, err := ask(guest); err != nil || status != http.StatusOK {
		t.Errorf("the guest is answered %d, %v: nothing was tried", status, err)
	}
}

// A program that is revoked while it reads gets nothing from then on, and is not let in any
// more; others go on.
func TestRevokedWhileItReads(t *testing.T) {
	d, v, owner, policy := guarded(t, folder(t))
	if err := access.WriteFile(policy, []byte(rules+"  - allow: [read, subscribe]\n    to: other\n    on: \"*\"\n")); err != nil {
		t.Fatal(err)
	}
	follow := func(id access.Identity) (*rpc.Client, engram.UpdateStream) {
		t.Helper()
		c, err := rpc.Dial(t.Context(), v.server, rpc.DialOptions{Credentials: d.Program(t, id)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		var s engram.UpdateStream
		testkit.Until(t, func() (string, bool) { // once the rules are read again
			s, err = c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(openTo.Truncate(engram.LevelCoreSegment))}, WithData: true})
			return fmt.Sprintf("%s may not subscribe: %v", id, err), err == nil
		})
		t.Cleanup(func() { s.Close() })
		return c, s
	}
	_, stays := follow("other")
	guest, cut := follow("guest")
	if err := commit(t.Context(), owner, openTo, 1, "before"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []engram.UpdateStream{stays, cut} {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := access.WriteFile(policy, []byte(rules+"  - allow: [read, subscribe]\n    to: other\n    on: \"*\"\nrevoked:\n  - identity: guest\n")); err != nil {
		t.Fatal(err)
	}
	if u, err := cut.Next(t.Context()); err == nil {
		t.Errorf("the revoked program is told %v", u)
	}
	if err := commit(t.Context(), owner, openTo, 2, "after"); err != nil {
		t.Fatal(err)
	}
	if _, err := guest.Latest(t.Context(), openTo); err == nil {
		t.Error("the revoked program reads on")
	}
	if c, err := rpc.Dial(t.Context(), v.server, rpc.DialOptions{Credentials: d.Program(t, "guest")}); err == nil {
		c.Close()
		t.Error("the revoked program is let in with another certificate")
	}
	if u, err := stays.Next(t.Context()); err != nil || len(u) != 1 || u[0].Snapshot == nil || u[0].Snapshot.Time != 2 {
		t.Errorf("another program is told %+v, %v", u, err)
	}
}

// Another user of the computer reads nothing of the data folder and of the credentials, and
// is not let in by a server's sockets, nor by its port without a certificate.
func TestAnotherUserOfTheComputer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := folder(t)
	_, v, owner, policy := guarded(t, dir)
	if err := commit(t.Context(), owner, openTo, 1, secret); err != nil {
		t.Fatal(err)
	}
	// Only what the server has made counts.
	for _, path := range []string{dir, filepath.Dir(v.socket), policy} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	asNobody(t, func() {
		if _, err := os.ReadFile(policy); err != nil {
			t.Errorf("nobody reads not even what everybody may: %v; nothing was tried", err)
		}
		for _, path := range []string{filepath.Join(dir, "data"), filepath.Join(dir, "data", "state.json"), filepath.Join(dir, "server")} {
			if f, err := os.Open(path); err == nil {
				f.Close()
				t.Errorf("another user opens %s", path)
			}
		}
		for _, path := range []string{v.socket, strings.TrimSuffix(v.socket, ".local")} {
			if c, err := net.Dial("unix", path); err == nil {
				c.Close()
				t.Errorf("another user is let in at %s", path)
			}
		}
	})
}
