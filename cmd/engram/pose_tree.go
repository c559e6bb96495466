package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

func newPoseTree() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree",
		Short: "All frames, and what is known of each edge",
		Args:  positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.Flags().Uint64("as-of", 0, "as it was in this revision")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			edges, err := poses.Tree(cmd.Context(), revisionFlag(cmd, "as-of"))
			if err != nil {
				return err
			}
			out := &table{header: []string{"FRAME", "KIND", "JOINT", "SAMPLES", "FIRST", "LAST"}, right: []bool{3: true}, spare: []string{"FIRST", "JOINT", "SAMPLES", "KIND"}}
			printer := newTreePrinter(edges, out)
			for _, root := range printer.roots {
				out.add(root, "", "", "", "", "")
				printer.below(root, "", map[string]bool{})
			}
			objects := make([]edgeJSON, len(edges))
			for i := range edges {
				objects[i] = edgeObject(&edges[i])
			}
			defer noteLeftOut(cmd, poses)
			if len(edges) == 0 {
				cmd.PrintErrln("engram: there are no frames; they come with 'engram import RECORDING --urdf FILE' and with commits to RobotState")
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

// treePrinter adds frames to a table, children below their parents. A frame that
// hung on several parents, one after another, is below each.
type treePrinter struct {
	out      *table
	roots    []string
	children map[string][]*pose.EdgeInfo
}

func newTreePrinter(edges []pose.EdgeInfo, out *table) *treePrinter {
	p := &treePrinter{out: out, children: map[string][]*pose.EdgeInfo{}}
	isChild := map[string]bool{}
	for i := range edges {
		isChild[edges[i].Child] = true
		p.children[edges[i].Parent] = append(p.children[edges[i].Parent], &edges[i])
	}
	seen := map[string]bool{}
	for i := range edges {
		if parent := edges[i].Parent; !isChild[parent] && !seen[parent] {
			seen[parent] = true
			p.roots = append(p.roots, parent)
		}
	}
	return p
}

// below adds what hangs on a frame. Over all times together the edges may have a
// loop, so frames above are remembered.
func (p *treePrinter) below(frame, indent string, above map[string]bool) {
	above[frame] = true
	defer delete(above, frame)
	children := p.children[frame]
	for i, e := range children {
		branch, next := "├─ ", "│  "
		if i == len(children)-1 {
			branch, next = "└─ ", "   "
		}
		name := strings.TrimPrefix(e.Child, robotPart(frame))
		p.out.add(append([]any{indent + branch + name}, edgeCells(e)...)...)
		if !above[e.Child] {
			p.below(e.Child, indent+next, above)
		}
	}
}

// robotPart returns a frame's name up to and with its last slash.
func robotPart(frame string) string { return frame[:strings.LastIndexByte(frame, '/')+1] }

func newPoseDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff A B --from REV --to REV",
		Short:   "When and how far B moved in A from one revision to another",
		Example: "  engram pose diff map rover1/base --from 3 --to 4",
		Args:    positional(cobra.ExactArgs(2)),
	}
	addOutputFlag(cmd)
	addThresholdFlags(cmd)
	cmd.Flags().Uint64("from", 0, "the earlier revision (default: the oldest that is kept and has the frames)")
	cmd.Flags().Uint64("to", 0, "the later revision (default: the current one)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		th, err := threshold(cmd)
		if err != nil {
			return err
		}
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			changes, err := diffPoses(cmd, poses, args[0], args[1], th)
			if err != nil {
				return err
			}
			out, objects := changeTable(changes)
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

// diffPoses compares the revisions of --from and --to: by default the oldest that is
// kept and knows the frames, and the current one.
func diffPoses(cmd *cobra.Command, poses lookup.Service, target, source string, th pose.Threshold) ([]pose.Change, error) {
	from, to := revisionFlag(cmd, "from"), revisionFlag(cmd, "to")
	revisions, err := poses.Revisions(cmd.Context())
	if err != nil {
		return nil, err
	}
	if len(revisions.List) == 0 {
		return nil, engram.Errorf(engram.Corrupt, "", "the server has no current revision")
	}
	current := revisions.List[len(revisions.List)-1].Revision
	if to == nil {
		to = &current
	}
	if from != nil {
		return poses.Diff(cmd.Context(), target, source, *from, *to, th)
	}
	for _, r := range revisions.List {
		changes, err := poses.Diff(cmd.Context(), target, source, r.Revision, *to, th)
		if engram.CodeOf(err) != engram.NotFound || r.Revision >= *to {
			return changes, err
		}
	}
	return poses.Diff(cmd.Context(), target, source, current, *to, th)
}
