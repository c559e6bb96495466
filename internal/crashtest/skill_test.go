package crashtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// The environment of a process of this test that is a provider or a caller: which of them, and the file that it writes down in
// what it does.
const (
	roleVariable  = "ENGRAM_CRASH_ROLE"
	notesVariable = "ENGRAM_CRASH_NOTES"
)

// playRole is the program of a process that has a role.
func playRole(role string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	notes, err := os.OpenFile(os.Getenv(notesVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	note := func(what string, id engram.ID) {
		_, _ = fmt.Fprintf(notes, "%s %s\n", what, id.Entity()) // one write, which a kill does not undo
	}
	for ctx.Err() == nil {
		if err := playOnce(ctx, role, note); err != nil && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

func playOnce(ctx context.Context, role string, note func(string, engram.ID)) error {
	m, err := client.Connect(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	skills, err := skill.Open(ctx, m)
	if err != nil {
		return err
	}
	if role == "speaker" {
		return speak(ctx, m, note)
	}
	if role == "provider" {
		return skills.Provide(ctx, "Arm", skill.ProvideOptions{Lease: 400 * time.Millisecond}, skill.Skill{
			Name: "Wave", Description: skill.Description{Resources: []string{"arm"}, StopWithin: 100 * time.Millisecond},
			Do: func(ctx context.Context, c *skill.Call) error {
				note("began", c.ID)
				defer note("stood", c.ID)
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
				}
				return nil
			},
		})
	}
	forever := time.Duration(0)
	for ctx.Err() == nil {
		h, err := skills.Start(ctx, skill.Ask{Skill: "Arm/Wave", Patience: &forever})
		if err != nil {
			return err
		}
		note("asked", h.ID)
		if rand.IntN(4) == 0 {
			time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
			if err := h.Abort(ctx, "at random"); err != nil {
				return err
			}
		}
		e, err := h.Wait(ctx, nil)
		if err != nil {
			return err
		}
		note(e.Status.String(), h.ID)
	}
	return nil
}

// speak says texts, for each of which a condition asks for a skill.
func speak(ctx context.Context, m *client.Client, note func(string, engram.ID)) error {
	of, _ := memories.Type("engram.speech.Text")
	for ctx.Err() == nil {
		said := engram.MustID("Speech/Text/Speaker/" + strconv.FormatInt(time.Now().UnixNano(), 36))
		b, err := of.Encode(map[string]any{"text": said.Entity()})
		if err != nil {
			return err
		}
		update := engram.EntityUpdate{Entity: said, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: of.Name(), Bytes: b})}}
		results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{update}})
		if err != nil {
			return err
		}
		if results[0].Err != nil {
			return results[0].Err
		}
		note("said", said)
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	}
	return nil
}

// role is a process of a provider or a caller.
type role struct {
	cmd  *exec.Cmd
	said bytes.Buffer
}

func play(name, notes, address string) (*role, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &role{cmd: exec.Command(self)}
	r.cmd.Env = append(os.Environ(), roleVariable+"="+name, notesVariable+"="+notes, client.AddressVariable+"="+address)
	r.cmd.Stderr = &r.said
	return r, r.cmd.Start()
}

func (r *role) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	_ = r.cmd.Wait()         // it was killed
}

// TestKillSkills kills the server, a provider and callers of skills at random moments: no request is lost or executed twice, the
// arm is never used twice at once, and it is free in the end. What is said a condition has the arm wave for, once.
func TestKillSkills(t *testing.T) {
	testkit.Long(t)
	binary := program.Engram(t)
	chance := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	dir, err := os.MkdirTemp("", "crash") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	synced := "version: 1\npolicies:\n"
	for _, segment := range []string{"Skill/Request", "Skill/Abort", "Skill/Execution", "Speech/Text"} {
		synced += "  " + segment + ": {durability: synced}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "policies.yaml"), []byte(synced), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := begin(binary, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { server.kill() }()
	address, notes := "unix:"+server.socket, filepath.Join(dir, "notes")
	names := []string{"provider", "caller", "caller", "speaker"}
	roles := make([]*role, len(names))
	start := func(i int) {
		if roles[i], err = play(names[i], notes, address); err != nil {
			t.Fatal(err)
		}
	}
	for i := range roles {
		start(i)
		defer func() { roles[i].kill() }()
	}
	setCondition(t, server)
	for n := range *kills {
		time.Sleep(time.Duration(chance.Int64N(int64(900 * time.Millisecond))))
		if i := chance.IntN(len(roles) + 1); i < len(roles) {
			roles[i].kill()
			start(i)
			continue
		}
		server.kill()
		if server, err = begin(binary, dir, false); err != nil {
			t.Fatal(err)
		}
		if n%50 == 0 {
			t.Logf("%d kills", n)
		}
	}
	for i := 1; i < len(roles); i++ {
		roles[i].kill()
	}
	checkSkills(t, server, notes)
	if t.Failed() {
		t.Logf("folder %s; the server said:\n%s", dir, server.said.String())
	}
}

// setCondition has the arm wave for what is said.
func setCondition(t *testing.T, server *process) {
	t.Helper()
	m, err := server.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	skills, err := skill.Open(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	forever := time.Duration(0)
	testkit.Until(t, func() (string, bool) {
		err := skills.SetCondition(t.Context(), "test", "said", skill.When{
			Skill: "Arm/Wave", On: "Speech/Text/Speaker", Trigger: condition.EachUpdate, FromUpdate: map[string]string{"text": "text"}, Patience: &forever,
		})
		return fmt.Sprint(err), err == nil // the provider has described the skill
	})
}

// checkSkills waits until all executions have ended, and compares them with what the processes wrote down.
func checkSkills(t *testing.T, server *process, notes string) {
	t.Helper()
	ctx := t.Context()
	m, err := server.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	skills, err := skill.Open(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	ended := map[string]schedule.Status{}
	waved := map[any]int{} // for what was said
	testkit.Until(t, func() (string, bool) {
		all, err := skills.Executions(ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
		if err != nil {
			return err.Error(), false
		}
		clear(ended)
		clear(waved)
		for _, e := range all {
			if !e.Status.Ended() {
				return fmt.Sprintf("%s is %v: %+v", e.ID.Entity(), e.Status, e), false
			}
			ended[e.ID.Entity()] = e.Status
			if !e.Condition.IsRoot() {
				waved[e.Parameters["text"]]++
			}
		}
		return "", true
	})
	text, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	began := map[string]int{}
	counts := map[string]int{}
	using := ""
	for line := range strings.Lines(string(text)) {
		what, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		counts[what]++
		switch what {
		case "asked":
			if _, ok := ended[name]; !ok {
				t.Errorf("the request %s was acknowledged, and has no execution", name)
			}
		case "said":
			if waved[name] != 1 {
				t.Errorf("%s was said, and the arm waved for it %d times", name, waved[name])
			}
		case "began":
			if began[name]++; began[name] > 1 {
				t.Errorf("%s was executed twice", name)
			}
			if _, ok := ended[name]; !ok {
				t.Errorf("%s was executed, and is not known", name)
			}
			using = name
		case "stood":
			if using != name {
				t.Errorf("%s used the arm while %s did", using, name)
			}
		default:
			if is := ended[name].String(); is != what {
				t.Errorf("%s ended as %s, and is %s later", name, what, is)
			}
		}
	}
	for text, n := range waved {
		if n > 1 {
			t.Errorf("the arm waved %d times for %v", n, text)
		}
	}
	for name, status := range ended {
		if status == schedule.Succeeded && began[name] != 1 {
			t.Errorf("%s succeeded and was executed %d times", name, began[name])
		}
	}
	t.Logf("%d executions; written down: %v", len(ended), counts)
	if counts["Succeeded"] == 0 {
		t.Error("none succeeded")
	}
	if _, err := skills.Run(ctx, skill.Ask{Skill: "Arm/Wave"}); err != nil {
		t.Errorf("in the end: %v", err)
	}
}
