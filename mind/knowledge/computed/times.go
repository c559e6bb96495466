package computed

import (
	"cmp"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// TimeOf returns the time of a time point: of an IRI that ends in timepoint_ and the seconds
// since 1970, of a number of seconds, or of an xsd:dateTime.
func TimeOf(t rdf.Term) (engram.Time, bool) {
	text := t.Value
	if t.Kind == rdf.IRI {
		i := strings.LastIndex(text, timepoint)
		if i < 0 {
			return 0, false
		}
		text = text[i+len(timepoint):]
	} else if t.Kind != rdf.Literal {
		return 0, false
	}
	if at, ok := seconds(text); ok {
		return at, true
	}
	if t.Type == rdf.NSXSD+"dateTime" {
		at, err := engram.ParseTime(text)
		return at, err == nil
	}
	return 0, false
}

const timepoint = "timepoint_"

// seconds reads decimal seconds without loss down to the nanosecond.
func seconds(text string) (engram.Time, bool) {
	if len(text) > 40 || strings.ContainsAny(text, "/pPxXoObB_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(math.Abs(f) < 9.2e9):
		return 0, false
	case strings.ContainsAny(text, "eE"):
		return engram.Time(math.Round(f * 1e9)), true
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	r.Mul(r, big.NewRat(1e9, 1))
	ns := new(big.Int).Div(r.Num(), r.Denom())
	return engram.Time(ns.Int64()), ns.IsInt64()
}

// times returns the times that an event has as a property, the first and the last of them.
func times(v *knowledge.View, event rdf.Term, property string) (first, last engram.Time, ok bool) {
	for _, ns := range [...]string{KnowRob, formerly, NS} {
		for t := range v.Has(event, rdf.NewIRI(ns+property), rdf.Term{}) {
			if at, is := TimeOf(t.O); is {
				if !ok {
					first, last, ok = at, at, true
				}
				first, last = min(first, at), max(last, at)
			}
		}
	}
	return first, last, ok
}

// Interval returns when an event was, from its startTime and endTime, KnowRob's or ours. A
// perception without an end is an instant, as is a time point; another event without an end is
// still going on, to [engram.MaxTime]. ok is false if it has no start, or one after its end.
func Interval(v *knowledge.View, event rdf.Term) (when engram.Interval, ok bool) {
	start, _, ok := times(v, event, "startTime")
	if !ok {
		if event.Kind != rdf.IRI {
			return when, false
		}
		at, ok := TimeOf(event)
		return engram.Interval{Start: at, End: at}, ok
	}
	_, end, ended := times(v, event, "endTime")
	switch {
	case ended:
	case isPerception(v, event):
		end = start
	default:
		end = engram.MaxTime
	}
	return engram.Interval{Start: start, End: end}, start <= end
}

// isPerception reports whether an event is of a class of perceptions.
func isPerception(v *knowledge.View, event rdf.Term) bool {
	for t := range v.Match(event, rdf.NewIRI(rdf.NS+"type"), rdf.Term{}) {
		if strings.HasSuffix(t.O.Value, "Perception") {
			return true
		}
	}
	return isA(v, event, "MentalEvent")
}

// isA reports whether an individual is of one of KnowRob's classes.
func isA(v *knowledge.View, individual rdf.Term, classes ...string) bool {
	for _, class := range classes {
		for _, ns := range [...]string{KnowRob, formerly} {
			for range v.RDFSIndividualOf(individual, rdf.NewIRI(ns+class)) {
				return true
			}
		}
	}
	return false
}

// event is something with a time.
type event struct {
	term rdf.Term
	engram.Interval
	ended bool // its end is stated
	point bool // it is a time point
}

// eventOf returns what is known of an event.
func eventOf(v *knowledge.View, term rdf.Term) (e event, ok bool) {
	if e.Interval, ok = Interval(v, term); !ok {
		return e, false
	}
	e.term = term
	_, _, e.ended = times(v, term, "endTime")
	if _, _, started := times(v, term, "startTime"); !started {
		e.point, e.ended = true, true
	}
	return e, true
}

// events returns all events with a start and all time points, by their starts.
func events(v *knowledge.View) (found []event) {
	seen := map[rdf.Term]bool{}
	take := func(of iter.Seq[rdf.Triple]) {
		for t := range of {
			if !seen[t.S] {
				seen[t.S] = true
				if e, ok := eventOf(v, t.S); ok {
					found = append(found, e)
				}
			}
		}
	}
	for _, ns := range [...]string{KnowRob, formerly, NS} {
		take(v.Has(rdf.Term{}, rdf.NewIRI(ns+"startTime"), rdf.Term{}))
		take(v.Has(rdf.Term{}, rdf.NewIRI(rdf.NS+"type"), rdf.NewIRI(ns+"TimePoint")))
	}
	slices.SortFunc(found, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.term.Value, b.term.Value))
	})
	return found
}

// temporal are the properties between events, by their local names in our namespace and in
// KnowRob's.
var temporal, temporalKnowRob = map[string]func(a, b event) bool{}, map[string]func(a, b event) bool{}

func init() {
	for r := Before; r <= After; r++ {
		temporal[r.String()] = func(a, b event) bool { return Between(a.Interval, b.Interval) == r }
	}
	// KnowRob's comp_temporal: what has no end ends when it starts, and time points are no
	// intervals.
	for name, holds := range map[string]func(a, b engram.Interval) bool{
		"equalI":    func(a, b engram.Interval) bool { return a == b },
		"beforeI":   func(a, b engram.Interval) bool { return a.End < b.Start },
		"meetsI":    func(a, b engram.Interval) bool { return a.End == b.Start },
		"overlapsI": func(a, b engram.Interval) bool { return a.Start < b.Start && a.End > b.Start && a.End < b.End },
		"startsI":   func(a, b engram.Interval) bool { return a.Start == b.Start && a.End < b.End },
		"duringI":   func(a, b engram.Interval) bool { return a.Start > b.Start && a.End < b.End },
		"finishesI": func(a, b engram.Interval) bool { return a.Start > b.Start && a.End == b.End },
	} {
		forth := func(a, b event) bool { return !a.point && !b.point && holds(a.stated(), b.stated()) }
		back := func(a, b event) bool { return forth(b, a) }
		temporalKnowRob[name] = forth
		switch name {
		case "equalI":
		case "beforeI":
			temporalKnowRob["afterI"] = back
		case "startsI":
			temporalKnowRob["startInvI"] = back // so its ontology has it, and the other its rules
			fallthrough
		default:
			temporalKnowRob[strings.TrimSuffix(name, "I")+"InvI"] = back
		}
	}
	// After has the earlier time point first, as KnowRob computes it.
	temporalKnowRob["after"] = func(a, b event) bool { return a.point && b.point && a.Start < b.Start }
	temporalKnowRob["temporallySubsumes"] = func(a, b event) bool {
		return a.ended && b.ended && a.Start <= b.Start && b.End <= a.End
	}
}

// stated is the interval without a guess at its end.
func (e event) stated() engram.Interval {
	if !e.ended {
		e.End = e.Start
	}
	return e.Interval
}
