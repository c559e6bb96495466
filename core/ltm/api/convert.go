package api

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode/meta"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func markMessage(k meta.Mark) *engramv1.EpisodeMark {
	return &engramv1.EpisodeMark{Time: int64(k.Time), Label: k.Label, Before: int64(k.Before), After: int64(k.After)}
}

func markFromMessage(m *engramv1.EpisodeMark) meta.Mark {
	return meta.Mark{Time: engram.Time(m.GetTime()), Label: m.GetLabel(), Before: time.Duration(m.GetBefore()), After: time.Duration(m.GetAfter())}
}

func marksFromMessages(ms []*engramv1.EpisodeMark) []meta.Mark {
	var out []meta.Mark
	for _, m := range ms {
		out = append(out, markFromMessage(m))
	}
	return out
}

func markMessages(marks []meta.Mark) []*engramv1.EpisodeMark {
	var out []*engramv1.EpisodeMark
	for _, k := range marks {
		out = append(out, markMessage(k))
	}
	return out
}

func episodeMessage(e *admin.EpisodeInfo) *engramv1.Episode {
	m := &engramv1.Episode{
		Name: e.Name, Version: uint32(e.Version), Robot: e.Robot, Epoch: e.Epoch, Span: wire.SpanMessage(e.Span), Recorded: wire.SpanMessage(e.Recorded), Arrived: wire.SpanMessage(e.Arrived),
		Snapshots: e.Snapshots, Messages: e.Messages, Bytes: e.Bytes, Sealed: e.Sealed, Marks: markMessages(e.Marks), Losses: e.Losses,
		Labels: e.Labels, InForce: e.InForce, Recovered: e.Recovered, Supersedes: e.Supersedes, Kept: e.Kept,
	}
	if e.Damage != nil {
		m.Damage = e.Damage.Why
	}
	return m
}

func episodeFromMessage(m *engramv1.Episode) admin.EpisodeInfo {
	e := admin.EpisodeInfo{Kept: m.GetKept(), Info: meta.Info{
		Name: m.GetName(), Version: int(m.GetVersion()), Robot: m.GetRobot(), Epoch: m.GetEpoch(),
		Span: wire.Span(m.GetSpan()), Recorded: wire.Span(m.GetRecorded()), Arrived: wire.Span(m.GetArrived()), Snapshots: m.GetSnapshots(), Messages: m.GetMessages(),
		Bytes: m.GetBytes(), Sealed: m.GetSealed(), Marks: marksFromMessages(m.GetMarks()), Losses: m.GetLosses(), Labels: m.GetLabels(),
		InForce: m.GetInForce(), Recovered: m.GetRecovered(), Supersedes: m.GetSupersedes(),
	}}
	if why := m.GetDamage(); why != "" {
		e.Damage = &meta.Damage{Why: why}
	}
	return e
}

func episodeEntityMessage(e *meta.Entity) *engramv1.EpisodeEntity {
	return &engramv1.EpisodeEntity{
		Id: e.ID.String(), Type: e.Type, Codec: e.Codec, Span: wire.SpanMessage(e.Span), Recorded: wire.SpanMessage(e.Recorded), Arrived: wire.SpanMessage(e.Arrived),
		Snapshots: e.Snapshots, InForce: e.InForce, Bytes: e.Bytes, Chunks: uint32(e.Chunks), Times: e.Times,
	}
}

func episodeEntityFromMessage(m *engramv1.EpisodeEntity) (meta.Entity, error) {
	id, err := engram.Parse(m.GetId())
	return meta.Entity{
		ID: id, Type: m.GetType(), Codec: m.GetCodec(), Span: wire.Span(m.GetSpan()), Recorded: wire.Span(m.GetRecorded()), Arrived: wire.Span(m.GetArrived()),
		Snapshots: m.GetSnapshots(), InForce: m.GetInForce(), Bytes: m.GetBytes(), Chunks: int(m.GetChunks()), Times: m.GetTimes(),
	}, err
}

func problemMessages(list []meta.Problem) []*engramv1.EpisodeProblem {
	var out []*engramv1.EpisodeProblem
	for _, p := range list {
		out = append(out, &engramv1.EpisodeProblem{Offset: p.Offset, What: p.What})
	}
	return out
}

func problemsFromMessages(ms []*engramv1.EpisodeProblem) []meta.Problem {
	var out []meta.Problem
	for _, m := range ms {
		out = append(out, meta.Problem{Offset: m.GetOffset(), What: m.GetWhat()})
	}
	return out
}

func ruleMessage(r admin.Rule) *engramv1.KeepRule {
	return &engramv1.KeepRule{Name: r.Name, Patterns: r.Patterns, When: r.When, Before: int64(r.Before), After: int64(r.After), Label: r.Label, Seal: r.Seal, Missed: r.Missed, Failed: r.Failed, Failure: r.Failure}
}

func ruleFromMessage(m *engramv1.KeepRule) admin.Rule {
	return admin.Rule{
		Name: m.GetName(), Patterns: m.GetPatterns(), When: m.GetWhen(),
		Before: admin.Duration(m.GetBefore()), After: admin.Duration(m.GetAfter()), Label: m.GetLabel(), Seal: m.GetSeal(), Missed: m.GetMissed(), Failed: m.GetFailed(), Failure: m.GetFailure(),
	}
}

// policySettings returns the settings that differ from those of the zero policy.
func policySettings(p policy.Policy) map[string]string {
	var zero policy.Policy
	settings := map[string]string{}
	for _, name := range policy.SettingNames() {
		text, _ := p.Get(name) // it is one of the names
		if usual, _ := zero.Get(name); text != usual {
			settings[name] = text
		}
	}
	return settings
}

func policyFromSettings(settings map[string]string) (p policy.Policy, err error) {
	for name, text := range settings {
		if err := p.Set(name, text); err != nil {
			return p, err
		}
	}
	return p, nil
}

func statsMessage(s *admin.Stats) *engramv1.LongTermStatsResponse {
	m := &engramv1.LongTermStatsResponse{
		Dir: s.Dir, Episodes: uint32(s.Episodes), Bytes: s.Bytes, Snapshots: s.Snapshots, Recorded: s.Recorded, Filtered: s.Filtered,
		Lost: s.Lost, Health: s.Health, DiskTotal: s.DiskTotal, DiskFree: s.DiskFree,
	}
	for _, g := range s.Segments {
		m.Segments = append(m.Segments, &engramv1.LongTermStatsResponse_Segment{
			Segment: g.Segment.String(), Entities: g.Entities, Snapshots: g.Snapshots, Bytes: g.Bytes, Span: wire.SpanMessage(g.Span),
			Recorded: g.Recorded, Filtered: g.Filtered, Forgotten: g.Forgotten,
		})
	}
	return m
}

func statsFromMessage(m *engramv1.LongTermStatsResponse) (admin.Stats, error) {
	s := admin.Stats{
		Dir: m.GetDir(), Episodes: int(m.GetEpisodes()), Bytes: m.GetBytes(), Snapshots: m.GetSnapshots(), Recorded: m.GetRecorded(),
		Filtered: m.GetFiltered(), Lost: m.GetLost(), Health: m.GetHealth(), DiskTotal: m.GetDiskTotal(), DiskFree: m.GetDiskFree(),
	}
	for _, g := range m.GetSegments() {
		id, err := engram.Parse(g.GetSegment())
		if err != nil {
			return s, err
		}
		s.Segments = append(s.Segments, admin.SegmentStats{
			Segment: id, Entities: g.GetEntities(), Snapshots: g.GetSnapshots(), Bytes: g.GetBytes(), Span: wire.Span(g.GetSpan()),
			Recorded: g.GetRecorded(), Filtered: g.GetFiltered(), Forgotten: g.GetForgotten(),
		})
	}
	return s, nil
}

func forgettingMessage(f admin.Forgetting) *engramv1.ForgetRequest {
	m := &engramv1.ForgetRequest{Why: f.Why, By: f.By, Due: f.Due, EvenKept: f.EvenKept, DryRun: f.DryRun}
	for _, p := range f.Patterns {
		m.Patterns = append(m.Patterns, p.String())
	}
	for _, id := range f.IDs {
		m.Ids = append(m.Ids, id.String())
	}
	if f.Span != (engram.Interval{}) {
		m.Span = wire.SpanMessage(f.Span)
	}
	return m
}

func forgettingFromMessage(l wire.Limits, m *engramv1.ForgetRequest) (admin.Forgetting, error) {
	f := admin.Forgetting{Why: m.GetWhy(), By: m.GetBy(), Due: m.GetDue(), EvenKept: m.GetEvenKept(), DryRun: m.GetDryRun()}
	if err := l.Breadth("patterns and IDs", len(m.GetPatterns())+len(m.GetIds())); err != nil {
		return f, err
	}
	var err error
	if f.Patterns, err = l.Patterns(m.GetPatterns()); err != nil {
		return f, err
	}
	for _, text := range m.GetIds() {
		id, err := engram.Parse(text)
		if err != nil {
			return f, err
		}
		f.IDs = append(f.IDs, id)
	}
	if m.GetSpan() != nil {
		f.Span = wire.Span(m.GetSpan())
	}
	return f, nil
}

func forgottenMessage(f *admin.Forgotten) *engramv1.Forgotten {
	m := &engramv1.Forgotten{Versions: f.Versions, Volatile: f.Volatile, Protected: f.Protected, Episodes: uint32(f.Episodes), Bytes: f.Bytes, Unread: f.Unread}
	for _, a := range f.Acts {
		m.Acts = append(m.Acts, &engramv1.ForgettingAct{
			Segment: a.Segment.String(), Cause: a.Cause, Entities: a.Entities, Versions: a.Versions, Span: wire.SpanMessage(a.Span)})
	}
	return m
}

func forgottenFromMessage(m *engramv1.Forgotten) (admin.Forgotten, error) {
	f := admin.Forgotten{
		Versions: m.GetVersions(), Volatile: m.GetVolatile(), Protected: m.GetProtected(), Episodes: int(m.GetEpisodes()), Bytes: m.GetBytes(), Unread: m.GetUnread()}
	for _, a := range m.GetActs() {
		id, err := engram.Parse(a.GetSegment())
		if err != nil {
			return f, err
		}
		f.Acts = append(f.Acts, admin.ForgettingAct{
			Segment: id, Cause: a.GetCause(), Entities: a.GetEntities(), Versions: a.GetVersions(), Span: wire.Span(a.GetSpan())})
	}
	return f, nil
}

func compactedMessage(c admin.Compacted) *engramv1.Compacted {
	return &engramv1.Compacted{Before: uint32(c.Before), After: uint32(c.After), BytesBefore: c.BytesBefore, BytesAfter: c.BytesAfter}
}

func compactedFromMessage(m *engramv1.Compacted) admin.Compacted {
	return admin.Compacted{Before: int(m.GetBefore()), After: int(m.GetAfter()), BytesBefore: m.GetBytesBefore(), BytesAfter: m.GetBytesAfter()}
}
