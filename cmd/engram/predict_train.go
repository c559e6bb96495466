package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	longterm "github.com/seed-301d4374/engram/ltm/service"
	"github.com/seed-301d4374/engram/predict/service"
)

func newPredictTrain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train ID…",
		Short: "Train models from episodes, and keep those that predict better",
		Long: `Trains for each entity a model from the episodes of the long-term memory, or from spans of time
(--range). Each episode is predicted before it is learned from; the model is kept if it was better on them than
what is learned in working memory alone. From then on predictions of the entity use it.

A model is refined: only episodes that it has not learned from are read. --without takes one out again. Each
training is a version, a snapshot below Prediction/Model.`,
		Example: `  engram predict train RobotState/Proprioception/arm/joints
  engram predict train RobotState/Proprioception/arm/joints --without 2026-11-27T09-00-00.mcap
  engram predict train SystemState/Cpu/Monitor/robot --range now-2h..now-1h --range now-1h..now`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.StringArray("episode", nil, "learn from this episode ('engram episode ls'); may be repeated; all sealed ones if neither it\nnor --range is given")
	f.StringArray("range", nil, "learn from the snapshots of A..B; may be repeated")
	f.StringArray("without", nil, "take this episode out again, by the name that the model has of it; may be repeated")
	f.String("input", "", "the entity of the same members that it is predicted from too, such as the commands of\nmeasured joints (default: one beside it that is called so)")
	f.Bool("anew", false, "begin a new model, in place of refining the one there is")
	printing(cmd, predictTrain)
	return cmd
}

// modelJSON is a version of a model as it is printed.
type modelJSON struct {
	Entity   string    `json:"entity"`
	Version  int64     `json:"version"`
	Kept     bool      `json:"kept"`
	Reason   string    `json:"reason"`
	Input    string    `json:"input,omitempty"`
	Episodes []string  `json:"episodes"`
	Level1   []float64 `json:"level1"`
	Level2   []float64 `json:"level2"`
	Judged   int64     `json:"judged"`
}

func predictTrain(cmd *cobra.Command, args []string, format string) error {
	patterns, err := parsePatterns(args)
	if err != nil {
		return err
	}
	var input engram.ID
	if text, _ := cmd.Flags().GetString("input"); text != "" {
		if input, err = engram.Parse(text); err != nil || input.Level() != engram.LevelEntity {
			return usagef("--input %s: name an entity, as memory/segment/provider/entity", text)
		}
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := engram.WithAsker(cmd.Context(), engram.Nobody)
	types := newTypeCache(m).source(ctx)
	entities, err := entitiesOf(ctx, m, patterns)
	if err != nil {
		return err
	}
	if len(entities) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is known there that could be learned from")
	}
	t := table{header: []string{"ENTITY", "VERSION", "KEPT", "EPISODES", "HORIZON", "LEVEL 1", "LEVEL 2", "REASON"}}
	var objects []modelJSON
	var refused error
	for _, of := range entities {
		v, err := trainOne(ctx, cmd, m, types, service.Training{Entity: of, Input: input})
		if err != nil {
			if len(entities) == 1 {
				return err
			}
			cmd.PrintErrf("engram: %s is left out: %s\n", visible(of.String()), visible(oneLine(err.Error())))
			refused = err
			continue
		}
		o := modelJSON{Entity: of.String(), Version: v.Number, Kept: v.Kept, Reason: v.Reason, Episodes: []string{}, Level1: v.Level1, Level2: v.Level2, Judged: v.Judged}
		for _, e := range v.Episodes {
			o.Episodes = append(o.Episodes, e.Name)
		}
		if v.Input.Level() == engram.LevelEntity {
			o.Input = v.Input.String()
		}
		objects = append(objects, o)
		for h, horizon := range v.Horizons {
			level1, level2 := cell{}, cell{}
			if v.Judged > 0 {
				level1, level2 = significant(v.Level1[h]), significant(v.Level2[h])
			}
			t.add(of, v.Number, v.Kept, len(v.Episodes), formatDuration(horizon), level1, level2, v.Reason)
		}
	}
	if len(objects) == 0 {
		return refused
	}
	return print(cmd.OutOrStdout(), format, &t, objects)
}

// entitiesOf returns the entities that patterns match.
func entitiesOf(ctx context.Context, m engram.Reader, patterns []engram.Pattern) (entities []engram.ID, err error) {
	for _, p := range patterns {
		q := p.Select(engram.Latest(1))
		q.WithoutPayload = true
		r, err := m.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for item := range r.All() {
			if of := item.ID.Truncate(engram.LevelEntity); !slices.Contains(entities, of) {
				entities = append(entities, of)
			}
		}
	}
	return entities, nil
}

// trainOne makes the next version of an entity's model and writes it.
func trainOne(ctx context.Context, cmd *cobra.Command, m *client.Client, types service.TypeSource, t service.Training) (*service.Version, error) {
	var err error
	if t.Add, t.Remove, err = trainingEpisodes(ctx, cmd, m, t.Entity); err != nil {
		return nil, err
	}
	before, at, err := service.NewestVersion(ctx, m, types, t.Entity)
	if err != nil {
		return nil, err
	}
	number := int64(1)
	if before != nil {
		number = before.Number + 1
	}
	if anew, _ := cmd.Flags().GetBool("anew"); anew {
		before = nil
	}
	v, err := service.Train(ctx, m, types, before, t)
	if err != nil {
		return nil, err
	}
	v.Number = number
	return v, v.Write(ctx, m, types, at)
}

// trainingEpisodes are those that the flags name.
func trainingEpisodes(ctx context.Context, cmd *cobra.Command, m *client.Client, of engram.ID) (add, remove []service.Episode, err error) {
	f := cmd.Flags()
	names, _ := f.GetStringArray("episode")
	ranges, _ := f.GetStringArray("range")
	without, _ := f.GetStringArray("without")
	span := func(flag, text string) (service.Episode, error) {
		r, err := parseRangeArg(text)
		if err != nil {
			return service.Episode{}, usagef("--%s: %w", flag, err)
		}
		if r.usesLatest() {
			return service.Episode{}, usagef("--%s %s: say absolute times, or ones relative to now", flag, text)
		}
		iv := r.resolve(engram.Now(), 0)
		return service.Episode{Name: iv.String(), Span: iv}, nil
	}
	for _, text := range ranges {
		e, err := span("range", text)
		if err != nil {
			return nil, nil, err
		}
		add = append(add, e)
	}
	known := map[string]engram.Interval{}
	all := len(names) == 0 && len(ranges) == 0 && len(without) == 0
	if all || len(names) > 0 || slices.ContainsFunc(without, func(name string) bool { return !strings.Contains(name, "..") }) {
		if known, err = episodesOf(ctx, m.LongTerm(of.Memory()), of); err != nil {
			return nil, nil, err
		}
		if all {
			for _, name := range slices.Sorted(maps.Keys(known)) {
				add = append(add, service.Episode{Name: name, Span: known[name]})
			}
			if len(add) == 0 {
				return nil, nil, engram.Errorf(engram.NotFound, of.String(), "no sealed episode holds it; 'engram episode seal' ends the open one, --range A..B learns from a span")
			}
		}
	}
	named := func(name string) (service.Episode, error) {
		iv, ok := known[name]
		if !ok {
			return service.Episode{}, engram.Errorf(engram.NotFound, name, "no sealed episode of this name holds %s; 'engram episode ls' lists them", of)
		}
		return service.Episode{Name: name, Span: iv}, nil
	}
	for _, name := range names {
		e, err := named(name)
		if err != nil {
			return nil, nil, err
		}
		add = append(add, e)
	}
	for _, name := range without {
		var e service.Episode
		if strings.Contains(name, "..") {
			e, err = span("without", name)
		} else {
			e, err = named(name)
		}
		if err != nil {
			return nil, nil, err
		}
		remove = append(remove, e)
	}
	return add, remove, nil
}

// episodesOf returns the sealed episodes that hold an entity, with the times of what they hold of it.
func episodesOf(ctx context.Context, store longterm.Service, of engram.ID) (map[string]engram.Interval, error) {
	episodes, err := store.Episodes(ctx, engram.Always())
	if engram.CodeOf(err) == engram.Unsupported {
		return nil, engram.Errorf(engram.Unsupported, of.String(), "its server keeps no episodes (engram serve --data DIR); say what to learn from with --range A..B")
	}
	if err != nil {
		return nil, err
	}
	known := map[string]engram.Interval{}
	for _, e := range episodes {
		if !e.Sealed {
			continue
		}
		_, entities, err := store.Episode(ctx, e.Name)
		if err != nil {
			return nil, err
		}
		for _, held := range entities {
			if held.ID == of && held.Recorded.Start < held.Recorded.End {
				known[e.Name] = held.Recorded
			}
		}
	}
	return known, nil
}
