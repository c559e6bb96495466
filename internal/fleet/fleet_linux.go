package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/netlab"
)

// The ports that servers listen on.
const (
	portHTTP     = 7411
	portBackbone = 4222
	portLeaf     = 7422
)

// Fleet is two robots with two computers each, and a base station. The robots' first
// computers have the radio links, and hand on what is for the second ones.
type Fleet struct {
	Lab    *netlab.Lab
	Base   *Server
	Robots [2]*Robot
}

// Robot is a robot of a fleet. Its first computer embeds the robot's backbone.
type Robot struct {
	Name          string
	First, Second *Server
	Radio         *netlab.Radio // between the base station and the first computer
}

// New lays out a fleet whose files lie in dir; binary is the engram program. No
// server is started.
func New(dir, binary string) (_ *Fleet, err error) {
	f := &Fleet{}
	if f.Lab, err = netlab.New(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	base, err := f.Lab.Host("base")
	if err != nil {
		return nil, err
	}
	f.Base = NewServer(base, binary, "--robot", "base", "--backbone", "embedded",
		"--leaf-listen", fmt.Sprintf("0.0.0.0:%d", portLeaf))
	for i := range f.Robots {
		r := &Robot{Name: fmt.Sprintf("robot%d", i+1)}
		f.Robots[i] = r
		first, err := f.Lab.Host(fmt.Sprintf("r%da", i+1))
		if err != nil {
			return nil, err
		}
		second, err := f.Lab.Host(fmt.Sprintf("r%db", i+1))
		if err != nil {
			return nil, err
		}
		if r.Radio, err = f.Lab.Radio(base, first); err != nil {
			return nil, err
		}
		if err := errors.Join(f.Lab.Wire(first, second), base.Route(second, first), second.Route(base, first)); err != nil {
			return nil, err
		}
		r.First = NewServer(first, binary, "--robot", r.Name, "--backbone", "embedded",
			"--backbone-listen", fmt.Sprintf("0.0.0.0:%d", portBackbone),
			"--leaf-of", fmt.Sprintf("nats-leaf://%s:%d", base.Address, portLeaf),
			"--memory", "GeneralPurpose", "--memory", "Object", "--memory", "SystemState")
		r.Second = NewServer(second, binary, "--robot", r.Name, "--backbone", fmt.Sprintf("nats://%s:%d", first.Address, portBackbone),
			"--memory", "Vision", "--memory", "Speech")
	}
	return f, nil
}

// Servers returns all servers, in an order in which they can be started.
func (f *Fleet) Servers() []*Server {
	all := []*Server{f.Base}
	for _, r := range f.Robots {
		if r != nil {
			all = append(all, r.First, r.Second)
		}
	}
	return all
}

// Close kills what still runs and removes the hosts.
func (f *Fleet) Close() error {
	if f.Base != nil {
		for _, s := range f.Servers() {
			if s != nil {
				s.Kill()
			}
		}
	}
	return f.Lab.Close()
}

// NewServer returns a server of its own on a host.
func NewServer(host *netlab.Host, binary string, args ...string) *Server {
	return &Server{Host: host, binary: binary, Args: args}
}

// Server is an engram serve on a host.
type Server struct {
	Host *netlab.Host
	Args []string // of engram serve, beside where it listens and its data folder

	binary string
	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has
}

// startTimeout bounds how long a server may take until it answers.
const startTimeout = 2 * time.Minute

// Start starts the server's process and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	args := append([]string{
		"serve", "--listen", "unix:" + netlab.Run + "/engram.sock", "--listen", fmt.Sprintf("0.0.0.0:%d", portHTTP),
		"--data", netlab.Run + "/data", "--name", s.Host.Name,
	}, s.Args...)
	cmd := s.Host.Command(context.WithoutCancel(ctx), s.binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed, as often as not; what was wrong is in the log
		log.Close()
	}()
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		c, err := s.Client(ctx)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("the server on %s ended: %s", s.Host.Name, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("the server on %s does not answer: %w: %s", s.Host.Name, err, s.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Log returns the file with what the server printed.
func (s *Server) Log() string { return filepath.Join(s.Host.Dir, "log") }

// tail returns the end of what the server printed.
func (s *Server) tail() string {
	text, _ := os.ReadFile(s.Log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the server with SIGTERM, and returns how long it took.
func (s *Server) Stop() time.Duration {
	began := time.Now()
	s.end(syscall.SIGTERM)
	return time.Since(began)
}

// Hang has the server stand still, with all its connections, until it is woken.
func (s *Server) Hang() error { return s.signal(syscall.SIGSTOP) }

// Wake has a server go on that hangs.
func (s *Server) Wake() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return fmt.Errorf("the server on %s does not run", s.Host.Name)
	}
	return s.cmd.Process.Signal(signal)
}

func (s *Server) end(signal syscall.Signal) {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.cmd = nil
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(signal) // it may have ended by itself
	<-ended
}

// Socket returns the address of the server for programs outside of its host.
func (s *Server) Socket() string { return "unix:" + filepath.Join(s.Host.Dir, "engram.sock") }

// Client connects to the server as a program on its host does.
func (s *Server) Client(ctx context.Context) (*client.Client, error) {
	return client.Connect(ctx, client.Options{Address: s.Socket()})
}

// Engram runs another engram command on the server's host, and returns what it
// printed.
func (s *Server) Engram(ctx context.Context, args ...string) (string, error) {
	args = append(args, "--address", "unix:"+netlab.Run+"/engram.sock")
	cmd := s.Host.Command(ctx, s.binary, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("engram %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), err
}

// Build builds the engram program into dir.
func Build(dir string, out io.Writer) (binary string, err error) {
	binary = filepath.Join(dir, "engram")
	cmd := exec.Command("go", "build", "-o", binary, "github.com/seed-301d4374/engram/cmd/engram")
	cmd.Stdout, cmd.Stderr = out, out
	return binary, cmd.Run()
}
