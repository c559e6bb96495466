package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
)

// Whatever happens to an episode's file, before the server starts or while it runs: what
// is left is served as it was, the rest is said to be missing or damaged, and the other
// episodes are whole.
func TestDamagedEpisodes(t *testing.T) {
	const episodes, each = 4, 300
	text := func(i int) string { return fmt.Sprintf("value %d of many, %0*d", i, i%50, 0) }
	original := fastDir(t)
	l := begin(t, ltm.Options{Dir: original})
	for i := range episodes * each {
		l.commit(t, fmt.Sprintf("Test/Volatile/p/e%d", i%3), engram.Time(i), text(i))
		if (i+1)%each == 0 {
			if err := l.Seal(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.end(t)
	damages := map[string]func(r *rand.Rand, name string) error{
		"flipped bits": func(r *rand.Rand, name string) error {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for range 1 + r.IntN(5) {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
			return os.WriteFile(name, b, 0o600)
		},
		"cut": func(r *rand.Rand, name string) error {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			return os.Truncate(name, r.Int64N(info.Size()))
		},
		"missing": func(_ *rand.Rand, name string) error { return os.Remove(name) },
		"zeroed": func(r *rand.Rand, name string) error {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			at := r.IntN(len(b))
			clear(b[at:min(len(b), at+4096)])
			return os.WriteFile(name, b, 0o600)
		},
	}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for what, damage := range damages {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, running %v", what, running), func(t *testing.T) {
				chance := rand.New(rand.NewPCG(7, uint64(len(what))))
				for round := range rounds {
					dir := killed(t, original)
					names := files(t, dir, "episodes/*.mcap")
					victim := chance.IntN(len(names))
					var l *life
					if running {
						l = begin(t, ltm.Options{Dir: dir})
						if chance.IntN(2) == 0 { // it is open already
							l.times(t, "Test/Volatile/p/e0", engram.TargetLTM, engram.All())
						}
					}
					if err := damage(chance, names[victim]); err != nil {
						t.Fatal(err)
					}
					if !running {
						l = begin(t, ltm.Options{Dir: dir})
					}
					found, missing := map[int]bool{}, 0
					for e := range 3 {
						q := engram.SelectID(engram.MustID(fmt.Sprintf("Test/Volatile/p/e%d", e)), engram.All())
						q.Target = engram.TargetLTM
						r, err := l.Query(t.Context(), q)
						if err != nil {
							t.Fatalf("round %d: %v", round, err)
						}
						for item := range r.All() {
							i := int(item.Time)
							if got := value(t, item.Snapshot); got != text(i) || i%3 != e {
								t.Fatalf("round %d: %v holds %v", round, item.ID, got)
							}
							found[i] = true
						}
						for _, m := range r.Missing {
							if m.Reason != engram.MissingDamaged {
								t.Errorf("round %d: %+v", round, m)
							}
							missing++
						}
					}
					for i := range episodes * each {
						if i/each != victim && !found[i] {
							t.Fatalf("round %d: %d, of an episode that is whole, is not found", round, i)
						}
					}
					if len(found) < episodes*each && missing == 0 {
						t.Errorf("round %d: %d of %d are found, and nobody says why", round, len(found), episodes*each)
					}
					l.end(t)
				}
			})
		}
	}
}
