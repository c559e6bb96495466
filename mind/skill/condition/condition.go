package condition

import (
	"math"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// Trigger says when a condition that is fulfilled fires. The values are those of engram.skill.Trigger.
type Trigger uint8

// The triggers.
const (
	Edge       Trigger = iota // when it becomes fulfilled, and again after it was not
	EachUpdate                // at each update that satisfies the filter while all terms hold
	Level                     // when it becomes fulfilled, and again as long as it is when what it started has ended
)

var triggers = [...]string{"Edge", "EachUpdate", "Level"}

// String returns the trigger as engram.skill.Trigger has it.
func (t Trigger) String() string {
	if int(t) < len(triggers) {
		return triggers[t]
	}
	return strconv.Itoa(int(t))
}

// Condition is a standing condition.
type Condition struct {
	On      engram.Pattern // of entities, from the memory down; empty if it is about terms alone
	Where   string         // CEL over an instance (see package idf); empty is true of all
	All     []Term         // that must hold, too
	Trigger Trigger
	Hold    time.Duration // how long it must be fulfilled before it fires; not with EachUpdate
	Pause   time.Duration // at least between two firings for one thing; with Level 0 is [DefaultPause]
	// OncePer is a member of the update, or [Entity]: it fires at most once for each of its values. Empty is as often as it is
	// fulfilled.
	OncePer string
}

// Term is about the present state of entities.
type Term struct {
	Text   string         // for people, such as "the gripper is empty"
	Of     engram.Pattern // of entities, from the memory down
	Where  string         // CEL over an instance; empty is true of all
	None   bool           // that no entity satisfies it; else that one does
	Within time.Duration  // only what arrived so recently counts; 0 is all
	// Near says that only what is at most so far away counts, in metres; 0 is all. It is measured from the thing for which the
	// condition is to be fulfilled, or from the origin of the frame NearTo. If a distance is not known the term does not hold.
	Near   float64
	NearTo string
	// Lasting says of what a skill requires that it must hold as long as the skill executes, not only when that begins.
	Lasting bool
}

// String returns the text, or what is demanded.
func (t *Term) String() string {
	if t.Text != "" {
		return t.Text
	}
	text := "some "
	if t.None {
		text = "no "
	}
	text += t.Of.String()
	if t.Where != "" {
		text += " where " + t.Where
	}
	if t.Near > 0 {
		text += " near " + strconv.FormatFloat(t.Near, 'g', -1, 64) + " m"
		if t.NearTo != "" {
			text += " of " + t.NearTo
		}
	}
	if t.Within > 0 {
		text += " within " + t.Within.String()
	}
	return text
}

// Names that stand for something else than a member of the update, as [Condition].OncePer and where parameters are taken from
// updates.
const (
	Entity   = "$entity"   // the ID of the entity
	Snapshot = "$snapshot" // the ID of the instance
	Name     = "$name"     // the name of the entity
)

// DefaultPause is the least time between two firings of a condition at [Level].
const DefaultPause = time.Second

// MostTerms bounds the terms of a condition.
const MostTerms = 32

// Check returns what is wrong with a condition: Invalid, or Exhausted for a filter that is too long or too costly.
func (c *Condition) Check() error {
	switch {
	case len(c.On.Levels) == 0 && len(c.All) == 0:
		return engram.Errorf(engram.Invalid, "condition", "nothing is demanded; give a pattern of entities, or terms")
	case len(c.On.Levels) == 0 && (c.Where != "" || c.OncePer != "" || c.Trigger == EachUpdate):
		return engram.Errorf(engram.Invalid, "condition", "a filter, %v and once-per are about updates; give the pattern of their entities", EachUpdate)
	case c.Trigger > Level:
		return engram.Errorf(engram.Invalid, "condition", "there is no trigger %v", c.Trigger)
	case c.Trigger == EachUpdate && c.Hold > 0:
		return engram.Errorf(engram.Invalid, "condition", "an update does not last; hold is for %v and %v", Edge, Level)
	case c.Hold < 0 || c.Pause < 0:
		return engram.Errorf(engram.Invalid, "condition", "hold and pause are 0 or more")
	}
	if len(c.On.Levels) > 0 {
		if err := check(c.On, c.Where); err != nil {
			return err
		}
	}
	return checkTerms(c.All, len(c.On.Levels) > 0)
}

// CheckTerms returns what is wrong with terms that are about no thing: Invalid or Exhausted.
func CheckTerms(all []Term) error { return checkTerms(all, false) }

func checkTerms(all []Term, things bool) error {
	if len(all) > MostTerms {
		return engram.Errorf(engram.Exhausted, "condition", "%d terms; at most %d are allowed", len(all), MostTerms)
	}
	for i := range all {
		if err := check(all[i].Of, all[i].Where); err != nil {
			return err
		}
		switch t := &all[i]; {
		case t.Within < 0:
			return engram.Errorf(engram.Invalid, t.String(), "within is 0 or more")
		case !(t.Near >= 0) || math.IsInf(t.Near, 0):
			return engram.Errorf(engram.Invalid, t.String(), "near is a distance in metres, 0 or more")
		case t.Near == 0 && t.NearTo != "":
			return engram.Errorf(engram.Invalid, t.String(), "it is not said how near to %s; give the metres", t.NearTo)
		case t.Near > 0 && t.NearTo == "" && !things:
			return engram.Errorf(engram.Invalid, t.String(), "it is not said near to what; name a frame, such as 'near 1 m of base_link'")
		}
	}
	return nil
}

// check returns what is wrong with a pattern and a filter.
func check(p engram.Pattern, where string) error {
	if p.Enclosing().Level() < engram.LevelCoreSegment {
		return engram.Errorf(engram.Invalid, p.String(), "a condition names a memory and a core segment, such as Object/Instance/*/cup")
	}
	if _, err := p.Matcher(); err != nil {
		return err
	}
	if where == "" {
		return nil
	}
	_, err := idf.CompileFilter(where)
	return err
}
