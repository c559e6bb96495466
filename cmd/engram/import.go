package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import RECORDING…",
		Short: "Write a recording into the memory: MCAP, ROS 1 bag, rosbag2",
		Long: `Reads recordings and commits each message to the segment that fits it: joint
states, transforms, odometry and poses to RobotState, images, point clouds and scans
to Vision, strings to Speech, everything else to GeneralPurpose/<message type>. The
provider is the recording's name, the entity the topic.

A recording is an MCAP file, a ROS 1 bag, a rosbag2 database, or the folder of a
split rosbag2. Of a damaged one what can be read is imported and the loss is named;
then the exit code is 3. docs/ingest.md describes the mapping.`,
		Example: `  engram import g1_bottle_2.mcap
  engram import run7.bag --urdf rover.urdf
  engram import lab.bag --source lab-monday --rate 1
  engram import bags/run7 --mapping mine.yaml`,
		Args: positional(cobra.MinimumNArgs(1)),
	}
	addOutputFlag(cmd)
	f := cmd.Flags()
	f.String("source", "", "the provider segments' name (default: the recording's name)")
	f.String("urdf", "", "the robot's description, committed before what was recorded")
	f.String("mapping", "", "a YAML file that says which messages go where, before the built-in rules")
	f.Float64("rate", 0, "replay at this multiple of the recorded speed; 0 is as fast as possible")
	cmd.RunE = importRecordings
	return cmd
}

func importRecordings(cmd *cobra.Command, args []string) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	var o ingest.Options
	o.Source, _ = f.GetString("source")
	if o.Rate, _ = f.GetFloat64("rate"); o.Rate < 0 {
		return usagef("--rate %v: 0 or more", o.Rate)
	}
	if name, _ := f.GetString("mapping"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if o.Mapping, err = ingest.ParseMapping(name, text); err != nil {
			return err
		}
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := importURDF(cmd, m, args, o.Source); err != nil {
		return err
	}
	var reports []*ingest.Report
	var loss []string
	for _, name := range args {
		bar := newProgress(cmd, name)
		o.Progress = bar.set
		report, err := ingest.Import(cmd.Context(), m, name, o)
		bar.finish()
		if err != nil {
			return err
		}
		reports = append(reports, report)
		if s := report.LossSummary(); s != "" {
			loss = append(loss, "lost of "+s)
		}
		if report.Refused > 0 {
			loss = append(loss, fmt.Sprintf("%s: the memory refused %s, see the table", report.File, countOf(report.Refused, "update")))
		}
	}
	if err := printReports(cmd, format, reports); err != nil {
		return err
	}
	if len(loss) > 0 {
		return &lossError{strings.Join(loss, "\nengram: ")}
	}
	return nil
}

// progress shows how far an import has come, on a terminal.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(cmd *cobra.Command, name string) *progress {
	file, ok := cmd.ErrOrStderr().(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(file), progressbar.OptionSetDescription(name),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())}
}

func (p *progress) set(done, total int64) {
	if p.bar != nil {
		p.bar.ChangeMax64(max(total, 1))
		_ = p.bar.Set64(done)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// reportJSON is what became of a recording, as import prints it.
type reportJSON struct {
	File     string      `json:"file"`
	Source   string      `json:"source"`
	Messages uint64      `json:"messages"`
	Stored   uint64      `json:"stored"`
	Refused  uint64      `json:"refused"`
	Skipped  uint64      `json:"skipped"`
	Seconds  float64     `json:"seconds"`
	Loss     []string    `json:"loss,omitempty"`
	Topics   []topicJSON `json:"topics"`
}

type topicJSON struct {
	Topic    string   `json:"topic"`
	Type     string   `json:"type"`
	Messages uint64   `json:"messages"`
	Target   []string `json:"target"`
	Stored   uint64   `json:"stored"`
	Refused  uint64   `json:"refused"`
	Skipped  uint64   `json:"skipped"`
	Reasons  []string `json:"reasons,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

func printReports(cmd *cobra.Command, format string, reports []*ingest.Report) error {
	t := &table{
		header: []string{"TOPIC", "TYPE", "MESSAGES", "TARGET", "STORED", "REFUSED", "WHY"},
		right:  []bool{false, false, true, false, true, true},
	}
	objects := make([]reportJSON, len(reports))
	for i, r := range reports {
		o := reportJSON{
			File: r.File, Source: r.Source, Messages: r.Messages, Stored: r.Stored, Refused: r.Refused,
			Skipped: r.Skipped, Seconds: r.Took.Seconds(), Topics: []topicJSON{},
		}
		for _, l := range r.Loss {
			o.Loss = append(o.Loss, l.String())
		}
		for _, topic := range r.Topics {
			tj := topicJSON{
				Topic: topic.Topic, Type: topic.Type, Messages: topic.Messages, Target: []string{}, Stored: topic.Stored,
				Refused: topic.Refused, Skipped: topic.Skipped, Notes: topic.Notes,
			}
			for _, id := range topic.Targets {
				tj.Target = append(tj.Target, id.String())
			}
			for _, reason := range topic.Reasons {
				tj.Reasons = append(tj.Reasons, fmt.Sprintf("%d × %s", reason.Count, reason.Text))
			}
			o.Topics = append(o.Topics, tj)
			t.add(topic.Topic, topic.Type, formatCount(topic.Messages), strings.Join(tj.Target, ", "),
				formatCount(topic.Stored), formatCount(topic.Refused), strings.Join(append(tj.Reasons, tj.Notes...), "; "))
		}
		objects[i] = o
	}
	if err := print(cmd.OutOrStdout(), format, t, objects); err != nil || format != "table" {
		return err
	}
	for _, r := range reports {
		rate := ""
		if s := r.Took.Seconds(); s > 0 && r.Messages > 0 {
			rate = fmt.Sprintf(" in %s s (%s messages/s)", strconv.FormatFloat(s, 'f', 2, 64), formatCount(int64(float64(r.Messages)/s)))
		}
		cmd.PrintErrf("%s: %s of %s recorded%s, written to */*/%s\n", r.File, countOf(r.Messages, "message"),
			r.Span.End.Sub(r.Span.Start).Round(10*time.Millisecond), rate, engram.EscapeName(r.Source))
	}
	return nil
}
