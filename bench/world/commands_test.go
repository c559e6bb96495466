package world

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/internal/testkit/program"
)

// BenchmarkCommands measures commands that ask a server about its world or state something in it, each in a process of its own:
// the median of their wall times, the time of the import, and that of the first question, for which the server reads the world
// unless the import had it do so.
func BenchmarkCommands(b *testing.B) {
	for _, items := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			p, imported := serveWorld(b, items)
			b.Run("import", func(b *testing.B) {
				for b.Loop() {
				}
				b.ReportMetric(imported.Seconds()*1e3, "ms")
			})
			b.Run("first", func(b *testing.B) {
				took := p.ask("world", "tree")
				for b.Loop() {
				}
				b.ReportMetric(took.Seconds()*1e3, "ms") // the loop forgets what was reported before
			})
			for _, args := range [][]string{{"tree"}, {"get", "room1"}, {"near", "room1", "--radius", "2"}, {"in", "room0"}, {"joints"}} {
				b.Run(args[0], func(b *testing.B) {
					var times []time.Duration
					for b.Loop() {
						times = append(times, p.ask(append([]string{"world"}, args...)...))
					}
					reportMedian(b, times)
				})
			}
			for _, args := range [][]string{
				{"put", "cup%d", "--kind", "object", "--parent", "room1", "--pose", "1,2,0.7"}, {"mv", "thing%d", "house"}, {"rm", "thing%d"},
			} {
				b.Run(args[0], func(b *testing.B) {
					var times []time.Duration
					for b.Loop() {
						named := append([]string{"world"}, args...)
						named[2] = fmt.Sprintf(args[1], items-1-len(times))
						times = append(times, p.ask(named...))
					}
					reportMedian(b, times)
				})
			}
		})
	}
}

func reportMedian(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1e3, "median-ms")
}

// asked is a server that is asked by processes of the command line.
type asked struct {
	b       *testing.B
	program string
	env     []string
}

// ask runs a command and returns how long that took.
func (p *asked) ask(args ...string) time.Duration {
	p.b.Helper()
	cmd := exec.Command(p.program, args...)
	cmd.Env = p.env
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	must(p.b, err)
	if len(out) == 0 {
		p.b.Fatalf("%q tells nothing", args)
	}
	return took
}

// serveWorld starts a server and imports a house with so many items, 100 to a room. It returns how long the import took.
func serveWorld(b *testing.B, items int) (*asked, time.Duration) {
	b.Helper()
	dir := b.TempDir()
	address := "unix:" + filepath.Join(dir, "e.sock")
	p := &asked{b, program.Engram(b), append(os.Environ(), "ENGRAM_ADDRESS="+address)}
	serve := exec.Command(p.program, "serve", "--memory", "World", "--listen", address)
	serve.Env = p.env
	told, err := serve.StderrPipe()
	must(b, err)
	must(b, serve.Start())
	b.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait()
	})
	_, err = told.Read(make([]byte, 1)) // it says where it is once it is ready
	must(b, err)
	go func() { // what else it says is not lost in a full pipe
		buf := make([]byte, 4096)
		for {
			if _, err := told.Read(buf); err != nil {
				return
			}
		}
	}()
	type item struct {
		Name   string     `json:"name"`
		Kinds  []string   `json:"kinds"`
		Parent string     `json:"parent"`
		Pose   [3]float64 `json:"pose"`
	}
	all := []item{{Name: "house", Kinds: []string{"map"}}}
	for i := range items / 100 {
		all = append(all, item{fmt.Sprint("room", i), []string{"map"}, "house", [3]float64{5 * float64(i%100), 5 * float64(i/100), 0}})
	}
	for i := len(all); i < items; i++ {
		all = append(all, item{fmt.Sprint("thing", i), []string{"object"}, fmt.Sprint("room", i%(items/100)), [3]float64{float64(i%50) / 10, float64(i%47) / 10, 1}})
	}
	text, err := json.Marshal(all)
	must(b, err)
	file := filepath.Join(dir, "house.json")
	must(b, os.WriteFile(file, text, 0o644))
	return p, p.ask("world", "import", file)
}
