package condition

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Present is what is so at present, as an engine asks for it. Its methods are called by one goroutine
// at a time.
type Present interface {
	// Newest returns the newest snapshots of the entities that the pattern matches.
	Newest(ctx context.Context, p engram.Pattern) ([]engram.Item, error)
	// Type returns a type, nil if it is not known.
	Type(ctx context.Context, name string) *idf.Type
	// Requested reports whether a request of the name was made in [RequestSegment], and whether
	// its execution has ended.
	Requested(ctx context.Context, name string) (made, ended bool, err error)
	// Requests returns the names of the requests in [RequestSegment] that begin so.
	Requests(ctx context.Context, begin string) ([]string, error)
	World
}

// World is what clauses ask of the world.
type World interface {
	// Items returns the names of the items that are selected by a name, ~regex, kind:KIND or
	// class:CLASS.
	Items(ctx context.Context, selected string) ([]string, error)
	// Related reports whether an item is on or in another one.
	Related(ctx context.Context, item, relation, other string) (bool, error)
	// ItemDistance returns how far apart the origins of two items are, in metres.
	ItemDistance(ctx context.Context, item, other string) (float64, error)
	// Distance returns how far what a payload places is from an item, in metres.
	Distance(ctx context.Context, t *idf.Type, payload []byte, other string) (float64, error)
	// Ask reports whether a question in the pattern language of Knowledge has an answer.
	Ask(ctx context.Context, question string) (bool, error)
}

// Holds reports whether the clause holds at present, of a thing that it may be about; if not, why. What
// cannot be evaluated does not hold.
func (c *Clause) Holds(ctx context.Context, p Present, thing engram.ID, now engram.Time) (holds bool, why string) {
	holds, why, err := c.Evaluate(ctx, p, thing, now)
	if err != nil {
		return false, err.Error()
	}
	return holds, why
}

// Evaluate is [Clause.Holds] that tells a clause that cannot be evaluated from one that does not hold.
func (c *Clause) Evaluate(ctx context.Context, p Present, thing engram.ID, now engram.Time) (holds bool, why string, err error) {
	satisfied, not, why, err := c.count(ctx, p, thing, now)
	switch {
	case err != nil:
		return false, "", err
	case c.Quantifier == None && satisfied > 0, c.Quantifier == Every && not > 0:
		return false, why, nil
	case c.Quantifier == Some && satisfied == 0:
		return false, cmp.Or(why, "there is none"), nil
	}
	return true, "", nil
}

// count returns how many of what the clause is about satisfy it, and how many do not; why is an example
// of what speaks against it.
func (c *Clause) count(ctx context.Context, p Present, thing engram.ID, now engram.Time) (satisfied, not int, why string, err error) {
	add := func(holds bool, format string, args ...any) {
		if holds {
			satisfied++
		} else {
			not++
		}
		if why == "" && holds == (c.Quantifier == None) {
			why = fmt.Sprintf(format, args...)
		}
	}
	switch {
	case c.Question != "":
		holds, err := p.Ask(ctx, named(c.Question, thing))
		if err != nil {
			return 0, 0, "", err
		}
		add(holds, "the question has %s answer", map[bool]string{true: "an", false: "no"}[holds])
	case c.Items != "":
		items := []string{thing.Entity()}
		if c.Items != Thing {
			if items, err = p.Items(ctx, c.Items); err != nil {
				return 0, 0, "", err
			}
		}
		other := named(c.Other, thing)
		for _, item := range items {
			if item == other {
				continue
			}
			if c.Relation == "within" {
				d, err := p.ItemDistance(ctx, item, other)
				if err != nil {
					return 0, 0, "", err
				}
				add(d <= c.Distance, "%s is %.2f m from %s", item, d, other)
				continue
			}
			holds, err := p.Related(ctx, item, c.Relation, other)
			if err != nil {
				return 0, 0, "", err
			}
			add(holds, "%s is %s%s %s", item, map[bool]string{false: "not "}[holds], c.Relation, other)
		}
	default:
		found, err := p.Newest(ctx, c.Pattern)
		if err != nil {
			return 0, 0, "", err
		}
		for _, it := range found {
			if c.Fresh > 0 && now.Sub(it.Snapshot.Time) > c.Fresh {
				continue
			}
			holds, told, err := c.satisfied(ctx, p, it, thing)
			if err != nil {
				return 0, 0, "", err
			}
			add(holds, "%s", told)
		}
	}
	return satisfied, not, why, nil
}

// satisfied reports whether an instance of a snapshot satisfies the filter and is near enough.
func (c *Clause) satisfied(ctx context.Context, p Present, it engram.Item, thing engram.ID) (holds bool, told string, err error) {
	told = it.ID.Truncate(engram.LevelEntity).String()
	for i := range it.Snapshot.Instances {
		payload := &it.Snapshot.Instances[i].Payload
		t := p.Type(ctx, payload.Type)
		if c.Where != nil {
			if ok, err := c.Where.Evaluate(t, it.Snapshot, i, nil); err != nil {
				return false, told, err
			} else if told = it.ID.Truncate(engram.LevelEntity).String() + c.values(t, &it.Snapshot.Instances[i]); !ok {
				continue
			}
		}
		if c.Relation == "within" {
			d, err := p.Distance(ctx, t, payload.Bytes, named(c.Other, thing))
			if err != nil {
				return false, told, err
			}
			told = fmt.Sprintf("%s is %.2f m from %s", it.ID.Truncate(engram.LevelEntity), d, named(c.Other, thing))
			if d > c.Distance {
				continue
			}
		}
		return true, told, nil
	}
	return false, told, nil
}

// named puts the thing's name where it stands.
func named(text string, thing engram.ID) string {
	return strings.ReplaceAll(text, Thing, thing.Entity())
}

// values writes the members of a payload that the filter mentions.
func (c *Clause) values(t *idf.Type, in *engram.Instance) string {
	if c.Where == nil || t == nil {
		return ""
	}
	payload, err := t.Decode(in.Payload.Bytes)
	if err != nil {
		return ""
	}
	var told []string
	for _, name := range c.Where.Members() {
		if v, ok := lookUp(payload, name); ok {
			told = append(told, fmt.Sprintf("%s = %v", name, v))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return " (" + strings.Join(told, ", ") + ")"
}
