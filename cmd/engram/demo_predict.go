package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

const demoJoints = "RobotState/Proprioception/Simulation/humanoid"

// foretold is what the memory predicted of the robot's joints.
type foretold struct {
	asked, at engram.Time // the newest snapshot then, and the time of the prediction
	was       []float64   // positions at asked
	members   []engram.PredictedMember
}

// foretell predicts the joints a second ahead, shortly before the robot's life ends; nil if there is nothing to predict
// from.
func (d *demo) foretell(ctx context.Context) (*foretold, error) {
	select {
	case <-ctx.Done():
		return nil, nil
	case <-time.After(d.life - 1500*time.Millisecond):
	}
	joints := engram.MustID(demoJoints)
	last, err := d.m.Latest(ctx, joints)
	if err != nil {
		return nil, err
	}
	_, positions, err := positionsOf(ctx, newTypeCache(d.m), last)
	if err != nil {
		return nil, err
	}
	f := &foretold{asked: last.Time, at: last.Time.Add(time.Second), was: positions}
	answers, err := d.m.Predict(ctx, []engram.ID{joints.At(f.at)})
	if err != nil || len(answers) != 1 || answers[0].Err != nil {
		return nil, err // what is not predicted is not shown
	}
	f.members = answers[0].Members
	return f, nil
}

// judge compares what was predicted of the joints that were to move most with what came.
func (d *demo) judge(ctx context.Context, f *foretold) error {
	s, err := d.m.AtOrBefore(ctx, engram.MustID(demoJoints), f.at)
	if err != nil {
		return err
	}
	if f.at.Sub(s.Time) > 100*time.Millisecond {
		return nil // the computer was too slow for the robot to come so far
	}
	names, is, err := positionsOf(ctx, newTypeCache(d.m), s)
	if err != nil {
		return err
	}
	type joint struct {
		engram.PredictedMember
		i int
	}
	var joints []joint
	for _, p := range f.members {
		text, ok := strings.CutPrefix(p.Path, "position[")
		i, err := strconv.Atoi(strings.TrimSuffix(text, "]"))
		if ok && err == nil && i < min(len(names), len(is), len(f.was)) {
			joints = append(joints, joint{p, i})
		}
	}
	slices.SortStableFunc(joints, func(a, b joint) int {
		return cmp.Compare(math.Abs(b.Mean-f.was[b.i]), math.Abs(a.Mean-f.was[a.i]))
	})
	d.say("While it lived, at %s, the memory was asked where its joints would be a second later.\n"+
		"Those that were to move most, with the band that holds 9 of 10 truths, and where they were then:", f.asked)
	t := &table{header: []string{"JOINT", "WAS", "PREDICTED", "BAND", "CAME", "ERROR", "MODEL"}, right: []bool{false, true, true, true, true, true}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	for _, j := range joints[:min(len(joints), 3)] {
		t.add(names[j.i], number(f.was[j.i]), number(j.Mean), number(j.Low)+" to "+number(j.High), number(is[j.i]), number(is[j.i]-j.Mean), j.Model)
	}
	fmt.Fprintln(d.out)
	return print(&indenter{w: d.out}, "table", t, []struct{}(nil))
}

// positionsOf reads names and positions of joints.
func positionsOf(ctx context.Context, types *typeCache, s *engram.Snapshot) (names []string, positions []float64, err error) {
	t, err := types.get(ctx, s.Instances[0].Payload.Type)
	if err != nil {
		return nil, nil, err
	}
	v, err := t.Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		return nil, nil, err
	}
	o, _ := v.(map[string]any)
	list, _ := o["name"].([]any)
	for _, n := range list {
		name, _ := n.(string)
		names = append(names, name)
	}
	list, _ = o["position"].([]any)
	for _, p := range list {
		q, _ := p.(float64)
		positions = append(positions, q)
	}
	return names, positions, nil
}
