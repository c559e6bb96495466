package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

func newPoseLookup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lookup TARGET SOURCE",
		Short: "Where SOURCE was, seen from TARGET",
		Example: `  engram pose lookup map rover1/laser --at -5s --cov
  engram pose lookup odom base_link --at '2022-02-18 13:06:56.4' -o json`,
		Args: positional(cobra.ExactArgs(2)),
	}
	addOutputFlag(cmd)
	f := cmd.Flags()
	f.String("at", "", "at this time: absolute, now-10s, or -1s before the latest\n(default: the latest for which every edge has samples)")
	f.Bool("cov", false, "with the covariance, as standard deviations and, with -o, as a matrix")
	f.Duration("wait", 0, "wait so long until the time is known")
	f.Uint64("as-of", 0, "what was believed in this revision")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withPoses(cmd, func(format string, poses service.Service) error {
			q := service.Question{Target: args[0], Source: args[1], When: service.LatestCommon, AsOf: revisionFlag(cmd, "as-of")}
			q.Cov, _ = f.GetBool("cov")
			t, given, err := poseTime(cmd, poses, args[0], args[1])
			if err != nil {
				return err
			}
			if given {
				q.When, q.Time = service.At, t
			}
			ctx := cmd.Context()
			if wait, _ := f.GetDuration("wait"); wait > 0 {
				q.Wait = true
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, wait)
				defer cancel()
			}
			answers, err := poses.LookUp(ctx, []service.Question{q})
			if err == nil {
				err = answers[0].Err
			}
			if err != nil {
				return err
			}
			return printAnswer(cmd, format, &answers[0], q.Cov)
		})
	}
	return cmd
}

type answerJSON struct {
	Target      string         `json:"target"`
	Source      string         `json:"source"`
	Time        *engram.Time   `json:"time,omitempty"` // none for what is the same at all times
	Translation [3]float64     `json:"translation"`
	Rotation    [4]float64     `json:"rotation"` // w, x, y, z
	Uncertainty string         `json:"uncertainty,omitempty"`
	Covariance  *[6][6]float64 `json:"covariance,omitempty"`
	Revision    uint64         `json:"revision"`
	Flags       string         `json:"flags,omitempty"`
}

func printAnswer(cmd *cobra.Command, format string, a *service.Answer, withCov bool) error {
	p, i := a.Pose, a.Info
	o := answerJSON{
		Target: a.Target, Source: a.Source, Revision: uint64(i.Revision), Flags: i.Flags.String(),
		Translation: [3]float64{p.T.X, p.T.Y, p.T.Z}, Rotation: [4]float64{p.R.W, p.R.X, p.R.Y, p.R.Z},
	}
	when := "always"
	if i.SourceTime != engram.MaxTime {
		o.Time = &i.SourceTime
		when = i.SourceTime.String()
	}
	out := &table{header: []string{"TARGET", "SOURCE", "TIME", "X", "Y", "Z", "ROLL", "PITCH", "YAW", "REVISION", "HOW"},
		right: []bool{3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}}
	roll, pitch, yaw := p.R.EulerZYX()
	row := []any{a.Target, a.Source, when, formatMetres(p.T.X), formatMetres(p.T.Y), formatMetres(p.T.Z),
		formatDegrees(roll), formatDegrees(pitch), formatDegrees(yaw), fmt.Sprint(uint64(i.Revision)), o.Flags}
	if withCov {
		o.Uncertainty = a.Cov.State().String()
		out.header = append(out.header, "SIGMA")
		row = append(row, a.Cov.String())
		if a.Cov.State() != pose.Unknown {
			m := a.Cov.Matrix()
			o.Covariance = &m
		}
	}
	out.add(row...)
	return print(cmd.OutOrStdout(), format, out, []answerJSON{o})
}

func formatDegrees(rad float64) string { return fmt.Sprintf("%.3f°", rad*180/math.Pi) }

type changeJSON struct {
	Start   *engram.Time `json:"start,omitempty"` // none: since ever
	End     *engram.Time `json:"end,omitempty"`   // none: for ever
	Trans   float64      `json:"trans"`
	TransAt engram.Time  `json:"trans_at"`
	Rot     float64      `json:"rot"`
	RotAt   engram.Time  `json:"rot_at"`
	Failed  bool         `json:"failed,omitempty"`
}

func changeTable(changes []pose.Change) (*table, []changeJSON) {
	out := &table{header: []string{"FROM", "UNTIL", "TRANS", "ROT", "LARGEST AT", "NOTE"}, right: []bool{2: true, 3: true}}
	objects := make([]changeJSON, len(changes))
	for i, c := range changes {
		o := changeJSON{Trans: c.Trans, TransAt: c.TransAt, Rot: c.Rot, RotAt: c.RotAt, Failed: c.Failed}
		start, end, note := "-", "-", ""
		if c.Start != engram.MinTime {
			o.Start, start = &c.Start, c.Start.String()
		}
		if c.End != engram.MaxTime {
			o.End, end = &c.End, c.End.String()
		}
		if c.Failed {
			note = "no answer in one of the revisions"
		}
		objects[i] = o
		out.add(start, end, formatMetres(c.Trans)+" m", formatDegrees(c.Rot), c.TransAt.String(), note)
	}
	return out, objects
}

func newPoseWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch A B",
		Short: "Tell when revisions move B in A",
		Example: `  engram pose watch map rover1/base --trans 0.01
  engram pose watch map rover1/cam --acquired`,
		Args: positional(cobra.ExactArgs(2)),
	}
	addOutputFlag(cmd)
	addThresholdFlags(cmd)
	f := cmd.Flags()
	f.Uint64("from", 0, "begin with what moved since this revision (default: the current one)")
	f.Bool("acquired", false, "tell which acquisitions of the sensor B moved")
	f.Int("count", 0, "end after N revisions")
	f.Duration("for", 0, "end after this time")
	cmd.RunE = watchPoses
	return cmd
}

type eventJSON struct {
	From    uint64       `json:"from"`
	To      uint64       `json:"to"`
	Changes []changeJSON `json:"changes,omitempty"`
	Moved   []movedJSON  `json:"moved,omitempty"`
}

type movedJSON struct {
	ID     uint64      `json:"id"`
	Time   engram.Time `json:"time"`
	Trans  float64     `json:"trans"`
	Rot    float64     `json:"rot"`
	Failed bool        `json:"failed,omitempty"`
}

func watchPoses(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	th, err := threshold(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if d, _ := f.GetDuration("for"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	count, _ := f.GetInt("count")
	return withPoses(cmd, func(format string, poses service.Service) error {
		if format == "yaml" || format == "csv" {
			return usagef("-o %s: watch prints table, json or ndjson", format)
		}
		ask := pose.Changes{Target: args[0], Source: args[1], Trans: th.Trans, Rot: th.Rot}
		ask.OnlyAcquired, _ = f.GetBool("acquired")
		stream, err := poses.Watch(ctx, ask, revisionFlag(cmd, "from"))
		if err != nil {
			return err
		}
		defer stream.Close()
		for n := 1; ; n++ {
			ev, err := stream.Next(ctx)
			if err != nil {
				if engram.CodeOf(err) == engram.Canceled {
					return nil // the user, or --for, ended it
				}
				return err
			}
			if err := printEvent(cmd, format, &ev); err != nil || n == count {
				return err
			}
		}
	})
}

func printEvent(cmd *cobra.Command, format string, ev *service.Event) error {
	out, changes := changeTable(ev.Changes)
	if format != "table" {
		o := eventJSON{From: uint64(ev.From), To: uint64(ev.To), Changes: changes}
		for _, m := range ev.Moved {
			o.Moved = append(o.Moved, movedJSON{uint64(m.ID), m.Time, m.Trans, m.Rot, m.Failed})
		}
		return writeJSONLine(cmd.OutOrStdout(), o)
	}
	cmd.Printf("-- revision %d to %d, %s --\n", ev.From, ev.To, time.Now().Format(time.TimeOnly))
	if len(ev.Moved) > 0 {
		out = &table{header: []string{"ACQUISITION", "TIME", "TRANS", "ROT"}, right: []bool{true, false, true, true}}
		for _, m := range ev.Moved {
			out.add(fmt.Sprint(uint64(m.ID)), m.Time.String(), formatMetres(m.Trans)+" m", formatDegrees(m.Rot))
		}
	}
	return out.write(cmd.OutOrStdout())
}
