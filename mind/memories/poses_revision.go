package memories

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const revisionType = "engram.robot_state.Revision"

// revisionKey is the key of a *pose.Revision in a commit's context, through which
// the Commit hook tells the service what became of the commit.
type revisionKey struct{}

// writeRevision is the memory's Write hook of revisions. One that the store refuses
// is refused; one that the memory refuses changes nothing in the store. The snapshot
// holds the revision's number and what its bodies came to.
func (p *poses) writeRevision(ctx context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
	if len(u.Instances) != 1 {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "a revision is one instance, not %d", len(u.Instances))
	}
	in := u.Instances[0]
	tx, err := revisionOf(u.Entity, in.Payload.Bytes, lookup.AsSaid)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	resolved, err := lookup.Check(p.store, tx)
	if err != nil {
		return err
	}
	rev := p.store.Revision() + 1
	if in.Payload.Bytes, err = withOutcome(in.Payload.Bytes, &tx, &resolved, rev); err != nil {
		return err
	}
	u.Instances = []engram.Instance{in}
	if err := put(u); err != nil {
		return err
	}
	got, err := lookup.Apply(p.store, resolved)
	if err == nil && got != rev {
		err = engram.Errorf(engram.Internal, u.Entity.String(), "it became revision %d; the memory says %d", got, rev)
	}
	if err != nil { // a defect: it was checked
		p.service.LeaveOut(u.Entity, u.Time, err)
		server.Note(ctx, leftOut(u.Entity, "Revision", err))
	}
	if to, ok := ctx.Value(revisionKey{}).(*pose.Revision); ok {
		*to = got
	}
	return nil
}

// replayRevision applies a revision that the memory holds. What of it cannot be
// applied any more, because the memory has forgotten the edges it is about, is left
// out, edge by edge.
func (p *poses) replayRevision(it *engram.Item) {
	entity := it.ID.Truncate(engram.LevelEntity)
	leave := func(err error) {
		p.service.LeaveOut(entity, it.Time, engram.Errorf(engram.CodeOf(err), entity.String(), "when the poses were rebuilt: %w", err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	tx, err := revisionOf(entity, it.Instances[0].Payload.Bytes, lookup.AsResolved)
	if err != nil {
		leave(err)
		return
	}
	if _, err = lookup.Apply(p.store, tx); err == nil {
		return
	}
	rest := lookup.Transaction{Author: tx.Author}
	for _, part := range byEdge(&tx) {
		if _, err := lookup.Check(p.store, part); err != nil {
			leave(err)
			continue
		}
		rest.Keys = append(rest.Keys, part.Keys...)
		rest.Replaced = append(rest.Replaced, part.Replaced...)
		rest.Calibrations = append(rest.Calibrations, part.Calibrations...)
	}
	if len(rest.Keys)+len(rest.Replaced)+len(rest.Calibrations) == 0 {
		return
	}
	if _, err := lookup.Apply(p.store, rest); err != nil {
		leave(err)
	}
}

// byEdge takes a transaction apart.
func byEdge(tx *lookup.Transaction) []lookup.Transaction {
	var parts []lookup.Transaction
	of := map[[2]string]int{}
	part := func(parent, child string) *lookup.Transaction {
		edge := [2]string{parent, child}
		if _, ok := of[edge]; !ok {
			of[edge] = len(parts)
			parts = append(parts, lookup.Transaction{Author: tx.Author})
		}
		return &parts[of[edge]]
	}
	for _, k := range tx.Keys {
		t := part(k.Parent, k.Child)
		t.Keys = append(t.Keys, k)
	}
	for _, r := range tx.Replaced {
		t := part(r.Parent, r.Child)
		t.Replaced = append(t.Replaced, r)
	}
	for _, c := range tx.Calibrations {
		t := part(c.Parent, c.Child)
		t.Calibrations = append(t.Calibrations, c)
	}
	return parts
}

// commitRevision commits a revision to the memory, whose hook applies it.
func (p *poses) commitRevision(ctx context.Context, tx lookup.Transaction) (pose.Revision, error) {
	svc := p.svc.Load()
	if svc == nil {
		return 0, engram.Errorf(engram.Unavailable, "RobotState/Revision", "the memory has not started")
	}
	if tx.Author == "" {
		tx.Author = "unknown"
	}
	entity, err := engram.NewID("RobotState", "Revision", lookup.RevisionProvider, tx.Author)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	t := max(engram.Now(), p.revised+1)
	p.revised = t
	p.mu.Unlock()
	b, err := encodeRevision(t, &tx)
	if err != nil {
		return 0, err
	}
	var rev pose.Revision
	results, err := (*svc).Commit(context.WithValue(ctx, revisionKey{}, &rev), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: revisionType, Bytes: b})},
	}}})
	if err == nil {
		err = results[0].Err
	}
	return rev, err
}
