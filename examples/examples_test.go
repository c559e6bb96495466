// Package examples_test runs the programs in this folder for real.
package examples_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// engramServer serves the memory GeneralPurpose and a name system, and returns the
// first of its addresses.
func engramServer(t *testing.T, listen ...string) string {
	t.Helper()
	return serverOf(t, []server.Memory{{Name: "GeneralPurpose"}}, listen...)
}

// serverOf is [engramServer] with other memories.
func serverOf(t *testing.T, memories []server.Memory, listen ...string) string {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := server.New(server.Config{Memories: memories, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	var listeners []net.Listener
	var addresses []string
	for _, address := range listen {
		l, err := rpc.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		addresses = append(addresses, rpc.AddressOf(l))
	}
	names := mns.NewLocal()
	kept, err := mns.Keep(t.Context(), names, mns.Registration{Server: "test", Memories: s.Memories(), Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- rpc.Serve(ctx, rpc.NewHandler(s, names, rpc.Options{Server: "test", Log: quiet, Grace: time.Second}), listeners...)
	}()
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
		names.Close()
	})
	return addresses[0]
}

func build(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), program)
	if out, err := exec.Command("go", "build", "-o", binary, "./"+program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// run runs a program to its end and returns what it printed.
func run(t *testing.T, address string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), client.AddressVariable+"="+address)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

func wantLines(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("printed\n%s\nwithout %q", out, w)
		}
	}
}

func TestQuickstart(t *testing.T) {
	address := engramServer(t, "unix:"+filepath.Join(t.TempDir(), "s"))
	out := run(t, address, build(t, "quickstart"))
	wantLines(t, out, "committed GeneralPurpose/Seen/quickstart/blue-cup/", "where:table", "told of GeneralPurpose/Seen/quickstart/blue-cup/")
}

func TestHooks(t *testing.T) {
	out := run(t, "", build(t, "hooks"))
	wantLines(t, out, "Start:", "Commit refused: Counters/Visits/sensor/door: -3 visitors", "Query: Counters/Uptime/clock/this-program",
		"Predict: 2 visitors", "Stored: 4 snapshots", "Run: the memory is closed")
}

// A program outside this module's packages hosts a memory that others find by name.
func TestWeather(t *testing.T) {
	address := engramServer(t, "unix:"+filepath.Join(t.TempDir(), "s"))
	cmd := exec.Command(build(t, "weather"))
	cmd.Env = append(os.Environ(), client.AddressVariable+"="+address)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	defer cmd.Process.Kill()

	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	m, err := client.Connect(ctx, client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Names().Wait(ctx, "Weather"); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	def, err := m.Type(ctx, "weather.Reading")
	if err != nil {
		t.Fatal(err)
	}
	reading, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	station := engram.MustID("Weather/Station/roof/mast")
	measured := func(at engram.Time, celsius float64) engram.EntityUpdate {
		b, err := reading.Encode(map[string]any{"temperature_celsius": celsius, "humidity": 0.4})
		if err != nil {
			t.Fatal(err)
		}
		return engram.EntityUpdate{Entity: station, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: def.Name, Bytes: b})}}
	}
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{measured(1, 21.5), measured(2, 400)}})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Err != nil || engram.CodeOf(results[1].Err) != engram.OutOfRange {
		t.Errorf("a good reading: %v; one of 400 °C: %v", results[0].Err, results[1].Err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-exited; err != nil {
		t.Errorf("the program ended with %v\n%s", err, log.String())
	}
	if _, err := m.Names().Resolve(ctx, "Weather"); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("after the program's end its memory is still registered: %v", err)
	}
}

// The Python client runs with each compiler for .proto files, and says what to do with none.
func TestPython(t *testing.T) {
	python, err := pythonWithGRPC()
	if err != nil {
		t.Skip(err)
	}
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(engramServer(t, "127.0.0.1:0"), "http://")
	want := []string{"memories: GeneralPurpose", "committed: GeneralPurpose/FromPython/client.py/counter/",
		"told of: [1, 2, 3]", "latest: 3 of type engram.idf.v1.Value", "an error: NOT_FOUND - "}
	for name, tools := range map[string]string{
		"the tools here": "", // Debian 12's grpc_tools fails
		"no grpc_tools":  "raise ImportError()",
		"grpc_tools":     fmt.Sprintf("import os, sys; os.execv(%q, ['protoc'] + sys.argv[1:])", protoc),
	} {
		t.Run(name, func(t *testing.T) {
			if tools != "" {
				t.Setenv("PYTHONPATH", grpcTools(t, tools))
			}
			if name == "grpc_tools" {
				t.Setenv("PATH", t.TempDir())
			}
			wantLines(t, run(t, "", python, "python/client.py", address), want...)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		cmd := exec.Command(python, "python/client.py", address)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+grpcTools(t, "import sys; sys.exit('too old')"), "PATH="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "install grpcio-tools or protoc") || !strings.Contains(string(out), "too old") {
			t.Errorf("without a compiler: %v\n%s", err, out)
		}
	})
}

// grpcTools returns a folder of Python modules with a grpc_tools whose compiler is a program.
func grpcTools(t *testing.T, program string) string {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "grpc_tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"__init__.py": "", "protoc.py": program + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, "grpc_tools", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pythonWithGRPC returns an interpreter that has what the Python client needs.
func pythonWithGRPC() (string, error) {
	if exec.Command("protoc", "--version").Run() != nil {
		return "", errors.New("no Python client here: protoc is not installed (Debian: protobuf-compiler)")
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(python)
		if err == nil && exec.Command(path, "-c", "import grpc, google.protobuf").Run() == nil {
			return path, nil
		}
	}
	return "", errors.New("no Python client here: no python3 imports grpc and google.protobuf (Debian: python3-grpcio, python3-protobuf)")
}
