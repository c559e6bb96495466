package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/words"
)

// snapshotJSON is a snapshot as get and history print it.
type snapshotJSON struct {
	ID        string         `json:"id"`
	Time      engram.Time    `json:"time"`
	Number    string         `json:"number"`
	Instances []instanceJSON `json:"instances"`
}

type instanceJSON struct {
	Index      int             `json:"index"`
	Confidence float32         `json:"confidence"`
	Sent       engram.Time     `json:"sent"`
	Arrived    engram.Time     `json:"arrived"`
	Type       string          `json:"type"`
	Data       json.RawMessage `json:"data"`
}

func newGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID…",
		Short: "Print what is, or was, known of entities",
		Long: `Prints the latest snapshot of each entity that an ID names, or another one with
--at, --latest, --range or a time in the ID. In an ID, * stands for any name of a
level and ~regex for the names it matches; a shorter ID stands for all below it.
robot1:Object is the memory Object of robot1, *:Object that of every robot; of what
is not reached a copy answers, if there is one, and that is said.
A relative time in an ID (…/-10s, …/now) means the snapshot in force then, as with
--at; an absolute one the snapshot of exactly that time. With --where an
entity is shown if that snapshot satisfies the expression: what is true now. With
--filter-first the newest snapshot that satisfies it is shown, even if newer ones do not:
what was true last.`,
		Example: `  engram get Object/Instance
  engram get 'RobotState/Proprioception/*/~.*joint_states' --at -10s
  engram get Object/Instance/Localizer/cup --latest 3 -o json
  engram get Object/Instance --where 'confidence > 0.8'                 # now
  engram get Object/Instance --where 'confidence > 0.8' --filter-first  # last
  engram get 'Vision/ImageRGB/*/~.*left' --save left.png`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSelectionFlags(cmd)
	addShowFlags(cmd)
	cmd.Flags().String("save", "", "save the image in the payload to this file (.png, .jpg; or as it is encoded), several with\na number before its ending; a file that is there is not overwritten; - is standard output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return show(cmd, args, engram.Latest(1), showBlocks)
	}
	return cmd
}

func newHistory() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history ID…",
		Short: "Print the snapshots of entities over time, a line each",
		Example: `  engram history Object/Instance/Localizer/cup
  engram history Speech --range -1m..
  engram history RobotState --where 'confidence < 0.5' -o ndjson`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addSelectionFlags(cmd)
	addShowFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return show(cmd, args, engram.All(), showLines)
	}
	return cmd
}

func addShowFlags(cmd *cobra.Command) {
	addOutputFlag(cmd)
	cmd.Flags().Bool("bytes", false, "with -o, print bytes in full (base64) instead of their size and hash")
}

// showTable prints the snapshots for people.
type showTable func(ctx context.Context, cmd *cobra.Command, types *typeCache, items []shown) error

// shown is a snapshot and the instances of it that are to be shown.
type shown struct {
	engram.Item
	index int // -1 is all
}

func show(cmd *cobra.Command, args []string, fallback engram.SnapshotSelector, people showTable) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	sel, err := readSelection(cmd)
	if err != nil {
		return err
	}
	targets := make([]target, len(args))
	for i, a := range args {
		if targets[i], err = parseTarget(a); err != nil {
			return err
		}
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if err := checkType(ctx, m, sel.ofType); err != nil {
		return err
	}
	types := newTypeCache(m)
	var items []shown
	var why []string
	var refused error
	for _, t := range targets {
		r, err := sel.query(ctx, m, t, fallback)
		if code := engram.CodeOf(err); len(sel.fields) > 0 && len(targets) > 1 && (code == engram.NotFound || code == engram.TypeMismatch) {
			refused = cmp.Or(refused, err) // no type there has the members; one elsewhere may
			cmd.PrintErrf("engram: %s is left out: %s\n", visible(t.text), oneLine(err.Error()))
			continue
		}
		if err != nil {
			return err
		}
		warnAbout(cmd, r)
		n, found := len(items), r.Items()
		if sel.wantsLatest(t, fallback) {
			warnAhead(cmd, m, r)
		}
		for _, it := range found {
			if t.index < len(it.Instances) {
				items = append(items, shown{it, t.index})
			}
		}
		if len(items) > n {
			continue
		}
		e := explainer{m: m, types: types, sel: sel, target: t, fallback: fallback, found: found, missing: r.Missing}
		reason, err := e.explain(ctx)
		if err != nil {
			return err
		}
		why = append(why, reason)
	}
	if items, err = withFields(ctx, cmd, types, items, sel.fields); err != nil {
		return err
	}
	if len(items) == 0 && refused != nil {
		return refused
	}
	if len(items) == 0 {
		if format != "table" {
			if err := printItems(ctx, cmd, types, format, nil, shape{}); err != nil {
				return err
			}
		}
		return engram.Errorf(engram.NotFound, "", "%s", strings.Join(why, "; "))
	}
	if save, _ := cmd.Flags().GetString("save"); save != "" {
		return saveImages(cmd, items, save)
	}
	if format == "table" {
		return people(ctx, cmd, types, items)
	}
	s := shape{fields: sel.fields}
	s.allBytes, _ = cmd.Flags().GetBool("bytes")
	return printItems(ctx, cmd, types, format, items, s)
}

// withFields leaves out, with a note, the snapshots whose type has none of the
// fields. That no type at all has them is the memory's to say.
func withFields(ctx context.Context, cmd *cobra.Command, types *typeCache, items []shown, fields []string) ([]shown, error) {
	if len(fields) == 0 {
		return items, nil
	}
	noted := map[string]bool{}
	var kept []shown
	for _, it := range items {
		name := it.Instances[max(it.index, 0)].Payload.Type
		if types.has(ctx, name, fields) {
			kept = append(kept, it)
		} else if !noted[name] {
			noted[name] = true
			cmd.PrintErrf("engram: %s has no member %s; what is of that type is left out\n", visible(name), visible(strings.Join(fields, ", ")))
		}
	}
	if len(items) > 0 && len(kept) == 0 {
		return nil, usagef("no payload has the member %s; 'engram type show' lists those of a type", strings.Join(fields, ", "))
	}
	return kept, nil
}

// warnAbout says what a result lacks, and what of it is from copies.
func warnAbout(cmd *cobra.Command, r *engram.Result) {
	copied := map[string]bool{}
	for _, c := range r.Copies {
		if !copied[c.Memory] {
			copied[c.Memory] = true
			cmd.PrintErrf("engram: %s: %s\n", visible(c.Memory), visible(copyText(c)))
		}
	}
	warnMissing(cmd, slices.DeleteFunc(slices.Clone(r.Missing), func(m engram.Missing) bool {
		return m.Reason == engram.MissingUnreachable && copied[m.ID.String()] // which is said
	}))
}

// warnAhead says of which entities the latest snapshot is stamped farther ahead of this
// computer's clock than their segments take: there is nothing else of them. A copy has its
// owner's clock, of which nothing is known.
func warnAhead(cmd *cobra.Command, m engram.Service, r *engram.Result) {
	now, presents := engram.Now(), map[engram.ID]engram.Time{}
	latest := slices.DeleteFunc(r.Items(), func(it engram.Item) bool {
		if it.Time.Sub(now) <= engram.DefaultMaxAhead || slices.ContainsFunc(r.Copies, func(c engram.CopyUsed) bool { return c.Memory == it.ID.Memory() }) {
			return true
		}
		core := it.ID.Truncate(engram.LevelCoreSegment)
		if _, known := presents[core]; !known {
			presents[core] = engram.MaxTime
			if d, err := m.Describe(cmd.Context(), engram.PatternOf(core)); err == nil && len(d) > 0 {
				presents[core] = (&engram.CoreSegment{MaxAhead: d[0].MaxAhead}).Present(now)
			}
		}
		return it.Time <= presents[core]
	})
	if len(latest) == 0 {
		return
	}
	more := ""
	if n := uint64(len(latest)) - 1; n > 0 {
		more = ", and " + countOf(n, "snapshot") + " more are"
	}
	cmd.PrintErrf("engram: %s is stamped %s ahead of this computer's clock%s\n", visible(latest[0].ID.String()), words.Duration(latest[0].Time.Sub(now).Round(time.Second)), more)
}

// copyText says which copy has answered for a memory and how old it is.
func copyText(c engram.CopyUsed) string {
	text := "a copy at " + c.Server
	if c.Away {
		who := "its server"
		if robot, _ := engram.SplitName(c.Memory); robot != "" {
			who = robot
		}
		text = who + " is not reached; " + text
	}
	switch {
	case c.AsOf == 0:
		text += ", of unknown age"
	case c.Lag < 100*time.Millisecond:
		text += ", up to date"
	default:
		text += ", " + words.Duration(c.Lag.Round(100*time.Millisecond)) + " old"
	}
	if c.Behind > 0 {
		text += ", " + countOf(c.Behind, "update") + " behind"
	}
	return text
}

// missingWords say why something is missing, where the reason alone does not.
var missingWords = map[string]string{
	engram.MissingFiltered: "not recorded (policy)",
	engram.MissingEvicted:  "dropped from RAM (evicted)",
	engram.MissingDamaged:  "damaged or lost on disk",
}

func warnMissing(cmd *cobra.Command, missing []engram.Missing) {
	var ahead []engram.Missing
	for _, miss := range missing {
		if miss.Reason == engram.MissingUnreachable && miss.Count == 0 && miss.Interval == engram.Always() {
			heard := ""
			if miss.Since != 0 {
				heard = "; it was last heard " + words.Duration(max(engram.Now().Sub(miss.Since), 0).Round(100*time.Millisecond)) + " ago"
			}
			cmd.PrintErrf("engram: %s: its server is not reached%s\n", visible(miss.ID.String()), heard)
			continue
		}
		if miss.Reason == engram.MissingNotBelieved {
			cmd.PrintErrf("engram: %s: the server that announces it is not believed: its certificate is not for that, revoked, or of another deployment\n", visible(miss.ID.String()))
			continue
		}
		if miss.Reason == engram.MissingFilterFailed {
			cmd.PrintErrf("engram: --where could not be evaluated on %s, such as %s\n", countOf(miss.Count, "snapshot"), visible(miss.Example.String()+": "+oneLine(miss.Detail)))
			continue
		}
		if miss.Reason == engram.MissingAhead {
			ahead = append(ahead, miss)
			continue
		}
		count := "some snapshots"
		if miss.Count > 0 {
			count = countOf(miss.Count, "snapshot")
		}
		cmd.PrintErrf("engram: of %s, %s within %v %s\n", visible(miss.ID.String()), count, miss.Interval, cmp.Or(missingWords[miss.Reason], miss.Reason))
	}
	if len(ahead) > 0 {
		of := ahead[0].ID.String()
		if n := uint64(len(ahead)); n > 1 {
			of = countOf(n, "entity") + ", such as " + of
		}
		cmd.PrintErrf("engram: of %s, what is within %v is stamped ahead of the clock, and not the latest for that; --range reads it, 'engram ltm forget' forgets it\n", visible(of), ahead[0].Interval)
	}
}

// countOf prints a count with its noun: "1 byte", "2 entities".
func countOf(n uint64, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ies"
		} else {
			noun += "s"
		}
	}
	return words.Count(n) + " " + noun
}

func toSnapshotJSON(ctx context.Context, types *typeCache, it shown, sh shape) (snapshotJSON, error) {
	s := snapshotJSON{ID: it.ID.String(), Time: it.Time, Number: strconv.FormatUint(it.Number, 10)}
	for i, inst := range it.Instances {
		if it.index >= 0 && i != it.index {
			continue
		}
		data, err := types.json(ctx, inst.Payload, sh)
		if err != nil {
			return s, err
		}
		s.Instances = append(s.Instances, instanceJSON{
			Index: i, Confidence: inst.Confidence, Sent: inst.Sent, Arrived: it.Arrived, Type: inst.Payload.Type, Data: data,
		})
	}
	return s, nil
}

func printItems(ctx context.Context, cmd *cobra.Command, types *typeCache, format string, items []shown, sh shape) error {
	t := &table{header: []string{"ID", "TIME", "NUMBER", "INDEX", "CONFIDENCE", "SENT", "ARRIVED", "TYPE", "DATA"}}
	objects := make([]snapshotJSON, 0, len(items))
	for _, it := range items {
		s, err := toSnapshotJSON(ctx, types, it, sh)
		if err != nil {
			return err
		}
		objects = append(objects, s)
		for _, inst := range s.Instances {
			t.add(s.ID, s.Time, s.Number, inst.Index, inst.Confidence, inst.Sent, inst.Arrived, inst.Type, string(inst.Data))
		}
	}
	return print(cmd.OutOrStdout(), format, t, objects)
}

// showBlocks prints a block per snapshot with a line per member; of chosen members
// one line, without those that were not chosen.
func showBlocks(ctx context.Context, cmd *cobra.Command, types *typeCache, items []shown) error {
	lines := !cmd.Flags().Changed("field")
	onTerminal := layoutOf(cmd.OutOrStdout()).width > 0
	for n, it := range items {
		if n > 0 {
			cmd.Println()
		}
		if err := printWhole(cmd.OutOrStdout(), span{bright, it.ID.String()}); err != nil {
			return err
		}
		for i, inst := range it.Instances {
			if it.index >= 0 && i != it.index {
				continue
			}
			indent := "  "
			if len(it.Instances) > 1 {
				cmd.Printf("  instance %d\n", i)
				indent = "    "
			}
			told := fmt.Sprintf("%s, confidence %g, update %d, %s", inst.Payload.Type, inst.Confidence, it.Number, arrivedText(it.Snapshot, onTerminal))
			if err := printFolded(cmd.OutOrStdout(), []span{{text: indent}}, span{text: told}); err != nil {
				return err
			}
			o := idf.TextOptions{Lines: lines}
			if !stamped(cmd) {
				o.Time = it.Time
			}
			for line := range strings.Lines(types.text(ctx, inst.Payload, o)) {
				if err := printFolded(cmd.OutOrStdout(), []span{{text: indent + "  "}}, span{text: strings.TrimRight(line, "\n")}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// arrivedText says when a snapshot arrived; on a terminal how much later than its time, and how
// long ago, where that is telling.
func arrivedText(s *engram.Snapshot, onTerminal bool) string {
	delay, ago := s.Arrived.Sub(s.Time), engram.Now().Sub(s.Arrived)
	if !onTerminal || delay < 0 || delay > time.Hour || ago < 0 || ago > 24*time.Hour {
		return "arrived " + s.Arrived.String()
	}
	return "arrived +" + shortDuration(delay) + ", " + shortDuration(ago) + " ago"
}
