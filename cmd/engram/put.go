package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/link/doubt"
)

func newPut() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put ID DATA…",
		Short: "Write a snapshot of an entity from JSON",
		Long: `Writes a snapshot of the entity, one instance for each DATA: JSON, @FILE, or - for
standard input. The members are those of the segment's type ('engram type show').
The snapshot's time is now, unless the ID or --time says otherwise.

With --correct it takes the place of the snapshot of that time, or of the newest one if no time is given. What
was there stays known (--as-of), and what rests on it is doubtful ('engram withdraw --help').`,
		Example: `  engram put Speech/Text/me/shell '{"text": "hello robot"}'
  engram put GeneralPurpose/Notes/me/today '"any JSON"' --create
  engram put Object/Instance/me/cup @cup.json --confidence 0.9
  engram put 'Object/Instance/me/cup/2026-03-04 14:03:16' @glass.json --correct --reason 'that was a glass'`,
		Args:              positional(cobra.MinimumNArgs(2)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("type", "", "the type of DATA, if it extends the segment's")
	f.String("time", "", "when it was true: absolute or now-10s")
	f.Float32("confidence", 1, "how sure it is, from 0 to 1")
	f.Bool("correct", false, "put it in the place of a snapshot that was false")
	f.String("reason", "", "with --correct: why, for people")
	f.Bool("create", false, "add the core segment, for any data, if there is none")
	printing(cmd, put)
	return cmd
}

func put(cmd *cobra.Command, args []string, format string) error {
	u, err := readUpdate(cmd, args)
	if err != nil {
		return err
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if create, _ := cmd.Flags().GetBool("create"); create {
		core := u.Entity.Truncate(engram.LevelCoreSegment)
		if err := m.AddCoreSegment(ctx, engram.CoreSegment{ID: core}); err != nil && !errors.Is(err, engram.AlreadyExists) {
			return err
		}
	}
	correct, _ := cmd.Flags().GetBool("correct")
	if correct {
		if err := findFalse(cmd, m, &u, args[0]); err != nil {
			return err
		}
	} else if cmd.Flags().Changed("reason") {
		return usagef("--reason says why something is corrected; give --correct, too")
	}
	typeName, _ := cmd.Flags().GetString("type")
	if err := encodeArgs(ctx, cmd, m, &u, args[1:], typeName); err != nil {
		return err
	}
	results, err := commit(ctx, m, u)
	if err != nil {
		return err
	}
	r := results[0]
	if correct {
		if err := withdrawCorrected(cmd, m, r.ID, format == "table"); err != nil {
			return engram.Errorf(engram.CodeOf(err), r.ID.String(), "it is corrected, but what rests on it is not marked as doubtful; engram withdraw does that: %w", err)
		}
	}
	if format == "table" {
		cmd.Printf("%s (update %d)\n", visible(r.ID.String()), r.Number)
		return nil
	}
	t := &table{header: []string{"ID", "NUMBER"}}
	t.add(r.ID, r.Number)
	return print(cmd.OutOrStdout(), format, t, []updateResultJSON{{r.ID.String(), r.Number}})
}

// commit stores updates; the error is that of the first one that is refused.
func commit(ctx context.Context, m engram.Writer, updates ...engram.EntityUpdate) ([]engram.UpdateResult, error) {
	results, err := m.Commit(ctx, engram.Commit{Updates: updates})
	if err == nil {
		err = engram.FirstError(results)
	}
	return results, err
}

// commitValue stores a value of a type as the one instance of a snapshot.
func commitValue(ctx context.Context, m engram.Writer, entity engram.ID, at engram.Time, t *idf.Type, value any) error {
	b, err := t.Encode(value)
	if err != nil {
		return err
	}
	_, err = commit(ctx, m, engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: t.Name(), Bytes: b})}})
	return err
}

// findFalse gives the update the time of the snapshot that it corrects: of its own time, or the newest if none was said.
func findFalse(cmd *cobra.Command, m *client.Client, u *engram.EntityUpdate, arg string) error {
	_, when := spelling.SplitNames(arg)
	sel := engram.Latest(1)
	if when != "" || cmd.Flags().Changed("time") {
		sel = engram.At(u.Time)
	}
	ask := func(sel engram.SnapshotSelector) ([]engram.Item, error) {
		q := engram.SelectID(u.Entity, sel)
		q.WithoutPayload = true
		r, err := m.Query(cmd.Context(), q)
		if err != nil {
			return nil, err
		}
		return r.Items(), nil
	}
	found, err := ask(sel)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		u.Time = found[0].Time
		return nil
	}
	if sel.Kind == engram.KindAt {
		if near, err := ask(engram.AtOrBefore(u.Time)); err == nil && len(near) > 0 {
			return engram.Errorf(engram.NotFound, u.Entity.At(u.Time).String(), "there is no snapshot of that time to correct; in force was that of %v", near[0].Time)
		}
	}
	return engram.Errorf(engram.NotFound, u.Entity.String(), "there is no snapshot to correct")
}

// withdrawCorrected withdraws the versions of a snapshot before the one that was just put.
func withdrawCorrected(cmd *cobra.Command, m *client.Client, id engram.ID, tell bool) error {
	at, _ := id.Time()
	q := engram.SelectID(id.Truncate(engram.LevelEntity), engram.At(at))
	q.WithoutPayload = true
	r, err := m.Query(cmd.Context(), q)
	if err != nil {
		return err
	}
	now := r.Items()
	if len(now) == 0 {
		return engram.Errorf(engram.NotFound, id.String(), "it is not there any more")
	}
	w := doubt.Withdrawal{Of: engram.PatternOf(id), During: engram.Interval{Start: at, End: at + 1}, Before: now[0].Arrived}
	w.Reason, _ = cmd.Flags().GetString("reason")
	if w.Reason = cmp.Or(w.Reason, "corrected"); w.Before == 0 {
		w.Before = engram.Now()
	}
	if _, err := say(cmd.Context(), m, withdrawProvider, id.Truncate(engram.LevelSnapshot).String(), &w); err != nil || !tell {
		return err
	}
	return tellResting(cmd, m, &w, []engram.ID{id.Truncate(engram.LevelEntity)})
}

type updateResultJSON struct {
	ID     string `json:"id"`
	Number uint64 `json:"number,string"`
}

// readUpdate reads the update that the arguments describe, without its payloads.
func readUpdate(cmd *cobra.Command, args []string) (engram.EntityUpdate, error) {
	names, when := spelling.SplitNames(args[0])
	id, err := parseOneID(names)
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	u := engram.EntityUpdate{Entity: id, Time: engram.Now()}
	if id.Level() != engram.LevelEntity {
		return u, usagef("%q is a %s; put writes to an entity: memory/core segment/provider segment/entity", names, id.Level())
	}
	text, _ := cmd.Flags().GetString("time")
	given := cmd.Flags().Changed("time")
	if given && when != "" {
		return u, usagef("the ID has a time, %s, and --time too; give one of them", when)
	}
	if when != "" {
		text, given = when, true
	}
	if !given {
		return u, nil
	}
	at, err := parseTimeArg(text)
	if err != nil {
		return u, err
	}
	if at.base == baseLatest {
		return u, usagef("time %s: say an absolute time, or one relative to now", text)
	}
	u.Time = at.resolve(u.Time, 0)
	return u, nil
}

// encodeArgs adds an instance for each DATA argument.
func encodeArgs(ctx context.Context, cmd *cobra.Command, m engram.Service, u *engram.EntityUpdate, data []string, typeName string) error {
	if typeName == "" {
		var err error
		if typeName, err = segmentType(ctx, m, u.Entity); err != nil {
			return err
		}
	}
	t, err := newTypeCache(m).get(ctx, typeName)
	if err != nil {
		return err
	}
	confidence, _ := cmd.Flags().GetFloat32("confidence")
	for _, arg := range data {
		j, err := readArg(cmd, arg)
		if err != nil {
			return err
		}
		b, err := encodeJSON(t, j)
		if err != nil {
			return err
		}
		inst := engram.NewInstance(engram.Payload{Type: t.Name(), Bytes: b})
		inst.Confidence = confidence
		u.Instances = append(u.Instances, inst)
	}
	return nil
}

func encodeJSON(t *idf.Type, j []byte) ([]byte, error) {
	if !json.Valid(j) {
		var any any
		err := json.Unmarshal(j, &any)
		return nil, usagef("DATA is not JSON: %w; quote it for the shell, and text again for JSON: '\"text\"'", err)
	}
	return t.FromJSON(j)
}

// segmentType returns the type of the segment that the entity lies in.
func segmentType(ctx context.Context, m engram.Service, entity engram.ID) (string, error) {
	provider := entity.Truncate(engram.LevelProviderSegment)
	segments, err := m.Describe(ctx, engram.PatternOf(provider.Parent()))
	if err != nil {
		return "", err
	}
	found := ""
	for _, s := range segments {
		if s.ID == provider || s.ID == provider.Parent() && found == "" {
			found = s.Type
		}
	}
	if found == "" {
		core := provider.Parent()
		hint := "'engram ls --all --depth core' lists them, --create adds one for any data"
		e := explainer{m: m, target: target{pattern: engram.PatternOf(core)}}
		if _, near, err := e.absent(ctx); err == nil && near != "" {
			hint = fmt.Sprintf("did you mean %s? --create adds one for any data", engram.EscapeName(near))
		}
		return "", engram.Errorf(engram.NotFound, core.String(), "there is no such core segment; %s", hint)
	}
	return found, nil
}

// readArg returns what a DATA argument stands for.
func readArg(cmd *cobra.Command, arg string) ([]byte, error) {
	if arg == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	if name, ok := strings.CutPrefix(arg, "@"); ok {
		return os.ReadFile(name)
	}
	return []byte(arg), nil
}
