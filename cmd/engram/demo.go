package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/sense"
	"github.com/seed-301d4374/engram/transport/rpc"
)

func newDemo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a simulated robot live in a memory, and ask about it",
		Long: `Starts a memory server, lets a simulated robot live in it for some seconds, and
shows what can be asked, with the commands to do it by hand. The robot reports 43
joints at 100 Hz, a stereo pair of rendered 640x480 images at 20 Hz, objects, the kitchen
that they are in, speech and what its skills do. Rules of attention let 2 pairs of images a
second into the memory, and all from 2 s before a grasp until 1 s after.`,
		Args: positional(cobra.NoArgs),
	}
	cmd.AddCommand(newDemoMission())
	cmd.Flags().Duration("for", 6*time.Second, "how long the robot lives")
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
	m       *rpc.Client // at that address
	folder  string      // for what it saves
}

const demoCup = "Object/Instance/Simulation/cup"

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

	if d.m, err = rpc.Dial(ctx, d.address, rpc.DialOptions{}); err != nil {
		return err
	}
	defer d.m.Close()
	attention, err := sense.New(ctx, d.m, sense.Config{Producer: "Simulation", Present: memories.Present(d.m), RingBytes: demoRing})
	if err != nil {
		return err
	}
	defer attention.Close()
	robot, err := d.live(ctx, attention)
	if err != nil {
		return err
	}
	if d.keep {
		living, end := context.WithCancel(ctx)
		var life sync.WaitGroup
		life.Go(func() { _, _ = robot.Run(living, attention, 1) }) // it lives as long as the memory
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
	if len(n.Addresses()) > 1 {
		hint += ",\nor open " + n.Addresses()[1] + " in a browser, or ws" + strings.TrimPrefix(n.Addresses()[1], "http") + " in Foxglove or Lichtblick"
	}
	d.say("The robot lives on; type the commands above in another terminal%s. ^C ends it.", hint)
	<-ctx.Done()
	return nil
}

// start starts the server on the default socket, or on one of its own where another server
// runs already; one that is kept also on the default port, for viewers, if that is free.
func (d *demo) start(ctx context.Context) (*node.Node, error) {
	c := node.Config{Memories: memories.All(memories.WithSystemMonitor(time.Second))}
	if dir, _ := d.cmd.Flags().GetString("data"); dir != "" {
		c.Data = &ltm.Options{Dir: dir}
	}
	places := [][]string{{rpc.DefaultSocket()}, {"unix:" + filepath.Join(d.folder, "engram.sock")}}
	if d.keep {
		places = slices.Insert(places, 0, rpc.DefaultAddresses())
	}
	var n *node.Node
	err := error(engram.AlreadyExists)
	for len(places) > 0 && errors.Is(err, engram.AlreadyExists) {
		c.Listen, places = places[0], places[1:]
		n, err = node.New(ctx, c)
	}
	if err == nil {
		d.say("A memory server runs in this process, at %s.", n.Addresses()[0])
	}
	return n, err
}

// demoRing is how many bytes the ring of the robot takes: 2 s of its images, and some more.
const demoRing = 96 << 20

// live lets the robot live, while the memory is watched. What it gives goes through its attention.
func (d *demo) live(ctx context.Context, attention *sense.Attention) (robot *sim.Robot, err error) {
	width, height := 640, 480
	if d.keep { // RAM has room for 28 s of these at their full rate, and for 7 s of those: who looks back finds them
		width, height = 320, 240
	}
	robot, err = sim.New(sim.Config{Start: engram.TimeOf(time.Now().Truncate(time.Millisecond)), Width: width, Height: height})
	if err != nil {
		return nil, err
	}
	d.say("A simulated robot is about to live in it. Its attention keeps what its sensors gave last in a ring,\n" +
		"and rules say what goes on to the memory: 2 Hz of images, and all of them around a grasp.")
	for name, rule := range demoRules() {
		if err := d.command(ctx, "put", "SystemState/Attention/demo/"+name, rule); err != nil {
			return nil, err
		}
	}
	d.say("It lives for %v: 43 joints at 100 Hz, two %dx%d cameras at\n"+
		"20 Hz, the objects it sees, what it hears and does. Its words and deeds, as they come:", d.life, width, height)

	var wg sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	var watchErr error
	var said *foretold
	var saidErr error
	foretelling, enough := context.WithCancel(ctx)
	defer enough()
	var asked sync.WaitGroup
	asked.Go(func() { said, saidErr = d.foretell(foretelling) })
	wg.Go(func() { watchErr = d.command(watching, "watch", "Speech", "Skill/Transition", "--last", "5") })
	began := time.Now()
	report, err := robot.RunTicks(ctx, attention, 1, int(d.life/sim.Period))
	lived := time.Since(began)
	if err != nil {
		enough()
	}
	asked.Wait()
	stop()
	wg.Wait()
	if err = errors.Join(err, watchErr, saidErr, ctx.Err()); err != nil {
		return robot, err
	}
	if report.Refused > 0 {
		return robot, fmt.Errorf("the memory refused %s: %w", countOf(uint64(report.Refused), "update"), report.Err)
	}
	d.say("In %.1f s the robot gave %s, among them %s; none was refused.", lived.Seconds(),
		countOf(uint64(report.Updates), "snapshot"), countOf(uint64(report.Frames), "stereo pair"))
	if report.Skipped > 0 {
		d.say("(This computer was too slow for %s, which the simulated camera left out.)", countOf(uint64(report.Skipped), "more pair"))
	}
	if said != nil {
		return robot, d.judge(ctx, said)
	}
	return robot, nil
}

// demoRules yields the rules of attention for the robot's images, by name.
func demoRules() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		_ = yield("idle", `{"entities": "Vision/ImageRGB", "filter": {"max_rate": "2 Hz"}}`) &&
			yield("grasp", `{"entities": "Vision/ImageRGB", "while": ["Skill/Execution/*/~Grasp.* where status == \"Running\""], "before": "2s", "after": "1s"}`)
	}
}

// ask shows what can be asked.
func (d *demo) ask(ctx context.Context) error {
	link, at, err := d.sourceImage(ctx)
	if err != nil {
		return err
	}
	picture := filepath.Join(d.folder, "cup.png")
	for _, step := range []struct {
		say  string
		args []string
	}{
		{"What did the robot's attention pass on, and why?", []string{"attention", "sensors"}},
		{"A grasp was a trigger:", []string{"attention", "incidents"}},
		{"What does the memory hold?", []string{"ls", "--depth", "core"}},
		{"The current state: where is the cup?", []string{"get", demoCup, "--field", "pose", "--field", "frame_id", "--field", "attachment"}},
		{"A past state: where was it three seconds before?", []string{"get", demoCup, "--at", "-3s", "--field", "pose", "--field", "frame_id", "--field", "attachment"}},
		{"A history: how did the skills end?", []string{"history", "Skill/Transition", "--latest", "2", "--where", "to_status in ['Succeeded', 'Failed']", "--field", "to_status", "--field", "reason"}},
		{"The world around the robot, as all that is known comes together:", []string{"world", "tree"}},
		{"What is known of the cup, and by whom?", []string{"world", "get", "cup"}},
		{"A pose of the cup links to the image that it was seen in:", []string{"get", demoCup, "--at", at.String(), "--field", "source_image"}},
		{"Follow the link:", []string{"get", link, "--save", picture}},
	} {
		d.say("%s", step.say)
		if err := d.command(ctx, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// sourceImage returns the link from a pose of the cup to its image, and when that was: the newest one whose image
// the memory has.
func (d *demo) sourceImage(ctx context.Context) (link string, at engram.Time, err error) {
	cup := engram.MustID(demoCup)
	const most = 200 // poses: 20 s
	r, err := d.m.Query(ctx, engram.SelectID(cup, engram.Latest(most)))
	if err != nil {
		return "", 0, err
	}
	types := newTypeCache(d.m)
	for _, it := range slices.Backward(r.Items()) {
		t, err := types.get(ctx, it.Snapshot.Instances[0].Payload.Type)
		if err != nil {
			return "", 0, err
		}
		links, err := t.Links(it.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			return "", 0, err
		}
		for _, l := range links {
			if l.ID.CoreSegment() != "ImageRGB" {
				continue
			}
			taken, _ := l.ID.Time()
			q := engram.SelectID(l.ID.Truncate(engram.LevelEntity), engram.At(taken))
			q.WithoutPayload = true
			image, err := d.m.Query(ctx, q)
			if err != nil {
				return "", 0, err
			}
			if len(image.Items()) > 0 {
				return l.ID.String(), it.Snapshot.Time, nil
			}
		}
	}
	return "", 0, engram.Errorf(engram.NotFound, demoCup, "no pose has a link to an image that is in the memory")
}

// command prints a command as it is typed in a shell, and runs it.
func (d *demo) command(ctx context.Context, args ...string) error {
	typed := make([]string, len(args))
	for i, a := range args {
		switch typed[i] = a; {
		case strings.Contains(a, "'"):
			typed[i] = `"` + a + `"` // no command here has $, ` or " as well
		case strings.ContainsAny(a, " *~\\!<>&|;(){}\""):
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
	fmt.Fprintf(d.out, "\n"+format+"\n", args...)
}

// indenter indents each line by four spaces.
type indenter struct {
	w      io.Writer
	inLine bool
}

func (i *indenter) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		if !i.inLine && line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
		i.inLine = !strings.HasSuffix(line, "\n")
	}
	_, err := io.WriteString(i.w, b.String())
	return len(p), err
}
