//go:build linux

// Command copies measures copies between memory servers on two hosts that are network
// namespaces: the lag of a copy on an idle link, what it adds to the bytes on the
// link, and how soon it has all again after the link was cut.
//
//	go run ./bench/copies [-cut 60s] [-samples 2000] [-span 10s] [-rounds 3] [-rules gather=20ms]
//
// It needs root, and a machine on which nothing else runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/fleet"
	"github.com/seed-301d4374/engram/internal/netlab"
)

var (
	cut     = flag.Duration("cut", time.Minute, "how long the link is cut")
	samples = flag.Int("samples", 2000, "commits whose lag is measured")
	span    = flag.Duration("span", 10*time.Second, "how long each load runs whose bytes are counted")
	rules   = flag.String("rules", "", "rules of the copy, as 'engram copy --help' has them")
	rounds  = flag.Int("rounds", 3, "how often each is measured")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/copies: ")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench-copies-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := fleet.Build(dir, os.Stderr)
	if err != nil {
		return err
	}
	for round := range *rounds {
		p, err := newPair(ctx, fmt.Sprintf("%s/%d", dir, round), binary)
		if err != nil {
			return err
		}
		fmt.Printf("round %d of %d\n", round+1, *rounds)
		err = errors.Join(p.lag(ctx), p.overhead(ctx), p.catchUp(ctx))
		if err = errors.Join(err, p.close()); err != nil {
			return err
		}
	}
	return nil
}

// pair is a robot whose memory is copied to a base station.
type pair struct {
	lab           *netlab.Lab
	radio         *netlab.Radio
	robot, base   *fleet.Server
	owner, holder *client.Client
}

// The robot's segment and its copy.
var (
	segment = engram.MustID("GeneralPurpose/Work/bench")
	copied  = engram.MustID("robot1:GeneralPurpose/Work/bench")
)

func newPair(ctx context.Context, dir, binary string) (p *pair, err error) {
	p = &pair{}
	if p.lab, err = netlab.New(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	robot, err := p.lab.Host("robot")
	if err != nil {
		return nil, err
	}
	base, err := p.lab.Host("base")
	if err != nil {
		return nil, err
	}
	if p.radio, err = p.lab.Radio(base, robot); err != nil {
		return nil, err
	}
	p.base = fleet.NewServer(base, binary, "--robot", "base", "--backbone", "embedded",
		"--leaf-listen", "0.0.0.0:7422", "--copy", "robot1:GeneralPurpose/Work "+*rules)
	p.robot = fleet.NewServer(robot, binary, "--robot", "robot1", "--backbone", "embedded",
		"--leaf-of", "nats-leaf://"+base.Address+":7422", "--memory", "GeneralPurpose", "--monitor", "0")
	if err := errors.Join(p.base.Start(ctx), p.robot.Start(ctx)); err != nil {
		return nil, err
	}
	if p.owner, err = p.robot.Client(ctx); err != nil {
		return nil, err
	}
	if p.holder, err = p.base.Client(ctx); err != nil {
		return nil, err
	}
	return p, p.owner.AddCoreSegment(ctx, engram.CoreSegment{ID: segment.Parent(), Durability: engram.Logged, History: engram.Bounds{MaxCount: 1000}})
}

func (p *pair) close() error {
	for _, c := range []*client.Client{p.owner, p.holder} {
		if c != nil {
			c.Close()
		}
	}
	for _, s := range []*fleet.Server{p.robot, p.base} {
		if s != nil {
			s.Kill()
		}
	}
	return p.lab.Close()
}

// load commits random payloads of a size at a rate until it has committed n, and
// returns the bytes of the payloads.
func (p *pair) load(ctx context.Context, entity string, n, size int, period time.Duration) (bytes int64, err error) {
	id, err := segment.Child(entity)
	if err != nil {
		return 0, err
	}
	random := make([]uint8, size)
	due := time.Now()
	for range n {
		for i := range random {
			random[i] = uint8(rand.Uint32())
		}
		array, err := idf.NewNDArray(random, int64(size))
		if err != nil {
			return 0, err
		}
		payload, err := idf.ValuePayload(array)
		if err != nil {
			return 0, err
		}
		t := engram.Now()
		results, err := p.owner.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: t, Instances: []engram.Instance{engram.NewInstance(payload)}}}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			return 0, err
		}
		bytes += int64(len(payload.Bytes))
		due = due.Add(period)
		time.Sleep(time.Until(due))
	}
	return bytes, nil
}

// lag measures how long after a program on the robot begins a commit a program on the
// base station has its update, one commit at a time.
func (p *pair) lag(ctx context.Context) error {
	// The first makes the copy's segments known.
	if _, err := p.load(ctx, "lag", 1, 100, 0); err != nil {
		return err
	}
	if err := p.await(ctx, "lag"); err != nil {
		return err
	}
	stream, err := p.holder.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(copied)}, WithData: true})
	if err != nil {
		return err
	}
	defer stream.Close()
	lags := make(chan time.Duration, *samples)
	failed := make(chan error, 1)
	go func() {
		for n := 0; n < *samples; {
			batch, err := stream.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			now := engram.Now()
			for _, u := range batch {
				t, _ := u.ID.Time()
				lags <- now.Sub(t)
				n++
			}
		}
		failed <- nil
	}()
	if _, err := p.load(ctx, "lag", *samples, 100, 5*time.Millisecond); err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	close(lags)
	var all []time.Duration
	for d := range lags {
		all = append(all, d)
	}
	slices.Sort(all)
	fmt.Printf("  lag of %d single commits of 100 B: p50 %v, p90 %v, p99 %v, longest %v\n",
		len(all), all[len(all)/2], all[len(all)*9/10], all[len(all)*99/100], all[len(all)-1])
	return nil
}

// await waits until the copy has the newest snapshot of an entity.
func (p *pair) await(ctx context.Context, entity string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	id, err := segment.Child(entity)
	if err != nil {
		return err
	}
	there, err := copied.Child(entity)
	if err != nil {
		return err
	}
	newest, err := p.owner.Latest(ctx, id)
	if err != nil {
		return err
	}
	for {
		s, err := fleet.Copies{Client: p.holder}.AtOrBefore(ctx, there, engram.MaxTime-1)
		if err == nil && s.Time == newest.Time {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// overhead counts the bytes on the link while payloads of several sizes are copied.
func (p *pair) overhead(ctx context.Context) error {
	idle, err := p.carried(func() error { time.Sleep(*span / 2); return nil })
	if err != nil {
		return err
	}
	fmt.Printf("  without a load the link carries %.0f B/s\n", float64(2*idle)/span.Seconds())
	for _, l := range []struct {
		size   int
		period time.Duration
	}{
		{100, time.Millisecond},
		{1000, 2 * time.Millisecond},
		{49152, 50 * time.Millisecond},
	} {
		entity := fmt.Sprint(l.size)
		var payloads int64
		bytes, err := p.carried(func() (err error) {
			payloads, err = p.load(ctx, entity, int(*span/l.period), l.size, l.period)
			if err != nil {
				return err
			}
			return p.await(ctx, entity)
		})
		if err != nil {
			return err
		}
		fmt.Printf("  %6d B each %4v: %d payload bytes, %d bytes on the link in both directions, %+.1f %%\n",
			l.size, l.period, payloads, bytes, 100*(float64(bytes)/float64(payloads)-1))
	}
	return nil
}

// carried returns the bytes, IP headers included, that the link carries while f runs.
func (p *pair) carried(f func() error) (bytes int64, err error) {
	count := func() int64 {
		_, out := p.radio.Carried(false)
		_, back := p.radio.Carried(true)
		return out + back
	}
	before := count()
	err = f()
	return count() - before, err
}

// catchUp cuts the link while 1,000 small commits are made per second, and measures
// how soon the copy has all that was committed until the link is back.
func (p *pair) catchUp(ctx context.Context) error {
	producer := &fleet.Producer{Segment: segment, Entities: 10, Period: time.Millisecond, Size: 100}
	writing, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- producer.Run(writing, p.owner) }()
	time.Sleep(2 * time.Second)
	p.radio.Set(netlab.Condition{Cut: true})
	before, _ := producer.Promised()
	time.Sleep(*cut)
	after, _ := producer.Promised()
	p.radio.Set(netlab.Condition{})
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := producer.Await(within, fleet.Copies{Client: p.holder}, copied)
	took := time.Since(began)
	stop()
	if err = errors.Join(err, <-done); err != nil {
		return err
	}
	fmt.Printf("  after a cut of %v with %d commits the copy had all of them %v after the link was back, while commits went on\n", *cut, after-before, took.Round(time.Millisecond))
	return nil
}
