package main

import (
	"errors"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestParseAbsolute(t *testing.T) {
	for s, want := range map[string]string{
		"1767225600":                  "2026-01-01 00:00:00.000000",
		"1767225600.123456789":        "2026-01-01 00:00:00.123456789",
		"1767225600123456789":         "2026-01-01 00:00:00.123456789",
		"123456789":                   "1973-11-29 21:33:09.000000",
		"2026-01-01":                  "2026-01-01 00:00:00.000000",
		"2026-01-01 12:30":            "2026-01-01 12:30:00.000000",
		"2026-01-01T12:30:00Z":        "2026-01-01 12:30:00.000000",
		"2026-01-01 12:30:00.5":       "2026-01-01 12:30:00.500000",
		"2026-01-01 12:30:00Z":        "2026-01-01 12:30:00.000000",
		"2026-01-01 12:30:00.5+02:00": "2026-01-01 10:30:00.500000",
		"-1767225600123456789":        "1913-12-31 23:59:59.876543211",
		"10":                          "", "-10": "", "1767225600123": "", "99999999999": "", "99999999999999999999": "", "": "",
		"1.2.3": "", "-": "", "9999-01-01": "", "2026-02-30": "", "1767225600.1234567891": "",
	} {
		got, err := parseTimeArg(s)
		var usage *usageError
		if want == "" {
			if !errors.As(err, &usage) {
				t.Errorf("parseTimeArg(%q) = %v, %v, want a usage error", s, got, err)
			}
		} else if err != nil || got.base != baseAbsolute || got.at.String() != want {
			t.Errorf("parseTimeArg(%q) = %v, %v, want %s", s, got.at, err, want)
		}
	}
}

// A time of day is the last one up to the entity's newest snapshot, and a range of two
// ends after it begins.
func TestTimeOfDay(t *testing.T) {
	latest, _ := engram.ParseTime("2014-12-23 00:30:00")
	now, _ := engram.ParseTime("2026-11-23 12:00:00")
	for s, want := range map[string]string{
		"0:11:05": "2014-12-23 00:11:05.000000", "00:11:05.5": "2014-12-23 00:11:05.500000", "0:11": "2014-12-23 00:11:00.000000",
		"0:30": "2014-12-23 00:30:00.000000", "0:30:01": "2014-12-22 00:30:01.000000", "23:59:59": "2014-12-22 23:59:59.000000",
	} {
		a, err := parseTimeArg(s)
		if err != nil || !a.needsLatest() || a.resolve(now, latest).String() != want {
			t.Errorf("%s is %v, %v; want %s", s, a.resolve(now, latest), err, want)
		}
	}
	for _, s := range []string{"24:00", "0:60", "0:1", "0:11:", ":11", "0:11:05:1", "-0:11"} {
		if a, err := parseTimeArg(s); err == nil {
			t.Errorf("%q is read as %+v", s, a)
		}
	}
	if a, _ := parseTimeArg("11:00"); a.resolve(now, 0).String() != "2026-11-23 11:00:00.000000" {
		t.Errorf("without an entity 11:00 is %v", a.resolve(now, 0))
	}
	for s, want := range map[string]string{
		"23:50..0:10": "2014-12-22 23:50 2014-12-23 00:10", "23:50..0:40": "2014-12-22 23:50 2014-12-23 00:40",
		"0:10..0:20": "2014-12-23 00:10 2014-12-23 00:20",
	} {
		r, err := parseRangeArg(s)
		iv := r.resolve(now, latest)
		if got := iv.Start.String()[:16] + " " + iv.End.String()[:16]; err != nil || !r.usesLatest() || got != want {
			t.Errorf("%s is %s, %v; want %s", s, got, err, want)
		}
	}
}

// What is printed as a time is read as that time, and nothing is read that is not one.
func FuzzParseTimeArg(f *testing.F) {
	for _, s := range []string{"now", "latest", "now-10s", "-3d", "-10", "1767225600.5", "2026-01-01", "-0.", "99999999999999999999d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseTimeArg(s)
		if err != nil || a.base != baseAbsolute {
			return
		}
		if b, err := parseTimeArg(a.at.String()); err != nil && a.at > engram.MinTime+1e18 && a.at < engram.MaxTime-1e18 || err == nil && b.at != a.at {
			t.Errorf("parseTimeArg(%q) is %v, which is read as %v, %v", s, a.at, b.at, err)
		}
	})
}
