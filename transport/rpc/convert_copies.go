package rpc

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func rulesMessage(r *service.Rules) *engramv1.CopyRules {
	return &engramv1.CopyRules{
		MaxRate: r.MaxRate, Fields: r.Fields, Where: r.Where, MaxPayload: r.MaxPayload, MaxBytes: r.MaxBytes,
		Spare: r.Spare, Priority: int32(r.Priority), Since: int64(r.Since), Gather: int64(r.Gather),
	}
}

func rulesFromMessage(m *engramv1.CopyRules) service.Rules {
	return service.Rules{
		MaxRate: m.GetMaxRate(), Fields: m.GetFields(), Where: m.GetWhere(), MaxPayload: m.GetMaxPayload(), MaxBytes: m.GetMaxBytes(),
		Spare: m.GetSpare(), Priority: int(m.GetPriority()), Since: time.Duration(m.GetSince()), Gather: time.Duration(m.GetGather()),
	}
}

func positionMessage(p service.Position) *engramv1.CopyPosition {
	if p.IsZero() {
		return nil
	}
	return &engramv1.CopyPosition{Epoch: p.Epoch, Number: p.Number, Arrived: int64(p.Arrived)}
}

func positionFromMessage(m *engramv1.CopyPosition) service.Position {
	return service.Position{Epoch: m.GetEpoch(), Number: m.GetNumber(), Arrived: engram.Time(m.GetArrived())}
}

func pullMessage(r *service.Request) *engramv1.PullRequest_Begin {
	m := &engramv1.PullRequest_Begin{Holder: r.Holder}
	for i := range r.Shares {
		s := &r.Shares[i]
		share := &engramv1.CopyShare{After: positionMessage(s.After), Rules: rulesMessage(&s.Rules), Latest: int64(s.Had.Latest), Before: int64(s.Had.Before)}
		for _, p := range s.Patterns {
			share.Patterns = append(share.Patterns, p.String())
		}
		m.Shares = append(m.Shares, share)
	}
	return m
}

// patterns reads patterns' texts.
func (l limits) patterns(texts []string) ([]engram.Pattern, error) {
	if err := l.breadth("patterns", len(texts)); err != nil {
		return nil, err
	}
	var out []engram.Pattern
	for _, text := range texts {
		p, err := l.parsePattern(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// pull converts the beginning of a pull. The error is Invalid or Exhausted.
func (l limits) pull(m *engramv1.PullRequest_Begin) (r service.Request, err error) {
	if m == nil {
		return r, engram.Errorf(engram.Invalid, "", "the first request of a pull must begin it")
	}
	if n := len(m.GetShares()); n == 0 || n > service.MaxShares {
		return r, engram.Errorf(engram.Invalid, "", "a pull of %d shares; it has 1 to %d", n, service.MaxShares)
	}
	r.Holder = m.GetHolder()
	patterns := 0
	for _, share := range m.GetShares() {
		s := service.Share{
			After: positionFromMessage(share.GetAfter()), Rules: rulesFromMessage(share.GetRules()),
			Had: service.Had{Latest: engram.Time(share.GetLatest()), Before: engram.Time(share.GetBefore())},
		}
		if s.Patterns, err = l.patterns(share.GetPatterns()); err != nil {
			return r, err
		}
		if len(s.Patterns) == 0 {
			return r, engram.Errorf(engram.Invalid, "", "a share of a pull has no pattern")
		}
		if patterns += len(s.Patterns); patterns > l.nodes {
			return r, l.breadth("patterns", patterns)
		}
		if err := l.breadth("fields", len(s.Rules.Fields)); err != nil {
			return r, err
		}
		r.Shares = append(r.Shares, s)
	}
	return r, nil
}

func copyMessage(c *service.Copy) *engramv1.Copy {
	return &engramv1.Copy{Pattern: c.Pattern.String(), Rules: rulesMessage(&c.Rules)}
}

// copyOf converts what is to be copied. The error is Invalid or Exhausted.
func (l limits) copyOf(m *engramv1.Copy) (c service.Copy, err error) {
	c.Rules = rulesFromMessage(m.GetRules())
	c.Pattern, err = l.parsePattern(m.GetPattern())
	return c, err
}

func copyStatusMessage(s *service.Status) *engramv1.CopyStatus {
	m := &engramv1.CopyStatus{
		Copy: copyMessage(&s.Copy), Owner: s.Owner, State: string(s.State), Since: int64(s.Since), Error: s.Error, Configured: s.Configured,
		Position: positionMessage(s.Position), Updates: s.Updates, Bytes: s.Bytes, Lag: int64(s.Lag),
		Received: s.Received, Payload: s.Payload, Wire: s.Wire, Had: s.Had, Removed: s.Removed, Lost: s.Lost, Rule: s.Rule, Made: uint32(s.Made),
	}
	for i := range s.Losses {
		l := &s.Losses[i]
		x := &engramv1.CopyStatus_Lost{Id: l.ID.String(), Reason: l.Reason, Count: l.Count, Noticed: int64(l.Noticed)}
		if l.Interval != engram.Always() {
			x.Span = spanMessage(l.Interval)
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

func copyStatusFromMessage(m *engramv1.CopyStatus) (s service.Status, err error) {
	s = service.Status{
		Copy:  service.Copy{Rules: rulesFromMessage(m.GetCopy().GetRules())},
		Owner: m.GetOwner(), State: service.State(m.GetState()), Since: engram.Time(m.GetSince()), Error: m.GetError(), Configured: m.GetConfigured(),
		Position: positionFromMessage(m.GetPosition()), Updates: m.GetUpdates(), Bytes: m.GetBytes(), Lag: time.Duration(m.GetLag()),
		Contact: engram.Time(m.GetContact()), Received: m.GetReceived(), Payload: m.GetPayload(), Wire: m.GetWire(),
		Had: m.GetHad(), Removed: m.GetRemoved(), Lost: m.GetLost(), Rule: m.GetRule(), Made: int(m.GetMade()),
	}
	for _, x := range m.GetLosses() {
		l := service.Loss{Reason: x.GetReason(), Count: x.GetCount(), Interval: askedSpan(x.GetSpan()), Noticed: engram.Time(x.GetNoticed())}
		if l.ID, err = engram.Parse(x.GetId()); err != nil {
			return s, err
		}
		s.Losses = append(s.Losses, l)
	}
	for _, l := range m.GetLeftOut() {
		s.LeftOut = append(s.LeftOut, service.LeftOutCount{Reason: l.GetReason(), Count: l.GetCount(), Bytes: l.GetBytes()})
	}
	s.Pattern, err = engram.ParsePattern(m.GetCopy().GetPattern())
	return s, err
}
