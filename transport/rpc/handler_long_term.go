package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/service"
)

// longTermOf returns the long-term memory that a service offers beside its memory,
// or nil.
func longTermOf(svc engram.Service) service.Service {
	if s, ok := svc.(interface{ LongTerm() service.Service }); ok {
		return s.LongTerm()
	}
	return nil
}

// longTermHandler implements LongTermService.
type longTermHandler struct {
	*Handler
	store service.Service
}

func (h longTermHandler) ListEpisodes(ctx context.Context, r *connect.Request[engramv1.ListEpisodesRequest]) (*connect.Response[engramv1.ListEpisodesResponse], error) {
	list, err := h.store.Episodes(ctx, askedSpan(r.Msg.GetSpan()))
	m := &engramv1.ListEpisodesResponse{}
	for i := range list {
		m.Episodes = append(m.Episodes, episodeMessage(&list[i]))
	}
	return answer(m, err)
}

func (h longTermHandler) GetEpisode(ctx context.Context, r *connect.Request[engramv1.GetEpisodeRequest]) (*connect.Response[engramv1.GetEpisodeResponse], error) {
	info, entities, err := h.store.Episode(ctx, r.Msg.GetName())
	m := &engramv1.GetEpisodeResponse{Episode: episodeMessage(&info)}
	for i := range entities {
		m.Entities = append(m.Entities, episodeEntityMessage(&entities[i]))
	}
	return answer(m, err)
}

func (h longTermHandler) VerifyEpisode(ctx context.Context, r *connect.Request[engramv1.VerifyEpisodeRequest]) (*connect.Response[engramv1.VerifyEpisodeResponse], error) {
	problems, err := h.store.Verify(ctx, r.Msg.GetName())
	return answer(&engramv1.VerifyEpisodeResponse{Problems: problemMessages(problems)}, err)
}

func (h longTermHandler) RepairEpisode(ctx context.Context, r *connect.Request[engramv1.RepairEpisodeRequest]) (*connect.Response[engramv1.RepairEpisodeResponse], error) {
	info, lost, err := h.store.Repair(ctx, r.Msg.GetName())
	return answer(&engramv1.RepairEpisodeResponse{Episode: episodeMessage(&info), Lost: problemMessages(lost)}, err)
}

func (h longTermHandler) ListDamaged(ctx context.Context, _ *connect.Request[engramv1.ListDamagedRequest]) (*connect.Response[engramv1.ListDamagedResponse], error) {
	list, err := h.store.Damaged(ctx)
	m := &engramv1.ListDamagedResponse{}
	for _, d := range list {
		m.Damaged = append(m.Damaged, &engramv1.ListDamagedResponse_Damaged{Name: d.Name, Why: d.Why})
	}
	return answer(m, err)
}

func (h longTermHandler) SealEpisode(ctx context.Context, r *connect.Request[engramv1.SealEpisodeRequest]) (*connect.Response[engramv1.SealEpisodeResponse], error) {
	return answer(&engramv1.SealEpisodeResponse{}, h.store.Seal(ctx, r.Msg.GetWhy()))
}

func (h longTermHandler) KeepEpisode(ctx context.Context, r *connect.Request[engramv1.KeepEpisodeRequest]) (*connect.Response[engramv1.KeepEpisodeResponse], error) {
	return answer(&engramv1.KeepEpisodeResponse{}, h.store.KeepEpisode(ctx, r.Msg.GetName(), r.Msg.GetKeep()))
}

func (h longTermHandler) DropEpisode(ctx context.Context, r *connect.Request[engramv1.DropEpisodeRequest]) (*connect.Response[engramv1.DropEpisodeResponse], error) {
	return answer(&engramv1.DropEpisodeResponse{}, h.store.DropEpisode(ctx, r.Msg.GetName(), r.Msg.GetWhy(), r.Msg.GetBy()))
}

func (h longTermHandler) SetMark(ctx context.Context, r *connect.Request[engramv1.SetMarkRequest]) (*connect.Response[engramv1.SetMarkResponse], error) {
	return answer(&engramv1.SetMarkResponse{}, h.store.Mark(ctx, markFromMessage(r.Msg.GetMark())))
}

func (h longTermHandler) RemoveMarks(ctx context.Context, r *connect.Request[engramv1.RemoveMarksRequest]) (*connect.Response[engramv1.RemoveMarksResponse], error) {
	n, err := h.store.Unmark(ctx, r.Msg.GetLabel(), askedSpan(r.Msg.GetSpan()))
	return answer(&engramv1.RemoveMarksResponse{Removed: uint32(n)}, err)
}

func (h longTermHandler) ListMarks(ctx context.Context, r *connect.Request[engramv1.ListMarksRequest]) (*connect.Response[engramv1.ListMarksResponse], error) {
	marks, err := h.store.Marks(ctx, askedSpan(r.Msg.GetSpan()))
	return answer(&engramv1.ListMarksResponse{Marks: markMessages(marks)}, err)
}

func (h longTermHandler) ListRules(ctx context.Context, _ *connect.Request[engramv1.ListRulesRequest]) (*connect.Response[engramv1.ListRulesResponse], error) {
	rules, err := h.store.Rules(ctx)
	m := &engramv1.ListRulesResponse{}
	for _, r := range rules {
		m.Rules = append(m.Rules, ruleMessage(r))
	}
	return answer(m, err)
}

func (h longTermHandler) SetRule(ctx context.Context, r *connect.Request[engramv1.SetRuleRequest]) (*connect.Response[engramv1.SetRuleResponse], error) {
	rule := ruleFromMessage(r.Msg.GetRule())
	for _, text := range rule.Patterns {
		if _, err := h.limits.parsePattern(text); err != nil {
			return nil, wireError(err)
		}
	}
	return answer(&engramv1.SetRuleResponse{}, h.store.SetRule(ctx, rule))
}

func (h longTermHandler) RemoveRule(ctx context.Context, r *connect.Request[engramv1.RemoveRuleRequest]) (*connect.Response[engramv1.RemoveRuleResponse], error) {
	return answer(&engramv1.RemoveRuleResponse{}, h.store.RemoveRule(ctx, r.Msg.GetName()))
}

func (h longTermHandler) ListPolicies(ctx context.Context, _ *connect.Request[engramv1.ListPoliciesRequest]) (*connect.Response[engramv1.ListPoliciesResponse], error) {
	list, err := h.store.Policies(ctx)
	m := &engramv1.ListPoliciesResponse{}
	for _, p := range list {
		m.Policies = append(m.Policies, &engramv1.ListPoliciesResponse_Policy{
			Segment: p.Segment.String(), Settings: policySettings(p.Policy), Overridden: p.Overridden, Set: p.Set})
	}
	return answer(m, err)
}

func (h longTermHandler) SetPolicy(ctx context.Context, r *connect.Request[engramv1.SetPolicyRequest]) (*connect.Response[engramv1.SetPolicyResponse], error) {
	pattern, err := h.limits.parsePattern(r.Msg.GetPattern())
	if err != nil {
		return nil, wireError(err)
	}
	return answer(&engramv1.SetPolicyResponse{}, h.store.SetPolicy(ctx, policy.Override{Pattern: pattern, Settings: r.Msg.GetSettings()}))
}

func (h longTermHandler) Recall(ctx context.Context, r *connect.Request[engramv1.RecallRequest]) (*connect.Response[engramv1.RecallResponse], error) {
	if r.Msg.GetQuery() == nil {
		return nil, wireError(engram.Errorf(engram.Invalid, "", "there is no query that says what to recall"))
	}
	q, err := h.limits.query(r.Msg.GetQuery())
	if err != nil {
		return nil, wireError(err)
	}
	n, err := h.store.Recall(ctx, q)
	return answer(&engramv1.RecallResponse{Versions: n}, err)
}

func (h longTermHandler) LongTermStats(ctx context.Context, _ *connect.Request[engramv1.LongTermStatsRequest]) (*connect.Response[engramv1.LongTermStatsResponse], error) {
	stats, err := h.store.LTMStats(ctx)
	return answer(statsOfLongTermMessage(&stats), err)
}

func (h longTermHandler) Forget(ctx context.Context, r *connect.Request[engramv1.ForgetRequest], stream *connect.ServerStream[engramv1.ForgetResponse]) error {
	f, err := h.limits.forgetting(r.Msg)
	if err != nil {
		return wireError(err)
	}
	ctx, end := h.working(ctx)
	defer end()
	result, err := h.store.Forget(ctx, f, func(done, total int) {
		// Who does not listen any more ends ctx, too.
		_ = stream.Send(&engramv1.ForgetResponse{Done: uint32(done), Total: uint32(total)})
	})
	if err != nil {
		return h.ended(err)
	}
	return wireError(stream.Send(&engramv1.ForgetResponse{Result: forgottenMessage(&result)}))
}

func (h longTermHandler) Compact(ctx context.Context, r *connect.Request[engramv1.CompactRequest], stream *connect.ServerStream[engramv1.CompactResponse]) error {
	ctx, end := h.working(ctx)
	defer end()
	result, err := h.store.Compact(ctx, r.Msg.GetDryRun(), func(done, total int) {
		_ = stream.Send(&engramv1.CompactResponse{Done: uint32(done), Total: uint32(total)})
	})
	if err != nil {
		return h.ended(err)
	}
	return wireError(stream.Send(&engramv1.CompactResponse{Result: compactedMessage(result)}))
}

// working returns a context for a call that may take long: it must not keep a
// stopping server up.
func (h *Handler) working(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.draining, cancel)
	return ctx, func() { stop(); cancel() }
}
