package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// newHz, newBw and newDelay measure updates as they come, as the commands of ros2 topic do.
func newHz() *cobra.Command {
	return rateCommand(hz, "hz", "Measure how often entities are written",
		`Prints each second how often entities below the given IDs were written lately, and the
times between two snapshots, by when they arrived at the memory.`)
}

func newBw() *cobra.Command {
	return rateCommand(bw, "bw", "Measure how many bytes a second are written",
		`Prints each second how many bytes of payloads entities below the given IDs were given
lately, in all and by snapshot.`)
}

func newDelay() *cobra.Command {
	return rateCommand(delay, "delay", "Measure how long after their time snapshots arrive",
		`Prints each second how long after their time snapshots of entities below the given IDs
arrived at the memory, and here. If the clocks of the computers differ, so do the times
('engram doctor' says how much).`)
}

// arrival is an update of an entity.
type arrival struct {
	time, memory, here engram.Time // of the snapshot; when it arrived there and here
	bytes              int
}

// rateFigure is one of the figures of some arrivals; its name has its unit.
type rateFigure struct {
	name  string
	value float64
}

// rateKind is what is measured of arrivals, which are in the order in which the memory got them.
type rateKind struct {
	figures  func(all []arrival, seconds float64) []rateFigure
	payloads bool // they are needed
}

var (
	hz = rateKind{figures: func(all []arrival, seconds float64) []rateFigure {
		var between []float64
		for i := 1; i < len(all); i++ {
			between = append(between, milliseconds(all[i].memory.Sub(all[i-1].memory)))
		}
		mean := meanOf(between)
		var spread float64
		for _, ms := range between {
			spread += (ms - mean) * (ms - mean)
		}
		least, most := rangeOf(between)
		return []rateFigure{{"hz", float64(len(all)) / seconds}, {"mean_ms", mean}, {"min_ms", least}, {"max_ms", most},
			{"stddev_ms", math.Sqrt(spread / float64(max(1, len(between))))}}
	}}
	bw = rateKind{payloads: true, figures: func(all []arrival, seconds float64) []rateFigure {
		sizes := make([]float64, len(all))
		for i, a := range all {
			sizes[i] = float64(a.bytes)
		}
		mean := meanOf(sizes)
		least, most := rangeOf(sizes)
		return []rateFigure{{"bytes_per_s", mean * float64(len(all)) / seconds}, {"mean_bytes", mean}, {"min_bytes", least}, {"max_bytes", most}}
	}}
	delay = rateKind{figures: func(all []arrival, _ float64) []rateFigure {
		memory, here := make([]float64, len(all)), make([]float64, len(all))
		for i, a := range all {
			memory[i], here[i] = milliseconds(a.memory.Sub(a.time)), milliseconds(a.here.Sub(a.time))
		}
		least, most := rangeOf(memory)
		slices.Sort(memory)
		figures := []rateFigure{{"mean_ms", meanOf(memory)}, {"min_ms", least}, {"p50_ms", 0}, {"p99_ms", 0}, {"max_ms", most}, {"here_ms", meanOf(here)}}
		if n := len(memory); n > 0 {
			figures[2].value, figures[3].value = memory[n/2], memory[n*99/100]
		}
		return figures
	}}
)

// figure is the cell of a measured number.
func figure(v float64) cell {
	shown := formatCount(int64(math.Round(v)))
	if math.Abs(v) < 1000 {
		shown = strconv.FormatFloat(v, 'g', 4, 64)
	}
	return cell{shown: shown, raw: strconv.FormatFloat(v, 'f', -1, 64)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func meanOf(all []float64) (mean float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	return mean
}

func rangeOf(all []float64) (least, most float64) {
	if len(all) == 0 {
		return 0, 0
	}
	return slices.Min(all), slices.Max(all)
}

func rateCommand(kind rateKind, name, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " [ID…]", Short: short,
		Long: long + `

IDs may be patterns; none is everything of this robot but SystemState. It goes on until it is
interrupted, or for --for.`,
		Example:           "  engram " + name + " RobotState/Proprioception\n  engram " + name + " Vision --for 10s -o ndjson",
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	addOutputFormats(cmd, []string{"table", "ndjson"})
	f.Duration("window", 10*time.Second, "measure what came in this time")
	f.Duration("every", time.Second, "print so often")
	f.Duration("for", 0, "end after this time")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return measureRate(cmd, args, format, kind)
	})
	return cmd
}

func measureRate(cmd *cobra.Command, args []string, format string, kind rateKind) error {
	patterns, err := parsePatterns(args)
	if err != nil {
		return err
	}
	of := map[string]time.Duration{}
	for _, name := range []string{"window", "every", "for"} {
		d, _ := cmd.Flags().GetDuration(name)
		if d < 0 || d == 0 && name != "for" {
			return usagef("--%s %v: more than 0", name, d)
		}
		of[name] = d
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	stream, err := m.Subscribe(ctx, engram.Subscription{Patterns: patterns, WithData: kind.payloads, Failures: true})
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := noteUnknown(ctx, cmd, m, args, patterns); err != nil {
		return err
	}
	if of["for"] > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, of["for"])
		defer cancel()
	}
	w := newRateWindow(of["window"], engram.Now())
	updates := make(chan engram.Update)
	ended := make(chan error, 1)
	go func() {
		for u, err := range engram.Updates(ctx, stream) {
			if err != nil {
				ended <- err
				return
			}
			select {
			case updates <- u:
			case <-ctx.Done():
			}
		}
		ended <- ctx.Err()
	}()
	tick := time.NewTicker(of["every"])
	defer tick.Stop()
	first := true
	for {
		select {
		case u := <-updates:
			switch {
			case u.Failed != nil:
				warnMissing(cmd, []engram.Missing{*u.Failed})
			case !u.ID.IsRoot() && (len(args) > 0 || !ofSystem(u.ID)):
				w.add(u, engram.Now())
			}
		case <-tick.C:
			if err := w.print(cmd, format, kind, engram.Now(), first); err != nil {
				return err
			}
			first = false
		case err := <-ended:
			if err == nil || engram.CodeOf(err) == engram.Canceled {
				if first { // at least once
					return w.print(cmd, format, kind, engram.Now(), true)
				}
				return nil
			}
			return err
		}
	}
}

// rateWindow is what came lately.
type rateWindow struct {
	size    time.Duration
	begun   engram.Time
	of      map[string][]arrival // by entity
	dropped uint64
}

func newRateWindow(size time.Duration, begun engram.Time) *rateWindow {
	return &rateWindow{size: size, begun: begun, of: map[string][]arrival{}}
}

func (w *rateWindow) add(u engram.Update, now engram.Time) {
	t, _ := u.ID.Time()
	a := arrival{time: t, memory: u.Arrived, here: now}
	if u.Snapshot != nil {
		for i := range u.Snapshot.Instances {
			a.bytes += len(u.Snapshot.Instances[i].Payload.Bytes)
		}
	}
	id := u.ID.Truncate(engram.LevelEntity).String()
	w.of[id] = append(w.of[id], a)
	w.dropped += u.Dropped
}

func (w *rateWindow) print(cmd *cobra.Command, format string, kind rateKind, now engram.Time, first bool) error {
	since := max(now.Add(-w.size), w.begun)
	t := table{header: []string{"ENTITY", "SNAPSHOTS"}, right: []bool{false, true}}
	var objects []map[string]any
	put := func(id string, all []arrival) {
		row, object := []any{id, len(all)}, map[string]any{"time": now, "entity": id, "snapshots": len(all)}
		for _, f := range kind.figures(all, now.Sub(since).Seconds()) {
			if len(objects) == 0 {
				t.header, t.right = append(t.header, strings.ToUpper(f.name)), append(t.right, true)
			}
			v := math.Round(f.value*1000) / 1000
			row = append(row, figure(v))
			object[f.name] = v
		}
		t.add(row...)
		objects = append(objects, object)
	}
	var all []arrival
	for _, id := range slices.Sorted(maps.Keys(w.of)) {
		w.of[id] = slices.DeleteFunc(w.of[id], func(a arrival) bool { return a.here < since })
		put(id, w.of[id])
		all = append(all, w.of[id]...)
	}
	if len(w.of) > 1 {
		slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.memory, b.memory) })
		put("all", all)
	}
	if w.dropped > 0 {
		cmd.PrintErrf("engram: %s dropped: this computer was too slow\n", countOf(w.dropped, "update"))
		w.dropped = 0
	}
	if len(w.of) == 0 {
		cmd.PrintErrln("engram: nothing was written yet")
		return nil
	}
	if format == "table" && !first {
		cmd.Println()
	}
	return print(cmd.OutOrStdout(), format, &t, objects)
}
