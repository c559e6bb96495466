package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/predict"
)

// maxResets bounds the resets of one entity that count: the newest ones, by each provider segment.
const maxResets = 64

// Reset is a new beginning of an entity, or of some of its numbers: a battery was charged, an axis homed. Nothing
// before At is a reason for anything after it.
type Reset struct {
	Entity    engram.ID
	At        engram.Time
	Members   []string // paths, also of what members lie in; none is all
	Reason    string
	Withdrawn bool // it was declared by mistake

	id engram.ID // of the snapshot that says so
}

// Update makes the update that says so, by somebody. The error is Invalid for what cannot be reset.
func (r *Reset) Update(types TypeSource, by string) (u engram.EntityUpdate, err error) {
	if err := r.check(); err != nil {
		return u, err
	}
	entity, err := about(ResetSegment, by, r.Entity, "")
	if err != nil {
		return u, err
	}
	return update(types, entity, r.At, resetType, map[string]any{"timestamp": r.At, "entity": r.Entity, "members": list(r.Members), "reason": r.Reason, "withdrawn": r.Withdrawn})
}

func (r *Reset) check() error {
	if r.Entity.Level() != engram.LevelEntity {
		return engram.Errorf(engram.Invalid, r.Entity.String(), "an entity is reset, not a %s", r.Entity.Level())
	}
	if r.Entity.Memory() == Memory {
		return engram.Errorf(engram.Invalid, r.Entity.String(), "predictions are not predicted, and so not reset")
	}
	return nil
}

func decodeReset(types TypeSource, id engram.ID, n *engram.Snapshot) (r Reset, err error) {
	if len(n.Instances) == 0 {
		return r, engram.Errorf(engram.Invalid, id.String(), "a reset has an instance")
	}
	o, err := decoded(types, &n.Instances[0].Payload, resetType)
	if err != nil {
		return r, err
	}
	r = Reset{At: n.Time, Members: unlist[string](o["members"]), id: id}
	r.Entity, _ = o["entity"].(engram.ID)
	r.Reason, _ = o["reason"].(string)
	r.Withdrawn, _ = o["withdrawn"].(bool)
	return r, r.check()
}

// resetsOf reads the resets of an entity that count, by time. A memory without resets has none.
func resetsOf(ctx context.Context, from engram.Reader, types TypeSource, of engram.ID) ([]Reset, error) {
	resets, err := readResets(ctx, from, types, engram.OneOf(of.String()))
	return slices.DeleteFunc(resets, func(r Reset) bool { return r.Entity != of }), err
}

// Resets reads the resets of all entities below patterns that count, by time. A memory without resets has none.
func Resets(ctx context.Context, from engram.Reader, types TypeSource, patterns []engram.Pattern) ([]Reset, error) {
	match, err := matching(patterns)
	if err != nil {
		return nil, err
	}
	resets, err := readResets(ctx, from, types, engram.AllNames())
	return slices.DeleteFunc(resets, func(r Reset) bool { return !match(r.Entity) }), err
}

func readResets(ctx context.Context, from engram.Reader, types TypeSource, named engram.NameSelector) ([]Reset, error) {
	p := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(Memory), engram.OneOf(ResetSegment), engram.AllNames(), named}}
	r, err := from.Query(ctx, p.Select(engram.Latest(maxResets)))
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var resets []Reset
	for _, item := range r.Items() {
		if reset, err := decodeReset(types, item.ID, item.Snapshot); err == nil && !reset.Withdrawn {
			resets = append(resets, reset)
		}
	}
	slices.SortStableFunc(resets, func(a, b Reset) int { return cmp.Compare(a.At, b.At) })
	return resets, nil
}

// Withdraw makes the update that takes a reset back that was read.
func (r Reset) Withdraw(types TypeSource) (engram.EntityUpdate, error) {
	r.Withdrawn = true
	u, err := r.Update(types, r.id.ProviderSegment())
	u.Entity = r.id.Truncate(engram.LevelEntity)
	return u, err
}

// same reports whether two resets have the same effect.
func (r Reset) same(o Reset) bool {
	return r.id == o.id && slices.Equal(r.Members, o.Members) && r.Reason == o.Reason
}

// reset has the tracker begin anew with what was reset between two snapshots, and reports whether anything was.
func (e *entity) reset(after, until engram.Time) (some bool) {
	for i := range e.resets {
		r := &e.resets[i]
		if r.At <= after || r.At > until {
			continue
		}
		for k, path := range e.members.Paths {
			if r.concerns(path) {
				e.tracker.Reset(k)
				some = true
			}
		}
	}
	return some
}

// forget has a forecast say nothing of members that were reset after the newest snapshot.
func (e *entity) forget(at engram.Time, f *predict.Forecast) {
	for i := range e.resets {
		r := &e.resets[i]
		if r.At <= e.last.Time || r.At > at {
			continue
		}
		for k, path := range e.members.Paths {
			if r.concerns(path) {
				f.Unknown(k)
			}
		}
	}
}

// all reports whether the whole entity was reset.
func (r *Reset) all() bool { return len(r.Members) == 0 }

// concerns reports whether a member was reset.
func (r *Reset) concerns(path string) bool {
	return r.all() || Below(path, r.Members)
}

// text says why nothing is said after a reset.
func (r *Reset) text() string {
	why := ""
	if r.Reason != "" {
		why = " (" + strings.TrimSpace(r.Reason) + ")"
	}
	return "it was reset at " + r.At.String() + why
}

// Below reports whether a path is one of some members, or of a member of one. A key may stand as a name.
func Below(path string, members []string) bool {
	names := strings.NewReplacer(`["`, ".", `"]`, "")
	path = strings.TrimPrefix(names.Replace(path), ".")
	for _, m := range members {
		m = strings.TrimPrefix(names.Replace(m), ".")
		if path == m || len(path) > len(m) && path[:len(m)] == m && (path[len(m)] == '.' || path[len(m)] == '[') {
			return true
		}
	}
	return false
}
