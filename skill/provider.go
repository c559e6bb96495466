package skill

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Spec is what a provider says of a skill beside its handler.
type Spec struct {
	Name        string
	Description string
	// Defaults are the parameters that a request need not give: a map, or a struct of the
	// handler's type.
	Defaults         any
	Resources        []string // parts of the robot it needs for itself alone
	Timeout          time.Duration
	ExpectedDuration time.Duration
	StopTimeout      time.Duration // 0: DefaultStopTimeout
	Priority         int
	Preemptible      bool
	Resumable        bool
	OnCallerGone     string
	Symbolic         map[string]string // parameter → what it may name: "location", "item", "class"
	Conditions       []Requirement
	Subskills        []string // skills it calls, each as "Provider/Skill"
	// ParameterType and ResultType name types that the memory knows; "" has them derived from
	// the handler's, if those are structs.
	ParameterType, ResultType string
	// Takes are the parameters of a handler that takes no struct: by name, their types in IDF,
	// such as String, Double or List<String>, with ? behind where one may be left out.
	Takes map[string]string
	// CannotStop has it refuse each order to stop.
	CannotStop bool
	// Scripted is what an execution does where a script takes the place of what is real.
	Scripted any
}

// Option is an option of [NewProvider].
type Option func(*Provider)

// InMemory has a provider work in a memory of another name, such as "robot1:Skill".
func InMemory(name string) Option { return func(p *Provider) { p.memory = name } }

// WithLease sets after which time without a word the provider counts as lost.
func WithLease(lease time.Duration) Option { return func(p *Provider) { p.lease = lease } }

// Provider offers skills. Its methods are safe for concurrent use.
type Provider struct {
	svc    engram.Service
	name   string
	memory string
	lease  time.Duration
	offers map[string]*offered
	types  *Types
	err    error // of NewProvider's and Handle's arguments

	mu      sync.Mutex
	epoch   int64
	calls   map[attempt]*Call  // that run
	ended   map[attempt]Report // the last reports of those that have ended
	endedIn []attempt
	wg      sync.WaitGroup // handlers

	reports *outbox
}

// attempt is what is begun once.
type attempt struct {
	execution engram.ID
	n         int32
}

// offered is a skill with its handler.
type offered struct {
	Spec
	in, out reflect.Type
	handle  func(c *Call, parameters any) (any, error)
}

// NewProvider returns a provider of that name, which is unique in the memory. It does nothing
// before Run.
func NewProvider(svc engram.Service, name string, opts ...Option) *Provider {
	p := &Provider{svc: svc, name: name, memory: Memory, lease: DefaultLease, offers: map[string]*offered{},
		calls: map[attempt]*Call{}, ended: map[attempt]Report{}}
	for _, opt := range opts {
		opt(p)
	}
	p.reports = newOutbox(p)
	p.err = engram.CheckName(name)
	return p
}

// Handle adds a skill. In and Out are structs, whose exported fields are members in snake case
// (`idf:"name,optional,type=Pose"` says otherwise), or map[string]any, or any for what has no
// type. It must be called before Run. It panics if the skill has no name, or the name is taken.
//
// The handler runs in a goroutine of its own. Its Call is a context too, which ends when it
// shall stop. When the handler returns, all that it moved stands still: with an error after
// that it was stopped, without one it has succeeded.
func Handle[In, Out any](p *Provider, s Spec, handler func(c *Call, in In) (Out, error)) {
	if s.Name == "" || p.offers[s.Name] != nil {
		panic(fmt.Sprintf("skill: the provider %s cannot have a skill named %q (again)", p.name, s.Name))
	}
	p.offers[s.Name] = &offered{Spec: s, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), handle: func(c *Call, parameters any) (any, error) {
		var in In
		if err := fill(reflect.ValueOf(&in).Elem(), parameters, ""); err != nil {
			return nil, &Failure{Code: CodeParameters, Message: err.Error(), Retry: RetryNo}
		}
		out, err := handler(c, in)
		if err != nil {
			return nil, err
		}
		return plain(reflect.ValueOf(&out).Elem()), nil
	}}
}

// Run registers the provider's skills and executes what is asked for until ctx ends; then it
// stops what runs, says that it is out of service, and returns nil. The error is AlreadyExists
// if another provider of this name lives. Where the server is away it tries again; after a
// lease without an answer it stops what runs, as the contract asks for.
func (p *Provider) Run(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	outbox, stopOutbox := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { p.reports.run(outbox) })
	defer func() {
		stopOutbox()
		sending.Wait()
	}()
	for {
		again, err := p.serve(ctx)
		p.stopAll(ReasonLostProvider, "its provider ends")
		p.wg.Wait()
		if ctx.Err() != nil {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.lease)
			p.reports.flush(end)
			_, _ = p.beat(end, false)
			cancel()
			return nil
		}
		if !again {
			return err
		}
	}
}

// serve is one epoch. It returns when ctx has ended, when the epoch is not believed any more
// (again is true then), or when the memory refuses the provider.
func (p *Provider) serve(ctx context.Context) (again bool, err error) {
	p.mu.Lock()
	// Two that begin at once are told apart.
	p.epoch = max(int64(engram.Now())+rand.Int64N(int64(time.Microsecond)), p.epoch+1)
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var orders sync.WaitGroup
	defer orders.Wait()
	defer cancel()

	// Who has this name is given the time to be found dead.
	patience := time.Now().Add(p.lease + p.lease/2)
	restarted := make(chan struct{}, 1)
	var number uint64
	listens := false
	for {
		if p.types == nil {
			p.types, err = LoadTypes(ctx, p.svc)
		}
		if p.types != nil && !listens {
			// Who is in service hears.
			listens = true
			ready := make(chan struct{})
			orders.Go(func() { p.listen(ctx, restarted, sync.OnceFunc(func() { close(ready) })) })
			select {
			case <-ready:
			case <-ctx.Done():
			}
		}
		if p.types != nil {
			if number, err = p.register(ctx); err == nil {
				break
			}
		}
		switch code := engram.CodeOf(err); {
		case ctx.Err() != nil:
			return false, nil
		case code == engram.AlreadyExists && time.Now().Before(patience), code == engram.Unavailable, code == engram.Canceled, code == engram.Exhausted:
		default:
			return false, err
		}
		if !pause(ctx, min(retryAfter, p.lease/10)) {
			return false, nil
		}
	}
	ticker := time.NewTicker(p.lease / 3)
	defer ticker.Stop()
	acknowledged := time.Now()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-restarted:
			number = ^uint64(0)
		case <-ticker.C:
		}
		sent := time.Now()
		hurry, done := context.WithTimeout(ctx, p.lease)
		n, err := p.beat(hurry, true)
		if err == nil && n < number { // another server, or the same one begun anew
			n, err = p.register(hurry)
			p.sayAgain()
		}
		done()
		switch code := engram.CodeOf(err); {
		case err == nil:
			number, acknowledged = n, sent
		case code == engram.Forbidden, code == engram.AlreadyExists, code == engram.Conflict:
			return true, nil // fenced
		}
		if time.Since(acknowledged) >= p.lease {
			p.stopAll(ReasonLostProvider, "the memory has not answered for a lease")
		}
	}
}

// register makes types of parameters, the provider and its skills known.
func (p *Provider) register(ctx context.Context) (number uint64, err error) {
	var commit engram.Commit
	for _, o := range p.sorted() {
		d, err := p.describe(ctx, o)
		if err != nil {
			return 0, err
		}
		id, err := engram.NewID(p.memory, "Description", p.name, o.Name)
		if err != nil {
			return 0, err
		}
		u, err := p.types.Update(id, engram.Now(), d)
		if err != nil {
			return 0, err
		}
		commit.Updates = append(commit.Updates, u)
	}
	if number, err = p.beat(ctx, true); err != nil || len(commit.Updates) == 0 {
		return number, err
	}
	results, err := p.svc.Commit(ctx, commit)
	if err != nil {
		return number, err
	}
	return number, engram.FirstError(results)
}

func (p *Provider) sorted() []*offered {
	var all []*offered
	for _, o := range p.offers {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *offered) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (p *Provider) describe(ctx context.Context, o *offered) (*Description, error) {
	in := o.in
	if len(o.Takes) > 0 {
		var err error
		if in, err = membersType(o.Takes); err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), o.Name, "%w", err)
		}
	}
	parameters, err := p.typeOf(ctx, in, o.ParameterType, o.Name+"Parameters")
	if err != nil {
		return nil, err
	}
	result, err := p.typeOf(ctx, o.out, o.ResultType, o.Name+"Result")
	if err != nil {
		return nil, err
	}
	d := &Description{
		Name: o.Name, Description: o.Description, SkillProvider: p.name, ParameterType: parameters, ResultType: result,
		Timeout: o.Timeout, Resources: o.Resources, Priority: int32(o.Priority), ExpectedDuration: o.ExpectedDuration,
		StopTimeout: o.StopTimeout, Resumable: o.Resumable, Preemptible: o.Preemptible, OnCallerGone: o.OnCallerGone,
		Symbolic: o.Symbolic, Conditions: o.Conditions,
	}
	if o.Defaults != nil {
		d.DefaultParameters = plain(reflect.ValueOf(o.Defaults))
	}
	if o.Scripted != nil {
		d.Scripted = plain(reflect.ValueOf(o.Scripted))
	}
	for _, s := range o.Subskills {
		provider, name, named := strings.Cut(s, "/")
		if !named {
			provider, name = p.name, s
		}
		id, err := engram.NewID(Memory, "Description", provider, name)
		if err != nil {
			return nil, err
		}
		d.Subskills = append(d.Subskills, id)
	}
	return d, nil
}

// typeOf returns the name of a type that the memory knows, made of a Go struct if it is not
// named. A struct that was another one when the memory heard of it first gets another name.
func (p *Provider) typeOf(ctx context.Context, t reflect.Type, name, short string) (string, error) {
	if name != "" || t.Kind() != reflect.Struct {
		return name, nil
	}
	def, err := derive(t, "skill."+identifier(p.name)+"."+identifier(short))
	if err != nil {
		return "", err
	}
	err = p.svc.AddType(ctx, def)
	if engram.CodeOf(err) == engram.AlreadyExists {
		if def, err = derive(t, def.Name+"_"+digest(def)); err != nil {
			return "", err
		}
		err = p.svc.AddType(ctx, def)
	}
	return def.Name, err
}

// identifier makes a name one of types.
func identifier(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "_%x", r)
		}
	}
	if s := b.String(); s == "" || s[0] >= '0' && s[0] <= '9' {
		return "_" + s
	}
	return b.String()
}

// beat commits that the provider lives, or ends.
func (p *Provider) beat(ctx context.Context, inService bool) (number uint64, err error) {
	id, err := engram.NewID(p.memory, "Provider", p.name, p.name)
	if err != nil || p.types == nil {
		return 0, err
	}
	at := engram.Now()
	p.mu.Lock()
	state := ProviderState{Timestamp: at, Epoch: p.epoch, Lease: p.lease, InService: inService}
	p.mu.Unlock()
	u, err := p.types.Update(id, at, &state)
	if err != nil {
		return 0, err
	}
	results, err := p.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return 0, err
	}
	return results[0].Number, results[0].Err
}

// listen takes orders; ready is called when it does.
func (p *Provider) listen(ctx context.Context, restarted chan<- struct{}, ready func()) {
	calls, err := engram.NewID(p.memory, "Call", p.name)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		stream, err := p.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.PatternOf(calls)},
			Start: engram.Start{Kind: engram.StartLast, N: 1}, WithData: true, Queue: 1 << 14})
		if err == nil {
			ready()
			for u, err := range engram.Updates(ctx, stream) {
				if err != nil {
					break
				}
				if u.Restarted || u.Dropped > 0 {
					select {
					case restarted <- struct{}{}:
					default:
					}
				}
				if u.Snapshot != nil {
					p.order(ctx, u.ID.Entity(), u.Snapshot)
				}
				if u.Dropped > 0 {
					break // and read the newest of each again
				}
			}
		}
		pause(ctx, retryAfter)
	}
}

// order obeys.
func (p *Provider) order(ctx context.Context, entity string, s *engram.Snapshot) {
	var o Order
	if err := p.types.DecodeSnapshot(s, &o); err != nil {
		return // of a type that is none of ours
	}
	key := attempt{o.Execution, o.Attempt}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.ProviderEpoch != p.epoch {
		return
	}
	c := p.calls[key]
	last, ended := p.ended[key]
	switch {
	case ended:
		p.reports.add(entity, last) // it may have been lost
	case o.Action == StopAction && c == nil:
		p.reports.add(entity, Report{Execution: o.Execution, ProviderEpoch: o.ProviderEpoch, Attempt: o.Attempt, Kind: ReportStopped})
	case o.Action == StopAction && (c.spec.CannotStop || c.refuses):
		p.reports.add(entity, c.report(Report{Kind: ReportStopRefused, Message: "it cannot be stopped"}))
	case o.Action == StopAction:
		c.deadline = o.Deadline
		c.stop(cmp.Or(o.Reason, ReasonOperator))
	case c != nil:
		p.reports.add(entity, c.report(Report{Kind: ReportAccepted}))
	default:
		p.begin(ctx, entity, key, o)
	}
}

// begin runs a handler; p.mu is held.
func (p *Provider) begin(ctx context.Context, entity string, key attempt, o Order) {
	of := p.offers[o.Skill]
	if of == nil {
		p.reports.add(entity, Report{Execution: o.Execution, ProviderEpoch: o.ProviderEpoch, Attempt: o.Attempt, Kind: ReportFailed,
			Failure: &Failure{Code: CodeUnknownSkill, Message: "the provider " + p.name + " does not have this skill"}})
		return
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &Call{Context: own, Execution: o.Execution, Skill: o.Skill, Caller: o.Caller, Cause: o.Cause, Attempt: int(o.Attempt), EndsBy: o.Deadline,
		provider: p, spec: &of.Spec, entity: entity, epoch: o.ProviderEpoch, cancel: cancel}
	p.calls[key] = c
	p.wg.Go(func() {
		result, err := run(of, c, o.Parameters)
		r := Report{Kind: ReportSucceeded, Result: result}
		if err != nil {
			r = Report{Kind: ReportFailed, Failure: failureOf(err)}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil && c.reason != "" && !c.refuses {
			r = Report{Kind: ReportStopped, Message: c.reason}
		}
		cancel(nil)
		delete(p.calls, key)
		p.ended[key] = c.report(r)
		if p.endedIn = append(p.endedIn, key); len(p.endedIn) > maxEnded {
			delete(p.ended, p.endedIn[0])
			p.endedIn = p.endedIn[1:]
		}
		p.reports.add(entity, p.ended[key])
	})
}

// maxEnded is how many executions a provider remembers to have ended.
const maxEnded = 1000

func run(of *offered, c *Call, parameters any) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{Code: "panic", Message: fmt.Sprint(r), Retry: RetryNo}
		}
	}()
	return of.handle(c, parameters)
}

// stopAll stops what runs, without an order.
func (p *Provider) stopAll(reason, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		c.deadline = engram.Now().Add(cmp.Or(c.spec.StopTimeout, DefaultStopTimeout))
		c.stop(reason)
	}
}

// sayAgain tells a server that began anew what it may not have heard.
func (p *Provider) sayAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		p.reports.add(c.entity, c.report(Report{Kind: ReportAccepted}))
	}
}
