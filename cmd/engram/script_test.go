package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"engram": main})
}

// The scripts in testdata/script run the real program, each in a folder of its own
// with $ENGRAM_ADDRESS set to a socket there.
func TestScripts(t *testing.T) {
	endsAtStop(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Values["test"] = e.T()
			// Under the race detector each process would wait a second at its end.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("ENGRAM_ADDRESS", "unix:"+filepath.Join(e.WorkDir, "e.sock"))
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			examples, err := filepath.Abs("../../examples")
			e.Setenv("EXAMPLES", examples)
			return err
		},
		Condition: scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shared":   shared,
			"serve":    serveInBackground,
			"exitcode": exitCode,
			"end":      func(ts *testscript.TestScript, neg bool, args []string) { stop(ts, neg, args, os.Interrupt) },
			"crash":    func(ts *testscript.TestScript, neg bool, args []string) { stop(ts, neg, args, os.Kill) },
			"damage":   damage,
			"freeport": freePort,
			"retry":    retry,
			"typed":    typeIn,
			"capture":  capture,
		},
	})
}

// scriptCondition says whether one of the scripts' own conditions holds: [file:PATH], that a file
// is there, and [long], that what takes long is run, too.
func scriptCondition(which string) (bool, error) {
	if path, ok := strings.CutPrefix(which, "file:"); ok {
		_, err := os.Stat(path)
		return err == nil, nil
	}
	if which == "long" {
		return testkit.Repeats(0, 1) > 0, nil
	}
	return false, errors.New("it is none of testscript, file:PATH and long")
}

// endsAtStop looks for testscript's own command stop, which ends a script as if all of it had passed.
func endsAtStop(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("there are no scripts: ", err)
	}
	for _, name := range scripts {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^stop\b`).Match(b) {
			t.Errorf("%s ends at stop; end is what ends a server", name)
		}
	}
}

// shared sets $DATA to the folder of the shared data. Where that is not, the rest of the script is
// skipped, or fails, as testkit.Shared says.
func shared(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: shared")
	}
	ts.Setenv("DATA", testkit.Shared(ts.Value("test").(testing.TB)))
}

// capture VARIABLE REGEXP sets a variable to what a regular expression finds in the standard output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VARIABLE REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("no match for `%s` found in stdout", args[1])
	}
	ts.Setenv(args[0], found)
}

// serving are the functions that end the scripts' servers, by the scripts' folders.
var serving sync.Map

// stop ends the script's server by a signal.
func stop(ts *testscript.TestScript, neg bool, args []string, by os.Signal) {
	end, ok := serving.LoadAndDelete(ts.Getenv("WORK"))
	if neg || len(args) > 0 || !ok {
		ts.Fatalf("usage: stop or crash, after serve")
	}
	end.(func(os.Signal))(by)
}

// damage FILE OFFSET overwrites some bytes of a file, which may be a pattern.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE OFFSET")
	}
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(names) != 1 {
		ts.Fatalf("%s names %d files", args[0], len(names))
	}
	at, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(names[0], os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt([]byte("damaged!"), at)
	ts.Check(errors.Join(err, f.Close()))
}

// serve [ARG…] starts a server at $ENGRAM_ADDRESS, waits until it answers, and ends it
// with the script. How full this computer's disk is does not matter to it. One that
// answers is registered with the name system.
func serveInBackground(ts *testscript.TestScript, _ bool, args []string) {
	address := ts.Getenv("ENGRAM_ADDRESS")
	bin, err := exec.LookPath("engram")
	ts.Check(err)
	args = append([]string{"serve", "--listen", address}, args...)
	if slices.Contains(args, "--data") {
		args = append(args, "--disk-limit", "100")
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = ts.MkAbs(".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // to be read when the server has ended
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the script's own commands say what is wrong
	}()
	signalled := func(by os.Signal) {
		cmd.Process.Signal(by)
		select {
		case <-ended:
		case <-time.After(slowest):
			cmd.Process.Signal(syscall.SIGQUIT) // says what it does
			<-ended
			ts.Logf("the server at %s did not end:\n%s", address, stderr.String())
			panic("a server did not end")
		}
	}
	var once sync.Once
	stop := func(by os.Signal) { once.Do(func() { signalled(by) }) }
	serving.Store(ts.Getenv("WORK"), stop)
	ts.Defer(func() { stop(os.Interrupt) })
	path := strings.TrimPrefix(address, "unix:")
	for deadline := time.Now().Add(slowest); !answers(path); {
		select {
		case <-ended:
			ts.Fatalf("the server at %s ended: %s", address, stderr.String())
		case <-time.After(25 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the server does not answer at %s", address)
		}
	}
}

// slowest is how long a busy machine may take to start or end a server.
const slowest = 2 * time.Minute

// answers reports whether a server answers at a Unix socket, whatever it says: that it
// listens does not mean that it serves yet.
func answers(path string) bool {
	c, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /healthz HTTP/1.1\r\nHost: engram\r\n\r\n")); err != nil {
		return false
	}
	c.SetReadDeadline(time.Now().Add(slowest))
	_, err = c.Read(make([]byte, 1))
	return err == nil
}

// ports counts those that were given out.
var ports atomic.Int64

// freeport NAME sets a variable to a port of the loopback interface that is free: below
// those that the system gives to whom does not ask for one, so that nobody else has it by
// the time that the script's server takes it.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	const first, number = 10_000, 20_000
	for range number {
		port := strconv.FormatInt(first+(int64(os.Getpid())*101+ports.Add(1))%number, 10)
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			ts.Check(l.Close())
			ts.Setenv(args[0], port)
			return
		}
	}
	ts.Fatalf("no port is free")
}

// retry stdout REGEX COMMAND… runs a command until its output matches.
func retry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[0] != "stdout" {
		ts.Fatalf("usage: retry stdout REGEX COMMAND…")
	}
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for deadline := time.Now().Add(slowest); time.Now().Before(deadline); {
		err := ts.Exec(args[2], args[3:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("the output of %s never matched %s", strings.Join(args[2:], " "), args[1])
}

// exitcode N COMMAND… runs a command that must end with exit code N.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s ended with %v, want exit code %s", strings.Join(args[1:], " "), err, args[0])
	}
}
