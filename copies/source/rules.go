package source

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/query"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// filter decides by a share's rules what travels.
type filter struct {
	types      *idf.Registry
	where      *idf.Filter
	shape      *query.Shape
	maxPayload int64
}

func (f *filter) open(p *pull, r *service.Rules) (err error) {
	if err := r.Check(""); err != nil {
		return err
	}
	f.types, f.maxPayload = p.wm.Registry(), r.MaxPayload
	if f.where, err = p.wm.Compiler().Filter(r.Where); err != nil {
		return err
	}
	f.shape = query.NewShape(f.types, r.Fields, false)
	return nil
}

// decide returns what of a version travels, or nil and why it does not.
func (f *filter) decide(e *entity, s *engram.Snapshot) (told *engram.Snapshot, reason string, err error) {
	told = s
	if f.where != nil {
		if told = query.FilterSnapshot(f.types, f.where, s); told == nil {
			return nil, service.LeftOutFilter, nil
		}
	}
	if f.maxPayload > 0 {
		for i := range told.Instances {
			if int64(len(told.Instances[i].Payload.Bytes)) > f.maxPayload {
				return nil, service.LeftOutSize, nil
			}
		}
	}
	if e.rate != nil && e.rate.Offer(s).Verdict != policy.Record {
		return nil, service.LeftOutRate, nil
	}
	if !f.shape.Whole() {
		if told, err = f.shape.Apply(told); err != nil {
			return nil, "", err
		}
	}
	return told, "", nil
}
