package memories

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// proc is a computer with two cores, of which process 1 uses some.
func proc(busy0, busy1, idle, process string) fstest.MapFS {
	return fstest.MapFS{
		"stat": {Data: []byte("cpu  " + "30 0 10 " + idle + " 5 0 0 0 7 7\n" +
			"cpu0 " + busy0 + " 0 0 100 0 0 0 0 0 0\ncpu1 " + busy1 + " 0 0 100 0 0 0 0 0 0\nintr 1 2 3\n")},
		"self/stat":  {Data: []byte("1 (a) b) c) R 0 0 0 0 0 0 0 0 0 0 " + process + " 50 0 0 20 0 1 0")},
		"self/statm": {Data: []byte("1000 25 10 1 0 1 0\n")},
		"loadavg":    {Data: []byte("0.50 1.25 2.00 1/234 5678\n")},
		"meminfo":    {Data: []byte("MemTotal:       8000 kB\nMemFree: 1 kB\nMemAvailable:   6000 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\nHugePages_Total: 0\n")},
	}
}

// measured returns what is in an entity of SystemState now.
func measured(t *testing.T, srv *server.Server, id string) map[string]any {
	t.Helper()
	s, err := srv.Latest(t.Context(), engram.MustID(id))
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := Type(s.Instances[0].Payload.Type)
	v, err := typ.Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestMonitor(t *testing.T) {
	srv, err := server.New(server.Config{Memories: All()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	m, err := newMonitor(srv, proc("100", "200", "55", "150"), "robot")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Unix(1000, 0)
	m.beforeTime = begin
	// Core 0 works all the time, core 1 half of it (its idle time does not change
	// in this computer, so all of it); the process uses one of two seconds.
	m.proc = procFS{proc("160", "200", "155", "250")}
	if err := m.commit(t.Context(), begin.Add(2*time.Second)); err != nil {
		t.Fatal(err)
	}
	cpu := measured(t, srv, "SystemState/Cpu/Monitor/robot")
	if !slices.Equal(cpu["core_load"].([]any), []any{1.0, 0.0}) || !slices.Equal(cpu["load_average"].([]any), []any{0.5, 1.25, 2.0}) {
		t.Errorf("cores: %v, averages: %v", cpu["core_load"], cpu["load_average"])
	}
	if cpu["process_load"] != 0.5 || cpu["timestamp"] != engram.Time(1002e9) {
		t.Errorf("process: %v at %v", cpu["process_load"], cpu["timestamp"])
	}
	ram := measured(t, srv, "SystemState/Ram/Monitor/robot")
	for name, want := range map[string]int64{
		"total": 8000 * kib, "available": 6000 * kib, "swap_total": 100 * kib, "swap_used": 40 * kib,
		"process_resident": 25 * int64(os.Getpagesize()),
	} {
		if ram[name] != want {
			t.Errorf("%s is %v, want %v", name, ram[name], want)
		}
	}
	if heap, _ := ram["process_heap"].(int64); heap < 100_000 {
		t.Errorf("the heap has %d bytes", heap)
	}

	// The second time, the memory tells of the first.
	if err := m.commit(t.Context(), begin.Add(4*time.Second)); err != nil {
		t.Fatal(err)
	}
	about := measured(t, srv, "SystemState/Memory/Monitor/SystemState")
	if want := int64(2 + len(All())); about["snapshots"] != want || about["commit_rate"] != float64(want)/2 {
		t.Errorf("the memory tells of %v snapshots, %v/s; want %d", about["snapshots"], about["commit_rate"], want)
	}
	segments := about["segments"].([]any)
	if len(segments) != 6 {
		t.Fatalf("segments: %v", segments)
	}
	first := segments[2].(map[string]any) // after Audit and Clock
	if first["segment"] != engram.MustID("SystemState/Cpu") || first["entities"] != int64(1) || first["committed"] != int64(1) {
		t.Errorf("the first segment: %v", first)
	}
}

// TestCPULoad separates busy from idle and waiting.
func TestCPULoad(t *testing.T) {
	before := procFS{proc("0", "0", "55", "0")}.cpuTimes()
	after := procFS{fstest.MapFS{"stat": {Data: []byte("cpu  50 10 20 75 15 5 0 5 7 7\n")}}}.cpuTimes()
	// 20 + 10 + 10 + 5 + 5 of these and 20 idle and 10 waiting.
	if got, want := after.all.loadSince(before.all), 50.0/80; got != want {
		t.Errorf("load %v, want %v", got, want)
	}
	if got := before.all.loadSince(after.all); got != 0 {
		t.Errorf("load backwards %v", got)
	}
}

// TestMonitorWithoutProc: what the operating system does not tell is left out.
func TestMonitorWithoutProc(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"nothing": {},
		"rubbish": {
			"stat": {Data: []byte("cpu\ncpu0 x y z w\n\n")}, "self/stat": {Data: []byte("1")}, "self/statm": {Data: []byte("x")},
			"loadavg": {Data: []byte("a")}, "meminfo": {Data: []byte("MemTotal 5\n:\n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, err := server.New(server.Config{Memories: []server.Memory{SystemState()}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			m, err := newMonitor(srv, files, "robot")
			if err != nil {
				t.Fatal(err)
			}
			if err := m.commit(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if cpu := measured(t, srv, "SystemState/Cpu/Monitor/robot"); cpu["load"] != nil && cpu["load"] != 0.0 {
				t.Errorf("load %v", cpu["load"])
			}
			if ram := measured(t, srv, "SystemState/Ram/Monitor/robot"); ram["process_heap"] == nil {
				t.Error("the heap is not told")
			}
		})
	}
}

// TestMonitorRuns: the hook commits at the start and once in each period, of the
// computer it runs on, and ends with the server.
func TestMonitorRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := server.New(server.Config{Memories: All(WithSystemMonitor(time.Second))})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3500 * time.Millisecond)
		res, err := srv.Query(t.Context(), engram.Pattern{}.Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for item := range res.All() {
			count[item.ID.CoreSegment()]++
		}
		if count["Cpu"] != 4 || count["Ram"] != 4 || count["Memory"] != 4*len(All()) {
			t.Errorf("after 3.5 s: %v", count)
		}
		if host, err := os.Hostname(); err == nil {
			if ram := measured(t, srv, "SystemState/Ram/Monitor/"+engram.EscapeName(host)); runtime.GOOS == "linux" && ram["total"] == nil {
				t.Errorf("nothing is known of %s: %v", host, ram)
			}
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
}
