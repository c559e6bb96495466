package words

import (
	"math"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"}, {9633 * time.Millisecond, "9.633s"}, {9999600 * time.Microsecond, "10s"}, {41600 * time.Millisecond, "42s"},
		{59900 * time.Millisecond, "1m"}, {395 * time.Second, "6m35s"}, {time.Hour, "1h"}, {3599700 * time.Millisecond, "1h"},
		{35*time.Hour + 12*time.Minute + 40*time.Second, "35h13m"}, {47*time.Hour + 45*time.Minute, "2d"}, {49 * time.Hour, "2d 1h"},
		{130079*time.Hour + 36*time.Minute, "5,420d"}, {130078 * time.Hour, "5,419d 22h"},
		{-90 * time.Second, "-1m30s"}, {math.MinInt64, "-106,751d 23h"}, {math.MaxInt64, "106,751d 23h"},
	} {
		if got := Duration(c.d); got != c.want {
			t.Errorf("Duration(%d) = %q, want %q", c.d, got, c.want)
		}
	}
}
