package ltm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/testkit"
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
		"cut at the end": func(r *rand.Rand, name string) error {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			return os.Truncate(name, info.Size()-1-r.Int64N(10))
		},
		"without its beginning": func(_ *rand.Rand, name string) error {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			clear(b[:min(100, len(b))])
			return os.WriteFile(name, b, 0o600)
		},
		"appended": func(r *rand.Rand, name string) error {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, append(b, make([]byte, 1+r.IntN(5000))...), 0o600)
		},
		"emptied": func(_ *rand.Rand, name string) error { return os.Truncate(name, 0) },
		"replaced": func(_ *rand.Rand, name string) error {
			others, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*.mcap"))
			if err != nil {
				return err
			}
			other := others[0]
			if other == name {
				other = others[1]
			}
			b, err := os.ReadFile(other)
			if err != nil {
				return err
			}
			if err := os.Remove(name); err != nil { // who has it open reads the one that was
				return err
			}
			return os.WriteFile(name, b, 0o600)
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
	rounds := testkit.Repeats(2, 6)
	for what, damage := range damages {
		for _, when := range []string{"before the start", "before the start, without the catalogue", "while it runs"} {
			running, rebuilt := when == "while it runs", strings.Contains(when, "without")
			if rebuilt && (what == "missing" || what == "replaced") {
				continue // nobody knows what there was
			}
			t.Run(what+" "+when, func(t *testing.T) {
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
					if rebuilt {
						if err := os.Remove(filepath.Join(dir, "catalogue.db")); err != nil {
							t.Fatal(err)
						}
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
					left := len(found) > (episodes-1)*each // of the damaged one
					if len(found) < episodes*each && missing == 0 && (left || !rebuilt) {
						t.Errorf("round %d: %d of %d are found, and nobody says why", round, len(found), episodes*each)
					}
					if whole := what == "cut at the end" || what == "appended"; whole && (len(found) < episodes*each || missing > 0) {
						t.Errorf("round %d: %d of %d are found, %d times something is said to be missing", round, len(found), episodes*each, missing)
					}
					// Flipped bits and zeros may lie where nobody has to look.
					sure := !running && what != "flipped bits" && what != "zeroed" || missing > 0
					health := strings.Join(l.Health(), "\n")
					if sure && !strings.Contains(health, filepath.Base(names[victim])) {
						t.Errorf("round %d: health says %q, nothing of %s", round, health, names[victim])
					}
					for _, e := range mustEpisodes(t, l) {
						if told := strings.Contains(health, e.Name); told != (e.Damage != nil) {
							t.Errorf("round %d: the list of episodes says %+v of %s, and health %q", round, e.Damage, e.Name, health)
						}
					}
					l.end(t)
				}
			})
		}
	}
}
