package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// serve serves a memory server with its page at an address, until the test ends or stop is called.
func serve(t testing.TB, srv feature.Server, address string) (url string, stop func()) {
	t.Helper()
	l, err := rpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	operations := http.NewServeMux()
	operations.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok","uptime_secs":5,"checks":[{"check":"alive","status":"ok"}]}`)
	})
	h := rpc.NewHandler(srv, nil, rpc.Options{Log: testkit.Quiet, Operations: operations, Page: func(svc feature.Server) (http.Handler, []string) {
		return web.New(svc, web.Options{Log: testkit.Quiet}), web.Paths
	}})
	stop = serving.Until(t, func(ctx context.Context) error { return rpc.Serve(ctx, h, l) })
	return rpc.AddressOf(l), stop
}

// living returns a server with a simulated robot that has lived for so many ticks, and lives on until the test ends, or
// until it shall rest: what is remembered in RAM then stays, however long a browser takes. The test is skipped where no
// browser can be driven.
func living(t testing.TB, ticks int) (srv *server.Server, rest func() string) {
	t.Helper()
	testkit.Node(t, "app", "playwright-core")
	srv = serving.New(t, memories.All()...)
	return srv, live(t, srv, ticks)
}

// live has a simulated robot live in a server for so many ticks, up to now, and on until the test ends or it shall rest:
// the answer is the time of its end.
func live(t testing.TB, srv *server.Server, ticks int) (rest func() string) {
	t.Helper()
	robot, err := sim.New(sim.Config{Start: engram.Now().Add(-sim.Period * time.Duration(ticks))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := robot.RunTicks(t.Context(), srv, 0, ticks); err != nil {
		t.Fatal(err)
	}
	var lived sim.Report
	stop := serving.Until(t, func(ctx context.Context) (err error) {
		lived, err = robot.Run(ctx, srv, 1)
		return err
	})
	return func() string {
		stop()
		// A robot on a busy machine skips images, and so what it would have seen in them. Its last seconds have all.
		const whole = 200
		end := robot.Time(ticks + lived.Ticks + whole)
		testkit.Until(t, func() (string, bool) { return "the robot's last second is still to come", engram.Now() >= end })
		if _, err := robot.RunTicks(t.Context(), srv, 0, whole); err != nil {
			t.Error(err)
		}
		return end.String()
	}
}

// inNode runs a script of app/test in Node.js, without a browser.
func inNode(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(testkit.Context(t), testkit.Node(t, "app", "vite"), "app/test/"+script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// browser runs a script of app/test in a real browser. What the script prints as "do NAME" is done by the test, which
// answers with a line. It returns what else was printed.
func browser(t testing.TB, script, url string, do map[string]func() string) (printed []string) {
	t.Helper()
	node := testkit.Node(t, "app", "playwright-core")
	chromium := testkit.Program(t, "chromium")
	// A script that hangs says where, and leaves time for the tests after it.
	ctx := testkit.Context(t)
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "app/test/"+script, url)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	var said strings.Builder
	cmd.Stderr = &said
	in, out := testkit.StartPiped(t, cmd)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		name, ok := strings.CutPrefix(lines.Text(), "do ")
		if !ok {
			t.Log(lines.Text())
			printed = append(printed, lines.Text())
			continue
		}
		if do[name] == nil {
			t.Errorf("the script asks for %q", name)
			break
		}
		if _, err := io.WriteString(in, do[name]()+"\n"); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, said.String())
	}
	return printed
}

// One sees numbers move, goes back in time, finds what was said and what led to something, and shares what one sees;
// by mouse and by keys. The server goes and comes back. The page has no violations of accessibility and asks nobody
// but its server.
func TestPage(t *testing.T) {
	srv, rest := living(t, 500)

	url, stop := serve(t, srv, serving.AnyPort)
	browser(t, "page.mjs", url, map[string]func() string{
		"rest": rest,
		"stop": func() string { stop(); return "stopped" },
		"start": func() string {
			_, stop = serve(t, srv, strings.TrimPrefix(url, "http://"))
			return "started"
		},
	})
}
