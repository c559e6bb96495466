package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

// Episode is a span of time to learn from, with the name by which a model tells of it.
type Episode struct {
	Name string
	Span engram.Interval
}

// repeats reports whether most of an episode lies in another one, or is it. Episodes that follow each other may
// share a little.
func (e Episode) repeats(o Episode) bool {
	if e.Name == o.Name {
		return true
	}
	shared := min(e.Span.End, o.Span.End).Sub(max(e.Span.Start, o.Span.Start))
	return shared > min(e.Span.End.Sub(e.Span.Start), o.Span.End.Sub(o.Span.Start))/2
}

// names returns the names of what a version learned from.
func (v *Version) names() []string {
	names := make([]string, len(v.Episodes))
	for i, e := range v.Episodes {
		names[i] = e.Name
	}
	return names
}

// Training says what a model is to learn.
type Training struct {
	Entity engram.ID
	// Input is the entity that it is predicted from too, with the same members. The root looks
	// for the commands of measured joints; an entity of another version's is kept.
	Input engram.ID
	// Add are learned from, in order, but those of which the version before has learned most. Each is judged before.
	Add []Episode
	// Remove are taken out again; what they hold must still be there.
	Remove []Episode
}

// Train makes the next version of a model: before refined by episodes, or a first one if before is nil. It is
// kept if, on the episodes that it had not seen, it was better than level 1. Nothing is written;
// [Version.Update] says what is to be. The errors are NotFound without snapshots, Conflict if there is nothing
// to learn, and what reading them gives.
func Train(ctx context.Context, from engram.Reader, types TypeSource, before *Version, t Training) (*Version, error) {
	ctx = engram.WithAsker(ctx, engram.Nobody) // what it learns from is not asked for
	v := &Version{Entity: t.Entity, Input: t.Input, Number: 1}
	if before != nil {
		*v = *before
		v.Number, v.Episodes = before.Number+1, slices.Clone(before.Episodes)
		if t.Input.Level() == engram.LevelEntity && t.Input != before.Input {
			return nil, engram.Errorf(engram.Conflict, t.Entity.String(), "its model is of the input %q; train one anew for another", before.Input.String())
		}
	}
	changed, short := 0, error(nil)
	for _, e := range t.Remove {
		i := slices.IndexFunc(v.Episodes, func(o Episode) bool { return o.Name == e.Name })
		if i < 0 {
			return nil, engram.Errorf(engram.NotFound, e.Name, "the model of %s has not learned from this episode; it has from: %s", t.Entity, strings.Join(v.names(), ", "))
		}
		e.Span = v.Episodes[i].Span // as it was learned
		pieces, err := v.read(ctx, from, types, e.Span)
		if err != nil {
			return nil, err
		}
		for _, p := range pieces {
			if err := v.Model.Remove(p); err != nil {
				return nil, err
			}
		}
		v.Episodes = slices.Delete(v.Episodes, i, i+1)
		changed++
	}
	for _, e := range t.Add {
		if slices.ContainsFunc(v.Episodes, e.repeats) {
			continue
		}
		pieces, err := v.read(ctx, from, types, e.Span)
		if engram.CodeOf(err) == engram.NotFound {
			short = err
			continue // it holds too little of the entity
		}
		if err != nil {
			return nil, err
		}
		if len(v.Episodes) > 0 {
			if err := v.judge(pieces); err != nil {
				return nil, err
			}
		}
		for _, p := range pieces {
			if err := v.Model.Add(p); err != nil {
				return nil, err
			}
		}
		v.Episodes = append(v.Episodes, e)
		changed++
	}
	if changed == 0 && len(v.Episodes) > 0 {
		return nil, engram.Errorf(engram.Conflict, t.Entity.String(), "there is no episode that its model has not learned from")
	}
	if v.Model == nil && short != nil {
		return nil, short
	}
	if v.Model == nil {
		return nil, engram.Errorf(engram.NotFound, t.Entity.String(), "there is no snapshot of it to learn from")
	}
	v.decide()
	return v, nil
}

// decide says whether the version is kept.
func (v *Version) decide() {
	sum := 0.0
	for h := range v.Horizons {
		sum += v.Level2[h] - v.Level1[h]
	}
	switch {
	case len(v.Episodes) == 0:
		v.Kept, v.Reason = false, "all episodes were taken out"
	case v.Judged == 0:
		v.Kept, v.Reason = false, "it was not judged yet: that takes an episode that it has not seen"
	case sum < 0:
		v.Kept, v.Reason = true, "it was better than level 1 on episodes that it had not seen"
	default:
		v.Kept, v.Reason = false, "it was no better than level 1 on episodes that it had not seen"
	}
}

const (
	// piece is the most snapshots that are learned from at once.
	piece = 1 << 14
	// shortest is the fewest that anything is learned from.
	shortest = 32
	// gap ends what is learned from at once: so many usual steps without a snapshot.
	gap = 16
)

// read reads the snapshots of a span as series without gaps. The first span says what the members are.
func (v *Version) read(ctx context.Context, from engram.Reader, types TypeSource, span engram.Interval) ([]predict.Series, error) {
	var members *predict.Members
	var times []engram.Time
	var rows [][]float64
	take := func(r *engram.Result) error {
		for _, item := range r.Items() {
			p := item.Instances[0].Payload
			t, err := types(p.Type)
			if err != nil {
				return err
			}
			if members == nil {
				m, err := predict.MembersOf(t, p.Bytes)
				if err != nil {
					return err
				}
				if v.Members != nil && !v.of(m) {
					continue
				}
				members = m
			}
			if !members.Fit(t, p.Bytes) || len(times) > 0 && item.Time <= times[len(times)-1] {
				continue
			}
			row := make([]float64, len(members.Paths))
			if err := members.Read(p.Bytes, row); err != nil {
				return err
			}
			for i, x := range row {
				if !(math.Abs(x) <= 1e15) {
					row[i] = 0
					if len(rows) > 0 {
						row[i] = rows[len(rows)-1][i]
					}
				}
			}
			times, rows = append(times, item.Time), append(rows, row)
		}
		return nil
	}
	q := engram.PatternOf(v.Entity).Select(engram.In(span))
	var err error
	if parts, ok := from.(engram.PartReader); ok {
		err = parts.QueryParts(ctx, q, take)
	} else {
		var r *engram.Result
		if r, err = from.Query(ctx, q); err == nil {
			err = take(r)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(times) < shortest {
		return nil, engram.Errorf(engram.NotFound, v.Entity.String(), "within %v its numbers are in %d of its snapshots; at least %d are learned from", span, len(times), shortest)
	}
	if v.Model == nil {
		if err := v.make(ctx, from, members, times); err != nil {
			return nil, err
		}
	}
	predict.Unwrap(v.Model.Kinds, rows)
	input, err := readInput(ctx, from, types, v.Input, times[0], times[len(times)-1])
	if err != nil {
		return nil, err
	}
	resets, err := resetsOf(ctx, from, types, v.Entity)
	if err != nil {
		return nil, err
	}
	return v.cut(times, rows, input, members.Rates, resets), nil
}

// make makes the model of the members.
func (v *Version) make(ctx context.Context, from engram.Reader, members *predict.Members, times []engram.Time) error {
	if v.Input.Level() != engram.LevelEntity {
		v.Input = commandsOf(ctx, from, v.Entity)
	}
	var pairs []int
	if v.Input.Level() == engram.LevelEntity {
		pairs = make([]int, len(members.Paths))
		for i := range pairs {
			pairs[i] = i
		}
	}
	v.Members, v.Labels = members.Paths, members.Labels
	var err error
	v.Model, err = predict.NewModel(members.Kinds, pairs)
	v.Horizons = DefaultHorizons
	if step := usualStep(times); 2*step > DefaultHorizons[0] {
		v.Horizons = []time.Duration{2 * step, 8 * step}
	}
	v.Level1, v.Level2 = make([]float64, len(v.Horizons)), make([]float64, len(v.Horizons))
	return err
}

func usualStep(times []engram.Time) time.Duration {
	steps := make([]time.Duration, len(times)-1)
	for i := range steps {
		steps[i] = times[i+1].Sub(times[i])
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// commandsOf finds the commands of a measured entity: the one beside it whose name says so; the root if there is none.
func commandsOf(ctx context.Context, from engram.Reader, of engram.ID) engram.ID {
	if strings.Contains(of.Entity(), "command") {
		return engram.ID{}
	}
	q := engram.PatternOf(of.Truncate(engram.LevelProviderSegment)).Select(engram.Latest(1))
	q.WithoutPayload = true
	r, err := from.Query(ctx, q)
	if err != nil {
		return engram.ID{}
	}
	for item := range r.All() {
		if name := item.ID.Entity(); strings.Contains(name, "command") && strings.Contains(name, "joint") == strings.Contains(of.Entity(), "joint") {
			return item.ID.Truncate(engram.LevelEntity)
		}
	}
	return engram.ID{}
}

// cut makes series of what was read: none too long, none with a gap or a reset.
func (v *Version) cut(times []engram.Time, rows [][]float64, input *inForce, rates predict.Rates, resets []Reset) (pieces []predict.Series) {
	usual := usualStep(times)
	reset := func(after, until engram.Time) bool {
		return slices.ContainsFunc(resets, func(r Reset) bool { return r.At > after && r.At <= until })
	}
	begin := 0
	for i := 1; i <= len(times); i++ {
		if i < len(times) && i-begin < piece && times[i].Sub(times[i-1]) <= gap*usual && !reset(times[i-1], times[i]) {
			continue
		}
		if i-begin >= shortest {
			s := predict.Series{Times: times[begin:i], Values: rows[begin:i], Rates: rates}
			if input != nil {
				s.Inputs = v.inputs(s.Times, input)
			}
			pieces = append(pieces, s)
		}
		begin = i
	}
	return pieces
}

// inputs are the values in force at times; before the first, and where it has other members, zeros.
func (v *Version) inputs(times []engram.Time, input *inForce) [][]float64 {
	rows := make([][]float64, len(times))
	for i, t := range times {
		if rows[i] = input.at(t); len(rows[i]) < len(v.Members) {
			rows[i] = make([]float64, len(v.Members))
		}
	}
	return rows
}

// judge adds how good predictions of an episode are, with the model and without.
func (v *Version) judge(pieces []predict.Series) error {
	without, err := v.errors(nil, pieces)
	if err != nil {
		return err
	}
	v.Model.Fit()
	with, err := v.errors(v.Model, pieces)
	if err != nil {
		return err
	}
	if with.count == 0 {
		return nil
	}
	share := float64(with.count) / float64(v.Judged+with.count)
	for h := range v.Horizons {
		for _, l := range []struct{ all, one []float64 }{{v.Level1, without.ratio}, {v.Level2, with.ratio}} {
			l.all[h] = math.Sqrt((1-share)*l.all[h]*l.all[h] + share*l.one[h]*l.one[h])
		}
	}
	v.Judged += with.count
	return nil
}

type judged struct {
	ratio []float64 // by horizon
	count int64
}

// errors replays series: the errors at each horizon, in those of holding the last value, each member that
// moves counting alike.
func (v *Version) errors(m *predict.Model, pieces []predict.Series) (j judged, err error) {
	n := len(v.Members)
	square, hold := make([][]float64, len(v.Horizons)), make([][]float64, len(v.Horizons))
	for h := range v.Horizons {
		square[h], hold[h] = make([]float64, n), make([]float64, n)
	}
	var f predict.Forecast
	for _, s := range pieces {
		t, err := predict.NewTracker(v.Model.Kinds)
		if err != nil {
			return j, err
		}
		t.Tell(s.Rates)
		if m != nil {
			if err := t.Use(m); err != nil {
				return j, err
			}
		}
		made := make([]engram.Time, len(v.Horizons))
		for i, now := range s.Times {
			var input []float64
			if s.Inputs != nil {
				input = s.Inputs[i]
			}
			t.Observe(now, s.Values[i], input)
			if i < 16 {
				continue
			}
			for h, horizon := range v.Horizons {
				if now.Sub(made[h]) < horizon/8 {
					continue
				}
				k, found := slices.BinarySearch(s.Times[i:], now.Add(horizon))
				if k += i; k >= len(s.Times) || k == i {
					continue
				}
				if !found && k-1 > i && s.Times[k].Sub(now.Add(horizon)) > now.Add(horizon).Sub(s.Times[k-1]) {
					k--
				}
				made[h] = now
				if err := t.Predict(s.Times[k], &f); err != nil {
					return j, err
				}
				j.count++
				for member, x := range s.Values[k] {
					if v.Model.Kinds[member] == predict.Held {
						continue
					}
					off, held := t.Off(member, x, f.Mean[member]), t.Off(member, x, s.Values[i][member])
					square[h][member] += off * off
					hold[h][member] += held * held
				}
			}
		}
	}
	for h := range v.Horizons {
		sum, moving := 0.0, 0.0
		for i := range n {
			if hold[h][i] > 0 {
				sum += square[h][i] / hold[h][i]
				moving++
			}
		}
		j.ratio = append(j.ratio, math.Sqrt(sum/max(moving, 1)))
	}
	return j, nil
}

// Text tells in a sentence how good the version is.
func (v *Version) Text() string {
	var parts []string
	for h, horizon := range v.Horizons {
		if v.Judged > 0 {
			parts = append(parts, fmt.Sprintf("at %v errors of %.3g of holding the last value, level 1 %.3g", horizon, v.Level2[h], v.Level1[h]))
		}
	}
	return strings.Join(parts, "; ")
}
