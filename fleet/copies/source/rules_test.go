package source_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/source"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// collected is what a pull told until it had caught up.
type collected struct {
	batches []contract.Batch
	items   []contract.Version
	leftOut []contract.LeftOut
	lost    []engram.Missing
	removed []contract.Removal
	last    contract.Position
}

func keep(b *contract.Batch) contract.Batch {
	c := *b
	c.Segments, c.Removed = append([]contract.Segment(nil), b.Segments...), append([]contract.Removal(nil), b.Removed...)
	c.Items, c.LeftOut, c.Lost = append([]contract.Version(nil), b.Items...), append([]contract.LeftOut(nil), b.LeftOut...), append([]engram.Missing(nil), b.Lost...)
	return c
}

// catchUp pulls until every share has all there is.
func catchUp(t testing.TB, o *owner, ctx context.Context, r contract.Request) (c collected) {
	t.Helper()
	at := make([]contract.Position, len(r.Shares))
	err := o.Pull(ctx, r, func(b *contract.Batch) error {
		c.batches = append(c.batches, keep(b))
		c.items = append(c.items, b.Items...)
		c.leftOut = append(c.leftOut, b.LeftOut...)
		c.lost = append(c.lost, b.Lost...)
		c.removed = append(c.removed, b.Removed...)
		c.last, at[b.Share] = b.Position, b.Position
		for _, p := range at {
			if p.Epoch != o.Epoch() || p.Number < o.Number() {
				return nil
			}
		}
		return errEnough
	})
	if err != errEnough {
		t.Fatalf("the pull ended with %v", err)
	}
	return c
}

// What a rule leaves out is counted, with the reason and the times.
func TestRules(t *testing.T) {
	o := begin(t, "", core("A", 0))
	defer o.Close()
	for i := range 100 {
		u := testkit.Update(t, "Test/A/p/e", engram.Time(i)*engram.Time(10*time.Millisecond), map[string]any{"n": int64(i), "text": fmt.Sprintf("%0*d", i, 0)})
		u.Instances[0].Confidence = float32(i%2) / 2
		testkit.Commit(t, o, u)
	}
	for name, c := range map[string]struct {
		rules  contract.Rules
		items  int
		reason string
	}{
		"all":         {contract.Rules{}, 100, ""},
		"rate":        {contract.Rules{MaxRate: 10}, 10, contract.LeftOutRate},
		"where":       {contract.Rules{Where: "confidence > 0.2"}, 50, contract.LeftOutFilter},
		"nothing":     {contract.Rules{Where: "confidence > 2"}, 0, contract.LeftOutFilter},
		"max-payload": {contract.Rules{MaxPayload: 60}, 0, contract.LeftOutSize},
		"fields":      {contract.Rules{Fields: []string{"n"}}, 100, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, c.rules))
			known := 0
			for _, b := range got.batches {
				known += len(b.Segments)
			}
			if known != 1 {
				t.Errorf("the holder is told of %d segments", known)
			}
			var left, bytes int64
			for _, l := range got.leftOut {
				left += int64(l.Count)
				bytes += l.Bytes
				if l.Reason != c.reason || l.Entity != engram.MustID("Test/A/p/e") || l.Interval.Empty() {
					t.Errorf("left out is %+v", l)
				}
			}
			if c.items == 0 { // it depends on the encoding
				c.items = 100 - int(left)
				for _, v := range got.items {
					if v.Snapshot.Size() > 60 {
						t.Errorf("a payload of %d bytes travelled", v.Snapshot.Size())
					}
				}
			}
			if len(got.items) != c.items || len(got.items)+int(left) != 100 || (left > 0) != (c.reason != "") || (bytes > 0) != (left > 0) {
				t.Errorf("%d items and %d left out with %d bytes; want %d of 100", len(got.items), left, bytes, c.items)
			}
			if name != "fields" {
				return
			}
			for _, v := range got.items {
				value, err := idf.DecodeValue(v.Snapshot.Instances[0].Payload.Bytes)
				if m, ok := value.(map[string]any); err != nil || !ok || len(m) != 1 {
					t.Fatalf("of a projected payload there is %v, %v", value, err)
				}
			}
		})
	}
	for _, bad := range []struct {
		rules contract.Rules
		says  string
	}{
		{contract.Rules{Where: "confidence >"}, "confidence >"}, {contract.Rules{MaxRate: -1}, "rate=-1"}, {contract.Rules{MaxRate: math.NaN()}, "rate=NaN"},
		{contract.Rules{MaxBytes: -1}, "max-bytes=-1"}, {contract.Rules{Gather: time.Minute}, "gather=1m0s"},
	} {
		err := o.Pull(t.Context(), shareOf("Test", contract.Position{}, bad.rules), nil)
		if engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("the rules %+v: %v; want Invalid, and %s", bad.rules, err, bad.says)
		}
	}
	for _, bad := range []contract.Request{{}, {Shares: []contract.Share{{}}}, {Shares: make([]contract.Share, contract.MaxShares+1)}} {
		if err := o.Pull(t.Context(), bad, nil); err == nil {
			t.Errorf("a request of %d shares without patterns is taken", len(bad.Shares))
		}
	}
}

// What supersedes a version that travelled by a rate travels, whichever of the last it is:
// the copy would tell of what its owner does not believe any more.
func TestRateTellsCorrections(t *testing.T) {
	o := begin(t, "", core("A", 0))
	defer o.Close()
	for value, at := range []time.Duration{0, 500, 1000, 1500, 2000, 0, 1000, 1500, 2000, 1000, 3000} {
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(at*time.Millisecond), value))
	}
	share := contract.Share{Patterns: []engram.Pattern{engram.MustPattern("Test")}, Rules: contract.Rules{MaxRate: 1}}
	for _, shares := range [][]contract.Share{{share}, {share, share}} { // of each, whatever the others tell
		got := catchUp(t, o, t.Context(), contract.Request{Shares: shares})
		var numbers []uint64
		for _, v := range got.items {
			numbers = append(numbers, v.Snapshot.Number)
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
		for _, n := range []uint64{1, 3, 5, 6, 7, 9, 10, 11} {
			if !slices.Contains(numbers, n) {
				t.Errorf("with %d shares, number %d did not travel: %v", len(shares), n, numbers)
			}
		}
	}
}

// Shares of higher priority come first, spare ones last, those of one rank in turn.
func TestPriorities(t *testing.T) {
	o := begin(t, "", core("A", 0), core("B", 0), core("C", 0), core("D", 0))
	defer o.Close()
	const n = 1000
	for i := range n {
		for _, name := range []string{"A", "B", "C", "D"} {
			testkit.Commit(t, o, testkit.Update(t, "Test/"+name+"/p/e", engram.Time(i), i))
		}
	}
	share := func(name string, r contract.Rules) contract.Share {
		return contract.Share{Patterns: []engram.Pattern{engram.MustPattern("Test/" + name)}, Rules: r}
	}
	got := catchUp(t, o, t.Context(), contract.Request{Shares: []contract.Share{
		share("A", contract.Rules{Spare: true, Priority: 9}), share("B", contract.Rules{}), share("C", contract.Rules{Priority: 5}), share("D", contract.Rules{}),
	}})
	first, last := map[int]int{}, map[int]int{}
	for i, b := range got.batches {
		if len(b.Items) > 0 {
			if _, ok := first[b.Share]; !ok {
				first[b.Share] = i
			}
			last[b.Share] = i
		}
	}
	if len(got.items) != 4*n || last[2] > first[1] || last[2] > first[3] || last[1] > first[0] || last[3] > first[0] {
		t.Errorf("of %d items, shares came from %v to %v", len(got.items), first, last)
	}
	if first[3] > last[1] || first[1] > last[3] {
		t.Errorf("two of one rank did not come in turn: from %v to %v", first, last)
	}
}

// A share that may take so many bytes a second waits, and the others do not.
func TestBytesPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0), core("B", 0))
		defer o.Close()
		payload := string(make([]byte, 990))
		for i := range 20 {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), payload), testkit.Update(t, "Test/B/p/e", engram.Time(i), payload))
		}
		began := time.Now()
		var a, b time.Duration
		n := map[int]int{}
		err := o.Pull(t.Context(), contract.Request{Shares: []contract.Share{
			{Patterns: []engram.Pattern{engram.MustPattern("Test/A")}, Rules: contract.Rules{MaxBytes: 2000, Priority: 1}},
			{Patterns: []engram.Pattern{engram.MustPattern("Test/B")}},
		}}, func(x *contract.Batch) error {
			if n[x.Share] += len(x.Items); n[x.Share] == 20 && x.Share == 1 && b == 0 {
				b = max(time.Since(began), 1)
			} else if n[x.Share] == 20 && x.Share == 0 {
				a = time.Since(began)
				return errEnough
			}
			return nil
		})
		if err != errEnough {
			t.Fatal(err)
		}
		if a < 8*time.Second || a > 11*time.Second || b > time.Second {
			t.Errorf("20 KB at 2 KB a second took %v; beside it, 20 KB took %v", a, b)
		}
	})
}

// While nothing comes, the holder is told so about once a second; closing ends it.
func TestHeartbeat(t *testing.T) {
	source.SetHeartbeat(time.Second)
	defer source.SetHeartbeat(fastHeartbeat)
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0))
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", 1, "x"))
		var times []time.Duration
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			done <- o.Pull(t.Context(), shareOf("Test/A/p/none", contract.Position{}, contract.Rules{}), func(b *contract.Batch) error {
				times = append(times, time.Since(began))
				if len(b.Items) > 0 || b.Position.Number != 1 || b.Position.Epoch != o.Epoch() {
					t.Errorf("told was %+v", b)
				}
				return nil
			})
		}()
		time.Sleep(10*time.Second + time.Millisecond)
		o.Close()
		if err := <-done; engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("the pull of a server that was closed ended with %v", err)
		}
		if len(times) != 11 { // the first at once
			t.Errorf("in 10 s it was told at %v", times)
		}
	})
}

// A first pull reaches back as far as it is to, a later one goes on where it was.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := begin(t, "", core("A", 0))
		defer o.Close()
		for i := range 10 {
			testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", engram.Time(i), i))
			time.Sleep(time.Second)
		}
		rules := contract.Rules{Since: 3500 * time.Millisecond}
		got := catchUp(t, o, t.Context(), shareOf("Test", contract.Position{}, rules))
		if len(got.items) != 3 || got.items[0].Snapshot.Time != 7 {
			t.Errorf("of the last 3.5 s there are %d, from %+v on", len(got.items), got.items)
		}
		time.Sleep(time.Minute)
		testkit.Commit(t, o, testkit.Update(t, "Test/A/p/e", 10, "x"))
		time.Sleep(time.Minute)
		if got := catchUp(t, o, t.Context(), shareOf("Test", got.last, rules)); len(got.items) != 1 {
			t.Errorf("later there are %d more; want 1", len(got.items))
		}
	})
}
