package reason

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// meant returns what the words of a question are about: the last activity whose name they tell, of the last hour or else of
// the day; or else an object. The root is nothing.
func (e *Explainer) meant(ctx context.Context, q question) (engram.ID, error) {
	asked := map[string]bool{}
	for _, w := range wordsOf(q.text) {
		if !slices.Contains(fillers, w) {
			asked[w] = true
		}
	}
	if len(asked) == 0 {
		return engram.ID{}, nil
	}
	for _, span := range []time.Duration{time.Hour, 24 * time.Hour} {
		id, err := e.deedMeant(ctx, asked, engram.Interval{Start: q.at.Add(-span), End: q.at})
		if err != nil || !id.IsRoot() {
			return id, err
		}
	}
	return e.objectMeant(ctx, asked, q.at)
}

// fillers are words of questions that say nothing of what these are about.
var fillers = strings.Fields("why did do does were was is are have has had you i we they he she it its the a an this that there here to of in on at with for from not so and just now me my your")

// deedMeant returns the activity of a time that has most of the words in its name and its parameters, one of the name at
// least; of several the last to be told of.
func (e *Explainer) deedMeant(ctx context.Context, asked map[string]bool, when engram.Interval) (best engram.ID, err error) {
	score, last := 0, engram.Time(0)
	for _, typ := range []string{execution, activity} {
		q := engram.MustPattern("Skill").Select(engram.In(when))
		q.Type = typ
		r, err := e.m.Query(ctx, q)
		if err != nil {
			return engram.ID{}, err
		}
		for item := range r.All() {
			v, err := e.tracer.Decode(ctx, item.Instances[0].Payload)
			if err != nil {
				continue
			}
			of := thing{id: item.ID.Parent(), typ: typ}
			of.value, _ = v.(map[string]any)
			name := told(asked, of.short())
			if name == 0 {
				continue
			}
			parameters, _ := of.value["parameters"].(map[string]any)
			n := 2 * name
			for p := range maps.Values(parameters) {
				switch p := p.(type) {
				case string:
					n += told(asked, p)
				case engram.ID:
					n += told(asked, cmp.Or(p.Entity(), p.Name()))
				}
			}
			if n > score || n == score && item.Time >= last {
				best, score, last = of.id, n, item.Time
			}
		}
	}
	return best, nil
}

// objectMeant returns the object all of whose name the words have; of several the one with the longest name, of these the one
// that was told of last.
func (e *Explainer) objectMeant(ctx context.Context, asked map[string]bool, at engram.Time) (best engram.ID, err error) {
	q := engram.MustPattern("Object/Instance").Select(engram.AtOrBefore(at))
	q.WithoutPayload = true
	r, err := e.m.Query(ctx, q)
	if err != nil {
		return engram.ID{}, err
	}
	score, last := 0, engram.Time(0)
	for item := range r.All() {
		name := wordsOf(item.ID.Entity())
		if n := told(asked, item.ID.Entity()); n == len(name) && n > 0 && (n > score || n == score && item.Time >= last) {
			best, score, last = item.ID.Parent(), n, item.Time
		}
	}
	return best, nil
}

// told returns how many words of a name were asked for.
func told(asked map[string]bool, name string) (n int) {
	for _, w := range wordsOf(name) {
		for a := range asked {
			if alike(a, w) {
				n++
				break
			}
		}
	}
	return n
}

// alike reports whether two words are the same but for their ends, as move and moving are.
func alike(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a == b || n >= max(3, min(len(a), len(b))-1)
}

// wordsOf returns the words of a text or of a name such as MoveTo or blue_cup, in small letters.
func wordsOf(text string) (all []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			all, word = append(all, strings.ToLower(string(word))), nil
		}
	}
	small := false
	for _, c := range text {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) || unicode.IsUpper(c) && small {
			end()
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			word = append(word, c)
		}
		small = unicode.IsLower(c)
	}
	end()
	return all
}
