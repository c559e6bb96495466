package sim

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Report says what a run reported.
type Report struct {
	Ticks   int   // of the world that have passed
	Commits int   // sent
	Updates int   // entity updates answered as stored
	Refused int   // entity updates answered with an error
	Frames  int   // image pairs taken
	Skipped int   // image pairs left out because the computer was too slow
	Err     error // why the first refused update was refused
}

// Run lives in real time, or speed times as fast, and writes what it reports into
// w: in pipelines if w is an [engram.CommitStreamer] too, one for the body and one
// for the eyes, so that joint states do not wait for images. A speed of 0 means as
// fast as possible, everything in order. The world goes on where the last Run or
// [Robot.Step] left it, but its times do not jump: Config.Start should be now.
//
// It returns when ctx ends, which is no error, or when w takes nothing more.
// Image pairs that are late by more than one are skipped, as a camera does, unless
// speed is 0; nothing else is.
func (r *Robot) Run(ctx context.Context, w engram.Writer, speed float64) (Report, error) {
	return r.run(ctx, w, speed, math.MaxInt)
}

// RunTicks is [Robot.Run] for a number of ticks.
func (r *Robot) RunTicks(ctx context.Context, w engram.Writer, speed float64, ticks int) (Report, error) {
	return r.run(ctx, w, speed, r.next+ticks)
}

func (r *Robot) run(ctx context.Context, w engram.Writer, speed float64, end int) (report Report, err error) {
	if speed < 0 || math.IsNaN(speed) || math.IsInf(speed, 0) {
		return report, engram.Errorf(engram.Invalid, "", "a simulation cannot run at %v times the speed of time", speed)
	}
	first := r.next
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	// The pipelines outlive ctx a little, so that what was sent is answered.
	draining, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(drainTime, giveUp)
		context.AfterFunc(draining, func() { timer.Stop() })
	})()
	bodyOut, err := newOutlet(draining, w)
	if err != nil {
		return report, err
	}
	eyesOut, err := newOutlet(draining, w)
	if err != nil {
		return report, errors.Join(err, bodyOut.close())
	}
	if speed == 0 {
		report.Frames = r.liveInOrder(ctx, bodyOut, end, fail)
	} else {
		if first == 0 {
			if err := bodyOut.send(r.Setup()); err != nil {
				fail(err)
			}
		}
		clock := pace{began: time.Now(), first: first, speed: speed}
		if r.live != nil { // whose times are those of the memory
			clock.began = clock.began.Add(r.Time(first).Sub(engram.TimeOf(clock.began)))
		}
		var both sync.WaitGroup
		both.Go(func() { r.next = r.liveBody(ctx, bodyOut, clock, end, fail) })
		both.Go(func() { report.Frames, report.Skipped = r.liveEyes(ctx, eyesOut, clock, end, fail) })
		both.Wait()
	}
	err = errors.Join(leaving(context.Cause(ctx)), leaving(bodyOut.close()), leaving(eyesOut.close()))
	report.Ticks = r.next - first
	for _, o := range []*outlet{bodyOut, eyesOut} {
		report.Commits += o.sent
		report.Updates += o.stored
		report.Refused += o.refused
		if report.Err == nil {
			report.Err = o.err
		}
	}
	return report, err
}

// drainTime is how long a run waits for answers after it was ended.
const drainTime = 5 * time.Second

// leaving returns err unless it only says that the run was ended.
func leaving(err error) error {
	if engram.CodeOf(err) == engram.Canceled {
		return nil
	}
	return err
}

// liveBody sends what is known at once, and returns the first tick that it has not
// come to.
func (r *Robot) liveBody(ctx context.Context, out *outlet, clock pace, end int, fail context.CancelCauseFunc) int {
	for tick := clock.first; ; tick++ {
		if tick >= end || !clock.wait(ctx, tick) {
			return tick
		}
		c := r.State(tick)
		c.Updates = append(c.Updates, r.Events(tick).Updates...)
		c.Updates = append(c.Updates, r.Kitchen(tick).Updates...)
		if err := out.send(c); err != nil {
			fail(err)
			return tick + 1
		}
	}
}

// liveEyes sends images and what is found in them.
func (r *Robot) liveEyes(ctx context.Context, out *outlet, clock pace, end int, fail context.CancelCauseFunc) (frames, skipped int) {
	missed := -1 // the newest tick whose image the localiser would look at and was skipped
	for tick := clock.first; tick < end && clock.wait(ctx, tick); tick++ {
		var c engram.Commit
		if tick%imageTicks == 0 {
			if clock.late(tick) > imageTicks*Period {
				skipped++
				if tick%objectTicks == 0 {
					missed = tick
				}
			} else {
				c = r.Images(tick)
				frames++
			}
		}
		// The localiser cannot look at an image that was not taken.
		if tick-objectDelay != missed {
			c.Updates = append(c.Updates, r.Objects(tick).Updates...)
		}
		if err := out.send(c); err != nil {
			fail(err)
			return frames, skipped
		}
	}
	return frames, skipped
}

// liveInOrder sends everything as fast as it goes.
func (r *Robot) liveInOrder(ctx context.Context, out *outlet, end int, fail context.CancelCauseFunc) (frames int) {
	for r.next < end && ctx.Err() == nil {
		if r.next%imageTicks == 0 {
			frames++
		}
		for _, c := range r.Step() {
			if err := out.send(c); err != nil {
				fail(err)
				return frames
			}
		}
	}
	return frames
}

// pace says when ticks come.
type pace struct {
	began time.Time
	first int
	speed float64
}

// due returns when the tick comes.
func (p pace) due(tick int) time.Time {
	return p.began.Add(time.Duration(float64(tick-p.first) * float64(Period) / p.speed))
}

// late returns by how much the world's time has gone beyond the tick.
func (p pace) late(tick int) time.Duration {
	return time.Duration(float64(time.Since(p.due(tick))) * p.speed)
}

// wait waits until the tick comes; false means that ctx ended.
func (p pace) wait(ctx context.Context, tick int) bool {
	if d := time.Until(p.due(tick)); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// outlet hands commits to a writer and counts the answers. One goroutine sends.
type outlet struct {
	ctx      context.Context
	writer   engram.Writer
	stream   engram.CommitStream // nil: the writer has none
	received sync.WaitGroup      // the goroutine that takes the stream's answers
	sent     int

	// Written by that goroutine, or by send if there is none; read after close.
	stored, refused int
	err             error // of the first refused update
	failed          error // why no more answers come
}

func newOutlet(ctx context.Context, w engram.Writer) (*outlet, error) {
	o := &outlet{ctx: ctx, writer: w}
	streamer, ok := w.(engram.CommitStreamer)
	if !ok {
		return o, nil
	}
	stream, err := streamer.CommitStream(ctx)
	if err != nil {
		return nil, err
	}
	o.stream = stream
	o.received.Go(func() {
		for {
			results, err := stream.Recv()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					o.failed = err
				}
				return
			}
			o.count(results)
		}
	})
	return o, nil
}

func (o *outlet) count(results []engram.UpdateResult) {
	for i := range results {
		if err := results[i].Err; err == nil {
			o.stored++
		} else if o.refused++; o.err == nil {
			o.err = err
		}
	}
}

func (o *outlet) send(c engram.Commit) error {
	if len(c.Updates) == 0 {
		return nil
	}
	o.sent++
	if o.stream != nil {
		if err := o.stream.Send(c); err != nil {
			return err
		}
		return o.stream.Flush()
	}
	results, err := o.writer.Commit(o.ctx, c)
	o.count(results)
	return err
}

// close waits for the answers to what was sent.
func (o *outlet) close() error {
	if o.stream == nil {
		return nil
	}
	err := o.stream.CloseSend()
	o.received.Wait()
	return errors.Join(err, o.failed, o.stream.Close())
}
