package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/mind/memories"
)

// workload is a run of the simulated robot against a real server.
type workload struct {
	name    string
	data    bool                         // the server has a long-term memory
	set     map[string]map[string]string // settings by pattern, over the default policies
	senses  senses                       // the real robot's, in place of simulated ones
	compare bool                         // what was recorded must be what was committed, to the bit
}

// took is what a run took.
type took struct {
	robot    sim.Report
	seconds  float64
	raw      float64            // bytes of payloads committed, per second
	disk     float64            // bytes of sealed episodes, per second
	segments map[string]float64 // of the same, by core segment
	written  float64            // bytes written to the disk, the log's too, per second
	cores    float64            // the server and its children
	peak     int64              // bytes of memory, the children's too
	stats    admin.Stats        // after sealing
	lost     uint64             // committed, and neither recorded nor left out by a policy
	sampled  int                // images that were read back and compared
}

// run lets the robot live for a while in real time, and seals what was recorded.
func (w workload) run(ctx context.Context, c config) (t took, err error) {
	data := ""
	if w.data {
		data = filepath.Join(c.dir, w.name)
	}
	p, err := startProgram(ctx, c, w.name, data)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.end()); t.peak = p.peak }()
	store := p.LongTerm("Vision")
	for pattern, settings := range w.set {
		if err := store.SetPolicy(ctx, policy.Override{Pattern: engram.MustPattern(pattern), Settings: settings}); err != nil {
			return t, err
		}
	}
	robot, err := sim.New(sim.Config{Start: engram.TimeOf(time.Now().Truncate(time.Millisecond)), Seed: 1})
	if err != nil {
		return t, err
	}
	in := &counted{Service: p.Client, senses: w.senses}
	cpu, written, began := p.cpu(), p.written(), time.Now()
	if t.robot, err = robot.RunTicks(ctx, in, 1, int(c.duration/sim.Period)); err != nil {
		return t, err
	}
	if t.robot.Refused > 0 {
		return t, fmt.Errorf("%d updates were refused, the first because %w", t.robot.Refused, t.robot.Err)
	}
	t.seconds = time.Since(began).Seconds()
	t.raw = float64(in.bytes.Load()) / t.seconds
	if w.data {
		if err := t.sealed(ctx, p, store); err != nil {
			return t, err
		}
	}
	t.cores = (p.cpu() - cpu).Seconds() / t.seconds
	t.written = float64(p.written()-written) / t.seconds
	if w.compare {
		t.sampled, err = compareImages(ctx, p, robot, c.duration)
	}
	return t, err
}

// sealed waits until everything is recorded, seals it, and notes what that takes.
func (t *took) sealed(ctx context.Context, p *program, store admin.Service) error {
	// Who asks the disk waits for the recorder.
	q := engram.MustPattern("Vision/ImageRGB").Select(engram.Latest(1))
	q.Target, q.WithoutPayload = engram.TargetLTM, true
	if _, err := p.Query(ctx, q); err != nil {
		return err
	}
	err := store.Seal(ctx, "the benchmark is over")
	if err != nil {
		return err
	}
	if t.stats, err = store.LTMStats(ctx); err != nil {
		return err
	}
	if len(t.stats.Health) > 0 {
		return fmt.Errorf("the long-term memory has trouble: %q", t.stats.Health)
	}
	t.disk = float64(t.stats.Bytes) / t.seconds
	t.segments = map[string]float64{}
	for _, s := range t.stats.Segments {
		t.segments[s.Segment.String()] = float64(s.Bytes) / t.seconds
	}
	t.lost = t.stats.Lost
	if known := t.stats.Recorded + t.stats.Filtered + t.stats.Lost; known < uint64(t.robot.Updates) {
		t.lost += uint64(t.robot.Updates) - known
	}
	return nil
}

// compareImages reads images back from disk, and compares them with what the robot
// sees at those times.
func compareImages(ctx context.Context, p *program, robot *sim.Robot, lived time.Duration) (n int, err error) {
	const samples = 20
	ticks := int(lived / sim.Period)
	for i := range samples {
		var want engram.EntityUpdate
		for tick := i * ticks / samples; len(want.Instances) == 0; tick++ {
			for _, u := range robot.Images(tick).Updates {
				want = u
			}
		}
		q := engram.SelectID(want.Entity, engram.At(want.Time))
		q.Target = engram.TargetLTM
		r, err := p.Query(ctx, q)
		if err != nil {
			return n, err
		}
		for it := range r.All() {
			for k := range it.Instances {
				if !bytes.Equal(it.Instances[k].Payload.Bytes, want.Instances[k].Payload.Bytes) {
					return n, fmt.Errorf("%v came back changed", it.ID)
				}
			}
			n++
		}
	}
	if n < samples/2 { // images may be skipped, but not most
		return n, fmt.Errorf("of %d images only %d were found on disk", samples, n)
	}
	return n, nil
}

// bound is what the working memory may hold.
func bound() (sum int64) {
	for _, m := range memories.All() {
		sum += m.Bounds.MaxBytes
	}
	return sum
}

// details prints runs side by side.
func details(c config, title string, runs map[string]took, order ...string) error {
	t := newTable(c.out, title, "run|committed, MB/s|on disk, MB/s|images, about|the rest, about|of raw|written, MB/s|cores|peak, MiB|updates|recorded|filtered|lost|images|skipped")
	for _, name := range order {
		r, ok := runs[name]
		if !ok {
			continue
		}
		images := r.segments[imageSegment.String()]
		t.row("%s|%.3f|%.4f|%.4f|%.4f|%.4f|%.3f|%.2f|%d|%d|%d|%d|%d|%d|%d", name, r.raw/1e6, r.disk/1e6, images/1e6, (r.disk-images)/1e6, r.disk/r.raw,
			r.written/1e6, r.cores, r.peak>>20, r.robot.Updates, r.stats.Recorded, r.stats.Filtered, r.lost, r.robot.Frames, r.robot.Skipped)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, name := range order {
		if r := runs[name]; len(r.segments) > 0 {
			fmt.Fprintf(c.out, "%s, kB/s by segment:", name)
			for _, s := range slices.SortedFunc(maps.Keys(r.segments), func(a, b string) int { return cmp.Compare(r.segments[b], r.segments[a]) }) {
				fmt.Fprintf(c.out, " %s %.2f", s, r.segments[s]/1e3)
			}
			fmt.Fprintln(c.out)
		}
	}
	return nil
}

func online(ctx context.Context, c config) error {
	return onlineAt(ctx, c, "640x480", 0.10, func(p []pixels) []pixels { return p })
}

func small(ctx context.Context, c config) error {
	return onlineAt(ctx, c, "128x128", 0.03, shrunk)
}

// onlineAt runs the paper's online stage with the real robot's images of a size.
func onlineAt(ctx context.Context, c config, size string, target float64, shape func([]pixels) []pixels) error {
	n := g1Frames(c)
	left, right, err := g1Stereo(c, n)
	if err != nil {
		return err
	}
	g1 := senses{left: shape(at(left, 30, 20)), right: shape(at(right, 30, 20))}
	if g1.joints, err = g1Joints(c); err != nil {
		return err
	}
	runs := map[string]took{}
	order := []string{size + ", 5 Hz", size + ", 20 Hz", size + ", no disk"}
	for i, w := range []workload{
		{name: "online-" + size, data: true},
		{name: "online20-" + size, data: true, set: map[string]map[string]string{"Vision/*": {"max_rate": "20 Hz"}}},
		{name: "memory-" + size},
	} {
		w.senses = g1
		log.Print(order[i])
		if runs[order[i]], err = w.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", order[i], err)
		}
	}
	if err := details(c, "The paper's workload with the G1's images and joints, default policies", runs, order...); err != nil {
		return err
	}
	five, twenty, none := runs[order[0]], runs[order[1]], runs[order[2]]
	r := c.report
	r.atMost("online stage at 5 Hz, G1 frames as a stereo pair at "+size+", everything", target, five.disk/1e6, " MB/s")
	r.atMost("… at the full 20 Hz, times the 5 Hz rate", 2.2, twenty.disk/five.disk, " ×")
	r.atMost("… lost, at 5 and 20 Hz", 0, float64(five.lost+twenty.lost), " updates")
	r.note("… cores at 5 Hz, at 20 Hz, without a disk", fmt.Sprintf("%.2f, %.2f, %.2f", five.cores, twenty.cores, none.cores))
	r.memory(fmt.Sprintf("… memory at 5 Hz beyond the working memory's bound of %d MiB", bound()>>20), five, none)
	return nil
}

// memory adds what a run took beyond what the working memory may hold, and beside it
// what the same takes without a disk.
func (r *report) memory(what string, t took, none took) {
	const mib = 1 << 20
	measured := fmt.Sprintf("%d MiB (peak %d MiB", max(t.peak-bound(), 0)/mib, t.peak/mib)
	if none.peak > 0 {
		measured += fmt.Sprintf(", without a disk %d MiB", none.peak/mib)
	}
	r.add(what, "≤ 512 MiB", measured+")", t.peak-bound() <= 512*mib)
}

func lossless(ctx context.Context, c config) error {
	all := map[string]map[string]string{"*/*": {"record": "all", "max_rate": "0 Hz", "codec": "lossless"}}
	n := g1Frames(c)
	left, right, err := g1Stereo(c, n)
	if err != nil {
		return err
	}
	runs := map[string]took{}
	order := []string{"simulated images", "G1's images"}
	for i, w := range []workload{
		{name: "lossless", data: true, set: all, compare: true},
		{name: "lossless-g1", data: true, set: all, senses: senses{left: at(left, 30, 20), right: at(right, 30, 20)}},
	} {
		log.Print(order[i])
		if runs[order[i]], err = w.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", order[i], err)
		}
	}
	if err := details(c, "The paper's workload, everything recorded without loss", runs, order...); err != nil {
		return err
	}
	r := c.report
	for _, name := range order {
		t := runs[name]
		r.atMost("lossless recorder mode, "+name+": of the bytes committed", 0.35, t.disk/t.raw, "")
		r.atMost("… lost", 0, float64(t.lost), " updates")
		r.atMost("… cores, ffmpeg's too", 1, t.cores, "")
		r.memory(fmt.Sprintf("… memory beyond the working memory's bound of %d MiB", bound()>>20), t, took{})
	}
	r.note("… simulated images read back from disk and equal to what was committed", fmt.Sprint(runs[order[0]].sampled))
	return nil
}
