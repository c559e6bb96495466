package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/local"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// The command is started again for the other processes, with one of these and a
// folder as its arguments.
const (
	roleMemory   = "memory"
	roleConsumer = "consumer"
)

// role runs what the arguments ask for, if that is one of the other processes.
func role(args []string) (is bool, err error) {
	if len(args) < 2 {
		return false, nil
	}
	// A process ends when the one that started it does, or closes its input.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var run func() error
	switch args[0] {
	case roleMemory:
		run = func() error { return serveMemory(ctx, args[1], args[2:]) }
	case roleConsumer:
		run = func() error { return serveConsumer(ctx, args[1]) }
	default:
		return false, nil
	}
	go endWithInput(cancel)
	stop, err := startProfile(args[0])
	if err != nil {
		return true, err
	}
	return true, errors.Join(run(), stop())
}

// profileVariable holds the folder for CPU profiles, for all processes; if it is
// empty, none are taken.
const profileVariable = "ENGRAM_TRANSFER_PROFILE"

// startProfile takes a CPU profile of this process, if that is wanted.
func startProfile(name string) (stop func() error, err error) {
	dir := os.Getenv(profileVariable)
	if dir == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func endWithInput(cancel func()) {
	io.Copy(io.Discard, os.Stdin)
	cancel()
}

// process is one of the other processes.
type process struct {
	cmd   *exec.Cmd
	input io.Closer
	ready map[string]string // what it said when it was ready
}

// startProcess starts this binary in a role and waits until it is ready.
func startProcess(args ...string) (*process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(binary, args...)}
	p.cmd.Stderr = os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.ready)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("the %s does not start: %w", args[0], err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) stop() error {
	p.input.Close()
	return p.cmd.Wait()
}

// sayReady tells the process that started this one.
func sayReady(facts map[string]string) error {
	return json.NewEncoder(os.Stdout).Encode(facts)
}

// The transports, by the names they have in the results.
const (
	overLocal = "local" // edge/transport/local
	overUnix  = "unix"  // edge/transport/rpc over a Unix socket
	overTCP   = "tcp"   // edge/transport/rpc over TCP on the loopback interface
)

var transports = []string{overLocal, overUnix, overTCP}

// service is a memory server's client.
type service interface {
	engram.Service
	Close() error
}

func connect(ctx context.Context, transport, address string) (service, error) {
	if transport == overLocal {
		return local.Dial(ctx, address, local.DialOptions{})
	}
	return rpc.Dial(ctx, address, rpc.DialOptions{})
}
