package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

const (
	maxTrack   = 1_000_000 // poses of one trajectory
	trackBatch = 1000      // questions in one call
)

// tum is the format of trajectories of the TUM RGB-D benchmark, which evo and others read: a line for each pose,
// "seconds x y z qx qy qz qw".
const tum = "tum"

// trackedJSON is a pose of a trajectory: metres, and a unit quaternion.
type trackedJSON struct {
	Time        engram.Time `json:"time"`
	Translation [3]float64  `json:"translation"`
	Rotation    quatJSON    `json:"rotation"`
	Flags       string      `json:"flags,omitempty"`
}

// track prints where source was, seen from target, at equal times of a range.
func track(cmd *cobra.Command, format string, poses service.Service, q service.Question) error {
	f := cmd.Flags()
	if err := exclusive(cmd, "at", "range"); err != nil {
		return err
	}
	if err := exclusive(cmd, "wait", "range"); err != nil {
		return err
	}
	if q.Cov {
		return usagef("--cov: not with --range")
	}
	rate, _ := f.GetFloat64("rate")
	if !(rate > 0 && rate <= 1e6) {
		return usagef("--rate %v: more than 0 and at most 1e6, in poses a second", rate)
	}
	text, _ := f.GetString("range")
	span, err := trackSpan(cmd, poses, q, text)
	if err != nil {
		return err
	}
	step := time.Duration(float64(time.Second) / rate)
	n := int64(span.End.Sub(span.Start)/step) + 1
	if n > maxTrack {
		return usagef("--range %s --rate %v: %s poses, and the most are %s", text, rate, formatCount(n), formatCount(int64(maxTrack)))
	}
	out := &table{header: []string{"TIME", "X", "Y", "Z", "QX", "QY", "QZ", "QW"}, right: []bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
	var objects []trackedJSON
	var missed int64
	var why error
	for first := int64(0); first < n; first += trackBatch {
		questions := make([]service.Question, min(trackBatch, n-first))
		for i := range questions {
			questions[i] = q
			questions[i].When, questions[i].Time = service.At, span.Start.Add(time.Duration(first+int64(i))*step)
		}
		answers, err := poses.LookUp(cmd.Context(), questions)
		if err != nil {
			return err
		}
		for i, a := range answers {
			if a.Err != nil {
				missed++
				if why == nil {
					why = a.Err
				}
				continue
			}
			t, p := questions[i].Time, a.Pose
			r := p.R
			if len(objects) > 0 { // q and -q are the same turn: a trajectory has no jumps between them
				last := objects[len(objects)-1].Rotation
				if r.X*last.X+r.Y*last.Y+r.Z*last.Z+r.W*last.W < 0 {
					r = pose.Quat{W: -r.W, X: -r.X, Y: -r.Y, Z: -r.Z}
				}
			}
			objects = append(objects, trackedJSON{t, [3]float64{p.T.X, p.T.Y, p.T.Z}, quatObject(r), a.Info.Flags.String()})
			out.add(fullTime(t), coordinate(p.T.X), coordinate(p.T.Y), coordinate(p.T.Z), coordinate(r.X), coordinate(r.Y), coordinate(r.Z), coordinate(r.W))
		}
	}
	if missed == n {
		return why
	}
	if missed > 0 {
		cmd.PrintErrf("engram: %s of %s times have no answer and are left out: %s\n", formatCount(missed), formatCount(n), visible(why.Error()))
	}
	if format == tum {
		return writeTUM(cmd.OutOrStdout(), objects)
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}

// trackSpan returns the range that is asked for; where it has no begin or end, it is as long as all edges between the frames
// have samples.
func trackSpan(cmd *cobra.Command, poses service.Service, q service.Question, text string) (span engram.Interval, err error) {
	r, err := parseRangeArg(text)
	if err != nil {
		return span, err
	}
	ctx := cmd.Context()
	answers, err := poses.LookUp(ctx, []service.Question{{Target: q.Target, Source: q.Source, When: service.LatestCommon, AsOf: q.AsOf}})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return span, err
	}
	latest := answers[0].Info.SourceTime
	if latest == engram.MaxTime {
		latest = engram.Now()
	}
	span = r.resolve(engram.Now(), latest)
	if r.start == nil || r.end == nil {
		edges, err := poses.Path(ctx, q.Target, q.Source, latest)
		if err != nil {
			return span, err
		}
		edges = slices.DeleteFunc(edges, func(e pose.EdgeInfo) bool { return e.Samples == 0 || e.Kind == pose.KindFixed })
		if len(edges) == 0 {
			return span, usagef("--range %s: %s and %s rest, so say when it begins and ends", text, q.Target, q.Source)
		}
		if r.start == nil {
			span.Start = edges[0].First
			for _, e := range edges {
				span.Start = max(span.Start, e.First)
			}
		}
		if r.end == nil {
			span.End = latest
		}
	}
	if span.End < span.Start {
		return span, usagef("--range %s ends before it starts: at %v, and it starts at %v", text, span.End, span.Start)
	}
	return span, nil
}

func coordinate(v float64) cell {
	return cell{shown: formatRounded(v, 4), raw: strconv.FormatFloat(v, 'g', -1, 64)}
}

func writeTUM(w io.Writer, all []trackedJSON) error {
	for _, p := range all {
		t := int64(p.Time)
		if _, err := fmt.Fprintf(w, "%d.%09d %g %g %g %g %g %g %g\n", t/1e9, t%1e9, p.Translation[0], p.Translation[1], p.Translation[2],
			p.Rotation.X, p.Rotation.Y, p.Rotation.Z, p.Rotation.W); err != nil {
			return err
		}
	}
	return nil
}
