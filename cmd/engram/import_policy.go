package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/edge/ingest"
)

// keepAll returns what marks all of an import, and leaves the policies as they are.
func keepAll(m *client.Client, label string) func(context.Context, string, episode.Mark) error {
	return func(ctx context.Context, memory string, mark episode.Mark) error {
		mark.Label = label
		err := m.LongTerm(memory).Mark(ctx, mark)
		if engram.CodeOf(err) == engram.Unsupported {
			return engram.Errorf(engram.Unsupported, memory, "its server has no disk, so --all cannot keep anything there: begin it with 'engram serve --data DIR', or leave --all out")
		}
		return err
	}
}

// importLabel returns the label of an import's marks.
func importLabel(name, source string) string {
	if source == "" {
		source = ingest.SourceName(name)
	}
	label := "import " + source
	return strings.ToValidUTF8(label[:min(len(label), maxLabel)], "")
}

// maxLabel is how long a mark's label may be.
const maxLabel = 256

// diskRules tells what the disk has of a core segment.
type diskRules struct {
	policy.Policy
	durable bool // each entity's newest state, whatever the policy is
}

// tellPolicies notes at each topic what the policies leave out of it on disk, as far as
// its servers have a disk. With all they leave nothing out, unless they record nothing.
func tellPolicies(cmd *cobra.Command, m *client.Client, reports []*ingest.Report, all bool) {
	memories := map[string]map[engram.ID]diskRules{} // then by core segment
	of := func(id engram.ID) diskRules {
		memory := id.Memory()
		if memories[memory] == nil {
			memories[memory] = map[engram.ID]diskRules{}
			list, _ := m.LongTerm(memory).Policies(cmd.Context()) // none where nothing is on disk
			found, _ := m.Describe(cmd.Context(), engram.PatternOf(id.Truncate(engram.LevelMemory)))
			for _, p := range list {
				durable := slices.ContainsFunc(found, func(d engram.Description) bool { return d.ID == p.Segment && d.Durability != engram.Volatile })
				memories[memory][p.Segment] = diskRules{p.Policy, durable}
			}
		}
		return memories[memory][id.Truncate(engram.LevelCoreSegment)]
	}
	for _, r := range reports {
		for i := range r.Topics {
			t := &r.Topics[i]
			if t.Stored == 0 {
				continue
			}
			for _, target := range t.Targets {
				text := of(target).leftOut(all)
				if text != "" && len(t.Targets) > 1 {
					text = target.String() + ": " + text
				}
				if text != "" {
					t.Notes = append(t.Notes, text)
				}
			}
		}
	}
}

// leftOut says what of a segment does not come to the disk, or nothing.
func (p diskRules) leftOut(all bool) string {
	never := "none of it is on disk (policy)"
	if p.durable {
		never = "on disk only the newest state of each entity (policy)"
	}
	switch {
	case p.Record == policy.Never:
		return never
	case all:
		return ""
	case p.Record == policy.Linked && p.durable:
		return "on disk only what is linked to, and the newest state of each entity (policy)"
	case p.Record == policy.Linked:
		return "on disk only what is linked to (policy)"
	case p.MaxRate > 0 && p.Record == policy.Change:
		return fmt.Sprintf("on disk only what changes, at most %g a second (policy)", p.MaxRate)
	case p.MaxRate > 0:
		return fmt.Sprintf("on disk at most %g a second (policy)", p.MaxRate)
	case p.Record == policy.Change:
		return "on disk only what changes (policy)"
	}
	return ""
}
