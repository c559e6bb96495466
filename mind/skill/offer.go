package skill

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Offer is a skill as it stands.
type Offer struct {
	Description
	Enabled  bool
	Switched *Switched   // who enabled or disabled it last; nil if nobody did
	Present  bool        // its provider's lease holds
	Lease    Lease       // the last of its provider, zero if it had none
	Until    engram.Time // the end of that lease, or when it was
	Active   []*Execution
}

// Switched is that somebody has enabled or disabled a skill.
type Switched struct {
	Who     string
	Time    engram.Time
	Message string
}

// State says in a word whether the skill can be executed.
func (o *Offer) State() string {
	switch {
	case !o.Enabled:
		return "disabled"
	case !o.Present:
		return "away"
	case len(o.Active) > 0:
		return "active"
	}
	return "ready"
}

// Offers returns what skills there are, by their IDs, those of a pattern such as Skill/Description/Arm.
func (s *Skills) Offers(ctx context.Context, p engram.Pattern) ([]*Offer, error) {
	latest := func(p engram.Pattern) (*engram.Result, error) { return s.svc.Query(ctx, p.Select(engram.Latest(1))) }
	var all []*Offer
	of := map[engram.ID]*Offer{}
	r, err := latest(p)
	if err != nil {
		return nil, err
	}
	for item := range r.All() {
		if d, err := s.codec.Description(item.ID.Truncate(engram.LevelEntity), item.Instances); err == nil {
			o := &Offer{Description: *d, Enabled: true}
			all, of[d.ID] = append(all, o), o
		}
	}
	if r, err = latest(engram.MustPattern("Skill/Switch")); err != nil {
		return nil, err
	}
	for item := range r.All() {
		skill, on, why, err := s.codec.Switch(item.ID.Truncate(engram.LevelEntity), item.Instances)
		if o := of[skill]; err == nil && o != nil && (o.Switched == nil || item.Time >= o.Switched.Time) {
			o.Enabled, o.Switched = on, &Switched{item.ID.ProviderSegment(), item.Time, why}
		}
	}
	if r, err = latest(engram.MustPattern("Skill/Provider")); err != nil {
		return nil, err
	}
	now := engram.Now()
	for item := range r.All() {
		l, err := s.codec.Lease(item.ID.Truncate(engram.LevelEntity), item.Instances)
		if err != nil {
			continue
		}
		until := item.Arrived.Add(l.Lease)
		for _, o := range all {
			if o.ID.ProviderSegment() == item.ID.ProviderSegment() {
				o.Lease, o.Until, o.Present = l, until, !l.Ended && until > now
			}
		}
	}
	active, err := s.Executions(ctx, engram.MustPattern("Skill/Execution"), engram.Latest(1))
	if err != nil {
		return nil, err
	}
	for _, e := range active {
		if o := of[e.Skill]; o != nil && !e.Request.IsRoot() && !e.Status.Ended() {
			o.Active = append(o.Active, e)
		}
	}
	slices.SortFunc(all, func(a, b *Offer) int { return a.ID.Compare(b.ID) })
	return all, nil
}

// Executions returns executions as they were last, in the order in which they were begun. What cannot be read is left out.
func (s *Skills) Executions(ctx context.Context, p engram.Pattern, of engram.SnapshotSelector) ([]*Execution, error) {
	return s.executions(ctx, p.Select(of))
}

// executions returns the executions of an answer, each by the last of its snapshots there.
func (s *Skills) executions(ctx context.Context, q engram.Query) ([]*Execution, error) {
	r, err := s.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	last := map[engram.ID]*Execution{}
	for item := range r.All() {
		id := item.ID.Truncate(engram.LevelEntity)
		e, err := s.codec.Execution(id, item.Time, item.Instances)
		if had := last[id]; err == nil && (had == nil || had.Time <= e.Time) {
			last[id] = e
		}
	}
	all := make([]*Execution, 0, len(last))
	for _, e := range last {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Execution) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), a.ID.Compare(b.ID))
	})
	return all, nil
}

// Enable says that a skill may be called, or may not until it is enabled again. Who is who says so, and message why.
func (s *Skills) Enable(ctx context.Context, of engram.ID, on bool, who, message string) error {
	entity, err := engram.NewID("Skill", "Switch", who, of.ProviderSegment()+"/"+of.Entity())
	if err != nil {
		return err
	}
	u, err := s.codec.SwitchUpdate(entity, of, on, message, engram.Now())
	return s.commit(ctx, u, err)
}
