package mission

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// story is what a mission prints.
type story struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// wait waits until the story has a text, and forgets all that it has.
func (s *story) wait(t *testing.T, want string) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !strings.Contains(s.text.String(), want) {
			return "it does not say " + want + ":\n" + s.text.String(), false
		}
		s.text.Reset()
		return "", true
	})
}

// A person who is the operator says wrong things, and things too early, and is told what is
// right; and an empty line says what comes next.
func TestDialogue(t *testing.T) {
	var said story
	m, err := Start(t.Context(), Config{Seed: 1, Speed: 10, Dir: t.TempDir(), Out: &said})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	talking, enough := context.WithCancel(t.Context())
	d := m.Dialogue()
	defer d.Close()
	defer enough()
	for _, c := range []struct{ line, want string }{
		{"hello", `nobody knows how to "hello"`},
		{"Scuots, find the garbage", `did you mean "scouts"?`},
		{"help", `an empty line says "Operator, read the hallway map"`},
		{"scouts, find the garbage", `I know no object "garbage"; what there is, is known after "Everybody, read the configurations"`},
		{"worker, initialize visual navigation", `worker does not know where it is; "track your location" comes before`},
		{" operator read the Hallway map. ", `done: "operator read the Hallway map."`},
		{"", `done: "Everybody, read the configurations"`},
		{"worker, pick up the garbage", `worker does not know where it is`},
		{"scout 2, read the configuration", `scout2   has read its configuration, and its drivers run`},
		{"worker and scout1, track your location", `done: "worker and scout1, track your location"`},
		{"worker, pick up the garbage", `nobody has seen the garbage yet`},
		{"worker, take the garbage to the bin", `worker   waits for the garbage and the bin`},
		{"worker, stop", `the operator said stop`},
		{"", `done: "Everybody, track your location"`},
	} {
		d.Line(talking, c.line)
		said.wait(t, c.want)
	}
	if d.Next() != Sentences[3] {
		t.Errorf("next is %q", d.Next())
	}
}
