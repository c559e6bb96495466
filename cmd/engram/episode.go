package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/words"
)

func newEpisode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "episode",
		Short: "List, check, mark, keep and drop the episodes on disk",
		Long: `Works on the episodes of a server that records ('engram serve --data DIR'): MCAP
files, each with a span of what all memories knew, which any robotics tool opens.
docs/ltm.md explains what is recorded, and how long it is kept.`,
	}
	addServerFlag(cmd)
	cmd.AddCommand(newEpisodeLs(), newEpisodeShow(), newEpisodeMark(), newEpisodeUnmark(), newEpisodeMarks(), newEpisodeKeep(), newEpisodeRule(),
		newEpisodeSeal(), newEpisodeDrop(), newEpisodeVerify())
	return cmd
}

// addServerFlag gives a command, and those below it, the flag that chooses among
// servers.
func addServerFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().String("memory", "", "ask the server that hosts this memory (default: the one at --address)")
}

// withLongTerm calls f with the long-term memory that the command's flags lead to.
func withLongTerm(cmd *cobra.Command, f func(format string, store admin.Service) error) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return useMemories(cmd, func(_ engram.Service, store admin.Service) error { return f(format, store) })
}

// useMemories is withLongTerm for commands that ask for more than what is on disk.
func useMemories(cmd *cobra.Command, f func(m engram.Service, store admin.Service) error) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	memory, _ := cmd.Flags().GetString("memory")
	return f(m, m.LongTerm(memory))
}

// sayWhyNothing says of patterns by which nothing was found why that may be: what they
// name is not there.
func sayWhyNothing(cmd *cobra.Command, m engram.Service, texts []string) {
	for _, why := range whyNothing(cmd, m, texts) {
		cmd.PrintErrln("engram: " + why)
	}
}

// whyNothing returns a sentence for each pattern that matches nothing.
func whyNothing(cmd *cobra.Command, m engram.Service, texts []string) (reasons []string) {
	for _, text := range texts {
		t, err := parseTarget(text)
		if err != nil {
			continue
		}
		nodes, err := m.Stats(cmd.Context(), t.pattern, engram.Level(max(len(t.pattern.Levels), 1)))
		if err != nil || slices.ContainsFunc(nodes, func(s engram.Stats) bool { return int(s.ID.Level()) >= len(t.pattern.Levels) }) {
			continue
		}
		e := explainer{m: m, target: t}
		if why, err := e.noName(cmd.Context()); err == nil {
			reasons = append(reasons, why)
		}
	}
	return reasons
}

// episodeJSON is an episode as 'episode ls' and 'episode show' print it.
type episodeJSON struct {
	Name      string            `json:"name"`
	State     string            `json:"state"`
	Start     *engram.Time      `json:"start,omitempty"` // absent where it holds nothing
	End       *engram.Time      `json:"end,omitempty"`
	Spans     []spanJSON        `json:"spans,omitempty"` // within, if there are several far apart
	Snapshots uint64            `json:"snapshots,string"`
	InForce   uint64            `json:"in_force,string"`
	Bytes     int64             `json:"bytes,string"`
	Kept      bool              `json:"kept"`
	Recovered bool              `json:"recovered"`
	Robot     string            `json:"robot,omitempty"`
	Marks     []markJSON        `json:"marks,omitempty"`
	Losses    []string          `json:"losses,omitempty"`
	Damage    string            `json:"damage,omitempty"` // what is wrong with it; of one that is damaged as a whole, why it cannot be read
	Labels    map[string]string `json:"labels,omitempty"`
	Entities  []entityJSON      `json:"entities,omitempty"`
}

type spanJSON struct {
	Start engram.Time `json:"start"`
	End   engram.Time `json:"end"`
}

type entityJSON struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	Codec     string       `json:"codec"`
	Start     *engram.Time `json:"start,omitempty"` // absent where it holds nothing
	End       *engram.Time `json:"end,omitempty"`
	Snapshots uint64       `json:"snapshots,string"`
	InForce   uint64       `json:"in_force,string"`
	Bytes     int64        `json:"bytes,string"`
}

func toEpisodeJSON(e *admin.EpisodeInfo) episodeJSON {
	o := episodeJSON{
		Name: e.Name, State: "open", Snapshots: e.Snapshots, InForce: e.InForce, Bytes: e.Bytes, Kept: e.Kept, Recovered: e.Recovered,
		Robot: e.Robot, Marks: toMarksJSON(e.Marks), Losses: e.Losses, Labels: e.Labels,
	}
	if e.Sealed {
		o.State = "sealed"
	}
	if e.Damage != nil {
		o.Damage = e.Damage.Why
	}
	if !e.Recorded.Empty() {
		o.Start, o.End = new(e.Recorded.Start), new(e.Recorded.End)
	}
	return o
}

// noteOf says in a few words what is special about an episode.
func noteOf(e *admin.EpisodeInfo) string {
	var notes []string
	if !e.Sealed {
		notes = append(notes, "open")
	}
	if e.Kept {
		notes = append(notes, "kept")
	}
	if n := len(e.Marks); n > 0 {
		notes = append(notes, countOf(uint64(n), "mark"))
	}
	if e.Damage != nil {
		notes = append(notes, "damaged, read in part")
	}
	if e.Recovered {
		notes = append(notes, "recovered")
	}
	if n := len(e.Losses); n > 0 {
		notes = append(notes, countOf(uint64(n), "note")+" of loss")
	}
	return strings.Join(notes, ", ")
}

func newEpisodeLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List the episodes by time",
		Example: "  engram episode ls\n  engram episode ls --range now-2h.. -o json",
		Args:    positional(cobra.NoArgs),
	}
	addOutputFlag(cmd)
	addSpanFlag(cmd, "only the episodes that hold something of A..B; either may be left out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		span, err := spanFlag(cmd)
		if err != nil {
			return err
		}
		return withLongTerm(cmd, func(format string, store admin.Service) error {
			list, err := store.Episodes(cmd.Context(), span)
			if err != nil {
				return err
			}
			out := &table{header: []string{"NAME", "START", "LENGTH", "SNAPSHOTS", "SIZE", "NOTES"}, right: []bool{2: true, 3: true, 4: true}, spare: []string{"SNAPSHOTS"}}
			objects := make([]episodeJSON, len(list))
			for i := range list {
				e := &list[i]
				objects[i] = toEpisodeJSON(e)
				start, length, note := cell{}, cell{}, noteOf(e)
				if !e.Recorded.Empty() {
					start = secondTime(e.Recorded.Start)
					spans := recordedSpans(cmd, store, e)
					length = lengthOf(spans...)
					if len(spans) > 1 {
						note = strings.TrimSuffix(fmt.Sprintf("%d spans of time, %s", len(spans), note), ", ")
						objects[i].Spans = toSpansJSON(spans)
					}
				}
				out.add(e.Name, start, length, e.Snapshots-e.InForce, byteSize(e.Bytes), note)
			}
			damaged, err := store.Damaged(cmd.Context())
			for _, d := range damaged {
				out.add(d.Name, cell{}, cell{}, cell{}, cell{}, "damaged")
				objects = append(objects, episodeJSON{Name: d.Name, State: "damaged", Damage: d.Why})
			}
			if err := print(cmd.OutOrStdout(), format, out, objects); err != nil {
				return err
			}
			for _, d := range damaged {
				cmd.PrintErrf("engram: %s is damaged: %s; 'engram ltm repair' may save what is in it, 'engram episode drop' deletes it\n", visible(d.Name), oneLine(d.Why))
			}
			return err
		})
	}
	return cmd
}

// lengthOf is how long spans of times are together.
func lengthOf(spans ...engram.Interval) cell {
	var d time.Duration
	for _, iv := range spans {
		d += iv.End.Sub(iv.Start)
	}
	return cellOf(words.Duration(d), d.String())
}

// spansApart is how far apart the times of an episode's entities are at least that are
// spans of their own: of what was imported from a recording of long ago, and of what came
// meanwhile.
const spansApart = time.Hour

// recordedSpans returns the spans of time in which an episode recorded.
func recordedSpans(cmd *cobra.Command, store admin.Service, e *admin.EpisodeInfo) []engram.Interval {
	whole := []engram.Interval{e.Recorded}
	if e.Recorded.End.Sub(e.Recorded.Start) < spansApart {
		return whole
	}
	_, entities, err := store.Episode(cmd.Context(), e.Name)
	if err != nil {
		return whole // it is gone meanwhile
	}
	entities = slices.DeleteFunc(entities, func(e episode.Entity) bool { return e.Recorded.Empty() })
	slices.SortFunc(entities, func(a, b episode.Entity) int { return cmp.Compare(a.Recorded.Start, b.Recorded.Start) })
	var spans []engram.Interval
	for _, e := range entities {
		if n := len(spans); n > 0 && e.Recorded.Start < spans[n-1].End.Add(spansApart) {
			spans[n-1].End = max(spans[n-1].End, e.Recorded.End)
			continue
		}
		spans = append(spans, e.Recorded)
	}
	if len(spans) == 0 {
		return whole
	}
	return spans
}

func toSpansJSON(spans []engram.Interval) (out []spanJSON) {
	for _, iv := range spans {
		out = append(out, spanJSON{iv.Start, iv.End})
	}
	return out
}

// addSpanFlag gives a command the flag --range for a span of absolute times.
func addSpanFlag(cmd *cobra.Command, usage string) { cmd.Flags().String("range", "", usage) }

// spanFlag returns the span of --range; all times if it is not given.
func spanFlag(cmd *cobra.Command) (engram.Interval, error) {
	text, _ := cmd.Flags().GetString("range")
	if !cmd.Flags().Changed("range") {
		return engram.Always(), nil
	}
	r, err := parseRangeArg(text)
	if err != nil {
		return engram.Interval{}, usagef("--range: %w", err)
	}
	if r.usesLatest() {
		return engram.Interval{}, usagef("--range %s: say absolute times, or ones relative to now", text)
	}
	return r.resolve(engram.Now(), 0), nil
}

func newEpisodeShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show EPISODE",
		Short:             "Print what an episode holds of each entity",
		Long:              "Prints what an episode holds of each entity, and what is noted of it. An episode is\nnamed as 'engram episode ls' does; its number will do, such as 17, or the end of its\nname.",
		Example:           "  engram episode show 2026-11-20T12-51-46Z-000017.mcap\n  engram episode show 000017 -o json",
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeEpisodes,
	}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withLongTerm(cmd, func(format string, store admin.Service) error {
			name, err := episodeNamed(cmd, store, args[0])
			if err != nil {
				return err
			}
			info, entities, err := store.Episode(cmd.Context(), name)
			if err != nil {
				return err
			}
			out := &table{header: []string{"ENTITY", "TYPE", "CODEC", "SNAPSHOTS", "IN FORCE", "SIZE", "START", "LENGTH"}, right: []bool{3: true, 4: true, 5: true, 7: true}, spare: []string{"CODEC", "IN FORCE", "TYPE", "START"}}
			object := toEpisodeJSON(&info)
			for i := range entities {
				e := &entities[i]
				o := entityJSON{ID: e.ID.String(), Type: e.Type, Codec: e.Codec, Snapshots: e.Snapshots, InForce: e.InForce, Bytes: e.Bytes}
				start, length := any(cell{}), cell{}
				if !e.Recorded.Empty() {
					o.Start, o.End = new(e.Recorded.Start), new(e.Recorded.End)
					start, length = e.Recorded.Start, lengthOf(e.Recorded)
				}
				object.Entities = append(object.Entities, o)
				out.add(o.ID, e.Type, e.Codec, e.Snapshots-e.InForce, e.InForce, byteSize(e.Bytes), start, length)
			}
			switch format {
			case "table", "csv":
				if err := print[episodeJSON](cmd.OutOrStdout(), format, out, nil); err != nil {
					return err
				}
			default:
				return printObject(cmd.OutOrStdout(), format, object)
			}
			notes := []string{countOf(info.Snapshots-info.InForce, "snapshot"), byteSize(info.Bytes).String()}
			if info.Robot != "" {
				notes = append(notes, "of "+visible(info.Robot))
			}
			if note := noteOf(&info); note != "" {
				notes = append(notes, note)
			}
			cmd.PrintErrf("%s: %s\n", name, strings.Join(notes, ", "))
			for _, m := range info.Marks {
				cmd.PrintErrf("  marked at %s: %s\n", m.Time, visible(m.Label))
			}
			if info.Damage != nil {
				cmd.PrintErrf("  damaged: %s; what can be read of it is served, 'engram ltm repair' writes it anew\n", visible(info.Damage.Why))
			}
			for _, l := range info.Losses {
				cmd.PrintErrf("  not in it: %s\n", visible(l))
			}
			return nil
		})
	}
	return cmd
}

// episodeNamed returns the full name of the one episode that a text names.
func episodeNamed(cmd *cobra.Command, store admin.Service, text string) (string, error) {
	names, err := episodeNames(cmd, store)
	if err != nil {
		return "", err
	}
	return oneNamed(text, names)
}

// episodeFileNamed is episodeNamed where it may be a damaged one.
func episodeFileNamed(cmd *cobra.Command, store admin.Service, text string) (string, error) {
	names, err := episodeNames(cmd, store)
	if err != nil {
		return "", err
	}
	damaged, err := store.Damaged(cmd.Context())
	if err != nil {
		return "", err
	}
	for _, d := range damaged {
		names = append(names, d.Name)
	}
	return oneNamed(text, names)
}

func episodeNames(cmd *cobra.Command, store admin.Service) ([]string, error) {
	list, err := store.Episodes(cmd.Context(), engram.Always())
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return names, err
}

// oneNamed returns the one name that is text, has it as its number, or ends so. Digits
// are a number and nothing else: 1 is 000001, and never 000011.
func oneNamed(text string, names []string) (string, error) {
	wanted := strings.TrimSuffix(text, ".mcap")
	number, err := strconv.ParseUint(wanted, 10, 64)
	isNumber := err == nil
	var found []string
	for _, name := range names {
		if name == text {
			return name, nil
		}
		base, _, _ := strings.Cut(name, ".mcap")
		matches := wanted != "" && strings.HasSuffix(base, wanted)
		if isNumber {
			n, err := strconv.ParseUint(base[strings.LastIndexByte(base, '-')+1:], 10, 64)
			matches = err == nil && n == number
		}
		if matches {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", engram.Errorf(engram.NotFound, text, "there is no such episode; 'engram episode ls' lists them")
	case 1:
		return found[0], nil
	}
	return "", usagef("%q may be %s or %s; write more of the name", text, found[0], found[1])
}

func completeEpisodes(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	err := withLongTerm(cmd, func(_ string, store admin.Service) error {
		all, err := episodeNames(cmd, store)
		for _, name := range all {
			if strings.HasPrefix(name, typed) {
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newEpisodeSeal() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "seal",
		Short:   "End the open episode, so that other tools can open its file",
		Example: "  engram episode seal --reason 'end of the shift'",
		Args:    positional(cobra.NoArgs),
	}
	cmd.Flags().String("reason", "by hand", "what is noted as the reason")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		why, _ := cmd.Flags().GetString("reason")
		return withLongTerm(cmd, func(_ string, store admin.Service) error { return seal(cmd, store, why) })
	}
	return cmd
}

// seal ends the open episode and says which that was.
func seal(cmd *cobra.Command, store admin.Service, why string) error {
	open := map[string]bool{}
	list, err := store.Episodes(cmd.Context(), engram.Always())
	for i := range list {
		open[list[i].Name] = !list[i].Sealed
	}
	if err == nil {
		err = store.Seal(cmd.Context(), why)
	}
	if err == nil {
		list, err = store.Episodes(cmd.Context(), engram.Always())
	}
	if err != nil {
		return err
	}
	any := false
	for i := range list {
		before, there := open[list[i].Name]
		if list[i].Sealed && (before || !there) {
			cmd.Printf("%s is sealed\n", list[i].Name)
			any = true
		}
	}
	if !any {
		cmd.PrintErrln("engram: no episode is open: nothing was recorded since the last one")
	}
	return nil
}

func newEpisodeDrop() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop EPISODE…",
		Short: "Delete whole episodes",
		Long: `Deletes the files of episodes with all they hold, also of damaged ones. Kept ones are
not dropped; end that first with 'engram episode keep EPISODE --end'. To forget a part
of what episodes hold there is 'engram ltm forget'.`,
		Example:           "  engram episode drop 000017 --reason 'a test' --yes",
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeEpisodes,
	}
	addYesFlag(cmd)
	cmd.Flags().String("reason", "", "why, which is noted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		why, _ := cmd.Flags().GetString("reason")
		if strings.TrimSpace(why) == "" {
			return usagef("--reason: say why; it is noted in SystemState/Forgetting")
		}
		return withLongTerm(cmd, func(_ string, store admin.Service) error {
			names := make([]string, len(args))
			for i, arg := range args {
				var err error
				if names[i], err = episodeFileNamed(cmd, store, arg); err != nil {
					return err
				}
			}
			if err := confirm(cmd, "This deletes "+strings.Join(names, ", ")+"."); err != nil {
				return err
			}
			for _, name := range names {
				if err := store.DropEpisode(cmd.Context(), name, why, whoAsks()); err != nil {
					return err
				}
				cmd.Printf("%s dropped\n", name)
			}
			return nil
		})
	}
	return cmd
}

// markJSON is a mark as commands print it.
type markJSON struct {
	Time   engram.Time `json:"time"`
	Label  string      `json:"label"`
	Before string      `json:"before"`
	After  string      `json:"after"`
}

func toMarksJSON(marks []episode.Mark) []markJSON {
	var out []markJSON
	for _, m := range marks {
		out = append(out, markJSON{m.Time, m.Label, m.Before.String(), m.After.String()})
	}
	slices.SortStableFunc(out, func(a, b markJSON) int { return cmp.Compare(a.Time, b.Time) })
	return out
}
