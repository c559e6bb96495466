package api

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// RulesMessage returns the message of a copy's rules.
func RulesMessage(r *contract.Rules) *engramv1.CopyRules {
	return &engramv1.CopyRules{
		MaxRate: r.MaxRate, Fields: r.Fields, Where: r.Where, MaxPayload: r.MaxPayload, MaxBytes: r.MaxBytes,
		Spare: r.Spare, Priority: int32(r.Priority), Since: int64(r.Since), Gather: int64(r.Gather),
	}
}

// RulesFromMessage is the inverse of RulesMessage.
func RulesFromMessage(m *engramv1.CopyRules) contract.Rules {
	return contract.Rules{
		MaxRate: m.GetMaxRate(), Fields: m.GetFields(), Where: m.GetWhere(), MaxPayload: m.GetMaxPayload(), MaxBytes: m.GetMaxBytes(),
		Spare: m.GetSpare(), Priority: int(m.GetPriority()), Since: time.Duration(m.GetSince()), Gather: time.Duration(m.GetGather()),
	}
}

// PositionMessage returns the message of a position, nil for the zero one.
func PositionMessage(p contract.Position) *engramv1.CopyPosition {
	if p.IsZero() {
		return nil
	}
	return &engramv1.CopyPosition{Epoch: p.Epoch, Number: p.Number, Arrived: int64(p.Arrived)}
}

// PositionFromMessage is the inverse of PositionMessage.
func PositionFromMessage(m *engramv1.CopyPosition) contract.Position {
	return contract.Position{Epoch: m.GetEpoch(), Number: m.GetNumber(), Arrived: engram.Time(m.GetArrived())}
}

func copyMessage(c *contract.Copy) *engramv1.Copy {
	return &engramv1.Copy{Pattern: c.Pattern.String(), Rules: RulesMessage(&c.Rules)}
}

// copyFromMessage converts what is to be copied. The error is Invalid or Exhausted.
func copyFromMessage(l wire.Limits, m *engramv1.Copy) (c contract.Copy, err error) {
	c.Rules = RulesFromMessage(m.GetRules())
	c.Pattern, err = l.Pattern(m.GetPattern())
	return c, err
}

func copyStatusMessage(s *contract.Status) *engramv1.CopyStatus {
	m := &engramv1.CopyStatus{
		Copy: copyMessage(&s.Copy), Owner: s.Owner, State: string(s.State), Since: int64(s.Since), Error: s.Error, Configured: s.Configured,
		Position: PositionMessage(s.Position), Updates: s.Updates, Bytes: s.Bytes, Lag: int64(s.Lag),
		Received: s.Received, Payload: s.Payload, Wire: s.Wire, Had: s.Had, Removed: s.Removed, Lost: s.Lost, Rule: s.Rule, Made: uint32(s.Made),
	}
	for i := range s.Losses {
		l := &s.Losses[i]
		x := &engramv1.CopyStatus_Lost{Id: l.ID.String(), Reason: l.Reason, Count: l.Count, Noticed: int64(l.Noticed)}
		if l.Interval != engram.Always() {
			x.Span = wire.SpanMessage(l.Interval)
		}
		m.Losses = append(m.Losses, x)
	}
	if s.Contact != 0 {
		m.Contact = new(int64(s.Contact))
	}
	for _, l := range s.LeftOut {
		m.LeftOut = append(m.LeftOut, &engramv1.CopyStatus_LeftOut{Reason: l.Reason, Count: l.Count, Bytes: l.Bytes})
	}
	return m
}

func copyStatusFromMessage(m *engramv1.CopyStatus) (s contract.Status, err error) {
	s = contract.Status{
		Copy:  contract.Copy{Rules: RulesFromMessage(m.GetCopy().GetRules())},
		Owner: m.GetOwner(), State: contract.State(m.GetState()), Since: engram.Time(m.GetSince()), Error: m.GetError(), Configured: m.GetConfigured(),
		Position: PositionFromMessage(m.GetPosition()), Updates: m.GetUpdates(), Bytes: m.GetBytes(), Lag: time.Duration(m.GetLag()),
		Contact: engram.Time(m.GetContact()), Received: m.GetReceived(), Payload: m.GetPayload(), Wire: m.GetWire(),
		Had: m.GetHad(), Removed: m.GetRemoved(), Lost: m.GetLost(), Rule: m.GetRule(), Made: int(m.GetMade()),
	}
	for _, x := range m.GetLosses() {
		l := contract.Loss{Reason: x.GetReason(), Count: x.GetCount(), Interval: wire.AskedSpan(x.GetSpan()), Noticed: engram.Time(x.GetNoticed())}
		if l.ID, err = engram.Parse(x.GetId()); err != nil {
			return s, err
		}
		s.Losses = append(s.Losses, l)
	}
	for _, l := range m.GetLeftOut() {
		s.LeftOut = append(s.LeftOut, contract.LeftOutCount{Reason: l.GetReason(), Count: l.GetCount(), Bytes: l.GetBytes()})
	}
	s.Pattern, err = engram.ParsePattern(m.GetCopy().GetPattern())
	return s, err
}
