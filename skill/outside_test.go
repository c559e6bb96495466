package skill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/skill"
)

// TestProgramOutsideTheModule builds the example as a module of its own, which knows this one
// as any user's does, and has it execute a request, and one of a condition that another program
// of that module sets.
func TestProgramOutsideTheModule(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, from string, change func(string) string) {
		b, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(change(string(b))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	same := func(s string) string { return s }
	write("main.go", "examples/skill/main.go", same)
	write("go.sum", "go.sum", same)
	write("go.mod", "go.mod", func(s string) string { // the same dependencies, of another module
		s = regexp.MustCompile(`(?m)^module (\S+)$`).ReplaceAllString(s, "module example.org/robot\n\nrequire $1 v0.0.0\n\nreplace $1 => "+root)
		return regexp.MustCompile(`(?ms)^tool (\(.*?^\)|\S+$)`).ReplaceAllString(s, "")
	})
	if err := os.Mkdir(filepath.Join(dir, "when"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "when", "main.go"), []byte(setsCondition), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-mod=mod", "-o", dir+"/bin/", "./...")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	serverProcess(t, dir)
	c := connect(t, dir)
	robot := exec.Command(filepath.Join(dir, "bin", "robot"))
	robot.Env = append(os.Environ(), "ENGRAM_ADDRESS="+socketIn(dir))
	robot.Stderr = os.Stderr
	if err := robot.Start(); err != nil {
		t.Fatal(err)
	}
	defer robot.Wait()
	defer robot.Process.Signal(os.Interrupt)
	inService(t, c, "Arm")
	e := wait(t, start(t, c, skill.Request{Skill: "Grasp", Parameters: map[string]any{"object": "cup"}, Timeout: time.Minute}))
	if e.Status != skill.Succeeded || e.Result.(map[string]any)["force"] != 12.0 {
		t.Errorf("it ended as %v: %v", e.Status, e.Err())
	}
	if _, err := skill.Start(t.Context(), c, skill.Request{Skill: "Grasp", Parameters: map[string]any{"object": 1}}); engram.CodeOf(err) != engram.TypeMismatch {
		t.Errorf("of a parameter that does not fit: %v", err)
	}

	when := exec.Command(filepath.Join(dir, "bin", "when"))
	when.Env = robot.Env
	if out, err := when.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stream, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Skill/Request/Conditions")}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	testkit.Commit(t, c, update(t, engram.MustID("Object/Instance/eye/mug"), "engram.object.Instance", map[string]any{"frame_id": "table"}))
	x, err := skill.Follow(c, testkit.Next(t, stream, 1)[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if e := wait(t, x); e.Status != skill.Succeeded || e.Caller != "condition:mug" || e.Parameters.(map[string]any)["object"] != "mug" {
		t.Errorf("%+v: %v", e, e.Err())
	}
}

// setsCondition is a program that sets a condition, in one line.
const setsCondition = `package main

import (
	"context"
	"log"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/skill/condition"
)

func main() {
	ctx := context.Background()
	svc, err := client.Connect(ctx, client.Options{})
	if err == nil {
		err = condition.When(ctx, svc, "me", "mug", "on Object/Instance/*/~mug.* where frame_id == 'table' run Grasp with object=$entity")
	}
	if err != nil {
		log.Fatal(err)
	}
}
`
