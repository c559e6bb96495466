// Command skill measures how long it takes from when somebody asks for a skill until its provider is called, with the memory
// server, the provider and the caller in three processes, and from when an update fulfils a condition:
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
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
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
	return measureCondition(ctx, m, skills, n, name)
}

// measureCondition measures how long it takes from an update that fulfils a condition until the provider is called, at 100
// updates per second.
func measureCondition(ctx context.Context, m *client.Client, skills *skill.Skills, n int, name string) error {
	err := skills.SetCondition(ctx, "bench", "touch", skill.When{
		Skill: "Bench/Touch", On: "Speech/Text/Bench", Where: "confidence > 0.5", Trigger: condition.EachUpdate, FromUpdate: map[string]string{"text": "text"},
	})
	if err != nil {
		return err
	}
	codec, err := skill.NewCodec(ctx, m)
	if err != nil {
		return err
	}
	def, err := m.Type(ctx, "engram.speech.Text")
	if err != nil {
		return err
	}
	text, err := idf.ParseType(def)
	if err != nil {
		return err
	}
	sub, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Skill/Execution/Bench")}, WithData: true})
	if err != nil {
		return err
	}
	defer sub.Close()
	entity := engram.MustID("Speech/Text/Bench/said")
	var took, commits []time.Duration
	for i := range n {
		tick := time.After(10 * time.Millisecond)
		b, err := text.Encode(map[string]any{"text": fmt.Sprint(i)})
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: text.Name(), Bytes: b})}}}}); err != nil {
			return err
		}
		commits = append(commits, time.Since(began))
		at, err := calledFor(ctx, sub, codec, fmt.Sprint(i))
		if err != nil {
			return err
		}
		took = append(took, at.Sub(began))
		<-tick
	}
	fmt.Printf("%-9s condition: called p50 %7.0f µs, p99 %7.0f µs after the update, whose commit took p50 %5.0f µs\n", name, quantile(took, 0.5), quantile(took, 0.99), quantile(commits, 0.5))
	return nil
}

// calledFor waits until the execution of a text has ended, and returns when its provider was called.
func calledFor(ctx context.Context, sub engram.UpdateStream, codec *skill.Codec, text string) (time.Time, error) {
	for {
		updates, err := sub.Next(ctx)
		if err != nil {
			return time.Time{}, err
		}
		for _, u := range updates {
			e, err := codec.Execution(u.ID.Truncate(engram.LevelEntity), u.Snapshot.Time, u.Snapshot.Instances)
			if err != nil {
				return time.Time{}, err
			}
			if at, ok := e.Result["called"].(int64); ok && e.Parameters["text"] == text {
				return time.Unix(0, at), nil
			}
		}
	}
}

func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))].Nanoseconds()) / 1000
}
