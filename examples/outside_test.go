package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// outside is a program of another module. It offers a skill in ten lines, and sets a condition in one.
const outside = `package main

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	skills, err := skill.Open(ctx, m)
	if err != nil {
		return err
	}
	waved, ended := make(chan string, 1), make(chan error, 1)
	there := make(chan error, 10)
	go func() {
		// The skill.
		ended <- skills.Provide(ctx, "Arm", skill.ProvideOptions{Tell: func(err error) { there <- err }}, skill.Skill{
			Name:        "Wave",
			Description: skill.Description{Text: "waves", Resources: []string{"right_arm"}},
			Do: func(_ context.Context, c *skill.Call) error {
				waved <- c.Text("who")
				return nil
			},
		})
		// That was it.
	}()
	if err := <-there; err != nil {
		return err
	}
	// The condition.
	err = skills.SetCondition(ctx, "me", "greet", skill.When{Skill: "Arm/Wave", On: "Speech/Text", Where: "text.startsWith('hello')", FromUpdate: map[string]string{"who": "$name"}})
	// That was it.
	if err != nil {
		return err
	}
	fmt.Println("waved at", <-waved)
	cancel()
	return <-ended
}
`

// lines returns the lines of the program after a comment.
func lines(comment string) int {
	_, rest, _ := strings.Cut(outside, "// "+comment+"\n")
	rest, _, _ = strings.Cut(rest, "// That was it.")
	return strings.Count(strings.TrimSpace(rest), "\n") + 1
}

// A program of another module uses what programs may: packages that are not internal.
func TestSkillOfAnotherModule(t *testing.T) {
	if skill, condition := lines("The skill."), lines("The condition."); skill > 10 || condition != 1 {
		t.Errorf("the skill takes %d lines, and the condition %d", skill, condition)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/seed-301d4374/engram"
	dir := t.TempDir()
	of := strings.Replace(string(mod), "module "+module+"\n", "module robot\n", 1)
	of += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, root)
	for name, text := range map[string]string{"go.mod": of, "go.sum": string(sum), "main.go": outside} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "robot")
	build := exec.Command("go", "build", "-mod=mod", "-o", program, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := serverOf(t, []server.Memory{memories.Skill(), memories.Speech()}, "unix:"+filepath.Join(t.TempDir(), "s"))
	m, err := client.Connect(t.Context(), client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	typ, _ := memories.Type("engram.speech.Text")
	text, err := typ.Encode(map[string]any{"text": "hello there"})
	if err != nil {
		t.Fatal(err)
	}
	heard := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: text})
	testkit.Commit(t, m, engram.EntityUpdate{Entity: engram.MustID("Speech/Text/Mic/bob"), Time: engram.Now(), Instances: []engram.Instance{heard}})
	wantLines(t, run(t, address, program), "waved at bob")
}
