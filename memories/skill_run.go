package memories

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/skill/executor"
)

const (
	// skillQueue is how many updates may wait for the executor; beyond that it reads again.
	skillQueue = 1 << 16
	// skillGrace is how long after the server's start providers are waited for.
	skillGrace = 3 * time.Second
	// skillRetry is when what a disk refused is written again.
	skillRetry = 200 * time.Millisecond
)

// run is the memory's Run hook: it tells the executor what is committed, and carries out what
// that decides.
func (s *skills) run(ctx context.Context, svc engram.Service) error {
	ctx = context.WithValue(ctx, byExecutor{}, s)
	s.symbols = &symbols{newConditionPresent(svc, s.elsewhere, nil), s.types}
	s.symbols.present.asks = true
	var patterns []engram.Pattern
	for _, segment := range []string{"Description", "Provider", "Switch", "Request", "Abort", "Report"} {
		patterns = append(patterns, engram.PatternOf(engram.MustID(skill.Memory+"/"+segment)))
	}
	stream, err := svc.Subscribe(ctx, engram.Subscription{Patterns: patterns, WithData: true, Queue: skillQueue})
	if err != nil {
		return err
	}
	began := engram.Now()
	l := &skillLoop{skills: s, ctx: ctx, watches: map[engram.ID]context.CancelFunc{}, met: make(chan conditions)}
	l.core = executor.New(executor.Config{
		Resolve: func(d *skill.Description, parameters any) (any, error) { return s.resolve(ctx, d, parameters) },
		Claimed: func(id engram.ID) bool { _, err := svc.Latest(ctx, id); return err == nil },
		Began:   began, Grace: skillGrace,
	})
	known, err := s.known(ctx)
	if err != nil {
		return err
	}
	batches := make(chan []engram.Update)
	ended := make(chan error, 1)
	l.running.Go(func() {
		defer stream.Close()
		for {
			batch, err := stream.Next(ctx)
			if err != nil {
				ended <- err
				return
			}
			select {
			case batches <- slices.Clone(batch):
			case <-ctx.Done():
				ended <- ctx.Err()
				return
			}
		}
	})
	defer l.running.Wait()
	l.carryOut(l.core.Restore(engram.Now(), known))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next, ok := l.next(); ok {
			timer.Reset(max(0, next.Sub(engram.Now())))
		} else {
			timer.Stop()
		}
		select {
		case batch := <-batches:
			for _, u := range batch {
				l.update(u)
			}
			l.flush()
		case a := <-s.asked:
			a.refused <- l.ask(a.requests)
		case c := <-l.met:
			l.add(l.core.Conditions(engram.Now(), c.execution, c.unmet))
			l.flush()
		case <-timer.C:
			l.carryOut(l.core.Advance(engram.Now()))
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// asking is requests of conditions, and what became of each.
type asking struct {
	requests []engram.EntityUpdate
	refused  chan []error
}

// ask is how conditions make requests: they are claimed in the commit that makes them, and begun when that is on
// the disk. It returns why each was refused, nil if it was not.
func (s *skills) ask(ctx context.Context, requests []engram.EntityUpdate) ([]error, error) {
	a := asking{requests, make(chan []error, 1)}
	select {
	case s.asked <- a:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case refused := <-a.refused:
		return refused, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *skillLoop) ask(requests []engram.EntityUpdate) []error {
	refused := make([]error, len(requests))
	for i, u := range requests {
		if refused[i] = l.admitRequest(l.ctx, u.Entity, u.Instances[0].Payload); refused[i] != nil {
			continue
		}
		r := skill.Request{}
		if refused[i] = l.types.Decode(u.Instances[0].Payload, &r); refused[i] == nil {
			l.writes = append(l.writes, u)
			l.add(l.core.Request(engram.Now(), u.Entity, r))
		}
	}
	l.flush()
	return refused
}

// known reads what an earlier run of the server has left.
func (s *skills) known(ctx context.Context) (k executor.Known, err error) {
	k = executor.Known{Descriptions: map[engram.ID]skill.Description{}, Requests: map[engram.ID]skill.Request{}, Providers: map[string]skill.ProviderState{}}
	read := func(err2 error) {
		if err == nil {
			err = err2
		}
	}
	// What a request needs was committed before it, and is read after it.
	read(each(ctx, s, "Request", func(id engram.ID, r *skill.Request) { k.Requests[id] = *r }))
	read(each(ctx, s, "Execution", func(id engram.ID, r *skill.Execution) {
		r.ID = id
		k.Executions = append(k.Executions, *r)
	}))
	read(each(ctx, s, "Abort", func(_ engram.ID, r *skill.AbortOrder) { k.Aborts = append(k.Aborts, *r) }))
	read(each(ctx, s, "Switch", func(_ engram.ID, r *skill.Switch) { k.Switches = append(k.Switches, *r) }))
	read(each(ctx, s, "Provider", func(id engram.ID, r *skill.ProviderState) { k.Providers[id.ProviderSegment()] = *r }))
	read(each(ctx, s, "Description", func(id engram.ID, d *skill.Description) {
		d.Name = id.Entity()
		k.Descriptions[id] = *d
	}))
	return k, err
}

// conditions are those of an execution that do not hold.
type conditions struct {
	execution engram.ID
	unmet     []executor.Unmet
}

// skillLoop is the executor at work. It belongs to the goroutine of the Run hook.
type skillLoop struct {
	*skills
	ctx     context.Context
	core    *executor.Executor
	pending []executor.Action // decided, and not carried out

	writes []engram.EntityUpdate // that come first: requests, and what a disk has refused
	starts []executor.Tell       // that wait for them
	retry  engram.Time           // when they are tried again

	watches map[engram.ID]context.CancelFunc
	met     chan conditions
	running sync.WaitGroup
}

func (l *skillLoop) next() (engram.Time, bool) {
	next, ok := l.core.Next()
	if len(l.writes) > 0 && (!ok || l.retry < next) {
		return l.retry, true
	}
	return next, ok
}

func (l *skillLoop) add(actions []executor.Action) { l.pending = append(l.pending, actions...) }

// update tells the executor of a commit.
func (l *skillLoop) update(u engram.Update) {
	if u.Dropped > 0 {
		l.readAgain()
	}
	if u.Snapshot == nil {
		return
	}
	now := engram.Now()
	id := u.ID.Truncate(engram.LevelEntity)
	switch id.CoreSegment() {
	case "Description":
		if d := decoded[skill.Description](l, u.Snapshot); d != nil {
			d.Name = id.Entity()
			l.add(l.core.Describe(now, id.ProviderSegment(), *d))
		}
	case "Provider":
		if st := decoded[skill.ProviderState](l, u.Snapshot); st != nil {
			l.add(l.core.Provider(now, id.ProviderSegment(), *st))
		}
	case "Switch":
		if r := decoded[skill.Switch](l, u.Snapshot); r != nil {
			l.add(l.core.Switch(now, *r))
		}
	case "Request":
		if r := decoded[skill.Request](l, u.Snapshot); r != nil {
			l.add(l.core.Request(now, id, *r))
		}
	case "Abort":
		if r := decoded[skill.AbortOrder](l, u.Snapshot); r != nil {
			l.add(l.core.Abort(now, *r))
		}
	case "Report":
		if r := decoded[skill.Report](l, u.Snapshot); r != nil {
			l.add(l.core.Report(now, id.ProviderSegment(), *r))
		}
	}
}

func decoded[R any](l *skillLoop, s *engram.Snapshot) *R {
	r := new(R)
	if err := l.types.DecodeSnapshot(s, r); err != nil {
		return nil
	}
	return r
}

// readAgain tells the executor what it may have missed.
func (l *skillLoop) readAgain() {
	now := engram.Now()
	read := func(err error) {
		if err != nil && l.ctx.Err() == nil {
			slog.Error("the executor of skills has missed updates and cannot read them", "error", err)
		}
	}
	read(each(l.ctx, l.skills, "Description", func(id engram.ID, d *skill.Description) {
		d.Name = id.Entity()
		l.add(l.core.Describe(now, id.ProviderSegment(), *d))
	}))
	read(each(l.ctx, l.skills, "Provider", func(id engram.ID, r *skill.ProviderState) { l.add(l.core.Provider(now, id.ProviderSegment(), *r)) }))
	read(each(l.ctx, l.skills, "Switch", func(_ engram.ID, r *skill.Switch) { l.add(l.core.Switch(now, *r)) }))
	read(each(l.ctx, l.skills, "Abort", func(_ engram.ID, r *skill.AbortOrder) { l.add(l.core.Abort(now, *r)) }))
	read(each(l.ctx, l.skills, "Request", func(id engram.ID, r *skill.Request) { l.add(l.core.Request(now, id, *r)) }))
	read(each(l.ctx, l.skills, "Report", func(id engram.ID, r *skill.Report) { l.add(l.core.Report(now, id.ProviderSegment(), *r)) }))
}

func (l *skillLoop) carryOut(actions []executor.Action) {
	l.add(actions)
	l.flush()
}

// flush writes what was decided, then tells providers. A start waits until its execution is
// written; a stop waits for nothing.
func (l *skillLoop) flush() {
	actions := l.pending
	l.pending = nil
	writes := l.writes
	starts := l.starts
	var stops []executor.Tell
	l.writes, l.starts = nil, nil
	put := func(id engram.ID, at engram.Time, record any) {
		u, err := l.types.Update(id, at, record)
		if err != nil {
			slog.Error("what becomes of a request cannot be written", "id", id.String(), "error", err)
			return
		}
		writes = append(writes, u)
	}
	for _, a := range actions {
		switch a := a.(type) {
		case executor.Write:
			put(a.Execution.ID, a.Execution.Timestamp, &a.Execution)
			if a.Transition != nil {
				put(a.Of, a.Transition.Timestamp, a.Transition)
			}
		case executor.Tell:
			if a.Order.Action == skill.StopAction {
				stops = append(stops, a)
			} else {
				starts = append(starts, a)
			}
		case executor.Fence:
			l.fence(a.Provider, a.Epoch)
		case executor.Watch:
			l.watch(a)
		case executor.Unwatch:
			l.unwatch(a.Execution)
		}
	}
	waits := map[engram.ID]bool{}
	if len(writes) > 0 {
		results, err := l.svc.Commit(l.ctx, engram.Commit{Updates: writes})
		for i, u := range writes {
			if err == nil && (results[i].Err == nil || !waits[u.Entity] && engram.CodeOf(results[i].Err) == engram.Invalid) {
				continue
			}
			waits[u.Entity] = true
			l.writes = append(l.writes, u)
		}
		if len(l.writes) > 0 {
			l.retry = engram.Now().Add(skillRetry)
		}
	}
	var tells []engram.EntityUpdate
	tell := func(t executor.Tell) {
		if u, err := l.types.Update(t.Call, t.Order.Timestamp, &t.Order); err == nil {
			tells = append(tells, u)
		}
	}
	for _, t := range stops {
		tell(t)
	}
	for _, t := range starts {
		if waits[t.Order.Execution] {
			l.starts = append(l.starts, t)
			continue
		}
		tell(t)
	}
	if len(tells) == 0 {
		return
	}
	results, err := l.svc.Commit(l.ctx, engram.Commit{Updates: tells})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil && l.ctx.Err() == nil {
		slog.Error("a provider of skills cannot be told what to do", "error", err)
	}
}

// watch evaluates an execution's conditions, now and whenever something changes.
func (l *skillLoop) watch(w executor.Watch) {
	ctx, cancel := context.WithCancel(l.ctx)
	l.watches[w.Execution] = cancel
	l.running.Go(func() {
		var patterns []engram.Pattern
		aging := false
		for _, c := range w.Conditions {
			if p, err := engram.ParsePattern(c.Pattern); err == nil {
				patterns = append(patterns, p)
			}
			aging = aging || c.MaxAge > 0
		}
		changed := make(chan struct{}, 1)
		if len(patterns) > 0 {
			stream, err := l.svc.Subscribe(ctx, engram.Subscription{Patterns: patterns, Slow: engram.SlowLatest})
			if err == nil {
				l.running.Go(func() {
					for _, err := range engram.Updates(ctx, stream) {
						if err != nil {
							return
						}
						select {
						case changed <- struct{}{}:
						default:
						}
					}
				})
			}
		}
		var tick <-chan time.Time
		if aging {
			ticker := time.NewTicker(skillRetry)
			defer ticker.Stop()
			tick = ticker.C
		}
		for {
			c := conditions{execution: w.Execution}
			for _, r := range w.Conditions {
				ok, value, ids, err := skill.Holds(ctx, l.svc, r)
				if err != nil {
					value = err.Error()
				}
				if !ok {
					c.unmet = append(c.unmet, executor.Unmet{Name: r.Name, Value: value, IDs: ids})
				}
			}
			select {
			case l.met <- c:
			case <-ctx.Done():
				return
			}
			select {
			case <-changed:
			case <-tick:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (l *skillLoop) unwatch(id engram.ID) {
	if cancel := l.watches[id]; cancel != nil {
		cancel()
		delete(l.watches, id)
	}
}
