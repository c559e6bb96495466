package ltm

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// missOfType tells what may be missing below a provider segment of the type that a query
// asks for, of the entities that nothing was found of: once for each reason.
func (x *execution) missOfType(provider engram.ID, nodes []*query.Node) {
	iv, any := query.AskedOf(nodes)
	if !any || !x.mayHold(provider) {
		return
	}
	reasons := slices.Clone(x.lossesBelow()[provider])
	all := x.s.policies.all(provider)
	lost := x.s.recorder != nil && (x.behind || x.s.recorder.counts.lost.Load() > 0)
	switch gone := !x.both || x.view.Evicted(provider); {
	case gone && !all:
		reasons = append(reasons, engram.MissingFiltered)
	case gone && lost:
		reasons = append(reasons, engram.MissingEvicted)
	}
	slices.Sort(reasons)
	for _, why := range slices.Compact(reasons) {
		x.answer.Miss(engram.Missing{ID: provider, Reason: why, Interval: iv})
	}
}

// mayHold reports whether payloads of the type that a query asks for may have been
// committed to a provider segment.
func (x *execution) mayHold(provider engram.ID) bool {
	had, base := x.view.HadType(provider, x.answer.MayTake)
	return had || base == "" || x.s.disk.earlier && x.answer.MayTakeBelow(base)
}

// lossesBelow returns why something is lost, by provider segment.
func (x *execution) lossesBelow() map[engram.ID][]string {
	if x.losses != nil {
		return x.losses
	}
	x.losses = map[engram.ID][]string{}
	add := func(entity engram.ID, why string) {
		p := entity.Truncate(engram.LevelProviderSegment)
		if !slices.Contains(x.losses[p], why) {
			x.losses[p] = append(x.losses[p], why)
		}
	}
	for id := range x.version.forgotten {
		add(id, engram.MissingForgotten)
	}
	for _, of := range x.version.damaged {
		for id := range of {
			add(id, engram.MissingDamaged)
		}
	}
	for id := range x.s.logs.refused {
		add(id, engram.MissingDamaged)
	}
	for id := range x.s.account.earlier {
		add(id, engram.MissingFiltered)
	}
	for id := range x.s.account.unrecorded {
		add(id, engram.MissingEvicted)
	}
	return x.losses
}

// missUnknownOfType tells of what is lost and nobody knows what it is, of a core segment,
// if something of the type that a query asks for may have been in it.
func (x *execution) missUnknownOfType(segment engram.ID, nodes []*query.Node) {
	if iv, any := query.AskedOf(nodes); any {
		for i := range x.unknown() {
			if l := &x.unknown()[i]; l.isOf(segment.Memory()) && l.arrived.Overlaps(iv) {
				x.missLoss(segment, i)
			}
		}
	}
}
