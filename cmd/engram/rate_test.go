package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
)

// What came in the window is measured, by entity and in all; what came before it is not.
func TestRates(t *testing.T) {
	at := engram.Time(1_800_000_000_000_000_000)
	w := newRateWindow(10*time.Second, at)
	put := func(entity string, after, late time.Duration, bytes int) {
		when := at.Add(after)
		w.add(engram.Update{
			ID: engram.MustID(entity).At(when), Arrived: when.Add(late),
			Snapshot: &engram.Snapshot{Time: when, Instances: []engram.Instance{{Payload: engram.Payload{Bytes: make([]byte, bytes)}}}},
		}, when.Add(2*late))
	}
	put("A/b/c/old", 0, 0, 1)
	for i := range 20 {
		put("A/b/c/fast", 10*time.Second+time.Duration(i)*100*time.Millisecond, 10*time.Millisecond, 100)
	}
	put("A/b/c/slow", 11*time.Second, 30*time.Millisecond, 5000)
	for _, c := range []struct {
		kind rateKind
		want string
	}{
		{hz, `ENTITY      SNAPSHOTS   HZ  MEAN_MS  MIN_MS  MAX_MS  STDDEV_MS
A/b/c/fast         20    2      100     100     100          0
A/b/c/old           0    0        0       0       0          0
A/b/c/slow          1  0.1        0       0       0          0
all                21  2.1       95      20     100      17.75
`},
		{bw, `ENTITY      SNAPSHOTS  BYTES_PER_S  MEAN_BYTES  MIN_BYTES  MAX_BYTES
A/b/c/fast         20          200         100        100        100
A/b/c/old           0            0           0          0          0
A/b/c/slow          1          500       5,000      5,000      5,000
all                21          700       333.3        100      5,000
`},
		{delay, `ENTITY      SNAPSHOTS  MEAN_MS  MIN_MS  P50_MS  P99_MS  MAX_MS  HERE_MS
A/b/c/fast         20       10      10      10      10      10       20
A/b/c/old           0        0       0       0       0       0        0
A/b/c/slow          1       30      30      30      30      30       60
all                21    10.95      10      10      30      30    21.91
`},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		if err := w.print(cmd, "table", c.kind, at.Add(12*time.Second), true); err != nil || out.String() != c.want {
			t.Errorf("%v, printed\n%s", err, out.String())
		}
	}
}
