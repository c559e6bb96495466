package ltm_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Codec zstd compresses with a dictionary that is trained on what the episode holds of
// the type; what is forgotten is not in it any more.
func TestDictionaryIsTrained(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir, Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Volatile"): {Codec: "zstd"}}})
	secret := func(i int) string {
		return fmt.Sprintf("GraspObjectFromTable kit/blue-cup-%d succeeded base_link approach top, seen by armar6a-0 at %d", i%7, i)
	}
	const entities, each = 4, 150
	for i := range entities * each {
		l.commit(t, fmt.Sprintf("Test/Volatile/p/e%d", i%entities), engram.Time(i), secret(i))
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	sealed := files(t, dir, "episodes/*.mcap")
	if len(sealed) != 1 {
		t.Fatal(sealed)
	}
	dictionaries := func() (n int) {
		b, err := os.ReadFile(sealed[0])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "engram.dictionary.")
	}
	if dictionaries() == 0 {
		t.Error("the episode has no dictionary")
	}
	check := func(when string, gone int) {
		for e := range entities {
			q := engram.SelectID(engram.MustID(fmt.Sprintf("Test/Volatile/p/e%d", e)), engram.All())
			q.Target = engram.TargetLTM
			r, err := l.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for item := range r.All() {
				if got := value(t, item.Snapshot); got != secret(int(item.Time)) {
					t.Fatalf("%s: %v holds %v", when, item.ID, got)
				}
				n++
			}
			if want := each; e != gone && n != want || e == gone && n != 0 {
				t.Errorf("%s: %d versions of e%d", when, n, e)
			}
		}
	}
	check("sealed", -1)
	if _, err := l.Forget(t.Context(), ltm.Forgetting{Patterns: []engram.Pattern{engram.MustPattern("Test/Volatile/p/e0")}, Why: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	check("forgotten", 0)
	if dictionaries() > 0 {
		t.Error("a dictionary that was trained on what is forgotten is still there")
	}
}
