package main

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// systemState is the memory that servers write about themselves.
const systemState = "SystemState"

// updateJSON is an update as watch prints it.
type updateJSON struct {
	Number     string         `json:"number"`
	ID         string         `json:"id"`
	Time       engram.Time    `json:"time"`
	Arrived    engram.Time    `json:"arrived"`
	Supersedes bool           `json:"supersedes,omitempty"`
	Dropped    uint64         `json:"dropped,omitempty,string"`
	Restarted  bool           `json:"restarted,omitempty"`
	Instances  []instanceJSON `json:"instances,omitempty"`
}

// absenceJSON is what watch prints when a server goes away, and when it is back.
type absenceJSON struct {
	Absence struct {
		Memories []string    `json:"memories"`
		Server   string      `json:"server"`
		Since    engram.Time `json:"since"`
		Until    engram.Time `json:"until,omitempty"`
	} `json:"absence"`
}

func newWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [ID…]",
		Short: "Print updates as they come",
		Long: `Prints a line for each snapshot that is written below the given IDs (patterns
allowed; none is everything of this robot but SystemState, which tells of itself every
second; robot1:Object is Object of robot1, and *:Object that of every robot), until
interrupted. If the terminal is too slow,
updates are dropped, the oldest or, with --latest, all but the newest of each entity;
how many is shown. Updates on which --where
cannot be evaluated are told on standard error, the first at once. While a server is not
reached, this is said; what comes there meanwhile is printed when it is back.`,
		Example: `  engram watch Object/Instance
  engram watch Vision --ids
  engram watch Speech --last 3 --for 10s
  engram watch RobotState --count 1 -o json`,
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	addOutputFormats(cmd, streamFormats)
	f.Int("last", 0, "begin with the last N snapshots of each entity")
	f.String("since", "", "begin with the kept snapshots from this time on: absolute or now-10s")
	f.Bool("ids", false, "IDs only, without the data")
	f.Bool("latest", false, "if too slow, skip to the newest update of each entity")
	f.Int("count", 0, "end after N updates")
	f.Duration("for", 0, "end after this time")
	f.String("where", "", "a CEL expression, such as 'confidence > 0.8'")
	f.StringArray("field", nil, "deliver only this member; may be repeated")
	f.Bool("bytes", false, "with -o, print bytes in full (base64) instead of their size and hash")
	printing(cmd, watch)
	return cmd
}

func watch(cmd *cobra.Command, args []string, format string) error {
	sub, err := watchSubscription(cmd, args)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if err := doubtWatch(ctx, m, sub); err != nil {
		return err
	}
	stream, err := m.Subscribe(ctx, sub)
	if err != nil {
		return err
	}
	if err := noteUnknown(ctx, cmd, m, sub.Patterns); err != nil {
		return err
	}
	if d, _ := cmd.Flags().GetDuration("for"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	count, _ := cmd.Flags().GetInt("count")
	sh := shape{fields: sub.Fields}
	sh.allBytes, _ = cmd.Flags().GetBool("bytes")
	types := newTypeCache(m)
	lines := newSnapshotLines(cmd.OutOrStdout(), types)
	lines.base, lines.stamped = baseOf(sub.Patterns), stamped(cmd)
	updates := engram.Updates(ctx, stream)
	if len(args) == 0 {
		updates = withoutSystem(updates)
	}
	seen := 0
	for u, err := range updates {
		if err != nil {
			if engram.CodeOf(err) == engram.Canceled {
				return nil // the user, or --for, ended it
			}
			return err
		}
		if u.Absence != nil {
			if err := printAbsence(cmd, format, *u.Absence); err != nil {
				return err
			}
			continue
		}
		if u.Failed != nil {
			warnMissing(cmd, []engram.Missing{*u.Failed})
			continue
		}
		if format == "table" {
			err = printUpdate(ctx, cmd, lines, u)
		} else {
			err = printUpdateJSON(ctx, cmd, types, u, sh)
		}
		if err != nil {
			return err
		}
		if seen++; seen == count {
			return nil
		}
	}
	return nil
}

// withoutSystem leaves out the updates of SystemState. If one tells that others were dropped, or of a
// restart, the next update that is not left out does.
func withoutSystem(updates iter.Seq2[engram.Update, error]) iter.Seq2[engram.Update, error] {
	return func(yield func(engram.Update, error) bool) {
		var dropped uint64
		restarted := false
		for u, err := range updates {
			if err == nil && u.Absence == nil && u.Failed == nil {
				dropped, restarted = dropped+u.Dropped, restarted || u.Restarted
				if u.ID.Memory() == systemState {
					continue
				}
				u.Dropped, u.Restarted = dropped, restarted
				dropped, restarted = 0, false
			}
			if !yield(u, err) {
				return
			}
		}
	}
}

// doubtWatch refuses a --where that no update of the segments there are would ever satisfy.
func doubtWatch(ctx context.Context, m engram.Service, sub engram.Subscription) error {
	if sub.Where == "" {
		return nil
	}
	filter, err := idf.CompileFilter(sub.Where)
	if err != nil {
		return err
	}
	patterns := sub.Patterns
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	cache := newTypeCache(m)
	var types []*idf.Type
	for _, p := range patterns {
		p.Levels = p.Levels[:min(len(p.Levels), int(engram.LevelProviderSegment))]
		segments, err := m.Describe(ctx, p)
		if engram.CodeOf(err) == engram.Unavailable {
			return nil // the watch tells who is away
		}
		if err != nil {
			return err
		}
		if len(segments) == 0 {
			return nil // nobody knows yet what comes
		}
		for _, d := range segments {
			t, err := cache.get(ctx, cmp.Or(d.Type, engram.ValueType))
			if err != nil {
				return nil // what is of it is told when it comes
			}
			types = append(types, t)
		}
	}
	if filter.Doubts(types) == nil {
		return nil
	}
	// Payloads may be of types that extend the segments'.
	names, err := m.TypeNames(ctx)
	if err != nil {
		return nil // who may not ask is not refused for it
	}
	var all []*idf.Type
	for _, name := range names {
		t, err := cache.get(ctx, name)
		if err != nil {
			return nil
		}
		all = append(all, t)
	}
	if err := filter.Doubts(append(types, idf.Extending(all, types)...)); err != nil {
		return usagef("--where would never be satisfied: %w", err)
	}
	return nil
}

// noteUnknown tells of memories that are waited for.
func noteUnknown(ctx context.Context, cmd *cobra.Command, m engram.Statistician, patterns []engram.Pattern) error {
	for _, p := range patterns {
		if len(p.Levels) == 0 {
			continue
		}
		memory := engram.Pattern{Levels: p.Levels[:1]}
		found, err := m.Stats(ctx, memory, engram.LevelMemory)
		if engram.CodeOf(err) == engram.Unavailable {
			continue // the watch tells who is away
		}
		if err != nil {
			return err
		}
		if len(found) == 0 {
			cmd.PrintErrf("engram: there is no memory %s yet; waiting\n", visible(memory.String()))
		}
	}
	return nil
}

func watchSubscription(cmd *cobra.Command, args []string) (engram.Subscription, error) {
	f := cmd.Flags()
	sub := engram.Subscription{WithData: true, Absences: true, Failures: true}
	var err error
	if sub.Patterns, err = parsePatterns(args); err != nil {
		return sub, err
	}
	if ids, _ := f.GetBool("ids"); ids {
		sub.WithData = false
	}
	if latest, _ := f.GetBool("latest"); latest {
		sub.Slow = engram.SlowLatest
	}
	if sub.Where, _, err = whereFlag(cmd); err != nil {
		return sub, err
	}
	if sub.Fields, err = fieldFlag(cmd); err != nil {
		return sub, err
	}
	if err = exclusive(cmd, "last", "since"); err != nil {
		return sub, err
	}
	if n, _ := f.GetInt("count"); n < 0 {
		return sub, usagef("--count %d: 0 or more", n)
	}
	if d, _ := f.GetDuration("for"); d < 0 {
		return sub, usagef("--for %v: 0 or more", d)
	}
	if n, _ := f.GetInt("last"); f.Changed("last") {
		if n < 1 {
			return sub, usagef("--last %d: at least 1", n)
		}
		sub.Start = engram.Start{Kind: engram.StartLast, N: n}
	}
	if f.Changed("since") {
		sub.Start, err = sinceFlag(cmd)
	}
	return sub, err
}

func printAbsence(cmd *cobra.Command, format string, a engram.Absence) error {
	if format != "table" {
		var j absenceJSON
		j.Absence.Memories, j.Absence.Server, j.Absence.Since, j.Absence.Until = a.Memories, a.Server, a.Since, a.Until
		return writeJSONLine(cmd.OutOrStdout(), j)
	}
	memories, server := visible(strings.Join(a.Memories, ", ")), visible(a.Server)
	if a.Until == 0 {
		cmd.PrintErrf("engram: %s at server %s is away since %v; what comes there meanwhile is printed when it is back\n", memories, server, a.Since)
	} else {
		cmd.PrintErrf("engram: %s is back since %v at server %s; it was away since %v\n", memories, a.Until, server, a.Since)
	}
	return nil
}

func printUpdate(ctx context.Context, cmd *cobra.Command, lines *snapshotLines, u engram.Update) error {
	if u.Restarted {
		cmd.Println("-- the memory server has restarted, or another one has taken over; update numbers begin again --")
	}
	if u.Dropped > 0 {
		cmd.Printf("-- %s dropped: this watch was too slow --\n", countOf(u.Dropped, "update"))
	}
	return lines.line(ctx, u.ID, u.Snapshot, -1, u.Arrived)
}

func printUpdateJSON(ctx context.Context, cmd *cobra.Command, types *typeCache, u engram.Update, sh shape) error {
	when, _ := u.ID.Time()
	out := updateJSON{
		Number: strconv.FormatUint(u.Number, 10), ID: u.ID.String(), Time: when, Arrived: u.Arrived,
		Supersedes: u.Supersedes, Dropped: u.Dropped, Restarted: u.Restarted,
	}
	if u.Snapshot != nil {
		s, err := toSnapshotJSON(ctx, types, shown{engram.Item{ID: u.ID, Snapshot: u.Snapshot}, -1}, sh)
		if err != nil {
			return err
		}
		out.Instances = s.Instances
	}
	return writeJSONLine(cmd.OutOrStdout(), out)
}
