// Package words writes numbers as people read them.
//
// It is no public API: several wings share it.
package words

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Duration writes a duration for people, with as much of it as matters: 9.633s,
// 42s, 6m35s, 35h12m, 5,419d 23h.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-max(d, -math.MaxInt64))
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d.Round(time.Hour) >= 48*time.Hour:
		hours := int64(d.Round(time.Hour) / time.Hour)
		text := Count(hours/24) + "d"
		if hours%24 != 0 {
			text += fmt.Sprintf(" %dh", hours%24)
		}
		return text
	case d.Round(time.Minute) >= time.Hour:
		d = d.Round(time.Minute)
	default:
		d = d.Round(time.Second)
	}
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// Count writes a count with separators, such as "12,345".
func Count[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
