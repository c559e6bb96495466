package ltm

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// forgetLock lets one at a time forget, and reserves room on the disk to note it. Its zero
// value is ready for use, and reserves none.
type forgetLock struct {
	once    sync.Once
	token   chan struct{}
	reserve *reserve
}

func (l *forgetLock) init() { l.once.Do(func() { l.token = make(chan struct{}, 1) }) }

func (l *forgetLock) lock(ctx context.Context) error {
	l.init()
	select {
	case l.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
	}
}

func (l *forgetLock) unlock() {
	l.reserve.take()
	<-l.token
}

// forgetter forgets in the background what the policies want to be gone, and finishes
// what an earlier life began to forget.
type forgetter struct {
	s      *Store
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// lookAtDisk is how often it is looked whether the disk fills.
const lookAtDisk = 10 * time.Second

func (s *Store) startForgetter() {
	f := &forgetter{s: s}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	s.forgetter = f
	f.done.Go(f.run)
}

func (f *forgetter) close() {
	f.cancel()
	f.done.Wait()
}

func (f *forgetter) run() {
	f.finishOrders()
	ticker := time.NewTicker(min(lookAtDisk, f.s.options.ForgetEvery))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-ticker.C:
		}
		f.finishOrders()
		if need, _ := f.s.diskNeed(); need <= 0 && time.Since(last) < f.s.options.ForgetEvery {
			continue
		}
		last = time.Now()
		_, err := f.s.forgetDue(f.ctx, false, nil)
		if f.ctx.Err() != nil {
			return
		}
		f.s.health.set("forgetting", err)
	}
}

// ordered returns what was ordered and is not done.
func (s *Store) ordered() []order {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return slices.Clone(s.state.mu.Orders)
}

// finishOrders carries out what was ordered and is not done, and tells what is not told.
func (f *forgetter) finishOrders() {
	if f.s.forgetting.lock(f.ctx) != nil {
		return
	}
	defer f.s.forgetting.unlock()
	f.s.tell(context.WithoutCancel(f.ctx), nil)
	failed := map[string]error{}
	for _, o := range f.s.ordered() {
		u, err := f.s.compile(o)
		if err == nil {
			_, err = f.s.carryOut(f.ctx, u, nil)
		}
		if f.ctx.Err() != nil {
			return
		}
		if err != nil {
			failed[o.name()] = err
		}
	}
	f.s.health.setAll("forgetting what was ordered: ", failed)
	f.s.health.set("the account", f.s.saveAccount())
}
