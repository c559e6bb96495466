// Command web measures the page that browsers show of a memory server (package edge/web),
// in the Chromium that is installed, without a screen.
//
//	go run ./bench/web                # all of it, some ten minutes
//	go run ./bench/web -only live     # one part: live, hour
//	go run ./bench/web -quick         # a smoke run of a minute; its figures mean little
//
// The part "live" has a server as a process of its own, a simulated robot in this one (43
// joints at 100 Hz, a stereo pair at 20 Hz) and 100,000 other entities. The part "hour" has
// an hour of a recording on disk. The page's side is in live.mjs and hour.mjs; Node.js and
// "npm ci --prefix edge/web/app" are needed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	var o options
	only := flag.String("only", "", "measure this part only: live, hour")
	flag.BoolVar(&o.quick, "quick", false, "a smoke run")
	flag.DurationVar(&o.live, "for", 20*time.Minute, "how long the live page stays open, for its heap")
	flag.StringVar(&o.binary, "engram", "", "the program (default: it is built)")
	flag.StringVar(&o.chromium, "chromium", "chromium", "the browser")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	quick            bool
	live             time.Duration
	binary, chromium string
	dir              string // of what is made
	source           string // of this program
}

func (o *options) run(ctx context.Context, only string) error {
	parts := map[string]func(context.Context) error{"live": o.measureLive, "hour": o.measureHour}
	if only != "" && parts[only] == nil {
		return fmt.Errorf("-only %s: there is no such part; there are live and hour", only)
	}
	_, file, _, _ := runtime.Caller(0)
	o.source = filepath.Dir(file)
	chromium, err := exec.LookPath(o.chromium)
	if err != nil {
		return fmt.Errorf("there is no browser %s; install Debian's chromium, or name one with -chromium", o.chromium)
	}
	o.chromium = chromium
	if o.dir, err = os.MkdirTemp("", "engram-bench-web-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "engram")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.binary, "github.com/seed-301d4374/engram/cmd/engram").CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	for _, name := range []string{"live", "hour"} {
		if only == "" || only == name {
			if err := parts[name](ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// browse runs a script in the browser, at an address. A line "do NAME" is done by do, whose
// answer the script reads; all other lines are printed.
func (o *options) browse(ctx context.Context, script, address string, do map[string]func() (string, error)) error {
	cmd := exec.CommandContext(ctx, "node", filepath.Join(o.source, script), address)
	cmd.Env = append(os.Environ(), "CHROMIUM="+o.chromium)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	var failed error
	for lines.Scan() {
		name, asked := strings.CutPrefix(lines.Text(), "do ")
		if !asked {
			fmt.Println(lines.Text())
			continue
		}
		answer, err := "", fmt.Errorf("the script asks for %q", name)
		if f := do[name]; f != nil {
			answer, err = f()
		}
		if err != nil {
			failed = errors.Join(failed, err, cmd.Process.Kill())
			break
		}
		if _, err := io.WriteString(in, answer+"\n"); err != nil {
			failed = errors.Join(failed, err)
			break
		}
	}
	if err := cmd.Wait(); failed == nil && err != nil {
		failed = fmt.Errorf("%s: %w", script, err)
	}
	return failed
}
