package rpc

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func subscriptionMessage(s engram.Subscription) (*engramv1.SubscribeRequest, error) {
	if s.Slow == engram.SlowBlock {
		return nil, engram.Errorf(engram.Unsupported, "", "a subscription over a network cannot make writers wait; use drop-oldest or latest")
	}
	if s.Slow > engram.SlowBlock {
		return nil, engram.Errorf(engram.Invalid, "", "a subscription of unknown slow policy %d", s.Slow)
	}
	if s.Queue < 0 || s.Queue > maxUint32 {
		return nil, engram.Errorf(engram.OutOfRange, "", "a subscription's queue of %d updates", s.Queue)
	}
	m := &engramv1.SubscribeRequest{
		WithData: s.WithData, Where: s.Where, Fields: s.Fields, Failures: s.Failures, Removals: s.Removals,
		Slow: engramv1.SlowPolicy(s.Slow), Queue: uint32(s.Queue),
	}
	for _, p := range s.Patterns {
		pm, err := wire.PatternMessage(p)
		if err != nil {
			return nil, err
		}
		m.Selectors = append(m.Selectors, pm)
	}
	switch s.Start.Kind {
	case engram.StartNow:
	case engram.StartLast:
		if s.Start.N < 0 || s.Start.N > maxUint32 {
			return nil, engram.Errorf(engram.OutOfRange, "", "a subscription from the last %d snapshots", s.Start.N)
		}
		m.Start = &engramv1.SubscribeRequest_Last{Last: uint32(s.Start.N)}
	case engram.StartTime:
		m.Start = &engramv1.SubscribeRequest_Since{Since: int64(s.Start.Time)}
	case engram.StartNumber:
		m.Start = &engramv1.SubscribeRequest_Resume_{Resume: &engramv1.SubscribeRequest_Resume{Number: s.Start.Number, Epoch: s.Start.Epoch}}
	default:
		return nil, engram.Errorf(engram.Invalid, "", "a subscription of unknown start %d", s.Start.Kind)
	}
	return m, nil
}

const maxUint32 = 1<<32 - 1

// subscription converts a request. The error is Invalid, Exhausted or, for a
// policy that makes writers wait, Unsupported.
func subscriptionFromMessage(l wire.Limits, m *engramv1.SubscribeRequest) (engram.Subscription, error) {
	s := engram.Subscription{
		WithData: m.GetWithData(), Where: m.GetWhere(), Fields: m.GetFields(), Queue: int(m.GetQueue()), Failures: m.GetFailures(), Removals: m.GetRemovals(),
	}
	switch m.GetSlow() {
	case engramv1.SlowPolicy_SLOW_DROP_OLDEST:
		s.Slow = engram.SlowDropOldest
	case engramv1.SlowPolicy_SLOW_LATEST:
		s.Slow = engram.SlowLatest
	default:
		return s, engram.Errorf(engram.Unsupported, "", "slow policy %d is not offered here; use SLOW_DROP_OLDEST or SLOW_LATEST", m.GetSlow())
	}
	if err := l.Breadth("patterns and fields", len(m.GetPatterns())+len(m.GetSelectors())+len(m.GetFields())); err != nil {
		return s, err
	}
	var err error
	if s.Patterns, err = l.Patterns(m.GetPatterns(), m.GetSelectors()...); err != nil {
		return s, err
	}
	switch k := m.GetStart().(type) {
	case *engramv1.SubscribeRequest_Last:
		s.Start = engram.Start{Kind: engram.StartLast, N: int(k.Last)}
	case *engramv1.SubscribeRequest_Since:
		s.Start = engram.Start{Kind: engram.StartTime, Time: engram.Time(k.Since)}
	case *engramv1.SubscribeRequest_Resume_:
		s.Start = engram.Start{Kind: engram.StartNumber, Number: k.Resume.GetNumber(), Epoch: k.Resume.GetEpoch()}
	}
	return s, nil
}

func noticeMessage(u *engram.Update) *engramv1.Update {
	return &engramv1.Update{
		Number: u.Number, Id: u.ID.String(), Arrived: int64(u.Arrived), Supersedes: u.Supersedes,
		Snapshot: wire.SnapshotMessage(u.Snapshot), Dropped: u.Dropped, Removed: u.Removed, Failed: missingMessage(u.Failed),
	}
}

func noticeFromMessage(m *engramv1.Update) (engram.Update, error) {
	id, err := engram.Parse(m.GetId())
	if err != nil {
		return engram.Update{}, wire.BadAnswer(err)
	}
	u := engram.Update{
		Number: m.GetNumber(), ID: id, Arrived: engram.Time(m.GetArrived()), Supersedes: m.GetSupersedes(),
		Snapshot: wire.SnapshotFromMessage(m.GetSnapshot()), Dropped: m.GetDropped(), Removed: m.GetRemoved(),
	}
	if m.GetFailed() != nil {
		failed, err := missingFromMessage(m.GetFailed())
		if err != nil {
			return u, err
		}
		u.Failed = &failed
	}
	return u, nil
}
