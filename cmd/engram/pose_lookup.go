package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
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
		return withPoses(cmd, func(format string, poses lookup.Service) error {
			q := lookup.Question{Target: args[0], Source: args[1], When: lookup.LatestCommon, AsOf: revisionFlag(cmd, "as-of")}
			q.Cov, _ = f.GetBool("cov")
			t, given, err := poseTime(cmd, poses, args[0], args[1])
			if err != nil {
				return err
			}
			if given {
				q.When, q.Time = lookup.At, t
			}
			answer, err := waiting(cmd, func(ctx context.Context, wait bool) (lookup.Answer, error) {
				q.Wait = wait
				answers, err := poses.LookUp(ctx, []lookup.Question{q})
				if err != nil {
					return lookup.Answer{}, err
				}
				return answers[0], answers[0].Err
			})
			if err != nil {
				return err
			}
			var since *engram.Time
			if answer.Info.SourceTime == engram.MaxTime && answer.Info.Flags&pose.Static == 0 && q.AsOf == nil {
				if since, err = restsSince(cmd.Context(), poses, answer.Target, answer.Source); err != nil {
					return err
				}
			}
			return printAnswer(cmd, format, &answer, q.Cov, since)
		})
	}
	return cmd
}

// restsSince returns since when a pose is as it is, all on whose path rests: since the newest of what is known of it.
func restsSince(ctx context.Context, poses lookup.Service, target, source string) (*engram.Time, error) {
	edges, err := poses.Path(ctx, target, source, engram.MaxTime)
	if err != nil {
		return nil, err
	}
	var since *engram.Time
	for i := range edges {
		if e := &edges[i]; e.Samples > 0 && (since == nil || e.Last > *since) {
			since = &e.Last
		}
	}
	return since, nil
}

type answerJSON struct {
	Acquisition uint64          `json:"acquisition,omitempty"`
	Target      string          `json:"target"`
	Source      string          `json:"source"`
	Time        *engram.Time    `json:"time,omitempty"`  // none for what is the same at all times, or rests
	Since       *engram.Time    `json:"since,omitempty"` // of what rests: when it was last stated or moved
	Translation [3]float64      `json:"translation"`
	Rotation    quatJSON        `json:"rotation"`
	Uncertainty string          `json:"uncertainty,omitempty"`
	Covariance  *[6][6]*float64 `json:"covariance,omitempty"` // null where it is not estimated
	Revision    uint64          `json:"revision"`
	Flags       string          `json:"flags,omitempty"`
}

// quatJSON is a unit quaternion as payloads have it.
type quatJSON struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	Z float64 `json:"z"`
	W float64 `json:"w"`
}

func quatObject(q pose.Quat) quatJSON { return quatJSON{q.X, q.Y, q.Z, q.W} }

func printAnswer(cmd *cobra.Command, format string, a *lookup.Answer, withCov bool, since *engram.Time) error {
	out, row, object := answerRow(a, withCov)
	if object.Since = since; since != nil {
		at := fullTime(*since)
		at.shown = "since " + at.shown
		row[2] = at
	}
	out.add(row...)
	return print(cmd.OutOrStdout(), format, out, []answerJSON{object})
}

// answerRow returns an answer as a row of a table and as an object; the row is not in
// the table yet.
func answerRow(a *lookup.Answer, withCov bool) (out *table, row []any, o answerJSON) {
	p, i := a.Pose, a.Info
	o = answerJSON{
		Target: a.Target, Source: a.Source, Revision: uint64(i.Revision), Flags: i.Flags.String(),
		Translation: [3]float64{p.T.X, p.T.Y, p.T.Z}, Rotation: quatObject(p.R),
	}
	when := any("at rest")
	if i.Flags&pose.Static != 0 {
		when = "always"
	}
	if i.SourceTime != engram.MaxTime {
		o.Time = &i.SourceTime
		when = fullTime(i.SourceTime)
	}
	out = &table{header: []string{"TARGET", "SOURCE", "TIME", "X", "Y", "Z", "ROLL", "PITCH", "YAW", "REVISION", "HOW"},
		right: []bool{3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}, spare: []string{"REVISION", "HOW", "TARGET", "SOURCE", "TIME"}}
	roll, pitch, yaw := p.R.EulerZYX()
	row = []any{a.Target, a.Source, when, formatMetres(p.T.X), formatMetres(p.T.Y), formatMetres(p.T.Z),
		formatDegrees(roll), formatDegrees(pitch), formatDegrees(yaw), fmt.Sprint(uint64(i.Revision)), o.Flags}
	if withCov {
		o.Uncertainty, o.Covariance = covObject(&a.Cov)
		out.header = append(out.header, "SIGMA")
		row = append(row, strings.ReplaceAll(a.Cov.String(), "NaN", "?"))
	}
	return out, row, o
}

// covObject returns what is known of a covariance, and the matrix unless that is
// nothing.
func covObject(c *pose.Cov) (state string, matrix *[6][6]*float64) {
	state = c.State().String()
	if c.Mask == 0 {
		return state, nil
	}
	if c.State() == pose.Unknown {
		state = "partly estimated"
	}
	matrix = new([6][6]*float64)
	for i := range 6 {
		for j := range 6 {
			if c.Mask>>i&1 != 0 && c.Mask>>j&1 != 0 {
				matrix[i][j] = new(c.At(i, j))
			}
		}
	}
	return state, matrix
}

func formatDegrees(rad float64) string { return formatRounded(rad*180/math.Pi, 3) + "°" }

// formatRounded returns a number with so many decimals, and no sign before zeros.
func formatRounded(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

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
		Long: `Waits for revisions and tells when and how far they moved B in A, with --acquired
which of the acquisitions of B ('engram pose acquire') and where they are now, the
largest movement first. What moved since a revision that is past is told with --from.`,
		Example: `  engram pose watch map rover1/base --trans 0.01
  engram pose watch map rover1/cam --acquired`,
		Args: positional(cobra.ExactArgs(2)),
	}
	addOutputFormats(cmd, streamFormats)
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
	Old    *placeJSON  `json:"old,omitempty"` // none if it was not known
	New    *placeJSON  `json:"new,omitempty"` // none if it is known no more
	Failed bool        `json:"failed,omitempty"`
}

type placeJSON struct {
	Translation [3]float64 `json:"translation"`
	Rotation    quatJSON   `json:"rotation"`
}

func placeObject(p pose.Pose) *placeJSON {
	if p == (pose.Pose{}) {
		return nil
	}
	return &placeJSON{[3]float64{p.T.X, p.T.Y, p.T.Z}, quatObject(p.R)}
}

func watchPoses(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	th, err := threshold(cmd)
	if err != nil {
		return err
	}
	limit, _ := f.GetDuration("for")
	count, _ := f.GetInt("count")
	if count < 0 || limit < 0 {
		return usagef("--count %d --for %v: 0 or more", count, limit)
	}
	return withPoses(cmd, func(format string, poses lookup.Service) error {
		ask := pose.Changes{Target: args[0], Source: args[1], Trans: th.Trans, Rot: th.Rot}
		ask.OnlyAcquired, _ = f.GetBool("acquired")
		ctx := cmd.Context()
		stream, err := poses.Watch(ctx, ask, revisionFlag(cmd, "from"))
		if err != nil {
			return err
		}
		defer stream.Close()
		if limit > 0 { // from now on, however long it took to come here
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
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

func printEvent(cmd *cobra.Command, format string, ev *lookup.Event) error {
	out, changes := changeTable(ev.Changes)
	if format != "table" {
		o := eventJSON{From: uint64(ev.From), To: uint64(ev.To), Changes: changes}
		for _, m := range ev.Moved {
			o.Moved = append(o.Moved, movedJSON{uint64(m.ID), m.Time, m.Trans, m.Rot, placeObject(m.Old), placeObject(m.New), m.Failed})
		}
		return writeJSONLine(cmd.OutOrStdout(), o)
	}
	cmd.Printf("-- revision %d to %d, %s --\n", ev.From, ev.To, time.Now().Format(time.TimeOnly))
	if len(ev.Moved) > 0 {
		out = &table{header: []string{"ACQUISITION", "TIME", "TRANS", "ROT", "X", "Y", "Z", "YAW", "NOTE"}, right: []bool{0: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
		for _, m := range ev.Moved {
			note := ""
			if m.Failed {
				note = "no answer in one of the revisions"
			}
			_, _, yaw := m.New.R.EulerZYX()
			out.add(strconv.FormatUint(uint64(m.ID), 10), fullTime(m.Time), formatMetres(m.Trans)+" m", formatDegrees(m.Rot),
				formatMetres(m.New.T.X), formatMetres(m.New.T.Y), formatMetres(m.New.T.Z), formatDegrees(yaw), note)
		}
	}
	return out.write(cmd.OutOrStdout())
}
