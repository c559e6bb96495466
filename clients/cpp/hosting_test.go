package cpp_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
)

// hosted is a program that hosts a memory.
type hosted struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

func startHosted(t *testing.T, program string, args ...string) *hosted {
	t.Helper()
	h := &hosted{cmd: exec.CommandContext(t.Context(), program, args...)}
	h.cmd.Stderr = os.Stderr
	h.stdin, _ = h.cmd.StdinPipe()
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewScanner(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.kill)
	h.says(t, "hosted")
	return h
}

func (h *hosted) says(t *testing.T, want string) {
	t.Helper()
	if !h.out.Scan() || h.out.Text() != want {
		t.Fatalf("the program says %q, want %q", h.out.Text(), want)
	}
}

func (h *hosted) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// user is a client of Go that uses the memory.
type user struct {
	*client.Client
	state *idf.Type
}

func newUser(t *testing.T, address string) *user {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	def, err := c.Type(t.Context(), "Own.State")
	if err != nil {
		t.Fatal(err)
	}
	state, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	return &user{c, state}
}

var ofProgram = engram.MustID("Own/State/test/a")

func (u *user) commit(t *testing.T, value float64, unit string) error {
	t.Helper()
	b, err := u.state.Encode(map[string]any{"value": value, "unit": unit})
	if err != nil {
		t.Fatal(err)
	}
	results, err := u.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: ofProgram, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: u.state.Name(), Bytes: b})}}}})
	if err != nil {
		return err
	}
	return results[0].Err
}

func (u *user) value(t *testing.T, entity engram.ID) (value any, confidence float32) {
	t.Helper()
	s, err := u.Latest(t.Context(), entity)
	if err != nil {
		t.Fatal(err)
	}
	return u.decode(t, s), s.Instances[0].Confidence
}

func (u *user) decode(t *testing.T, s *engram.Snapshot) any {
	t.Helper()
	v, err := u.state.Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)["value"]
}

// A client of Go uses a memory that a program of C++ hosts, over the program's death and the server's.
func testHosting(t *testing.T, s *server, program, example string) {
	s.start(t)
	defer func() { s.stop() }()
	p := startHosted(t, program, s.socket(), "Own")
	u := newUser(t, s.socket())

	if err := u.commit(t, 1500, "mm"); err != nil {
		t.Fatal(err)
	}
	if v, confidence := u.value(t, ofProgram); v != 1.5 || confidence != 0.5 {
		t.Errorf("the hook's value is stored as %v with confidence %v", v, confidence)
	}
	for unit, want := range map[string]struct {
		code  engram.Code
		words string
	}{"refuse": {engram.OutOfRange, "no such unit"}, "throw": {engram.Internal, "a defect"}, "throw 1": {engram.Internal, "std::exception"}, "elsewhere": {engram.Internal, "Speech"}, "type": {engram.Invalid, "value"}} {
		if err := u.commit(t, 1, unit); engram.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.words) {
			t.Errorf("%s: %v", unit, err)
		}
	}
	if v, _ := u.value(t, engram.MustID("Own/State/test/asked")); v != 7.0 {
		t.Errorf("what the query hook commits is %v", v)
	}
	if _, err := u.Query(t.Context(), engram.MustPattern("Own/Any/forbidden/x").Select(engram.Latest(1))); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("what the query hook refuses: %v", err)
	}
	if got, err := u.Query(t.Context(), engram.MustPattern("Own/State/test/fails").Select(engram.Latest(1))); err != nil {
		t.Errorf("a query whose hook fails: %v, %v", got, err)
	}
	predictions, err := u.Predict(t.Context(), []engram.ID{ofProgram.At(5e9), engram.MustID("Own/State/test/unknown").At(5e9)})
	if err != nil || predictions[0].Err != nil {
		t.Fatal(err, predictions[0].Err)
	}
	if v := u.decode(t, predictions[0].Snapshot); v != 5.0 || engram.CodeOf(predictions[1].Err) != engram.NotFound {
		t.Errorf("predicted %v, and %v", v, predictions[1].Err)
	}
	second := exec.CommandContext(t.Context(), program, s.socket(), "Own")
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "victim") {
		t.Errorf("a second program: %v\n%s", err, out)
	}

	// The program dies in the middle of a call, and is started again.
	failed := make(chan error, 1)
	go func() { failed <- u.commit(t, 1, "hang") }()
	p.says(t, "hangs")
	p.kill()
	if err := <-failed; engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "victim") {
		t.Errorf("the hung commit: %v", err)
	}
	if v, _ := u.value(t, ofProgram); v != 1.5 {
		t.Errorf("the memory of a dead program has %v", v)
	}
	p = startHosted(t, program, s.socket(), "Own")
	if err := u.commit(t, 2, "m"); err != nil {
		t.Fatal(err)
	}

	// The server dies; the program finds the next one.
	s.stop()
	s.start(t)
	for err = errors.New("not yet"); err != nil; {
		if err = u.commit(t, 3000, "mm"); err != nil && engram.CodeOf(err) != engram.Unavailable {
			t.Fatal(err)
		}
	}
	if v, _ := u.value(t, ofProgram); v != 3.0 {
		t.Errorf("after the server began anew there is %v", v)
	}
	_ = p.stdin.Close()
	p.says(t, "closed")

	// The example, by the command line.
	lines(t, []string{"ENGRAM_ADDRESS=" + s.socket()}, example)("hosting Battery")
	run(t, nil, s.binary, "--address", s.socket(), "put", "Battery/State/arm/left", `{"voltage": 24100, "charge": 0.8}`)
	if out := run(t, nil, s.binary, "--address", s.socket(), "query", "Battery"); !strings.Contains(out, "voltage: 24.1, charge: 0.8") || !strings.Contains(out, "Battery/State/computer/load") {
		t.Errorf("the example's memory has %s", out)
	}
	wrong := exec.CommandContext(t.Context(), s.binary, "--address", s.socket(), "put", "Battery/State/arm/left", `{"charge": 1.8}`)
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "a charge of 1.8") {
		t.Errorf("the example takes %v\n%s", err, out)
	}
}
