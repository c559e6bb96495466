package world

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/files"
	"github.com/seed-301d4374/engram/mind/world/view"
	"github.com/seed-301d4374/engram/node"
)

// serveAddress has the test binary be a server there, as 'engram serve' is; serveData is the folder where it records, "" for none.
const serveAddress, serveData = "ENGRAM_BENCH_SERVE", "ENGRAM_BENCH_DATA"

// memory is what a server takes of main memory.
type memory struct {
	Heap, InUse  uint64 // objects with garbage, and the pages that they lie in; bytes
	Resident     int    // of the process, kB
	MostResident int    // at any time so far, kB
}

// serveAsProgram serves until the process is interrupted. For each line of the input it says what it takes, after it has collected
// garbage if the line is "collect".
func serveAsProgram(address, data string) error {
	server.TuneRuntime()
	defer server.CollectAfterBursts()()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := node.Config{Memories: memories.All(), Listen: []string{address}}
	if data != "" {
		c.Data = &ltm.Options{Dir: data}
	}
	n, err := node.New(ctx, c)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() { // ends with the process
		lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
		for lines.Scan() {
			if lines.Text() == "collect" {
				runtime.GC()
			}
			_ = out.Encode(taken())
		}
	}()
	return n.Serve(ctx)
}

// taken returns what this process takes.
func taken() (m memory) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.Heap, m.InUse = stats.HeapAlloc, stats.HeapInuse
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			m.Resident, _ = strconv.Atoi(f[1])
		} else if len(f) > 1 && f[0] == "VmHWM:" {
			m.MostResident, _ = strconv.Atoi(f[1])
		}
	}
	return m
}

// elsewhere is a server in another process.
type elsewhere struct {
	address string
	in      io.Writer
	out     *bufio.Scanner
}

func serveElsewhere(b *testing.B, data string) *elsewhere {
	s := &elsewhere{address: "unix:" + filepath.Join(b.TempDir(), "engram.sock")}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveAddress+"="+s.address, serveData+"="+data)
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	cmd.Stderr = os.Stderr
	must(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	s.in, s.out = in, bufio.NewScanner(out)
	if !s.out.Scan() {
		b.Fatal("the server did not start")
	}
	return s
}

// takes asks the server what it takes, before or after a collection.
func (s *elsewhere) takes(b *testing.B, when string) (m memory) {
	_, err := fmt.Fprintln(s.in, when)
	must(b, err)
	if !s.out.Scan() {
		b.Fatal("the server ended")
	}
	must(b, json.Unmarshal(s.out.Bytes(), &m))
	return m
}

// BenchmarkImport states 100,000 items in a server, as 'engram world import' does, and tells what the server takes of main memory
// when they are stated, five seconds later, and after a collection. Each has a server of its own.
func BenchmarkImport(b *testing.B) {
	const items = 100_000
	content := &files.Content{}
	add := func(name string, it *world.Item) {
		content.Items = append(content.Items, files.Item{NamedItem: world.NamedItem{Name: name, Item: *it}, At: "house.yaml:1"})
	}
	for i := range 100 {
		add(fmt.Sprint("room", i), &world.Item{Structure: &world.Structure{}, Description: &world.Description{Kinds: []string{world.KindMap}}})
	}
	for i := len(content.Items); i < items; i++ {
		it := item(fmt.Sprint("room", i%100), pose.Translation(float64(i%97)/10, float64(i%89)/10, 0.5), world.KindObject)
		it.Placement.Cov = pose.Cov{}
		add(fmt.Sprint("item", i), it)
	}
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprint("recorded=", recorded), func(b *testing.B) {
			for b.Loop() {
				data := ""
				if recorded {
					data = b.TempDir()
				}
				s := serveElsewhere(b, data)
				c, err := client.Connect(b.Context(), client.Options{Address: s.address})
				must(b, err)
				codec, err := world.NewCodec(b.Context(), c)
				must(b, err)
				began := time.Now()
				things, err := view.Things(codec, content)
				must(b, err)
				o, err := c.World().State(b.Context(), answer.Provider{Name: "plan"}, answer.Stating{Things: things, Content: true})
				must(b, err)
				if o.Failed != nil {
					b.Fatal(o.Failed)
				}
				took := time.Since(began)
				after := s.takes(b, "now")
				must(b, c.Close())
				time.Sleep(5 * time.Second)
				later, collected := s.takes(b, "now"), s.takes(b, "collect")
				const mb = 1 << 20
				b.ReportMetric(took.Seconds(), "s/import")
				b.ReportMetric(float64(after.Heap)/mb, "heap-MB/after")
				b.ReportMetric(float64(later.Heap)/mb, "heap-MB/5s-later")
				b.ReportMetric(float64(later.InUse)/mb, "in-use-MB/5s-later")
				b.ReportMetric(float64(later.Resident)/1024, "resident-MB/5s-later")
				b.ReportMetric(float64(collected.Heap)/mb, "heap-MB/collected")
				b.ReportMetric(float64(collected.MostResident)/1024, "resident-MB/most")
			}
		})
	}
}
