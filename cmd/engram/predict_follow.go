package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/predict/service"
)

// followProvider is the provider segment of what this program says is to be followed.
const followProvider = "engram"

// follow has entities predicted all the time.
func follow(cmd *cobra.Command, args []string) error {
	patterns, m, err := connectFor(cmd, args)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	horizons, err := horizonsFlag(cmd)
	if err != nil {
		return err
	}
	types := newTypeCache(m).source(ctx)
	followed, err := service.Followed(ctx, m, types, patterns)
	if err != nil {
		return err
	}
	entities, err := entitiesOf(ctx, m, patterns)
	if err != nil {
		return err
	}
	if len(entities) == 0 { // it may be to come
		for _, a := range args {
			if id, err := engram.Parse(a); err == nil && id.Level() == engram.LevelEntity {
				entities = append(entities, id)
			}
		}
	}
	if len(entities) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is known there that could be followed; an entity to come is named in full")
	}
	var c engram.Commit
	var says []string
	for _, of := range entities {
		f := service.Following{Entity: of, Enabled: true}
		for _, was := range followed {
			if was.Entity == of && was.By() == followProvider {
				f = was // what is not said stays as it was
			}
		}
		if cmd.Flags().Changed("horizon") {
			f.Horizons = horizons
		}
		if cmd.Flags().Changed("train") {
			f.Train, _ = cmd.Flags().GetBool("train")
		}
		if cmd.Flags().Changed("sigma") {
			f.Threshold, _ = cmd.Flags().GetFloat64("sigma")
		}
		u, err := f.Update(types, followProvider, engram.Now())
		if err != nil {
			return err
		}
		c.Updates = append(c.Updates, u)
		says = append(says, fmt.Sprintf("%s is followed: 'engram get Prediction/Score' and 'engram watch Prediction/Surprise' show what becomes of it\n", visible(of.String())))
	}
	if err := commitAndSay(cmd, m, c, says); err != nil {
		return err
	}
	for _, of := range entities {
		newest, err := m.Latest(ctx, of)
		if engram.CodeOf(err) == engram.NotFound {
			continue // it is to come
		}
		if err != nil {
			return err
		}
		if err := service.Followable(types, newest); engram.CodeOf(err) == engram.Unsupported {
			cmd.PrintErrf("engram: nothing will be told of %s as it is: %s\n", visible(of.String()), visible(oneLine(err.Error())))
		}
	}
	return nil
}

// unfollow ends what is followed, whoever asked for it.
func unfollow(cmd *cobra.Command, args []string) error {
	patterns, m, err := connectFor(cmd, args)
	if err != nil {
		return err
	}
	defer m.Close()
	types := newTypeCache(m).source(cmd.Context())
	followed, err := service.Followed(cmd.Context(), m, types, patterns)
	if err != nil {
		return err
	}
	if len(followed) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is followed there; 'engram get Prediction/Follow' shows what is")
	}
	var c engram.Commit
	var says []string
	for _, f := range followed {
		u, err := f.End(types, engram.Now())
		if err != nil {
			return err
		}
		c.Updates = append(c.Updates, u)
		if line := visible(f.Entity.String()) + " is not followed any more\n"; !slices.Contains(says, line) {
			says = append(says, line)
		}
	}
	return commitAndSay(cmd, m, c, says)
}

// commitAndSay commits, and prints lines if all of it was taken.
func commitAndSay(cmd *cobra.Command, m *client.Client, c engram.Commit, says []string) error {
	_, err := commit(cmd.Context(), m, c.Updates...)
	for _, line := range says {
		if err != nil {
			break
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), line)
	}
	return err
}

// crossingJSON is when something will be so, as it is printed.
type crossingJSON struct {
	Entity   string       `json:"entity"`
	From     engram.Time  `json:"from"` // the newest snapshot
	Time     *engram.Time `json:"time,omitempty"`
	InS      *float64     `json:"in_s,omitempty"`
	Earliest *engram.Time `json:"earliest,omitempty"`
	Latest   *engram.Time `json:"latest,omitempty"`
	Abstains string       `json:"abstains,omitempty"`
}

// predictUntil prints when an expression will hold.
func predictUntil(cmd *cobra.Command, args []string, format string) error {
	expr, _ := cmd.Flags().GetString("until")
	filter, err := idf.CompileFilter(expr)
	if err != nil {
		return usagef("--until %s: %s", expr, oneLine(err.Error()))
	}
	text, _ := cmd.Flags().GetString("within")
	within, err := parseSpan(text)
	if err != nil {
		return usagef("--within: %w", err)
	}
	if within <= 0 {
		return usagef("--within %s: more than 0, such as 10m", text)
	}
	patterns, m, err := connectFor(cmd, args)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	types := newTypeCache(m).source(ctx)
	t := table{header: []string{"ENTITY", "IN", "TIME", "EARLIEST", "LATEST", "WHY NOT"}}
	var objects []crossingJSON
	given := func(at engram.Time) *engram.Time {
		if at == 0 {
			return nil
		}
		return &at
	}
	shown := func(at engram.Time) string {
		if at == 0 {
			return ""
		}
		return at.String()
	}
	for _, p := range patterns {
		r, err := m.Query(ctx, p.Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		for _, item := range r.Items() {
			typ, err := types(item.Instances[0].Payload.Type)
			if err != nil {
				return err
			}
			if err := filter.Doubts([]*idf.Type{typ}); err != nil {
				return usagef("--until %s: %s", expr, oneLine(err.Error()))
			}
			c, err := service.Until(ctx, m, types, filter, item, within)
			if err != nil {
				return err
			}
			o := crossingJSON{Entity: c.Entity.String(), From: c.From, Time: given(c.Time), Earliest: given(c.Earliest), Latest: given(c.Latest), Abstains: oneLine(c.Abstains)}
			in := ""
			if c.Time != 0 {
				s := c.Time.Sub(c.From).Seconds()
				o.InS, in = &s, formatDuration(c.Time.Sub(c.From))
			}
			objects = append(objects, o)
			t.add(c.Entity, in, shown(c.Time), shown(c.Earliest), shown(c.Latest), o.Abstains)
		}
	}
	if len(objects) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is known there that could be predicted")
	}
	return print(cmd.OutOrStdout(), format, &t, objects)
}
