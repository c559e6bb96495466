package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/node"
)

// The service manager is told when the server is ready, not before.
func TestServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	n, err := node.New(t.Context(), node.Config{Memories: memories.All()[:1], Listen: []string{"unix:" + filepath.Join(t.TempDir(), "s")}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	told := make([]byte, 1024)
	l.SetReadDeadline(time.Unix(1, 0))
	if n, err := l.Read(told); err == nil {
		t.Fatalf("before the server is announced %q was told", told[:n])
	}
	cmd := newServe()
	cmd.SetContext(t.Context())
	cmd.SetErr(new(bytes.Buffer))
	announce(cmd, n, settings{})
	l.SetReadDeadline(time.Now().Add(10 * time.Second))
	size, err := l.Read(told)
	if err != nil || !strings.HasPrefix(string(told[:size]), "READY=1\nSTATUS=1 memory ready at unix:") {
		t.Errorf("%q was told: %v", told[:size], err)
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
