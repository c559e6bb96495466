package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

type options struct {
	servers, clients, entities, rounds int
	data                               bool
	binary, dir                        string
	driver                             int // how many clients this process is
}

// clientsPerProcess is how many of the clients share a process, as nodes of a robot's
// software do.
const clientsPerProcess = 50

// process is one of the tree.
type process struct {
	what string
	cmd  *exec.Cmd
	out  *bufio.Reader
}

func (o *options) run(ctx context.Context) (err error) {
	if o.dir, err = os.MkdirTemp("", "fleet"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "engram")
		if out, err := exec.Command("go", "build", "-o", o.binary, "github.com/seed-301d4374/engram/cmd/engram").CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	var tree []*process
	defer func() { err = errors.Join(err, end(tree)) }()
	begin := time.Now()
	for i := range o.servers {
		p, err := o.server(i, port)
		if err != nil {
			return err
		}
		tree = append(tree, p)
		if i == 0 { // the others need its backbone
			if err := o.ready(ctx, 0); err != nil {
				return err
			}
		}
	}
	for i := range o.servers {
		if err := o.ready(ctx, i); err != nil {
			return err
		}
	}
	served := time.Since(begin)
	var drivers []*process
	for rest := o.clients; rest > 0; rest -= clientsPerProcess {
		p, err := o.driverProcess(len(drivers), min(rest, clientsPerProcess))
		if err != nil {
			return err
		}
		tree, drivers = append(tree, p), append(drivers, p)
	}
	for _, d := range drivers {
		if err := d.says("ready"); err != nil {
			return err
		}
	}
	started := time.Since(begin)
	fmt.Printf("%d servers ready after %v, %d clients connected and %d entities committed after %v\n",
		o.servers, served.Round(time.Millisecond), o.clients, o.entities, started.Round(time.Millisecond))
	report("once all is there", tree)
	for _, d := range drivers {
		if err := d.says("done"); err != nil {
			return err
		}
	}
	report(fmt.Sprintf("after %d commits of every entity", o.rounds), tree)
	ended := time.Now()
	err = end(tree)
	fmt.Printf("all ended after %v (%d processes, %d CPUs)\n", time.Since(ended).Round(time.Millisecond), len(tree), runtime.NumCPU())
	tree = nil
	return err
}

// server starts one server, which hosts a memory of its own.
func (o *options) server(i, port int) (*process, error) {
	args := []string{"serve", "--listen", "unix:" + o.socket(i), "--plain-memory", memory(i), "--name", fmt.Sprint("server", i), "--robot", "fleet", "--log-level", "warn"}
	if i == 0 {
		args = append(args, "--backbone", "embedded", "--backbone-listen", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	} else {
		args = append(args, "--backbone", fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	if o.data {
		args = append(args, "--data", filepath.Join(o.dir, "data"+strconv.Itoa(i)))
	}
	p := &process{what: fmt.Sprint("server ", i), cmd: exec.Command(o.binary, args...)}
	log, err := os.Create(filepath.Join(o.dir, fmt.Sprint("log", i)))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Stderr = log
	return p, p.cmd.Start()
}

// driverProcess starts this program as some of the clients.
func (o *options) driverProcess(number, clients int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{what: "clients", cmd: exec.Command(self, "-driver", strconv.Itoa(clients), "-dir", o.dir,
		"-servers", strconv.Itoa(o.servers), "-clients", strconv.Itoa(number*clientsPerProcess),
		"-entities", strconv.Itoa(o.entities/o.clients), "-rounds", strconv.Itoa(o.rounds))}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

func (o *options) socket(server int) string {
	return filepath.Join(o.dir, fmt.Sprintf("s%d.sock", server))
}

func memory(server int) string { return fmt.Sprintf("Memory%d", server) }

// ready waits until a server is registered and answers.
func (o *options) ready(ctx context.Context, server int) error {
	for {
		status, _, err := rpc.Get(ctx, "unix:"+o.socket(server), "/readyz", rpc.DialOptions{})
		if err == nil && status == 200 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// says waits for a line of the process.
func (p *process) says(want string) error {
	line, err := p.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		return fmt.Errorf("%s: said %q instead of %q: %w", p.what, line, want, errors.Join(err))
	}
	return nil
}

// end ends all processes, those that were started last first.
func end(tree []*process) error {
	var errs []error
	for _, p := range tree {
		if p.what == "clients" {
			errs = append(errs, p.cmd.Process.Kill())
			_ = p.cmd.Wait() // killed
		}
	}
	for _, p := range tree {
		if p.what != "clients" {
			errs = append(errs, p.cmd.Process.Signal(syscall.SIGTERM))
		}
	}
	for _, p := range tree {
		if p.what != "clients" {
			if err := p.cmd.Wait(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.what, err))
			}
		}
	}
	return errors.Join(errs...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
