package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/ingest"
)

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [PATTERN…] FILE.mcap",
		Short: "Write a part of the memory into a recording that stands alone",
		Long: `Writes what the memory holds of the entities that a pattern matches, all without one,
from RAM and disk, into an MCAP file. It begins with what was in force at the start of
the --range, and holds the types, so that Foxglove, Rerun, PlotJuggler and the mcap tool
open it; 'engram import' makes the same memory of it. If something that was asked for
is not there any more it is said. The exit code is 3 if that is a loss: evicted before it
was recorded, damaged, or of a server that is not reached. What policies have left out and
what was forgotten is none.`,
		Example: `  engram export all.mcap
  engram export 'Vision/*' RobotState --range now-10m..now-5m fall.mcap
  engram export Object --target ltm objects.mcap`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSpanFlag(cmd, "only what is of A..B, and what was in force at A; either may be left out")
	cmd.Flags().String("target", "both", "which memory is exported: wm, ltm, both")
	cmd.Flags().String("robot", "", "the robot's name, noted in the file")
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

func export(cmd *cobra.Command, args []string, format string) (err error) {
	file := args[len(args)-1]
	if !strings.HasSuffix(file, ".mcap") {
		return usagef("%q: the file comes last, and its name ends in .mcap", file)
	}
	if _, err := os.Stat(file); err == nil {
		return usagef("%s is there already; give another name", file)
	}
	if dir := filepath.Dir(file); !isFolder(dir) {
		return usagef("%s: there is no folder %s", file, dir)
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
	bar := newProgress(cmd, file, true)
	o.Progress = bar.set
	report, err := ingest.Export(cmd.Context(), m, file, o)
	bar.finish()
	sayWhyNothing(cmd, m, args[:len(args)-1])
	if err != nil {
		return err
	}
	lost := slices.DeleteFunc(slices.Clone(report.Missing), byRule)
	warnMissing(cmd, lost)
	tellByRule(cmd, file, report.Missing)
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
