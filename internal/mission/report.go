package mission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
)

// Report is how a mission ended.
type Report struct {
	Done  bool          // the garbage is in the bin, in the hallway and in the worlds of all
	Took  time.Duration // from the first sentence until it was dropped, simulated
	Event map[string]Event
	// Dropped is what says so, as others write it: from there a trace leads to the sentence.
	Dropped engram.ID
	// Lost are those of whom nothing was heard at the end.
	Lost []string
}

// Report returns how the mission stands.
func (m *Mission) Report() *Report {
	r := &Report{Event: m.Events()}
	m.mu.Lock()
	r.Dropped = m.dropped
	for _, b := range m.members {
		if b.killed {
			r.Lost = append(r.Lost, b.name)
		}
	}
	m.mu.Unlock()
	r.Took = r.Event[GarbageDropped].At
	g, _ := m.truth.Thing(hallway.Garbage)
	r.Done = g.In == hallway.Bin && r.Took > 0
	return r
}

// Soon reports whether what was seen and done was in the worlds of all within a second, but for
// those whose link was cut.
func (r *Report) Soon() bool {
	for _, e := range r.Event {
		if len(e.Late()) > 0 {
			return false
		}
	}
	return true
}

// String says it in a few sentences.
func (r *Report) String() string {
	var s strings.Builder
	if r.Done {
		fmt.Fprintf(&s, "The garbage is in the bin, %.0f s (simulated) after the first sentence.", r.Took.Seconds())
	} else {
		s.WriteString("The garbage is not in the bin.")
	}
	for _, e := range r.story() {
		fmt.Fprintf(&s, "\n  %-15s at %5.1f s, said by %s; in the last of the worlds %.2f s later", e.Name, e.At.Seconds(), e.By, e.Delay.Seconds())
		if len(e.Cut) > 0 {
			fmt.Fprintf(&s, "; cut off: %s", strings.Join(e.Cut, ", "))
		}
	}
	switch {
	case len(r.Event) == 0:
	case r.Soon():
		s.WriteString("\n  what one of them saw or did was in everybody's world within a second, unless a link was cut")
	default:
		s.WriteString("\n  NOT everything was in everybody's world within a second:")
		for _, e := range r.story() {
			if late := e.Late(); len(late) > 0 {
				fmt.Fprintf(&s, "\n    %s came late to %s", e.Name, strings.Join(late, ", "))
			}
		}
	}
	if len(r.Lost) > 0 {
		fmt.Fprintf(&s, "\n  not heard of any more: %s", strings.Join(r.Lost, ", "))
	}
	return s.String()
}

// story returns the events in the order in which they happened.
func (r *Report) story() []Event {
	return slices.SortedFunc(maps.Values(r.Event), func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// MarshalJSON implements json.Marshaler. Times are simulated seconds, to the millisecond.
func (r *Report) MarshalJSON() ([]byte, error) {
	seconds := func(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
	type event struct {
		Name  string             `json:"name"`
		By    string             `json:"by"`
		At    float64            `json:"at"`
		Delay float64            `json:"delay"`
		In    map[string]float64 `json:"in_world_after"`
		Late  []string           `json:"late,omitempty"`
		Cut   []string           `json:"cut_off,omitempty"`
	}
	out := struct {
		Done    bool     `json:"done"`
		Took    float64  `json:"took"`
		Soon    bool     `json:"within_a_second"`
		Events  []event  `json:"events"`
		Lost    []string `json:"lost,omitempty"`
		Dropped string   `json:"dropped,omitempty"`
	}{r.Done, seconds(r.Took), r.Soon(), []event{}, r.Lost, ""}
	if !r.Dropped.IsRoot() {
		out.Dropped = r.Dropped.String()
	}
	for _, e := range r.story() {
		in := map[string]float64{}
		for name, after := range e.In {
			in[name] = seconds(after)
		}
		out.Events = append(out.Events, event{e.Name, e.By, seconds(e.At), seconds(e.Delay), in, e.Late(), e.Cut})
	}
	return json.Marshal(out)
}

// Run says the five sentences, each when it is time for it, and waits until the garbage is in
// the bin.
func (m *Mission) Run(ctx context.Context) (*Report, error) {
	var searching, last *Said
	for i, sentence := range Sentences {
		release := m.Clock.Hold() // getting ready takes the computers real time
		said, err := m.Say(ctx, sentence)
		if err == nil && i < 3 {
			err = said.Wait(ctx)
		}
		release()
		if err != nil {
			return nil, err
		}
		if i == 3 {
			searching = said
		}
		last = said
	}
	if err := last.Wait(ctx); err != nil {
		return nil, err
	}
	if err := m.Settled(ctx, GarbageDropped); err != nil {
		return nil, err
	}
	if err := searching.Wait(ctx); err != nil && !m.onlyLost(err) {
		return nil, err
	}
	r := m.Report()
	if !r.Done {
		return r, errors.New("the garbage is not in the bin")
	}
	return r, nil
}

// onlyLost reports whether an error is of nobody but members that were killed.
func (m *Mission) onlyLost(err error) bool {
	lost := m.Report().Lost
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return false
	}
	return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool {
		who, _, _ := strings.Cut(e.Error(), ":")
		return engram.CodeOf(e) != engram.Unavailable || !slices.Contains(lost, who)
	})
}

// Reply is what the operator's station answers.
func (m *Mission) Reply(format string, args ...any) { m.members[0].say(format, args...) }
