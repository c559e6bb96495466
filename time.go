package engram

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Time is a point in time: nanoseconds since the Unix epoch, UTC. No value is
// magic: 0 is 1970-01-01 00:00:00, and "latest" is a call of its own.
type Time int64

// Data has times in [MinTime, MaxTime), the years 1677 to 2262. MaxTime serves
// as the open end of an [Interval] and is refused as the time of data.
const (
	MinTime Time = math.MinInt64
	MaxTime Time = math.MaxInt64
)

// TimeOf converts t. Times outside the years 1677 to 2262 are clamped.
func TimeOf(t time.Time) Time {
	switch {
	case t.Before(MinTime.Std()):
		return MinTime
	case t.After(MaxTime.Std()):
		return MaxTime
	}
	return Time(t.UnixNano())
}

// Now returns the wall clock's time.
func Now() Time { return Time(time.Now().UnixNano()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.Unix(0, int64(t)).UTC() }

// Add returns t+d, clamped to the range of Time.
func (t Time) Add(d time.Duration) Time {
	s := t + Time(d)
	if d > 0 && s < t {
		return MaxTime
	}
	if d < 0 && s > t {
		return MinTime
	}
	return s
}

// Sub returns t-u, clamped to the range of time.Duration.
func (t Time) Sub(u Time) time.Duration {
	d := t - u
	if (t >= u) == (d >= 0) {
		return time.Duration(d)
	}
	if t > u {
		return math.MaxInt64
	}
	return math.MinInt64
}

// String returns t as "2022-02-18 13:06:56.492182", with nine decimals where the
// nanoseconds need them.
func (t Time) String() string {
	var buf [32]byte
	return string(t.Append(buf[:0]))
}

// Append appends t's text to b.
func (t Time) Append(b []byte) []byte {
	sec, nsec := int64(t)/1e9, int64(t)%1e9
	if nsec < 0 {
		sec--
		nsec += 1e9
	}
	days, secs := sec/86400, sec%86400
	if secs < 0 {
		days--
		secs += 86400
	}
	y, m, d := civilFromDays(days)
	b = append2(append2(b, y/100), y%100)
	b = append2(append(b, '-'), m)
	b = append2(append(b, '-'), d)
	b = append2(append(b, ' '), int(secs/3600))
	b = append2(append(b, ':'), int(secs/60%60))
	b = append2(append(b, ':'), int(secs%60))
	b = append(b, '.')
	us, ns := int(nsec/1000), int(nsec%1000)
	b = append2(append2(append2(b, us/10000), us/100%100), us%100)
	if ns != 0 {
		b = append2(append(b, byte('0'+ns/100)), ns%100)
	}
	return b
}

// AppendRFC3339 appends t as JSON has it, "2022-02-18T13:06:56.492182Z": its text
// with the letters T and Z.
func (t Time) AppendRFC3339(b []byte) []byte {
	start := len(b)
	b = append(t.Append(b), 'Z')
	b[start+len("2006-01-02")] = 'T'
	return b
}

func append2(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// ParseTime reads a time as [Time.String] prints it (1 to 9 decimals or none),
// as RFC 3339, or as decimal nanoseconds since the Unix epoch. The error is
// Invalid, or OutOfRange for years that Time cannot hold.
func ParseTime(s string) (Time, error) {
	if t, ok := parseTimeText(s); ok {
		return t, nil
	}
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Time(ns), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	for _, layout := range []string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"} {
		if err != nil {
			t, err = time.Parse(layout, s)
		}
	}
	if err != nil {
		return 0, Errorf(Invalid, "", "%q is not a time; write 2022-02-18 13:06:56.492182, RFC 3339 or nanoseconds since 1970", s)
	}
	if t.Before(MinTime.Std()) || t.After(MaxTime.Std()) {
		return 0, Errorf(OutOfRange, "", "time %q is outside the years 1677 to 2262", s)
	}
	return Time(t.UnixNano()), nil
}

// parseTimeText is the fast path for the canonical texts, with T and Z or without, of
// years 1678 to 2261.
func parseTimeText(s string) (Time, bool) {
	between := byte(' ')
	if text, zone := strings.CutSuffix(s, "Z"); zone {
		s, between = text, 'T'
	}
	if len(s) < 19 || len(s) > 29 || s[4] != '-' || s[7] != '-' || s[10] != between || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	yy, ok1 := digits(s[0:4])
	mo, ok2 := digits(s[5:7])
	d, ok3 := digits(s[8:10])
	h, ok4 := digits(s[11:13])
	mi, ok5 := digits(s[14:16])
	sec, ok6 := digits(s[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || yy < 1678 || yy > 2261 ||
		mo < 1 || mo > 12 || d < 1 || d > daysIn(yy, mo) || h > 23 || mi > 59 || sec > 59 {
		return 0, false
	}
	ns := 0
	if len(s) > 19 {
		frac := s[20:]
		n, ok := digits(frac)
		if s[19] != '.' || !ok {
			return 0, false
		}
		for range 9 - len(frac) {
			n *= 10
		}
		ns = n
	}
	secs := daysFromCivil(yy, mo, d)*86400 + int64(h*3600+mi*60+sec)
	return Time(secs*1e9 + int64(ns)), true
}

// digits reads a non-empty run of decimal digits.
func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	return n, len(s) > 0
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilFromDays and daysFromCivil convert between days since 1970-01-01 and the
// proleptic Gregorian calendar by counting in 400-year eras that begin on a 1st
// of March, so that the leap day is an era year's last day.
func civilFromDays(z int64) (y, m, d int) {
	z += 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	doe := int(z - era*146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	y = yoe + int(era)*400
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

func daysFromCivil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64(era)*146097 + int64(doe) - 719468
}

// MarshalText implements encoding.TextMarshaler: times are RFC 3339 in JSON.
func (t Time) MarshalText() ([]byte, error) { return t.AppendRFC3339(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler; it reads what [ParseTime] reads.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := ParseTime(string(b))
	if err == nil {
		*t = v
	}
	return err
}

// Interval is a half-open span of time [Start, End).
type Interval struct {
	Start Time `json:"start"`
	End   Time `json:"end"`
}

// Always is the interval that contains every time of data.
func Always() Interval { return Interval{Start: MinTime, End: MaxTime} }

// Contains reports whether Start <= t < End.
func (iv Interval) Contains(t Time) bool { return iv.Start <= t && t < iv.End }

// Overlaps reports whether some time lies in both.
func (iv Interval) Overlaps(o Interval) bool {
	return iv.Start < o.End && o.Start < iv.End && iv.Start < iv.End && o.Start < o.End
}

// Empty reports whether no time lies in the interval.
func (iv Interval) Empty() bool { return iv.Start >= iv.End }

// String returns "start..end"; an open side is empty.
func (iv Interval) String() string {
	var b []byte
	if iv.Start != MinTime {
		b = iv.Start.Append(b)
	}
	b = append(b, ".."...)
	if iv.End != MaxTime {
		b = iv.End.Append(b)
	}
	return string(b)
}
