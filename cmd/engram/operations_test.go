package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/ops/health"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// hostWith starts a host of some memories that serves until the test ends.
func hostWith(t *testing.T, change func(*settings)) *host {
	t.Helper()
	s := settings{addresses: []string{"unix:" + filepath.Join(t.TempDir(), "s")}}
	change(&s)
	h, err := startHost(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil && engram.CodeOf(err) != engram.Unavailable { // a test may take its backbone away
			t.Error(err)
		}
	})
	return h
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Two servers of a robot whose clocks differ by 10 s find out; the times of what is
// committed are not changed.
func TestClocksThatDifferAreFound(t *testing.T) {
	all := memories.All()
	address := freeAddress(t)
	first := hostWith(t, func(s *settings) {
		s.memories = all[:1]
		s.backbone.on, s.backbone.name, s.backbone.embedded.Listen = true, "first", address
	})
	second := hostWith(t, func(s *settings) {
		s.memories = all[1:2]
		s.backbone.on, s.backbone.name, s.backbone.url = true, "second", "nats://"+address
		s.now = func() engram.Time { return engram.Now().Add(10 * time.Second) }
	})
	for _, test := range []struct {
		at   *host
		of   string
		want time.Duration
	}{{first, "second", 10 * time.Second}, {second, "first", -10 * time.Second}} {
		test.at.ops.settings.clockEvery = time.Hour
		test.at.ops.watch(test.at)
		clocks := test.at.ops.clocks
		clocks.Round(t.Context())
		skews := clocks.Skews()
		if len(skews) != 1 || !strings.HasSuffix(skews[0].Server, test.of) {
			t.Fatalf("the clocks that are known are %+v", skews)
		}
		s := skews[0]
		if wrong := s.Offset - test.want; max(wrong, -wrong) > s.Uncertainty()+time.Millisecond || s.Uncertainty() > 5*time.Second {
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
	address := freeAddress(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	operators := l.Addr().String()
	l.Close()
	backboneOf := hostWith(t, func(s *settings) {
		s.memories = memories.All()[:1]
		s.backbone.on, s.backbone.name, s.backbone.embedded.Listen = true, "first", address
		s.operations.listen = operators
	})
	ready := func(want health.Status, check, reason string) {
		t.Helper()
		r, err := healthAt(t.Context(), "http://"+operators, rpc.DialOptions{})
		if err != nil {
			t.Fatal(err)
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
	if f := backboneOf.backbone.Conn(); f != nil {
		f.Close() // as if the backbone were away for good
	}
	ready(health.Degraded, "backbone", "works on alone")
	backboneOf.ops.drain()
	ready(health.Failed, "memories", "stopping")
	res, err := http.Get("http://" + operators + "/healthz")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a server that is not ready lives: %v %v", res, err)
	} else {
		res.Body.Close()
	}
}

// The service manager is told when the server is ready, not before.
func TestServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	h := hostWith(t, func(s *settings) { s.memories = memories.All()[:1] })
	told := make([]byte, 1024)
	l.SetReadDeadline(time.Unix(1, 0))
	if n, err := l.Read(told); err == nil {
		t.Fatalf("before the server is announced %q was told", told[:n])
	}
	cmd := newServe()
	cmd.SetContext(t.Context())
	cmd.SetErr(new(bytes.Buffer))
	h.announce(cmd)
	l.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := l.Read(told)
	if err != nil || !strings.HasPrefix(string(told[:n]), "READY=1\nSTATUS=1 memory ready at unix:") {
		t.Errorf("%q was told: %v", told[:n], err)
	}
}

// Neither secrets in attributes nor in errors reach the log, in either format.
func TestLogsHoldNoSecrets(t *testing.T) {
	const seed = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		log := logSettings{json: asJSON, level: slog.LevelInfo, to: &out}.logger()
		log.Debug("unseen")
		log.Info("connected", "url", "nats://robot:hunter2@10.0.0.1:4222", "plain", "nats://10.0.0.1:4222",
			"error", fmt.Errorf("dial: %w", errors.New("nats://t0ken@base:7422 refused; seed "+seed)),
			"key", "-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----\n")
		for _, secret := range []string{"hunter2", "t0ken", seed, "MIGHAgEA", "unseen"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("json %v: the log holds %q:\n%s", asJSON, secret, out.String())
			}
		}
		if !strings.Contains(out.String(), "nats://10.0.0.1:4222") || !strings.Contains(out.String(), "base:7422 refused") {
			t.Errorf("json %v: the log lacks what is no secret:\n%s", asJSON, out.String())
		}
		if asJSON {
			var record map[string]any
			if err := json.Unmarshal(out.Bytes(), &record); err != nil || record["msg"] != "connected" {
				t.Errorf("not a record: %v %v", err, record)
			}
		}
	}
}
