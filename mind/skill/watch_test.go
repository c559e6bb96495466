package skill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// watchLog is what a watch told, a line each.
type watchLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *watchLog) take() (lines []string) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, l.lines = l.lines, nil
	return lines
}

func (l *watchLog) tell(n skill.News) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n.Restarted:
		l.lines = append(l.lines, "restarted")
	case n.Provider != nil:
		l.lines = append(l.lines, fmt.Sprintf("%s there=%v ended=%v", n.Provider.Provider, n.Provider.There, n.Provider.Ended))
	case n.Lost:
		l.lines = append(l.lines, n.Stage()+" lost")
	default:
		l.lines = append(l.lines, fmt.Sprintf("%s %v %.1f", n.Stage(), n.Execution.Status, n.Execution.Progress))
	}
	return nil
}

// watch begins a watch.
func (r *robot) watch(svc skill.Service) *watchLog {
	l := &watchLog{}
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := open(svc).Watch(ctx, l.tell); engram.CodeOf(err) != engram.Canceled {
			r.Errorf("the watch ended: %v", err)
		}
	})
	r.leaving = append(r.leaving, func() { cancel(); wg.Wait() })
	return l
}

func (l *watchLog) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, lines) {
		t.Errorf("it told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestWatch(t *testing.T) {
	inBubble(t, func(r *robot) {
		early := r.watch(r.Server)
		end := r.offers("Arm", skill.Skill{Name: "Twice", Do: func(ctx context.Context, c *skill.Call) error {
			if err := c.Progress(ctx, 0.5, ""); err != nil {
				return err
			}
			time.Sleep(time.Second)
			_, err := c.Run(ctx, skill.Ask{Skill: "Arm/Fail"})
			return err
		}}, skill.Skill{Name: "Fail", Do: func(context.Context, *skill.Call) error { return errors.New("it fails") }})
		early.want(t, "Arm there=true ended=false")
		h := r.start(skill.Ask{Skill: "Arm/Twice"})
		early.want(t, "Twice Preparing -1.0", "Twice Running 0.5")
		late := r.watch(r.Server)
		late.want(t, "Arm there=true ended=false", "Twice Running 0.5")
		time.Sleep(time.Second)
		if e := r.wait(h); e.Status != schedule.Failed {
			t.Errorf("it is %v", e.Status)
		}
		rest := []string{"Twice/Fail Preparing -1.0", "Twice/Fail Running -1.0", "Twice/Fail Failed -1.0", "Twice Failed 0.5"}
		early.want(t, rest...)
		late.want(t, rest...)
		time.Sleep(time.Minute) // in which the lease is renewed
		early.want(t)
		end()
		early.want(t, "Arm there=false ended=true")
		r.watch(r.Server).want(t) // nothing is there
	})
}

// A provider whose lease is not renewed is away.
func TestWatchTellsOfLostProviders(t *testing.T) {
	inBubble(t, func(r *robot) {
		log := r.watch(r.Server)
		arm := newByHand(t, r.Server, "Arm", 10)
		arm.offer("Wave", skill.Description{})
		for range 5 {
			if err := arm.renew(2 * time.Second); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		log.want(t, "Arm there=true ended=false")
		time.Sleep(time.Second)
		log.want(t, "Arm there=false ended=false")
		arm.epoch = 11
		if err := arm.renew(2 * time.Second); err != nil {
			t.Fatal(err)
		}
		log.want(t, "Arm there=true ended=false")
	})
}

// replaced is a server in whose place another one comes, which a watch hears in its stream.
type replaced struct {
	*server.Server
	mu    sync.Mutex
	now   *server.Server
	ended context.Context
}

func (s *replaced) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil, engram.Errorf(engram.Unavailable, "", "the server is away")
	}
	return s.now.Query(ctx, q)
}

func (s *replaced) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	stream, err := s.Server.Subscribe(ctx, sub)
	return &interrupted{UpdateStream: stream, by: s.ended}, err
}

// interrupted is a stream that tells once that the server began anew.
type interrupted struct {
	engram.UpdateStream
	by   context.Context
	told bool
}

func (s *interrupted) Next(ctx context.Context) ([]engram.Update, error) {
	if s.told {
		return s.UpdateStream.Next(ctx)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.by, cancel)()
	updates, err := s.UpdateStream.Next(inner)
	if err != nil && ctx.Err() == nil {
		s.told = true
		return []engram.Update{{Restarted: true}}, nil
	}
	return updates, err
}

// Where the server began anew and has lost what was under way, that is told as soon as it answers.
func TestWatchOutlivesServer(t *testing.T) {
	inBubble(t, func(r *robot) {
		ended, end := context.WithCancel(r.ctx)
		svc := &replaced{Server: r.Server, now: r.Server, ended: ended}
		r.offers("Arm", skill.Skill{Name: "Wave", Do: wave}, skill.Skill{Name: "Deaf", Do: deaf})
		log := r.watch(svc)
		r.wait(r.start(skill.Ask{Skill: "Arm/Wave"}))
		r.start(skill.Ask{Skill: "Arm/Deaf"})
		synctest.Wait()
		log.take()
		next, err := server.New(server.Config{Memories: []server.Memory{memories.Skill()}, Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		svc.mu.Lock()
		svc.now = nil
		svc.mu.Unlock()
		end()
		log.want(t, "restarted")
		time.Sleep(5 * time.Second) // less than it is executed
		svc.mu.Lock()
		svc.now = next
		svc.mu.Unlock()
		time.Sleep(time.Second)
		if got := log.take(); !slices.Contains(got, "Deaf lost") || slices.Contains(got, "Wave lost") {
			t.Errorf("it told %q", got)
		}
	})
}
