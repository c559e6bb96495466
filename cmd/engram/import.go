package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/words"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import RECORDING…",
		Short: "Write a recording into the memory: MCAP, ROS 1 bag, rosbag2",
		Long: `Reads recordings and commits each message to the segment that fits it: joint
states, transforms, odometry and poses to RobotState, images, point clouds and scans
to Vision, words to Speech, everything else to GeneralPurpose/<message type>. The
provider is the recording's name, the entity the topic. Where a type may be several things,
the topic's name tells: joint states of /joint_commands are none that were measured, and
a string is speech on /speech, /say and the like. WHY says so, and with what --to it is
otherwise.

What 'engram export' wrote, and an episode of a long-term memory, becomes the same
memory again: the same IDs, times, confidences and types. With --source, --mapping or
--to it is imported as any other recording.

A recording is an MCAP file, a ROS 1 bag, a rosbag2 database, or the folder of a
split rosbag2; the files in a folder without a metadata.yaml are recordings of their
own. Where the server has --data, the command returns when what the policies record of
it is on disk, and ends the open episode for that; --no-wait leaves early. WHY tells of
each topic what the policies leave out on disk; --all has all of it kept there, by a
mark of its span of time, until 'engram episode unmark "import SOURCE"'.

Topics whose times do not fit those of the others, by another clock or for want of
stamps, are told, with the --offset or --log-times that would mend it.

Of a damaged recording what can be read is imported and the loss is named; then the exit
code is 3, as it is if the memory keeps less than what was imported, if one of several
recordings cannot be read, and after an interrupt. docs/ingest.md describes the mapping.`,
		Example: `  engram import g1_bottle_2.mcap
  engram import run7.bag --urdf rover.urdf
  engram import lab.bag --source lab-monday --rate 1
  engram import bags/run7 --mapping mine.yaml
  engram import run7.bag --to /status=Speech/Text --to '/debug/*=GeneralPurpose/{type}'
  engram import run7.bag --offset '/lidar/*=-120ms' --log-times /gps`,
		Args: positional(cobra.MinimumNArgs(1)),
	}
	f := cmd.Flags()
	f.String("source", "", "the provider segments' name (default: the recording's name)")
	f.String("urdf", "", "the robot's description, committed before what was recorded")
	f.String("mapping", "", "a YAML file that says which messages go where, before the built-in rules")
	f.StringArray("to", nil, "TOPIC=MEMORY/SEGMENT, may be a glob: goes to that core segment; with {type} as its own type")
	f.Float64("rate", 0, "replay at this multiple of the recorded speed; 0 is as fast as possible")
	addTimeFlags(cmd)
	f.Bool("all", false, "have the disk keep all of it, whatever the policies leave out or let fade")
	f.Bool("no-wait", false, "return without waiting until the server's disk has what was imported")
	printing(cmd, importRecordings)
	return cmd
}

// waitForDisk seals the open episodes of the servers that record the import, and returns
// why one could not be sealed.
func waitForDisk(cmd *cobra.Command, m *client.Client, reports []*ingest.Report) (loss []string) {
	memories := map[string]bool{}
	for _, r := range reports {
		for _, topic := range r.Topics {
			for _, id := range topic.Targets {
				memories[id.Memory()] = true
			}
		}
	}
	for _, memory := range slices.Sorted(maps.Keys(memories)) {
		err := m.LongTerm(memory).Seal(cmd.Context(), "import")
		if err != nil && engram.CodeOf(err) != engram.Unsupported {
			loss = append(loss, fmt.Sprintf("what was imported into %s is in RAM, and may not be on disk yet: %v", memory, err))
		}
	}
	return loss
}

func importRecordings(cmd *cobra.Command, args []string, format string) (err error) {
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
	if o.Mapping, err = sent(cmd, o.Mapping); err != nil {
		return err
	}
	if o.Times, err = timeRules(cmd); err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	names, err := recordingsOf(args)
	if err != nil {
		return err
	}
	own := map[string]bool{} // they come back under their own names and times
	if !f.Changed("source") && !f.Changed("mapping") && !f.Changed("to") {
		for _, name := range names {
			if own[name] = ingest.IsEpisode(name); own[name] && len(o.Times) > 0 {
				return usagef("%s: what was exported comes back at its own times; with --source it is imported like other recordings, and --offset and --log-times count", name)
			}
		}
	}
	if err := importURDF(cmd, m, names, o.Source); err != nil {
		return err
	}
	all, _ := f.GetBool("all")
	var reports []*ingest.Report
	var loss []string
	imported := false
	for _, name := range names {
		bar := newProgress(cmd, name, o.Rate > 0)
		o.Progress = bar.set
		if all {
			o.Mark = keepAll(m, importLabel(name, o.Source))
		}
		read := ingest.Import
		if own[name] {
			read = ingest.ImportEpisode
		}
		report, err := read(cmd.Context(), m, name, o)
		bar.finish()
		if report != nil {
			loss = append(loss, lossesOf(cmd, report, reports)...)
			for _, pattern := range report.Unmatched {
				cmd.PrintErrf("%s: no topic is %s, so nothing was done to its times\n", name, visible(pattern))
			}
			reports = append(reports, report)
			imported = imported || report.Stored > 0 || err == nil
		}
		if err == nil {
			continue
		}
		code := engram.CodeOf(err)
		if len(names) == 1 && !imported {
			return err
		}
		if cmd.Context().Err() != nil {
			loss = append(loss, "interrupted: "+name+" was imported in part"+notBegun(len(names)-len(reports)))
			break
		}
		loss = append(loss, err.Error())
		if code == engram.Unavailable && report != nil {
			break // the memory went away
		}
	}
	if noWait, _ := f.GetBool("no-wait"); !noWait && imported && cmd.Context().Err() == nil {
		loss = append(loss, waitForDisk(cmd, m, reports)...)
	}
	tellPolicies(cmd, m, reports, all)
	if imported {
		tellLeftOut(cmd, m.Poses(client.PoseMemory), reports, f.Changed("urdf"))
	}
	if len(reports) > 0 {
		if err := printReports(cmd, format, reports); err != nil {
			return err
		}
	}
	if len(loss) == 0 {
		return nil
	}
	text := strings.Join(loss, "\nengram: ")
	if !imported {
		return errors.New(text)
	}
	return &lossError{text}
}

// sent returns the mapping with the topics that --to sends elsewhere; the first of the flags counts.
func sent(cmd *cobra.Command, m *ingest.Mapping) (*ingest.Mapping, error) {
	flags, _ := cmd.Flags().GetStringArray("to")
	if m == nil {
		m = ingest.DefaultMapping()
	}
	for _, flag := range slices.Backward(flags) {
		i := strings.LastIndexByte(flag, '=')
		if i < 1 {
			return nil, usagef("--to %s: write TOPIC=MEMORY/SEGMENT, such as /status=Speech/Text", flag)
		}
		var err error
		if m, err = m.Send(flag[:i], flag[i+1:]); err != nil {
			return nil, usagef("--to %s: %w", flag, err)
		}
	}
	return m, nil
}

func notBegun(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(", %s not begun", countOf(uint64(n), "recording"))
}

// recordingsOf returns the recordings that the arguments name: a folder without a
// description holds recordings of their own.
func recordingsOf(args []string) ([]string, error) {
	var names []string
	for _, arg := range args {
		episodes := filepath.Join(arg, "episodes")
		if info, err := os.Stat(episodes); err == nil && info.IsDir() {
			return nil, usagef("%s is the folder of a server that records: 'engram serve --data %s' has what is in it; its episodes are imported with 'engram import %s'", arg, arg, episodes)
		}
		found, err := recording.List(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return names, nil
}

// lossesOf returns a line for each kind of loss of an import. What it pushed out of
// the memory is a loss if it was of the imports before.
func lossesOf(cmd *cobra.Command, r *ingest.Report, before []*ingest.Report) []string {
	var loss []string
	if s := r.LossSummary(); s != "" {
		loss = append(loss, "lost: "+s)
	}
	if r.Refused > 0 {
		loss = append(loss, fmt.Sprintf("%s: the memory refused %s, see the table", r.File, countOf(r.Refused, "update")))
	}
	if r.Evicted > 0 {
		segments := make([]string, len(r.Evictions))
		for i, e := range r.Evictions {
			segments[i] = fmt.Sprintf("%s %s", words.Count(e.Evicted), keepsOf(e))
		}
		loss = append(loss, fmt.Sprintf("%s: of %s stored %s are gone already: %s; "+
			"to keep all, send the topics with --mapping to GeneralPurpose/{type}, whose entities have no bounds of their own, or serve from a program that sets larger bounds",
			r.File, countOf(r.Stored, "snapshot"), words.Count(r.Evicted), strings.Join(segments, ", ")))
	}
	if r.Displaced > 0 {
		text := fmt.Sprintf("%s: %s that the same entities held before are gone, to stay within the segments' bounds; "+
			"import with another --source to keep both", r.File, countOf(r.Displaced, "snapshot"))
		if slices.ContainsFunc(before, func(b *ingest.Report) bool { return b.Source == r.Source }) {
			return append(loss, text)
		}
		cmd.PrintErrln("engram: " + text)
	}
	return loss
}

// keepsOf says what bounds evicted snapshots of a segment.
func keepsOf(e ingest.Eviction) string {
	var bounds []string
	if h := e.History; h.MaxAge > 0 {
		bounds = append(bounds, h.MaxAge.String())
	}
	if h := e.History; h.MaxBytes > 0 {
		bounds = append(bounds, fmt.Sprintf("%.4g MiB", float64(h.MaxBytes)/(1<<20)))
	}
	if h := e.History; h.MaxCount > 0 {
		bounds = append(bounds, countOf(uint64(h.MaxCount), "snapshot"))
	}
	if len(bounds) == 0 {
		return fmt.Sprintf("in %s (the memory %s is full)", e.Segment, e.Segment.Memory())
	}
	return fmt.Sprintf("in %s (it keeps %s per entity)", e.Segment, strings.Join(bounds, " / "))
}

// progress shows how far an import has come, on a terminal: in bytes, or at a rate
// in recorded time.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(cmd *cobra.Command, name string, paced bool) *progress {
	file, ok := cmd.ErrOrStderr().(interface {
		io.Writer
		Fd() uintptr
	})
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	return newBar(file, name, paced)
}

func newBar(w io.Writer, name string, paced bool) *progress {
	bar := progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(name),
		progressbar.OptionShowBytes(!paced), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	bar.StartWithoutRender() // the rate is of the time from now on, not from the first part
	return &progress{bar}
}

func (p *progress) set(done, total int64) {
	if p.bar != nil {
		if total = max(total, 1); total != p.bar.GetMax64() { // which counts for the rate as nothing done
			p.bar.ChangeMax64(total)
		}
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
	File        string      `json:"file"`
	Source      string      `json:"source"`
	Messages    uint64      `json:"messages,string"`
	Stored      uint64      `json:"stored,string"`
	Kept        uint64      `json:"kept,string"`
	Shifted     uint64      `json:"shifted,string"`
	Superseded  uint64      `json:"superseded,string"`
	Refused     uint64      `json:"refused,string"`
	Skipped     uint64      `json:"skipped,string"`
	Seconds     float64     `json:"seconds"`
	Loss        []string    `json:"loss,omitempty"`
	Clocks      []clockJSON `json:"clocks,omitempty"` // times that do not fit the others
	ClockOffset float64     `json:"clock_offset"`     // seconds from the log times to most stamps
	Topics      []topicJSON `json:"topics"`
}

type topicJSON struct {
	Topic      string   `json:"topic"`
	Type       string   `json:"type"`
	Messages   uint64   `json:"messages,string"`
	Target     []string `json:"target"`
	Stored     uint64   `json:"stored,string"`
	Kept       uint64   `json:"kept,string"`
	Shifted    uint64   `json:"shifted,string"`
	Superseded uint64   `json:"superseded,string"`
	Refused    uint64   `json:"refused,string"`
	Skipped    uint64   `json:"skipped,string"`
	Reasons    []string `json:"reasons,omitempty"`
	Notes      []string `json:"notes,omitempty"`
}

func toReportJSON(r *ingest.Report) reportJSON {
	o := reportJSON{
		File: r.File, Source: r.Source, Messages: r.Messages, Stored: r.Stored, Kept: r.Stored - r.Evicted, Shifted: r.Shifted, Superseded: r.Superseded,
		Refused: r.Refused, Skipped: r.Skipped, Seconds: r.Took.Seconds(), Topics: []topicJSON{},
		Clocks: clocksJSON(r), ClockOffset: r.ClockOffset.Seconds(),
	}
	for _, l := range r.Loss {
		o.Loss = append(o.Loss, l.String())
	}
	for _, topic := range r.Topics {
		t := topicJSON{
			Topic: topic.Topic, Type: topic.Type, Messages: topic.Messages, Target: []string{}, Stored: topic.Stored,
			Kept: topic.Stored - topic.Evicted, Shifted: topic.Shifted, Superseded: topic.Superseded, Refused: topic.Refused, Skipped: topic.Skipped,
		}
		for _, id := range topic.Targets {
			t.Target = append(t.Target, id.String())
		}
		for _, reason := range topic.Reasons {
			t.Reasons = append(t.Reasons, fmt.Sprintf("%s × %s", words.Count(reason.Count), reason.Text))
		}
		for _, noted := range topic.Noted {
			t.Notes = append(t.Notes, fmt.Sprintf("%s × %s", words.Count(noted.Count), noted.Text))
		}
		t.Notes = append(t.Notes, topic.Notes...)
		if topic.Chosen != "" {
			t.Notes = append(t.Notes, howChosen(&topic))
		}
		o.Topics = append(o.Topics, t)
	}
	return o
}

// howChosen says by what a topic's target was chosen, and how to have it otherwise.
func howChosen(t *ingest.TopicReport) string {
	if t.Otherwise == "" || strings.ContainsAny(t.Topic, "*?'\n") { // --to takes globs
		return t.Chosen
	}
	return fmt.Sprintf("%s; else --to '%s=%s'", t.Chosen, t.Topic, t.Otherwise)
}

// reportTable has a row for each topic, and one for each loss in CSV, where there is
// no other place for it.
func reportTable(format string, objects []reportJSON) *table {
	t := &table{
		header: []string{"FILE", "TOPIC", "TYPE", "MESSAGES", "TARGET", "STORED", "KEPT", "SKIPPED", "REFUSED", "WHY"},
		right:  []bool{false, false, false, true, false, true, true, true, true},
		spare:  []string{"TYPE", "KEPT", "TARGET"},
		folded: true,
	}
	hide := map[string]bool{"FILE": len(objects) == 1, "SKIPPED": true}
	for _, o := range objects {
		for _, topic := range o.Topics {
			hide["SKIPPED"] = hide["SKIPPED"] && topic.Skipped == 0
			target, why := strings.Join(topic.Target, ", "), slices.Concat(topic.Reasons, topic.Notes)
			if topic.Skipped > 0 {
				why = append([]string{"left out by the mapping"}, why...)
			}
			if topic.Shifted > 0 {
				why = append(why, words.Count(topic.Shifted)+" of equal stamps, each a nanosecond after the one before")
			}
			if topic.Superseded > 0 {
				why = append(why, words.Count(topic.Superseded)+" took the place of what was there before at the same times")
			}
			t.add(narrow(o.File), narrow(topic.Topic), narrow(topic.Type), topic.Messages, narrow(target), topic.Stored, topic.Kept, topic.Skipped, topic.Refused, strings.Join(why, "; "))
		}
		if format == "csv" {
			for _, l := range o.Loss {
				t.add(o.File, "", "", "", "", "", "", "", "", "lost: "+l)
			}
		}
	}
	if format != "csv" {
		t.hide(hide)
	}
	return t
}

// hide drops columns by their header.
func (t *table) hide(columns map[string]bool) {
	hidden := func(i int) bool { return columns[t.header[i]] }
	for r, row := range t.rows {
		t.rows[r] = without(row, hidden)
	}
	t.right = without(t.right, hidden)
	t.header = without(t.header, hidden)
}

// without returns s without the elements whose index is dropped.
func without[T any](s []T, drop func(int) bool) []T {
	var kept []T
	for i, v := range s {
		if !drop(i) {
			kept = append(kept, v)
		}
	}
	return kept
}

func printReports(cmd *cobra.Command, format string, reports []*ingest.Report) error {
	objects := make([]reportJSON, len(reports))
	for i, r := range reports {
		objects[i] = toReportJSON(r)
	}
	t := reportTable(format, objects)
	if format != "table" || len(t.rows) > 0 {
		if err := print(cmd.OutOrStdout(), format, t, objects); err != nil {
			return err
		}
	}
	if format != "table" && format != "csv" {
		return nil // all is in the objects
	}
	for _, r := range reports {
		if format == "csv" {
			tellClocks(cmd, r)
			continue
		}
		if r.Messages == 0 {
			cmd.PrintErrf("%s: holds no messages that can be read\n", r.File)
			continue
		}
		where := "under the IDs that they had"
		if r.Source != "" {
			where = "to */*/" + engram.EscapeName(r.Source)
		}
		cmd.PrintErrf("%s: %s of %s recorded%s, written %s\n", r.File, countOf(r.Messages, "message"),
			words.Duration(r.Span.End.Sub(r.Span.Start)), speedOf(r), where)
		tellClocks(cmd, r)
	}
	return nil
}

// speedOf says how long an import took, and how fast it was if that is a measure.
func speedOf(r *ingest.Report) string {
	s := r.Took.Seconds()
	text := " in " + strconv.FormatFloat(s, 'f', 2, 64) + " s"
	if s < 0.1 || r.Messages < 1000 {
		return text
	}
	return fmt.Sprintf("%s (%s messages/s)", text, words.Count(int64(float64(r.Messages)/s)))
}
