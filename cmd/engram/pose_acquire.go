package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

func newPoseAcquire() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acquire SENSOR",
		Short: "Where SENSOR was, seen from its robot's base, to be told when that moves",
		Long: `Answers where a sensor was when it acquired data, seen from the robot's base, and
remembers the acquisition under the number it prints: the poses around that time are
kept, and 'engram pose watch MAP SENSOR --acquired' tells when a revision moves it.
It is committed to RobotState/Acquisition/ROBOT/SENSOR, where it can be read with what
it is an acquisition of (--of), after a restart too. 'engram pose release' forgets it.

The base is reached from the sensor by going up all fixed edges and joints. A sensor
whose mount comes as moving transforms only has no base and is refused; give the robot's
description with 'engram import --urdf', or the mount as a static transform.`,
		Example: `  engram pose acquire rover1/laser
  engram pose acquire rover1/cam --at '2022-02-18 13:06:56.4' \
    --of 'Vision/ImageRGB/rover1/cam/2022-02-18 13:06:56.4' --cov -o json
  engram get RobotState/Acquisition/rover1`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addOutputFlag(cmd)
	f := cmd.Flags()
	f.String("at", "", "at this time: absolute, now-10s, or -1s before the latest\n(default: the latest for which every edge up to the root has samples)")
	f.Bool("cov", false, "with the covariance, as standard deviations and, with -o, as a matrix")
	f.String("of", "", "the ID of what the sensor acquired, such as an image's snapshot")
	_ = cmd.RegisterFlagCompletionFunc("of", completeIDs)
	f.Duration("wait", 0, "wait so long until the time is known")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			t, err := acquisitionTime(cmd, poses, args[0])
			if err != nil {
				return err
			}
			ask := lookup.Acquire{Sensor: args[0], Time: t}
			if text, _ := f.GetString("of"); text != "" {
				if ask.Data, err = parseDatum(text); err != nil {
					return err
				}
			}
			a, err := waiting(cmd, func(ctx context.Context, wait bool) (pose.Acquisition, error) {
				ask.Wait = wait
				return poses.Acquire(ctx, ask)
			})
			if err != nil {
				return err
			}
			withCov, _ := f.GetBool("cov")
			answer := lookup.Answer{Target: a.Base, Source: a.Sensor, Pose: a.Pose, Cov: a.Cov, Info: a.Info}
			out, row, object := answerRow(&answer, withCov)
			object.Acquisition = uint64(a.ID)
			object.Time = &a.Time // that of a static mount, too
			row[2] = fullTime(a.Time)
			out.header = append([]string{"ACQUISITION"}, out.header...)
			out.right = append([]bool{true}, out.right...)
			out.add(append([]any{strconv.FormatUint(uint64(a.ID), 10)}, row...)...)
			return print(cmd.OutOrStdout(), format, out, []answerJSON{object})
		})
	}
	return cmd
}

// acquisitionTime returns the time of --at. The latest is that for which every edge
// from the sensor up to its root has samples, and now if all of them are fixed.
func acquisitionTime(cmd *cobra.Command, poses lookup.Service, sensor string) (engram.Time, error) {
	text, _ := cmd.Flags().GetString("at")
	at := timeArg{base: baseLatest}
	if text != "" {
		var err error
		if at, err = parseTimeArg(text); err != nil {
			return 0, err
		}
	}
	now := engram.Now()
	if !at.needsLatest() {
		return at.resolve(now, 0), nil
	}
	answers, err := poses.LookUp(cmd.Context(), []lookup.Question{{Target: sensor, Source: sensor, When: lookup.LatestCommon}})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return 0, err
	}
	edges, err := poses.Tree(cmd.Context(), nil)
	if err != nil {
		return 0, err
	}
	above := map[string]string{} // each frame's newest parent: edges come in the order of time
	for i := range edges {
		above[edges[i].Child] = ""
		if edges[i].Valid.End == engram.MaxTime {
			above[edges[i].Child] = edges[i].Parent
		}
	}
	root := answers[0].Source
	for n := 0; above[root] != "" && n < len(edges); n++ {
		root = above[root]
	}
	answers, err = poses.LookUp(cmd.Context(), []lookup.Question{{Target: root, Source: answers[0].Source, When: lookup.LatestCommon}})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return 0, err
	}
	latest := answers[0].Info.SourceTime
	if answers[0].Info.Flags&pose.Static != 0 {
		latest = now
	}
	return at.resolve(now, latest), nil
}

// waiting asks a question about poses, with --wait until its time is known. When that
// is over, the question is asked once more without: what is missing says more than
// that time is up.
func waiting[T any](cmd *cobra.Command, ask func(ctx context.Context, wait bool) (T, error)) (T, error) {
	limit, _ := cmd.Flags().GetDuration("wait")
	if limit <= 0 {
		return ask(cmd.Context(), false)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	v, err := ask(ctx, true)
	if engram.CodeOf(err) != engram.Canceled || cmd.Context().Err() != nil { // the server's clock may be ahead of ctx
		return v, err
	}
	if v, err = ask(cmd.Context(), false); err != nil {
		err = engram.Errorf(engram.CodeOf(err), "", "waited %v in vain: %w", limit, err)
	}
	return v, err
}

func newPoseRelease() *cobra.Command {
	return &cobra.Command{
		Use:     "release ACQUISITION…",
		Short:   "Forget acquisitions",
		Example: "  engram pose release 17 18",
		Args:    positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids := make([]pose.AcquisitionID, len(args))
			for i, arg := range args {
				n, err := strconv.ParseUint(arg, 10, 64)
				if err != nil {
					return usagef("%q is no number of an acquisition, which 'engram pose acquire' prints", arg)
				}
				ids[i] = pose.AcquisitionID(n)
			}
			return withPoses(cmd, func(_ string, poses lookup.Service) error {
				for _, id := range ids {
					if err := poses.Release(cmd.Context(), id); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// parseDatum reads the ID of a datum: of an entity, or of its snapshot or instance.
func parseDatum(text string) (engram.ID, error) {
	names, rest := splitNames(text)
	id, err := parseOneID(names)
	if err != nil || rest == "" {
		return id, err
	}
	if id, err = engram.Parse(id.String() + "/" + rest); err != nil {
		return id, &usageError{err}
	}
	return id, nil
}
