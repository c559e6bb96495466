package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram/internal/mission"
)

// missionMap is where the hallway's map lies beside this module.
const missionMap = "../shared/data/maps/depot.yaml"

func newDemoMission() *cobra.Command {
	var c mission.Config
	var auto bool
	cmd := &cobra.Command{
		Use:   "mission",
		Short: "Watch four robots search a hallway for a piece of garbage and put it into a bin",
		Long: `Starts four memory servers on one backbone: of an operator, a worker with an arm and two
scouts, all simulated. The operator says five sentences; the scouts look for a piece of
garbage and a bin whose places nobody knows, and the worker brings the one to the other.
What one of them sees is in the world of all. On a terminal you are the operator: type the
sentences, an empty line for the next of the five, "help" or "quit". Times are simulated.

    engram demo mission --auto --speed 10
    engram demo mission --kill-scout --cut-link 20s
    engram demo mission --auto -o json 2> story.txt

The long-term memories of all four stay in the folder that is printed at the end. The
servers share one process, or with --namespaces each has a host of its own, as root:
--kill-scout ends a robot's server and all that it does, --cut-link loses what its link
carries.`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.StringVar(&c.Map, "map", missionMap, "a map of ROS's map_server (YAML); without the default one a small hallway of its own is used")
	f.Uint64Var(&c.Seed, "seed", 1, "what places and noise are made of")
	f.Float64Var(&c.Speed, "speed", 5, "how many times faster than real time, if the computer keeps up")
	f.StringVar(&c.Dir, "dir", "", "folder for the long-term memories; a new one among the temporary files if it is not given")
	f.BoolVar(&c.KillScout, "kill-scout", false, "kill scout2 in the middle of the search")
	f.DurationVar(&c.CutLink, "cut-link", 0, "cut scout1 off in the middle of the search, for this simulated time, such as 20s")
	f.BoolVar(&c.Namespaces, "namespaces", false, "give each of the four a host of its own: a process in a network namespace, joined by radio links (needs root)")
	addOutputFormats(cmd, []string{"table", "json"})
	f.BoolVar(&auto, "auto", false, "say the five sentences without asking, as where stdin is no terminal")
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		c.Out = cmd.OutOrStdout()
		if format == "json" { // the story is beside what is asked for
			c.Out = cmd.ErrOrStderr()
		}
		if c.Speed <= 0 || c.Speed > 100 {
			return usagef("--speed %v: above 0, at most 100", c.Speed)
		}
		if c.CutLink < 0 || c.CutLink > 10*time.Minute {
			return usagef("--cut-link %v: up to 10m", c.CutLink)
		}
		if _, err := os.Stat(c.Map); errors.Is(err, fs.ErrNotExist) && !cmd.Flags().Changed("map") {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is not there; a small hallway of the demonstration's own is used\n", c.Map)
			c.Map = ""
		}
		if c.Dir == "" {
			dir, err := os.MkdirTemp("", "engram-mission-")
			if err != nil {
				return err
			}
			c.Dir = dir
		}
		return runMission(cmd.Context(), cmd, c, auto || !typed(cmd), format)
	})
	return cmd
}

// runMission runs a mission to its end.
func runMission(ctx context.Context, cmd *cobra.Command, c mission.Config, auto bool, format string) (err error) {
	m, err := mission.Start(ctx, c)
	if err != nil {
		return err
	}
	var report *mission.Report
	if auto {
		report, err = m.Run(ctx)
	} else {
		report, err = converse(ctx, cmd, c.Out, m)
	}
	if report == nil {
		report = m.Report()
	}
	err = errors.Join(err, m.Close()) // the memories are whole only then
	if format == "json" {
		return errors.Join(writeJSONLine(cmd.OutOrStdout(), report), err)
	}
	fmt.Fprintf(c.Out, "\n%s\n\nThe long-term memories are in %s.\n", report, c.Dir)
	if report.Done {
		fmt.Fprintf(c.Out, "To ask why the garbage is where it is, afterwards:\n\n"+
			"    engram serve --robot %s --data %s --listen 127.0.0.1:7440 &\n"+
			"    engram trace '%s' --address 127.0.0.1:7440\n",
			mission.Operator, filepath.Join(c.Dir, mission.Operator), report.Dropped)
	}
	return err
}

// converse lets a person be the operator.
func converse(ctx context.Context, cmd *cobra.Command, out io.Writer, m *mission.Mission) (*mission.Report, error) {
	fmt.Fprintf(out, "You are the operator. These are the sentences of the thesis; an empty line says the next one,\n\"help\" says what else can be said, \"quit\" ends.\n\n    %s\n\n",
		strings.Join(mission.Sentences, "\n    "))
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(cmd.InOrStdin()); in.Scan(); {
			select {
			case lines <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	talking, enough := context.WithCancel(ctx)
	d := m.Dialogue()
	defer d.Close()
	defer enough()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Settled(talking, mission.GarbageDropped)
	}()
	for {
		select {
		case <-done:
			return m.Report(), ctx.Err()
		case line, ok := <-lines:
			switch strings.ToLower(line) {
			case "quit", "exit", "q":
				ok = false
			}
			if !ok {
				return m.Report(), ctx.Err()
			}
			d.Line(talking, line)
		}
	}
}

// typed reports whether somebody types what the command reads.
func typed(cmd *cobra.Command) bool {
	stdin, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(stdin.Fd()))
}
