package links_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/links"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/server"
)

// guarded are the calls of a server under rules.
type guarded struct {
	testing.TB
	feature.Feature
}

// call makes a call as somebody and returns the answers.
func (g guarded) call(who, name string, request proto.Message) (answers []proto.Message, err error) {
	g.Helper()
	ctx := access.WithIdentity(g.Context(), access.Identity(who))
	for i := range g.Calls {
		c := &g.Calls[i]
		if !strings.HasSuffix(g.Procedure(c), "/"+name) {
			continue
		}
		if c.Unary != nil {
			m, err := c.Unary(ctx, request)
			return []proto.Message{m}, err
		}
		err := c.Stream(ctx, request, func(m proto.Message) error {
			answers = append(answers, proto.Clone(m))
			return nil
		})
		return answers, err
	}
	g.Fatalf("there is no call %s", name)
	return nil, nil
}

// Who may not read a source is not told that it links, nor is it counted; what a link leads to
// and may not be read is missing because of that, whether it is there or not.
func TestGuarded(t *testing.T) {
	s := serving.New(t, serving.Memory("M", server.Hooks{}))
	to := func(ids ...string) map[string]any {
		members := map[string]any{}
		for _, id := range ids {
			members[engram.MustID(id).Entity()] = engram.MustID(id)
		}
		return members
	}
	testkit.Commit(t, s,
		testkit.Update(t, "M/Any/secret/plan", 1, "plan"),
		testkit.Update(t, "M/Any/open/run", 2, to("M/Any/secret/plan", "M/Any/secret/nothing", "M/Any/open/never")),
		testkit.Update(t, "M/Any/secret/spy", 3, to("M/Any/open/run")),
		testkit.Update(t, "M/Any/open/end", 4, to("M/Any/open/run")))
	control := serving.Rules(t, `rules: [{allow: read, to: guest, on: M/Any/open}, {allow: read, to: keeper, on: '*'}]`)
	g := guarded{t, links.Feature(s.Links()).Guarded(control)}
	back := func(who string) string {
		var sources []string
		answers, err := g.call(who, "BackLinks", &engramv1.BackLinksRequest{Target: "M/Any/open/run"})
		if err != nil {
			return engram.CodeOf(err).String()
		}
		for _, m := range answers {
			for _, l := range m.(*engramv1.BackLinksResponse).GetLinks() {
				sources = append(sources, engram.MustID(l.GetSource()).Entity())
			}
		}
		slices.Sort(sources)
		return strings.Join(sources, " ")
	}
	trace := func(who string, d engramv1.TraceDirection) string {
		var nodes []string
		answers, err := g.call(who, "Trace", &engramv1.TraceRequest{Start: "M/Any/open/run", Direction: d})
		if err != nil {
			return engram.CodeOf(err).String()
		}
		for _, m := range answers {
			for _, p := range m.(*engramv1.TraceResponse).GetParts() {
				if n := p.GetNode(); n != nil {
					nodes = append(nodes, engram.MustID(n.GetId()).Entity()+":"+n.GetMissing())
				}
			}
		}
		slices.Sort(nodes)
		return strings.Join(nodes, " ")
	}
	follow := func(who string) string {
		answers, err := g.call(who, "FollowLinks", &engramv1.FollowLinksRequest{References: []*engramv1.LinkReference{{Id: "M/Any/secret/plan"}, {Id: "M/Any/secret/nothing"}}})
		if err != nil {
			return engram.CodeOf(err).String()
		}
		var missing []string
		for _, n := range answers[0].(*engramv1.FollowLinksResponse).GetResolved() {
			missing = append(missing, n.GetNode().GetMissing())
		}
		return strings.Join(missing, ", ")
	}
	check := func(who string) string {
		answers, err := g.call(who, "CheckLinks", &engramv1.CheckLinksRequest{})
		if err != nil {
			return engram.CodeOf(err).String()
		}
		var providers []string
		for _, c := range answers[0].(*engramv1.CheckLinksResponse).GetChecked() {
			providers = append(providers, engram.MustID(c.GetProvider()).ProviderSegment())
		}
		return strings.Join(providers, " ")
	}
	for _, x := range []struct{ what, got, want string }{
		{"back-links for the keeper", back("keeper"), "end spy"},
		{"back-links for a guest", back("guest"), "end"},
		{"back-links for a stranger", back("stranger"), ""},
		{"a trace up for the keeper", trace("keeper", engramv1.TraceDirection_TRACE_DIRECTION_UP), "never:never there nothing:never there plan: run:"},
		{"a trace up for a guest", trace("guest", engramv1.TraceDirection_TRACE_DIRECTION_UP), "never:never there nothing:no right plan:no right run:"},
		{"a trace down for a guest", trace("guest", engramv1.TraceDirection_TRACE_DIRECTION_DOWN), "end: run:"},
		{"a trace for a stranger", trace("stranger", engramv1.TraceDirection_TRACE_DIRECTION_UP), engram.NotFound.String()},
		{"steps for the keeper", follow("keeper"), ", never there"},
		{"steps for a guest", follow("guest"), "no right, no right"},
		{"providers for the keeper", check("keeper"), "open secret"},
		{"providers for a guest", check("guest"), "open"},
	} {
		if x.got != x.want {
			t.Errorf("%s: %s, not %s", x.what, x.got, x.want)
		}
	}
}
