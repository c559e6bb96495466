package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/ltm/service"
)

// LongTerm returns the long-term memory that the server offers. Its calls return
// Unsupported if it has none.
func (c *Client) LongTerm() service.Service { return longTermClient{c} }

// longTermClient implements service.Service over the client's connection.
type longTermClient struct{ c *Client }

// callLongTerm makes a call, and says what it means that there is nobody to answer.
func callLongTerm[Req, Res any](ctx context.Context, c *Client, procedure func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error), m *Req, s safety) (*Res, error) {
	res, err := call(ctx, c, procedure, m, s)
	return res, noLongTerm(c, err)
}

func noLongTerm(c *Client, err error) error {
	if engram.CodeOf(err) == engram.Unsupported {
		return engram.Errorf(engram.Unsupported, c.address, "the memory server keeps nothing on disk, or is an older one; begin it with 'engram serve --data DIR'")
	}
	return err
}

func (l longTermClient) Episodes(ctx context.Context, iv engram.Interval) ([]service.EpisodeInfo, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.ListEpisodes, &engramv1.ListEpisodesRequest{Span: spanMessage(iv)}, repeatable)
	var list []service.EpisodeInfo
	for _, e := range m.GetEpisodes() {
		list = append(list, episodeFromMessage(e))
	}
	return list, err
}

func (l longTermClient) Episode(ctx context.Context, name string) (service.EpisodeInfo, []episode.Entity, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.GetEpisode, &engramv1.GetEpisodeRequest{Name: name}, repeatable)
	if err != nil {
		return service.EpisodeInfo{}, nil, err
	}
	var entities []episode.Entity
	for _, em := range m.GetEntities() {
		e, err := episodeEntityFromMessage(em)
		if err != nil {
			return service.EpisodeInfo{}, nil, badAnswer(err)
		}
		entities = append(entities, e)
	}
	return episodeFromMessage(m.GetEpisode()), entities, nil
}

func (l longTermClient) Verify(ctx context.Context, name string) ([]episode.Problem, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.VerifyEpisode, &engramv1.VerifyEpisodeRequest{Name: name}, repeatable)
	return problemsFromMessages(m.GetProblems()), err
}

func (l longTermClient) Damaged(ctx context.Context) ([]service.Damaged, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.ListDamaged, &engramv1.ListDamagedRequest{}, repeatable)
	var list []service.Damaged
	for _, d := range m.GetDamaged() {
		list = append(list, service.Damaged{Name: d.GetName(), Why: d.GetWhy()})
	}
	return list, err
}

func (l longTermClient) Repair(ctx context.Context, name string) (service.EpisodeInfo, []episode.Problem, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.RepairEpisode, &engramv1.RepairEpisodeRequest{Name: name}, once)
	return episodeFromMessage(m.GetEpisode()), problemsFromMessages(m.GetLost()), err
}

func (l longTermClient) Seal(ctx context.Context, why string) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.SealEpisode, &engramv1.SealEpisodeRequest{Why: why}, repeatable)
	return err
}

func (l longTermClient) Mark(ctx context.Context, k episode.Mark) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.SetMark, &engramv1.SetMarkRequest{Mark: markMessage(k)}, once)
	return err
}

func (l longTermClient) Unmark(ctx context.Context, label string, iv engram.Interval) (int, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.RemoveMarks, &engramv1.RemoveMarksRequest{Label: label, Span: spanMessage(iv)}, once)
	return int(m.GetRemoved()), err
}

func (l longTermClient) Marks(ctx context.Context, iv engram.Interval) ([]episode.Mark, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.ListMarks, &engramv1.ListMarksRequest{Span: spanMessage(iv)}, repeatable)
	return marksFromMessages(m.GetMarks()), err
}

func (l longTermClient) KeepEpisode(ctx context.Context, name string, keep bool) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.KeepEpisode, &engramv1.KeepEpisodeRequest{Name: name, Keep: keep}, repeatable)
	return err
}

func (l longTermClient) DropEpisode(ctx context.Context, name, why, by string) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.DropEpisode, &engramv1.DropEpisodeRequest{Name: name, Why: why, By: by}, once)
	return err
}

func (l longTermClient) Rules(ctx context.Context) ([]service.Rule, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.ListRules, &engramv1.ListRulesRequest{}, repeatable)
	var rules []service.Rule
	for _, r := range m.GetRules() {
		rules = append(rules, ruleFromMessage(r))
	}
	return rules, err
}

func (l longTermClient) SetRule(ctx context.Context, r service.Rule) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.SetRule, &engramv1.SetRuleRequest{Rule: ruleMessage(r)}, repeatable)
	return err
}

func (l longTermClient) RemoveRule(ctx context.Context, name string) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.RemoveRule, &engramv1.RemoveRuleRequest{Name: name}, once)
	return err
}

func (l longTermClient) Policies(ctx context.Context) ([]service.SegmentPolicy, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.ListPolicies, &engramv1.ListPoliciesRequest{}, repeatable)
	if err != nil {
		return nil, err
	}
	var list []service.SegmentPolicy
	for _, pm := range m.GetPolicies() {
		id, err := engram.Parse(pm.GetSegment())
		if err != nil {
			return nil, badAnswer(err)
		}
		p, err := policyFromSettings(pm.GetSettings())
		if err != nil {
			return nil, badAnswer(err)
		}
		list = append(list, service.SegmentPolicy{Segment: id, Policy: p, Overridden: pm.GetOverridden(), Set: pm.GetSet()})
	}
	return list, nil
}

func (l longTermClient) SetPolicy(ctx context.Context, o policy.Override) error {
	_, err := callLongTerm(ctx, l.c, l.c.ltm.SetPolicy, &engramv1.SetPolicyRequest{Pattern: o.Pattern.String(), Settings: o.Settings}, repeatable)
	return err
}

func (l longTermClient) Recall(ctx context.Context, q engram.Query) (uint64, error) {
	req, err := queryMessage(q)
	if err != nil {
		return 0, err
	}
	m, err := callLongTerm(ctx, l.c, l.c.ltm.Recall, &engramv1.RecallRequest{Query: req}, once)
	return m.GetVersions(), err
}

func (l longTermClient) LTMStats(ctx context.Context) (service.Stats, error) {
	m, err := callLongTerm(ctx, l.c, l.c.ltm.LongTermStats, &engramv1.LongTermStatsRequest{}, repeatable)
	if err != nil {
		return service.Stats{}, err
	}
	s, err := statsOfLongTermFromMessage(m)
	if err != nil {
		return s, badAnswer(err)
	}
	return s, nil
}

func (l longTermClient) Forget(ctx context.Context, f service.Forgetting, progress service.Progress) (service.Forgotten, error) {
	stream, err := l.c.ltm.Forget(ctx, connect.NewRequest(forgettingMessage(f)))
	m, err := lastOf(ctx, l.c, stream, err, progress)
	if err != nil {
		return service.Forgotten{}, err
	}
	result, err := forgottenFromMessage(m.GetResult())
	if err != nil {
		return result, badAnswer(err)
	}
	return result, nil
}

func (l longTermClient) Compact(ctx context.Context, dryRun bool, progress service.Progress) (service.Compacted, error) {
	stream, err := l.c.ltm.Compact(ctx, connect.NewRequest(&engramv1.CompactRequest{DryRun: dryRun}))
	m, err := lastOf(ctx, l.c, stream, err, progress)
	return compactedFromMessage(m.GetResult()), err
}

// step is a message of a stream that tells how far some work is.
type step[M any] interface {
	*M
	GetDone() uint32
	GetTotal() uint32
}

// lastOf tells of the progress that a stream brings and returns its last message,
// which has the result.
func lastOf[M any, P step[M]](ctx context.Context, c *Client, stream *connect.ServerStreamForClient[M], err error, progress service.Progress) (*M, error) {
	if err != nil {
		return nil, noLongTerm(c, c.domainError(ctx, err))
	}
	defer stream.Close()
	var last *M
	for stream.Receive() {
		last = stream.Msg()
		if total := P(last).GetTotal(); total > 0 {
			progress.Tell(int(P(last).GetDone()), int(total))
		}
	}
	if err := stream.Err(); err != nil {
		return nil, noLongTerm(c, c.domainError(ctx, err))
	}
	if last == nil {
		return nil, engram.Errorf(engram.Corrupt, c.address, "the server's answer holds no result")
	}
	return last, nil
}
