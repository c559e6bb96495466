package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// server is a memory server as a process of its own.
type server struct {
	cmd    *exec.Cmd
	client *rpc.Client
	page   string // where browsers find it
	said   bytes.Buffer
}

// serve starts a server, which end ends.
func (o *options) serve(ctx context.Context, args ...string) (s *server, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s = &server{page: "http://" + address}
	s.cmd = exec.Command(o.binary, append([]string{"serve", "--listen", address, "--listen", "unix:" + filepath.Join(o.dir, "engram.sock")}, args...)...)
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		if s.client, err = rpc.Dial(ctx, "unix:"+filepath.Join(o.dir, "engram.sock"), rpc.DialOptions{}); err == nil {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("the server does not answer: %w\n%s", err, s.said.String()), s.end())
}

func (s *server) end() error {
	if s.client != nil {
		s.client.Close()
	}
	err := s.cmd.Process.Signal(os.Interrupt)
	return errors.Join(err, s.cmd.Wait())
}

// ticks is how many times a second Linux counts the CPU time of a process.
const ticks = 100

// cpu returns the CPU time that the server has taken.
func (s *server) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc has no CPU time: %s", b)
	}
	var sum time.Duration
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum, nil
}

// load returns the part of a core that the server takes in a time.
func (s *server) load(ctx context.Context, d time.Duration) (float64, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := s.cpu()
	return float64(after-before) / float64(time.Since(began)), err
}
