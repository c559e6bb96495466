package api

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	copies "github.com/seed-301d4374/engram/fleet/copies/api"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func pullMessage(r *contract.Request) *engramv1.PullRequest_Begin {
	m := &engramv1.PullRequest_Begin{Holder: r.Holder}
	for i := range r.Shares {
		s := &r.Shares[i]
		share := &engramv1.CopyShare{After: copies.PositionMessage(s.After), Rules: copies.RulesMessage(&s.Rules), Latest: int64(s.Had.Latest), Before: int64(s.Had.Before)}
		for _, p := range s.Patterns {
			share.Patterns = append(share.Patterns, p.String())
		}
		m.Shares = append(m.Shares, share)
	}
	return m
}

// pullFromMessage converts the beginning of a pull. The error is Invalid or Exhausted.
func pullFromMessage(l wire.Limits, m *engramv1.PullRequest_Begin) (r contract.Request, err error) {
	if m == nil {
		return r, engram.Errorf(engram.Invalid, "", "the first request of a pull must begin it")
	}
	if n := len(m.GetShares()); n == 0 || n > contract.MaxShares {
		return r, engram.Errorf(engram.Invalid, "", "a pull of %d shares; it has 1 to %d", n, contract.MaxShares)
	}
	r.Holder = m.GetHolder()
	patterns := 0
	for _, share := range m.GetShares() {
		s := contract.Share{
			After: copies.PositionFromMessage(share.GetAfter()), Rules: copies.RulesFromMessage(share.GetRules()),
			Had: contract.Had{Latest: engram.Time(share.GetLatest()), Before: engram.Time(share.GetBefore())},
		}
		if s.Patterns, err = l.Patterns(share.GetPatterns()); err != nil {
			return r, err
		}
		if len(s.Patterns) == 0 {
			return r, engram.Errorf(engram.Invalid, "", "a share of a pull has no pattern")
		}
		for _, p := range s.Patterns {
			breadth, err := p.Breadth()
			if err != nil {
				return r, err
			}
			patterns += breadth
		}
		if err := l.Breadth("patterns, with their names and the size of their regexes", patterns); err != nil {
			return r, err
		}
		if err := l.Breadth("fields", len(s.Rules.Fields)); err != nil {
			return r, err
		}
		r.Shares = append(r.Shares, s)
	}
	return r, nil
}
