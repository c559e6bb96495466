package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/mind/memories"
)

// measureLive measures the page beside a robot that lives.
func (o *options) measureLive(ctx context.Context) (err error) {
	s, err := o.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	typ, _ := memories.Type("engram.speech.Text")
	text := func(id engram.ID, text string) (u engram.EntityUpdate, err error) {
		b, err := typ.Encode(map[string]any{"text": text})
		return engram.EntityUpdate{Entity: id, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}, err
	}
	if err := s.client.AddCoreSegment(ctx, engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Many")}); err != nil {
		return err
	}
	const entities, batch = 100_000, 1000
	for first := 0; first < entities; first += batch {
		var c engram.Commit
		for i := range batch {
			u, err := text(engram.MustID(fmt.Sprintf("GeneralPurpose/Many/Crowd/entity-%05d", first+i)), "here")
			if err != nil {
				return err
			}
			c.Updates = append(c.Updates, u)
		}
		if _, err := s.client.Commit(ctx, c); err != nil {
			return err
		}
	}
	measured := 20 * time.Second
	if o.quick {
		measured = 2 * time.Second
	}
	var living sync.WaitGroup
	alive, rest := context.WithCancel(ctx)
	defer living.Wait()
	defer rest()
	count := 0
	load := func() (string, error) {
		part, err := s.load(ctx, measured)
		return strconv.FormatFloat(100*part, 'f', 2, 64), err
	}
	return o.browse(ctx, "live.mjs", fmt.Sprintf("%s/?for=%d", s.page, o.open().Milliseconds()), map[string]func() (string, error){
		// What the server takes of a core, in percent.
		"load": load,
		"live": func() (string, error) {
			robot, err := sim.New(sim.Config{Start: engram.Now()})
			if err != nil {
				return "", err
			}
			living.Go(func() { _, _ = robot.Run(alive, s.client, 1) }) // the page's figures show if it does not live
			return "", nil
		},
		// When a text is committed, in ms since 1970.
		"commit": func() (string, error) {
			u, err := text(engram.MustID("Speech/Text/Bench/clock"), fmt.Sprintf("tick-%d", count))
			if err != nil {
				return "", err
			}
			count++
			began := time.Now()
			_, err = s.client.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
			return strconv.FormatFloat(float64(began.UnixMicro())/1000, 'f', 3, 64), err
		},
	})
}

// open is how long the live page stays open.
func (o *options) open() time.Duration {
	if o.quick {
		return 5 * time.Second
	}
	return o.live
}
