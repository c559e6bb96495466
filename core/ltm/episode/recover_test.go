package episode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// readable opens a damaged episode as it is and compares what it serves with what was put
// into it. It returns how many versions are served.
func (r *recorded) readable(t testing.TB, what string, b []byte) (n int, damage *episode.Damage, err error) {
	t.Helper()
	path := r.dir + "/damaged.mcap"
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := episode.Open(path, quick)
	if err != nil {
		return 0, nil, err
	}
	defer e.Close()
	for _, entity := range e.Entities() {
		tl, err := e.Timeline(entity.ID)
		if err != nil {
			continue
		}
		for i, block := range tl.Blocks() {
			for k := range block.Count {
				got, err := tl.Load(t.Context(), i, k, k+1)
				if err != nil {
					continue // it is damaged
				}
				n++
				there := slices.ContainsFunc(r.want[entity.ID], func(want *engram.Snapshot) bool {
					// Without its envelope it has no number, and a confidence of 1.
					one := *got[0]
					if one.Number == 0 {
						one.Number = want.Number
						one.Instances = slices.Clone(one.Instances)
						for j := range min(len(one.Instances), len(want.Instances)) {
							in := &one.Instances[j]
							in.Sent, in.HasSent, in.Confidence = want.Instances[j].Sent, want.Instances[j].HasSent, want.Instances[j].Confidence
						}
					}
					return sameVersion(&one, want, true) == ""
				})
				if !there {
					t.Errorf("%s: %v of %v was never put into it", what, got[0], entity.ID)
				}
			}
		}
	}
	return n, e.Info().Damage, nil
}

// Whatever happens to its file, an episode serves what is left of it at once, and says
// that it is damaged.
func TestDamagedIsServedAtOnce(t *testing.T) {
	const versions = 120
	r := record(t, versions, true)
	whole, damage, err := r.readable(t, "whole", r.bytes)
	if err != nil || damage != nil || whole != versions {
		t.Fatalf("whole: %d versions, damage %+v, %v", whole, damage, err)
	}
	// Cut anywhere: the longer it is, the more is served.
	step := len(r.bytes) / testkit.Repeats(30, 150)
	last, first := 0, -1
	for size := 0; size < len(r.bytes); size += step {
		what := fmt.Sprintf("cut after %d bytes", size)
		n, damage, err := r.readable(t, what, r.bytes[:size])
		if err != nil {
			if engram.CodeOf(err) != engram.Corrupt || last > 0 {
				t.Fatalf("%s, %d served before: %v", what, last, err)
			}
			continue
		}
		if first < 0 {
			first = size
		}
		if damage == nil || damage.Known && damage.Lost != uint64(versions-n) {
			t.Errorf("%s: %d versions, damage %+v", what, n, damage)
		}
		if n < last {
			t.Errorf("%s: %d versions, %d of a shorter file", what, n, last)
		}
		last = n
	}
	if first > 5000 || last != versions {
		t.Errorf("served from %d bytes on, at last %d versions of %d", first, last, versions)
	}
	for _, extra := range []int{1, 9, 5000} {
		b := slices.Concat(r.bytes, make([]byte, extra))
		if n, damage, err := r.readable(t, "with bytes appended", b); n != versions || damage == nil || !damage.Known || damage.Lost != 0 || err != nil {
			t.Errorf("with %d bytes appended: %d versions, damage %+v, %v", extra, n, damage, err)
		}
	}
	for _, lost := range []int{1, 8, 100} {
		b := slices.Clone(r.bytes)
		clear(b[:lost])
		if n, damage, err := r.readable(t, "without its beginning", b); n != versions || damage == nil || err != nil {
			t.Errorf("%d bytes zeroed at the beginning: %d versions, damage %+v, %v", lost, n, damage, err)
		}
	}
	chance := rand.New(rand.NewPCG(5, 6))
	rounds := testkit.Repeats(30, 150)
	for range rounds {
		b := slices.Clone(r.bytes)
		at := chance.IntN(len(b))
		what := fmt.Sprintf("bit %d flipped", at)
		if chance.IntN(2) == 0 {
			b[at] ^= 1 << chance.IntN(8)
		} else {
			what = fmt.Sprintf("%d zeroed", at)
			clear(b[at:min(len(b), at+300)])
		}
		n, _, err := r.readable(t, what, b)
		if err != nil || n < versions/2 {
			t.Errorf("%s: %d versions, %v", what, n, err)
		}
	}
}

// A file that was made much longer, as a hole, is looked through no further than a record is
// long, and no further than the context lasts.
func TestLongHoleIsTheEnd(t *testing.T) {
	testkit.Long(t)
	const versions = 120
	r := record(t, versions, true)
	path := t.TempDir() + "/hole.mcap"
	if err := os.WriteFile(path, r.bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip(err)
	}
	e, err := episode.Open(path, quick)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if info := e.Info(); info.Snapshots != versions || info.Damage == nil {
		t.Errorf("%d versions, damage %+v", info.Snapshots, info.Damage)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := episode.OpenContext(ctx, path, quick); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("given up: %v", err)
	}
}
