//go:build linux

package fleet

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// guideRobot is a server of the guide of four robots in docs/world.md: the base station, or a robot.
type guideRobot struct {
	name string
	args []string
	log  *bytes.Buffer
	cmd  *exec.Cmd // nil while it does not run
}

// guideRobots are the servers of the guide, as processes of this machine.
type guideRobots struct {
	*testing.T
	ctx    context.Context
	dir    string
	binary string
	all    [5]*guideRobot
}

// newGuideRobots returns them with what the guide's commands say, and more.
func newGuideRobots(t *testing.T, disks bool, more ...string) *guideRobots {
	dir, err := os.MkdirTemp("", "robots") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	g := &guideRobots{T: t, ctx: testkit.Context(t), dir: dir, binary: built(t)}
	leaf := testkit.FreeAddress(t)
	for i := range g.all {
		r := &guideRobot{name: "base", log: &bytes.Buffer{}}
		role := []string{"--leaf-listen", leaf}
		if i > 0 {
			r.name = fmt.Sprint("robot", i)
			role = []string{"--leaf-of", "nats-leaf://" + leaf}
		}
		r.args = append([]string{"serve", "--backbone", "embedded", "--robot", r.name, "--listen", g.socket(r), "--memory", "World", "--copy", "*:World"}, role...)
		if disks {
			r.args = append(r.args, "--data", filepath.Join(dir, r.name))
		}
		r.args = append(r.args, more...)
		g.all[i] = r
		g.start(r)
	}
	t.Cleanup(func() {
		for _, r := range g.all {
			g.kill(r)
			if t.Failed() {
				t.Logf("%s:\n%s", r.name, r.log)
			}
		}
	})
	return g
}

func (g *guideRobots) socket(r *guideRobot) string {
	return "unix:" + filepath.Join(g.dir, r.name+".sock")
}

// start starts a server and returns when it answers.
func (g *guideRobots) start(r *guideRobot) {
	g.Helper()
	r.cmd = exec.CommandContext(context.WithoutCancel(g.ctx), g.binary, r.args...)
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	if err := r.cmd.Start(); err != nil {
		g.Fatal(err)
	}
	testkit.Until(g, func() (string, bool) {
		c, err := client.Connect(g.ctx, client.Options{Address: g.socket(r)})
		if err == nil {
			err = c.Close()
		}
		return fmt.Sprintf("%s does not answer: %v", r.name, err), err == nil
	})
}

func (g *guideRobots) kill(r *guideRobot) {
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(syscall.SIGKILL)
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// world calls f with the world of all robots that a program has at a server.
func (g *guideRobots) world(r *guideRobot, provider string, f func(*world.Memory) error) error {
	c, err := client.Connect(g.ctx, client.Options{Address: g.socket(r)})
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := world.Over(g.ctx, c, provider, world.DefaultRules(), world.Robots("*"), world.FromSource(world.Perception))
	if err != nil {
		return err
	}
	defer w.Close()
	return f(w)
}

// export is what engram world --robots '*' export writes at a server.
func (g *guideRobots) export(r *guideRobot) (text string, err error) {
	err = g.world(r, "export", func(w *world.Memory) error {
		f, err := w.View(g.ctx)
		if err != nil {
			return err
		}
		b, _, err := files.Write(f, files.Options{})
		text = string(b)
		return err
	})
	return text, err
}

// equal waits until all servers export the same, which is said to be so, and returns that.
func (g *guideRobots) equal(within time.Duration, what string, is func(text string) bool) string {
	g.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		late := time.Since(began) > within // what is looked at next may be
		texts := map[string]string{}
		first := ""
		for _, r := range g.all {
			if r.cmd == nil {
				continue
			}
			text, err := g.export(r)
			if err != nil {
				text = err.Error()
			}
			texts[text] += r.name + " "
			first = text
		}
		if len(texts) == 1 && is(first) {
			return first
		}
		if late {
			for text, of := range texts {
				g.Logf("%s:\n%s", of, text)
			}
			g.Fatalf("%v after %s there are %d worlds", within, what, len(texts))
		}
	}
}

func anything(string) bool { return true }

// The four robots of the guide, with and without disks: whichever server is killed, at any time, all have the
// same world within 5 s after it is back. What all had before is not lost.
func TestFourRobotsSurviveKills(t *testing.T) {
	testkit.RealTime(t, "a server starts and is heard of by four others within 5 s")
	for _, disks := range []bool{false, true} {
		t.Run(map[bool]string{false: "without disks", true: "with disks"}[disks], func(t *testing.T) {
			seed := testkit.Seed(t)
			random := rand.New(rand.NewPCG(seed, uint64(len(t.Name()))))
			g := newGuideRobots(t, disks)
			said := 0
			settled := map[string]string{} // by item, what all have of it
			recent := map[string]bool{}    // items of which something was said since
			say := func(r *guideRobot) {
				said++
				name, label := fmt.Sprint("item", random.IntN(12)), fmt.Sprint("label", said)
				err := g.world(r, []string{"plan", "eye"}[random.IntN(2)], func(w *world.Memory) error {
					if random.IntN(8) == 0 {
						_, err := w.Withdraw(g.ctx, name)
						return err
					}
					refused, _, err := w.Update(g.ctx, world.NamedItem{Name: name, Item: world.Item{
						Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Translation(float64(said), 0, 0)},
						Description: &world.Description{Kinds: []string{world.KindObject}, Label: label},
					}})
					if err == nil && len(refused) > 0 {
						err = refused[0].Err
					}
					return err
				})
				if err != nil {
					t.Fatalf("at %s: %v", r.name, err)
				}
				recent[name] = true
			}
			settle := func(text string) {
				clear(settled)
				clear(recent)
				for _, item := range strings.Split(text, "- name: ")[1:] {
					name, what, _ := strings.Cut(item, "\n")
					settled[name] = what
				}
			}
			for range 20 {
				say(g.all[random.IntN(5)])
			}
			settle(g.equal(20*time.Second, "the beginning", anything))
			var longest time.Duration
			for range testkit.Repeats(4, 12) {
				victim := g.all[random.IntN(5)]
				for range random.IntN(4) {
					say(g.all[random.IntN(5)])
				}
				if random.IntN(2) == 0 {
					settle(g.equal(10*time.Second, "something was said", anything))
				}
				g.kill(victim)
				for range random.IntN(4) {
					if r := g.all[random.IntN(5)]; r != victim {
						say(r)
					}
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				g.start(victim)
				back := time.Now()
				if random.IntN(2) == 0 {
					say(victim)
				}
				text := g.equal(5*time.Second, victim.name+" was back", func(text string) bool {
					for name, what := range settled {
						if !recent[name] && !strings.Contains(text, "- name: "+name+"\n"+what) {
							return false
						}
					}
					return true
				})
				longest = max(longest, time.Since(back))
				settle(text)
			}
			t.Logf("%d statements; equal within %v", said, longest.Round(time.Millisecond))
		})
	}
}

// A robot that comes back without a disk takes back what others believe that it says, tells of what it has from their
// copies, and withdraws it where it was told so.
func TestRobotWithoutADiskComesBack(t *testing.T) {
	testkit.RealTime(t, "a server starts and is heard of by four others within 5 s")
	for _, how := range []string{"take", "withdraw"} {
		t.Run(how, func(t *testing.T) {
			g := newGuideRobots(t, false, "--recover", how, "--memory", "Object", "--copy", "*:Object")
			put := func(w *world.Memory) error {
				_, _, err := w.Update(g.ctx, world.NamedItem{Name: "cup", Item: world.Item{Structure: &world.Structure{}}})
				return err
			}
			has := func(text string) bool { return strings.Contains(text, "name: cup") }
			seen := func(text string) bool { return strings.Contains(text, "name: plate") }
			if err := g.world(g.all[3], "eye", put); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(g.binary, "put", "Object/Instance/eye/plate", `{"frame_id": "map"}`, "--address", g.socket(g.all[3])).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			g.equal(20*time.Second, "the beginning", func(text string) bool { return has(text) && seen(text) })
			g.kill(g.all[3])
			g.start(g.all[3])
			// What was seen cannot be withdrawn, and is there at the owner, too.
			g.equal(5*time.Second, "robot3 was back", func(text string) bool { return has(text) == (how == "take") && seen(text) })
			out, err := exec.Command(g.binary, "health", "--address", g.socket(g.all[3])).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "recovery") || !strings.Contains(string(out), "said before this server began") {
				t.Errorf("health: %v\n%s", err, out)
			}
			if how == "withdraw" {
				return
			}
			out, err = exec.Command(g.binary, "world", "tree", "--address", g.socket(g.all[3])).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "World: 1 entity as said before this server began") {
				t.Errorf("tree: %v\n%s", err, out)
			}
			if err := g.world(g.all[3], "eye", func(w *world.Memory) error { _, err := w.Withdraw(g.ctx, "cup"); return err }); err != nil {
				t.Fatal(err)
			}
			g.equal(5*time.Second, "robot3 has withdrawn the cup", func(text string) bool { return !has(text) })
		})
	}
}
