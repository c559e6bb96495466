package why

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

// Options say how an answer is made.
type Options struct {
	// At is when what is asked about was so, of an entity; nil is its newest snapshot.
	At *engram.Time
	// AsOf has the answer rest on what was known then.
	AsOf *engram.Time
	// Now is the day whose times are told without it.
	Now engram.Time
}

// Answer is why something was done: sentences of parts.
type Answer struct {
	Parts []Part
}

// Part is a part of an answer, with what says so.
type Part struct {
	Text  string      `json:"text"` // with what stands between it and the one before
	Links []engram.ID `json:"links"`
}

// Text returns the answer.
func (a *Answer) Text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Links returns what the answer rests on, each once.
func (a *Answer) Links() (all []engram.ID) {
	for _, p := range a.Parts {
		for _, id := range p.Links {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

// maxChain is how many causes are told of one thing, and how deep nested skills are looked at.
const maxChain = 16

// Explain says why there is what an ID names: an entity, a snapshot or an instance. The error
// is NotFound if it is not there.
func Explain(ctx context.Context, s service.Service, id engram.ID, o Options) (*Answer, error) {
	t := &teller{ctx: ctx, s: s, o: o, nodes: map[engram.ID]*node{}, day: o.Now.Std().Truncate(24 * time.Hour)}
	start, err := t.read(id, o.At, service.Up, service.DefaultDepth)
	if err != nil {
		return nil, err
	}
	if start.Stages && o.At == nil && id.Level() > engram.LevelEntity {
		// How it ended is told of a stage, too.
		if end, err := t.read(id.Truncate(engram.LevelEntity), nil, service.Up, service.DefaultDepth); err == nil {
			start = end
		}
	}
	if err := t.explain(start); err != nil {
		return nil, err
	}
	t.end()
	return &t.out, nil
}

// say adds a part that rests on nodes.
func (t *teller) say(text string, of ...*node) {
	p := Part{Text: text}
	for _, n := range of {
		if n != nil {
			p.Links = append(p.Links, n.ID)
		}
	}
	t.out.Parts = append(t.out.Parts, p)
}

// end ends a sentence.
func (t *teller) end() {
	if n := len(t.out.Parts); n > 0 && !strings.HasSuffix(t.out.Parts[n-1].Text, ".") {
		t.out.Parts[n-1].Text += "."
	}
	for i := range t.out.Parts {
		if i == 0 || strings.HasSuffix(t.out.Parts[i-1].Text, ".") {
			t.out.Parts[i].Text = upper(t.out.Parts[i].Text)
		}
	}
}

// upper makes a sentence begin with a capital.
func upper(s string) string {
	for i, r := range s {
		if r == ' ' {
			continue
		}
		if r == '\'' || i > 1 {
			return s
		}
		return s[:i] + strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}

// clock says a time of the day, with the day when that is another than was told last.
func (t *teller) clock(at engram.Time) string {
	std := at.Std()
	if day := std.Truncate(24 * time.Hour); !day.Equal(t.day) {
		t.day = day
		return std.Format("2006-01-02 15:04:05")
	}
	return std.Format("15:04:05")
}

// explain says why there is a node.
func (t *teller) explain(n *node) error {
	switch {
	case n.is("skill.Execution"):
		return t.execution(n)
	case n.is("skill.Request"):
		if _, err := t.sources(n); err != nil {
			return err
		}
		if runs := n.from("skill.Execution"); len(runs) > 0 {
			run, err := t.read(runs[len(runs)-1].ID.Truncate(engram.LevelEntity), t.o.At, service.Up, service.DefaultDepth)
			if err == nil {
				return t.execution(run)
			} else if !gone(err) {
				return err
			}
		}
		t.say(t.plain(n), n)
		t.because(n, ", ")
		return nil
	case n.is("skill.Transition"):
		if run := n.to("execution"); run != nil {
			return t.explain(run)
		}
	}
	t.say(t.plain(n), n)
	t.inputs(n)
	for _, member := range []string{"execution", "request", "cause", "parent"} {
		if to := n.to(member); to != nil {
			t.say(", while "+t.running(to), to)
			t.because(to, ", ")
			break
		}
	}
	if n.is("speech.Command") || n.is("speech.Text") {
		return t.consequences(n)
	}
	return nil
}

// sources reads what links to a node; of what has stages, to any of them.
func (t *teller) sources(n *node) (*node, error) {
	id := n.ID
	if n.Stages {
		id = n.ID.Truncate(engram.LevelEntity)
	}
	got, err := t.read(id, t.o.At, service.Down, 1)
	if got != nil && got != n {
		n.in = got.in
	}
	return n, err
}

// running says that a skill is at work.
func (t *teller) running(n *node) string {
	if name := skillOf(n); name != "" {
		return name + " was run"
	}
	return t.plain(n)
}

// skillOf returns the name of the skill of an execution or request; "" if it does not say.
func skillOf(n *node) string {
	text := n.text("skill")
	if id, err := engram.Parse(text); err == nil && id.Level() >= engram.LevelEntity {
		return id.Entity()
	}
	for _, member := range []string{"skill_name", "name"} {
		if text == "" {
			text = n.text(member)
		}
	}
	return text
}

// execution explains an execution: what was tried and what failed, why it was run, what was
// planned and how it ended.
func (t *teller) execution(n *node) error {
	if _, err := t.sources(n); err != nil && !gone(err) {
		return err
	}
	status := n.text("status")
	if status == "Failed" {
		if err := t.failure(n); err != nil {
			return err
		}
	}
	name := skillOf(n)
	if name == "" {
		name = n.ID.Entity()
	}
	began := n.First
	if at, ok := n.time("started"); ok {
		began = at
	} else if at, ok := n.time("timestamp"); ok && status != "Succeeded" && status != "Failed" && status != "Aborted" {
		began = at
	}
	t.say(fmt.Sprintf("%s was run at %s", name, t.clock(began)), n)
	t.because(n, " ")
	if err := t.plans(n); err != nil {
		return err
	}
	t.outcome(n, status)
	return nil
}

// because tells the causes of a node, from one to the next.
func (t *teller) because(n *node, before string) {
	told := map[*node]bool{n: true}
	for range maxChain {
		next, text := t.cause(n)
		if next == nil {
			if text != "" {
				t.say(before+text, n)
			}
			return
		}
		if told[next] {
			return // a circle
		}
		told[next] = true
		if text != "" {
			t.say(before+text, next)
			before = ", "
		}
		n = next
	}
}

// cause returns what a node was done because of, and how that is said; a nil node with a text
// if only a name is known, and an empty text if the next one tells more.
func (t *teller) cause(n *node) (next *node, text string) {
	for _, member := range []string{"parent", "cause", "request", "source_text", "question"} {
		to := n.to(member)
		if to == nil || to.ID.Truncate(engram.LevelEntity) == n.ID.Truncate(engram.LevelEntity) {
			continue
		}
		switch {
		case member == "source_text": // the words of what was said already
			continue
		case to.is("skill.Request"):
			return to, ""
		case to.is("skill.Execution"):
			if name := skillOf(to); name != "" {
				return to, "because " + name + " called it"
			}
			return to, ""
		}
		return to, "because " + t.plain(to)
	}
	if caller := n.text("caller"); caller != "" {
		return nil, "because " + spoken(caller) + " asked for it"
	}
	return nil, ""
}

// plans tells what was planned for an execution.
func (t *teller) plans(n *node) error {
	plans := n.from("navigation.Plan")
	if len(plans) == 0 {
		return nil
	}
	plan := plans[len(plans)-1]
	of, err := t.read(plan.ID, nil, service.Up, 1)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	text := "; planned"
	links := []*node{of}
	length := false
	for _, member := range []string{"length", "path_length"} {
		if m, ok := of.number(member); ok {
			text += " " + metres(m)
			length = true
			break
		}
	}
	if on := of.first("map"); on != nil {
		text += " on map " + spoken(on.ID.Entity())
		links = append(links, on)
		length = true
	}
	if costs := of.first("cost_map", "costmap"); costs != nil {
		text += " (cost map of " + t.clock(costs.at()) + ")"
		links = append(links, costs)
		length = true
	}
	if !length {
		text += " a way at " + t.clock(of.at())
	}
	t.say(text, links...)
	if again := len(plans) - 1; again > 0 {
		t.say(fmt.Sprintf(", after %s", times(again, "earlier plan")), plans[:again]...)
	}
	return nil
}

// first returns what the first of several members links to.
func (n *node) first(members ...string) *node {
	for _, m := range members {
		if to := n.to(m); to != nil {
			return to
		}
	}
	return nil
}

func metres(m float64) string { return strconv.FormatFloat(m, 'f', 1, 64) + " m" }

func times(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// outcome tells how an execution ended, or how far it is.
func (t *teller) outcome(n *node, status string) {
	end, ok := n.time("timestamp")
	if !ok {
		end = n.at()
	}
	message := strings.TrimRight(n.text("message"), ".")
	switch status {
	case "Succeeded":
		for _, r := range n.from("navigation.Result") {
			if reached, _ := r.members["success"].(bool); reached {
				if at, ok := r.time("timestamp"); ok {
					end = at
				}
				t.say("; reached at "+t.clock(end), r, n)
				return
			}
		}
		for _, e := range n.from("navigation.Event") {
			if e.text("kind") == "GoalReached" {
				t.say("; reached at "+t.clock(e.at()), e, n)
				return
			}
		}
		t.say("; succeeded at "+t.clock(end), n)
	case "Failed":
		t.say("; failed at "+t.clock(end), n)
	case "Aborted":
		text := "; was stopped at " + t.clock(end)
		if message != "" {
			text += ": " + message
		}
		t.say(text, n)
	case "Stopping":
		t.say("; is being stopped since "+t.clock(end), n)
	case "":
	default:
		text := "; is " + strings.ToLower(status)
		if p, ok := n.number("progress"); ok && p > 0 && p <= 1 {
			text += fmt.Sprintf(", %.0f %% done", 100*p)
		}
		if message != "" {
			text += ": " + message
		}
		t.say(text, n)
	}
}

// failure says what was tried and what failed, the deepest of what is nested in it.
func (t *teller) failure(n *node) error {
	deepest := n
	seen := map[engram.ID]bool{n.ID.Truncate(engram.LevelEntity): true}
	for range maxChain {
		var failed *node
		for _, child := range deepest.from("skill.Execution") {
			if child.text("status") == "Failed" && child.calledBy(deepest) && !seen[child.ID.Truncate(engram.LevelEntity)] {
				failed = child // the last one
			}
		}
		if failed == nil {
			break
		}
		seen[failed.ID.Truncate(engram.LevelEntity)] = true
		deepest = failed
		if _, err := t.sources(deepest); err != nil && !gone(err) {
			return err
		}
	}
	tried := said(n)
	failed := ""
	if deepest != n {
		failed = said(deepest)
	} else if stage := stages(n); len(stage) > 0 {
		if name := stage[len(stage)-1]; !strings.EqualFold(name, skillOf(n)) {
			failed = phrase(name, nil)
		}
	}
	reason := reasonOf(deepest)
	if reason == "" && deepest != n {
		reason = reasonOf(n)
	}
	switch {
	case tried == "":
		return nil
	case failed != "" && failed != tried:
		t.say(fmt.Sprintf("I tried to %s but I failed to %s", tried, failed), n, deepest)
	default:
		t.say(fmt.Sprintf("I tried to %s but I failed", tried), n)
	}
	if reason != "" {
		t.say(": "+reason, deepest)
	}
	t.blocked(deepest)
	t.out.Parts[len(t.out.Parts)-1].Text += "."
	t.out.Parts = append(t.out.Parts, Part{Text: " "})
	return nil
}

// blocked names what an execution was blocked by.
func (t *teller) blocked(n *node) {
	if len(n.out) == 0 {
		// It was read as a source, without what it links to.
		if _, err := t.read(n.ID, nil, service.Up, 1); err != nil {
			return
		}
	}
	var names []string
	var links []*node
	for _, a := range n.out {
		if strings.Contains(a.path, "blocked_by") && a.to.Missing == "" && !slices.Contains(names, spoken(a.to.ID.Entity())) {
			names, links = append(names, spoken(a.to.ID.Entity())), append(links, a.to)
		}
	}
	if len(names) > 0 {
		t.say(" (blocked by "+listed(names)+")", links...)
	}
}

func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// calledBy reports whether an execution says that another one called it.
func (n *node) calledBy(parent *node) bool {
	id, err := engram.Parse(n.text("parent"))
	of := parent.ID.Truncate(engram.LevelEntity)
	if err == nil && sameThing(id.Truncate(engram.LevelEntity), of) {
		return true
	}
	return slices.ContainsFunc(parent.in, func(a arc) bool { return a.to == n && a.path == "parent" })
}

// sameThing compares IDs but for the robots' names before memories.
func sameThing(a, b engram.ID) bool {
	bare := func(id engram.ID) engram.ID {
		if own, err := id.InMemory(id.Memory()[strings.IndexByte(id.Memory(), ':')+1:]); err == nil {
			return own
		}
		return id
	}
	return bare(a) == bare(b)
}

// said says what an execution was to do.
func said(n *node) string {
	name := skillOf(n)
	if name == "" {
		return ""
	}
	return phrase(name, n.dict("parameters"))
}

// stages returns the skills on the way to where an execution failed, as its failure says.
func stages(n *node) []string {
	switch stage := n.dict("failure")["stage"].(type) {
	case string:
		return strings.FieldsFunc(stage, func(r rune) bool { return r == '/' || r == '>' })
	case []any:
		var all []string
		for _, s := range stage {
			if text, ok := s.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// reasonOf returns what an execution says of why it failed.
func reasonOf(n *node) string {
	for _, text := range []any{n.dict("failure")["message"], n.dict("failure")["sentence"], n.members["message"]} {
		if s, ok := text.(string); ok && strings.TrimSpace(s) != "" {
			return strings.TrimRight(strings.TrimSpace(s), ".")
		}
	}
	return ""
}

// consequences tells which skills were run because of a sentence.
func (t *teller) consequences(n *node) error {
	if _, err := t.sources(n); err != nil && !gone(err) {
		return err
	}
	runs := n.from("skill.Execution")
	runs = append(runs, n.from("skill.Request")...)
	for _, c := range n.from("speech.Command") {
		t.say("; understood as a command at "+t.clock(c.at()), c)
	}
	for _, run := range runs {
		if name := skillOf(run); name != "" {
			t.say(fmt.Sprintf("; %s was run because of it", name), run)
		}
	}
	return nil
}

// degrees of belief below which a confidence is told.
const sure = 0.995

// plain says what a node is, when, and by whom.
func (t *teller) plain(n *node) string {
	name, provider, at := spoken(n.ID.Entity()), n.ID.ProviderSegment(), n.at()
	when := func(member string) string {
		if said, ok := n.time(member); ok {
			at = said
		}
		return t.clock(at)
	}
	switch {
	case n.is("speech.Command"), n.is("speech.Text"):
		text := fmt.Sprintf("'%s' was heard at %s from %s", strings.TrimRight(n.text("text"), " "), when("timestamp"), name)
		if speaker := n.text("speaker"); speaker != "" {
			text += ", said by " + speaker
		}
		return text
	case n.is("speech.Answer"):
		return fmt.Sprintf("'%s' was answered at %s", n.text("text"), when("timestamp"))
	case n.is("skill.Execution"), n.is("skill.Request"):
		verb := "was run"
		if n.is("skill.Request") {
			verb = "was asked for"
		}
		skill := skillOf(n)
		if skill == "" {
			skill = name
		}
		member := "started"
		if _, ok := n.time(member); !ok {
			member = "timestamp"
		}
		return fmt.Sprintf("%s %s at %s", skill, verb, when(member))
	case n.is("object.Instance"):
		text := fmt.Sprintf("%s was seen at %s by %s", name, when("timestamp"), provider)
		if class := n.to("object_class"); class != nil {
			text = fmt.Sprintf("%s (%s) was seen at %s by %s", name, spoken(class.ID.Entity()), when("timestamp"), provider)
		}
		if n.Confidence > 0 && n.Confidence < sure {
			text += fmt.Sprintf(" with confidence %.2f", n.Confidence)
		}
		return text
	case strings.EqualFold(n.ID.Memory(), "Grasp"):
		return fmt.Sprintf("a grasp of %s was found at %s by %s", name, t.clock(at), provider)
	case strings.HasPrefix(n.ID.Memory()[strings.IndexByte(n.ID.Memory(), ':')+1:], "Vision"):
		return fmt.Sprintf("an image was taken at %s by %s (%s)", t.clock(at), provider, name)
	case n.is("navigation.Result"):
		return t.result(n)
	case n.is("navigation.Event"):
		text := fmt.Sprintf("%s told at %s: %s", provider, when("timestamp"), strings.Join(words(n.text("kind")), " "))
		if m := n.text("message"); m != "" {
			text += " (" + strings.TrimRight(m, ".") + ")"
		}
		return text
	case n.is("navigation.Plan"):
		text := fmt.Sprintf("a way was planned at %s by %s", t.clock(at), provider)
		if m, ok := n.number("length"); ok {
			text = fmt.Sprintf("a way of %s was planned at %s by %s", metres(m), t.clock(at), provider)
		}
		return text
	}
	return fmt.Sprintf("%s (%s/%s) was written at %s by %s", name, n.ID.Memory(), n.ID.CoreSegment(), t.clock(at), provider)
}

// result says how a movement ended.
func (t *teller) result(n *node) string {
	what := "the goal"
	if goal := n.to("goal"); goal != nil {
		what = spoken(goal.ID.Entity())
	}
	at, ok := n.time("timestamp")
	if !ok {
		at = n.at()
	}
	text := what + " was not reached at " + t.clock(at)
	if reached, _ := n.members["success"].(bool); reached {
		text = what + " was reached at " + t.clock(at)
		if m, ok := n.number("path_length"); ok && m > 0 && !math.IsInf(m, 0) {
			text += " after " + metres(m)
		}
	} else if m := n.text("message"); m != "" {
		text += ": " + strings.TrimRight(m, ".")
	}
	return text
}

// inputs tells what a node was made from.
func (t *teller) inputs(n *node) {
	var texts []string
	var links []*node
	for _, a := range n.out {
		if a.to.Missing != "" || a.to == n || slices.Contains(links, a.to) || asideOf(a.path) {
			continue
		}
		to := a.to
		text := ""
		switch name := spoken(to.ID.Entity()); {
		case strings.Contains(a.path, "robot_locali"), strings.Contains(a.path, "robot_pose"):
			text = "the robot's pose of " + t.clock(to.at())
		case strings.HasPrefix(to.ID.Memory()[strings.IndexByte(to.ID.Memory(), ':')+1:], "Vision"):
			text = fmt.Sprintf("the image of %s from %s", t.clock(to.at()), name)
		default:
			text = fmt.Sprintf("%s (%s/%s) of %s", name, to.ID.Memory(), to.ID.CoreSegment(), t.clock(to.at()))
		}
		texts, links = append(texts, text), append(links, to)
		if len(texts) == maxInputs {
			break
		}
	}
	if len(texts) > 0 {
		t.say(", from "+listed(texts), links...)
	}
}

// maxInputs is how many inputs of one thing are told.
const maxInputs = 6

// asideOf reports whether a member links to what something is about, or to why it was done,
// and not to what it was made from.
func asideOf(path string) bool {
	name, _, _ := strings.Cut(path, "[")
	return slices.Contains([]string{"object_class", "execution", "request", "cause", "parent", "skill", "goal", "events"}, name)
}

// Short says in a few words what a node of a trace is about, such as the words that were
// spoken; "" if nothing is known. It needs the node's members.
func Short(of *service.Node) string {
	n := &node{Node: *of, members: membersOf(of)}
	switch {
	case n.is("speech.Command"), n.is("speech.Text"), n.is("speech.Answer"):
		return "'" + n.text("text") + "'"
	case n.is("skill.Execution"), n.is("skill.Request"):
		return strings.TrimLeft(strings.TrimSpace(skillOf(n)+" "+strings.ToLower(n.text("status"))), " ")
	case n.is("navigation.Plan"):
		if m, ok := n.number("length"); ok {
			return metres(m)
		}
	case n.is("navigation.Event"):
		return strings.Join(words(n.text("kind")), " ")
	case n.is("navigation.Result"):
		if reached, _ := n.members["success"].(bool); reached {
			return "reached"
		}
		return strings.Join(words(n.text("ended_by")), " ")
	}
	return ""
}
