package main

import (
	"errors"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestParseAbsolute(t *testing.T) {
	for s, want := range map[string]string{
		"1767225600":            "2026-01-01 00:00:00.000000",
		"1767225600.123456789":  "2026-01-01 00:00:00.123456789",
		"1767225600123456789":   "2026-01-01 00:00:00.123456789",
		"123456789":             "1973-11-29 21:33:09.000000",
		"2026-01-01":            "2026-01-01 00:00:00.000000",
		"2026-01-01 12:30":      "2026-01-01 12:30:00.000000",
		"2026-01-01T12:30:00Z":  "2026-01-01 12:30:00.000000",
		"2026-01-01 12:30:00.5": "2026-01-01 12:30:00.500000",
		"-1767225600123456789":  "1913-12-31 23:59:59.876543211",
		"10":                    "", "-10": "", "1767225600123": "", "99999999999": "", "99999999999999999999": "", "": "",
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
