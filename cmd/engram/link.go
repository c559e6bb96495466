package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/link"
)

func newLink() *cobra.Command {
	cmd := &cobra.Command{Use: "link", Short: "See who links results to what they were made from"}
	cmd.AddCommand(newLinkCheck())
	return cmd
}

func newLinkCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [ID…]",
		Short: "Count results that link to nothing, by provider",
		Long: `Counts, by provider segment, snapshots that could say what they were made from and do not:
UNLINKED have no link at all, ENTITY ONLY link to entities, which stand for whatever was in
force then, and to no snapshot. Such results end a trace, and answer no why. Looked at are
the newest snapshots of each entity; types that have no members for links, as those of
sensors, are left out.`,
		Example: `  engram link check
  engram link check Object 'Skill/Execution' --latest 1000`,
		ValidArgsFunction: completeIDs,
	}
	cmd.Flags().Int("latest", 100, "look at so many snapshots of each entity")
	printing(cmd, linkCheck)
	return cmd
}

// linkingJSON is how a provider segment links, as programs read it.
type linkingJSON struct {
	Segment    string `json:"segment"`
	Type       string `json:"type"`
	Snapshots  int    `json:"snapshots"`
	Unlinked   int    `json:"unlinked"`
	EntityOnly int    `json:"entity_only"`
	Example    string `json:"example,omitempty"`
}

func linkCheck(cmd *cobra.Command, args []string, format string) error {
	latest, _ := cmd.Flags().GetInt("latest")
	if latest < 1 {
		return usagef("--latest %d: at least 1", latest)
	}
	patterns, err := parsePatterns(args)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	out := &table{header: []string{"SEGMENT", "TYPE", "SNAPSHOTS", "UNLINKED", "ENTITY ONLY", "SUCH AS"}, right: []bool{2: true, 3: true, 4: true, 5: false}, spare: []string{"TYPE"}}
	objects := []linkingJSON{}
	unlinked := 0
	tracer := link.New(m, m.Robot())
	for _, p := range patterns {
		all, err := tracer.Check(cmd.Context(), m, p, latest)
		if err != nil {
			return err
		}
		for _, l := range all {
			example := ""
			if !l.Example.IsRoot() {
				example = l.Example.String()
			}
			out.add(l.Segment, l.Type, l.Snapshots, l.Unlinked, l.Vague, example)
			objects = append(objects, linkingJSON{l.Segment.String(), l.Type, l.Snapshots, l.Unlinked, l.Vague, example})
			unlinked += l.Unlinked
		}
	}
	if err := print(cmd.OutOrStdout(), format, out, objects); err != nil {
		return err
	}
	if unlinked > 0 {
		cmd.PrintErrf("engram: %s without any link\n", countOf(uint64(unlinked), "snapshot"))
	}
	return nil
}
