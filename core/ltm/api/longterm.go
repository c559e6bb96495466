// Package api is the feature by which a long-term memory is administered
// (engram.v1.LongTermService): its calls, their rules, and a client.
package api

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const name = "engram.v1.LongTermService"

// Episodes hold what all identities wrote, so who may read everything, or administer
// everything, may look at them; changing them needs the right to administer what is
// changed.
var looking = feature.Needs(access.Need{Actions: access.Read, Or: access.Admin, Thing: "the whole long-term memory"})

// changing is the rule of a call that changes what may be of everything. what says what
// is noted of it.
func changing[P feature.Request](what func(P) string) feature.Rule {
	return feature.NeedsOf(func(_ context.Context, r P) ([]access.Need, error) {
		return []access.Need{{Actions: access.Admin, What: what(r)}}, nil
	})
}

// within is what a call needs that changes what patterns can match.
func within(patterns []engram.Pattern, what string) []access.Need {
	var needs []access.Need
	for _, p := range patterns {
		needs = append(needs, access.Need{Actions: access.Admin, On: p.Enclosing(), What: what + " " + p.String()})
	}
	return needs
}

// Feature offers a long-term memory.
func Feature(s admin.Service) feature.Feature {
	h := handler{s}
	return feature.New(name,
		feature.Unary("ListEpisodes", looking, h.listEpisodes),
		feature.Unary("GetEpisode", looking, h.getEpisode),
		feature.Unary("VerifyEpisode", looking, h.verifyEpisode),
		feature.Unary("RepairEpisode", changing(func(r *engramv1.RepairEpisodeRequest) string { return "repair episode " + r.GetName() }), h.repairEpisode),
		feature.Unary("ListDamaged", looking, h.listDamaged),
		feature.Unary("SealEpisode", changing(func(*engramv1.SealEpisodeRequest) string { return "seal the open episode" }), h.sealEpisode),
		feature.Unary("KeepEpisode", changing(func(r *engramv1.KeepEpisodeRequest) string { return "keep or unkeep episode " + r.GetName() }), h.keepEpisode),
		feature.Unary("DropEpisode", changing(func(r *engramv1.DropEpisodeRequest) string { return "drop episode " + r.GetName() }), h.dropEpisode),
		feature.Unary("SetMark", changing(func(r *engramv1.SetMarkRequest) string { return "mark " + r.GetMark().GetLabel() }), h.setMark),
		feature.Unary("RemoveMarks", changing(func(r *engramv1.RemoveMarksRequest) string { return "unmark " + r.GetLabel() }), h.removeMarks),
		feature.Unary("ListMarks", looking, h.listMarks),
		feature.Unary("ListRules", looking, h.listRules),
		feature.Unary("SetRule", changing(func(r *engramv1.SetRuleRequest) string { return "set rule " + r.GetRule().GetName() }), h.setRule),
		feature.Unary("RemoveRule", changing(func(r *engramv1.RemoveRuleRequest) string { return "remove rule " + r.GetName() }), h.removeRule),
		feature.Unary("ListPolicies", looking, h.listPolicies),
		feature.Unary("SetPolicy", feature.NeedsOf(settingPolicy), h.setPolicy),
		feature.Unary("Recall", changing(func(*engramv1.RecallRequest) string { return "recall" }), h.recall),
		feature.Unary("LongTermStats", looking, h.stats),
		feature.Stream("Forget", feature.NeedsOf(forgetting), h.forget).Lasting(),
		feature.Stream("Compact", changing(func(*engramv1.CompactRequest) string { return "compact" }), h.compact).Lasting(),
	)
}

func settingPolicy(ctx context.Context, r *engramv1.SetPolicyRequest) ([]access.Need, error) {
	p, err := wire.LimitsOf(ctx).Pattern(r.GetPattern())
	return within([]engram.Pattern{p}, "set the policy of"), err
}

func forgetting(ctx context.Context, r *engramv1.ForgetRequest) ([]access.Need, error) {
	f, err := forgettingFromMessage(wire.LimitsOf(ctx), r)
	if err != nil {
		return nil, err
	}
	if f.Due || len(f.Patterns) == 0 && len(f.IDs) == 0 {
		return []access.Need{{Actions: access.Admin, What: "forget what is due"}}, nil
	}
	for _, id := range f.IDs {
		f.Patterns = append(f.Patterns, engram.PatternOf(id))
	}
	return within(f.Patterns, "forget"), nil
}

type handler struct{ store admin.Service }

func (h handler) listEpisodes(ctx context.Context, r *engramv1.ListEpisodesRequest) (*engramv1.ListEpisodesResponse, error) {
	list, err := h.store.Episodes(ctx, wire.AskedSpan(r.GetSpan()))
	m := &engramv1.ListEpisodesResponse{}
	for i := range list {
		m.Episodes = append(m.Episodes, episodeMessage(&list[i]))
	}
	return m, err
}

func (h handler) getEpisode(ctx context.Context, r *engramv1.GetEpisodeRequest) (*engramv1.GetEpisodeResponse, error) {
	info, entities, err := h.store.Episode(ctx, r.GetName())
	m := &engramv1.GetEpisodeResponse{Episode: episodeMessage(&info)}
	for i := range entities {
		m.Entities = append(m.Entities, episodeEntityMessage(&entities[i]))
	}
	return m, err
}

func (h handler) verifyEpisode(ctx context.Context, r *engramv1.VerifyEpisodeRequest) (*engramv1.VerifyEpisodeResponse, error) {
	problems, err := h.store.Verify(ctx, r.GetName())
	return &engramv1.VerifyEpisodeResponse{Problems: problemMessages(problems)}, err
}

func (h handler) repairEpisode(ctx context.Context, r *engramv1.RepairEpisodeRequest) (*engramv1.RepairEpisodeResponse, error) {
	info, lost, err := h.store.Repair(ctx, r.GetName())
	return &engramv1.RepairEpisodeResponse{Episode: episodeMessage(&info), Lost: problemMessages(lost)}, err
}

func (h handler) listDamaged(ctx context.Context, _ *engramv1.ListDamagedRequest) (*engramv1.ListDamagedResponse, error) {
	list, err := h.store.Damaged(ctx)
	m := &engramv1.ListDamagedResponse{}
	for _, d := range list {
		m.Damaged = append(m.Damaged, &engramv1.ListDamagedResponse_Damaged{Name: d.Name, Why: d.Why})
	}
	return m, err
}

func (h handler) sealEpisode(ctx context.Context, r *engramv1.SealEpisodeRequest) (*engramv1.SealEpisodeResponse, error) {
	return &engramv1.SealEpisodeResponse{}, h.store.Seal(ctx, r.GetWhy())
}

func (h handler) keepEpisode(ctx context.Context, r *engramv1.KeepEpisodeRequest) (*engramv1.KeepEpisodeResponse, error) {
	return &engramv1.KeepEpisodeResponse{}, h.store.KeepEpisode(ctx, r.GetName(), r.GetKeep())
}

func (h handler) dropEpisode(ctx context.Context, r *engramv1.DropEpisodeRequest) (*engramv1.DropEpisodeResponse, error) {
	return &engramv1.DropEpisodeResponse{}, h.store.DropEpisode(ctx, r.GetName(), r.GetWhy(), r.GetBy())
}

func (h handler) setMark(ctx context.Context, r *engramv1.SetMarkRequest) (*engramv1.SetMarkResponse, error) {
	return &engramv1.SetMarkResponse{}, h.store.Mark(ctx, markFromMessage(r.GetMark()))
}

func (h handler) removeMarks(ctx context.Context, r *engramv1.RemoveMarksRequest) (*engramv1.RemoveMarksResponse, error) {
	n, err := h.store.Unmark(ctx, r.GetLabel(), wire.AskedSpan(r.GetSpan()))
	return &engramv1.RemoveMarksResponse{Removed: uint32(n)}, err
}

func (h handler) listMarks(ctx context.Context, r *engramv1.ListMarksRequest) (*engramv1.ListMarksResponse, error) {
	marks, err := h.store.Marks(ctx, wire.AskedSpan(r.GetSpan()))
	return &engramv1.ListMarksResponse{Marks: markMessages(marks)}, err
}

func (h handler) listRules(ctx context.Context, _ *engramv1.ListRulesRequest) (*engramv1.ListRulesResponse, error) {
	rules, err := h.store.Rules(ctx)
	m := &engramv1.ListRulesResponse{}
	for _, r := range rules {
		m.Rules = append(m.Rules, ruleMessage(r))
	}
	return m, err
}

func (h handler) setRule(ctx context.Context, r *engramv1.SetRuleRequest) (*engramv1.SetRuleResponse, error) {
	rule := ruleFromMessage(r.GetRule())
	if _, err := wire.LimitsOf(ctx).Patterns(rule.Patterns); err != nil {
		return nil, err
	}
	return &engramv1.SetRuleResponse{}, h.store.SetRule(ctx, rule)
}

func (h handler) removeRule(ctx context.Context, r *engramv1.RemoveRuleRequest) (*engramv1.RemoveRuleResponse, error) {
	return &engramv1.RemoveRuleResponse{}, h.store.RemoveRule(ctx, r.GetName())
}

func (h handler) listPolicies(ctx context.Context, _ *engramv1.ListPoliciesRequest) (*engramv1.ListPoliciesResponse, error) {
	list, err := h.store.Policies(ctx)
	m := &engramv1.ListPoliciesResponse{}
	for _, p := range list {
		m.Policies = append(m.Policies, &engramv1.ListPoliciesResponse_Policy{
			Segment: p.Segment.String(), Settings: policySettings(p.Policy), Overridden: p.Overridden, Set: p.Set})
	}
	return m, err
}

func (h handler) setPolicy(ctx context.Context, r *engramv1.SetPolicyRequest) (*engramv1.SetPolicyResponse, error) {
	pattern, err := wire.LimitsOf(ctx).Pattern(r.GetPattern())
	if err != nil {
		return nil, err
	}
	return &engramv1.SetPolicyResponse{}, h.store.SetPolicy(ctx, policy.Override{Pattern: pattern, Settings: r.GetSettings()})
}

func (h handler) recall(ctx context.Context, r *engramv1.RecallRequest) (*engramv1.RecallResponse, error) {
	if r.GetQuery() == nil {
		return nil, engram.Errorf(engram.Invalid, "", "there is no query that says what to recall")
	}
	q, err := wire.LimitsOf(ctx).Query(r.GetQuery())
	if err != nil {
		return nil, err
	}
	n, err := h.store.Recall(ctx, q)
	return &engramv1.RecallResponse{Versions: n}, err
}

func (h handler) stats(ctx context.Context, _ *engramv1.LongTermStatsRequest) (*engramv1.LongTermStatsResponse, error) {
	stats, err := h.store.LTMStats(ctx)
	return statsMessage(&stats), err
}

func (h handler) forget(ctx context.Context, r *engramv1.ForgetRequest, send func(*engramv1.ForgetResponse) error) error {
	f, err := forgettingFromMessage(wire.LimitsOf(ctx), r)
	if err != nil {
		return err
	}
	result, err := h.store.Forget(ctx, f, func(done, total int) {
		// Who does not listen any more ends ctx, too.
		_ = send(&engramv1.ForgetResponse{Done: uint32(done), Total: uint32(total)})
	})
	if err != nil {
		return err
	}
	return send(&engramv1.ForgetResponse{Result: forgottenMessage(&result)})
}

func (h handler) compact(ctx context.Context, r *engramv1.CompactRequest, send func(*engramv1.CompactResponse) error) error {
	result, err := h.store.Compact(ctx, r.GetDryRun(), func(done, total int) {
		_ = send(&engramv1.CompactResponse{Done: uint32(done), Total: uint32(total)})
	})
	if err != nil {
		return err
	}
	return send(&engramv1.CompactResponse{Result: compactedMessage(result)})
}
