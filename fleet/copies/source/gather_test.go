package source_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// delays is what a pull of a stream was like: how long after it was written each update
// was told, and in how many batches of how many bytes.
type delays struct {
	byShare map[int][]time.Duration
	batches int
	left    uint64 // out
	leftIn  int    // batches
}

// stream has writers write texts while a pull runs, in time that passes by itself.
func stream(t *testing.T, shares []contract.Share, write func(commit func(entity string, size int))) (d delays) {
	return streamOf(t, shares, func(text string) any { return text }, write)
}

// streamOf is stream with what value makes of each text.
func streamOf(t *testing.T, shares []contract.Share, value func(text string) any, write func(commit func(entity string, size int))) (d delays) {
	source.SetHeartbeat(time.Second)
	defer source.SetHeartbeat(fastHeartbeat)
	synctest.Test(t, func(t *testing.T) {
		d.byShare = map[int][]time.Duration{}
		o := begin(t, "", core("A", 0), core("B", 0))
		defer o.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- o.Pull(ctx, contract.Request{Shares: shares}, func(b *contract.Batch) error {
				if len(b.Items) > 0 {
					d.batches++
				}
				for _, v := range b.Items {
					d.byShare[b.Share] = append(d.byShare[b.Share], engram.Now().Sub(v.Snapshot.Time))
				}
				for _, l := range b.LeftOut {
					d.left += l.Count
				}
				if len(b.LeftOut) > 0 {
					d.leftIn++
				}
				return nil
			})
		}()
		synctest.Wait()
		write(func(entity string, size int) {
			testkit.Commit(t, o, testkit.Update(t, "Test/"+entity, engram.Now(), value(string(make([]byte, size)))))
		})
		time.Sleep(2 * time.Second)
		cancel()
		<-done
	})
	return d
}

// every writes n updates, one per period.
func every(period time.Duration, n, size int) func(commit func(entity string, size int)) {
	return func(commit func(entity string, size int)) {
		for range n {
			commit("A/p/e", size)
			time.Sleep(period)
		}
	}
}

func (d *delays) longest(share int) (longest time.Duration) {
	for _, x := range d.byShare[share] {
		longest = max(longest, x)
	}
	return longest
}

func all(rules contract.Rules) []contract.Share {
	return []contract.Share{{Patterns: []engram.Pattern{engram.MustPattern("Test")}, Rules: rules}}
}

// Updates of fast streams wait for each other, for no longer than they are said to and
// until there is enough to be sent; others do not wait at all.
func TestGather(t *testing.T) {
	const n = 1000
	const slack = time.Millisecond // between the clock's reading and the commit nothing passes, but a nap may
	for _, c := range []struct {
		name    string
		rules   contract.Rules
		period  time.Duration
		size    int
		longest time.Duration
		batches int // at most
		least   int
	}{
		{"fast and small", contract.Rules{}, time.Millisecond, 100, contract.DefaultGather, 220, 80},
		{"very fast", contract.Rules{}, 50 * time.Microsecond, 10, contract.DefaultGather, 100, 5},
		{"fast, two of which are enough", contract.Rules{}, time.Millisecond, 1400, 2 * time.Millisecond, 580, 500},
		{"fast and large", contract.Rules{}, time.Millisecond, 5000, 0, n, n},
		{"slow", contract.Rules{}, 5 * time.Millisecond, 100, 0, n, n},
		{"fast, and not to wait", contract.Rules{Gather: contract.NoGather}, time.Millisecond, 100, 0, n, n},
		{"slow, and to wait", contract.Rules{Gather: 50 * time.Millisecond}, 10 * time.Millisecond, 100, 50 * time.Millisecond, 220, 190},
		{"slower than it is to wait for", contract.Rules{Gather: 20 * time.Millisecond}, 100 * time.Millisecond, 100, 0, n, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := stream(t, all(c.rules), every(c.period, n, c.size))
			if got := len(d.byShare[0]); got != n {
				t.Fatalf("%d updates were told, want %d", got, n)
			}
			if longest := d.longest(0); longest > c.longest+slack {
				t.Errorf("one was told after %v, want at most %v", longest, c.longest)
			}
			if d.batches > c.batches || d.batches < c.least {
				t.Errorf("they came in %d batches, want %d to %d", d.batches, c.least, c.batches)
			}
		})
	}
}

// Large updates of which little travels wait for each other as small ones do.
func TestGatherOfWhatTravels(t *testing.T) {
	const n = 1000
	image := func(text string) any { return map[string]any{"label": "cup", "image": text} }
	d := streamOf(t, all(contract.Rules{Fields: []string{"label"}}), image, every(time.Millisecond, n, 5000))
	if got := len(d.byShare[0]); got != n {
		t.Fatalf("%d updates were told, want %d", got, n)
	}
	if d.batches > 220 || d.longest(0) > contract.DefaultGather+time.Millisecond {
		t.Errorf("they came in %d batches, one after %v; want at most 220, and %v", d.batches, d.longest(0), contract.DefaultGather)
	}
}

// What comes after a pause goes at once, also where a fast stream was before it.
func TestGatherEndsWithTheStream(t *testing.T) {
	d := stream(t, all(contract.Rules{}), func(commit func(entity string, size int)) {
		every(time.Millisecond, 500, 100)(commit)
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			commit("A/p/e", 100)
		}
	})
	list := d.byShare[0]
	if len(list) != 510 {
		t.Fatalf("%d updates were told", len(list))
	}
	for i, x := range list[500:] {
		if x > 0 {
			t.Errorf("update %d after a pause was told after %v", i, x)
		}
	}
}

// A slow share does not wait because one beside it is fast.
func TestSlowShareBesideAFastOne(t *testing.T) {
	share := func(name string) contract.Share {
		return contract.Share{Patterns: []engram.Pattern{engram.MustPattern("Test/" + name)}}
	}
	d := stream(t, []contract.Share{share("A"), share("B")}, func(commit func(entity string, size int)) {
		for i := range 2000 {
			commit("A/p/e", 50)
			if i%100 == 99 {
				commit("B/p/slow", 50)
			}
			time.Sleep(500 * time.Microsecond)
		}
	})
	if len(d.byShare[0]) != 2000 || len(d.byShare[1]) != 20 {
		t.Fatalf("%d and %d updates were told", len(d.byShare[0]), len(d.byShare[1]))
	}
	if longest := d.longest(1); longest > time.Millisecond {
		t.Errorf("the slow share's were told after up to %v", longest)
	}
}

// Counts of what a rule leaves out of a fast stream do not fill the link.
func TestLeftOutIsToldNowAndThen(t *testing.T) {
	d := stream(t, all(contract.Rules{MaxRate: 2}), every(time.Millisecond, 3000, 100))
	told := len(d.byShare[0])
	if told < 6 || told > 7 || d.left != uint64(3000-told) {
		t.Errorf("%d were told, and %d left out, of 3000", told, d.left)
	}
	if longest := d.longest(0); longest > 0 {
		t.Errorf("what travels was told after up to %v", longest)
	}
	if d.leftIn > 20 {
		t.Errorf("what was left out was told %d times in 3 s", d.leftIn)
	}
}
