package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/sim"
)

// measureHour measures the page over an hour on disk: a robot's joints at 100 Hz, a stereo
// pair and the objects in it each second, and a text every ten minutes.
func (o *options) measureHour(ctx context.Context) (err error) {
	s, err := o.serve(ctx, "--data", filepath.Join(o.dir, "data"), "--max-payload", "67108864")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	ticks := int(time.Hour / sim.Period)
	if o.quick {
		ticks /= 100
	}
	from := engram.Now().Add(-2 * time.Hour)
	robot, err := sim.New(sim.Config{Start: from})
	if err != nil {
		return err
	}
	joints := engram.MustID("RobotState/Proprioception/Simulation/humanoid")
	stream, err := s.client.CommitStream(ctx)
	if err != nil {
		return err
	}
	commit := func(c engram.Commit) error {
		if len(c.Updates) == 0 {
			return nil
		}
		c.Recorded = true
		return stream.Send(c)
	}
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				failed <- err
				return
			}
		}
	}()
	fmt.Printf("recording %v\n", time.Duration(ticks)*sim.Period)
	if err := commit(robot.Setup()); err != nil {
		return err
	}
	for tick := range ticks {
		all := []engram.Commit{robot.State(tick), robot.Kitchen(tick), robot.Events(tick)}
		if tick%100 == 0 {
			all = append(all, robot.Objects(tick), robot.Images(tick))
		}
		for _, c := range all {
			if err := commit(c); err != nil {
				return errors.Join(err, <-failed)
			}
		}
		if tick%2000 == 1999 { // not faster than is recorded, so that all is
			if err := s.recorded(ctx, joints, uint64(tick)); err != nil {
				return err
			}
		}
	}
	if err := s.recorded(ctx, joints, uint64(ticks-1)); err != nil {
		return err
	}
	address := fmt.Sprintf("%s/?from=%d&to=%d", s.page, from, robot.Time(ticks))
	return o.browse(ctx, "hour.mjs", address, nil)
}

// recorded waits until so many snapshots of an entity are on disk.
func (s *server) recorded(ctx context.Context, entity engram.ID, n uint64) error {
	for {
		stats, err := s.client.Stats(ctx, engram.PatternOf(entity), engram.LevelEntity)
		if err != nil {
			return err
		}
		if len(stats) > 0 && stats[len(stats)-1].Disk.Snapshots >= n {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
