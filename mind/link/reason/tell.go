package reason

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	answer     = "engram.speech.Answer"
	instance   = "engram.object.Instance"
	attachment = "engram.object.Attachment"
	arrival    = "engram.navigation.Result"
	event      = "engram.navigation.Event"
	plan       = "engram.navigation.Plan"
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
	case command, utterance, answer:
		w := &words{}
		s.because(w, t, 0)
		s.say(w)
		return nil
	case instance:
		s.seen(t)
		by, err := s.lastHeld(t)
		if err != nil || by == nil {
			return cmp.Or(err, s.during(t))
		}
		w := &words{}
		s.held(w, by)
		s.say(w)
		return s.during(by)
	case attachment:
		w := &words{}
		s.held(w, t)
		s.say(w)
	case arrival, event, plan:
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
	switch {
	case t.typ == activity && t.isOver():
		w.add(" went on from %s to %s", s.at(t.start()), s.at(t.end()))
	case t.typ == activity:
		w.add(" has been going on since %s", s.at(t.start()))
	case t.isOver():
		w.add(" was %s at %s", t.done(), s.at(t.start()))
	default:
		w.add(" has been %s since %s", strings.ToLower(orNothing(t.key("status"))), s.at(t.start()))
	}
	s.why(w, t)
	if t.typ == activity {
		w.add("%s", reasonGiven(t))
	}
	s.say(w)
	below, err := s.below(t)
	if err != nil {
		return err
	}
	for _, way := range below.ways {
		if way.typ == plan { // what it was made of does not come of the activity
			up, err := s.tracer.Trace(s.ctx, way.id, link.Options{Depth: 1, AsOf: s.asOf})
			if err == nil {
				err = s.add(up)
			}
			if err != nil {
				return err
			}
		}
		s.way(way)
	}
	for _, f := range below.failed {
		s.failure(f, below.all)
	}
	if below.cut {
		w := &words{}
		w.rests(t)
		w.add("more came of it than was looked at")
		s.say(w)
	}
	if t.typ == execution && t.isOver() {
		w := &words{}
		w.rests(t)
		w.add("%s %s", t.short(), s.ending(t))
		s.say(w)
	}
	return nil
}

// failure says that an execution failed, and what became of further attempts.
func (s *story) failure(t *thing, all []*thing) {
	if s.told[t.id] {
		return
	}
	w := &words{}
	w.add("%s %s", t.name(), s.ending(t))
	for tried := t; ; {
		s.told[tried.id] = true
		w.rests(tried)
		i := slices.IndexFunc(all, func(again *thing) bool { return again.start() > tried.start() && again.sameDeed(tried) })
		if i < 0 || tried.key("status") == "Succeeded" {
			break
		}
		tried = all[i]
		w.add("; it was tried again at %s", s.at(tried.start()))
		if tried.isOver() {
			w.add(" and %s", s.ending(tried))
		}
	}
	s.say(w)
}

// ending says how an execution ended, when, and why if it says so.
func (s *story) ending(t *thing) string {
	how := map[string]string{"Succeeded": "succeeded", "Failed": "failed", "Aborted": "was aborted"}[t.key("status")]
	return how + " at " + s.at(t.ended) + reasonGiven(t)
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

// sameDeed reports whether two executions are of one skill, for one caller, with the same parameters.
func (t *thing) sameDeed(o *thing) bool {
	return t.name() == o.name() && t.value["parent"] == o.value["parent"] && fmt.Sprint(t.value["parameters"]) == fmt.Sprint(o.value["parameters"])
}

// reasonGiven returns what a thing says for people, behind a colon; nothing if it says nothing.
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

// done says in a word what was done with a skill.
func (t *thing) done() string {
	if r := t.key("rehearsal"); r != "" && r != "Real" {
		return "rehearsed" // nothing has moved
	}
	return "run"
}

// why adds the reasons of an activity: who called it, and what that rests on.
func (s *story) why(w *words, t *thing) {
	met := map[*thing]bool{}
	and := ""
	for !met[t] {
		met[t] = true
		parent, because := t.to("parent"), t.to("cause")
		if parent != nil && parent.missing == "" && parent.name() != "" && !met[parent] {
			w.rests(parent)
			w.add(", because %s called it", parent.name())
			t = parent
			continue
		}
		if parent != nil && parent.missing != "" {
			w.rests(parent)
			w.add(", because %s called it, which is %s", parent.name(), parent.missing)
			and = " and"
		}
		switch {
		case because != nil:
			w.add(",%s because ", and)
			if c := t.to("condition"); c != nil {
				w.rests(c)
				w.add("the condition %s of %s was fulfilled: ", c.id.Entity(), c.id.ProviderSegment())
			}
			s.because(w, because, 0)
		case t.text("caller") != "":
			w.add(",%s because %s asked for it", and, t.text("caller"))
		}
		return
	}
}

// mostReasons bounds how many reasons that are no activities stand behind each other.
const mostReasons = 5

// because adds a reason that is no activity, or one that did not call what it is a reason of.
func (s *story) because(w *words, t *thing, n int) {
	w.rests(t)
	from, why := t.to("source_text"), t.to("cause")
	if t.typ == answer {
		why = t.to("question")
	}
	switch {
	case t.missing != "":
		w.add("of %s%s, which is %s", t.kind(), s.of(t), t.missing)
	case t.typ == answer || t.typ == utterance && why != nil:
		w.add("“%s” was said at %s", strings.TrimRight(t.text("text"), ". "), s.at(t.began))
		if by := t.text("speaker"); by != "" {
			w.add(" by %s", by)
		}
		if why != nil && n < mostReasons {
			w.add(", because ")
			s.because(w, why, n+1)
		}
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
	case t.typ == execution && t.isOver():
		w.add("%s %s", t.name(), s.ending(t))
	case t.typ == execution || t.typ == activity:
		w.add("%s was begun at %s", t.name(), s.at(t.start()))
	default:
		w.add("of %s%s", t.kind(), s.of(t))
		for _, c := range t.causes {
			if n < mostReasons && c.to.missing == "" && slices.Contains([]string{command, utterance, execution, activity}, c.to.typ) {
				w.add(", which was made because ")
				s.because(w, c.to, n+1)
				break
			}
		}
	}
}

// of returns the time of a thing behind its name; nothing if it has none.
func (s *story) of(t *thing) string {
	if t.began == 0 {
		return ""
	}
	return " of " + s.at(t.began)
}

// gone says that a thing is not there; nothing if it is.
func (t *thing) gone() string {
	if t.missing == "" {
		return ""
	}
	return " (which is " + t.missing + ")"
}

// seen says of an object's pose in what it was seen.
func (s *story) seen(t *thing) {
	w := &words{}
	w.rests(t)
	image, robot := t.to("source_image"), t.to("robot_localization")
	if image == nil {
		w.add("the %s was there at %s, says %s", t.id.Entity(), s.at(t.began), t.id.ProviderSegment())
	} else {
		w.rests(image)
		w.add("the %s was seen at %s by %s in the image of %s%s%s", t.id.Entity(), s.at(t.began), t.id.ProviderSegment(), image.id.Entity(), s.of(image), image.gone())
	}
	if robot != nil {
		w.rests(robot)
		w.add(", from where the robot was%s%s", strings.Replace(s.of(robot), " of ", " at ", 1), robot.gone())
	}
	s.say(w)
}

// held adds what holds an object, and since when.
func (s *story) held(w *words, t *thing) {
	w.rests(t)
	active, _ := t.value["active"].(bool)
	object := cmp.Or(t.linked("object"), t.id.Entity())
	if t.missing != "" {
		w.add("what held the %s%s is %s", object, s.of(t), t.missing)
		return
	}
	if !active {
		w.add("the %s was let go at %s", object, s.at(t.began))
		return
	}
	w.add("the %s had been held", object)
	if by := t.linked("agent"); by != "" {
		w.add(" by %s", by)
	}
	if frame := t.text("frame_id"); frame != "" {
		w.add(" in %s", frame)
	}
	w.add(" since %s", s.at(t.began))
}

// way says how the robot came to a goal.
func (s *story) way(t *thing) {
	if s.told[t.id] {
		return
	}
	s.told[t.id] = true
	w := &words{}
	w.rests(t)
	goal := ""
	if to := cmp.Or(t.linked("goal"), t.text("goal_name")); to != "" {
		if of := t.to("goal"); of != nil {
			w.rests(of)
		}
		goal = " to " + to
	}
	switch t.typ {
	case event:
		w.add("%s on the way%s at %s%s", spoken(t.key("kind")), goal, s.at(t.began), reasonGiven(t))
		s.say(w)
		return
	case plan:
		s.planned(w, t, goal)
		s.say(w)
		return
	}
	w.add("the way%s", goal)
	if length, ok := t.number("path_length"); ok {
		w.add(" was %.1f m long and", length)
	}
	reached, _ := t.value["success"].(bool)
	end := spoken(t.key("ended_by"))
	switch {
	case reached:
		end = "the goal was reached"
	case t.key("ended_by") == "Started": // which is nothing said
		end = "the goal was not reached"
	}
	w.add(" ended at %s: %s", s.at(t.began), end)
	if message := t.text("message"); message != "" {
		w.add(", %s", message)
	}
	s.say(w)
}

// planned adds that a path was planned, on what, and why another one before was not good enough.
func (s *story) planned(w *words, t *thing, goal string) {
	length, _ := t.number("length")
	if t.to("replaces") == nil {
		w.add("a path of %.1f m%s was planned at %s", length, goal, s.at(t.began))
	} else {
		w.rests(t.to("replaces"))
		w.add("another path of %.1f m%s was planned at %s", length, goal, s.at(t.began))
		if by := t.to("obstacle"); by != nil {
			w.rests(by)
			w.add(", because the %s was in the way", by.id.Entity())
		}
	}
	w.add("%s", reasonGiven(t))
	for _, of := range []struct{ member, on string }{{"costmap", "on the cost map of"}, {"map", "on the map"}, {"graph", "through the graph"}} {
		if on := t.to(of.member); on != nil {
			w.rests(on)
			w.add(", %s %s%s%s", of.on, on.id.Entity(), s.of(on), on.gone())
		}
	}
	if robot := t.to("robot_localization"); robot != nil {
		w.rests(robot)
		w.add(", from where the robot was%s%s", strings.Replace(s.of(robot), " of ", " at ", 1), robot.gone())
	}
}

// spoken returns a key such as GoalReached as words: goal reached.
func spoken(key string) string { return strings.Join(wordsOf(key), " ") }

// isTurn reports whether an event changed how the robot moved.
func (t *thing) isTurn() bool {
	return slices.Contains([]string{"SafetyStop", "Trapped"}, t.key("kind"))
}

// isFor reports whether something was written for an execution, or for one that it called.
func (s *story) isFor(n, t *thing) bool {
	of := s.executionOf(n)
	return of != nil && (of == t || s.isBelow(of, t))
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
	w.add("%s%s was written by %s", t.kind(), s.of(t), t.id.ProviderSegment())
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
		w.add("%s %s (%s%s", before, c.to.kind(), c.member, s.of(c.to))
		if c.to.missing != "" {
			w.add(", %s", c.to.missing)
		}
		w.add(")")
	}
	s.say(w)
}

// found are what was written because of an activity.
type found struct {
	all, failed, ways []*thing
	cut               bool // there is more
}

// below returns the executions that an activity called, and the movements of it, by time.
func (s *story) below(t *thing) (f found, err error) {
	down, err := s.tracer.Trace(s.ctx, t.id, link.Options{Direction: link.Down, Depth: deepest, Nodes: mostEffects, AsOf: s.asOf, Memories: memoriesBeside(t.id, "Skill", "Navigation")})
	if err != nil {
		return f, err
	}
	f.cut = down.Cut > 0
	if err := s.add(down); err != nil {
		return f, err
	}
	for i := range down.Nodes[1:] {
		n := s.things[down.Nodes[i+1].ID]
		switch {
		case n.typ == execution && n.to("parent") != nil && s.isBelow(n, t):
			f.all = append(f.all, n)
			if st := n.key("status"); st == "Failed" || st == "Aborted" {
				f.failed = append(f.failed, n)
			}
		case n.typ == arrival && s.executionOf(n) == t, n.typ == plan && s.isFor(n, t),
			n.typ == event && n.isTurn() && s.isFor(n, t):
			f.ways = append(f.ways, n)
		}
	}
	byStart := func(a, b *thing) int { return cmp.Compare(a.start(), b.start()) }
	slices.SortFunc(f.all, byStart)
	slices.SortFunc(f.ways, byStart)
	slices.SortFunc(f.failed, func(a, b *thing) int { return cmp.Compare(a.ended, b.ended) })
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

// lastHeld returns the newest attachment of an object by the time of its pose; nil if there is none.
func (s *story) lastHeld(t *thing) (*thing, error) {
	if by := t.to("attachment"); by != nil {
		return by, nil
	}
	segment, err := engram.NewID(append(memoriesBeside(t.id, "Object"), "Attachments")...)
	if err != nil {
		return nil, err
	}
	q := engram.PatternOf(segment).Select(engram.AtOrBefore(t.began))
	q.LinksTo, q.AsOf, q.WithoutPayload = []engram.ID{t.id.Truncate(engram.LevelEntity)}, s.asOf, true
	r, err := s.m.Query(s.ctx, q)
	if err != nil {
		return nil, err
	}
	items := r.Items()
	if len(items) == 0 {
		return nil, nil
	}
	return s.fetch(slices.MaxFunc(items, func(a, b engram.Item) int { return cmp.Compare(a.Time, b.Time) }).ID)
}

// fetch returns a snapshot or activity with what led to it.
func (s *story) fetch(id engram.ID) (*thing, error) {
	up, err := s.tracer.Trace(s.ctx, id, link.Options{Nodes: mostCauses, AsOf: s.asOf})
	if err != nil {
		return nil, err
	}
	if err := s.add(up); err != nil {
		return nil, err
	}
	return s.things[up.Nodes[0].ID], nil
}

// during says which activity went on when a thing came about: of those that had begun and not ended, the last to begin.
func (s *story) during(t *thing) error {
	now, err := s.current(t)
	if err != nil {
		return err
	}
	for _, id := range now {
		of, err := s.fetch(id)
		if err != nil {
			return err
		}
		if of.isActive(t.began) {
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
	}
	return nil
}

// silence is how long nothing may have been heard of an activity that has not ended: one that was cut off, as by a crash, goes
// on for no longer.
const silence = engram.Time(time.Hour)

// isActive reports whether an activity that had begun went on at a time, as far as is known.
func (t *thing) isActive(at engram.Time) bool { return t.ended >= at || at-t.ended <= silence }

// mostCurrent bounds how many activities are looked at that went on at a time.
const mostCurrent = 8

// current returns activities that had begun and not ended when a thing came about, the last to begin first.
func (s *story) current(t *thing) ([]engram.ID, error) {
	memory, err := engram.NewID(memoriesBeside(t.id, "Skill")...)
	if err != nil {
		return nil, err
	}
	type span struct {
		id    engram.ID
		start engram.Time
	}
	var all []span
	for typ, open := range map[string]string{execution: "!(status in ['Succeeded', 'Failed', 'Aborted'])", activity: "!has(payload.ended)"} {
		q := engram.PatternOf(memory).Select(engram.AtOrBefore(t.began-1), engram.AtOrBefore(t.began))
		q.Type, q.AsOf, q.FilterOrder, q.Where = typ, s.asOf, engram.SelectThenFilter, open
		r, err := s.m.Query(s.ctx, q)
		if err != nil {
			return nil, err
		}
		for item := range r.All() {
			v, err := s.tracer.Decode(s.ctx, item.Instances[0].Payload)
			if err != nil {
				return nil, err
			}
			of := thing{began: item.Time}
			of.value, _ = v.(map[string]any)
			all = append(all, span{item.ID.Parent(), of.start()})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(b.start, a.start), a.id.Compare(b.id)) })
	var ids []engram.ID
	for _, a := range all {
		if len(ids) < mostCurrent && !slices.Contains(ids, a.id) {
			ids = append(ids, a.id)
		}
	}
	return ids, nil
}
