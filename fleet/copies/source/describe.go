package source

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// described is what a pull has described, by provider segment.
type described struct {
	segments map[engram.ID]map[string]bool // with the types that were told
}

func (d *described) init() { d.segments = map[engram.ID]map[string]bool{} }

// forget has a segment described anew when it is there again.
func (d *described) forget(segment engram.ID) {
	if segment.IsRoot() {
		return
	}
	for id := range d.segments {
		if segment.Contains(id) {
			delete(d.segments, id)
		}
	}
}

// describe puts into a batch the descriptions that the holder needs for its items. What
// has no segment any more is taken out: it is told to be removed.
func (d *described) describe(p *pull, b *contract.Batch) error {
	gone := map[engram.ID]bool(nil)
	for i := range b.Items {
		it := &b.Items[i]
		provider := it.Entity.Truncate(engram.LevelProviderSegment)
		types := d.segments[provider]
		if types != nil && !slices.ContainsFunc(it.Snapshot.Instances, func(in engram.Instance) bool { return !types[in.Payload.Type] }) {
			continue
		}
		if gone[provider] {
			continue
		}
		ok, err := d.segment(p, b, provider, it.Snapshot)
		if err != nil {
			return err
		}
		if !ok {
			if gone == nil {
				gone = map[engram.ID]bool{}
			}
			gone[provider] = true
		}
	}
	if gone != nil {
		b.Items = slices.DeleteFunc(b.Items, func(v contract.Version) bool {
			return gone[v.Entity.Truncate(engram.LevelProviderSegment)]
		})
	}
	return nil
}

// describeLeftOut puts into a batch the descriptions of segments of which nothing travels,
// so that the holder knows them: it answers for them that all was left out.
func (d *described) describeLeftOut(p *pull, b *contract.Batch) error {
	for i := range b.LeftOut {
		provider := b.LeftOut[i].Entity.Truncate(engram.LevelProviderSegment)
		if d.segments[provider] != nil {
			continue
		}
		if _, err := d.segment(p, b, provider, &engram.Snapshot{}); err != nil {
			return err
		}
	}
	return nil
}

// segment describes a segment with the types that are new; false if it is not there.
func (d *described) segment(p *pull, b *contract.Batch, provider engram.ID, s *engram.Snapshot) (bool, error) {
	pattern := engram.PatternOf(provider)
	list, err := p.wm.Describe(p.ctx, pattern)
	if err == nil && p.ltm != nil {
		list, err = p.ltm.Describe(p.ctx, pattern, list)
	}
	if err != nil {
		return false, err
	}
	seg, ok := contract.SegmentOf(provider, list)
	if !ok {
		return false, nil
	}
	types := d.segments[provider]
	if types == nil {
		types = map[string]bool{}
		d.segments[provider] = types
	}
	need := []string{seg.Core.Type, seg.Provider.Type}
	for i := range s.Instances {
		need = append(need, s.Instances[i].Payload.Type)
	}
	for _, name := range need {
		if types[name] || name == "" {
			continue
		}
		t, err := p.wm.Type(p.ctx, name)
		if err != nil {
			return false, err
		}
		types[name] = true
		seg.Types = append(seg.Types, t)
	}
	b.Segments = append(b.Segments, seg)
	return true, nil
}
