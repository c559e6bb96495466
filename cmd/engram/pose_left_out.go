package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

type leftOutJSON struct {
	Entity string      `json:"entity"`
	Count  uint64      `json:"count,string"`
	Last   engram.Time `json:"last"`
	Code   string      `json:"code"`
	Reason string      `json:"reason"`
}

func newPoseLeftOut() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "left-out",
		Short: "What the memory holds about frames and the poses do not, and why",
		Long: `Lists what was committed to RobotState and is not among the poses: the data of a
second source of the same edge or joint, what is older than the poses kept, and what
could not be applied again when the poses were rebuilt. The memory holds it all the
same. What cannot be at all, such as a second parent or a loop, is refused when it is
committed and counted by 'engram stats'.`,
		Args: positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			left, err := poses.LeftOut(cmd.Context())
			if err != nil {
				return err
			}
			out := &table{header: []string{"ENTITY", "INSTANCES", "LAST", "WHY"}, right: []bool{1: true}, folded: true}
			objects := make([]leftOutJSON, len(left))
			for i, l := range left {
				entity := l.Entity.String()
				if entity == "" {
					entity = "(others)"
				}
				reason := strings.TrimPrefix(l.Reason.Error(), entity+": ")
				objects[i] = leftOutJSON{entity, l.Count, l.Last, engram.CodeOf(l.Reason).String(), reason}
				out.add(entity, l.Count, plainTime(l.Last).aged(), reason)
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

// noteLeftOut says how much is not among the poses, if anything, and where to read
// why.
func noteLeftOut(cmd *cobra.Command, poses lookup.Service) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	left, err := poses.LeftOut(ctx)
	if err != nil || len(left) == 0 {
		return // it is a remark only
	}
	n, entities := uint64(0), map[engram.ID]bool{}
	for _, l := range left {
		n += l.Count
		entities[l.Entity] = true
	}
	cmd.PrintErrf("engram: %s of %s not among the poses; 'engram pose left-out' says why\n",
		countOf(n, "instance"), countOf(uint64(len(entities)), "entity"))
}

// tellLeftOut says what of the imported sources is not among the poses, and why: all of it,
// or joints that no description has.
func tellLeftOut(cmd *cobra.Command, poses lookup.Service, reports []*ingest.Report, all bool) {
	const most = 8
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	left, err := poses.LeftOut(ctx)
	if err != nil {
		return // it is a remark only
	}
	left = slices.DeleteFunc(left, func(l lookup.LeftOut) bool {
		imported := slices.ContainsFunc(reports, func(r *ingest.Report) bool {
			return r.Source == "" || r.Source == l.Entity.ProviderSegment()
		})
		return !imported || !all && engram.CodeOf(l.Reason) != engram.NotFound
	})
	for i, l := range left {
		if i == most {
			cmd.PrintErrf("engram: and %d more; 'engram pose left-out' has them all\n", len(left)-most)
			return
		}
		cmd.PrintErrf("engram: of %s, %s not among the poses: %s\n", visible(l.Entity.String()), countOf(l.Count, "instance"),
			visible(strings.TrimPrefix(l.Reason.Error(), l.Entity.String()+": ")))
	}
}
