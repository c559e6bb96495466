package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

func newQuery() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "query [ID…]",
		Short: "Ask for the union of several selections, or a whole query tree",
		Long: `Prints what any of the given IDs (patterns allowed) and any of the given selectors
select; unlike with 'get' several selectors form a union. With --tree the query is
read from a file: JSON as docs/http.md describes it for the method Query.`,
		Example: `  engram query Object/Instance Object/Class --latest 1
  engram query 'Vision/*' --range now-1m.. --no-payload
  engram query RobotState --index 0..0 --index -1..-1
  engram query --type engram.object.Instance
  engram query --tree query.json -o json`,
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.Int("latest", 0, "the newest N snapshots of each entity")
	f.StringArray("at", nil, "the snapshot in force at this time")
	f.StringArray("exactly", nil, "the snapshot of exactly this time")
	f.StringArray("range", nil, "the snapshots of A..B")
	f.StringArray("index", nil, "the snapshots A..B by index, both inclusive; 0 is the oldest, -1 the newest")
	f.Bool("no-payload", false, "without the payloads' bytes")
	f.String("tree", "", "read the query from this JSON file (- is standard input)")
	addSelectionOptions(cmd)
	addShowFlags(cmd)
	printing(cmd, query)
	return cmd
}

func query(cmd *cobra.Command, args []string, format string) error {
	q, err := readQuery(cmd, args)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if err := checkType(ctx, m, q.Type); err != nil {
		return err
	}
	r, err := m.Query(ctx, q)
	if err != nil {
		return err
	}
	var items []shown
	entities := map[engram.ID]bool{}
	for it := range r.All() {
		items = append(items, shown{it, -1})
		entities[it.ID.Parent()] = true
	}
	warnAbout(cmd, r)
	types := newTypeCache(m)
	if format == "table" {
		if !q.WithoutPayload {
			err = showLines(ctx, cmd, types, items)
		} else {
			for _, it := range items {
				cmd.Println(visible(it.ID.String()))
			}
		}
		cmd.PrintErrf("%s of %s\n", countOf(uint64(len(items)), "snapshot"), countOf(uint64(len(entities)), "entity"))
		return err
	}
	s := shape{fields: q.Fields, none: q.WithoutPayload}
	s.allBytes, _ = cmd.Flags().GetBool("bytes")
	return printItems(ctx, cmd, types, format, items, s)
}

func readQuery(cmd *cobra.Command, args []string) (engram.Query, error) {
	f := cmd.Flags()
	if name, _ := f.GetString("tree"); name != "" {
		arg := "@" + name
		if name == "-" {
			arg = name
		}
		j, err := readArg(cmd, arg)
		if err != nil {
			return engram.Query{}, err
		}
		return rpc.ParseQuery(j)
	}
	patterns, err := parsePatterns(args)
	if err != nil {
		return engram.Query{}, err
	}
	selectors, err := readSelectors(cmd)
	if err != nil {
		return engram.Query{}, err
	}
	var q engram.Query
	for _, p := range patterns {
		q.Memories = append(q.Memories, p.Select(selectors...).Memories...)
	}
	q.WithoutPayload, _ = f.GetBool("no-payload")
	s, err := readSelectionOptions(cmd)
	if err != nil {
		return q, err
	}
	s.apply(&q)
	return q, nil
}

// readSelectors reads the union of snapshot selectors; none means the latest.
func readSelectors(cmd *cobra.Command) (selectors []engram.SnapshotSelector, err error) {
	f, now := cmd.Flags(), engram.Now()
	if n, _ := f.GetInt("latest"); f.Changed("latest") {
		selectors = append(selectors, engram.Latest(n))
	}
	for name, make := range map[string]func(engram.Time) engram.SnapshotSelector{"at": engram.AtOrBefore, "exactly": engram.At} {
		texts, _ := f.GetStringArray(name)
		for _, text := range texts {
			at, err := parseTimeArg(text)
			if err != nil {
				return nil, usagef("--%s: %w", name, err)
			}
			if at.needsLatest() {
				return nil, usagef("--%s %s: say an absolute time, or one relative to now", name, text)
			}
			selectors = append(selectors, make(at.resolve(now, 0)))
		}
	}
	ranges, _ := f.GetStringArray("range")
	for _, text := range ranges {
		r, err := parseRangeArg(text)
		if err != nil {
			return nil, usagef("--range: %w", err)
		}
		if r.usesLatest() {
			return nil, usagef("--range %s: write A..B with absolute times, or ones relative to now", text)
		}
		selectors = append(selectors, engram.In(r.resolve(now, 0)))
	}
	indices, _ := f.GetStringArray("index")
	for _, text := range indices {
		first, last, err := parseIndexRange(text)
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, engram.Indices(first, last))
	}
	if selectors == nil {
		selectors = []engram.SnapshotSelector{engram.Latest(1)}
	}
	for _, s := range selectors {
		if err := s.Check(); err != nil {
			return nil, &usageError{err}
		}
	}
	return selectors, nil
}
