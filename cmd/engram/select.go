package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// selection is what get, history and query ask for: which snapshots, as of when,
// and which part of them.
type selection struct {
	at      *timeArg
	span    *rangeArg
	latest  int
	nearest *timeArg
	within  time.Duration
	asOf    *engram.Time
	ofType  string
	linksTo []engram.ID
	where   string
	order   engram.FilterOrder
	filter  *idf.Filter // of where; nil if that is empty
	fields  []string
	target  engram.Target
	source  engram.Source
}

func addSelectionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("at", "", "the snapshot in force at this time: absolute, now-10s, or -10s before the entity's latest")
	f.Int("latest", 0, "the newest N snapshots of each entity")
	f.String("range", "", "the snapshots from A up to, but not at, B, as A..B; either may be left out")
	f.String("nearest", "", "the snapshot closest to this time; see --within")
	f.String("within", "1s", "how far from --nearest a snapshot may be")
	addSelectionOptions(cmd)
}

// addSelectionOptions adds the flags that hold whatever is selected.
func addSelectionOptions(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("as-of", "", "what the memory knew at this time of arrival")
	f.String("type", "", "of what is selected, only payloads of this type, or of one that extends it, such as\nengram.object.Instance; 'engram type ls' lists types")
	f.StringArray("links-to", nil, "of what is selected, only payloads that link to this `ID`, or to something in it; may be repeated")
	f.String("where", "", "of what is selected, only what satisfies this CEL expression, such as\n'confidence > 0.8 && pose.position.z < 1.0'")
	f.Bool("filter-first", false, "choose among what satisfies --type, --links-to and --where: the latest that does, even if newer\nsnapshots do not")
	f.StringArray("field", nil, "only this member, such as pose.position; may be repeated")
	f.String("target", "both", "which memory answers: wm, ltm, both")
	f.String("source", "any", "who answers for a memory of which copies are held: owner, copy,\nor any: the owner, and a copy where it is not reached")
}

func readSelection(cmd *cobra.Command) (s selection, err error) {
	f := cmd.Flags()
	if err = exclusive(cmd, "at", "latest", "range", "nearest"); err != nil {
		return s, err
	}
	if s, err = readSelectionOptions(cmd); err != nil {
		return s, err
	}
	if s.at, err = timeFlag(cmd, "at"); err != nil {
		return s, err
	}
	if s.nearest, err = timeFlag(cmd, "nearest"); err != nil {
		return s, err
	}
	if text, _ := f.GetString("range"); f.Changed("range") {
		r, err := parseRangeArg(text)
		if err != nil {
			return s, usagef("--range: %w", err)
		}
		s.span = &r
	}
	if s.latest, _ = f.GetInt("latest"); f.Changed("latest") && s.latest < 1 {
		return s, usagef("--latest %d: at least 1", s.latest)
	}
	within, _ := f.GetString("within")
	if f.Changed("within") && s.nearest == nil {
		return s, usagef("--within %s: it says how far from --nearest; give that too", within)
	}
	if s.within, err = parseSpan(within); err == nil && s.within < 0 {
		return s, usagef("--within %s: 0 or more", within)
	}
	return s, err
}

// exclusive returns a usage error if several of the flags are given.
func exclusive(cmd *cobra.Command, names ...string) error {
	given := ""
	for _, name := range names {
		switch {
		case !cmd.Flags().Changed(name):
		case given == "":
			given = name
		default:
			return usagef("--%s and --%s exclude each other; give one of them", given, name)
		}
	}
	return nil
}

// whereFlag returns the value of --where, compiled to see that it is right.
func whereFlag(cmd *cobra.Command) (where string, filter *idf.Filter, err error) {
	if where, _ = cmd.Flags().GetString("where"); where == "" {
		return "", nil, nil
	}
	filter, err = idf.CompileFilter(where)
	var e *engram.Error
	if errors.As(err, &e) {
		return where, nil, usagef("--where %s: at %s", where, oneLine(e.Msg))
	}
	return where, filter, err
}

// fieldFlag returns the values of --field.
func fieldFlag(cmd *cobra.Command) ([]string, error) {
	fields, _ := cmd.Flags().GetStringArray("field")
	if cmd.Flags().Changed("field") && len(fields) == 0 || slices.Contains(fields, "") {
		return nil, usagef("--field '': name a member, such as pose.position; 'engram type show' lists them")
	}
	return fields, nil
}

// timeFlag returns the time given with a flag, or nil.
func timeFlag(cmd *cobra.Command, name string) (*timeArg, error) {
	if !cmd.Flags().Changed(name) {
		return nil, nil
	}
	text, _ := cmd.Flags().GetString(name)
	t, err := parseTimeArg(text)
	if err != nil {
		return nil, usagef("--%s: %w", name, err)
	}
	return &t, nil
}

// fixedTimeFlag returns the time of a flag, which is not relative to an entity's newest.
func fixedTimeFlag(cmd *cobra.Command, name string) (engram.Time, error) {
	text, _ := cmd.Flags().GetString(name)
	at, err := parseTimeArg(text)
	if err != nil {
		return 0, usagef("--%s: %w", name, err)
	}
	if at.base == baseLatest {
		return 0, usagef("--%s %s: say an absolute time, or one relative to now such as now-10s", name, text)
	}
	return at.resolve(engram.Now(), 0), nil
}

// belief returns the time of --as-of, nil for now.
func belief(cmd *cobra.Command) (*engram.Time, error) {
	if !cmd.Flags().Changed("as-of") {
		return nil, nil
	}
	then, err := fixedTimeFlag(cmd, "as-of")
	return &then, err
}

// sinceFlag returns where a subscription with --since begins: now, if that was not given.
func sinceFlag(cmd *cobra.Command) (engram.Start, error) {
	if !cmd.Flags().Changed("since") {
		return engram.Start{}, nil
	}
	at, err := fixedTimeFlag(cmd, "since")
	return engram.Start{Kind: engram.StartTime, Time: at}, err
}

func readSelectionOptions(cmd *cobra.Command) (s selection, err error) {
	if s.asOf, err = belief(cmd); err != nil {
		return s, err
	}
	if s.where, s.filter, err = whereFlag(cmd); err != nil {
		return s, err
	}
	s.ofType, _ = cmd.Flags().GetString("type")
	links, _ := cmd.Flags().GetStringArray("links-to")
	if cmd.Flags().Changed("links-to") && len(links) == 0 {
		links = []string{""}
	}
	for _, text := range links {
		id, err := engram.Parse(text)
		if err != nil {
			return s, usagef("--links-to: %w", err)
		}
		if id.IsRoot() {
			return s, usagef("--links-to '': name what the links are to, such as Vision/Image/Camera/left")
		}
		s.linksTo = append(s.linksTo, id)
	}
	s.order = engram.SelectThenFilter
	if first, _ := cmd.Flags().GetBool("filter-first"); first {
		if s.order = engram.FilterThenSelect; s.where == "" && s.ofType == "" && len(s.linksTo) == 0 {
			return s, usagef("--filter-first: it says that --where, --type or --links-to comes first; give that too")
		}
	}
	if s.fields, err = fieldFlag(cmd); err != nil {
		return s, err
	}
	if s.target, err = targetFlag(cmd); err != nil {
		return s, err
	}
	s.source, err = readSource(cmd)
	return s, err
}

// checkType returns NotFound if a query is for a type that nobody knows.
func checkType(ctx context.Context, types engram.Types, name string) error {
	if name == "" {
		return nil
	}
	_, err := types.Type(ctx, name)
	return err
}

// targetFlag returns the memory that --target names.
func targetFlag(cmd *cobra.Command) (engram.Target, error) {
	switch name, _ := cmd.Flags().GetString("target"); name {
	case "wm":
		return engram.TargetWM, nil
	case "ltm":
		return engram.TargetLTM, nil
	case "both":
		return engram.TargetBoth, nil
	default:
		return engram.TargetBoth, usagef("--target %s: there is wm, ltm, both", name)
	}
}

// readSource returns who may answer, as --source says.
func readSource(cmd *cobra.Command) (engram.Source, error) {
	switch name, _ := cmd.Flags().GetString("source"); name {
	case "owner":
		return engram.SourceOwner, nil
	case "copy":
		return engram.SourceCopy, nil
	case "any":
		return engram.SourceAny, nil
	default:
		return engram.SourceAny, usagef("--source %s: there is owner, copy, any", name)
	}
}

// apply sets what holds whatever is selected.
func (s selection) apply(q *engram.Query) {
	q.Target, q.Source, q.Fields = s.target, s.source, s.fields
	q.Type, q.LinksTo, q.Where, q.FilterOrder = s.ofType, s.linksTo, s.where, s.order
	q.AsOf = s.asOf
}

// selectors returns the snapshot selectors for an entity whose newest snapshot is
// at latest. fallback stands where the flags select nothing.
func (s selection) selectors(t target, now, latest engram.Time, fallback engram.SnapshotSelector) []engram.SnapshotSelector {
	switch {
	case t.time != nil && t.time.base != baseAbsolute:
		return []engram.SnapshotSelector{engram.AtOrBefore(t.time.resolve(now, latest))}
	case t.time != nil:
		return []engram.SnapshotSelector{engram.At(t.time.resolve(now, latest))}
	case s.at != nil:
		return []engram.SnapshotSelector{engram.AtOrBefore(s.at.resolve(now, latest))}
	case s.nearest != nil:
		return []engram.SnapshotSelector{engram.Nearest(s.nearest.resolve(now, latest), s.within)}
	case s.span != nil:
		return []engram.SnapshotSelector{engram.In(s.span.resolve(now, latest))}
	case s.latest > 0:
		return []engram.SnapshotSelector{engram.Latest(s.latest)}
	}
	return []engram.SnapshotSelector{fallback}
}

// usesLatest reports whether times are relative to each entity's newest snapshot.
func (s selection) usesLatest(t target) bool {
	rel := func(a *timeArg) bool { return a != nil && a.needsLatest() }
	return rel(t.time) || rel(s.at) || rel(s.nearest) || s.span != nil && s.span.usesLatest()
}

// wantsLatest reports whether entities' latest snapshots are selected.
func (s selection) wantsLatest(t target, fallback engram.SnapshotSelector) bool {
	selectors := s.selectors(t, 0, 0, fallback)
	return len(selectors) == 1 && selectors[0].Kind == engram.KindLatest
}

// query reads what the target and the flags select. The result may hold the answers
// to several queries.
func (s selection) query(ctx context.Context, m engram.Reader, t target, fallback engram.SnapshotSelector) (*engram.Result, error) {
	now := engram.Now()
	ask := func(p engram.Pattern, latest engram.Time) (*engram.Result, error) {
		selectors := s.selectors(t, now, latest, fallback)
		for _, sel := range selectors {
			if err := sel.Check(); err != nil {
				return nil, &usageError{err}
			}
		}
		q := p.Select(selectors...)
		s.apply(&q)
		return m.Query(ctx, q)
	}
	if !s.usesLatest(t) {
		return ask(t.pattern, 0)
	}
	// Times relative to the newest snapshot differ from entity to entity.
	newest := t.pattern.Select(engram.Latest(1))
	newest.WithoutPayload, newest.Source = true, s.source
	heads, err := m.Query(ctx, newest)
	if err != nil {
		return nil, err
	}
	whole := &engram.Result{Copies: heads.Copies}
	for head := range heads.All() {
		r, err := ask(engram.PatternOf(head.ID), head.Snapshot.Time)
		if err != nil {
			return nil, err
		}
		r.Copies = nil // the heads' say it
		whole.Merge(r)
	}
	for _, miss := range heads.Missing {
		if (miss.Reason == engram.MissingUnreachable || miss.Reason == engram.MissingNotBelieved) && !slices.Contains(whole.Missing, miss) {
			whole.Missing = append(whole.Missing, miss)
		}
	}
	return whole, nil
}
