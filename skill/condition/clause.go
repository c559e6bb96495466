package condition

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Clause is something that must hold at present. It has one of four forms; of all a quantifier
// (some, none or all; some if it is not said) comes first:
//
//	Hand/State/*/right fresh 2s where width > 0.05     the newest state of entities, not older than 2 s
//	Human/Pose within 1 m of robot where confidence > 0.5
//	kind:person within 1.5 m of $entity                items of the world; also class:Cup, ~regex, a name
//	$entity on table                                   or in: items of the world
//	ask "?x a Cup . ?x on Table"                       a question in the pattern language of Knowledge
//
// All holds of nothing, too. A Clause does not change.
type Clause struct {
	Text       string
	Quantifier Quantifier
	Pattern    engram.Pattern // of entities; unless Items or Question is given
	Where      *idf.Filter    // nil is any
	Fresh      time.Duration  // how old a snapshot may be to count; 0 is any age
	Items      string         // of the world: a name, ~regex, kind:KIND, class:CLASS or $entity
	Relation   string         // "on", "in" or "within"; "" with neither Items nor a distance
	Other      string         // the item that it is related to, or $entity
	Distance   float64        // with "within": metres
	Question   string

	matcher *engram.PatternMatcher
}

// Quantifier says of how many something must hold.
type Quantifier string

// The quantifiers of clauses.
const (
	Some  Quantifier = "some"
	None  Quantifier = "none"
	Every Quantifier = "all"
)

// Thing is what stands in a clause for the entity of the update.
const Thing = "$entity"

// ParseClause reads a clause. The error is Invalid, or of what is wrong in a part.
func ParseClause(text string) (*Clause, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	c := &Clause{Text: text, Quantifier: Some}
	p := parser{text: text, words: words}
	for _, q := range []Quantifier{Some, None, Every} {
		if p.take(string(q)) {
			c.Quantifier = q
			break
		}
	}
	if p.take("ask") {
		c.Question = unquoted(p.until())
		if c.Question == "" {
			return nil, p.errorf("after ask a question stands")
		}
		return c, nil
	}
	subject := unquoted(p.until("fresh", "within", "on", "in", "where"))
	if subject == "" {
		return nil, p.errorf("a clause says of what it speaks")
	}
	if p.take("fresh") {
		if c.Fresh, err = time.ParseDuration(p.word()); err != nil || c.Fresh <= 0 {
			return nil, p.errorf("after fresh a duration stands, such as 2s")
		}
	}
	switch word := p.word(); word {
	case "within":
		c.Relation = word
		number := p.word()
		if bare, ok := strings.CutSuffix(number, "m"); ok {
			number = bare
		} else if !p.take("m") {
			return nil, p.errorf("a distance is in metres, such as within 1.5 m of robot")
		}
		if c.Distance, err = strconv.ParseFloat(number, 64); err != nil || !(c.Distance >= 0) {
			return nil, p.errorf("%q is no distance", number)
		}
		if !p.take("of") {
			return nil, p.errorf("within so many metres of what?")
		}
		c.Other = unquoted(p.until("where"))
	case "on", "in":
		c.Relation = word
		c.Other = unquoted(p.until("where"))
	case "":
	default:
		p.at--
	}
	if c.Relation != "" && c.Other == "" {
		return nil, p.errorf("%s what?", c.Relation)
	}
	if p.take("where") {
		if c.Where, err = idf.CompileFilter(p.until()); err != nil {
			return nil, err
		}
	}
	if !p.done() {
		return nil, p.errorf("%q is not known here", p.word())
	}
	ofItems := !strings.Contains(strings.TrimPrefix(subject, "~"), "/")
	if ofItems && c.Relation != "" {
		if c.Items = subject; c.Where != nil || c.Fresh != 0 {
			return nil, p.errorf("where and fresh are for entities, such as Human/Pose, not for items of the world")
		}
		return c, nil
	}
	if c.Relation == "on" || c.Relation == "in" {
		return nil, p.errorf("on and in relate items of the world; %s is a pattern of entities", subject)
	}
	if c.Pattern, err = engram.ParsePattern(subject); err == nil {
		c.matcher, err = c.Pattern.Matcher()
	}
	return c, err
}

// itemPatterns match what items of the world are made of.
var itemPatterns = []engram.Pattern{
	engram.MustPattern("World/Item"), engram.MustPattern("World/State"), engram.MustPattern("World/Articulation"),
	engram.MustPattern("Object/Instance"), engram.MustPattern("Object/Attachments"), engram.MustPattern("RobotState/Localization"),
}

// knowledgePatterns match what questions are answered from, beside what items are made of.
var knowledgePatterns = append([]engram.Pattern{engram.MustPattern("Knowledge"), engram.MustPattern("Object/Class")}, itemPatterns...)

// Patterns match the entities whose updates can change whether the clause holds.
func (c *Clause) Patterns() []engram.Pattern {
	switch {
	case c.Question != "":
		return knowledgePatterns
	case c.Items != "":
		return itemPatterns
	case c.Relation == "within":
		return append([]engram.Pattern{c.Pattern}, itemPatterns...)
	}
	return []engram.Pattern{c.Pattern}
}
