package ltm

import (
	"context"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// describe returns a policy in a few words for an episode's channel.
func describe(p policy.Policy) string {
	mode := p.Record
	if mode == "" {
		mode = policy.All
	}
	if p.MaxRate > 0 {
		return fmt.Sprintf("%s, at most %g Hz", mode, p.MaxRate)
	}
	return string(mode)
}

// records reports whether everything of a segment is recorded.
func (s *Store) records(id engram.ID) bool {
	p := s.policies.Of(id)
	return (p.Record == "" || p.Record == policy.All) && p.MaxRate == 0
}

// RecordsAll reports whether everything that was committed to a segment in this life is
// on disk, as far as it was not forgotten.
func (s *Store) RecordsAll(id engram.ID) bool {
	return s.records(id) && s.recorder != nil && s.recorder.counts.lost.Load() == 0
}

// AddPolicy gives a core segment its default policy, before recording begins. What was
// set at run-time goes over it.
func (s *Store) AddPolicy(core engram.ID, p policy.Policy) error {
	return s.policies.AddDefault(core, p)
}

// Policy returns the policy of a core segment.
func (s *Store) Policy(core engram.ID) policy.Policy { return s.policies.Of(core) }

// PolicyOverrides returns what was set over the defaults.
func (s *Store) PolicyOverrides() []policy.Override { return s.policies.Overrides() }

// SetPolicy changes settings of the core segments that a pattern matches, from now on
// and for later lives. An empty text takes a setting back.
func (s *Store) SetPolicy(ctx context.Context, o policy.Override) error {
	old := s.policies.Overrides()
	if err := s.policies.Override(o); err != nil {
		return err
	}
	if err := s.savePolicies(); err != nil {
		if back := s.policies.SetOverrides(old); back != nil {
			return back
		}
		return err
	}
	if s.recorder == nil {
		return nil
	}
	return s.recorder.do(ctx, func() error {
		s.recorder.policiesChanged()
		return nil
	})
}

// policiesChanged makes the recorder follow the policies as they are now.
func (r *recorder) policiesChanged() {
	r.filters.Changed()
	for core := range r.uncoded {
		r.s.health.set(coding+core.String(), nil)
	}
	clear(r.uncoded)
	for id, e := range r.entities {
		e.channel, e.durable = r.channel(id)
	}
}
