package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram/client"
)

// program is a real `engram serve` with what it takes.
type program struct {
	*client.Client
	cmd      *exec.Cmd
	log      *os.File
	watching sync.WaitGroup
	stop     context.CancelFunc
	peak     int64 // bytes of it and its children at once; read after watch has ended
}

// engramIn builds the engram program into a folder, unless it is there.
func engramIn(dir string) (string, error) {
	path := filepath.Join(dir, "engram")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if out, err := exec.Command("go", "build", "-o", path, "./cmd/engram").CombinedOutput(); err != nil {
		return "", fmt.Errorf("engram cannot be built; run this in the module's folder: %w\n%s", err, out)
	}
	return path, nil
}

// startProgram starts a server; without a folder for data it keeps nothing on disk.
func startProgram(ctx context.Context, c config, name, data string) (p *program, err error) {
	binary, err := engramIn(c.dir)
	if err != nil {
		return nil, err
	}
	address := "unix:" + filepath.Join(c.dir, name+".sock")
	args := []string{"serve", "--listen", address, "--monitor", "0"}
	if data != "" {
		args = append(args, "--data", data)
	}
	p = &program{cmd: exec.Command(binary, args...)}
	if p.log, err = os.Create(filepath.Join(c.dir, name+".log")); err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if p.Client, err = client.Connect(ctx, client.Options{Address: address}); err == nil {
			break
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("the server does not answer: %w; it said:\n%s", err, p.said()), p.end())
		}
	}
	watching, stop := context.WithCancel(ctx)
	p.stop = stop
	p.watching.Go(func() { p.watch(watching) })
	return p, nil
}

// said returns what the server has logged.
func (p *program) said() string {
	b, _ := os.ReadFile(p.log.Name())
	return string(b)
}

// watch follows how much memory the processes take.
func (p *program) watch(ctx context.Context) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		p.peak = max(p.peak, p.memory())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// memory returns the resident bytes of the server, and of its children what is not
// shared between them.
func (p *program) memory() (sum int64) {
	pid := p.cmd.Process.Pid
	sum = fieldOf(pid, "status", "VmRSS:")
	for _, child := range childrenOf(pid) {
		sum += fieldOf(child, "smaps_rollup", "Pss:")
	}
	return sum
}

// fieldOf returns a field of a file in /proc, in bytes; 0 if the process is gone.
func fieldOf(pid int, file, field string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			number, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, _ := strconv.ParseInt(number, 10, 64)
			if unit == "kB" {
				n <<= 10
			}
			return n
		}
	}
	return 0
}

// written returns the bytes that the server has had written to the disk.
func (p *program) written() int64 { return fieldOf(p.cmd.Process.Pid, "io", "write_bytes:") }

// cpu returns the processor time of the server and its children, those that have
// ended included.
func (p *program) cpu() time.Duration {
	pid := p.cmd.Process.Pid
	s := statOf(pid)
	sum := s.own + s.ended
	for _, child := range childrenOf(pid) {
		c := statOf(child)
		sum += c.own + c.ended
	}
	return sum
}

// stat is what /proc tells of a process.
type stat struct {
	parent     int
	own, ended time.Duration // processor time, and that of children it has waited for
}

func statOf(pid int) (s stat) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s
	}
	// The name in parentheses may hold anything.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 15 {
		return s
	}
	const ticksPerSecond = 100 // of /proc, on every architecture of Linux
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		return time.Duration(n) * time.Second / ticksPerSecond
	}
	s.parent, _ = strconv.Atoi(fields[1])
	s.own, s.ended = ticks(11)+ticks(12), ticks(13)+ticks(14)
	return s
}

func childrenOf(parent int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && statOf(pid).parent == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end ends the server as ^C does, and waits for it.
func (p *program) end() error {
	if p.stop != nil {
		p.stop()
		p.watching.Wait()
	}
	var err error
	if p.Client != nil {
		err = p.Client.Close()
	}
	err = errors.Join(err, p.cmd.Process.Signal(os.Interrupt))
	if e := p.cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("the server: %w; it said:\n%s", e, p.said()))
	}
	return errors.Join(err, p.log.Close())
}
