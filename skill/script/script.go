// Package script has providers of skills that do as a file says, to take the place of real ones in tests
// and demonstrations: how long each skill takes, what comes of it, which executions fail, and how it
// answers when it is to stop. A file, in YAML or JSON:
//
//	provider: Arm
//	skills:
//	  Grasp:
//	    description: closes the hand around something
//	    types: {object: String, force: Double?}  # of the parameters; ? may be left out. Without it, any are taken
//	    parameters: {object: cup, force: 10}     # defaults
//	    resources: [right_arm]
//	    duration: 2s                             # or several, of one execution after the other
//	    messages: [approaching, closing]         # told on the way, with the progress
//	    result: {force: 9.5}
//	    failure: {on: [2], code: slipped, message: it slipped, retry: "yes"}   # on: all without it
//	    stop: 300ms                              # or refuse, or never
//	    answer: never                            # it is called and says nothing
package script

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/yamldoc"
	"github.com/seed-301d4374/engram/skill"
)

// Script is what a file says. Its fields are the file's.
type Script struct {
	Provider string            `yaml:"provider"`
	Lease    Duration          `yaml:"lease"` // of the provider; 0: as the SDK has it
	Skills   map[string]*Skill `yaml:"skills"`
}

// Skill is a scripted skill.
type Skill struct {
	Description  string              `yaml:"description"`
	Types        map[string]string   `yaml:"types"`      // of the parameters, by their names
	Parameters   map[string]any      `yaml:"parameters"` // defaults
	Symbolic     map[string]string   `yaml:"symbolic"`
	Type         string              `yaml:"parameter_type"` // full name of a type; "" takes anything
	ResultType   string              `yaml:"result_type"`
	Resources    []string            `yaml:"resources"`
	Timeout      Duration            `yaml:"timeout"`
	Expected     Duration            `yaml:"expected_duration"`
	StopTimeout  Duration            `yaml:"stop_timeout"`
	Priority     int                 `yaml:"priority"`
	Preemptible  bool                `yaml:"preemptible"`
	Resumable    bool                `yaml:"resumable"`
	OnCallerGone string              `yaml:"on_caller_gone"`
	Conditions   []skill.Requirement `yaml:"conditions"`

	Duration Durations `yaml:"duration"`
	Messages []string  `yaml:"messages"`
	Result   any       `yaml:"result"`
	Failure  *Failure  `yaml:"failure"`
	Stop     string    `yaml:"stop"`   // how long stopping takes, "refuse" or "never"; "" stops at once
	Answer   string    `yaml:"answer"` // "never" has it say nothing after it was called

	runs    atomic.Int64
	stopFor time.Duration
}

// Failure says which executions fail, and how.
type Failure struct {
	On      []int64 `yaml:"on"` // counted from 1; empty is all
	Code    string  `yaml:"code"`
	Message string  `yaml:"message"`
	Retry   string  `yaml:"retry"`
	After   float64 `yaml:"after"` // how much of the duration passes before, from 0 to 1; 0 is all of it
}

// Duration is a duration that is written as 500ms or 2s.
type Duration time.Duration

// UnmarshalYAML reads a duration.
func (d *Duration) UnmarshalYAML(b []byte) error {
	var text string
	if err := yaml.Unmarshal(b, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return engram.Errorf(engram.Invalid, text, "is no duration, such as 500ms or 2s")
	}
	*d = Duration(v)
	return nil
}

// Durations are those of executions one after the other; the last one counts from then on.
type Durations []Duration

// UnmarshalYAML reads one duration, or a list.
func (d *Durations) UnmarshalYAML(b []byte) error {
	var all []Duration
	if err := yaml.Unmarshal(b, &all); err == nil {
		*d = all
		return nil
	}
	var one Duration
	if err := one.UnmarshalYAML(b); err != nil {
		return err
	}
	*d = Durations{one}
	return nil
}

// Parse reads a script. The error is Invalid and says where.
func Parse(b []byte) (*Script, error) {
	if _, err := yamldoc.Parse(b); err != nil {
		return nil, engram.Errorf(engram.Invalid, "script", "%w", err)
	}
	s := &Script{}
	if err := yaml.UnmarshalWithOptions(b, s, yaml.Strict()); err != nil {
		return nil, engram.Errorf(engram.Invalid, "script", "%s", yaml.FormatError(err, false, false))
	}
	if len(s.Skills) == 0 {
		return nil, engram.Errorf(engram.Invalid, "script", "it has no skills")
	}
	s.Provider = cmp.Or(s.Provider, "Script")
	for name, k := range s.Skills {
		if k == nil {
			k = &Skill{}
			s.Skills[name] = k
		}
		if k.Stop != "" && k.Stop != "refuse" && k.Stop != "never" {
			d, err := time.ParseDuration(k.Stop)
			if err != nil || d < 0 {
				return nil, engram.Errorf(engram.Invalid, name, "stop: %q is no duration, nor refuse or never", k.Stop)
			}
			k.stopFor = d
		}
		for parameter := range k.Parameters {
			if k.Types != nil && k.Types[parameter] == "" {
				return nil, engram.Errorf(engram.Invalid, name, "parameters: %s has no type", parameter)
			}
		}
		if len(k.Types) > 0 && k.Type != "" {
			return nil, engram.Errorf(engram.Invalid, name, "types and parameter_type: one of them says what the parameters are")
		}
		if k.Answer != "" && k.Answer != "never" {
			return nil, engram.Errorf(engram.Invalid, name, "answer: %q; there is never", k.Answer)
		}
	}
	return s, nil
}

// Run offers the script's skills until ctx ends.
func (s *Script) Run(ctx context.Context, svc engram.Service, opts ...skill.Option) error {
	if s.Lease > 0 {
		opts = append(opts, skill.WithLease(time.Duration(s.Lease)))
	}
	p := skill.NewProvider(svc, s.Provider, opts...)
	for name, k := range s.Skills {
		spec := skill.Spec{
			Name: name, Description: k.Description, Resources: k.Resources, Timeout: time.Duration(k.Timeout),
			ExpectedDuration: time.Duration(k.Expected), StopTimeout: time.Duration(k.StopTimeout), Priority: k.Priority,
			Preemptible: k.Preemptible, Resumable: k.Resumable, OnCallerGone: k.OnCallerGone, Symbolic: k.Symbolic,
			Conditions: k.Conditions, ParameterType: k.Type, ResultType: k.ResultType, CannotStop: k.Stop == "refuse",
			Takes: k.Types, Scripted: k.does(),
		}
		if k.Parameters != nil {
			spec.Defaults = k.Parameters
		}
		skill.Handle(p, spec, func(c *skill.Call, _ any) (any, error) { return k.execute(ctx, c) })
	}
	return p.Run(ctx)
}

// does returns what an execution does, for the description.
func (k *Skill) does() map[string]any {
	does := map[string]any{"stop": cmp.Or(k.Stop, "0s"), "answer": k.Answer}
	var durations []any
	for _, d := range k.Duration {
		durations = append(durations, time.Duration(d))
	}
	does["duration"] = durations
	if len(k.Messages) > 0 {
		does["messages"] = k.Messages
	}
	if k.Result != nil {
		does["result"] = k.Result
	}
	if f := k.Failure; f != nil {
		does["failure"] = map[string]any{"on": f.On, "code": f.Code, "message": f.Message, "retry": f.Retry, "after": f.After}
	}
	return does
}

// steps is how often progress is told at least.
const steps = 10

// execute does as the script says. It ends with over, whatever the script says.
func (k *Skill) execute(over context.Context, c *skill.Call) (any, error) {
	n := k.runs.Add(1)
	if k.Answer == "never" {
		<-over.Done()
		return nil, over.Err()
	}
	var takes time.Duration
	if len(k.Duration) > 0 {
		takes = time.Duration(k.Duration[min(int(n), len(k.Duration))-1])
	}
	fails := k.Failure != nil && (len(k.Failure.On) == 0 || slices.Contains(k.Failure.On, n))
	until := 1.0
	if fails && k.Failure.After > 0 {
		until = min(k.Failure.After, 1)
	}
	parts := max(steps, len(k.Messages))
	message := ""
	for i := 0; takes > 0 && float64(i)/float64(parts) < until; i++ {
		if len(k.Messages) > 0 {
			message = k.Messages[i*len(k.Messages)/parts]
		}
		c.Progress(float64(i)/float64(parts), message)
		if err := wait(c, takes/time.Duration(parts)); err != nil {
			return k.stopped(over, err)
		}
	}
	if fails {
		return nil, skill.Errorf(cmp.Or(k.Failure.Code, "scripted"), k.Failure.Retry, nil, "%s", cmp.Or(k.Failure.Message, "the script has it fail"))
	}
	return k.Result, nil
}

// stopped is what an order to stop leads to.
func (k *Skill) stopped(over context.Context, why error) (any, error) {
	if k.Stop == "never" {
		<-over.Done()
	} else if k.stopFor > 0 {
		_ = wait(over, k.stopFor) // at the end of the program, at once
	}
	return nil, why
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
