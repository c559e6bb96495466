package world

import (
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Rules say how statements are merged and what is believed. They are the same in all
// views that shall be equal.
type Rules struct {
	// Offsets correct the clocks of robots in comparisons: what to add to a robot's
	// times. Data keep their times.
	Offsets map[string]time.Duration
	// Prefer names, by kind of item, providers that count before all others, the most
	// preferred first, whatever the time.
	Prefer map[string][]string
	// HalfLives say, by class or kind, after which time it is half as sure that an item is
	// still where it was; see [Rules.HalfLife].
	HalfLives map[string]time.Duration
	// Detection is the probability with which a sensor sees what is in its view and looked for, FalseAlarm
	// that with which it says to see an item that is not there.
	Detection, FalseAlarm float64
	// Correlation is for how long a detector goes on to see or to miss the same as in one frame. Of frames that
	// follow each other within it the first counts.
	Correlation time.Duration
	Admission   Admission
}

// Admission is the rule by which what was perceived becomes an item; what does not
// satisfy it is provisional.
type Admission struct {
	Views    int     // at least so many, where views were counted
	MaxSigma float64 // greatest standard deviation of the position, metres, where it is known
}

const day = 24 * time.Hour

// DefaultRules are the rules where nothing else is said.
func DefaultRules() Rules {
	return Rules{
		HalfLives: map[string]time.Duration{
			"wall": 3650 * day, "furniture": 30 * day, kindStatic: 30 * day, "cup": time.Hour, "person": time.Minute,
			KindMap: 3650 * day, KindComponent: 30 * day, KindObject: day, KindRobot: time.Minute,
		},
		Detection: 0.7, FalseAlarm: 0.01, Correlation: time.Second,
		Admission: Admission{Views: 2, MaxSigma: 0.5},
	}
}

// HalfLife returns how fast belief in an item's place falls: the half-life of its class,
// or of the first of its kinds that has one, kinds of one's own before the four that are
// known; one day if there is none.
func (r *Rules) HalfLife(it *Item) time.Duration {
	d := it.Description
	if d == nil {
		return day
	}
	if class := d.ClassName(); class != "" {
		if h := r.HalfLives[class]; h > 0 {
			return h
		}
	}
	var known time.Duration
	for _, k := range d.Kinds {
		h := r.HalfLives[k]
		switch k {
		case KindMap, KindObject, KindComponent, KindRobot:
			if known == 0 {
				known = h
			}
		default:
			if h > 0 {
				return h
			}
		}
	}
	if known > 0 {
		return known
	}
	return day
}

// place returns how much a provider is preferred for an item of these kinds; less is more.
func (r *Rules) place(kinds []string, provider string) int {
	for _, k := range kinds { // sorted, so that it does not matter who said which first
		if order := r.Prefer[k]; len(order) > 0 {
			if i := slices.Index(order, provider); i >= 0 {
				return i
			}
			return len(order)
		}
	}
	return 0
}

// clone returns rules that share nothing with r.
func (r Rules) clone() Rules {
	r.Offsets, r.HalfLives = maps.Clone(r.Offsets), maps.Clone(r.HalfLives)
	r.Prefer = maps.Clone(r.Prefer)
	return r
}

// Evidence is how much speaks for each label: a sum over views, of each at most 1.
type Evidence map[string]float64

// Label returns the label that the evidence speaks for, seen from the present one: that
// gives way only to a label with more evidence than its own, and with more than one view
// can give.
func (e Evidence) Label(present string) string {
	if len(e) == 0 {
		return present // as of most
	}
	best := present
	for _, label := range slices.Sorted(maps.Keys(e)) {
		if w := e[label]; w > e[best] && (w > 1 || present == "") {
			best = label
		}
	}
	return best
}

// stamp is what decides which of two statements on a group counts.
type stamp struct {
	rank     bool // an operator's
	place    int  // by the rule for the kind; less is more
	time     engram.Time
	provider string
	robot    string
	home     Home
	aside    bool // said by the way, so that anything else counts before it
}

// over reports whether s counts before o.
func (s stamp) over(o stamp) bool {
	switch {
	case s.aside != o.aside:
		return o.aside
	case s.rank != o.rank:
		return s.rank
	case s.place != o.place:
		return s.place < o.place
	case s.time != o.time:
		return s.time > o.time
	case s.provider != o.provider:
		return s.provider < o.provider
	case s.robot != o.robot:
		return s.robot < o.robot
	}
	return s.home < o.home
}

// after reports whether s is still true after a removal o: of a higher rank, or of the
// same and newer.
func (s stamp) after(o stamp) bool {
	if s.rank != o.rank {
		return s.rank
	}
	return s.time > o.time
}

// afterAll reports whether s is still true after all of several removals.
func (s stamp) afterAll(removed []stamp) bool {
	return !slices.ContainsFunc(removed, func(o stamp) bool { return !s.after(o) })
}

// besideAll is afterAll of a state or a joint: it counts if it is newer, whoever removed the item, since he may have
// stated it again and goes on saying when it was removed.
func (s stamp) besideAll(removed []stamp) bool {
	return !slices.ContainsFunc(removed, func(o stamp) bool { return !s.after(o) && s.time <= o.time })
}
