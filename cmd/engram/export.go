package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [PATTERN…] FILE",
		Short: "Write a part of the memory into a recording that stands alone",
		Long: `Writes what the memory holds of the entities that a pattern matches, all without one,
from RAM and disk, into an MCAP file. It begins with what was in force at the start of
the --range, and holds the types, so that Foxglove, Rerun, PlotJuggler and the mcap tool
open it; 'engram import' makes the same memory of it. Transforms, items of the world,
plans, laser scans and what was said are in it once more, as viewers draw them, in
channels that an import leaves out; --no-derived leaves them away. If something that was asked for
is not there any more it is said. The exit code is 3 if that is a loss: evicted before it
was recorded, damaged, or of a server that is not reached. What policies have left out and
what was forgotten is none.

With --ros2 the file is an MCAP file with messages of ROS 2, for 'ros2 bag play', with
--ros1 a bag for rosbag. What was imported comes as it was recorded: bytes, log times,
order, definitions; of the other generation each message is rewritten. What else there is
comes as the message that it corresponds to (TFMessage, JointState, Image, Odometry …), or
as one that is made of its type, which a table tells topic by topic.

With --lerobot FILE is a folder: a data set of LeRobot v3.0, with the joints that are felt as
observation.state, those that are commanded as action, images as videos, and what was said
or executed as task. What one provider gave is one episode. All is resampled onto one clock,
and a table tells of each signal what that did.`,
		Example: `  engram export all.mcap
  engram export --ros2 '*/*/run7' run7.mcap
  engram export --ros1 all.bag
  engram export 'Vision/*' RobotState --range now-10m..now-5m fall.mcap
  engram export Object --target ltm objects.mcap
  engram export --lerobot '*/*/~run.*' picking --task 'Pick up the bottle.'`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSpanFlag(cmd, "only what is of A..B, and what was in force at A; either may be left out")
	cmd.Flags().String("target", "both", "which memory is exported: wm, ltm, both")
	cmd.Flags().String("robot", "", "the robot's name, noted in the file")
	cmd.Flags().Bool("no-derived", false, "no channels that are made for viewers: /tf, /world, /scan, /plans, /speech")
	cmd.Flags().Bool("ros1", false, "a bag of ROS 1, FILE.bag")
	cmd.Flags().Bool("ros2", false, "messages of ROS 2, in FILE.mcap")
	addLeRobotFlags(cmd)
	printing(cmd, export)
	return cmd
}

type exportJSON struct {
	File      string       `json:"file"`
	Entities  int          `json:"entities"`
	Snapshots uint64       `json:"snapshots,string"`
	InForce   uint64       `json:"in_force,string"`
	Bytes     int64        `json:"bytes,string"`
	Start     *engram.Time `json:"start,omitempty"` // of what was recorded; absent if all holds at all times
	End       *engram.Time `json:"end,omitempty"`
	Seconds   float64      `json:"seconds"`
	Missing   int          `json:"missing"`
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkExportFile refuses a file that cannot be written.
func checkExportFile(file, suffix string) error {
	if !strings.HasSuffix(file, suffix) {
		if strings.HasSuffix(file, ".bag") {
			return usagef("%q: bags are of ROS 1; use --ros1, or a name that ends in .mcap", file)
		}
		return usagef("%q: the file comes last, and its name ends in %s", file, suffix)
	}
	if _, err := os.Stat(file); err == nil {
		return usagef("%s is there already; give another name", file)
	}
	if dir := filepath.Dir(file); !isFolder(dir) {
		return usagef("%s: there is no folder %s", file, dir)
	}
	return nil
}

func export(cmd *cobra.Command, args []string, format string) (err error) {
	file := args[len(args)-1]
	version, err := rosVersion(cmd)
	if err != nil {
		return err
	}
	lerobot, _ := cmd.Flags().GetBool("lerobot")
	suffix := ".mcap"
	if version == rosmsg.ROS1 {
		suffix = ".bag"
	}
	for _, name := range leRobotFlags {
		if !lerobot && cmd.Flags().Changed(name) {
			return usagef("--%s is for a data set of --lerobot", name)
		}
	}
	if lerobot {
		err = checkLeRobotFolder(cmd, file)
	} else {
		err = checkExportFile(file, suffix)
	}
	if err != nil {
		return err
	}
	var o ingest.ExportOptions
	if len(args) > 1 {
		if o.Patterns, err = parsePatterns(args[:len(args)-1]); err != nil {
			return err
		}
	}
	if o.Span, err = spanFlag(cmd); err != nil {
		return err
	}
	if o.Target, err = targetFlag(cmd); err != nil {
		return err
	}
	o.Robot, _ = cmd.Flags().GetString("robot")
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	if lerobot {
		return exportLeRobot(cmd, m, args, o, format)
	}
	if version != 0 {
		return exportROS(cmd, m, args, version, o, format)
	}
	if no, _ := cmd.Flags().GetBool("no-derived"); !no {
		derive, done, err := newDeriver(cmd.Context(), m)
		if err != nil {
			return err
		}
		defer done()
		o.Derive = derive
	}
	bar := newProgress(cmd, file, true)
	o.Progress = bar.set
	report, err := ingest.Export(cmd.Context(), m, file, o)
	bar.finish()
	sayWhyNothing(cmd, m, args[:len(args)-1])
	if err != nil {
		return err
	}
	lost := tellMissing(cmd, file, report.Missing)
	object := exportJSON{
		File: file, Entities: report.Entities, Snapshots: report.Snapshots, InForce: report.InForce, Bytes: report.Bytes,
		Seconds: report.Took.Seconds(), Missing: len(report.Missing),
	}
	start, length := any(cell{}), cell{}
	if !report.Span.Empty() {
		object.Start, object.End = new(report.Span.Start), new(report.Span.End)
		start, length = report.Span.Start, lengthOf(report.Span)
	}
	t := &table{header: []string{"FILE", "ENTITIES", "SNAPSHOTS", "IN FORCE", "SIZE", "START", "LENGTH"}, right: []bool{1: true, 2: true, 3: true, 4: true, 6: true}}
	t.add(file, object.Entities, object.Snapshots, object.InForce, byteSize(object.Bytes), start, length)
	if err := print(cmd.OutOrStdout(), format, t, []exportJSON{object}); err != nil {
		return err
	}
	if format == "table" {
		cmd.PrintErrf("exported in %v\n", report.Took.Round(10*time.Millisecond))
	}
	if len(lost) > 0 {
		return &lossError{fmt.Sprintf("%s lacks what should be in the memory, see above", file)}
	}
	return nil
}

// newDeriver returns what makes the channels for viewers of an export; done releases what it holds.
func newDeriver(ctx context.Context, types engram.Types) (derive *foxglove.Deriver, done func(), err error) {
	robots, err := server.New(server.Config{Memories: []server.Memory{memories.RobotState()}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = robots.Close() } // nothing in it is kept
	if derive, err = foxglove.NewDeriver(ctx, types, robots); err != nil {
		done()
	}
	return derive, done, err
}

// tellMissing says what a file lacks of what was asked for, and returns what of it is a loss.
func tellMissing(cmd *cobra.Command, file string, missing []engram.Missing) (lost []engram.Missing) {
	lost = slices.DeleteFunc(slices.Clone(missing), byRule)
	warnMissing(cmd, lost)
	tellByRule(cmd, file, missing)
	return lost
}

// byRule reports whether something is missing since policies, orders or rules want it so.
func byRule(m engram.Missing) bool {
	return m.Reason == engram.MissingFiltered || m.Reason == engram.MissingForgotten || m.Reason == engram.MissingLeftOut
}

// tellByRule sums up what is missing by rule.
func tellByRule(cmd *cobra.Command, file string, missing []engram.Missing) {
	for _, reason := range []string{engram.MissingFiltered, engram.MissingForgotten, engram.MissingLeftOut} {
		var n uint64
		some, of := false, map[engram.ID]bool{}
		for _, m := range missing {
			if m.Reason == reason {
				n, some, of[m.ID] = n+m.Count, some || m.Count == 0, true
			}
		}
		if len(of) == 0 {
			continue
		}
		count := countOf(n, "snapshot")
		if some {
			count = "some snapshots"
		}
		cmd.PrintErrf("not in %s: %s of %s, %s\n", file, count, countOf(uint64(len(of)), "entity"), cmp.Or(missingWords[reason], reason))
	}
}
