package reason

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/link"
)

// Types that have words of their own.
const (
	execution  = "engram.skill.Execution"
	activity   = "engram.skill.Activity"
	transition = "engram.skill.Transition"
	command    = "engram.speech.Command"
	utterance  = "engram.speech.Text"
	instance   = "engram.object.Instance"
	attachment = "engram.object.Attachment"
	arrival    = "engram.navigation.Result"
	event      = "engram.navigation.Event"
)

// tell says of a thing how it came about.
func (s *story) tell(t *thing) error {
	switch t.typ {
	case execution, activity:
		return s.deed(t)
	case transition:
		w := &words{}
		w.rests(t)
		w.add("%s went from %s to %s at %s", t.id.Entity(), orNothing(t.key("from_status")), t.key("to_status"), s.at(t.began))
		if reason := t.text("reason"); reason != "" {
			w.add(": %s", reason)
		}
		s.say(w)
		if of := t.to("execution"); of != nil && of.missing == "" {
			return s.deed(of)
		}
		return nil
	case command, utterance:
		w := &words{}
		s.because(w, t)
		s.say(w)
		return nil
	case instance:
		s.seen(t)
	case attachment:
		w := &words{}
		s.held(w, t)
		s.say(w)
	case arrival, event:
		s.way(t)
		if of := s.executionOf(t); of != nil {
			return s.deed(of)
		}
	default:
		s.made(t)
	}
	return s.during(t)
}

func orNothing(status string) string {
	if status == "" {
		return "nothing"
	}
	return status
}

// deed says of an execution, or another activity, when and why it was run, what went wrong below it, and how it ended.
func (s *story) deed(t *thing) error {
	if s.told[t.id] {
		return nil
	}
	s.told[t.id] = true
	w := &words{}
	w.rests(t)
	w.add("%s", t.name())
	status := t.key("status")
	switch {
	case t.typ == activity && t.isOver():
		w.add(" went on from %s to %s", s.at(t.start()), s.at(t.end()))
	case t.typ == activity:
		w.add(" goes on since %s", s.at(t.start()))
	case t.isOver():
		w.add(" was run at %s", s.at(t.start()))
	default:
		w.add(" runs since %s (%s)", s.at(t.start()), strings.ToLower(orNothing(status)))
	}
	s.why(w, t)
	s.say(w)
	below, err := s.below(t)
	if err != nil {
		return err
	}
	for _, way := range below.ways {
		s.way(way)
	}
	for _, f := range below.failed {
		w := &words{}
		w.rests(f)
		w.add("%s failed at %s%s", f.name(), s.at(f.ended), reasonGiven(f))
		for _, again := range below.all {
			if again != f && again.start() > f.start() && again.sameSkill(f) {
				w.rests(again)
				w.add("; it was tried again at %s", s.at(again.start()))
				if again.isOver() {
					w.add(" and %s", strings.ToLower(again.key("status")))
				}
				break
			}
		}
		s.say(w)
	}
	if t.typ == execution && t.isOver() {
		w := &words{}
		w.rests(t)
		w.add("%s %s at %s%s", t.short(), strings.ToLower(status), s.at(t.ended), reasonGiven(t))
		s.say(w)
	}
	return nil
}

// start returns when an activity was called, as it says, or as its first snapshot has it.
func (t *thing) start() engram.Time {
	if at, ok := t.value["started"].(engram.Time); ok && at != 0 {
		return at
	}
	return t.began
}

// short is the name without parameters.
func (t *thing) short() string {
	name, _, _ := strings.Cut(t.name(), " (")
	return name
}

func (t *thing) sameSkill(o *thing) bool { return t.value["skill"] == o.value["skill"] }

func reasonGiven(t *thing) string {
	if message := t.text("message"); message != "" {
		return ": " + message
	}
	return ""
}

// isOver reports whether an activity has ended.
func (t *thing) isOver() bool {
	if t.typ == activity {
		return t.value["ended"] != nil
	}
	return slices.Contains([]string{"Succeeded", "Failed", "Aborted"}, t.key("status"))
}

// end returns when an activity ended.
func (t *thing) end() engram.Time {
	if at, ok := t.value["ended"].(engram.Time); ok {
		return at
	}
	return t.ended
}

// why adds the reasons of an activity: who called it, and what that rests on.
func (s *story) why(w *words, t *thing) {
	met := map[*thing]bool{}
	for !met[t] {
		met[t] = true
		parent, because := t.to("parent"), t.to("cause")
		switch {
		case parent != nil && parent.missing == "" && !met[parent]:
			w.rests(parent)
			w.add(", because %s called it", parent.name())
			t = parent
			continue
		case parent != nil && parent.missing != "":
			w.rests(parent)
			w.add(", because %s called it, of which no more is known: it is %s", parent.id.Entity(), parent.missing)
		case because != nil:
			w.add(", because ")
			s.because(w, because)
		case t.text("caller") != "":
			w.add(", because %s asked for it", t.text("caller"))
		}
		return
	}
}

// because adds a reason that is no activity.
func (s *story) because(w *words, t *thing) {
	w.rests(t)
	from := t.to("source_text")
	switch {
	case t.missing != "":
		w.add("of %s of %s, which is %s", t.kind(), s.at(t.began), t.missing)
	case t.typ == command || t.typ == utterance:
		said, by := t.text("text"), t.text("speaker")
		at := t.began
		if from != nil && from.missing == "" {
			w.rests(from)
			at = from.began
			if text := from.text("text"); text != "" {
				said = text
			}
		}
		w.add("“%s” was heard at %s", strings.TrimRight(said, ". "), s.at(at))
		if by != "" {
			w.add(" from %s", by)
		}
	case t.typ == execution || t.typ == activity:
		w.add("%s was run at %s", t.name(), s.at(t.start()))
	default:
		w.add("of %s of %s", t.kind(), s.at(t.began))
	}
}

// seen says of an object's pose in what it was seen, and what holds the object.
func (s *story) seen(t *thing) {
	w := &words{}
	w.rests(t)
	w.add("the %s was seen at %s by %s", t.id.Entity(), s.at(t.began), t.id.ProviderSegment())
	if image := t.to("source_image"); image != nil {
		w.rests(image)
		w.add(" in the image of %s of %s", image.id.Entity(), s.at(image.began))
		if image.missing != "" {
			w.add(" (which is %s)", image.missing)
		}
	}
	if robot := t.to("robot_localization"); robot != nil {
		w.rests(robot)
		w.add(", from where the robot was at %s", s.at(robot.began))
		if robot.missing != "" {
			w.add(" (which is %s)", robot.missing)
		}
	}
	s.say(w)
	if by := t.to("attachment"); by != nil {
		w := &words{}
		s.held(w, by)
		s.say(w)
	}
}

// held adds what holds an object, and since when.
func (s *story) held(w *words, t *thing) {
	w.rests(t)
	active, _ := t.value["active"].(bool)
	object := t.id.Entity()
	if of := t.to("object"); of != nil {
		object = of.id.Entity()
	}
	switch {
	case t.missing != "":
		w.add("the %s was held then; by what is not known any more: it is %s", object, t.missing)
	case active:
		w.add("the %s was in %s since %s", object, orNothing(t.text("frame_id")), s.at(t.began))
	default:
		w.add("the %s was let go at %s", object, s.at(t.began))
	}
}

// way says how the robot came to a goal.
func (s *story) way(t *thing) {
	w := &words{}
	w.rests(t)
	goal := ""
	if to, ok := t.value["goal"].(engram.ID); ok && to.Level() >= engram.LevelEntity {
		w.rests(t.to("goal"))
		goal = " to " + to.Entity()
	}
	if t.typ == event {
		w.add("%s on the way%s at %s%s", spoken(t.key("kind")), goal, s.at(t.began), reasonGiven(t))
		s.say(w)
		return
	}
	w.add("the way%s", goal)
	if length, ok := t.number("path_length"); ok {
		w.add(" was %.1f m long and", length)
	}
	w.add(" ended at %s: %s%s", s.at(t.began), spoken(t.key("ended_by")), reasonGiven(t))
	s.say(w)
}

// spoken returns a key such as GoalReached as words: goal reached.
func spoken(key string) string {
	var b strings.Builder
	for i, c := range key {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte(' ')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// executionOf returns the execution that wanted a movement, as it or its events say; nil if none does.
func (s *story) executionOf(t *thing) *thing {
	of := t.to("execution")
	for _, c := range t.causes {
		if of == nil && c.member == "events" {
			of = c.to.to("execution")
		}
	}
	if of == nil || of.missing != "" {
		return nil
	}
	return of
}

// mostNamed is how many links, or parameters, of a thing are named.
const mostNamed = 6

// made says of a thing of any type what it links to.
func (s *story) made(t *thing) {
	w := &words{}
	w.rests(t)
	w.add("%s of %s was written by %s", t.kind(), s.at(t.began), t.id.ProviderSegment())
	if len(t.causes) == 0 {
		w.add(", and links to nothing that led to it")
	}
	for i, c := range t.causes {
		if i == mostNamed {
			w.add(" and %d more", len(t.causes)-i)
			break
		}
		before := ","
		if i == 0 {
			before = " from"
		}
		w.rests(c.to)
		w.add("%s %s (%s", before, c.to.kind(), c.member)
		if c.to.began != 0 {
			w.add(" of %s", s.at(c.to.began))
		}
		if c.to.missing != "" {
			w.add(", %s", c.to.missing)
		}
		w.add(")")
	}
	s.say(w)
}

// found are what was written because of an activity.
type found struct{ all, failed, ways []*thing }

// below returns the activities that an activity called, and the movements of it, by time.
func (s *story) below(t *thing) (f found, err error) {
	down, err := s.tracer.Trace(s.ctx, t.id, link.Options{Direction: link.Down, Depth: 2, Nodes: mostEffects, AsOf: s.asOf, Memories: memoriesBeside(t.id, "Skill", "Navigation")})
	if err != nil {
		return f, err
	}
	if err := s.add(down); err != nil {
		return f, err
	}
	for i := range down.Nodes[1:] {
		n := s.things[down.Nodes[i+1].ID]
		switch {
		case n.typ == execution && n.to("parent") != nil && s.isBelow(n, t):
			f.all = append(f.all, n)
			if n.key("status") == "Failed" {
				f.failed = append(f.failed, n)
			}
		case n.typ == arrival && s.executionOf(n) == t:
			f.ways = append(f.ways, n)
		}
	}
	for _, list := range [][]*thing{f.all, f.failed, f.ways} {
		slices.SortFunc(list, func(a, b *thing) int { return cmp.Compare(a.start(), b.start()) })
	}
	return f, nil
}

// isBelow reports whether an execution was called by another, directly or not.
func (s *story) isBelow(n, t *thing) bool {
	for range 20 {
		if n = n.to("parent"); n == nil || n == t {
			break
		}
	}
	return n == t
}

// memoriesBeside names memories of the robot that an ID is of.
func memoriesBeside(id engram.ID, names ...string) []string {
	robot, _ := engram.SplitName(id.Memory())
	if robot != "" {
		for i := range names {
			names[i] = robot + ":" + names[i]
		}
	}
	return names
}

// during says which activity went on when a thing came about: the last one that had begun.
func (s *story) during(t *thing) error {
	now, err := s.current(t)
	if now == nil || err != nil {
		return err
	}
	up, err := s.tracer.Trace(s.ctx, *now, link.Options{Nodes: mostCauses, AsOf: s.asOf})
	if err != nil {
		return err
	}
	if err := s.add(up); err != nil {
		return err
	}
	of := s.things[up.Nodes[0].ID]
	w := &words{}
	w.rests(of)
	w.add("that was during %s, ", of.name())
	if of.isOver() {
		w.add("%s to %s", s.at(of.start()), s.at(of.end()))
	} else {
		w.add("since %s", s.at(of.start()))
	}
	s.why(w, of)
	s.say(w)
	return nil
}

// current returns the activity that went on when a thing came about: that of what holds it, if something does.
func (s *story) current(t *thing) (*engram.ID, error) {
	at := t.began
	if by := t.to("attachment"); by != nil && by.missing == "" {
		at = by.began
	}
	var best *engram.Item
	for _, typ := range []string{execution, activity} {
		memory, err := engram.NewID(memoriesBeside(t.id, "Skill")...)
		if err != nil {
			return nil, err
		}
		q := engram.PatternOf(memory).Select(engram.AtOrBefore(at))
		q.Type, q.AsOf, q.FilterOrder, q.WithoutPayload = typ, s.asOf, engram.SelectThenFilter, true
		if q.Where = "!(status in ['Succeeded', 'Failed', 'Aborted'])"; typ == activity {
			q.Where = "!has(payload.ended)"
		}
		r, err := s.m.Query(s.ctx, q)
		if err != nil {
			return nil, err
		}
		for item := range r.All() {
			if best == nil || item.Time > best.Time {
				best = &item
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	id := best.ID.Truncate(engram.LevelEntity)
	return &id, nil
}
