package ltm

import (
	"context"
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

// forgetter carries out what is ordered to be forgotten, and in the background what the
// policies want to be gone and what an earlier epoch began to forget.
type forgetter struct {
	*env
	forgetting *forgetLock
	state      *state
	account    *account
	logs       *logs
	disk       *disk
	folder     *episodeFolder
	repairer   *repairer
	keeper     *keeper
	orders     *orderBook
	retention  *retention
	ledger     *ledger
	compactor  *compactor
	aheads     *aheads

	ctx    context.Context // of the background
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// lookAtDisk is how often it is looked whether the disk fills.
const lookAtDisk = 10 * time.Second

func (f *forgetter) start() {
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.done.Go(f.run)
}

// close ends the background, if it was started.
func (f *forgetter) close() {
	if f.cancel != nil {
		f.cancel()
		f.done.Wait()
	}
}

func (f *forgetter) run() {
	f.finishOrders()
	ticker := time.NewTicker(min(lookAtDisk, f.options.ForgetEvery))
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-ticker.C:
		}
		f.finishOrders()
		if need, _ := f.retention.diskNeed(); need <= 0 && time.Since(last) < f.options.ForgetEvery {
			continue
		}
		last = time.Now()
		_, err := f.forgetDue(f.ctx, false, nil)
		if f.ctx.Err() != nil {
			return
		}
		f.health.set("forgetting", err)
	}
}

// finishOrders carries out what was ordered and is not done, and tells what is not told.
func (f *forgetter) finishOrders() {
	if f.forgetting.lock(f.ctx) != nil {
		return
	}
	defer f.forgetting.unlock()
	f.repairer.tryAgain(f.ctx)
	f.ledger.tell(context.WithoutCancel(f.ctx), nil)
	failed := map[string]error{}
	for _, o := range f.state.content().Orders {
		u, err := f.orders.compile(o)
		if err == nil {
			_, err = f.carryOut(f.ctx, u, nil)
		}
		if f.ctx.Err() != nil {
			return
		}
		if err != nil {
			failed[o.name()] = err
		}
	}
	f.health.setAll("forgetting what was ordered: ", failed)
	f.account.saveSoon()
}
