package mission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/netlab"
)

// hosts are network namespaces with a server's process in each. A radio link joins each robot's
// host to the operator's.
type hosts struct {
	m        *Mission
	lab      *netlab.Lab
	program  string
	operator *netlab.Host
}

// portLeaf is where robots connect to the operator's backbone.
const portLeaf = 7422

func newHosts(m *Mission) (homes, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if m.config.Program != "" {
		program = m.config.Program
	}
	lab, err := netlab.New(filepath.Join(m.sockets, "hosts"))
	if err != nil {
		return nil, err
	}
	return &hosts{m: m, lab: lab, program: program}, nil
}

func (h *hosts) close() error { return h.lab.Close() }

func (h *hosts) settle(ctx context.Context, b *member) (home, error) {
	at, err := h.lab.Host(b.name)
	if err != nil {
		return nil, err
	}
	r := &remote{of: h.m.socket(b)}
	dir, err := h.m.folder(b)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--robot", b.name, "--name", b.name, "--listen", r.of, "--data", dir, "--backbone", "embedded"}
	if b.robot {
		if r.radio, err = h.lab.Radio(h.operator, at); err != nil {
			return nil, err
		}
		args = append(args, "--leaf-of", fmt.Sprintf("nats-leaf://%s:%d", h.operator.Address, portLeaf))
	} else {
		h.operator = at
		args = append(args, "--leaf-listen", fmt.Sprintf("0.0.0.0:%d", portLeaf))
	}
	for _, name := range taken {
		args = append(args, "--memory", name)
	}
	for _, text := range copied(!b.robot) {
		args = append(args, "--copy", text)
	}
	return r, r.start(ctx, at, h.program, args, filepath.Join(h.m.config.Dir, b.name+".log"))
}

// remote is a server that is a process on a host of its own.
type remote struct {
	of    string        // where it listens
	radio *netlab.Radio // to the operator; nil of the operator
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// start starts the server, and waits until it answers. What it prints is in a file.
func (r *remote) start(ctx context.Context, at *netlab.Host, program string, args []string, file string) error {
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	r.cmd = at.Command(context.WithoutCancel(ctx), program, args...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is the mission's, which ends it in good order
	if err := r.cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	r.ended = make(chan struct{})
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // killed, maybe; what was wrong is in the file
		log.Close()
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c, err := client.Connect(ctx, client.Options{Address: r.of})
		if err == nil {
			return c.Close()
		}
		select {
		case <-r.ended:
			text, _ := os.ReadFile(file)
			return engram.Errorf(engram.Unavailable, at.Name, "the server ended: %s", strings.TrimSpace(string(text)))
		case <-ctx.Done():
			return engram.Errorf(engram.Unavailable, at.Name, "the server does not answer, see %s: %w", file, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *remote) address() string        { return r.of }
func (r *remote) server() engram.Service { return nil }
func (r *remote) cut(lost bool)          { r.radio.Set(netlab.Condition{Cut: lost}) }

func (r *remote) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

func (r *remote) close() error {
	if r.ended == nil {
		return nil
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have been killed
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.kill()
	}
	return nil
}
