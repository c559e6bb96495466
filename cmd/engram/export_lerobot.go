package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/memories"
)

// addLeRobotFlags gives export the flags of --lerobot.
func addLeRobotFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Bool("lerobot", false, "a data set of LeRobot v3.0, in the folder FILE")
	f.StringArray("state", nil, "with --lerobot: ENTITY[=FIELD,…] is observation.state, or none; may be repeated (default: the joints that are felt)")
	f.StringArray("action", nil, "with --lerobot: ENTITY[=FIELD,…] is action, or none; may be repeated (default: the joints that are commanded)")
	f.StringArray("image", nil, "with --lerobot: [NAME=]ENTITY is observation.images.NAME, or none; may be repeated (default: all images)")
	f.Int("fps", 0, "with --lerobot: frames per second (default: the rate of the images)")
	f.String("task", "", "with --lerobot: what is done in all episodes (default: texts that are called a task, else the skills that are executed)")
	f.StringArray("episode", nil, "with --lerobot: A..B, or an episode on disk, is an episode; may be repeated (default: all that a provider gave is one)")
	f.Bool("nearest", false, "with --lerobot: frames have the nearest sample, up to one frame after them (default: what was in force)")
	_ = cmd.RegisterFlagCompletionFunc("state", completeIDs)
	_ = cmd.RegisterFlagCompletionFunc("action", completeIDs)
	_ = cmd.RegisterFlagCompletionFunc("image", completeIDs)
}

var leRobotFlags = []string{"state", "action", "image", "fps", "task", "episode", "nearest"}

type exportLeRobotJSON struct {
	Folder   string               `json:"folder"`
	FPS      int                  `json:"fps"`
	Frames   int                  `json:"frames"`
	Bytes    int64                `json:"bytes,string"`
	Tasks    []string             `json:"tasks"`
	Episodes []leRobotEpisodeJSON `json:"episodes"`
	Signals  []leRobotSignalJSON  `json:"signals"`
	Notes    []string             `json:"notes,omitempty"`
	Seconds  float64              `json:"seconds"`
	Missing  int                  `json:"missing"`
}

type leRobotEpisodeJSON struct {
	Source   string      `json:"source"`
	Start    engram.Time `json:"start"`
	End      engram.Time `json:"end"`
	Frames   int         `json:"frames"`
	Untasked int         `json:"frames_without_task"`
	CutStart float64     `json:"cut_start"` // seconds
	CutEnd   float64     `json:"cut_end"`
}

type leRobotSignalJSON struct {
	Episode    int       `json:"episode"`
	Feature    string    `json:"feature"`
	Entity     engram.ID `json:"entity"`
	Samples    int       `json:"samples"`
	Frames     int       `json:"frames"`
	Held       int       `json:"held"`
	Dropped    int       `json:"dropped"`
	Ahead      int       `json:"ahead"`
	MaxError   float64   `json:"max_error"` // seconds
	Gaps       int       `json:"gaps"`
	LongestGap float64   `json:"longest_gap"` // seconds
}

// exportLeRobot exports a data set of LeRobot, and tells of each signal what resampling did.
func exportLeRobot(cmd *cobra.Command, m *client.Client, args []string, base ingest.ExportOptions, format string) error {
	folder := args[len(args)-1]
	o, err := leRobotOptions(cmd, m)
	if err != nil {
		return err
	}
	bar := newProgress(cmd, folder, true)
	o.ExportOptions = base
	o.Progress = bar.set
	report, err := ingest.ExportLeRobot(cmd.Context(), m, folder, o)
	bar.finish()
	sayWhyNothing(cmd, m, args[:len(args)-1])
	if err != nil {
		return err
	}
	lost := tellMissing(cmd, folder, report.Missing)
	object := exportLeRobotJSON{
		Folder: folder, FPS: report.FPS, Frames: report.Frames, Bytes: report.Bytes, Tasks: report.Tasks, Notes: report.Notes, Seconds: report.Took.Seconds(), Missing: len(report.Missing),
	}
	t := &table{header: []string{"EPISODE", "FEATURE", "ENTITY", "SAMPLES", "FRAMES", "HELD", "DROPPED", "AHEAD", "MAX ERROR", "GAPS", "LONGEST GAP"},
		right: []bool{0: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true}}
	for _, s := range report.Signals {
		object.Signals = append(object.Signals, leRobotSignalJSON{
			Episode: s.Episode, Feature: s.Feature, Entity: s.Entity, Samples: s.Samples, Frames: s.Frames, Held: s.Held, Dropped: s.Dropped, Ahead: s.Ahead,
			MaxError: s.MaxError.Seconds(), Gaps: s.Gaps, LongestGap: s.LongestGap.Seconds(),
		})
		t.add(s.Episode, s.Feature, s.Entity, s.Samples, s.Frames, s.Held, s.Dropped, s.Ahead, secondsCell(s.MaxError), s.Gaps, secondsCell(s.LongestGap))
	}
	for _, e := range report.Episodes {
		object.Episodes = append(object.Episodes, leRobotEpisodeJSON{
			Source: e.Source, Start: e.Span.Start, End: e.Span.End, Frames: e.Frames, Untasked: e.Untasked, CutStart: e.CutStart.Seconds(), CutEnd: e.CutEnd.Seconds(),
		})
	}
	if err := print(cmd.OutOrStdout(), format, t, []exportLeRobotJSON{object}); err != nil {
		return err
	}
	if format == "table" {
		tellLeRobot(cmd, folder, report)
	}
	if len(lost) > 0 {
		return &lossError{fmt.Sprintf("%s lacks what should be in the memory, see above", folder)}
	}
	return nil
}

// tellLeRobot tells what is not in the table.
func tellLeRobot(cmd *cobra.Command, folder string, r *ingest.LeRobotReport) {
	for _, n := range r.Notes {
		cmd.PrintErrln(n)
	}
	for i, e := range r.Episodes {
		if e.CutStart > 0 || e.CutEnd > 0 {
			cmd.PrintErrf("episode %d, %s: %v at the beginning and %v at the end are left out, where a signal is not there\n", i, e.Source, e.CutStart.Round(time.Millisecond), e.CutEnd.Round(time.Millisecond))
		}
		if e.Untasked > 0 {
			cmd.PrintErrf("episode %d, %s: %s have no task; say one by --task\n", i, e.Source, countOf(uint64(e.Untasked), "frame"))
		}
	}
	cmd.PrintErrf("%s: %s of %s at %d frames per second, %s, %s, exported in %v\n", folder, countOf(uint64(r.Frames), "frame"), countOf(uint64(len(r.Episodes)), "episode"), r.FPS,
		countOf(uint64(len(r.Tasks)), "task"), byteSize(r.Bytes), r.Took.Round(10*time.Millisecond))
}

func secondsCell(d time.Duration) cell {
	return cell{shown: d.Round(10 * time.Microsecond).String(), raw: strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
}

// leRobotOptions reads the flags of --lerobot.
func leRobotOptions(cmd *cobra.Command, m *client.Client) (o ingest.LeRobotOptions, err error) {
	f := cmd.Flags()
	o.Commanded = memories.Commanded
	o.Nearest, _ = f.GetBool("nearest")
	o.Task, _ = f.GetString("task")
	if o.FPS, _ = f.GetInt("fps"); f.Changed("fps") && o.FPS <= 0 {
		return o, usagef("--fps %d: a data set has at least one frame per second", o.FPS)
	}
	for name, to := range map[string]*[]ingest.LeRobotSignal{"state": &o.State, "action": &o.Action, "image": &o.Images} {
		texts, _ := f.GetStringArray(name)
		if *to, err = leRobotSignals(name, texts); err != nil {
			return o, err
		}
	}
	episodes, _ := f.GetStringArray("episode")
	for _, text := range episodes {
		iv, err := leRobotEpisode(cmd, m, text)
		if err != nil {
			return o, err
		}
		o.Episodes = append(o.Episodes, iv)
	}
	return o, nil
}

func leRobotSignals(flag string, texts []string) (all []ingest.LeRobotSignal, err error) {
	for _, text := range texts {
		if text == "none" {
			if len(texts) > 1 {
				return nil, usagef("--%s none leaves it out; there is another --%s", flag, flag)
			}
			return []ingest.LeRobotSignal{}, nil
		}
		var s ingest.LeRobotSignal
		entity, fields, chosen := strings.Cut(text, "=")
		if flag == "image" && chosen {
			s.Name, entity = entity, fields
			if !validImageName(s.Name) {
				return nil, usagef("--image %s: a name has letters, digits, - and _", text)
			}
		} else if chosen {
			if s.Fields = strings.Split(fields, ","); fields == "" {
				return nil, usagef("--%s %s: no field follows the =", flag, text)
			}
		}
		if entity == "" {
			return nil, usagef("--%s %q names no entity", flag, text)
		}
		if s.Entities, err = parsePattern(entity); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func validImageName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// leRobotEpisode reads a span of time, or finds that of an episode on disk.
func leRobotEpisode(cmd *cobra.Command, m *client.Client, text string) (engram.Interval, error) {
	if strings.Contains(text, "..") {
		r, err := parseRangeArg(text)
		if err != nil {
			return engram.Interval{}, usagef("--episode: %w", err)
		}
		if r.usesLatest() {
			return engram.Interval{}, usagef("--episode %s: say absolute times, or ones relative to now", text)
		}
		return r.resolve(engram.Now(), 0), nil
	}
	store := m.LongTerm("")
	name, err := episodeNamed(cmd, store, text)
	if err != nil {
		return engram.Interval{}, err
	}
	info, _, err := store.Episode(cmd.Context(), name)
	if err != nil {
		return engram.Interval{}, err
	}
	return info.Recorded, nil
}

// checkLeRobotFolder refuses a folder that cannot be made, and flags that mean nothing there.
func checkLeRobotFolder(cmd *cobra.Command, folder string) error {
	for _, other := range []string{"ros1", "ros2", "no-derived"} {
		if cmd.Flags().Changed(other) {
			return usagef("--lerobot and --%s write different things; give one of them", other)
		}
	}
	if strings.HasSuffix(folder, ".mcap") || strings.HasSuffix(folder, ".bag") {
		return usagef("%q: --lerobot writes a folder, and this is the name of a file", folder)
	}
	folder = filepath.Clean(folder)
	if _, err := os.Stat(folder); err == nil {
		return usagef("%s is there already; give another name", folder)
	}
	if dir := filepath.Dir(folder); !isFolder(dir) {
		return usagef("%s: there is no folder %s", folder, dir)
	}
	return nil
}
