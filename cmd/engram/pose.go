package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

func newPose() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pose",
		Short: "Ask where frames were, how sure that is, and what was revised",
		Long: `Answers from the poses that RobotState keeps of what is committed to it: robots'
descriptions, joint states, transforms and revisions. Frames are named robot/frame,
where the robot is the provider segment's name (of an import, the recording's); the
robot may be left out where it is clear. docs/pose.md explains the ideas.`,
	}
	cmd.AddCommand(newPoseLookup(), newPoseTree(), newPosePath(), newPoseAcquire(), newPoseRelease(),
		newPoseWatch(), newPoseDiff(), newPoseRevisions(), newPoseLeftOut())
	return cmd
}

// withPoses calls f with the poses that the command's flags lead to.
func withPoses(cmd *cobra.Command, f func(format string, poses lookup.Service) error) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	return f(format, m.Poses(client.PoseMemory))
}

// addThresholdFlags gives a command the flags that say from when on a pose counts as
// moved.
func addThresholdFlags(cmd *cobra.Command) {
	d := pose.DefaultThreshold()
	cmd.Flags().Float64("trans", d.Trans, "metres from which on it counts as moved")
	cmd.Flags().Float64("rot", d.Rot, "radians from which on it counts as moved")
}

func threshold(cmd *cobra.Command) (th pose.Threshold, err error) {
	th.Trans, _ = cmd.Flags().GetFloat64("trans")
	th.Rot, _ = cmd.Flags().GetFloat64("rot")
	if !(th.Trans >= 0 && th.Rot >= 0) {
		err = usagef("--trans %v --rot %v: 0 or more", th.Trans, th.Rot)
	}
	return th, err
}

// revisionFlag returns a flag's revision, nil if it is not given.
func revisionFlag(cmd *cobra.Command, name string) *pose.Revision {
	if !cmd.Flags().Changed(name) {
		return nil
	}
	n, _ := cmd.Flags().GetUint64(name)
	return new(pose.Revision(n))
}

// poseTime returns the time of --at, and whether it was given. A time relative to
// the latest, such as -1s, is meant relative to the latest common one of the frames; to now
// where there is none.
func poseTime(cmd *cobra.Command, poses lookup.Service, target, source string) (t engram.Time, given bool, err error) {
	text, _ := cmd.Flags().GetString("at")
	if text == "" {
		return 0, false, nil
	}
	at, err := parseTimeArg(text)
	if err != nil {
		return 0, true, err
	}
	var latest engram.Time
	if at.needsLatest() {
		answers, err := poses.LookUp(cmd.Context(), []lookup.Question{{Target: target, Source: source, When: lookup.LatestCommon}})
		if err == nil {
			err = answers[0].Err
		}
		switch apart := engram.CodeOf(err) == engram.NotFound; {
		case err != nil && !apart:
			return 0, true, err
		case apart || answers[0].Info.SourceTime == engram.MaxTime: // what is gone, or rests; what never was, the answer says
			latest = engram.Now()
		default:
			latest = answers[0].Info.SourceTime
		}
	}
	return at.resolve(engram.Now(), latest), true, nil
}

type edgeJSON struct {
	Parent  string       `json:"parent"`
	Child   string       `json:"child"`
	Kind    string       `json:"kind"`
	Joint   string       `json:"joint,omitempty"`
	Samples int64        `json:"samples"`
	Pruned  int64        `json:"pruned,omitempty"`
	Bytes   int64        `json:"bytes"`
	First   *engram.Time `json:"first,omitempty"`
	Last    *engram.Time `json:"last,omitempty"`
	From    *engram.Time `json:"from,omitempty"` // the child hangs on the parent
	Until   *engram.Time `json:"until,omitempty"`
}

func edgeObject(e *pose.EdgeInfo) edgeJSON {
	o := edgeJSON{Parent: e.Parent, Child: e.Child, Kind: e.Kind.String(), Joint: e.Joint, Samples: e.Samples, Pruned: e.Pruned, Bytes: e.Bytes}
	if e.Samples > 0 {
		o.First, o.Last = &e.First, &e.Last
	}
	if e.Valid.Start != engram.MinTime {
		o.From = &e.Valid.Start
	}
	if e.Valid.End != engram.MaxTime {
		o.Until = &e.Valid.End
	}
	return o
}

// edgeCells are the cells of an edge after its frames.
func edgeCells(e *pose.EdgeInfo) []any {
	if e.Kind == pose.KindFixed {
		return []any{e.Kind, "", "", "", ""}
	}
	first, last := text("-"), text("-")
	if e.Samples > 0 {
		first, last = plainTime(e.First), plainTime(e.Last).aged()
	}
	return []any{e.Kind, e.Joint, e.Samples, first, last}
}

func newPosePath() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "path A B",
		Short:   "The edges on the way between two frames",
		Example: "  engram pose path map rover1/laser",
		Args:    positional(cobra.ExactArgs(2)),
	}
	addOutputFlag(cmd)
	cmd.Flags().String("at", "", "at this time: absolute, now-10s, or -1s before the latest (default: now)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			t, given, err := poseTime(cmd, poses, args[0], args[1])
			if err != nil {
				return err
			}
			if !given {
				t = engram.Now()
			}
			edges, err := poses.Path(cmd.Context(), args[0], args[1], t)
			if err != nil {
				return err
			}
			out := &table{header: []string{"PARENT", "CHILD", "KIND", "JOINT", "SAMPLES", "FIRST", "LAST"}, right: []bool{4: true}, spare: []string{"FIRST", "SAMPLES", "JOINT"}}
			objects := make([]edgeJSON, len(edges))
			for i := range edges {
				objects[i] = edgeObject(&edges[i])
				out.add(append([]any{edges[i].Parent, edges[i].Child}, edgeCells(&edges[i])...)...)
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

func newPoseRevisions() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revisions",
		Short: "The revisions that can be asked for",
		Args:  positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			revisions, err := poses.Revisions(cmd.Context())
			if err != nil {
				return err
			}
			type revisionJSON struct {
				Revision uint64 `json:"revision"`
				Author   string `json:"author,omitempty"`
			}
			out := &table{header: []string{"REVISION", "AUTHOR"}, right: []bool{true}}
			var objects []revisionJSON
			for _, r := range revisions.List {
				objects = append(objects, revisionJSON{uint64(r.Revision), r.Author})
				out.add(strconv.FormatUint(uint64(r.Revision), 10), r.Author)
			}
			return print(cmd.OutOrStdout(), format, out, objects)
		})
	}
	return cmd
}

func formatMetres(v float64) string { return formatRounded(v, 4) }
