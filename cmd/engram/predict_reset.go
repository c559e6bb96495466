package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/predict/service"
)

func newPredictReset() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset ID…",
		Short: "Say that entities began anew, so that predictions do not fit over it",
		Long: `Declares that entities, or some of their numbers, were reset at a time: a battery was charged or
changed, an axis homed, a counter set to 0. What was observed before says nothing any more of what comes. A prediction
after it abstains until a snapshot came, and is unsure until there are some; models are not trained across it.

A reset is a snapshot below Prediction/Reset, at its time. One that is written at the same time again takes the place of the first.`,
		Example: `  engram predict reset RobotState/Battery/robot/main --why "battery changed"
  engram predict reset RobotState/Proprioception/arm/joints --members 'position[2]' --at '2026-11-27 09:00:00'
  engram predict reset RobotState/Battery/robot/main --at '2026-11-27 09:00:00' --withdraw`,
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeIDs,
		RunE:              predictReset,
	}
	f := cmd.Flags()
	f.String("at", "now", "when; what was observed from then on counts")
	f.StringSlice("members", nil, "the members that were reset, with what is in them, such as position[2]; several with commas (default: all)")
	f.String("why", "", "the reason, for those who read it")
	f.Bool("withdraw", false, "take the reset at this time back, or without --at the newest one: it was none")
	return cmd
}

func predictReset(cmd *cobra.Command, args []string) error {
	if err := exclusive(cmd, "withdraw", "members"); err != nil {
		return err
	}
	text, _ := cmd.Flags().GetString("at")
	at, err := parseTimeArg(text)
	if err != nil {
		return usagef("--at: %w", err)
	}
	r := service.Reset{}
	r.Members, _ = cmd.Flags().GetStringSlice("members")
	r.Reason, _ = cmd.Flags().GetString("why")
	withdraw, _ := cmd.Flags().GetBool("withdraw")
	patterns, m, err := connectFor(cmd, args)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	types := newTypeCache(m).source(ctx)
	if withdraw {
		return withdrawResets(cmd, m, types, args, patterns, at)
	}
	var c engram.Commit
	var says []string
	for _, p := range patterns {
		result, err := m.Query(ctx, p.Select(engram.Latest(1)))
		if err != nil {
			return err
		}
		for _, item := range result.Items() {
			r.Entity, r.At = item.ID.Truncate(engram.LevelEntity), at.resolve(engram.Now(), item.Time)
			if err := areMembers(types, item, r.Members); err != nil {
				return err
			}
			u, err := r.Update(types, followProvider)
			if err != nil {
				return err
			}
			c.Updates = append(c.Updates, u)
			says = append(says, fmt.Sprintf("%s was reset at %s: its predictions begin anew there\n", visible(r.Entity.String()), r.At))
		}
	}
	if len(c.Updates) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "nothing is known there that could have been reset")
	}
	return commitAndSay(cmd, m, c, says)
}

// withdrawResets takes resets back: those at a time, or the newest one of each entity.
func withdrawResets(cmd *cobra.Command, m *client.Client, types service.TypeSource, args []string, patterns []engram.Pattern, at timeArg) error {
	ctx := cmd.Context()
	resets, err := service.Resets(ctx, m, types, patterns)
	if err != nil {
		return err
	}
	if len(resets) == 0 {
		return engram.Errorf(engram.NotFound, args[0], "no reset is declared there that could be withdrawn")
	}
	newest := map[engram.ID]engram.Time{} // the reset that is meant
	for _, r := range resets {
		newest[r.Entity] = r.At // they are sorted
	}
	if cmd.Flags().Changed("at") {
		for of := range newest {
			latest := engram.Time(0)
			if n, err := m.Latest(ctx, of); err == nil {
				latest = n.Time
			}
			newest[of] = at.resolve(engram.Now(), latest)
		}
	}
	var c engram.Commit
	var says, there []string
	for _, r := range resets {
		if there = append(there, fmt.Sprintf("%s at %s", r.Entity, r.At)); r.At != newest[r.Entity] {
			continue
		}
		if cmd.Flags().Changed("why") {
			r.Reason, _ = cmd.Flags().GetString("why")
		}
		u, err := r.Withdraw(types)
		if err != nil {
			return err
		}
		c.Updates = append(c.Updates, u)
		says = append(says, fmt.Sprintf("%s was not reset at %s\n", visible(r.Entity.String()), r.At))
	}
	if len(c.Updates) == 0 {
		const most = 8
		text := strings.Join(there[max(0, len(there)-most):], ", ")
		if more := len(there) - most; more > 0 {
			text += fmt.Sprintf(", and %d before", more)
		}
		return engram.Errorf(engram.NotFound, args[0], "nothing was reset at that time; reset are %s", text)
	}
	return commitAndSay(cmd, m, c, says)
}

// areMembers refuses members that are no numbers of a snapshot.
func areMembers(types service.TypeSource, item engram.Item, members []string) error {
	if len(members) == 0 || len(item.Instances) == 0 {
		return nil
	}
	p := item.Instances[0].Payload
	t, err := types(p.Type)
	if err != nil {
		return err
	}
	numbers, err := t.NumberMembers(p.Bytes, 1<<12)
	if err != nil {
		return err
	}
next:
	for _, member := range members {
		for _, n := range numbers {
			if service.Below(n.Path, []string{member}) {
				continue next
			}
		}
		return usagef("--members %s: %s has no number that is called so; 'engram predict' lists them", member, item.ID.Truncate(engram.LevelEntity))
	}
	return nil
}
