package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"engram": main})
}

// The scripts in testdata/script run the real program, each in a folder of its own
// with $ENGRAM_ADDRESS set to a socket there and $DATA to the shared recordings.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(data)
	if missing != nil {
		t.Logf("scripts that need recordings are skipped: there is no %s", data)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			// Under the race detector each process would wait a second at its end.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("ENGRAM_ADDRESS", "unix:"+filepath.Join(e.WorkDir, "e.sock"))
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "data" && missing == nil, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":    serveInBackground,
			"exitcode": exitCode,
			"stop":     func(ts *testscript.TestScript, neg bool, args []string) { stop(ts, neg, args, os.Interrupt) },
			"crash":    func(ts *testscript.TestScript, neg bool, args []string) { stop(ts, neg, args, os.Kill) },
			"damage":   damage,
			"freeport": freePort,
		},
	})
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

// serve [ARG…] starts a server at $ENGRAM_ADDRESS, waits until it answers, and
// ends it with the script.
func serveInBackground(ts *testscript.TestScript, _ bool, args []string) {
	address := ts.Getenv("ENGRAM_ADDRESS")
	bin, err := exec.LookPath("engram")
	ts.Check(err)
	cmd := exec.Command(bin, append([]string{"serve", "--listen", address}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	ts.Check(cmd.Start())
	var once sync.Once
	end := func(by os.Signal) {
		once.Do(func() {
			cmd.Process.Signal(by)
			cmd.Wait()
		})
	}
	serving.Store(ts.Getenv("WORK"), end)
	ts.Defer(func() { end(os.Interrupt) })
	path := strings.TrimPrefix(address, "unix:")
	for range 400 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	ts.Fatalf("the server does not answer at %s", address)
}

// freeport NAME sets a variable to a port of the loopback interface that is free.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
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
