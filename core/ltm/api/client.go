package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode/meta"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// NewClient returns the long-term memory that a server offers. Its calls return
// Unsupported if it has none.
func NewClient(c feature.Conn) admin.Service { return client{c} }

// client implements admin.Service over a connection.
type client struct{ conn feature.Conn }

// call makes a call, and says what it means that there is nobody to answer.
func call[Res any, P interface {
	*Res
	proto.Message
}](ctx context.Context, c client, procedure string, request proto.Message) (P, error) {
	m := P(new(Res))
	err := c.conn.Call(ctx, "/"+name+"/"+procedure, request, m)
	return m, noLongTerm(err)
}

func noLongTerm(err error) error {
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Code == engram.Unsupported {
		return engram.Errorf(engram.Unsupported, e.Thing, "the memory server keeps nothing on disk, or is an older one; begin it with 'engram serve --data DIR'")
	}
	return err
}

func (c client) Episodes(ctx context.Context, iv engram.Interval) ([]admin.EpisodeInfo, error) {
	m, err := call[engramv1.ListEpisodesResponse](ctx, c, "ListEpisodes", &engramv1.ListEpisodesRequest{Span: wire.SpanMessage(iv)})
	var list []admin.EpisodeInfo
	for _, e := range m.GetEpisodes() {
		list = append(list, episodeFromMessage(e))
	}
	return list, err
}

func (c client) Episode(ctx context.Context, name string) (admin.EpisodeInfo, []meta.Entity, error) {
	m, err := call[engramv1.GetEpisodeResponse](ctx, c, "GetEpisode", &engramv1.GetEpisodeRequest{Name: name})
	if err != nil {
		return admin.EpisodeInfo{}, nil, err
	}
	var entities []meta.Entity
	for _, em := range m.GetEntities() {
		e, err := episodeEntityFromMessage(em)
		if err != nil {
			return admin.EpisodeInfo{}, nil, wire.BadAnswer(err)
		}
		entities = append(entities, e)
	}
	return episodeFromMessage(m.GetEpisode()), entities, nil
}

func (c client) Verify(ctx context.Context, name string) ([]meta.Problem, error) {
	m, err := call[engramv1.VerifyEpisodeResponse](ctx, c, "VerifyEpisode", &engramv1.VerifyEpisodeRequest{Name: name})
	return problemsFromMessages(m.GetProblems()), err
}

func (c client) Damaged(ctx context.Context) ([]admin.Damaged, error) {
	m, err := call[engramv1.ListDamagedResponse](ctx, c, "ListDamaged", &engramv1.ListDamagedRequest{})
	var list []admin.Damaged
	for _, d := range m.GetDamaged() {
		list = append(list, admin.Damaged{Name: d.GetName(), Why: d.GetWhy()})
	}
	return list, err
}

func (c client) Repair(ctx context.Context, name string) (admin.EpisodeInfo, []meta.Problem, error) {
	m, err := call[engramv1.RepairEpisodeResponse](ctx, c, "RepairEpisode", &engramv1.RepairEpisodeRequest{Name: name})
	return episodeFromMessage(m.GetEpisode()), problemsFromMessages(m.GetLost()), err
}

func (c client) Seal(ctx context.Context, why string) error {
	_, err := call[engramv1.SealEpisodeResponse](ctx, c, "SealEpisode", &engramv1.SealEpisodeRequest{Why: why})
	return err
}

func (c client) Mark(ctx context.Context, k meta.Mark) error {
	_, err := call[engramv1.SetMarkResponse](ctx, c, "SetMark", &engramv1.SetMarkRequest{Mark: markMessage(k)})
	return err
}

func (c client) Unmark(ctx context.Context, label string, iv engram.Interval) (int, error) {
	m, err := call[engramv1.RemoveMarksResponse](ctx, c, "RemoveMarks", &engramv1.RemoveMarksRequest{Label: label, Span: wire.SpanMessage(iv)})
	return int(m.GetRemoved()), err
}

func (c client) Marks(ctx context.Context, iv engram.Interval) ([]meta.Mark, error) {
	m, err := call[engramv1.ListMarksResponse](ctx, c, "ListMarks", &engramv1.ListMarksRequest{Span: wire.SpanMessage(iv)})
	return marksFromMessages(m.GetMarks()), err
}

func (c client) KeepEpisode(ctx context.Context, name string, keep bool) error {
	_, err := call[engramv1.KeepEpisodeResponse](ctx, c, "KeepEpisode", &engramv1.KeepEpisodeRequest{Name: name, Keep: keep})
	return err
}

func (c client) DropEpisode(ctx context.Context, name, why, by string) error {
	_, err := call[engramv1.DropEpisodeResponse](ctx, c, "DropEpisode", &engramv1.DropEpisodeRequest{Name: name, Why: why, By: by})
	return err
}

func (c client) Rules(ctx context.Context) ([]admin.Rule, error) {
	m, err := call[engramv1.ListRulesResponse](ctx, c, "ListRules", &engramv1.ListRulesRequest{})
	var rules []admin.Rule
	for _, r := range m.GetRules() {
		rules = append(rules, ruleFromMessage(r))
	}
	return rules, err
}

func (c client) SetRule(ctx context.Context, r admin.Rule) error {
	_, err := call[engramv1.SetRuleResponse](ctx, c, "SetRule", &engramv1.SetRuleRequest{Rule: ruleMessage(r)})
	return err
}

func (c client) RemoveRule(ctx context.Context, name string) error {
	_, err := call[engramv1.RemoveRuleResponse](ctx, c, "RemoveRule", &engramv1.RemoveRuleRequest{Name: name})
	return err
}

func (c client) Policies(ctx context.Context) ([]admin.SegmentPolicy, error) {
	m, err := call[engramv1.ListPoliciesResponse](ctx, c, "ListPolicies", &engramv1.ListPoliciesRequest{})
	if err != nil {
		return nil, err
	}
	var list []admin.SegmentPolicy
	for _, pm := range m.GetPolicies() {
		id, err := engram.Parse(pm.GetSegment())
		if err != nil {
			return nil, wire.BadAnswer(err)
		}
		p, err := policyFromSettings(pm.GetSettings())
		if err != nil {
			return nil, wire.BadAnswer(err)
		}
		list = append(list, admin.SegmentPolicy{Segment: id, Policy: p, Overridden: pm.GetOverridden(), Set: pm.GetSet()})
	}
	return list, nil
}

func (c client) SetPolicy(ctx context.Context, o policy.Override) error {
	_, err := call[engramv1.SetPolicyResponse](ctx, c, "SetPolicy", &engramv1.SetPolicyRequest{Pattern: o.Pattern.String(), Settings: o.Settings})
	return err
}

func (c client) Recall(ctx context.Context, q engram.Query) (uint64, error) {
	req, err := wire.QueryMessage(q)
	if err != nil {
		return 0, err
	}
	m, err := call[engramv1.RecallResponse](ctx, c, "Recall", &engramv1.RecallRequest{Query: req})
	return m.GetVersions(), err
}

func (c client) LTMStats(ctx context.Context) (admin.Stats, error) {
	m, err := call[engramv1.LongTermStatsResponse](ctx, c, "LongTermStats", &engramv1.LongTermStatsRequest{})
	if err != nil {
		return admin.Stats{}, err
	}
	s, err := statsFromMessage(m)
	if err != nil {
		return s, wire.BadAnswer(err)
	}
	return s, nil
}

func (c client) Forget(ctx context.Context, f admin.Forgetting, progress admin.Progress) (admin.Forgotten, error) {
	m, err := last[engramv1.ForgetResponse](ctx, c, "Forget", forgettingMessage(f), progress)
	if err != nil {
		return admin.Forgotten{}, err
	}
	result, err := forgottenFromMessage(m.GetResult())
	if err != nil {
		return result, wire.BadAnswer(err)
	}
	return result, nil
}

func (c client) Compact(ctx context.Context, dryRun bool, progress admin.Progress) (admin.Compacted, error) {
	m, err := last[engramv1.CompactResponse](ctx, c, "Compact", &engramv1.CompactRequest{DryRun: dryRun}, progress)
	return compactedFromMessage(m.GetResult()), err
}

// step is a message of a stream that tells how far some work is.
type step[M any] interface {
	*M
	proto.Message
	GetDone() uint32
	GetTotal() uint32
}

// last tells of the progress that a call brings, and returns its last message, which
// has the result.
func last[M any, P step[M]](ctx context.Context, c client, procedure string, request proto.Message, progress admin.Progress) (P, error) {
	s, err := c.conn.Open(ctx, "/"+name+"/"+procedure, request)
	if err != nil {
		return nil, noLongTerm(err)
	}
	defer s.Close()
	var newest P
	for {
		m := P(new(M))
		switch err := s.Receive(m); {
		case err == io.EOF && newest == nil:
			return nil, engram.Errorf(engram.Corrupt, procedure, "the server's answer holds no result")
		case err == io.EOF:
			return newest, nil
		case err != nil:
			return nil, noLongTerm(err)
		}
		if newest = m; m.GetTotal() > 0 {
			progress.Tell(int(m.GetDone()), int(m.GetTotal()))
		}
	}
}
