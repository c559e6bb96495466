package pressure_test

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ops/pressure"
	"github.com/seed-301d4374/engram/wm"
)

func files(of map[string]string) fstest.MapFS {
	f := fstest.MapFS{}
	for name, text := range of {
		f[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return f
}

const memInfo = "MemTotal:        1000 kB\nMemFree:          10 kB\nMemAvailable:     600 kB\n"

// What is measured is where least is left: the computer, or a group around the process.
func TestMeter(t *testing.T) {
	for name, c := range map[string]struct {
		proc, groups map[string]string
		want         pressure.Reading
	}{
		"no Linux": {want: pressure.Reading{}},
		"the computer": {
			proc: map[string]string{"meminfo": memInfo, "self/cgroup": "0::/a\n"},
			want: pressure.Reading{Total: 1000 << 10, Available: 600 << 10},
		},
		"without a limit": {
			proc:   map[string]string{"meminfo": memInfo, "self/cgroup": "0::/a\n"},
			groups: map[string]string{"a/memory.max": "max\n", "a/memory.current": "1000\n"},
			want:   pressure.Reading{Total: 1000 << 10, Available: 600 << 10},
		},
		"a group above": {
			proc: map[string]string{"meminfo": memInfo, "self/cgroup": "0::/a/b\n"},
			groups: map[string]string{
				"a/b/memory.max": "500000\n", "a/b/memory.current": "100000\n", "a/b/memory.stat": "anon 100000\n",
				"a/memory.max": "400000\n", "a/memory.current": "390000\n", "a/memory.stat": "anon 350000\ninactive_file 20000\nactive_file 20000\n",
			},
			want: pressure.Reading{Total: 400000, Available: 50000, Limit: "/a"},
		},
		"a container": {
			proc:   map[string]string{"meminfo": memInfo, "self/cgroup": "0::/docker/abc\n"},
			groups: map[string]string{"memory.max": "400000\n", "memory.current": "390000\n"},
			want:   pressure.Reading{Total: 400000, Available: 10000, Limit: "/"},
		},
		"version 1": {
			proc: map[string]string{"meminfo": memInfo, "self/cgroup": "8:pids:/x\n4:cpu,memory:/x\n"},
			groups: map[string]string{
				"memory/x/memory.limit_in_bytes": "500000\n", "memory/x/memory.usage_in_bytes": "450000\n",
				"memory/x/memory.stat":         "inactive_file 1\ntotal_inactive_file 30000\ntotal_active_file 20000\n",
				"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "450000\n",
			},
			want: pressure.Reading{Total: 500000, Available: 100000, Limit: "/x"},
		},
		"nonsense": {
			proc:   map[string]string{"meminfo": memInfo + "\n:\nMemTotal\n", "self/cgroup": "x\n0::\n::\n", "pressure/memory": "some\nsome total=x\n"},
			groups: map[string]string{"memory.max": "", "memory.current": "-"},
			want:   pressure.Reading{Total: 1000 << 10, Available: 600 << 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := pressure.NewMeter(files(c.proc), files(c.groups))
			if got := m.Read(time.Unix(1, 0)); got != c.want {
				t.Errorf("read %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestStall(t *testing.T) {
	proc := files(map[string]string{"meminfo": memInfo, "pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=500\nfull avg10=0.00 total=7\n"})
	m := pressure.NewMeter(proc, files(nil))
	now := time.Unix(1, 0)
	if r := m.Read(now); r.Stall != 0 {
		t.Errorf("the first reading has a stall of %v", r.Stall)
	}
	proc["pressure/memory"].Data = []byte("some avg10=0.00 total=50500\n")
	if r := m.Read(now.Add(250 * time.Millisecond)); r.Stall != 0.2 {
		t.Errorf("50 of 250 ms are a stall of %v", r.Stall)
	}
}

// The CPU is wanted as much as where it is most: of the computer, or of a group around the process.
func TestCPU(t *testing.T) {
	proc := files(map[string]string{"self/cgroup": "8:cpu:/x\n0::/a/b\n", "pressure/cpu": "some avg10=0.00 total=1000\nfull total=0\n"})
	groups := files(map[string]string{"a/cpu.pressure": "some avg10=0.00 total=70\n", "a/b/cpu.pressure": "garbage\n"})
	c, now := pressure.NewCPU(proc, groups), time.Unix(1, 0)
	step := func(what string, elapsed time.Duration, of, group string, want float64) {
		t.Helper()
		proc["pressure/cpu"].Data, groups["a/cpu.pressure"].Data = []byte("some avg10=0.00 total="+of+"\n"), []byte("some total="+group+"\n")
		now = now.Add(elapsed)
		if got := c.Wait(now); got != want {
			t.Errorf("%s: the CPU is waited for %v of the time, want %v", what, got, want)
		}
	}
	step("at first", 0, "1000", "70", 0)
	step("a quarter of a second", time.Second, "251000", "70", 0.25)
	step("too soon to measure", time.Millisecond, "252000", "70", 0.25)
	step("the group", 999*time.Millisecond, "252000", "500070", 0.5)
	step("nobody waits", time.Second, "252000", "500070", 0)
	step("more than can be", time.Second, "9252000", "500070", 1)
	step("a clock that was set back", -time.Minute, "9352000", "500070", 0)
	if got := pressure.NewCPU(files(nil), files(nil)).Wait(now); got != 0 {
		t.Errorf("where nothing is measured, it is waited for %v of the time", got)
	}
}

// computer is one whose memory several processes use, of which some are governed.
type computer struct {
	total, others int64
	memories      []*memories
}

type memories struct {
	list   []wm.Budget
	values map[string]float64
}

func (m *memories) Mean(memory string) float64 { return m.values[memory] }

func (m *memories) Budgets() []wm.Budget { return append([]wm.Budget(nil), m.list...) }

func (m *memories) SetBudget(name string, n int64) error {
	for i := range m.list {
		if b := &m.list[i]; b.Memory == name {
			if n < 1 || n > b.Bound {
				return engram.Errorf(engram.Invalid, name, "%d bytes of at most %d", n, b.Bound)
			}
			b.Bytes, b.Held = n, min(b.Held, n)
			return nil
		}
	}
	return engram.Errorf(engram.NotFound, name, "there is no such memory")
}

func (c *computer) read() pressure.Reading {
	used := c.others
	for _, m := range c.memories {
		for _, b := range m.list {
			used += b.Held
		}
	}
	return pressure.Reading{Total: c.total, Available: max(c.total-used, 0)}
}

// Whatever a neighbour takes, within a second there is room again or the memories have little
// more than their least; each gave by its size and value; and when the neighbour is gone all
// have their bounds back.
func TestGovernors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const gib = 1 << 30
		c := &computer{total: 4 * gib}
		var governors []*pressure.Governor
		for p := range rapid.IntRange(1, 3).Draw(t, "processes") {
			m := &memories{values: map[string]float64{}}
			for i := range rapid.IntRange(1, 6).Draw(t, "memories") {
				b := wm.Budget{Memory: fmt.Sprint(p, i), Bound: int64(rapid.IntRange(1, 300).Draw(t, "bound")) << 20}
				m.values[b.Memory] = rapid.Float64Range(1, 4).Draw(t, "value")
				b.Bytes, b.Held = b.Bound, int64(rapid.Float64Range(0, 1).Draw(t, "held")*float64(b.Bound))
				m.list = append(m.list, b)
			}
			c.memories = append(c.memories, m)
			governors = append(governors, pressure.NewGovernor(m, slog.New(slog.DiscardHandler)))
		}
		now := time.Unix(0, 0)
		run := func(d time.Duration) {
			for end := now.Add(d); now.Before(end); now = now.Add(pressure.Every) {
				for _, g := range governors {
					g.Step(c.read(), now)
				}
			}
		}
		run(time.Second)
		before := map[string]wm.Budget{}
		for _, m := range c.memories {
			for _, b := range m.list {
				before[b.Memory] = b
				if b.Bytes != b.Bound {
					t.Fatalf("%+v while there is room", b)
				}
			}
		}
		c.others = int64(rapid.Float64Range(0, 1).Draw(t, "neighbour") * float64(c.total))
		short := float64(c.read().Available) < 0.1*float64(c.total)
		run(time.Second)
		left := float64(c.read().Available) / float64(c.total)
		for _, m := range c.memories {
			for _, b := range m.list {
				if left < 0.1 && b.Held > b.Bound/64+1 {
					t.Fatalf("after a second %.3f is available, and %+v", left, b)
				}
				if !short && b.Held != before[b.Memory].Held {
					t.Fatalf("%+v gave, and nothing was short", b)
				}
				for _, o := range m.list {
					kept := func(b wm.Budget) float64 { return float64(b.Held) / float64(before[b.Memory].Held) }
					if b.Held > b.Bound/64+1 && o.Held > o.Bound/64+1 && m.values[b.Memory] > m.values[o.Memory] && kept(b) < kept(o)-1e-6 {
						t.Fatalf("%+v kept a share of %v, %+v, which is worth less, %v", b, kept(b), o, kept(o))
					}
				}
			}
		}
		c.others = 0
		run(2 * time.Minute)
		for _, m := range c.memories {
			for _, b := range m.list {
				if b.Bytes != b.Bound {
					t.Fatalf("%+v after the neighbour was gone", b)
				}
			}
		}
	})
}

// Of two servers that hold the same and look at the same time, both give, by the value of what they
// hold.
func TestServersShare(t *testing.T) {
	const gib = 1 << 30
	for values, ratio := range map[[2]float64]float64{{1, 4}: 2, {4, 1}: 0.5, {1, 1}: 1} {
		c := &computer{total: 8 * gib, others: 5 * gib}
		var governors []*pressure.Governor
		for _, value := range values {
			m := &memories{list: []wm.Budget{{Memory: "a", Bound: gib, Bytes: gib, Held: gib}}, values: map[string]float64{"a": value}}
			c.memories = append(c.memories, m)
			governors = append(governors, pressure.NewGovernor(m, slog.New(slog.DiscardHandler)))
		}
		c.others += 2 * gib / 5 // 7.5 % are left
		for step := range 4 {
			seen := c.read()
			for _, g := range governors {
				g.Step(seen, time.Unix(0, 0).Add(time.Duration(step)*pressure.Every))
			}
		}
		gave := func(i int) float64 { return 1 - float64(c.memories[i].list[0].Held)/gib }
		if left := float64(c.read().Available) / float64(c.total); left < 0.1 {
			t.Errorf("of values %v: after a second %.3f is available", values, left)
		}
		if got := gave(0) / gave(1); math.Abs(got-ratio) > 0.01 || gave(1) > 0.5 {
			t.Errorf("of values %v they gave %.3f and %.3f, want %v times as much", values, gave(0), gave(1), ratio)
		}
	}
}

// A stall takes an eighth of what is held each time, though some memory is said to be available; with much of it the stall
// is somebody else's.
func TestStallPresses(t *testing.T) {
	m := &memories{list: []wm.Budget{{Memory: "a", Bound: 1 << 30, Bytes: 1 << 30, Held: 1 << 30}}, values: map[string]float64{"a": 1}}
	g := pressure.NewGovernor(m, slog.New(slog.DiscardHandler))
	r := pressure.Reading{Total: 16 << 30, Available: 8 << 30, Stall: 0.3}
	g.Step(r, time.Unix(1, 0))
	if got := m.list[0].Bytes; got != 1<<30 {
		t.Errorf("the budget is %d bytes for the stall of somebody else", got)
	}
	r.Available = 4 << 30
	g.Step(r, time.Unix(2, 0))
	if got := m.list[0].Held; got != 7<<27 {
		t.Errorf("%d bytes are held after a stall", got)
	}
}
