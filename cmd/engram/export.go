package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest"
)

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [PATTERN…] FILE.mcap",
		Short: "Write a part of the memory into a recording that stands alone",
		Long: `Writes what the memory holds of the entities that a pattern matches, all without one,
from RAM and disk, into an MCAP file. It begins with what was in force at the start of
the --range, and holds the types, so that Foxglove, Rerun, PlotJuggler and the mcap tool
open it; 'engram import' makes the same memory of it. If something that was asked for
is not there any more it is said, and the exit code is 3.`,
		Example: `  engram export all.mcap
  engram export 'Vision/*' RobotState --range now-10m..now-5m fall.mcap
  engram export Object --target ltm objects.mcap`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addOutputFlag(cmd)
	addSpanFlag(cmd, "only what is of A..B, and what was in force at A; either may be left out")
	cmd.Flags().String("target", "both", "which memory is exported: wm, ltm, both")
	cmd.Flags().String("robot", "", "the robot's name, noted in the file")
	cmd.RunE = export
	return cmd
}

type exportJSON struct {
	File      string      `json:"file"`
	Entities  int         `json:"entities"`
	Snapshots uint64      `json:"snapshots,string"`
	InForce   uint64      `json:"in_force,string"`
	Bytes     int64       `json:"bytes,string"`
	Start     engram.Time `json:"start"`
	End       engram.Time `json:"end"`
	Seconds   float64     `json:"seconds"`
	Missing   int         `json:"missing"`
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func export(cmd *cobra.Command, args []string) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
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
	warnMissing(cmd, report.Missing)
	object := exportJSON{
		File: file, Entities: report.Entities, Snapshots: report.Snapshots, InForce: report.InForce, Bytes: report.Bytes,
		Start: report.Span.Start, End: report.Span.End, Seconds: report.Took.Seconds(), Missing: len(report.Missing),
	}
	t := &table{header: []string{"FILE", "ENTITIES", "SNAPSHOTS", "IN FORCE", "SIZE", "START", "LENGTH"}, right: []bool{1: true, 2: true, 3: true, 4: true, 6: true}}
	t.add(file, object.Entities, object.Snapshots, object.InForce, byteSize(object.Bytes), object.Start, lengthOf(report.Span))
	if err := print(cmd.OutOrStdout(), format, t, []exportJSON{object}); err != nil {
		return err
	}
	if format == "table" {
		cmd.PrintErrf("exported in %v\n", report.Took.Round(10*time.Millisecond))
	}
	if n := len(report.Missing); n > 0 {
		return &lossError{fmt.Sprintf("%s lacks what is not in the memory any more, see above", file)}
	}
	return nil
}
