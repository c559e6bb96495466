package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/skill"
)

// Bounds of what is repeated.
const (
	maxRepeats = 1_000_000
	maxDepth   = 8 // of steps in steps
)

// step is one thing that a skill does.
type step struct {
	place
	when   map[string]any // only where parameters have these values
	values any            // which may name parameters
	names  []string       // of these parameters
	do     action
}

// action carries a step out, whose values are filled in. The error is the cause of c.going if it was told to stop.
type action func(c *call, values any) error

// verb is a key of a step that says what is done.
type verb struct {
	name   string
	beside []string // keys that may stand beside it
	read   func(f *fields, depth int) (values any, do action)
}

// verbs returns the verbs, of two that may stand beside each other the one that counts first.
func verbs() []verb {
	return []verb{
		{"wait", nil, (*fields).wait},
		{"progress", []string{"message"}, (*fields).progress},
		{"result", nil, (*fields).result},
		{"fail", []string{"code", "retry", "blocked_by"}, (*fields).failure},
		{"run", []string{"parameters", "ignore_failure"}, (*fields).run},
		{"commit", []string{"type", "values"}, (*fields).commit},
		{"refuse", nil, (*fields).refuse},
		{"ignore_stop", nil, (*fields).ignoreStop},
		{"repeat", []string{"message", "steps"}, (*fields).repeat},
		{"message", nil, (*fields).progress},
	}
}

// stepList reads steps.
func (r *reader) stepList(all []ast.Node, depth int) []step {
	var steps []step
	for _, n := range all {
		if r.steps++; r.steps > MaxSteps {
			if r.steps == MaxSteps+1 {
				r.fail(n, "there are more than %d steps; write several files", MaxSteps)
			}
			return steps
		}
		steps = append(steps, r.step(n, depth))
	}
	return steps
}

// step reads a step.
func (r *reader) step(n ast.Node, depth int) step {
	s := step{place: r.at(n)}
	pairs, ok := r.pairs(n, "a step")
	if !ok {
		return s
	}
	var names, given []string
	for _, kv := range pairs {
		given = append(given, kv.Key.String())
	}
	all := verbs()
	for _, v := range all {
		names = append(names, v.name)
	}
	at := slices.IndexFunc(all, func(v verb) bool { return slices.Contains(given, v.name) })
	if at < 0 {
		r.noStep(n, given, all)
		return s
	}
	v := all[at]
	for _, key := range given {
		if key != v.name && slices.Contains(names, key) && !slices.Contains(v.beside, key) {
			hint := key + " is a step of its own; begin it with \"- \""
			if v.name == "fail" && key == "message" {
				hint = "its message stands after \"fail:\"; a word for programs is its code"
			}
			r.fail(n, "the step %s: %s", v.name, hint)
			return s
		}
	}
	f := r.mapping(n, "the step "+v.name, append([]string{v.name, "when"}, v.beside...)...)
	if value := f.at[v.name]; v.name != "result" && strings.Contains(kind(value), "mapping") {
		f.wrongf(v.name, "a plain value is expected, not a mapping; what else there is to say, such as %s, stands beside it", strings.Join(append(v.beside, "when"), ", "))
		return s
	}
	s.values, s.do = v.read(f, depth)
	s.names = parametersIn(s.values)
	s.when = f.dict("when")
	for name, value := range s.when {
		switch value.(type) {
		case nil, []any, map[string]any:
			f.wrongf("when", "%s: a plain value is expected", name)
		}
	}
	return s
}

// noStep says what is wrong with a step that has none of the verbs.
func (r *reader) noStep(n ast.Node, given []string, all []verb) {
	known := []string{"when"}
	for _, v := range all {
		known = append(known, v.name)
		for _, key := range given {
			if slices.Contains(v.beside, key) {
				r.fail(n, "a step: %[1]s stands in one step with %[2]s: {%[2]s: …, %[1]s: …}", key, v.name)
				return
			}
		}
	}
	before := len(r.wrong)
	r.mapping(n, "a step", known...)
	if len(r.wrong) == before {
		r.fail(n, "a step says what is done: %s", strings.Join(known[1:], ", "))
	}
}

// template returns a text that may name parameters.
func (f *fields) template(key string) string {
	text := f.text(key)
	if _, ok := scalar(f.at[key]); ok && text == "" && key != "message" {
		f.wrongf(key, "it is empty")
	}
	if _, err := plain(text); err != nil {
		f.wrongf(key, "%w", err)
	}
	return text
}

func (f *fields) wait(int) (any, action) {
	d := f.duration("wait")
	return nil, func(c *call, _ any) error { return c.wait(d) }
}

func (f *fields) progress(int) (any, action) {
	done := -1.0 // unknown
	if f.has("progress") {
		switch v := f.value("progress").(type) {
		case int64:
			done = float64(v)
		case float64:
			done = v
		}
		if !(done >= 0 && done <= 1) {
			f.wrongf("progress", "a number from 0 to 1 is expected, not %s", kind(f.at["progress"]))
		}
	}
	return f.template("message"), func(c *call, message any) error { return c.progress(done, textOf(message)) }
}

func (f *fields) result(int) (any, action) {
	return f.dict("result"), func(c *call, values any) error {
		all, err := c.typed(c.s.ResultType, values)
		c.SetResult(all)
		return err
	}
}

func (f *fields) failure(int) (any, action) {
	code, retry := "failed", f.flag("retry")
	if f.has("code") {
		code = f.text("code")
	}
	var blockedBy []any
	for _, text := range f.texts("blocked_by") {
		blockedBy = append(blockedBy, text)
		f.id("blocked_by", text, engram.Parse)
	}
	return []any{f.template("fail"), blockedBy}, func(c *call, values any) error {
		filled := values.([]any)
		why := &skill.Failure{Code: code, Message: textOf(filled[0]), Retry: retry}
		for _, text := range filled[1].([]any) {
			id, err := engram.Parse(textOf(text))
			if err != nil {
				return err
			}
			why.BlockedBy = append(why.BlockedBy, id)
		}
		return why
	}
}

// id checks the text of an ID, which is known only when parameters are where it names some.
func (f *fields) id(key, text string, parse func(string) (engram.ID, error)) {
	_, err := plain(text)
	if err == nil && len(parametersIn(text)) == 0 {
		_, err = parse(text)
	}
	if err != nil {
		f.wrongf(key, "%w", err)
	}
}

func (f *fields) run(int) (any, action) {
	ignoreFailure := f.flag("ignore_failure")
	id, err := skillID(f.text("run"))
	if _, ok := scalar(f.at["run"]); ok && err != nil {
		f.wrongf("run", "%w", err)
	}
	return f.dict("parameters"), func(c *call, values any) error {
		err := c.run(id, values)
		if ignoreFailure && c.going.Err() == nil {
			return nil
		}
		return err
	}
}

func (f *fields) commit(int) (any, action) {
	entity, typ := f.template("commit"), ""
	if entity != "" {
		f.id("commit", entity, entityID)
	}
	if f.required("type") != nil {
		typ = f.text("type")
	}
	return []any{entity, f.dict("values")}, func(c *call, values any) error {
		filled := values.([]any)
		return c.commit(textOf(filled[0]), typ, filled[1])
	}
}

// entityID reads the ID of an entity.
func entityID(text string) (engram.ID, error) {
	id, err := engram.Parse(text)
	if err == nil && id.Level() != engram.LevelEntity {
		err = fmt.Errorf("%.60q: name an entity as MEMORY/SEGMENT/PROVIDER/NAME, such as Object/Instance/Arm/cup", text)
	}
	return id, err
}

func (f *fields) refuse(int) (any, action) {
	return f.template("refuse"), func(c *call, message any) error {
		c.answer(func(a *answer) { a.refusal, a.refuses = textOf(message), true })
		return nil
	}
}

func (f *fields) ignoreStop(int) (any, action) {
	on := f.flag("ignore_stop")
	return nil, func(c *call, _ any) error {
		c.answer(func(a *answer) { a.deaf = on })
		return nil
	}
}

func (f *fields) repeat(depth int) (any, action) {
	times, tells := f.value("repeat"), f.has("message")
	if names := parametersIn(times); len(names) == 0 {
		if _, err := repeats(times); err != nil {
			f.wrongf("repeat", "a whole number from 0 to %d is expected, not %s", maxRepeats, kind(f.at["repeat"]))
		}
	}
	var steps []step
	if depth++; depth > maxDepth {
		f.wrongf("repeat", "steps nest more than %d deep", maxDepth)
	} else if f.required("steps") != nil {
		steps = f.stepList(f.list("steps"), depth)
	}
	return []any{times, f.template("message")}, func(c *call, values any) error {
		filled := values.([]any)
		n, err := repeats(filled[0])
		for i := 0; i < n && err == nil; i++ {
			if tells {
				err = c.progress(float64(i)/float64(n), textOf(filled[1]))
			}
			if err == nil {
				err = c.steps(steps)
			}
		}
		return err
	}
}

// repeats returns how often something is repeated.
func repeats(v any) (int, error) {
	n := int64(-1)
	switch v := v.(type) {
	case int64:
		n = v
	case int32:
		n = int64(v)
	case float64:
		if float64(int64(v)) == v {
			n = int64(v)
		}
	}
	if n < 0 || n > maxRepeats {
		return 0, fmt.Errorf("%v: a whole number from 0 to %d is expected", v, maxRepeats)
	}
	return int(n), nil
}
