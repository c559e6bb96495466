package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/words"
)

// entryJSON is an entry of the name system as mns prints it.
type entryJSON struct {
	Memory    string       `json:"memory"`
	Robot     string       `json:"robot,omitempty"`
	Server    string       `json:"server,omitempty"`
	Addresses []string     `json:"addresses,omitempty"`
	Copies    []holderJSON `json:"copies,omitempty"`
	Removed   bool         `json:"removed,omitempty"`
	// When the server was last heard, if it is silent, and when the name system was last
	// there, if it is away.
	SuspectedSince engram.Time `json:"silentSince,omitempty"`
	LastKnown      engram.Time `json:"lastKnown,omitempty"`
}

// holderJSON is a server that holds a copy.
type holderJSON struct {
	Server    string   `json:"server"`
	Robot     string   `json:"robot,omitempty"`
	Memory    string   `json:"memory"`
	Addresses []string `json:"addresses,omitempty"`

	SuspectedSince engram.Time `json:"silentSince,omitempty"`
}

func toEntryJSON(e mns.Entry) entryJSON {
	j := entryJSON{Memory: e.Memory, Robot: e.Robot, Server: e.Server, Addresses: e.Addresses, SuspectedSince: e.SuspectedSince, LastKnown: e.LastKnown}
	for _, c := range e.Copies {
		j.Copies = append(j.Copies, holderJSON{Server: c.Server, Robot: c.Robot, Memory: c.Memory, Addresses: c.Addresses, SuspectedSince: c.SuspectedSince})
	}
	return j
}

func newMNS() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mns",
		Short: "The memory name system: which server hosts which memory",
	}
	cmd.AddCommand(newMNSLs(), newMNSResolve(), newMNSWatch())
	return cmd
}

// withNames calls f with the name system and the format of -o.
func withNames(cmd *cobra.Command, f func(format string, names mns.Registry) error) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(format, m.Names())
}

func printEntries(cmd *cobra.Command, format string, entries []mns.Entry) error {
	out := &table{header: []string{"MEMORY", "SERVER", "ADDRESSES"}}
	copied := slices.ContainsFunc(entries, func(e mns.Entry) bool { return len(e.Copies) > 0 })
	if copied {
		out.header = []string{"MEMORY", "SERVER", "COPIES AT", "ADDRESSES"}
	}
	var objects []entryJSON
	for _, e := range entries {
		row := []any{visible(e.Memory), visible(serverText(e))}
		if copied {
			row = append(row, visible(strings.Join(e.Holders(), ", ")))
		}
		out.add(append(row, visible(strings.Join(e.Addresses, "  ")))...)
		objects = append(objects, toEntryJSON(e))
	}
	noteLastKnown(cmd, entries)
	return print(cmd.OutOrStdout(), format, out, objects)
}

// noteLastKnown says if the name system is away, and this is what it said before.
func noteLastKnown(cmd *cobra.Command, entries []mns.Entry) {
	for _, e := range entries {
		if e.LastKnown != 0 {
			cmd.PrintErrf("engram: the name system is away; this is what it said at %v, %s ago\n", e.LastKnown, ago(e.LastKnown))
			return
		}
	}
}

func ago(t engram.Time) string {
	return words.Duration(max(engram.Now().Sub(t), 0).Round(100 * time.Millisecond))
}

// serverText says which server a memory is at, and if that is silent.
func serverText(e mns.Entry) string {
	if e.Server == "" || e.SuspectedSince == 0 {
		return cmp.Or(e.Server, notReached)
	}
	return fmt.Sprintf("%s (silent for %s)", e.Server, ago(e.SuspectedSince))
}

// notReached stands for the server of a memory of which only copies are known.
const notReached = "(not reached)"

func newMNSLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the memories that are registered, with their servers and who holds copies",
		Args:  positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withNames(cmd, func(format string, names mns.Registry) error {
			entries, err := names.List(cmd.Context())
			if err != nil {
				return err
			}
			return printEntries(cmd, format, entries)
		})
	}
	return cmd
}

func newMNSResolve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resolve MEMORY",
		Short: "Print where a memory is",
		Example: `  engram mns resolve Vision
  engram mns resolve Grasp --wait 30s`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addOutputFlag(cmd)
	cmd.Flags().Duration("wait", 0, "wait so long for the memory to be registered")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wait, _ := cmd.Flags().GetDuration("wait")
		if wait < 0 {
			return usagef("--wait %v: 0 or more", wait)
		}
		if err := engram.CheckName(args[0]); err != nil {
			return usagef("%w", err)
		}
		if strings.Contains(args[0], "*") || strings.HasPrefix(args[0], "~") {
			return usagef("%s is a pattern; name one memory, as 'engram mns ls' lists them", args[0])
		}
		return withNames(cmd, func(format string, names mns.Registry) error {
			e, err := names.Resolve(cmd.Context(), args[0])
			if code := engram.CodeOf(err); wait > 0 && (code == engram.NotFound || code == engram.Unavailable) {
				ctx, cancel := context.WithTimeout(cmd.Context(), wait)
				defer cancel()
				var late error
				if e, late = names.Wait(ctx, args[0]); late == nil || engram.CodeOf(late) != engram.Canceled {
					err = late
				}
			}
			if err != nil {
				return err
			}
			return printEntries(cmd, format, []mns.Entry{e})
		})
	}
	return cmd
}

func newMNSWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print the registered memories, then each change, until interrupted",
		Args:  positional(cobra.NoArgs),
	}
	addOutputFormats(cmd, streamFormats)
	cmd.Flags().Int("count", 0, "end after N lines")
	cmd.Flags().Duration("for", 0, "end after this time")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		count, _ := cmd.Flags().GetInt("count")
		limit, _ := cmd.Flags().GetDuration("for")
		if count < 0 || limit < 0 {
			return usagef("--count %d --for %v: 0 or more", count, limit)
		}
		return withNames(cmd, func(format string, names mns.Registry) error {
			ctx := cmd.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			return watchNames(ctx, cmd, format, names, count)
		})
	}
	return cmd
}

// watchNames prints what names tells until ctx ends or count lines are printed. It
// goes on when the name system was away: what has not changed is not printed again.
func watchNames(ctx context.Context, cmd *cobra.Command, format string, names mns.Registry, count int) error {
	seen, told := 0, false
	printed := map[string]mns.Entry{}
	for {
		fresh, synced := map[string]mns.Entry{}, false
		for ev, err := range names.Watch(ctx) {
			switch {
			case ctx.Err() != nil, engram.CodeOf(err) == engram.Canceled:
				return nil // the user, or --for, ended it; the server may notice first
			case engram.CodeOf(err) == engram.Unavailable && told:
				cmd.PrintErrf("engram: %v; waiting\n", err)
				continue
			case err != nil:
				return err
			}
			var changes []mns.Event
			switch {
			case ev.Synced:
				synced, told = true, true
				noteLastKnown(cmd, mns.Sorted(fresh))
				changes, printed = mns.Changes(asBefore(printed, fresh), fresh), fresh
			case !synced && ev.Removed:
				delete(fresh, ev.Entry.Memory)
			case !synced:
				fresh[ev.Entry.Memory] = ev.Entry
			default:
				changes = applied(printed, ev)
			}
			for _, ev := range changes {
				if err := printNameEvent(cmd, format, ev); err != nil {
					return err
				}
				if seen++; seen == count {
					return nil
				}
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// asBefore returns the entries that were printed, but says of when they are what fresh
// does: a name is the same while the name system is away.
func asBefore(printed, fresh map[string]mns.Entry) map[string]mns.Entry {
	before := make(map[string]mns.Entry, len(printed))
	for m, e := range printed {
		e.LastKnown = fresh[m].LastKnown
		before[m] = e
	}
	return before
}

// applied changes what was printed by one event; it returns what is to be printed of it.
func applied(printed map[string]mns.Entry, ev mns.Event) []mns.Event {
	m := ev.Entry.Memory
	was, known := printed[m]
	was.LastKnown = ev.Entry.LastKnown
	same := known && was.Equal(ev.Entry)
	if ev.Removed {
		delete(printed, m)
		same = !known
	} else {
		printed[m] = ev.Entry
	}
	if same {
		return nil
	}
	return []mns.Event{ev}
}

func printNameEvent(cmd *cobra.Command, format string, ev mns.Event) error {
	e := ev.Entry
	if format != "table" {
		j := toEntryJSON(e)
		j.Removed = ev.Removed
		return writeJSONLine(cmd.OutOrStdout(), j)
	}
	line := fmt.Sprintf("+ %s  at server %s  %s", visible(e.Memory), visible(serverText(e)), visible(strings.Join(e.Addresses, "  ")))
	switch {
	case ev.Removed:
		line = "- " + visible(e.Memory)
	case e.Server == "":
		line = fmt.Sprintf("~ %s  %s", visible(e.Memory), notReached)
	}
	if len(e.Copies) > 0 {
		line += "  copies at " + visible(strings.Join(e.Holders(), ", "))
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
	return err
}
