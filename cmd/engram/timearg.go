package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// timeArg is a time as typed on the command line: absolute, relative to now
// ("now", "now-10s") or relative to an entity's newest snapshot: "-10s", or a time of
// day such as "0:11:05", the last such time up to there (UTC).
type timeArg struct {
	base   timeBase
	at     engram.Time   // baseAbsolute
	offset time.Duration // otherwise; since midnight with baseDay
}

type timeBase uint8

const (
	baseAbsolute timeBase = iota
	baseNow
	baseLatest
	baseDay
)

// needsLatest reports whether the time is relative to an entity's newest snapshot.
func (a timeArg) needsLatest() bool { return a.base == baseLatest || a.base == baseDay }

func parseTimeArg(s string) (timeArg, error) {
	switch {
	case s == "now":
		return timeArg{base: baseNow}, nil
	case s == "latest":
		return timeArg{base: baseLatest}, nil
	case strings.HasPrefix(s, "now-"), strings.HasPrefix(s, "now+"):
		d, err := parseSpan(s[3:])
		return timeArg{base: baseNow, offset: d}, err
	case strings.HasPrefix(s, "-") && len(s) > 1 && strings.ContainsAny(s[len(s)-1:], "smhd"):
		d, err := parseSpan(s)
		return timeArg{base: baseLatest, offset: d}, err
	}
	if d, ok := timeOfDay(s); ok {
		return timeArg{base: baseDay, offset: d}, nil
	}
	t, err := parseAbsolute(s)
	return timeArg{at: t}, err
}

// timeOfDay reads 0:11, 00:11:05 or 13:06:56.492 as what has passed since midnight.
func timeOfDay(s string) (time.Duration, bool) {
	if strings.Trim(s, "0123456789:.") != "" {
		return 0, false
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Sub(t.Truncate(24 * time.Hour)), true
		}
	}
	return 0, false
}

// parseAbsolute reads what engram.ParseTime reads, and what people and other
// programs write for a time: dates, minutes, seconds since 1970.
func parseAbsolute(s string) (engram.Time, error) {
	if n := strings.TrimLeft(s, "+-"); n != "" && strings.Trim(n, "0123456789.") == "" && strings.Count(n, ".") < 2 {
		return parseNumber(s, n)
	}
	full := s
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			full = t.Format(time.RFC3339)
		}
	}
	t, err := engram.ParseTime(full)
	switch {
	case engram.CodeOf(err) == engram.OutOfRange:
		return 0, errYears(s)
	case err != nil:
		return 0, usagef("%q is not a time; write 2026-01-01, 2026-01-01 00:02:03.5 (UTC), RFC 3339, seconds or nanoseconds since 1970, now-10s, or, relative to the entity's latest, -10s or a time of day such as 0:11:05", s)
	}
	return t, nil
}

func errYears(s string) error { return usagef("time %q is outside the years 1677 to 2262", s) }

// parseNumber reads a bare number, whose digits without sign are n: seconds since
// 1970 if it is as long as those of our days, nanoseconds if it is far longer.
func parseNumber(s, n string) (engram.Time, error) {
	whole, frac, decimal := strings.Cut(n, ".")
	switch {
	case n == s && len(whole) >= 9 && len(whole) <= 11 && len(frac) <= 9:
		t, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 64)
		if err != nil {
			return 0, errYears(s)
		}
		return engram.Time(t), nil
	case !decimal && len(strings.TrimLeft(n, "0")) > 15:
		t, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, errYears(s)
		}
		return engram.Time(t), nil
	case n != s && len(n) < 9:
		return 0, usagef("%s of what? write %ss for seconds", s, s)
	}
	return 0, usagef("%q is not a time: seconds since 1970 have 9 to 11 digits before the point and up to 9 after it, nanoseconds 16 or more; or write 2026-01-01 00:02:03.5", s)
}

// parseSpan reads a signed duration; beside Go's units there is d for days.
func parseSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > -100_000 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(s)
	if n := strings.TrimLeft(s, "+-"); err != nil && n != "" && strings.Trim(n, "0123456789.") == "" {
		return 0, usagef("%s of what? write %ss for seconds", s, s)
	}
	if err != nil {
		return 0, usagef("%q is not a span of time; write 500ms, 10s, 5m, 2h, 3d", strings.TrimLeft(s, "+-"))
	}
	return d, nil
}

// resolve returns the time meant for an entity whose newest snapshot is at latest.
func (a timeArg) resolve(now, latest engram.Time) engram.Time {
	switch a.base {
	case baseNow:
		return now.Add(a.offset)
	case baseLatest:
		return latest.Add(a.offset)
	case baseDay:
		if latest == 0 { // where there is no entity, such as for a commit
			latest = now
		}
		t := engram.Time(latest.Std().Truncate(24 * time.Hour).UnixNano()).Add(a.offset)
		if t > latest {
			t = t.Add(-24 * time.Hour)
		}
		return t
	}
	return a.at
}

// rangeArg is "A..B"; an open side is nil.
type rangeArg struct{ start, end *timeArg }

func parseRangeArg(s string) (rangeArg, error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		return rangeArg{}, usagef("%q is not a range; write A..B, where one of them may be left out", s)
	}
	var r rangeArg
	for _, side := range []struct {
		text string
		arg  **timeArg
	}{{from, &r.start}, {to, &r.end}} {
		if side.text == "" {
			continue
		}
		a, err := parseTimeArg(side.text)
		if err != nil {
			return rangeArg{}, err
		}
		*side.arg = &a
	}
	if r.start != nil && r.end != nil && r.start.base == r.end.base && r.start.base != baseDay && r.resolve(0, 0).Start > r.resolve(0, 0).End {
		return r, usagef("the range %s ends before it starts", s)
	}
	return r, nil
}

func (r rangeArg) resolve(now, latest engram.Time) engram.Interval {
	iv := engram.Always()
	if r.start != nil {
		iv.Start = r.start.resolve(now, latest)
	}
	if r.end != nil {
		iv.End = r.end.resolve(now, latest)
	}
	if r.start != nil && r.end != nil && r.start.base == baseDay && r.end.base == baseDay && iv.End < iv.Start {
		iv.End = iv.End.Add(24 * time.Hour) // it ends after the entity's latest
	}
	return iv
}

func (r rangeArg) usesLatest() bool {
	return r.start != nil && r.start.needsLatest() || r.end != nil && r.end.needsLatest()
}

// parseIndexRange reads "A..B", or "A" alone.
func parseIndexRange(s string) (first, last int, err error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		return 0, 0, usagef("--index %s: write A..B, both inclusive, such as 0..9 or -3..-1", s)
	}
	if first > last && (first < 0) == (last < 0) {
		return 0, 0, usagef("--index %s: the range ends before it starts", s)
	}
	return first, last, nil
}
