package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/node"
)

func newDemo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a simulated robot live in a memory, and ask about it",
		Long: `Starts a memory server, lets a simulated robot live in it for some seconds, and
shows what can be asked, with the commands to do it by hand. The robot reports 43
joints at 100 Hz, a stereo pair of rendered images at 20 Hz (640x480; with --keep
320x240), objects, the kitchen that they are in, speech and what its skills do. The
skills are offered to anybody, and run by the memory: see 'engram skill'.`,
		Args: positional(cobra.NoArgs),
	}
	cmd.Flags().Duration("for", 6*time.Second, "how long the robot lives, at least until it has brought its cup")
	cmd.Flags().Bool("keep", false, "let the robot and its memory live on afterwards, so that you can ask more, also in a browser")
	cmd.Flags().String("data", "", "record in this folder what the robot lives through; see 'engram serve --data'")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := &demo{cmd: cmd, out: cmd.OutOrStdout()}
		d.life, _ = cmd.Flags().GetDuration("for")
		if d.life < 5*time.Second || d.life > time.Hour {
			return usagef("--for %v: from 5s to 1h", d.life)
		}
		d.keep, _ = cmd.Flags().GetBool("keep")
		return d.run(cmd.Context())
	}
	return cmd
}

// demo tells a story in which every command that it prints is really run.
type demo struct {
	cmd     *cobra.Command
	out     io.Writer
	life    time.Duration
	keep    bool
	address string
	folder  string // for what it saves
}

const (
	demoCup    = "Object/Instance/Simulation/cup"
	demoAnswer = "Speech/Text/Simulation/humanoid"
)

func (d *demo) run(ctx context.Context) (err error) {
	if d.folder, err = os.MkdirTemp("", "engram-demo-"); err != nil {
		return err
	}
	n, err := d.start(ctx)
	if err != nil {
		return err
	}
	d.address = n.Addresses()[0]
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	served := make(chan error, 1)
	wg.Go(func() { served <- ended(n.Serve(serving)) })
	defer func() {
		stop()
		wg.Wait()
		err = errors.Join(err, <-served)
	}()

	robot, err := d.live(ctx)
	if err != nil {
		return err
	}
	if d.keep {
		dial, err := rpc.Dial(ctx, d.address, rpc.DialOptions{})
		if err != nil {
			return err
		}
		defer dial.Close()
		living, end := context.WithCancel(ctx)
		var life sync.WaitGroup
		life.Go(func() { _, _ = robot.Live(living, dial) }) // it ends with the memory
		defer life.Wait()
		defer end()
	}
	if err := d.ask(ctx); err != nil {
		return err
	}
	if !d.keep {
		d.say("That was it. To ask more yourself, keep the memory running with 'engram demo --keep'\n"+
			"and type the commands above in another terminal. To run a memory for your own robot:\n"+
			"'engram serve'. The picture of the cup is in %s.", d.folder)
		return nil
	}
	hint := ""
	if d.address != rpc.DefaultSocket() {
		hint = fmt.Sprintf(" after\n\n    export ENGRAM_ADDRESS=%s\n\n", d.address)
	}
	d.say("The robot lives on: look at %s in a browser, or type the commands above in another\nterminal%s, or have it do something: 'engram skill ls', 'engram skill run Story/BringObject\nobject=cup'. ^C ends it.", pageAddress(n), hint)
	<-ctx.Done()
	return nil
}

// start starts the server on the default socket, or on one of its own where another server
// runs already; one that is kept also on the default port, or on a free one, for browsers.
func (d *demo) start(ctx context.Context) (n *node.Node, err error) {
	c := node.Config{Memories: memories.All(memories.WithSystemMonitor(time.Second))}
	if dir, _ := d.cmd.Flags().GetString("data"); dir != "" {
		c.Data = &ltm.Options{Dir: dir}
	}
	own := "unix:" + filepath.Join(d.folder, "engram.sock")
	places := [][]string{{rpc.DefaultSocket()}, {own}}
	if d.keep {
		const free = "127.0.0.1:0"
		places = [][]string{rpc.DefaultAddresses(), {rpc.DefaultSocket(), free}, {own, free}}
	}
	for i, listen := range places {
		c.Listen = listen
		n, err = node.New(ctx, c)
		var taken *node.ListenError
		if err == nil || i == len(places)-1 || !errors.Is(err, engram.AlreadyExists) && !errors.As(err, &taken) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if d.keep {
		d.say("Open %s in a browser to see the memory live, back in time, and why.", pageAddress(n))
	}
	d.say("A memory server runs in this process, at %s.", n.Addresses()[0])
	return n, nil
}

// pageAddress returns where browsers find the page of a node that listens at a socket and a
// port.
func pageAddress(n *node.Node) string { return n.Addresses()[1] + "/" }

// live lets the robot live, until it has done what it is asked for first at least, while the memory is watched.
func (d *demo) live(ctx context.Context) (*sim.Robot, error) {
	width, height := 640, 480
	if d.keep { // RAM holds 28 s of these, and 7 s of the larger ones
		width, height = 320, 240
	}
	robot, err := sim.New(sim.Config{Start: engram.TimeOf(time.Now().Truncate(time.Millisecond)), Width: width, Height: height})
	if err != nil {
		return nil, err
	}
	dial, err := rpc.Dial(ctx, d.address, rpc.DialOptions{})
	if err != nil {
		return nil, err
	}
	defer dial.Close()
	d.say("A simulated robot now lives in it for %v: 43 joints at 100 Hz, two %dx%d cameras at\n"+
		"20 Hz, the objects it sees, what it hears and does. Its words and deeds, as they come:", d.life, width, height)
	heard, err := dial.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(demoAnswer)}})
	if err != nil {
		return nil, err
	}
	defer heard.Close()

	var wg sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	var watchErr error
	wg.Go(func() {
		watchErr = d.command(watching, "watch", "Speech/Text", "Skill/Execution", "--field", "text", "--field", "status", "--field", "message")
	})
	began := time.Now()
	living, end := context.WithCancel(ctx)
	defer end()
	wg.Go(func() {
		defer end()
		_, _ = heard.Next(living)
		select {
		case <-time.After(time.Until(began.Add(d.life))):
		case <-living.Done():
		}
	})
	report, err := robot.Live(living, dial)
	lived := time.Since(began)
	end()
	stop()
	wg.Wait()
	if err = errors.Join(err, watchErr, ctx.Err()); err != nil {
		return nil, err
	}
	if report.Refused > 0 {
		return nil, fmt.Errorf("the memory refused %s: %w", countOf(uint64(report.Refused), "update"), report.Err)
	}
	d.say("In %.1f s the robot wrote %s, among them %s; none was refused.", lived.Seconds(),
		countOf(uint64(report.Updates), "snapshot"), countOf(uint64(report.Frames), "stereo pair"))
	if report.Skipped > 0 {
		d.say("(This computer was too slow for %s, which the simulated camera left out.)", countOf(uint64(report.Skipped), "more pair"))
	}
	return robot, nil
}

// ask shows what can be asked.
func (d *demo) ask(ctx context.Context) error {
	link, err := d.sourceImage(ctx)
	if err != nil {
		return err
	}
	picture := filepath.Join(d.folder, "cup.png")
	for _, step := range []struct {
		say  string
		args []string
	}{
		{"What does the memory hold?", []string{"ls", "--depth", "core"}},
		{"The current state: where is the cup?", []string{"get", demoCup, "--field", "pose", "--field", "frame_id", "--field", "attachment"}},
		{"A past state: where was it three seconds before?", []string{"get", demoCup, "--at", "-3s", "--field", "pose", "--field", "frame_id", "--field", "attachment"}},
		{"A history: how did the skills end?", []string{"skill", "history"}},
		{"The world around the robot, as all that is known comes together:", []string{"world", "tree"}},
		{"What is known of the cup, and by whom?", []string{"world", "get", "cup"}},
		{"The newest pose of the cup links to the image that it was seen in:", []string{"get", demoCup, "--field", "source_image"}},
		{"Follow the link:", []string{"get", link, "--save", picture}},
		{"Links are followed both ways, with 'engram trace'. In sentences: why is the cup where it is?", []string{"why", demoCup}},
		{"Why did the robot say what it said, and how did it come to that?", []string{"why", demoAnswer}},
	} {
		d.say("%s", step.say)
		if err := d.command(ctx, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// sourceImage returns the link from the newest pose of the cup to its image.
func (d *demo) sourceImage(ctx context.Context) (string, error) {
	m, err := rpc.Dial(ctx, d.address, rpc.DialOptions{})
	if err != nil {
		return "", err
	}
	defer m.Close()
	s, err := m.Latest(ctx, engram.MustID(demoCup))
	if err != nil {
		return "", err
	}
	t, err := newTypeCache(m).get(ctx, s.Instances[0].Payload.Type)
	if err != nil {
		return "", err
	}
	links, err := t.Links(s.Instances[0].Payload.Bytes)
	if err != nil {
		return "", err
	}
	image := func(l idf.Link) bool { return l.ID.CoreSegment() == "ImageRGB" }
	for _, l := range links {
		if image(l) {
			return l.ID.String(), nil
		}
	}
	return "", engram.Errorf(engram.NotFound, demoCup, "the newest pose has no link to an image")
}

// command prints a command as it is typed in a shell, and runs it.
func (d *demo) command(ctx context.Context, args ...string) error {
	typed := make([]string, len(args))
	for i, a := range args {
		switch typed[i] = a; {
		case strings.Contains(a, "'"):
			typed[i] = `"` + a + `"` // no command here has $, ` or " as well
		case strings.ContainsAny(a, " *~\\!<>&|;()"):
			typed[i] = "'" + a + "'"
		}
	}
	fmt.Fprintf(d.out, "\n    $ engram %s\n", strings.Join(typed, " "))
	w := &indenter{w: d.out}
	root := newRoot()
	root.SetArgs(append(args, "--address", d.address))
	root.SetOut(w)
	root.SetErr(w)
	return root.ExecuteContext(ctx)
}

func (d *demo) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if width := layoutOf(d.out).width; width > 0 {
		text = wrapped(text, min(width, 100))
	}
	fmt.Fprintf(d.out, "\n%s\n", text)
}

// indenter indents each line by four spaces.
type indenter struct {
	w      io.Writer
	inLine bool
}

const demoIndent = "    "

func (i *indenter) layout() layout {
	l := layoutOf(i.w)
	l.width = max(0, l.width-len(demoIndent))
	return l
}

func (i *indenter) writeLine(spans []span) error {
	if len(spans) > 0 {
		spans = append([]span{{text: demoIndent}}, spans...)
	}
	return printWhole(i.w, spans...)
}

func (i *indenter) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		if !i.inLine && line != "\n" {
			b.WriteString(demoIndent)
		}
		b.WriteString(line)
		i.inLine = !strings.HasSuffix(line, "\n")
	}
	_, err := io.WriteString(i.w, b.String())
	return len(p), err
}
