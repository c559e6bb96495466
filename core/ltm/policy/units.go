package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unit is a unit of a quantity and how many of the base unit it is.
type unit struct {
	name   string
	factor float64
}

// The units of quantities; the first is the base unit and the one that is printed.
var (
	unitless = []unit{{"", 1}}
	hertz    = []unit{{"Hz", 1}, {"kHz", 1e3}}
	decibels = []unit{{"dB", 1}}
	metres   = []unit{{"m", 1}, {"mm", 1e-3}, {"cm", 1e-2}, {"km", 1e3}}
	radians  = []unit{{"rad", 1}, {"mrad", 1e-3}, {"deg", math.Pi / 180}, {"°", math.Pi / 180}}
	share    = []unit{{"", 1}, {"%", 1e-2}}
)

// parseQuantity reads a number with one of the units, or without.
func parseQuantity(text string, units []unit) (float64, error) {
	number, name := splitUnit(text)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("not a number")
	}
	if name == "" {
		return v, nil
	}
	var known []string
	for _, u := range units {
		if u.name == name {
			// Dividing by 1000 gives the nearest number to 5 mm, multiplying by 0.001 may not.
			if u.factor < 1 && math.Round(1/u.factor) == 1/u.factor {
				return v / (1 / u.factor), nil
			}
			return v * u.factor, nil
		}
		if u.name != "" {
			known = append(known, u.name)
		}
	}
	if known == nil {
		return 0, fmt.Errorf("it has no unit, but %q is given", name)
	}
	return 0, fmt.Errorf("unknown unit %q; write %s", name, strings.Join(known, ", "))
}

func printQuantity(v float64, units []unit) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if units[0].name == "" {
		return text
	}
	return text + " " + units[0].name
}

// splitUnit cuts a text after its number.
func splitUnit(text string) (number, name string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for end > 0 && !strings.ContainsRune("0123456789.", rune(text[end-1])) {
		end--
	}
	if end == 0 { // such as "inf", which is no number to set something to
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// Duration units, the longest first: as they are printed, and other ways to write them.
var durations = []struct {
	name  string
	long  time.Duration
	words string
}{
	{"w", 7 * 24 * time.Hour, " weeks week "},
	{"d", 24 * time.Hour, " days day "},
	{"h", time.Hour, " hours hour hr "},
	{"m", time.Minute, " minutes minute min "},
	{"s", time.Second, " seconds second sec "},
	{"ms", time.Millisecond, " "},
	{"us", time.Microsecond, " µs μs "},
	{"ns", time.Nanosecond, " "},
}

// ParseDuration reads a duration as people write it: "10m", "1.5 h", "30 d",
// "1d 12h", "2 weeks". A number without a unit is refused, but for 0.
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.TrimSpace(text)
	if rest == "0" {
		return 0, nil
	}
	if rest == "" || len(text) > 64 {
		return 0, badDuration()
	}
	sum := 0.0
	exact := time.Duration(0)
	for rest != "" {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number := rest[:n]
		rest = strings.TrimLeft(rest[n:], " ")
		n = strings.IndexAny(rest, " 0123456789.")
		if n < 0 {
			n = len(rest)
		}
		name := rest[:n]
		rest = strings.TrimLeft(rest[n:], " ")
		long := unitOfTime(name)
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || long == 0 {
			return 0, badDuration()
		}
		if sum += v * float64(long); sum > math.MaxInt64/2 {
			return 0, fmt.Errorf("it is longer than 146 years")
		}
		if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
			exact += time.Duration(whole) * long
		} else {
			exact += time.Duration(math.Round(v * float64(long)))
		}
	}
	return exact, nil
}

func unitOfTime(name string) time.Duration {
	for _, u := range durations {
		if name != "" && (u.name == name || strings.Contains(u.words, " "+name+" ")) {
			return u.long
		}
	}
	return 0
}

func badDuration() error {
	return fmt.Errorf("it is not a duration; write 500ms, 10m, 1.5h or 30d")
}

// PrintDuration returns the text of a duration that is not negative, such as
// "1d12h", which ParseDuration reads as the same.
func PrintDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b []byte
	for _, u := range durations {
		if n := d / u.long; n != 0 && u.name != "w" {
			b = append(strconv.AppendInt(b, int64(n), 10), u.name...)
			d -= n * u.long
		}
	}
	return string(b)
}

// Size units: decimal ones as disks are sold by, and binary ones.
var sizes = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9},
	{"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"B", 1},
}

// ParseSize reads a number of bytes: "5 GB", "512 MiB", "1.5TB", "4096".
func ParseSize(text string) (int64, error) {
	number, name := splitUnit(text)
	factor := int64(0)
	for _, u := range sizes {
		if name == "" || strings.EqualFold(name, u.name) {
			factor = u.bytes // without a unit the last one, bytes
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || factor == 0 || !(v >= 0) {
		return 0, fmt.Errorf("it is not a size; write 5 GB, 512 MiB or a number of bytes")
	}
	if v*float64(factor) > math.MaxInt64/2 {
		return 0, fmt.Errorf("it is more than a disk can hold")
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		return whole * factor, nil
	}
	return int64(math.Round(v * float64(factor))), nil
}

// PrintSize returns the text of a size that is not negative, in the largest unit of
// which it is a whole number, which ParseSize reads as the same.
func PrintSize(n int64) string {
	for _, u := range sizes {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + " " + u.name
		}
	}
	return "0 B"
}
