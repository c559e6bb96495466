package sense

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// readRules subscribes to the rules and has all that there are followed.
func (a *Attention) readRules(ctx context.Context) (engram.UpdateStream, error) {
	rules := engram.MustPattern(Segment)
	stream, err := a.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{rules}, WithData: true})
	if err != nil {
		return nil, err
	}
	r, err := a.svc.Query(ctx, rules.Select(engram.Latest(1)))
	if err != nil {
		_ = stream.Close() // it was not read
		return nil, err
	}
	for _, it := range slices.SortedFunc(r.All(), func(x, y engram.Item) int { return cmp.Compare(x.Snapshot.Time, y.Snapshot.Time) }) {
		a.setRule(ctx, it)
	}
	if len(r.Missing) == 0 {
		a.forgetRules(r)
	}
	a.mu.Lock()
	a.mu.stream = stream
	a.mu.Unlock()
	return stream, nil
}

// written takes notice of the number of what was written. If numbers begin again the server does, and may have
// forgotten rules: they are read anew.
func (a *Attention) written(number uint64) {
	a.mu.Lock()
	anew := number < a.mu.number
	a.mu.number = number
	stream := a.mu.stream
	a.mu.Unlock()
	if anew && stream != nil {
		_ = stream.Close() // it is only read
	}
}

// forgetRules ends the rules that are not there any more: a server without a disk forgets them when it restarts.
func (a *Attention) forgetRules(there *engram.Result) {
	names := map[string]bool{}
	for it := range there.All() {
		names[it.ID.Entity()] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, f := range a.mu.rules {
		if names[name] {
			continue
		}
		if f.stop != nil {
			f.stop()
		}
		a.mu.gate.remove(a.mu.gate.rules[name], a.config.Now())
		delete(a.mu.rules, name)
		delete(a.mu.problems, name)
	}
}

// followRules follows the rules until the attention ends.
func (a *Attention) followRules(stream engram.UpdateStream) {
	for a.ctx.Err() == nil {
		err := a.takeRules(stream)
		_ = stream.Close() // it was only read
		for err != nil && a.ctx.Err() == nil {
			a.config.Log.Warn("rules of attention are read anew; those that are known count till then", "error", err)
			pause(a.ctx, repeat)
			stream, err = a.readRules(a.ctx)
		}
	}
}

// takeRules takes updates of rules until the stream ends, or has lost some.
func (a *Attention) takeRules(stream engram.UpdateStream) error {
	for {
		updates, err := stream.Next(a.ctx)
		if err != nil {
			return err
		}
		for _, u := range updates {
			if u.Dropped > 0 || u.Restarted {
				return engram.Errorf(engram.Unavailable, Segment, "updates were lost")
			}
			if u.Snapshot != nil {
				a.setRule(a.ctx, engram.Item{ID: u.ID, Snapshot: u.Snapshot})
			}
		}
	}
}

// setRule takes notice of a snapshot of a rule.
func (a *Attention) setRule(ctx context.Context, it engram.Item) {
	name := it.ID.Entity()
	rule, err := a.decodeRule(ctx, it.Snapshot)
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.mu.rules[name]
	if f != nil {
		if was, _ := f.id.Time(); it.Snapshot.Time < was {
			return // of two who set a rule of one name the later one counts
		}
		f.id = it.ID
	} else {
		f = &followed{id: it.ID}
		a.mu.rules[name] = f
	}
	changed := false
	if err == nil {
		changed, err = a.mu.gate.SetRule(it.ID, rule, a.config.Now())
	}
	if changed || err != nil {
		if f.stop != nil {
			f.stop()
		}
		f.stop = nil
	}
	if err != nil {
		a.mu.problems[name] = err.Error()
		return
	}
	if !changed {
		return
	}
	a.mu.problems[name] = ""
	if r := a.mu.gate.rules[name]; r != nil && !r.always() {
		a.mu.gate.Miss(name, "its conditions are not read yet", a.config.Now())
		watching, stop := context.WithCancel(a.ctx)
		f.stop = stop
		w := &watcher{a: a, name: name, rule: r}
		a.working.Go(func() { w.run(watching) })
	}
}

func (a *Attention) decodeRule(ctx context.Context, s *engram.Snapshot) (*Rule, error) {
	p := &s.Instances[0].Payload
	t := a.typeOf(ctx, p.Type)
	if t == nil || p.Type != RuleType {
		return nil, engram.Errorf(engram.TypeMismatch, "", "a payload of type %s", p.Type)
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return nil, err
	}
	return Decode(v)
}
