package attack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		program.Remove()
		os.Exit(code)
	}))
}

var (
	given   = flag.String("program", "", "attack this program instead of one that is built")
	only    = flag.String("only", "", "send only the requests whose names match this regular expression")
	report  = flag.Bool("report", false, "print what each request took, and fail none")
	lasting = flag.Duration("for", 2*time.Second, "how long each of the attacks goes on that could go on for ever")
)

// chance returns random numbers, and logs how to get them again.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(testkit.Seed(t), 0))
}

// built returns the program to be attacked.
func built(t *testing.T) string {
	t.Helper()
	if *given != "" {
		return *given
	}
	return program.Engram(t)
}

// folder returns a new folder with a short path, as that of a socket is bounded.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// victim is a server process that is attacked.
type victim struct {
	cmd    *exec.Cmd
	server string // http://host:port, https:// with credentials
	socket string // of edge/transport/local, and unix:<socket without its ending>
	said   *said
	ended  chan struct{} // closed when err is set
	err    error
}

// unix returns the address of the server's socket for all protocols but that of
// edge/transport/local.
func (v *victim) unix() string { return "unix:" + strings.TrimSuffix(v.socket, ".local") }

// started returns a server that is killed when the test ends.
func started(t *testing.T, binary, dir string, flags ...string) *victim {
	t.Helper()
	v, err := run(binary, dir, flags...)
	if v != nil {
		t.Cleanup(func() { v.end(syscall.SIGKILL) })
	}
	if err != nil || v.server == "" {
		t.Fatalf("a server does not start: %v\n%s", err, v.said)
	}
	return v
}

// lives fails the test if the server has ended or has panicked.
func (v *victim) lives(t *testing.T) {
	t.Helper()
	select {
	case <-v.ended:
		t.Fatalf("the server has ended: %v\n%s", v.err, v.said)
	default:
	}
	if strings.Contains(v.said.String(), "panic") {
		t.Errorf("something has panicked:\n%s", v.said)
	}
}

// said is what a server writes to its standard error.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// listens is how a server says where it listens.
var listens = regexp.MustCompile(`(https?://127\.0\.0\.1:\d+)\s`)

// run starts a server over a data folder and waits until it is ready or has ended.
func run(binary, dir string, more ...string) (*victim, error) {
	sockets, err := os.MkdirTemp(dir, "s")
	if err != nil {
		return nil, err
	}
	v := &victim{socket: filepath.Join(sockets, "s.local"), ended: make(chan struct{}), said: new(said)}
	v.cmd = exec.Command(binary, append([]string{"serve", "--monitor", "0", "--data", filepath.Join(dir, "data"), "--disk-limit", "100",
		"--listen", "127.0.0.1:0", "--listen", v.unix()}, more...)...)
	v.cmd.Env = append(os.Environ(), "GOMEMLIMIT=1GiB") // what is in use counts, not garbage
	v.cmd.Stderr = v.said
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		v.err = v.cmd.Wait()
		close(v.ended)
	}()
	for deadline := time.Now().Add(testkit.Patience); ; {
		if found := listens.FindStringSubmatch(v.said.String()); found != nil {
			v.server = found[1]
			return v, nil
		}
		select {
		case <-v.ended:
			return v, nil
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			v.end(syscall.SIGKILL)
			return v, errors.New("the server was neither ready nor at its end after two minutes")
		}
	}
}

// end ends the process by a signal.
func (v *victim) end(by os.Signal) {
	_ = v.cmd.Process.Signal(by) // fails only if it has ended
	<-v.ended
}

// begin starts a server of its own for a test.
func begin(t *testing.T, more ...string) *victim {
	t.Helper()
	v, err := run(built(t), folder(t), more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.end(syscall.SIGKILL) })
	if v.server == "" {
		t.Fatalf("the server did not start:\n%s", v.said)
	}
	return v
}

// peak returns the most memory that the process has had, in bytes.
func (v *victim) peak(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the server is dead: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the server is dead: it has no memory any more")
	return 0
}

// clients over HTTP/1, and over HTTP/2 for streams.
func clients(t *testing.T) func(r *Request) *http.Client {
	one := &http.Client{Transport: &http.Transport{Protocols: protocols(false)}, Timeout: 2 * time.Minute}
	two := &http.Client{Transport: &http.Transport{Protocols: protocols(true)}, Timeout: 2 * time.Minute}
	t.Cleanup(func() { one.CloseIdleConnections(); two.CloseIdleConnections() })
	return func(r *Request) *http.Client {
		if r.Header.Get("Te") != "" || r.Type == "" {
			return two
		}
		return one
	}
}

func protocols(second bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!second)
	p.SetUnencryptedHTTP2(second)
	return p
}

// mostMemory is what a server may take whatever is sent to it: twice the 512 MiB that may
// be decoded at once, and what it takes by itself. It holds with the GOMEMLIMIT of run: a server
// that has 3 GiB does not collect garbage before.
const mostMemory = 3 << 29

// No request that is small makes a server take more than its bounds, and it goes on
// serving others.
func TestSmallRequestsStaySmall(t *testing.T) {
	testkit.RealTime(t, "requests that are sent at once are at once with the server, which has dealt with each within two minutes")
	if runtime.GOOS != "linux" {
		t.Skip("what a process takes is read from /proc")
	}
	v := begin(t)
	client := clients(t)
	matches := regexp.MustCompile(*only)
	for _, r := range Amplifications() {
		if !matches.MatchString(r.Name) {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		answers := make([]string, r.Parallel)
		var sending sync.WaitGroup
		for i := range answers {
			sending.Go(func() {
				status, answer, err := r.Send(ctx, client(&r), v.server)
				answers[i] = fmt.Sprint(status, " ", answer, " ", err)
			})
		}
		sending.Wait()
		if ctx.Err() != nil {
			t.Errorf("%s: not all were dealt with in two minutes, so what the server takes was not seen", r.Name)
		}
		cancel()
		peak := v.peak(t)
		size := max(len(r.Body), len(r.Query))
		t.Logf("%-40s %8d bytes × %2d, %9d unpacked: peak %4d MiB; %.150q", r.Name, size, r.Parallel, r.Unpacked, peak>>20, answers[0])
		if strings.HasPrefix(answers[0], "415 ") {
			t.Errorf("%s: its form is not that of the procedure, which does not see it", r.Name)
		}
		if peak > mostMemory && !*report {
			t.Errorf("%s: the server took %d MiB; at most %d are promised", r.Name, peak>>20, mostMemory>>20)
		}
	}
	info := Request{Path: memory + "Info", Type: "application/json", Body: []byte("{}")}
	if status, answer, err := info.Send(t.Context(), client(&info), v.server); err != nil || status != http.StatusOK {
		t.Errorf("others afterwards: %d %s %v", status, answer, err)
	}
}
