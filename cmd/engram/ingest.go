package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/live"
)

func newIngest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ingest ADDRESS",
		Short: "Write what a running robot publishes into the memory: foxglove_bridge of ROS 1 or ROS 2",
		Long: `Connects to a server of Foxglove's WebSocket protocol, such as foxglove_bridge,
subscribes to its topics, those to come too, and commits each message as 'engram
import' does with recordings: to the same segments, by the same mapping, with the same
types and times. The provider is the robot's host name, the entity the topic. The
description (URDF) among the server's parameters is committed for the robot.

It goes on until it is interrupted, or --for has passed, and then prints what became
of each topic. Where the connection breaks, it is made again. If the memory does not
keep up, the oldest of what waits is dropped and counted. What was lost so is named
at the end, and the exit code is 3. It waits for a memory that went away. docs/ingest.md has the rest.`,
		Example: `  engram ingest ws://robot:8765
  engram ingest ws://robot:8765 --topic '/camera/*' --topic /tf --topic /tf_static
  engram ingest ws://10.0.0.7:8765 --source spot --without '*/image_raw'
  engram ingest wss://robot.lab:8765 --for 10m --all`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addImportFlags(cmd, "the host's name")
	f := cmd.Flags()
	f.StringArray("topic", nil, "only this topic, may be a glob; may be repeated")
	f.StringArray("without", nil, "not this topic, may be a glob; may be repeated")
	f.Duration("for", 0, "end after this time")
	f.Int("queue", 64, "MiB of messages that may wait for the memory before the oldest are dropped")
	printing(cmd, ingestLive)
	return cmd
}

func ingestLive(cmd *cobra.Command, args []string, format string) error {
	f := cmd.Flags()
	o, err := importOptions(cmd)
	if err != nil {
		return err
	}
	queue, _ := f.GetInt("queue")
	if queue < 1 || queue > 1<<14 {
		return usagef("--queue %d: from 1 to %d MiB", queue, 1<<14)
	}
	if o.Mapping == nil {
		o.Mapping = ingest.DefaultMapping()
	}
	if u, err := url.Parse(args[0]); err == nil && o.Source == "" {
		o.Source = u.Hostname()
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if d, _ := f.GetDuration("for"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	only, _ := f.GetStringArray("topic")
	without, _ := f.GetStringArray("without")
	line := newLine(cmd)
	lo := live.Options{
		QueueBytes: queue << 20, Tell: line.tell,
		Wanted: func(topic, typ string) bool {
			return !isOwn(topic, o.Source) && (len(only) == 0 || ingest.FitsTopic(only, topic)) && !ingest.FitsTopic(without, topic) && o.Mapping.Wants(topic, typ)
		},
	}
	if !f.Changed("urdf") {
		lo.Described = func(parameter, urdf string) {
			if err := commitDescription(cmd, m, robotOf(parameter, o.Source), parameter, []byte(urdf)); err != nil && ctx.Err() == nil {
				line.tell(fmt.Sprintf("the robot's description is left out: %v", err))
			}
		}
	}
	src, err := live.Dial(ctx, args[0], lo)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := importURDF(cmd, m, args, o.Source); err != nil {
		return err
	}
	all, _ := f.GetBool("all")
	if all {
		o.Mark = keepAll(m, importLabel(args[0], o.Source))
	}
	o.Away = func(err error) {
		if err == nil {
			line.tell("the memory is back")
		} else {
			line.tell(fmt.Sprintf("the memory went away (%v); what comes waits for it", err))
		}
	}
	stop := line.run(src)
	report, err := ingest.Follow(ctx, m, src, src.Address(), o)
	stop()
	if report == nil {
		return err
	}
	src.Close() // or a description would be committed by another context
	// The interrupt that ended it does not end what follows; a second one does.
	cmd.SetContext(context.WithoutCancel(cmd.Context()))
	loss := lossesOf(cmd, report, nil)
	if err != nil {
		loss = append(loss, err.Error())
	}
	return conclude(cmd, m, format, []*ingest.Report{report}, loss, err == nil || report.Stored > 0)
}

// isOwn reports whether a topic is an entity that an ingestion from that source writes: a
// server that ingests from itself would do so for ever.
func isOwn(topic, source string) bool {
	id, err := engram.Parse(topic)
	return err == nil && id.Level() == engram.LevelEntity && id.ProviderSegment() == source
}

// robotOf returns the robot that a parameter describes: /robot_description and
// /NODE.robot_description the source itself, /NAME/robot_description another one.
func robotOf(parameter, source string) string {
	name := strings.TrimSuffix(strings.Trim(parameter, "/"), "robot_description")
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		name = name[:i]
	} else {
		name = ""
	}
	name = strings.ReplaceAll(name, "/", ".")
	if engram.CheckName(name) != nil {
		return source
	}
	return name
}

// line is a line on the terminal that tells how far it is, below what is told besides.
type line struct {
	cmd  *cobra.Command
	file *os.File // nil: no terminal, no line

	mu   sync.Mutex
	text string // what stands there
}

const (
	lineEvery = time.Second
	clearLine = "\r\x1b[K"
)

func newLine(cmd *cobra.Command) *line {
	l := &line{cmd: cmd}
	if file, ok := cmd.ErrOrStderr().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		l.file = file
	}
	return l
}

// tell prints a line above.
func (l *line) tell(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text != "" {
		l.cmd.PrintErr(clearLine)
	}
	l.cmd.PrintErrf("engram: %s\n", visible(text))
	l.cmd.PrintErr(l.text)
}

func (l *line) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text = text; l.file != nil {
		l.cmd.PrintErr(clearLine + text)
	}
}

// run shows a source's figures until stop is called.
func (l *line) run(src *live.Source) (stop func()) {
	if l.file == nil {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for before := src.Figures(); ; {
			select {
			case <-tick.C:
			case <-done:
				l.show("")
				return
			}
			now := src.Figures()
			l.show(figuresText(src.Address(), now, before, lineEvery))
			before = now
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

// figuresText tells figures, and the rates since others.
func figuresText(address string, now, before live.Figures, passed time.Duration) string {
	if !now.Connected {
		return fmt.Sprintf("%s: no connection; %s so far", address, countOf(now.Messages, "message"))
	}
	text := fmt.Sprintf("%s: %s, %s messages, %.0f/s, %.1f MB/s", address, countOf(uint64(now.Channels), "topic"), formatCount(now.Messages),
		float64(now.Messages-before.Messages)/passed.Seconds(), float64(now.Bytes-before.Bytes)/1e6/passed.Seconds())
	if now.Dropped > 0 {
		text += fmt.Sprintf(", %s dropped", formatCount(now.Dropped))
	}
	return text
}
