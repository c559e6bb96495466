package pressure

import (
	"testing"
	"time"
)

// Servers look together, whenever they were started.
func TestLooksAreTogether(t *testing.T) {
	for _, ms := range []int64{0, 1, 249, 250, 251, 999} {
		now := time.UnixMilli(1_800_000_000_000 + ms)
		d := untilLook(now)
		if next := now.Add(d); d <= 0 || d > Every || next.UnixMilli()%Every.Milliseconds() != 0 {
			t.Errorf("%d ms after a second the next look is at %v, %v later", ms, next, d)
		}
	}
}

// What is seen at a look is done between this look and the next, unless there is no time for that.
func TestStepsComeAfterLooks(t *testing.T) {
	look := time.UnixMilli(1_800_000_000_000)
	for _, c := range []struct {
		available int64 // of 100
		late      time.Duration
		want      time.Duration
	}{
		{9, 0, Every / 2}, {9, Every / 4, Every / 4}, {9, Every / 2, 0}, {25, 0, Every / 2}, {5, 0, 0}, {0, 0, 0}, {50, 0, 0},
	} {
		if got := max(untilStep(Reading{Total: 100, Available: c.available}, look.Add(c.late)), 0); got != c.want {
			t.Errorf("%d %% available, seen %v late: it waits for %v, want %v", c.available, c.late, got, c.want)
		}
	}
	if got := untilStep(Reading{}, look); got != 0 {
		t.Errorf("where nothing is measured it waits for %v", got)
	}
}
