package source_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// believer is a holder that believes what it is told of what is to come.
type believer struct {
	testing.TB
	behind []uint64 // as told last, by share
	told   []int    // versions, by share
}

func newBeliever(t testing.TB, r contract.Request) *believer {
	x := &believer{TB: t, told: make([]int, len(r.Shares))}
	for range r.Shares {
		x.behind = append(x.behind, 1) // nothing is known yet
	}
	return x
}

// hear takes a batch in, and checks that shares which are said to be complete are, of so
// many versions each.
func (x *believer) hear(b *contract.Batch, written ...int) {
	x.Helper()
	x.told[b.Share] += len(b.Items)
	x.behind[b.Share] = b.Behind.Updates
	for i, behind := range x.behind {
		if behind == 0 && (i == b.Share || b.Empty() && b.Behind.Updates == 0) && x.told[i] < written[i] {
			x.Errorf("share %d is said to be complete by a batch of share %d (empty: %v), with %d of %d versions", i, b.Share, b.Empty(), x.told[i], written[i])
		}
	}
}

func sharesOf(patterns ...string) (r contract.Request) {
	for _, p := range patterns {
		r.Shares = append(r.Shares, contract.Share{Patterns: []engram.Pattern{engram.MustPattern(p)}})
	}
	return r
}

// Who lacks what earlier epochs left, or more than the memory remembers, is not told that
// nothing is to come.
func TestNothingIsToComeWhenAllWasTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		lives int
	}{{"earlier epochs", 3}, {"more than is remembered", 0}} {
		for _, patterns := range [][]string{{"Test/A"}, {"Test/None", "Test/A"}} {
			t.Run(fmt.Sprint(c.name, patterns), func(t *testing.T) {
				const each = 400
				dir, n := t.TempDir(), 0
				write := func(o *owner) {
					for range each {
						testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(n), n))
						n++
					}
				}
				for range c.lives {
					o := begin(t, dir, core("A", 5))
					write(o)
					o.Close()
				}
				o := &owner{}
				if c.lives > 0 {
					o = begin(t, dir, core("A", 5))
				} else {
					var err error
					o.Server, err = serve.New(server.Config{
						Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{core("A", 0)}}}, Log: testkit.Quiet, Limits: wm.Limits{Recent: 10},
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				defer o.Close()
				write(o)
				r := sharesOf(patterns...)
				x, last := newBeliever(t, r), len(patterns)-1
				pull(t, o, r, func(b *contract.Batch) bool {
					written := make([]int, len(patterns))
					written[last] = n
					x.hear(b, written...)
					return x.told[last] == n && x.behind[last] == 0
				})
			})
		}
	}
}

// What came since it was counted what is to come is not forgotten over that.
func TestBurstIsToCome(t *testing.T) {
	source.SetHeartbeat(time.Second)
	defer source.SetHeartbeat(fastHeartbeat)
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0))
		defer o.Close()
		n := 0
		write := func(count int) {
			for range count {
				testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(n), n))
				n++
			}
		}
		write(300)
		r := sharesOf("Test/A")
		x := newBeliever(t, r)
		pull(t, o, r, func(b *contract.Batch) bool {
			if x.hear(b, n); x.told[0] == 300 {
				write(600)
			}
			return n == 900 && x.told[0] == n && x.behind[0] == 0
		})
	})
}

// That nothing is to come of one share does not say it of one that waits for its bytes
// per second.
func TestShareThatWaitsIsNotComplete(t *testing.T) {
	source.SetHeartbeat(time.Second)
	defer source.SetHeartbeat(fastHeartbeat)
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0))
		defer o.Close()
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", 0, string(make([]byte, 5000))))
		r, n := sharesOf("Test/None", "Test/A"), 1
		r.Shares[1].Rules.MaxBytes = 1000
		x := newBeliever(t, r)
		pull(t, o, r, func(b *contract.Batch) bool {
			if x.hear(b, 0, n); x.told[1] == 1 && n == 1 {
				for ; n < 21; n++ {
					testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(n), n))
				}
			}
			return x.told[1] == 21 && x.behind[1] == 0
		})
	})
}

// A share of which nothing comes is told to be complete also while another one has the
// pull tell something all the time.
func TestQuietShareBesideABusyOne(t *testing.T) {
	source.SetHeartbeat(time.Second)
	defer source.SetHeartbeat(fastHeartbeat)
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0))
		defer o.Close()
		n, complete := 0, time.Now()
		pull(t, o, sharesOf("Test/None", "Test/A"), func(b *contract.Batch) bool {
			if b.Share == 0 && b.Behind.Updates == 0 {
				complete = time.Now()
			}
			if ago := time.Since(complete); ago > 6*time.Second {
				t.Fatalf("after %d updates of the other one the quiet share was complete %v ago", n, ago)
			}
			time.Sleep(100 * time.Millisecond)
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(n), n))
			n++
			return n == 200
		})
	})
}
