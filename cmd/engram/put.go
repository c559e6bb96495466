package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

func newPut() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put ID DATA…",
		Short: "Write a snapshot of an entity from JSON",
		Long: `Writes a snapshot of the entity, one instance for each DATA: JSON, @FILE, or - for
standard input. The members are those of the segment's type ('engram type show').
The snapshot's time is now, unless the ID or --time says otherwise.`,
		Example: `  engram put Speech/Text/me/shell '{"text": "hello robot"}'
  engram put GeneralPurpose/Notes/me/today '"any JSON"' --create
  engram put Object/Instance/me/cup @cup.json --confidence 0.9`,
		Args:              positional(cobra.MinimumNArgs(2)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.String("type", "", "the type of DATA, if it extends the segment's")
	f.String("time", "", "when it was true: absolute or now-10s")
	f.Float32("confidence", 1, "how sure it is, from 0 to 1")
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
	typeName, _ := cmd.Flags().GetString("type")
	if err := encodeArgs(ctx, cmd, m, &u, args[1:], typeName); err != nil {
		return err
	}
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		return err
	}
	r := results[0]
	if r.Note != nil {
		cmd.PrintErrln("engram: " + visible(r.Note.Error()))
	}
	if format == "table" {
		cmd.Printf("%s (update %d)\n", visible(r.ID.String()), r.Number)
		return nil
	}
	t := &table{header: []string{"ID", "NUMBER"}}
	t.add(r.ID, r.Number)
	return print(cmd.OutOrStdout(), format, t, []updateResultJSON{{r.ID.String(), r.Number}})
}

type updateResultJSON struct {
	ID     string `json:"id"`
	Number uint64 `json:"number,string"`
}

// readUpdate reads the update that the arguments describe, without its payloads.
func readUpdate(cmd *cobra.Command, args []string) (engram.EntityUpdate, error) {
	names, when := splitNames(args[0])
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

// encodeJSON returns a payload given as JSON on the command line.
func encodeJSON(t *idf.Type, j []byte) ([]byte, error) {
	b, err := t.FromJSON(j)
	if engram.CodeOf(err) == engram.Invalid {
		var any any
		if why := json.Unmarshal(j, &any); why != nil {
			return nil, usagef("DATA is not JSON: %w; quote it for the shell, and text again for JSON: '\"text\"'", why)
		}
	}
	return b, err
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
