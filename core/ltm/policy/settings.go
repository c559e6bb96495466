package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// setting is one field of a policy with its name and text.
type setting struct {
	name string
	set  func(p *Policy, text string) error
	get  func(p *Policy) string
	// valid returns what is wrong with the value, "" if nothing is.
	valid func(p *Policy) string
}

// settings are all fields of a policy, in the order in which they are written.
var settings = []setting{
	choice("record", func(p *Policy) *string { return (*string)(&p.Record) }, All, Rate, Change, Linked, Never),
	bound(quantity("max_rate", hertz, 1e6, func(p *Policy) *float64 { return &p.MaxRate })),
	quantity("similar.numbers", unitless, math.MaxFloat64, func(p *Policy) *float64 { return &p.Similar.Numbers }),
	quantity("similar.distance", metres, math.MaxFloat64, func(p *Policy) *float64 { return &p.Similar.Distance }),
	quantity("similar.angle", radians, math.Pi, func(p *Policy) *float64 { return &p.Similar.Angle }),
	quantity("similar.image", unitless, 255, func(p *Policy) *float64 { return &p.Similar.Image }),
	quantity("similar.text", share, 1, func(p *Policy) *float64 { return &p.Similar.Text }),
	flag("similar.exact", func(p *Policy) *bool { return &p.Similar.Exact }),
	span("similar.at_least", func(p *Policy) *time.Duration { return &p.Similar.AtLeast }),
	span("linked.within", func(p *Policy) *time.Duration { return &p.Linking.Within }),
	size("linked.max_bytes", func(p *Policy) *int64 { return &p.Linking.MaxBytes }),
	choice("codec", func(p *Policy) *string { return &p.Codec }, append([]string{CodecAuto, CodecLossless}, names.All()...)...),
	quantity("quality", decibels, 100, func(p *Policy) *float64 { return &p.Quality }),
	quantity("max_error", unitless, math.MaxFloat64, func(p *Policy) *float64 { return &p.MaxError }),
	choice("durability", func(p *Policy) *string { return &p.Durability },
		engram.Volatile.String(), engram.Logged.String(), engram.Synced.String()),
	bound(span("keep.max_age", func(p *Policy) *time.Duration { return &p.Keep.MaxAge })),
	bound(size("keep.max_bytes", func(p *Policy) *int64 { return &p.Keep.MaxBytes })),
	bound(count("keep.max_count", 0, math.MaxInt32, func(p *Policy) *int { return &p.Keep.MaxCount })),
	span("thin.after", func(p *Policy) *time.Duration { return &p.Thin.After }),
	count("thin.every", 0, math.MaxInt32, func(p *Policy) *int { return &p.Thin.Every }),
	span("thin.around", func(p *Policy) *time.Duration { return &p.Thin.Around }),
	count("priority", -1000, 1000, func(p *Policy) *int { return &p.Priority }),
	flag("recall", func(p *Policy) *bool { return &p.Recall }),
	choice("publish", func(p *Policy) *string { return &p.Publish }, PublishIDs, PublishData),
}

// SettingNames returns the names of all settings, in the order in which they are
// written.
func SettingNames() []string {
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].name
	}
	return names
}

// Set changes one setting to what its text says. The error names the setting and
// the value; it is NotFound for a setting that does not exist.
func (p *Policy) Set(name, text string) error {
	s, err := settingOf(name)
	if err != nil {
		return err
	}
	q := *p
	if err := s.set(&q, text); err != nil {
		return fail(engram.Invalid, name, text, "%v", err)
	}
	if err := s.check(&q); err != nil {
		return err
	}
	*p = q
	return nil
}

// Get returns a setting's text. The error is NotFound.
func (p *Policy) Get(name string) (string, error) {
	s, err := settingOf(name)
	if err != nil {
		return "", err
	}
	return s.get(p), nil
}

func settingOf(name string) (*setting, error) {
	if i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name }); i >= 0 {
		return &settings[i], nil
	}
	return nil, engram.Errorf(engram.NotFound, fmt.Sprintf("policy setting %.64q", name),
		"there is no such setting; there are %s", strings.Join(SettingNames(), ", "))
}

func textOf(p *Policy, name string) string {
	text, _ := p.Get(name)
	return text
}

func (s *setting) check(p *Policy) error {
	if what := s.valid(p); what != "" {
		return fail(engram.OutOfRange, s.name, s.get(p), "%s", what)
	}
	return nil
}

// fail returns an error that names a setting and its value.
func fail(code engram.Code, name, value, format string, args ...any) error {
	return engram.Errorf(code, fmt.Sprintf("policy setting %s: %.64q", name, value), format, args...)
}

// unbounded is the text of a bound that is none. 0 is read as that, too.
const unbounded = "none"

// bound is a setting of which 0 means that there is no bound.
func bound(s setting) setting {
	set, get := s.set, s.get
	zero := get(&Policy{})
	s.set = func(p *Policy, text string) error {
		if strings.TrimSpace(text) == unbounded {
			text = "0"
		}
		return set(p, text)
	}
	s.get = func(p *Policy) string {
		if text := get(p); text != zero {
			return text
		}
		return unbounded
	}
	return s
}

func quantity(name string, units []unit, most float64, at func(*Policy) *float64) setting {
	return setting{
		name: name,
		set: func(p *Policy, text string) (err error) {
			*at(p), err = parseQuantity(text, units)
			return err
		},
		get: func(p *Policy) string { return printQuantity(*at(p), units) },
		valid: func(p *Policy) string {
			if v := *at(p); !(v >= 0 && v <= most) {
				return "it must lie between 0 and " + printQuantity(most, units)
			}
			return ""
		},
	}
}

func count(name string, least, most int, at func(*Policy) *int) setting {
	return setting{
		name: name,
		set: func(p *Policy, text string) error {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("not a whole number")
			}
			*at(p) = n
			return nil
		},
		get: func(p *Policy) string { return strconv.Itoa(*at(p)) },
		valid: func(p *Policy) string {
			if n := *at(p); n < least || n > most {
				return fmt.Sprintf("it must lie between %d and %d", least, most)
			}
			return ""
		},
	}
}

func span(name string, at func(*Policy) *time.Duration) setting {
	return amount(name, at, ParseDuration, PrintDuration)
}

func size(name string, at func(*Policy) *int64) setting {
	return amount(name, at, ParseSize, PrintSize)
}

// amount is a setting that must not be negative.
func amount[T time.Duration | int64](name string, at func(*Policy) *T, parse func(string) (T, error), print func(T) string) setting {
	return setting{
		name: name,
		set: func(p *Policy, text string) (err error) {
			*at(p), err = parse(text)
			return err
		},
		get: func(p *Policy) string { return print(*at(p)) },
		valid: func(p *Policy) string {
			if *at(p) < 0 {
				return "it must not be negative"
			}
			return ""
		},
	}
}

func flag(name string, at func(*Policy) *bool) setting {
	return setting{
		name: name,
		set: func(p *Policy, text string) error {
			switch text {
			case "true", "yes", "on":
				*at(p) = true
			case "false", "no", "off":
				*at(p) = false
			default:
				return fmt.Errorf("write true or false")
			}
			return nil
		},
		get:   func(p *Policy) string { return strconv.FormatBool(*at(p)) },
		valid: func(*Policy) string { return "" },
	}
}

// choice is a setting with few values; "" is none of them and always allowed.
func choice[T ~string](name string, at func(*Policy) *string, values ...T) setting {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return setting{
		name: name,
		set: func(p *Policy, text string) error {
			*at(p) = text
			return nil
		},
		get: func(p *Policy) string { return *at(p) },
		valid: func(p *Policy) string {
			if v := *at(p); v != "" && !slices.Contains(words, v) {
				return "it must be one of " + strings.Join(words, ", ")
			}
			return ""
		},
	}
}
