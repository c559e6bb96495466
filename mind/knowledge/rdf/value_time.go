package rdf

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// moment is a point of a time line: that of UTC if it has a zone, else that of an unknown one. One that is part
// of a date only, such as xsd:gMonth, lies in a year or on a day that all of its datatype have.
type moment struct {
	datatype string // those of one are compared; dated is xsd:dateTime, dateTimeStamp and date
	days     int64  // since 1970-01-01
	seconds  int    // of the day
	fraction string // decimal digits of a second, without zeros at the end
	zoned    bool
}

const (
	dated      = "dateTime"
	daySeconds = 24 * 60 * 60
	// most is how far a zone is from UTC, in seconds.
	most = 14 * 60 * 60
)

func (m moment) order(o moment) int {
	return cmp.Or(cmp.Compare(m.days, o.days), cmp.Compare(m.seconds, o.seconds), strings.Compare(m.fraction, o.fraction))
}

// compare orders moments. Of one with a zone and one without, the other may be up to 14 hours earlier or later.
func (m moment) compare(o moment) (c int, ok bool) {
	switch {
	case m.datatype != o.datatype:
		return 0, false
	case m.zoned == o.zoned:
		return m.order(o), true
	case !m.zoned:
		c, ok = o.compare(m)
		return -c, ok
	case m.order(o.later(-most)) < 0:
		return -1, true
	case m.order(o.later(most)) > 0:
		return 1, true
	}
	return 0, false
}

// later returns a moment some seconds later.
func (m moment) later(seconds int) moment {
	total := int64(m.seconds + seconds)
	m.days += floorDiv(total, daySeconds)
	m.seconds = int(total - floorDiv(total, daySeconds)*daySeconds)
	return m
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// daysBefore returns the days from 1970-01-01 to the first of a month in the Gregorian calendar, of any year.
func daysBefore(year int64, month int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	return era*146_097 + (year-era*400)*365 + (year-era*400)/4 - (year-era*400)/100 + int64((153*(month-3)+2)/5) - 719_468
}

// parseMoment reads a time of XML Schema.
func parseMoment(datatype, text string) (m moment, ok bool) {
	m.datatype = datatype
	year, month, day := int64(1972), 12, 31 // a leap year
	p := momentParser{text: text}
	switch datatype {
	case "dateTime", "dateTimeStamp":
		m.datatype = dated
		year, month, day = p.year(), p.number('-', 2), p.number('-', 2)
		p.take('T')
		p.clock(&m)
	case "date":
		m.datatype = dated
		year, month, day = p.year(), p.number('-', 2), p.number('-', 2)
	case "time":
		p.clock(&m)
		if m.seconds == daySeconds {
			m.seconds = 0
		}
	case "gYear":
		year, month, day = p.year(), 1, 1
	case "gYearMonth":
		year, month, day = p.year(), p.number('-', 2), 1
	case "gMonth":
		p.take('-')
		month, day = p.number('-', 2), 1
	case "gMonthDay":
		p.take('-')
		month, day = p.number('-', 2), p.number('-', 2)
	case "gDay":
		p.take('-')
		p.take('-')
		day = p.number('-', 2)
	default:
		return m, false
	}
	offset := p.zone(&m)
	if p.failed || p.text != "" || month < 1 || month > 12 || day < 1 {
		return m, false
	}
	next, after := year, month+1
	if month == 12 {
		next, after = year+1, 1
	}
	first := daysBefore(year, month)
	if int64(day) > daysBefore(next, after)-first || datatype == "dateTimeStamp" && !m.zoned {
		return m, false
	}
	m.days = first + int64(day) - 1
	return m.later(-offset), true
}

// momentParser takes parts of a text from its beginning.
type momentParser struct {
	text   string
	failed bool
}

func (p *momentParser) take(c byte) {
	if p.text == "" || p.text[0] != c {
		p.failed = true
		return
	}
	p.text = p.text[1:]
}

// number takes so many digits, after a separator.
func (p *momentParser) number(separator byte, digits int) int {
	if separator != 0 {
		p.take(separator)
	}
	if p.failed || len(p.text) < digits || strings.Trim(p.text[:digits], "0123456789") != "" {
		p.failed = true
		return 0
	}
	n, _ := strconv.Atoi(p.text[:digits])
	p.text = p.text[digits:]
	return n
}

// year takes a year of four digits or more; years before the first one go on with 0 and −1.
func (p *momentParser) year() int64 {
	rest, negative := strings.CutPrefix(p.text, "-")
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if n < 4 || n > 15 || n > 4 && rest[0] == '0' {
		p.failed = true
		return 0
	}
	year, _ := strconv.ParseInt(rest[:n], 10, 64)
	p.text = rest[n:]
	if negative {
		return -year
	}
	return year
}

// clock takes a time of day.
func (p *momentParser) clock(m *moment) {
	hour, minute, second := p.number(0, 2), p.number(':', 2), p.number(':', 2)
	if rest, point := strings.CutPrefix(p.text, "."); point {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		p.failed = p.failed || n == 0
		m.fraction, p.text = strings.TrimRight(rest[:n], "0"), rest[n:]
	}
	m.seconds = hour*3600 + minute*60 + second
	if minute > 59 || second > 59 || hour > 24 || hour == 24 && (m.seconds > daySeconds || m.fraction != "") {
		p.failed = true
	}
}

// zone takes a zone, if there is one, and returns its offset in seconds.
func (p *momentParser) zone(m *moment) int {
	if p.failed || p.text == "" {
		return 0
	}
	m.zoned = true
	sign := p.text[0]
	p.text = p.text[1:]
	if sign == 'Z' {
		return 0
	}
	hours, minutes := p.number(0, 2), p.number(':', 2)
	offset := hours*3600 + minutes*60
	if sign != '+' && sign != '-' || minutes > 59 || offset > most {
		p.failed = true
	}
	if sign == '-' {
		return -offset
	}
	return offset
}

// span is a duration.
type span struct {
	months  int64
	seconds *big.Rat
}

func (s span) equal(o span) bool { return s.months == o.months && s.seconds.Cmp(o.seconds) == 0 }

// compare orders durations by where they end from four days, which are enough (XML Schema 1.1, part 2, 3.3.6.1).
func (s span) compare(o span) (c int, ok bool) {
	for i, from := range [...][2]int64{{1696, 9}, {1697, 2}, {1903, 3}, {1903, 7}} {
		end := func(s span) *big.Rat {
			month := from[0]*12 + from[1] - 1 + s.months
			days := daysBefore(floorDiv(month, 12), int(month-floorDiv(month, 12)*12)+1)
			return new(big.Rat).Add(new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(days), big.NewInt(daySeconds))), s.seconds)
		}
		d := end(s).Cmp(end(o))
		if i > 0 && d != c {
			return 0, false
		}
		c = d
	}
	return c, true
}

// order keeps that of compare, with a month as long as it is on average.
func (s span) order(o span) int {
	length := func(s span) *big.Rat {
		return new(big.Rat).Add(new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(s.months), big.NewInt(2_629_746))), s.seconds)
	}
	return cmp.Or(length(s).Cmp(length(o)), cmp.Compare(s.months, o.months))
}

// parseSpan reads a duration of XML Schema.
func parseSpan(datatype, text string) (s span, ok bool) {
	if datatype != "duration" && datatype != "dayTimeDuration" && datatype != "yearMonthDuration" || len(text) > 200 {
		return s, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	rest, ok = strings.CutPrefix(rest, "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") || datatype == "yearMonthDuration" && strings.ContainsAny(rest, "DT") {
		return s, false
	}
	s.seconds = new(big.Rat)
	units := "YMDTHMS"
	if datatype == "dayTimeDuration" {
		units = "DTHMS"
	}
	for rest != "" {
		if rest[0] == 'T' {
			i := strings.IndexByte(units, 'T')
			if i < 0 {
				return s, false
			}
			units, rest = units[i+1:], rest[1:]
			continue
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if n <= 0 {
			return s, false
		}
		i := strings.IndexByte(units, rest[n])
		if t := strings.IndexByte(units, 'T'); i < 0 || t >= 0 && i > t {
			return s, false
		}
		digits, unit := rest[:n], units[i:]
		units, rest = units[i+1:], rest[n+1:]
		whole, fraction, point := strings.Cut(digits, ".")
		if point && (unit != "S" || whole == "" || strings.Trim(fraction, "0123456789") != "" || fraction == "") {
			return s, false
		}
		amount, is := new(big.Rat).SetString(digits)
		if !is {
			return s, false
		}
		switch unit {
		case "YMDTHMS", "MDTHMS":
			months, err := strconv.ParseInt(digits, 10, 40)
			if err != nil {
				return s, false
			}
			if unit[0] == 'Y' {
				months *= 12
			}
			s.months += months
		default:
			seconds := map[string]int64{"DTHMS": daySeconds, "HMS": 3600, "MS": 60, "S": 1}[unit]
			s.seconds.Add(s.seconds, amount.Mul(amount, big.NewRat(seconds, 1)))
		}
	}
	if negative {
		s.months = -s.months
		s.seconds.Neg(s.seconds)
	}
	return s, true
}
