package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Commit implements engram.Writer.
func (c *Client) Commit(ctx context.Context, commit engram.Commit) ([]engram.UpdateResult, error) {
	if rest := commit; len(rest.Updates) > MaxUpdates {
		commit.Updates, rest.Updates = rest.Updates[:MaxUpdates], rest.Updates[MaxUpdates:]
		results, err := c.Commit(ctx, commit)
		if err != nil {
			return nil, err
		}
		others, err := c.Commit(ctx, rest)
		return append(results, others...), err
	}
	m, err := call[*engramv1.CommitResponse](ctx, c, memoryPath+"Commit", commitMessage(commit), once)
	if err != nil {
		return nil, err
	}
	if len(m.GetResults()) != len(commit.Updates) {
		return nil, engram.Errorf(engram.Corrupt, c.address, "the server answered %d of %d updates", len(m.GetResults()), len(commit.Updates))
	}
	return resultsFromMessage(m), nil
}

// MaxUpdates is how many updates clients put into one message: a larger commit goes in
// several, one after the other. Servers take more, as long as they have room.
const MaxUpdates = 1 << 16

// Query implements engram.Reader. An answer too large for one message is fetched
// in parts.
func (c *Client) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	req, err := wire.QueryMessage(q)
	if err != nil {
		return nil, err
	}
	tooLarge := false
	var m proto.Message
	err = repeat(ctx, c, repeatable, func() (err error) {
		m, err = ask(ctx, c, QueryPath, req, made[*engramv1.QueryResponse])
		tooLarge = answerTooLarge(err)
		return err
	})
	if tooLarge {
		whole := &engram.Result{}
		err := c.QueryParts(ctx, q, func(part *engram.Result) error {
			whole.Merge(part)
			return nil
		})
		return whole, err
	}
	if err != nil {
		return nil, err
	}
	return resultFromMessage(m.(*engramv1.QueryResponse))
}

// answerTooLarge reports whether the server could not send an answer as one
// message, or this client would not receive it.
func answerTooLarge(err error) bool {
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		return false
	}
	ce := err.(*connect.Error)
	return ce.Meta().Get(streamHint) != "" || !connect.IsWireError(err)
}

// Latest implements engram.LatestReader.
func (c *Client) Latest(ctx context.Context, entity engram.ID) (*engram.Snapshot, error) {
	return latest(ctx, c, &engramv1.LatestRequest{Entity: entity.String()})
}

// AtOrBefore implements engram.LatestReader.
func (c *Client) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	return latest(ctx, c, &engramv1.LatestRequest{Entity: entity.String(), AtOrBefore: (*int64)(&t)})
}

func latest(ctx context.Context, c *Client, req *engramv1.LatestRequest) (*engram.Snapshot, error) {
	m, err := call[*engramv1.LatestResponse](ctx, c, memoryPath+"Latest", req, repeatable)
	if err != nil {
		return nil, err
	}
	if m.GetSnapshot() == nil {
		return nil, engram.Errorf(engram.Corrupt, c.address, "the server's answer holds no snapshot")
	}
	return wire.SnapshotFromMessage(m.GetSnapshot()), nil
}

// Predict implements engram.Predictor.
func (c *Client) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	req := &engramv1.PredictRequest{Ids: make([]string, len(ids))}
	for i, id := range ids {
		req.Ids[i] = id.String()
	}
	m, err := call[*engramv1.PredictResponse](ctx, c, memoryPath+"Predict", req, repeatable)
	if err != nil {
		return nil, err
	}
	if len(m.GetPredictions()) != len(ids) {
		return nil, engram.Errorf(engram.Corrupt, c.address, "the server answered %d of %d IDs", len(m.GetPredictions()), len(ids))
	}
	predictions := make([]engram.Prediction, len(ids))
	for i, p := range m.GetPredictions() {
		predictions[i] = engram.Prediction{ID: ids[i], Snapshot: wire.SnapshotFromMessage(p.GetSnapshot()), Err: wire.ErrorFromMessage(p.GetError())}
	}
	return predictions, nil
}

// AddCoreSegment implements engram.Segments.
func (c *Client) AddCoreSegment(ctx context.Context, s engram.CoreSegment) error {
	if s.ID.Level() != engram.LevelCoreSegment {
		return engram.Errorf(engram.Invalid, s.ID.String(), "a core segment's ID is memory/core segment; this is a %s", s.ID.Level())
	}
	// Adding the same again does nothing, so a call whose answer got lost can be
	// sent again.
	_, err := call[*engramv1.AddSegmentResponse](ctx, c, memoryPath+"AddSegment", &engramv1.AddSegmentRequest{Segment: wire.SegmentMessage(engram.Description(s))}, repeatable)
	return err
}

// AddProviderSegment implements engram.Segments.
func (c *Client) AddProviderSegment(ctx context.Context, s engram.ProviderSegment) error {
	if s.ID.Level() != engram.LevelProviderSegment {
		return engram.Errorf(engram.Invalid, s.ID.String(), "a provider segment's ID is memory/core segment/provider segment; this is a %s", s.ID.Level())
	}
	_, err := call[*engramv1.AddSegmentResponse](ctx, c, memoryPath+"AddSegment", &engramv1.AddSegmentRequest{Segment: &engramv1.Segment{Id: s.ID.String(), Type: s.Type}}, repeatable)
	return err
}

// RemoveSegment implements engram.Segments.
func (c *Client) RemoveSegment(ctx context.Context, id engram.ID) error {
	_, err := call[*engramv1.RemoveSegmentResponse](ctx, c, memoryPath+"RemoveSegment", &engramv1.RemoveSegmentRequest{Id: id.String()}, once)
	return err
}

// Describe implements engram.Segments.
func (c *Client) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	selector, err := wire.PatternMessage(p)
	if err != nil {
		return nil, err
	}
	m, err := call[*engramv1.DescribeResponse](ctx, c, memoryPath+"Describe", &engramv1.DescribeRequest{Selector: selector}, repeatable)
	if err != nil {
		return nil, err
	}
	descriptions := make([]engram.Description, len(m.GetSegments()))
	for i, s := range m.GetSegments() {
		if descriptions[i], err = wire.SegmentFromMessage(s); err != nil {
			return nil, wire.BadAnswer(err)
		}
	}
	return descriptions, nil
}

// AddType implements engram.Types.
func (c *Client) AddType(ctx context.Context, t engram.TypeDef) error {
	_, err := call[*engramv1.AddTypeResponse](ctx, c, memoryPath+"AddType", &engramv1.AddTypeRequest{Type: wire.TypeMessage(t)}, repeatable)
	return err
}

// Type implements engram.Types.
func (c *Client) Type(ctx context.Context, name string) (engram.TypeDef, error) {
	m, err := call[*engramv1.GetTypeResponse](ctx, c, memoryPath+"GetType", &engramv1.GetTypeRequest{Name: name}, repeatable)
	if err != nil {
		return engram.TypeDef{}, err
	}
	return wire.TypeFromMessage(m.GetType()), nil
}

// TypeNames implements engram.Types.
func (c *Client) TypeNames(ctx context.Context) ([]string, error) {
	m, err := call[*engramv1.ListTypesResponse](ctx, c, memoryPath+"ListTypes", &engramv1.ListTypesRequest{}, repeatable)
	return m.GetNames(), err
}

// Stats implements engram.Statistician.
func (c *Client) Stats(ctx context.Context, p engram.Pattern, depth engram.Level) ([]engram.Stats, error) {
	selector, err := wire.PatternMessage(p)
	if err != nil {
		return nil, err
	}
	m, err := call[*engramv1.StatsResponse](ctx, c, memoryPath+"Stats", &engramv1.StatsRequest{Selector: selector, Depth: engramv1.Level(depth)}, repeatable)
	if err != nil {
		return nil, err
	}
	stats := make([]engram.Stats, len(m.GetNodes()))
	for i, s := range m.GetNodes() {
		if stats[i], err = statsFromMessage(s); err != nil {
			return nil, err
		}
	}
	return stats, nil
}
