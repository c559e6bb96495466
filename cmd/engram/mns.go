package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
)

// entryJSON is an entry of the name system as mns prints it.
type entryJSON struct {
	Memory    string   `json:"memory"`
	Server    string   `json:"server,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Removed   bool     `json:"removed,omitempty"`
}

func newMNS() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mns",
		Short: "The memory name system: which server hosts which memory",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  positional(cobra.NoArgs),
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
	var objects []entryJSON
	for _, e := range entries {
		out.add(visible(e.Memory), visible(e.Server), visible(strings.Join(e.Addresses, "  ")))
		objects = append(objects, entryJSON{Memory: e.Memory, Server: e.Server, Addresses: e.Addresses})
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

func newMNSLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the memories that are registered, with their servers",
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
		return withNames(cmd, func(format string, names mns.Registry) error {
			e, err := names.Resolve(cmd.Context(), args[0])
			if engram.CodeOf(err) == engram.NotFound && wait > 0 {
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
	addOutputFlag(cmd)
	cmd.Flags().Int("count", 0, "end after N lines")
	cmd.Flags().Duration("for", 0, "end after this time")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		count, _ := cmd.Flags().GetInt("count")
		limit, _ := cmd.Flags().GetDuration("for")
		if count < 0 || limit < 0 {
			return usagef("--count %d --for %v: 0 or more", count, limit)
		}
		return withNames(cmd, func(format string, names mns.Registry) error {
			if format == "yaml" || format == "csv" {
				return usagef("-o %s: watch prints table, json or ndjson", format)
			}
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
// goes on when the name system was away.
func watchNames(ctx context.Context, cmd *cobra.Command, format string, names mns.Registry, count int) error {
	seen := 0
	for {
		for ev, err := range names.Watch(ctx) {
			switch {
			case ctx.Err() != nil, engram.CodeOf(err) == engram.Canceled:
				return nil // the user, or --for, ended it; the server may notice first
			case engram.CodeOf(err) == engram.Unavailable && seen > 0:
				cmd.PrintErrf("engram: %v; waiting\n", err)
			case err != nil:
				return err
			case ev.Synced:
			default:
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

func printNameEvent(cmd *cobra.Command, format string, ev mns.Event) error {
	e := ev.Entry
	if format != "table" {
		return writeJSONLine(cmd.OutOrStdout(), entryJSON{Memory: e.Memory, Server: e.Server, Addresses: e.Addresses, Removed: ev.Removed})
	}
	line := fmt.Sprintf("+ %s  at server %s  %s", visible(e.Memory), visible(e.Server), visible(strings.Join(e.Addresses, "  ")))
	if ev.Removed {
		line = "- " + visible(e.Memory)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
	return err
}
