package main

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict/service"
)

// predictionJSON is a prediction as it is printed.
type predictionJSON struct {
	ID         string                `json:"id"`
	HorizonS   float64               `json:"horizon_s"` // after the newest snapshot
	From       []engram.ID           `json:"from,omitempty"`
	Predicted  *instanceJSON         `json:"predicted,omitempty"`
	Members    []predictedMemberJSON `json:"members,omitempty"`
	Hypotheses []hypothesisJSON      `json:"hypotheses,omitempty"` // where there are several
	Poses      []posePredictedJSON   `json:"poses,omitempty"`
	Abstains   string                `json:"abstains,omitempty"` // why nothing is said
}

type predictedMemberJSON struct {
	Path  string   `json:"path"`
	Mean  float64  `json:"mean"`
	SD    *float64 `json:"sd,omitempty"`
	Low   *float64 `json:"low,omitempty"` // of the band of 90 %
	High  *float64 `json:"high,omitempty"`
	Model string   `json:"model"`
	Skill *float64 `json:"skill,omitempty"`
}

type hypothesisJSON struct {
	Probability float64               `json:"probability"`
	Predicted   *instanceJSON         `json:"predicted"`
	Members     []predictedMemberJSON `json:"members,omitempty"`
	From        []engram.ID           `json:"from"`
	Poses       []posePredictedJSON   `json:"poses,omitempty"` // of this hypothesis alone
}

type posePredictedJSON struct {
	Path       string      `json:"path"`
	Covariance [36]float64 `json:"covariance"` // row by row, as ROS has it
}

func newPredict() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict ID…",
		Short: "Print what the numbers of entities will be",
		Long: `Predicts the entities below the IDs, some time after the newest snapshot of each
(--horizon), or at a time (--at). Of each number it prints the mean, the standard
deviation, the band that holds the truth in 9 of 10 cases, the model that counted most, and
SKILL: by how much errors at this horizon were smaller lately than those of holding the
last value; 1 would be none, 0 is as large. Where past situations like this one went several ways, the rows
of each way follow with their probability. A memory that predicts by itself, as Object
does, may say no more than the payload.

With --until it says when an expression will hold, such as 'percentage < 5': by what is expected, and
between which times with 9 of 10 cases between; LATEST is empty where it may not come to that.

Nothing is predicted unless it is asked for, and what is predicted is not stored. With --follow
an entity is predicted with each snapshot from then on: how well, and what came as a surprise, is written below
Prediction/Score and Prediction/Surprise. 'engram predict train' makes predictions better from episodes; with
--follow --train the server does so from what comes, while the CPU is free. --follow again changes only what it
says: --train=false ends the training.`,
		Example: `  engram predict RobotState/Proprioception --horizon 200ms,1s
  engram predict SystemState/Computer --at now+10m
  engram predict Object/Instance/Localizer/cup --horizon 1s -o json
  engram predict RobotState/Battery --until 'percentage < 5' --within 8h
  engram predict RobotState/Proprioception/arm/joints --follow --horizon 200ms,1s`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	addOutputFlag(cmd)
	cmd.Flags().StringSlice("horizon", []string{"1s"}, "how long after the newest snapshot, such as 200ms or 2d; several with commas")
	cmd.Flags().String("at", "", "predict for this time, such as now+500ms")
	cmd.Flags().StringArray("field", nil, "print only this member, such as position[3]; may be repeated")
	cmd.Flags().String("until", "", "when this CEL expression over the payload will hold")
	cmd.Flags().String("within", "24h", "with --until: how far ahead is looked")
	cmd.Flags().Bool("follow", false, "predict the entities all the time from now on, for each --horizon")
	cmd.Flags().Bool("train", false, "with --follow: train a model of what comes, while the CPU is free")
	cmd.Flags().Bool("unfollow", false, "end that, whoever asked for it")
	cmd.Flags().Float64("sigma", 0, "with --follow: from which error on a surprise is told, in standard deviations (default 4)")
	printing(cmd, predict)
	cmd.AddCommand(newPredictTrain(), newPredictReset())
	return cmd
}

func predict(cmd *cobra.Command, args []string, format string) error {
	if err := exclusive(cmd, "horizon", "at", "until"); err != nil {
		return err
	}
	if err := exclusive(cmd, "follow", "unfollow", "until", "at"); err != nil {
		return err
	}
	given := cmd.Flags().Changed
	switch {
	case given("within") && !given("until"):
		return usagef("--within: it says how far --until looks; give that too")
	case given("sigma") && !given("follow"):
		return usagef("--sigma: it goes with --follow")
	case given("train") && !given("follow"):
		return usagef("--train: it goes with --follow; 'engram predict train' trains at once")
	case given("until"):
		return predictUntil(cmd, args, format)
	case given("follow"):
		return follow(cmd, args)
	case given("unfollow"):
		return unfollow(cmd, args)
	}
	at, err := timeFlag(cmd, "at")
	if err != nil {
		return err
	}
	horizons, err := horizonsFlag(cmd)
	if err != nil {
		return err
	}
	fields, err := fieldFlag(cmd)
	if err != nil {
		return err
	}
	patterns, m, err := connectFor(cmd, args)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	var ids []engram.ID
	for _, p := range patterns {
		q := p.Select(engram.Latest(1))
		q.WithoutPayload = true
		r, err := m.Query(ctx, q)
		if err != nil {
			return err
		}
		for item := range r.All() {
			entity := item.ID.Truncate(engram.LevelEntity)
			if at != nil {
				ids = append(ids, entity.At(at.resolve(engram.Now(), item.Time)))
				continue
			}
			for _, h := range horizons {
				ids = append(ids, entity.At(item.Time.Add(h)))
			}
		}
	}
	if len(ids) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is known there that could be predicted")
	}
	answers, err := m.Predict(ctx, ids)
	if err != nil {
		return err
	}
	types := newTypeCache(m)
	t := table{header: []string{"ID", "IN", "MEMBER", "MEAN", "SD", "LOW", "HIGH", "MODEL", "SKILL"}}
	several := slices.ContainsFunc(answers, func(a engram.Prediction) bool { return len(a.Hypotheses) > 0 })
	if several {
		t.header = append(t.header, "PROBABILITY")
	}
	add := func(probability cell, cells ...any) {
		if several {
			cells = append(cells, probability)
		}
		t.add(cells...)
	}
	var objects []predictionJSON
	said, found := false, false
	for i := range answers {
		a := &answers[i]
		o := predictionJSON{ID: a.ID.String(), HorizonS: a.Horizon.Seconds(), From: a.From}
		if a.Err != nil {
			o.Abstains = oneLine(a.Err.Error())
			add(cell{}, a.ID, "", "", "", "", "", "", o.Abstains, "")
			objects = append(objects, o)
			continue
		}
		said = true
		if o.Predicted, err = predictedJSON(ctx, types, a.Snapshot, format); err != nil {
			return err
		}
		rows := 0
		number := numberCell(ctx, types, a.Snapshot)
		member := func(probability cell, p *engram.PredictedMember) predictedMemberJSON {
			add(probability, a.ID, formatDuration(a.Horizon), p.Path, number(p.Path, p.Mean), significant(p.SD), number(p.Path, p.Low), number(p.Path, p.High), p.Model, significant(p.Skill))
			return predictedMemberJSON{p.Path, p.Mean, finite(p.SD), finite(p.Low), finite(p.High), p.Model, finite(p.Skill)}
		}
		wanted := func(path string) bool { return len(fields) == 0 || service.Below(path, fields) }
		for k := range a.Members {
			if p := &a.Members[k]; wanted(p.Path) {
				rows, found = rows+1, true
				o.Members = append(o.Members, member(cell{}, p))
			}
		}
		for _, h := range a.Hypotheses {
			hypothesis := hypothesisJSON{Probability: h.Probability, From: h.From}
			if hypothesis.Predicted, err = predictedJSON(ctx, types, h.Snapshot, format); err != nil {
				return err
			}
			for k := range h.Members {
				if p := &h.Members[k]; wanted(p.Path) {
					rows, found = rows+1, true
					hypothesis.Members = append(hypothesis.Members, member(significant(h.Probability), p))
				}
			}
			for path, text := range textsApart(ctx, types, h.Snapshot, a.Hypotheses) {
				if wanted(path) {
					rows, found = rows+1, true
					add(significant(h.Probability), a.ID, formatDuration(a.Horizon), path, text, "", "", "", service.Situated, "")
				}
			}
			for _, p := range h.Poses {
				hypothesis.Poses = append(hypothesis.Poses, posePredictedJSON(p))
			}
			o.Hypotheses = append(o.Hypotheses, hypothesis)
		}
		if len(a.Hypotheses) == 0 && situated(a) {
			texts, err := textsPredicted(ctx, m, types, a)
			if err != nil {
				return err
			}
			for path, text := range texts {
				if wanted(path) {
					rows, found = rows+1, true
					add(cell{}, a.ID, formatDuration(a.Horizon), path, text, "", "", "", service.Situated, "")
				}
			}
		}
		for _, p := range a.Poses {
			o.Poses = append(o.Poses, posePredictedJSON(p))
		}
		if rows == 0 && len(fields) == 0 {
			add(cell{}, a.ID, formatDuration(a.Horizon), "", "", "", "", "", "see -o json", "")
		}
		objects = append(objects, o)
	}
	if said && !found && len(fields) > 0 {
		return usagef("--field %s: no number that is predicted is called so; without --field all are printed", strings.Join(fields, ", "))
	}
	if err := print(cmd.OutOrStdout(), format, &t, objects); err != nil {
		return err
	}
	if !said {
		return engram.Errorf(engram.CodeOf(answers[0].Err), args[0], "nothing of it can be predicted: %w", answers[0].Err)
	}
	return nil
}

// horizonsFlag returns the values of --horizon.
func horizonsFlag(cmd *cobra.Command) ([]time.Duration, error) {
	texts, _ := cmd.Flags().GetStringSlice("horizon")
	horizons := make([]time.Duration, len(texts))
	for i, text := range texts {
		h, err := parseSpan(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--horizon: %w", err)
		}
		if h < 0 {
			return nil, usagef("--horizon %v: it is not negative; engram get --at says what was", h)
		}
		horizons[i] = h
	}
	return horizons, nil
}

// predictedJSON is the first instance of a snapshot; nil where a table is printed.
func predictedJSON(ctx context.Context, types *typeCache, n *engram.Snapshot, format string) (*instanceJSON, error) {
	if n == nil || len(n.Instances) == 0 || tabular(format) {
		return nil, nil
	}
	data, err := types.json(ctx, n.Instances[0].Payload, shape{})
	if err != nil {
		return nil, err
	}
	return &instanceJSON{Confidence: n.Instances[0].Confidence, Type: n.Instances[0].Payload.Type, Data: data}, nil
}

// numberCell returns how numbers of a snapshot's first instance are shown: those of an enumeration by name.
func numberCell(ctx context.Context, types *typeCache, n *engram.Snapshot) func(path string, v float64) cell {
	keys := map[string]map[int32]string{}
	if n != nil && len(n.Instances) > 0 {
		p := n.Instances[0].Payload
		if t, err := types.get(ctx, p.Type); err == nil {
			listed, _ := t.NumberMembers(p.Bytes, 1<<10)
			for _, m := range listed {
				keys[m.Path] = m.Keys
			}
		}
	}
	return func(path string, v float64) cell {
		c := significant(v)
		if name := keys[path][int32(v)]; name != "" && v == math.Trunc(v) {
			c.shown = name
		}
		return c
	}
}

// finite is nil for what JSON has no number for.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// significant is the cell of a number of which a few digits say enough.
func significant(v float64) cell {
	if finite(v) == nil {
		return cell{}
	}
	return cell{strconv.FormatFloat(v, 'g', 5, 64), strconv.FormatFloat(v, 'g', -1, 64), v}
}
