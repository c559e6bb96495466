// Package api is the feature by which the copies that a server holds are administered
// (a part of engram.v1.CopyService): its calls, their rules, and a client.
package api

import (
	"context"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const name = "engram.v1.CopyService"

// Feature offers the copies that a server holds. Who may administer what a copy is
// of, by its name at the holder, may administer the copy.
func Feature(s contract.Admin) feature.Feature {
	h := handler{s}
	return feature.New(name,
		feature.Unary("AddCopy", administering("add copy", func(r *engramv1.AddCopyRequest) []string { return []string{r.GetCopy().GetPattern()} }), h.addCopy),
		feature.Unary("RemoveCopy", administering("remove copy", func(r *engramv1.RemoveCopyRequest) []string { return []string{r.GetPattern()} }), h.removeCopy),
		feature.Unary("ListCopies", feature.Needs(), h.listCopies), // each tells of those that it may know
		feature.Unary("FetchCopies", administering("fetch", fetched), h.fetchCopies).Lasting(),
	)
}

// administering is the rule of a call that is about patterns.
func administering[P feature.Request](what string, patterns func(P) []string) feature.Rule {
	return feature.NeedsOf(func(ctx context.Context, r P) ([]access.Need, error) {
		list, err := wire.LimitsOf(ctx).Patterns(patterns(r))
		var needs []access.Need
		for _, p := range list {
			needs = append(needs, access.Need{Actions: access.Admin, On: p.Enclosing(), Thing: p.String(), What: what})
		}
		return needs, err
	})
}

// fetched returns the patterns of what is to be fetched; without any it is everything.
func fetched(r *engramv1.FetchCopiesRequest) []string {
	if len(r.GetPatterns()) == 0 {
		return []string{""}
	}
	return r.GetPatterns()
}

type handler struct{ admin contract.Admin }

func (h handler) addCopy(ctx context.Context, r *engramv1.AddCopyRequest) (*engramv1.AddCopyResponse, error) {
	c, err := copyFromMessage(wire.LimitsOf(ctx), r.GetCopy())
	if err != nil {
		return nil, err
	}
	return &engramv1.AddCopyResponse{}, h.admin.AddCopy(ctx, c)
}

func (h handler) removeCopy(ctx context.Context, r *engramv1.RemoveCopyRequest) (*engramv1.RemoveCopyResponse, error) {
	return &engramv1.RemoveCopyResponse{}, h.admin.RemoveCopy(ctx, r.GetPattern(), r.GetDrop())
}

func (h handler) listCopies(ctx context.Context, _ *engramv1.ListCopiesRequest) (*engramv1.ListCopiesResponse, error) {
	list, err := h.admin.CopyStatus(ctx)
	m := &engramv1.ListCopiesResponse{}
	for i := range list {
		if of := list[i].Pattern.Enclosing(); access.May(ctx, access.Read, of) || access.May(ctx, access.Admin, of) {
			m.Copies = append(m.Copies, copyStatusMessage(&list[i]))
		}
	}
	return m, err
}

func (h handler) fetchCopies(ctx context.Context, r *engramv1.FetchCopiesRequest) (*engramv1.FetchCopiesResponse, error) {
	patterns, err := wire.LimitsOf(ctx).Patterns(r.GetPatterns())
	if err != nil {
		return nil, err
	}
	got, err := h.admin.Fetch(ctx, contract.Fetching{Patterns: patterns, Span: wire.AskedSpan(r.GetSpan()), MaxBytes: r.GetMaxBytes()})
	return &engramv1.FetchCopiesResponse{Versions: got.Versions, Had: got.Had, Bytes: got.Bytes, More: got.More}, err
}
