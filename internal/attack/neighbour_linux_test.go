package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// group is a control group with a limit of main memory.
type group struct{ dir, used string }

// newGroup makes a control group of version 1 or 2, and skips the test where it may not.
func newGroup(t *testing.T, bytes int) group {
	t.Helper()
	for _, v := range [...]struct{ root, limit, used string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.current"},
	} {
		dir, err := os.MkdirTemp(v.root, "engram-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { // a process that has ended stays in it for a moment
			testkit.Until(t, func() (string, bool) {
				err := syscall.Rmdir(dir)
				return fmt.Sprintf("%s: %v", dir, err), err == nil
			})
		})
		if f, err := os.OpenFile(filepath.Join(dir, v.limit), os.O_WRONLY, 0); err == nil {
			_, err = f.WriteString(strconv.Itoa(bytes))
			if errors.Join(err, f.Close()) == nil {
				return group{dir, filepath.Join(dir, v.used)}
			}
		}
	}
	t.Skip("no control group with a limit of main memory can be made here; it needs root, and /sys/fs/cgroup to write to")
	return group{}
}

// usage returns how much of its main memory is used, but for file cache, which can be dropped.
func (g group) usage(t *testing.T) int {
	t.Helper()
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	n, err := strconv.Atoi(strings.TrimSpace(read(g.used)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(read(filepath.Join(g.dir, "memory.stat"))) {
		if name, bytes, _ := strings.Cut(strings.TrimSpace(line), " "); name == "inactive_file" || name == "active_file" {
			cache, err := strconv.Atoi(bytes)
			if err != nil {
				t.Fatal(err)
			}
			n -= cache
		}
	}
	return n
}

// inside returns a program that runs another one in the group.
func (g group) inside(t *testing.T, dir, program string) string {
	t.Helper()
	script := filepath.Join(dir, filepath.Base(program)+".sh")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs\nexec %s \"$@\"\n", g.dir, program)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// piece is what the neighbour takes at a time.
const piece = 8 << 20

// neighbour is a process of the group that takes memory.
type neighbour struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// neighbour starts one, which ends with the test.
func (g group) neighbour(t *testing.T, dir string) *neighbour {
	t.Helper()
	n := &neighbour{cmd: exec.Command(g.inside(t, dir, os.Args[0]), "-test.run=^TestNeighbour$", "-program", built(t))}
	n.cmd.Env = append(os.Environ(), fmt.Sprint("NEIGHBOUR=", piece))
	n.in, n.out = testkit.StartPiped(t, n.cmd)
	t.Cleanup(n.end)
	return n
}

// take has the neighbour take a piece more.
func (n *neighbour) take(t *testing.T) {
	t.Helper()
	if _, err := n.in.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(n.out, make([]byte, 1)); err != nil {
		t.Fatalf("the neighbour ended: %v", err)
	}
}

// end ends it, if it has not ended.
func (n *neighbour) end() {
	_ = n.in.Close()
	_ = n.cmd.Wait()
}

// filled is a server of the group with much in one segment.
type filled struct {
	*victim
	*client.Client
	core     engram.ID
	entities int
	rounds   engram.Time
}

// fill starts a server in the group, and fills it. If it is asked, it is for each state.
func (g group) fill(t *testing.T, dir string, entities int, rounds engram.Time, asked bool) *filled {
	t.Helper()
	f := &filled{started(t, g.inside(t, dir, built(t)), dir), nil, engram.MustID("GeneralPurpose/Neighbour"), entities, rounds}
	c, err := client.Connect(t.Context(), client.Options{Address: f.unix()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	f.Client = c
	if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: f.core}); err != nil {
		t.Fatal(err)
	}
	payload := strings.Repeat("x", 100_000)
	for at := range rounds {
		for e := range entities {
			testkit.Commit(t, c, testkit.Update(t, f.entity(e).String(), at+1, payload))
			if asked {
				f.newest(t, e, at+1)
			}
		}
	}
	return f
}

func (f *filled) entity(e int) engram.ID {
	return engram.MustID(fmt.Sprintf("%s/p/e%d", f.core, e))
}

// newest fails the test if the newest state of an entity is not the one of a time.
func (f *filled) newest(t *testing.T, e int, at engram.Time) {
	t.Helper()
	if s, err := f.Latest(t.Context(), f.entity(e)); err != nil || s.Time != at {
		t.Errorf("the newest state of %s: %v, %v", f.entity(e), s, err)
	}
}

// held returns how many snapshots the server has in RAM.
func (f *filled) held(t *testing.T) uint64 {
	t.Helper()
	st, err := f.Stats(t.Context(), engram.PatternOf(f.core), engram.LevelCoreSegment)
	if err != nil || len(st) != 1 {
		t.Fatal(st, err)
	}
	return st[0].Snapshots
}

// whole fails the test if the server has ended or lacks a newest state.
func (f *filled) whole(t *testing.T) {
	t.Helper()
	f.lives(t)
	for e := range f.entities {
		f.newest(t, e, f.rounds)
	}
}

// budget returns what the server says that its memory may take, takes at most, and takes.
func (f *filled) budget(t *testing.T) (bytes, bound, held float64) {
	t.Helper()
	f.lives(t)
	r, err := http.Get(f.server + "/metrics")
	if err != nil {
		t.Fatalf("%v\n%s", err, f.said)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	figure := func(name string) float64 {
		_, rest, _ := strings.Cut(string(text), fmt.Sprintf("\nengram_memory_%s_bytes{memory=%q} ", name, f.core.Truncate(engram.LevelMemory)))
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Fatalf("the server tells no %s of its memory: %v\n%s", name, err, text)
		}
		return n
	}
	return figure("budget"), figure("bound"), figure("held")
}

// A neighbour takes four fifths of the main memory, as fast as the server makes room: the
// server lives, has given its past, and has the newest state of everything.
func TestNeighbourTakesMemory(t *testing.T) {
	const limit, entities, rounds = 400 << 20, 40, 50
	g, dir := newGroup(t, limit), folder(t)
	f := g.fill(t, dir, entities, rounds, false)
	before := g.usage(t)
	n := g.neighbour(t, dir)
	for taken := 0; taken < limit/5*4; taken += piece {
		testkit.Until(t, func() (string, bool) {
			f.lives(t)
			n := g.usage(t)
			return fmt.Sprintf("%d of %d bytes are used when the neighbour has %d\n%s", n, limit, taken, f.said), n < limit-3*piece
		})
		n.take(t)
	}
	f.whole(t)
	if held := f.held(t); held >= entities*rounds {
		t.Errorf("of %d bytes the server gave nothing: it has %d snapshots", before, held)
	}
}

// Of two servers that hold the same, one is asked for it. While a neighbour takes memory piece
// by piece, both give, and the one that nobody asks gives more. Both have the newest state of
// everything, and room for what they had when the neighbour is gone.
func TestServersShareMemory(t *testing.T) {
	testkit.Long(t)
	const limit, entities, rounds = 800 << 20, 40, 30
	g, dir := newGroup(t, limit), folder(t)
	idle, asked := g.fill(t, folder(t), entities, rounds, false), g.fill(t, folder(t), entities, rounds, true)
	_, bound, had := idle.budget(t)
	if budget, _, held := asked.budget(t); budget != bound || held < 0.9*had || held > 1.1*had {
		t.Fatalf("%v bytes are held, and %v of a budget of %v where something is asked for", had, held, budget)
	}
	gave := func(f *filled) float64 {
		_, _, held := f.budget(t)
		return had - held
	}
	// On a busy computer one looks late now and then, and gives for the other one.
	shared := func() bool {
		little, much := gave(asked), gave(idle)
		return little > 0 && little+much >= had && much >= 1.15*little
	}
	n := g.neighbour(t, dir)
	for taken := 0; taken < limit/5*4 && !shared(); taken += piece {
		testkit.Until(t, func() (string, bool) { // they see each time that it is short, but nobody is in danger
			n := g.usage(t)
			return fmt.Sprintf("%d of %d bytes are used when the neighbour has %d\n%s%s", n, limit, taken, idle.said, asked.said), n < limit/10*9
		})
		n.take(t)
	}
	if !shared() {
		t.Errorf("of %v bytes each, the server that is asked gave %v, and the other one %v", had, gave(asked), gave(idle))
	}
	if idle, asked := idle.held(t), asked.held(t); asked <= idle {
		t.Errorf("the server that is asked has %d snapshots, and the other one %d", asked, idle)
	}
	t.Logf("of %v bytes each, the server that is asked gave %v, and the other one %v", had, gave(asked), gave(idle))
	n.end()
	for _, f := range []*filled{idle, asked} {
		f.whole(t)
		testkit.Until(t, func() (string, bool) {
			budget, _, _ := f.budget(t)
			return fmt.Sprintf("the budget is %v, of %v that were held\n%s", budget, had, f.said), budget >= had
		})
	}
}

// TestNeighbour is the neighbour: a process that takes a piece of memory for each byte that it
// is sent.
func TestNeighbour(t *testing.T) {
	piece, err := strconv.Atoi(os.Getenv("NEIGHBOUR"))
	if err != nil {
		t.Skip("it is the neighbour of TestNeighbourTakesMemory")
	}
	var taken [][]byte
	defer func() { runtime.KeepAlive(taken) }()
	for one := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(one); err != nil {
			return
		}
		taken = append(taken, bytes.Repeat([]byte{1}, piece))
		if _, err := os.Stdout.Write(one); err != nil {
			return
		}
	}
}
