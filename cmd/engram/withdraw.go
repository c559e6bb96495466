package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/service"
)

// withdrawProvider is the provider segment of what this program withdraws.
const withdrawProvider = "engram"

func newWithdraw() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw ID",
		Short: "Say that something is not believed any more, and why",
		Long: `Withdraws snapshots: what a camera gave while it was mis-calibrated, a single wrong observation. ID is a
snapshot, an entity, a segment or a pattern of these. Nothing is deleted. What links to a withdrawn snapshot, over
any number of links, is doubtful: 'engram trace' marks it, --without doubtful leaves it out of get, history and query.

With --to, what is committed again later for the same times is believed. Without, what is still to come is withdrawn,
too, until 'engram withdraw revoke'. 'engram put --correct' withdraws what it corrects.`,
		Example: `  engram withdraw Vision/ImageRGB/camera --from '2026-03-04 14:00' --to '2026-03-04 15:00' --reason 'it was mis-calibrated'
  engram withdraw 'Object/Instance/localiser/cup/2026-03-04 14:03:16' --reason 'that was a glass'
  engram withdraw ls
  engram get Object/Instance --without doubtful`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("from", "", "snapshots from this time on: absolute, or now-10m (default: all)")
	f.String("to", "", "up to, but not at, this time (default: what comes, too)")
	f.String("reason", "", "why, for people")
	f.String("name", "", "of the withdrawal, for 'ls' and 'revoke'; an existing one is replaced (default: the time)")
	cmd.RunE = withdraw
	list := &cobra.Command{Use: "ls", Short: "List what is withdrawn", Args: positional(cobra.NoArgs)}
	listing(list, doubt.Segment, []string{"NAME", "BY", "ENTITIES", "FROM", "TO", "REASON", "STATE"}, nil, withdrawalRow)
	revoke := &cobra.Command{
		Use: "revoke NAME", Short: "Believe again what was withdrawn", Args: positional(cobra.ExactArgs(1)),
		Long: "Takes a withdrawal back. NAME is what 'engram withdraw ls' has as such, BY/NAME where several have it, or the ID.",
		RunE: revokeWithdrawal,
	}
	cmd.AddCommand(list, revoke)
	return cmd
}

// sourceOf is what judges of doubt read.
func sourceOf(m *client.Client) doubt.Source { return doubt.Memories(m.Links(), m) }

// doubts returns at the index of each snapshot why it is not to be believed, nil if it is. Where that cannot be known the user is told.
func doubts(cmd *cobra.Command, m *client.Client, ids []engram.ID, asOf *engram.Time) []*doubt.Verdict {
	judge := doubt.NewJudge(sourceOf(m), asOf)
	verdicts, err := judge.Of(cmd.Context(), ids)
	if err != nil {
		cmd.PrintErrf("engram: what of it is doubtful is not known: %s\n", visible(oneLine(err.Error())))
		return nil
	}
	warnMissing(cmd, judge.Missing)
	return verdicts
}

func withdraw(cmd *cobra.Command, args []string) error {
	t, err := parseTarget(args[0])
	if err != nil {
		return err
	}
	if t.index >= 0 {
		return usagef("%s is an instance; a snapshot is withdrawn as a whole: name that", args[0])
	}
	now := engram.Now()
	w := doubt.Withdrawal{Of: t.pattern, During: engram.Always(), Before: engram.MaxTime}
	if w.Reason, _ = cmd.Flags().GetString("reason"); w.Reason == "" {
		return usagef("--reason: say why it is not believed any more, for those who look back")
	}
	ends := map[string]*engram.Time{"from": &w.During.Start, "to": &w.During.End}
	for _, name := range []string{"from", "to"} {
		at, err := timeFlag(cmd, name)
		switch {
		case err != nil:
			return err
		case at == nil:
			continue
		case at.base == baseLatest:
			return usagef("--%s: say an absolute time, or one relative to now", name)
		case t.time != nil:
			return usagef("%s names one snapshot; leave --%s out", args[0], name)
		}
		*ends[name] = at.resolve(now, 0)
	}
	if t.time != nil {
		if t.time.base == baseLatest {
			return usagef("%s: say an absolute time, or one relative to now", args[0])
		}
		at := t.time.resolve(now, 0)
		w.During = engram.Interval{Start: at, End: at + 1}
	}
	if w.During.Empty() {
		return usagef("--to is not after --from: %v", w.During)
	}
	if w.During.End != engram.MaxTime {
		w.Before = now
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	name, _ := cmd.Flags().GetString("name")
	id, err := say(cmd.Context(), m, withdrawProvider, cmp.Or(name, now.String()), &w)
	if err != nil {
		return err
	}
	return tellWithdrawn(cmd, m, id, &w)
}

// say commits a withdrawal, and returns the ID of its entity.
func say(ctx context.Context, m *client.Client, provider, name string, w *doubt.Withdrawal) (engram.ID, error) {
	id, err := engram.NewID("SystemState", "Withdrawal", provider, name)
	if err != nil {
		return id, &usageError{err}
	}
	t, err := newTypeCache(m).get(ctx, doubt.Type)
	if err != nil {
		return id, err
	}
	now := engram.Now()
	return id, commitValue(ctx, m, id, now, t, w.Value(now))
}

// tellWithdrawn says what a withdrawal concerns: the snapshots, and what rests on them.
func tellWithdrawn(cmd *cobra.Command, m *client.Client, id engram.ID, w *doubt.Withdrawal) error {
	q := w.Of.Select(engram.In(w.During))
	q.WithoutPayload = true
	r, err := m.Query(cmd.Context(), q)
	if err != nil { // it holds all the same
		cmd.Printf("%s: it is withdrawn; what that concerns is not known: %s\n", visible(id.Entity()), visible(oneLine(err.Error())))
		return nil
	}
	snapshots := uint64(0)
	var entities []engram.ID
	for it := range r.All() {
		snapshots++
		if e := it.ID.Truncate(engram.LevelEntity); len(entities) == 0 || entities[len(entities)-1] != e {
			entities = append(entities, e)
		}
	}
	if snapshots == 0 {
		cmd.Printf("%s: nothing is there yet that it withdraws\n", visible(id.Entity()))
		return nil
	}
	verb := "are"
	if snapshots == 1 {
		verb = "is"
	}
	cmd.Printf("%s: %s of %s %s withdrawn\n", visible(id.Entity()), countOf(snapshots, "snapshot"), countOf(uint64(len(entities)), "entity"), verb)
	return tellResting(cmd, m, w, entities)
}

// tellResting says what rests on what a withdrawal concerns of entities.
func tellResting(cmd *cobra.Command, m *client.Client, w *doubt.Withdrawal, entities []engram.ID) error {
	const most = 20_000 // snapshots that are looked at
	ctx := cmd.Context()
	judge, err := doubt.NewJudgeOf(sourceOf(m), *w)
	if err != nil {
		return err
	}
	met := map[engram.ID]bool{}
	for _, e := range entities {
		met[e] = true
	}
	looked, cut := 0, false
	var resting []engram.ID
	for queue := slices.Clone(entities); len(queue) > 0 && !cut; queue = queue[1:] {
		var sources []engram.ID
		for l, err := range m.Links().BackLinks(ctx, service.BackQuery{Target: queue[0], Limit: most}) {
			if errors.Is(err, service.ErrMore) {
				cut = true
				break
			}
			if err != nil {
				return err
			}
			sources = append(sources, l.Source.Truncate(engram.LevelSnapshot))
		}
		sources = slices.CompactFunc(sources, func(a, b engram.ID) bool { return a == b })
		looked += len(sources)
		cut = cut || looked > most
		verdicts, err := judge.Of(ctx, sources)
		if err != nil {
			return err
		}
		for i, v := range verdicts {
			if e := sources[i].Truncate(engram.LevelEntity); v != nil && !met[e] {
				met[e] = true
				resting, queue = append(resting, e), append(queue, e)
			}
		}
	}
	if len(resting) == 0 {
		cmd.Println("nothing rests on that")
		return nil
	}
	slices.SortFunc(resting, engram.ID.Compare)
	cmd.Printf("%s doubtful, in what they rest on that:\n", are(uint64(len(resting)), "entity"))
	for _, e := range resting[:min(len(resting), 10)] {
		cmd.Printf("  %s\n", visible(e.String()))
	}
	switch more := len(resting) - 10; {
	case cut:
		cmd.Println("  and more: very much rests on that")
	case more > 0:
		cmd.Printf("  and %d more: 'engram trace ID --down' of what is withdrawn has them\n", more)
	}
	return nil
}

// are counts what something is said of: "1 entity is", "2 entities are".
func are(n uint64, noun string) string {
	if n == 1 {
		return countOf(n, noun) + " is"
	}
	return countOf(n, noun) + " are"
}

func withdrawalRow(it engram.Item, v map[string]any, _ []engram.Item) []any {
	state := "holds"
	if revoked, _ := v["revoked"].(bool); revoked {
		state = "revoked"
	}
	end := timeOr(v["end"], "open")
	if from, ok := v["start"].(engram.Time); ok && end == from+1 {
		end = "that one only"
	}
	return []any{it.ID.Entity(), it.ID.ProviderSegment(), v["entities"], timeOr(v["start"], "the first"), end, v["reason"], state}
}

// timeOr returns a time of a payload, or what stands for none.
func timeOr(v any, none string) any {
	if t, ok := v.(engram.Time); ok {
		return t
	}
	return none
}

func revokeWithdrawal(cmd *cobra.Command, args []string) error {
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	all, missing, err := doubt.Read(ctx, sourceOf(m), "", nil)
	if err != nil {
		return err
	}
	warnMissing(cmd, missing)
	all = slices.DeleteFunc(all, func(w *doubt.Withdrawal) bool {
		return !slices.Contains([]string{w.ID.Entity(), w.ID.ProviderSegment() + "/" + w.ID.Entity(), w.ID.Truncate(engram.LevelEntity).String()}, args[0])
	})
	switch len(all) {
	case 0:
		return engram.Errorf(engram.NotFound, args[0], "there is no withdrawal of that name; 'engram withdraw ls' lists them")
	case 1:
	default:
		var names []string
		for _, w := range all {
			names = append(names, w.ID.ProviderSegment()+"/"+w.ID.Entity())
		}
		return engram.Errorf(engram.Invalid, args[0], "several have that name: say %s", strings.Join(names, " or "))
	}
	w := all[0]
	if w.Revoked {
		cmd.Printf("%s was revoked before\n", visible(args[0]))
		return nil
	}
	w.Revoked = true
	if _, err := say(ctx, m, w.ID.ProviderSegment(), w.ID.Entity(), w); err != nil {
		return err
	}
	cmd.Printf("%s is revoked: it does not hold any more, nor does the doubt in what rests on that\n", visible(args[0]))
	return nil
}
