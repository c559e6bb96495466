package skill_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/condition"
)

// serverFolder has the test's program be a memory server over a folder.
const serverFolder = "ENGRAM_TEST_SKILL_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverFolder); dir != "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		n, err := node.New(context.Background(), node.Config{
			Memories: memories.All(), Listen: []string{socketIn(dir)}, Data: &ltm.Options{Dir: filepath.Join(dir, "data")},
		})
		if err == nil {
			err = n.Serve(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func socketIn(dir string) string { return "unix:" + filepath.Join(dir, "s") }

// serverProcess begins a memory server over a folder in a process of its own.
func serverProcess(t testing.TB, dir string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverFolder+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}

func connect(t testing.TB, dir string) *client.Client {
	t.Helper()
	for ctx := t.Context(); ; {
		c, err := client.Connect(ctx, client.Options{Address: socketIn(dir)})
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return c
		}
		if engram.CodeOf(err) != engram.Unavailable && engram.CodeOf(err) != engram.NotFound {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestKilledServer kills a real server process while requests come, wait and run: none that
// was taken is lost, none is begun twice but what may be resumed, and each has an end.
func TestKilledServer(t *testing.T) {
	rounds := 3
	dir := t.TempDir()
	kill := serverProcess(t, dir)
	c := connect(t, dir)
	var mu sync.Mutex
	begun := map[string]int{} // by execution and attempt
	attempts := map[engram.ID]int{}
	p := skill.NewProvider(c, "Arm", skill.WithLease(600*time.Millisecond))
	for _, resumable := range []bool{false, true} {
		name := map[bool]string{false: "Once", true: "Again"}[resumable]
		skill.Handle(p, skill.Spec{Name: name, Resources: []string{name}, Resumable: resumable, StopTimeout: 300 * time.Millisecond}, func(c *skill.Call, in map[string]any) (any, error) {
			mu.Lock()
			begun[fmt.Sprint(c.Execution, c.Attempt)]++
			attempts[c.Execution]++
			mu.Unlock()
			select {
			case <-time.After(time.Duration(in["ms"].(int64)) * time.Millisecond):
				return in, nil
			case <-c.Done():
				return nil, c.Err()
			}
		})
	}
	provide(t, c, p, "Arm")
	var taken []*skill.Ongoing
	for round := range rounds {
		var asking sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		for i := range 2 {
			asking.Go(func() {
				for k := 0; ctx.Err() == nil; k++ {
					r := skill.Request{Skill: []string{"Once", "Again"}[i], Parameters: map[string]any{"ms": int64(rand.IntN(40))}, Caller: fmt.Sprint("caller", i),
						Name: fmt.Sprintf("%d-%d", round, k), Timeout: time.Minute}
					if x, err := skill.Start(ctx, c, r); err == nil {
						mu.Lock()
						taken = append(taken, x)
						mu.Unlock()
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Duration(200+rand.IntN(200)) * time.Millisecond)
		kill()
		stop()
		asking.Wait()
		kill = serverProcess(t, dir)
	}
	counts := map[string]int{}
	for _, x := range taken {
		e := wait(t, x)
		counts[e.Skill.Entity()+" "+e.Status.String()]++
		if e.Status == skill.Failed && e.Failure.Code != skill.CodeServerRestarted && e.Failure.Code != skill.CodeLostProvider {
			t.Errorf("%s failed: %v", x.ID(), e.Err())
		}
		if e.Status == skill.Aborted {
			t.Errorf("%s was aborted: %v", x.ID(), e.Err())
		}
		mu.Lock()
		if n := attempts[x.ID()]; e.Status == skill.Succeeded && n == 0 || n > 1 && e.Skill.Entity() == "Once" {
			t.Errorf("%s was begun %d times and is %s", x.ID(), n, e.Status)
		}
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	for key, n := range begun {
		if n > 1 {
			t.Errorf("%s was begun %d times", key, n)
		}
	}
	t.Logf("%d requests: %v", len(taken), counts)
}

// TestKilledServerOfConditions kills a real server process while updates fulfil conditions: each update that is on the
// disk leads to one request, which is begun once at most, and none is left out.
func TestKilledServerOfConditions(t *testing.T) {
	dir := t.TempDir()
	kill := serverProcess(t, dir)
	c := connect(t, dir)
	var mu sync.Mutex
	begun := map[string]int{} // by the condition that asks, and the thing
	p := skill.NewProvider(c, "Arm", skill.WithLease(600*time.Millisecond))
	skill.Handle(p, skill.Spec{Name: "Note", StopTimeout: 300 * time.Millisecond}, func(c *skill.Call, _ any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		begun[c.Caller+" "+c.Cause.Entity()]++
		return nil, nil
	})
	provide(t, c, p, "Arm")
	conditions := map[string]string{
		"edge": "on Speech/Text where text == 'hello' run Note", "each": "on Speech/Text where text == 'hello' run Note update",
		"once": "on Speech/Text where text == 'hello' run Note once per entity",
	}
	for name, text := range conditions {
		if err := condition.When(t.Context(), c, "test", name, text); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		var saying sync.WaitGroup
		saying.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				name := fmt.Sprintf("%d-%d", round, k)
				u := update(t, engram.MustID("Speech/Text/mic/"+name), "engram.speech.Text", map[string]any{"text": "hello"})
				_, _ = c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}) // what the log has counts
				time.Sleep(2 * time.Millisecond)
			}
		})
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
		kill()
		stop()
		saying.Wait()
		kill = serverProcess(t, dir)
	}
	var said *engram.Result
	testkit.Until(t, func() (string, bool) {
		var err error
		said, err = c.Query(t.Context(), engram.MustPattern("Speech/Text/mic").Select(engram.Latest(1)))
		return fmt.Sprint(err), err == nil
	})
	counts := map[string]int{}
	for it := range said.All() {
		name := it.ID.Entity()
		for condition := range conditions {
			var found []engram.ID
			testkit.Until(t, func() (string, bool) {
				r, err := c.Query(t.Context(), engram.MustPattern("Skill/Request/Conditions/~"+condition+"\\..*\\b"+name+"(\\..*)?").Select(engram.Latest(1)))
				if err != nil {
					return err.Error(), false
				}
				found = nil
				for it := range r.All() {
					found = append(found, it.ID)
				}
				return condition + " has not asked because of " + name, len(found) > 0
			})
			if len(found) != 1 {
				t.Errorf("because of %s, %s made %v", name, condition, found)
			}
			x, err := skill.Follow(c, found[0])
			if err != nil {
				t.Fatal(err)
			}
			e := wait(t, x)
			mu.Lock()
			n := begun["condition:"+condition+" "+name]
			mu.Unlock()
			counts[e.Status.String()]++
			if n > 1 || e.Status == skill.Succeeded && n == 0 {
				t.Errorf("%s of %s was begun %d times and is %s", condition, name, n, e.Status)
			}
			if e.Status != skill.Succeeded && (e.Status != skill.Failed || e.Failure.Code != skill.CodeServerRestarted && e.Failure.Code != skill.CodeLostProvider) {
				t.Errorf("%s of %s is %s: %v", condition, name, e.Status, e.Err())
			}
		}
	}
	t.Logf("%d updates: %v", len(said.Items()), counts)
}
