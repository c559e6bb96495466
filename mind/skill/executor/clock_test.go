package executor_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/executor"
	"github.com/seed-301d4374/engram/mind/skill/schedule"
)

// A clock that is set ends no lease and no limit, and makes none longer; times are those of the clock.
func TestClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{30 * time.Second, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var set atomic.Int64
			x := executor.New(nil)
			x.SetClock(func() engram.Time { return engram.Now().Add(time.Duration(set.Load())) })
			m := memories.Skill()
			m.Hooks = x.Hooks()
			s, err := server.New(server.Config{Memories: []server.Memory{m}, Log: testkit.Quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			codec, err := skill.NewCodec(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			commit := func(u engram.EntityUpdate, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				testkit.Commit(t, s, u)
			}
			commit(codec.DescriptionUpdate(&skill.Description{ID: engram.MustID("Skill/Description/Arm/Wave"), TimeLimit: 10 * time.Second}, engram.Now()))
			commit(codec.LeaseUpdate(engram.MustID("Skill/Provider/Arm/Arm"), skill.Lease{Epoch: 1, Lease: 20 * time.Second}, engram.Now()))
			skills, err := skill.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			h, err := skills.Start(t.Context(), skill.Ask{Skill: "Arm/Wave"})
			if err != nil {
				t.Fatal(err)
			}
			is := func() *skill.Execution {
				t.Helper()
				synctest.Wait()
				all, err := skills.Executions(t.Context(), engram.PatternOf(h.ID), engram.All()) // what is ahead of the server's own clock, too
				if err != nil || len(all) != 1 {
					t.Fatal(all, err)
				}
				return all[0]
			}
			called := is().Called
			set.Store(int64(step))
			time.Sleep(9 * time.Second)
			if e := is(); e.Status != schedule.Preparing || e.Called != called {
				t.Errorf("a second before its limit it is %+v", e)
			}
			time.Sleep(time.Second)
			if e := is(); e.Status != schedule.Stopping || step > 0 && e.Stop.Deadline != engram.Now().Add(step+skill.DefaultStopWithin) || e.Called != called {
				t.Errorf("at its limit it is %+v %+v", e, e.Stop)
			}
			time.Sleep(10 * time.Second)
			if e := is(); e.Status != schedule.Failed {
				t.Errorf("after its provider's lease it is %+v %+v", e, e.Stop)
			}
		})
	}
}
