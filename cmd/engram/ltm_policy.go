package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/spelling"
)

func newLTMPolicy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Read and set what is recorded of core segments, and how long it is kept",
		Long: `A core segment's policy says which snapshots are recorded, in what form, and what is
kept for how long; and whether notices of its updates on the backbone tell data. What is
set holds from now on, also for later lives of the server.
docs/ltm.md explains the settings:
` + settingLines(),
	}
	cmd.AddCommand(newLTMPolicyGet(), newLTMPolicySet())
	return cmd
}

// settingLines lists the names of the settings, a line for each group.
func settingLines() string {
	var b strings.Builder
	group := ""
	for _, name := range policy.SettingNames() {
		of, _, nested := strings.Cut(name, ".")
		if !nested {
			of = ""
		}
		if b.Len() > 0 && of == group {
			b.WriteString(", " + name)
		} else {
			b.WriteString("\n  " + name)
		}
		group = of
	}
	return b.String()
}

type policyJSON struct {
	Segment    string            `json:"segment"`
	Overridden bool              `json:"overridden"`
	Set        []string          `json:"set"`                  // at run-time
	Durability string            `json:"durability,omitempty"` // that commits have now
	Settings   map[string]string `json:"settings"`
}

func newLTMPolicyGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "get [PATTERN…]",
		Short:             "Print the settings of core segments that are not the usual ones, and what commits promise",
		Example:           "  engram ltm policy get\n  engram ltm policy get 'Vision/*' -o json",
		ValidArgsFunction: completeIDs,
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		patterns, err := parsePatterns(args)
		if err != nil {
			return err
		}
		matchers := make([]*engram.PatternMatcher, len(patterns))
		for i, p := range patterns {
			if matchers[i], err = p.Matcher(); err != nil {
				return &usageError{err}
			}
		}
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
		return useMemories(cmd, func(m engram.Service, store admin.Service) error {
			list, err := store.Policies(cmd.Context())
			if err != nil {
				return err
			}
			out := &table{header: []string{"SEGMENT", "SETTING", "VALUE", "NOTES"}}
			objects := []policyJSON{}
			var usual policy.Policy
			for _, p := range list {
				if !slices.ContainsFunc(matchers, func(m *engram.PatternMatcher) bool { return m.Match(p.Segment) }) {
					continue
				}
				o := policyJSON{Segment: p.Segment.String(), Overridden: p.Overridden, Set: append([]string{}, p.Set...), Settings: map[string]string{}}
				// What commits promise is what the segment was begun with.
				if d, err := m.Describe(cmd.Context(), engram.PatternOf(p.Segment)); err == nil && len(d) > 0 {
					o.Durability = d[0].Durability.String()
				}
				for _, name := range policy.SettingNames() {
					text, _ := p.Policy.Get(name)
					o.Settings[name] = text
					common, _ := usual.Get(name)
					note := ""
					if slices.Contains(p.Set, name) {
						note = "set at run-time"
					}
					switch {
					case name == "durability" && text != "" && o.Durability != "" && text != o.Durability:
						out.add(o.Segment, name, o.Durability+"; "+text+" from the next start on", note)
					case name == "durability" && o.Durability != "":
						out.add(o.Segment, name, o.Durability, note)
					case name == "record":
						out.add(o.Segment, name, cmp.Or(text, string(policy.All)), note)
					case text != common || note != "":
						out.add(o.Segment, name, text, note)
					}
				}
				objects = append(objects, o)
			}
			if len(objects) == 0 {
				return engram.Errorf(engram.NotFound, strings.Join(args, " "), "no core segment is so named; 'engram segment ls' lists them")
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

func newLTMPolicySet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set PATTERN SETTING=VALUE…",
		Short: "Change settings of the core segments that a pattern matches",
		Long: `Changes settings of the core segments that a pattern of memory and core segment
matches. An empty value takes a setting back. max_rate bounds every mode, record=all
too. A bound that is none, of max_rate and keep, is "none" or 0.`,
		Example: `  engram ltm policy set 'Vision/*' record=rate max_rate='5 Hz' keep.max_age=7d
  engram ltm policy set RobotState/Proprioception thin.after=1d thin.every=10
  engram ltm policy set 'Vision/*' record=all max_rate=none codec=lossless
  engram ltm policy set 'Vision/*' keep.max_age=`,
		Args:              positional(cobra.MinimumNArgs(2)),
		ValidArgsFunction: completeIDs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := engram.ParsePattern(args[0])
		if err != nil {
			return &usageError{err}
		}
		o := policy.Override{Pattern: p, Settings: map[string]string{}}
		var trial policy.Policy
		for _, arg := range args[1:] {
			name, text, ok := strings.Cut(arg, "=")
			if !ok {
				return usagef("%q: write SETTING=VALUE, such as keep.max_age=7d", arg)
			}
			if _, err := trial.Get(name); err != nil {
				if near := spelling.Nearest(name, policy.SettingNames()); near != "" {
					return usagef("there is no policy setting %q; did you mean %s?", name, near)
				}
				return &usageError{err}
			}
			if text != "" {
				if err := trial.Set(name, text); err != nil {
					return &usageError{err}
				}
			}
			o.Settings[name] = text
		}
		m, err := p.Matcher()
		if err != nil {
			return &usageError{err}
		}
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			if err := store.SetPolicy(cmd.Context(), o); err != nil {
				return err
			}
			list, err := store.Policies(cmd.Context())
			if err != nil {
				return err
			}
			n := uint64(0)
			for _, s := range list {
				if m.Match(s.Segment) {
					n++
				}
			}
			if n == 0 {
				cmd.PrintErrf("engram: no core segment matches %s yet; it holds for those that will\n", visible(args[0]))
			} else {
				cmd.Printf("set for %s\n", countOf(n, "core segment"))
			}
			if _, ok := o.Settings["durability"]; ok {
				cmd.PrintErrln("the durability holds from the server's next start on")
			}
			return nil
		})
	}
	return cmd
}
