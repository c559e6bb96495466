package skill_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/condition"
)

// A server that ends at random instants and begins anew asks for what one asks for that goes on.
func TestConditionsOfAServerThatGoesOn(t *testing.T) {
	for seed := range testkit.Repeats(5, 100) {
		asked := func(ends bool) map[string]int {
			counts := map[string]int{}
			inLives(t, func(r *lives) {
				r.offered()
				forever := time.Duration(0)
				quiet := []condition.Term{{Of: engram.MustPattern("Speech/Text/*/c"), None: true, Within: 5 * time.Second}}
				for name, w := range map[string]skill.When{
					"edge": {}, "hold": {Hold: 3 * time.Second}, "pause": {Pause: 7 * time.Second}, "each": {Trigger: condition.EachUpdate},
					"each-pause": {Trigger: condition.EachUpdate, Pause: 7 * time.Second}, "once": {Trigger: condition.EachUpdate, OncePer: "text"},
					"term": {All: quiet}, "term-hold": {All: quiet, Hold: 2 * time.Second}, "level": {Trigger: condition.Level},
				} {
					w.Skill, w.On, w.Where, w.Patience = "Arm/Wave", "Speech/Text/*/~a|b", `text != "z"`, &forever
					r.when(name, w)
				}
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				for range 60 {
					time.Sleep(time.Duration(random.IntN(3000)+1) * time.Millisecond)
					heard(t, r.Server, string(rune('a'+random.IntN(3))), string(rune('x'+random.IntN(3))), 1)
					end, wait, later := random.IntN(4) == 0, random.IntN(2) == 0, time.Duration(random.IntN(2)*random.IntN(30))*time.Second
					if !end {
						synctest.Wait()
						continue
					}
					if wait {
						synctest.Wait()
					}
					if ends {
						r.anew(later)
						continue
					}
					time.Sleep(later)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				all, err := open(r.Server).Executions(r.ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range all {
					counts[e.Condition.Entity()]++
				}
			})
			return counts
		}
		if got, want := asked(true), asked(false); !maps.Equal(got, want) {
			t.Errorf("seed %d: it asks %v, want %v", seed, got, want)
		}
	}
}
