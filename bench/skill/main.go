// Command skill measures how long it takes from when somebody asks for a skill until its provider is called, with the memory
// server, the provider and the caller in three processes:
//
//	go run ./bench/skill
//
// Requests come one at a time. Volatile is a server without a disk. With the disk, requests and executions are synced: nothing is
// called before it is on the disk; a commit that is synced is measured in the same run.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
)

func main() {
	provide := flag.Bool("provide", false, "be the provider")
	n := flag.Int("n", 2000, "requests")
	flag.Parse()
	var err error
	if *provide {
		err = beProvider()
	} else {
		err = measure(*n)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// beProvider offers a skill that tells when it was called.
func beProvider() error {
	ctx := context.Background()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	skills, err := skill.Open(ctx, m)
	if err != nil {
		return err
	}
	return skills.Provide(ctx, "Bench", skill.ProvideOptions{}, skill.Skill{Name: "Touch", Do: func(_ context.Context, c *skill.Call) error {
		c.SetResult(map[string]any{"called": time.Now().UnixNano()})
		return nil
	}})
}

func measure(n int) error {
	dir, err := os.MkdirTemp("", "bench-skill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	engramBinary := filepath.Join(dir, "engram")
	if out, err := exec.Command("go", "build", "-o", engramBinary, "./cmd/engram").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "policies.yaml"), []byte("version: 1\npolicies:\n  Skill/Request: {durability: synced}\n  Skill/Execution: {durability: synced}\n"), 0o600); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"volatile", nil},
		{"synced", []string{"--data", data}},
	} {
		if err := measureServer(n, dir, engramBinary, c.name, c.args); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func measureServer(n int, dir, binary, name string, args []string) error {
	address := "unix:" + filepath.Join(dir, name)
	if err := os.Setenv(client.AddressVariable, address); err != nil {
		return err
	}
	serve := exec.Command(binary, append([]string{"serve", "--listen", address}, args...)...)
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		return err
	}
	defer func() { _, _ = serve.Process.Kill(), serve.Wait() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	provider := exec.Command(self, "-provide")
	ctx := context.Background()
	var m *client.Client
	for range 1000 {
		if m, err = client.Connect(ctx, client.Options{}); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer m.Close()
	provider.Stderr = os.Stderr
	if err := provider.Start(); err != nil {
		return err
	}
	defer func() { _, _ = provider.Process.Kill(), provider.Wait() }()
	skills, err := skill.Open(ctx, m)
	if err != nil {
		return err
	}
	for {
		if offers, err := skills.Offers(ctx, engram.MustPattern("Skill/Description")); err == nil && len(offers) == 1 && offers[0].Present {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	var called, ended, commits []time.Duration
	for i := range n {
		began := time.Now()
		h, err := skills.Start(ctx, skill.Ask{Skill: "Bench/Touch", Caller: "bench"})
		if err != nil {
			return err
		}
		e, err := h.Wait(ctx, nil)
		if err != nil {
			return err
		}
		at, _ := e.Result["called"].(int64)
		if i >= n/10 { // warm
			called, ended = append(called, time.Unix(0, at).Sub(began)), append(ended, time.Since(began))
		}
		if i%10 == 0 {
			began := time.Now()
			if err := skills.Enable(ctx, h.ID, true, "bench", ""); err == nil {
				return fmt.Errorf("an execution was enabled")
			}
			commits = append(commits, time.Since(began))
		}
	}
	fmt.Printf("%-9s called p50 %7.0f µs, p99 %7.0f µs; ended and told p50 %7.0f µs; a commit that is refused p50 %5.0f µs\n", name,
		quantile(called, 0.5), quantile(called, 0.99), quantile(ended, 0.5), quantile(commits, 0.5))
	return nil
}

func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))].Nanoseconds()) / 1000
}
