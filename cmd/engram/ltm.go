package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
)

func newLTM() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ltm",
		Short: "What the long-term memory holds, what it keeps, and how to forget",
		Long: `Looks after the long-term memory of a server that records ('engram serve --data DIR').
What is on disk is read as everything else, with get, history and query. docs/ltm.md
explains what is recorded, in what form, and how long it is kept.`,
	}
	addServerFlag(cmd)
	cmd.AddCommand(newLTMStats(), newLTMPolicy(), newLTMForget(), newLTMCompact(), newLTMRepair(), newLTMRecall())
	return cmd
}

// addYesFlag gives a command that destroys something the flag that confirms it.
func addYesFlag(cmd *cobra.Command) { cmd.Flags().Bool("yes", false, "do it without asking") }

// confirm asks, on a terminal, whether to go on after what is said; elsewhere --yes
// has to say it.
func confirm(cmd *cobra.Command, what string) error {
	if yes, _ := cmd.Flags().GetBool("yes"); yes {
		return nil
	}
	file, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return usagef("%s Say --yes to do it", what)
	}
	cmd.PrintErrf("%s Go on? [y/N] ", what)
	answer, err := bufio.NewReader(file).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return engram.Errorf(engram.Canceled, "", "nothing was done")
}

// segmentStatsJSON is what 'ltm stats' prints of a core segment.
type segmentStatsJSON struct {
	Segment   string       `json:"segment"`
	Entities  uint64       `json:"entities,string"`
	Snapshots uint64       `json:"snapshots,string"`
	Bytes     int64        `json:"bytes,string"`
	Start     *engram.Time `json:"start,omitempty"` // absent where there are no snapshots
	End       *engram.Time `json:"end,omitempty"`
	Recorded  uint64       `json:"recorded,string"`
	Filtered  uint64       `json:"filtered,string"`
	Forgotten uint64       `json:"forgotten,string"`
}

type longTermStatsJSON struct {
	Dir       string             `json:"dir"`
	Episodes  int                `json:"episodes"`
	Bytes     int64              `json:"bytes,string"`
	Snapshots uint64             `json:"snapshots,string"`
	Recorded  uint64             `json:"recorded,string"`
	Filtered  uint64             `json:"filtered,string"`
	Lost      uint64             `json:"lost,string"`
	Health    []string           `json:"health"`
	DiskTotal uint64             `json:"disk_total,string"`
	DiskFree  uint64             `json:"disk_free,string"`
	Segments  []segmentStatsJSON `json:"segments"`
}

func newLTMStats() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Print what is on disk of each core segment, and how it fares",
		Long: `Prints what the episodes hold of each core segment, the open one too, and what this life
of the server recorded, left out as the policies say, and forgot. SIZE is what is in files:
the newest of the open episode is still to be written. If something does not work just now,
such as a full disk, it is said and the exit code is 1.`,
		Args: positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withLongTerm(cmd, func(format string, store admin.Service) error {
			st, err := store.LTMStats(cmd.Context())
			if err != nil {
				return err
			}
			out := &table{header: []string{"SEGMENT", "ENTITIES", "SNAPSHOTS", "SIZE", "START", "LENGTH", "RECORDED", "LEFT OUT", "FORGOTTEN"},
				right: []bool{1: true, 2: true, 3: true, 5: true, 6: true, 7: true, 8: true},
				spare: []string{"RECORDED", "ENTITIES", "FORGOTTEN", "LEFT OUT", "START"}}
			object := longTermStatsJSON{
				Dir: st.Dir, Episodes: st.Episodes, Bytes: st.Bytes, Snapshots: st.Snapshots, Recorded: st.Recorded, Filtered: st.Filtered, Lost: st.Lost,
				Health: append([]string{}, st.Health...), DiskTotal: st.DiskTotal, DiskFree: st.DiskFree, Segments: []segmentStatsJSON{},
			}
			for _, s := range st.Segments {
				o := segmentStatsJSON{
					Segment: s.Segment.String(), Entities: s.Entities, Snapshots: s.Snapshots, Bytes: s.Bytes,
					Recorded: s.Recorded, Filtered: s.Filtered, Forgotten: s.Forgotten,
				}
				start, length := cell{}, cell{}
				if !s.Span.Empty() {
					o.Start, o.End = new(s.Span.Start), new(s.Span.End)
					start = secondTime(s.Span.Start)
					length = lengthOf(s.Span)
				}
				object.Segments = append(object.Segments, o)
				out.add(o.Segment, s.Entities, s.Snapshots, byteSize(s.Bytes), start, length, s.Recorded, s.Filtered, s.Forgotten)
			}
			if format == "table" || format == "csv" {
				err = print[segmentStatsJSON](cmd.OutOrStdout(), format, out, nil)
			} else {
				err = printObject(cmd.OutOrStdout(), format, object)
			}
			if err != nil {
				return err
			}
			if format == "table" {
				cmd.PrintErrf("%s: %s in %s, %s; the disk has %s of %s free\n", st.Dir, countOf(st.Snapshots, "snapshot"),
					countOf(uint64(st.Episodes), "episode"), byteSize(st.Bytes), byteSize(st.DiskFree), byteSize(st.DiskTotal))
				if st.Lost > 0 {
					cmd.PrintErrf("engram: %s could not be recorded in this life; the episodes say why\n", countOf(st.Lost, "version"))
				}
			}
			if len(st.Health) > 0 {
				return engram.Errorf(engram.Unavailable, "", "%s", strings.Join(st.Health, "; "))
			}
			return nil
		})
	}
	return cmd
}

func newLTMRecall() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recall PATTERN…",
		Short: "Put what is on disk back into the working memory",
		Long: `Puts what is on disk back into the working memory, marked as recalled, as far as its
bounds take it. What is recalled often is not forgotten.`,
		Example:           "  engram ltm recall Object/Instance --range now-2h..now-1h",
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSpanFlag(cmd, "what is of A..B; either may be left out (default: each entity's newest)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		patterns, err := parsePatterns(args)
		if err != nil {
			return err
		}
		span, err := spanFlag(cmd)
		if err != nil {
			return err
		}
		sel := engram.Latest(1)
		if cmd.Flags().Changed("range") {
			sel = engram.In(span)
		}
		return useMemories(cmd, func(m engram.Service, store admin.Service) error {
			total := uint64(0)
			for _, p := range patterns {
				n, err := store.Recall(cmd.Context(), p.Select(sel))
				if err != nil {
					return err
				}
				total += n
			}
			if total == 0 {
				why := whyNothing(cmd, m, args)
				if len(why) == len(args) {
					return engram.Errorf(engram.NotFound, "", "%s", strings.Join(why, "; "))
				}
				for _, text := range why {
					cmd.PrintErrln("engram: " + text)
				}
			}
			cmd.Printf("%s recalled\n", countOf(total, "snapshot"))
			return nil
		})
	}
	return cmd
}
