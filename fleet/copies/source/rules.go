package source

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy/record"
	"github.com/seed-301d4374/engram/core/query"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// filter decides by a share's rules what travels.
type filter struct {
	where      *query.Filter
	shape      *query.Shape
	maxPayload int64
}

func (f *filter) open(p *pull, r *contract.Rules) (err error) {
	if err := r.Check(""); err != nil {
		return err
	}
	f.maxPayload = r.MaxPayload
	if f.where, err = p.wm.Compiler().Filter(p.ctx, r.Where, p.wm.Registry(), 0); err != nil {
		return err
	}
	f.shape = query.NewShape(p.wm.Registry(), r.Fields, false)
	return nil
}

// decide returns what of a version travels, or nil and why it does not.
func (f *filter) decide(id engram.ID, e *entity, s *engram.Snapshot) (told *engram.Snapshot, reason string, err error) {
	told = s
	if f.where != nil {
		failures := f.where.Failures()
		f.where.Entity(id)
		told = f.where.Snapshot(s)
		switch {
		case f.where.Err() != nil:
			return nil, "", f.where.Err()
		case told == nil && f.where.Failures() > failures:
			return nil, contract.LeftOutFailed, nil
		case told == nil:
			return nil, contract.LeftOutFilter, nil
		}
	}
	if f.maxPayload > 0 {
		for i := range told.Instances {
			if int64(len(told.Instances[i].Payload.Bytes)) > f.maxPayload {
				return nil, contract.LeftOutSize, nil
			}
		}
	}
	if e.rate != nil && e.rate.Offer(s).Verdict != record.Record {
		return nil, contract.LeftOutRate, nil
	}
	if !f.shape.Whole() {
		if told, err = f.shape.Apply(told); err != nil {
			return nil, "", err
		}
	}
	return told, "", nil
}
