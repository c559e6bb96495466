package ltm

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/policy/record"
)

// Bounds of what thinning looks into.
const (
	thinNumbers = 64       // of a snapshot, whose extremes are kept
	thinPayload = 16 << 10 // bytes of a snapshot on disk; what is larger has no key points but in time
)

// thin returns the times of an entity's snapshots in an episode that stay when it is
// thinned, and the cause for which the others go. With bounds of similarity, which
// then do not choose what is recorded, everything that differs enough from what was
// kept before it stays as well: only near-duplicates go.
func (r *retention) thin(ctx context.Context, name string, id engram.ID, kept *keptThings) (stay map[engram.Time]bool, cause string, err error) {
	p := r.policies.Of(id)
	pinned := r.disk.episodes.pin()
	defer pinned.release()
	h, err := pinned.find(name)
	if err != nil {
		return nil, "", err
	}
	src, err := h.open()
	if err != nil {
		return nil, "", err
	}
	defer h.close()
	tl, err := src.Timeline(id)
	if err != nil {
		return nil, "", err
	}
	stay, cause = map[engram.Time]bool{}, policy.ForThin
	var differs *record.Filter
	if p.Similar != (policy.Similarity{}) && p.Record != policy.Change {
		likeness := policy.Policy{Record: policy.Change, Similar: p.Similar}
		differs, cause = record.NewFilter(likeness, r.options.Types), admin.CauseRedundancy
	}
	small := true
	for _, e := range src.Entities() {
		if e.ID == id && e.Snapshots > 0 {
			small = e.Bytes/int64(e.Snapshots) <= thinPayload
		}
	}
	var versions []policy.Version
	for b, block := range tl.Blocks() {
		if !small && differs == nil {
			found, err := tl.Index(ctx, b)
			if err != nil {
				return nil, "", err
			}
			for _, v := range found {
				versions = append(versions, policy.Version{Time: v.Time})
			}
			continue
		}
		for first := 0; first < block.Count; first += loadAtOnce {
			found, err := tl.Load(ctx, b, first, min(first+loadAtOnce, block.Count))
			if err != nil {
				return nil, "", err
			}
			for _, v := range found {
				one := policy.Version{Time: v.Time}
				if small {
					one.Numbers = record.Numbers(r.options.Types, v, thinNumbers)
				}
				versions = append(versions, one)
				if differs != nil && differs.Offer(v).Verdict == record.Record {
					stay[v.Time] = true
				}
			}
		}
	}
	for i, keep := range p.Thin.Keep(versions, kept.spans) {
		t := versions[i].Time
		if keep || kept.linked[id][t] {
			stay[t] = true
		}
	}
	return stay, cause, nil
}
