package skill

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

// role has the program be a memory server ("server"), or a provider ("provider"), with its
// folder in place; data says whether the server has a long-term memory.
const role, place, data = "ENGRAM_BENCH_SKILL", "ENGRAM_BENCH_SKILL_PLACE", "ENGRAM_BENCH_SKILL_DATA"

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	dir := os.Getenv(place)
	var err error
	switch os.Getenv(role) {
	case "server":
		server.TuneRuntime() // as engram serve does
		c := node.Config{Memories: memories.All(), Listen: []string{address(dir)}}
		if os.Getenv(data) != "" {
			c.Data = &ltm.Options{Dir: filepath.Join(dir, "data")}
		}
		var n *node.Node
		if n, err = node.New(context.Background(), c); err == nil {
			err = n.Serve(context.Background())
		}
	case "provider":
		var c *client.Client
		if c, err = connect(context.Background(), dir); err == nil {
			err = provider(c).Run(context.Background())
		}
	default:
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func address(dir string) string { return "unix:" + filepath.Join(dir, "s") }

func connect(ctx context.Context, dir string) (*client.Client, error) {
	for {
		c, err := client.Connect(ctx, client.Options{Address: address(dir)})
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type called struct {
	At int64 // when the handler was called, in ns since 1970
}

func provider(svc engram.Service) *skill.Provider {
	p := skill.NewProvider(svc, "Bench")
	skill.Handle(p, skill.Spec{Name: "Note"}, func(c *skill.Call, _ any) (called, error) { return called{time.Now().UnixNano()}, nil })
	return p
}

func begin(b *testing.B, dir, as, with string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+as, place+"="+dir, data+"="+with)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// BenchmarkRequest asks for a skill 100 times a second: from before the request is committed
// until the handler is called in another process, and until its result is back here. The
// server is a third process, in RAM or with a log to which each request and execution is
// synced.
func BenchmarkRequest(b *testing.B) {
	for _, with := range []string{"", "log"} {
		b.Run(map[string]string{"": "ram", "log": "log"}[with], func(b *testing.B) {
			dir := b.TempDir()
			begin(b, dir, "server", with)
			c, err := connect(b.Context(), dir)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { c.Close() })
			begin(b, dir, "provider", "")
			for { // until the provider is there
				x, err := skill.Start(b.Context(), c, skill.Request{Skill: "Note", Caller: "bench", Timeout: time.Minute})
				if err == nil {
					if _, err = x.Wait(b.Context()); err != nil {
						b.Fatal(err)
					}
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			var mu sync.Mutex
			var calls, answers []time.Duration
			var wg sync.WaitGroup
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			for b.Loop() {
				<-ticker.C
				wg.Go(func() {
					from := time.Now()
					result, err := skill.Run(b.Context(), c, skill.Request{Skill: "Note", Caller: "bench"})
					answered := time.Since(from)
					if err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, time.Duration(result.(map[string]any)["at"].(int64)-from.UnixNano()))
					answers = append(answers, answered)
				})
			}
			wg.Wait()
			report := func(d []time.Duration, what string) {
				slices.Sort(d)
				if len(d) > 0 {
					b.ReportMetric(float64(d[len(d)/2])/1e6, what+"-p50-ms")
					b.ReportMetric(float64(d[len(d)*99/100])/1e6, what+"-p99-ms")
				}
			}
			report(calls, "call")
			report(answers, "answer")
		})
	}
}
