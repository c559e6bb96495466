package prolog

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeArg reads a time: seconds since 1970, or date(Year, Month, Day, Hour, Minute, Second, Offset, Zone, _), which is so many seconds west of UTC.
func timeArg(t Term) (time.Time, error) {
	t = deref(t)
	if c, ok := t.(*Compound); ok && c.name == "date" && (len(c.args) == 3 || len(c.args) == 9) {
		var parts [7]float64 // the last is how many seconds it is west of Greenwich
		zone := "UTC"
		for i := range min(len(c.args), len(parts)) {
			n := deref(c.args[i])
			if n == Term(atomMinus) && i == 6 {
				break
			}
			if !isNumber(n) {
				return time.Time{}, wanted("number", n)
			}
			if parts[i] = float64(toFloat(n)); math.IsNaN(parts[i]) || math.Abs(parts[i]) > 1e6 {
				return time.Time{}, typeError("time", t)
			}
		}
		if parts[6] != 0 {
			zone = ""
		}
		if len(c.args) == 9 {
			if name, ok := deref(c.args[7]).(Atom); ok && name != atomMinus {
				zone = string(name)
			}
		}
		place := time.FixedZone(zone, -int(parts[6]))
		day := time.Date(int(parts[0]), time.Month(parts[1]), int(parts[2]), int(parts[3]), int(parts[4]), 0, 0, place)
		return day.Add(time.Duration(parts[5] * float64(time.Second))), nil
	}
	if !isNumber(t) {
		return time.Time{}, wanted("number", t)
	}
	seconds := float64(toFloat(t))
	const most = 1e11 // years of 4 digits
	if math.IsNaN(seconds) || math.Abs(seconds) > most {
		return time.Time{}, typeError("time", t)
	}
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)).UTC(), nil
}

// layouts are those of conversions that package time has.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06", 'F': "2006-01-02",
	'H': "15", 'I': "03", 'm': "01", 'M': "04", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05",
	'y': "06", 'Y': "2006", 'Z': "MST",
}

// formatTime is format_time/3: strftime's conversions, in English, in UTC unless the time says another offset.
func formatTime(m *machine, args []Term) (bool, error) {
	format, err := m.textArg(args[1])
	if err != nil {
		return false, err
	}
	t, err := timeArg(args[2])
	if err != nil {
		return false, err
	}
	if err := m.charge(40 * len(format)); err != nil {
		return false, err
	}
	text, err := strftime(format, t)
	if err != nil {
		return false, err
	}
	return formatTo(m, []Term{args[0], Atom("~w"), listOf([]Term{Atom(text)}, atomNil)})
}

func strftime(format string, t time.Time) (string, error) {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(format, "%")
		b.WriteString(plain)
		if !found {
			return b.String(), nil
		}
		digits := 0
		for digits < len(rest) && isDecimal(rune(rest[digits])) {
			digits++
		}
		width, _ := strconv.Atoi(rest[:min(digits, 1)])
		rest = strings.TrimLeft(rest[digits:], "EO_")
		colon := strings.HasPrefix(rest, ":z")
		if colon {
			rest = rest[1:]
		}
		if rest == "" {
			return "", formatError("the format ends after %%")
		}
		c := rest[0]
		format = rest[1:]
		year, week := t.ISOWeek()
		switch c {
		case '%':
			b.WriteByte('%')
		case 'n', 't':
			b.WriteString(map[byte]string{'n': "\n", 't': "\t"}[c])
		case 'f':
			if digits == 0 {
				width = 6
			}
			b.WriteString(fmt.Sprintf("%09d", t.Nanosecond())[:min(width, 9)])
		case 'C':
			fmt.Fprintf(&b, "%02d", t.Year()/100)
		case 'e':
			fmt.Fprintf(&b, "%2d", t.Day())
		case 'g':
			fmt.Fprintf(&b, "%02d", year%100)
		case 'G':
			fmt.Fprintf(&b, "%d", year)
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'k', 'l':
			hour := t.Hour()
			if c == 'l' {
				hour = (hour+11)%12 + 1
			}
			fmt.Fprintf(&b, "%2d", hour)
		case 's':
			fmt.Fprintf(&b, "%d", t.Unix())
		case 'u':
			fmt.Fprintf(&b, "%d", (int(t.Weekday())+6)%7+1)
		case 'w':
			fmt.Fprintf(&b, "%d", t.Weekday())
		case 'U':
			fmt.Fprintf(&b, "%02d", (t.YearDay()+6-int(t.Weekday()))/7)
		case 'W':
			fmt.Fprintf(&b, "%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
		case 'V':
			fmt.Fprintf(&b, "%02d", week)
		case 'z':
			b.WriteString(t.Format(map[bool]string{true: "-07:00", false: "-0700"}[colon]))
		case '+':
			b.WriteString(t.Format("Mon Jan _2 15:04:05 2006"))
		default:
			layout := layouts[c]
			if layout == "" {
				return "", formatError("format_time/3 has no %%%c", c)
			}
			b.WriteString(t.Format(layout))
		}
	}
}
