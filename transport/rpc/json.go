package rpc

import (
	"cmp"
	"context"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/payload"
)

// payloadTypes holds the types that JSON was asked of, so that each is taken from
// the service once: a type never changes under its name.
type payloadTypes struct {
	service engram.Types
	known   sync.Map // name → payload.Type
}

func (ts *payloadTypes) get(ctx context.Context, name string) (payload.Type, error) {
	if t, ok := ts.known.Load(name); ok {
		return t.(payload.Type), nil
	}
	def, err := ts.service.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := payload.Parse(def)
	if err != nil {
		return nil, err
	}
	ts.known.Store(name, t)
	return t, nil
}

// encode returns the wire form of a payload given as JSON.
func (ts *payloadTypes) encode(ctx context.Context, name string, j *structpb.Value) ([]byte, error) {
	t, err := ts.get(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(j)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "the payload is not JSON: %w", err)
	}
	return t.FromJSON(text)
}

// show puts JSON in the place of the payloads' bytes.
func (ts *payloadTypes) show(ctx context.Context, s *engramv1.Snapshot) error {
	for _, in := range s.GetInstances() {
		p := in.GetPayload()
		t, err := ts.get(ctx, p.GetType())
		if err != nil {
			return err
		}
		text, err := t.JSON(p.GetData())
		if err != nil {
			return err
		}
		p.Json, p.Data = new(structpb.Value), nil
		if err := protojson.Unmarshal(text, p.Json); err != nil {
			return engram.Errorf(engram.Internal, p.GetType(), "the payload's JSON cannot be sent: %w", err)
		}
	}
	return nil
}

// showPrediction is show of all snapshots of a prediction; where that fails the prediction is an error.
func (ts *payloadTypes) showPrediction(ctx context.Context, p *engramv1.Prediction) {
	err := ts.show(ctx, p.GetSnapshot())
	for _, h := range p.GetHypotheses() {
		err = cmp.Or(err, ts.show(ctx, h.GetSnapshot()))
	}
	if err != nil {
		id := p.GetId()
		p.Reset()
		p.Id, p.Error = id, wire.ErrorMessage(err)
	}
}

func (ts *payloadTypes) showNodes(ctx context.Context, nodes []*engramv1.ResultNode) error {
	for _, n := range nodes {
		for _, s := range n.GetSnapshots() {
			if err := ts.show(ctx, s); err != nil {
				return err
			}
		}
		if err := ts.showNodes(ctx, n.GetChildren()); err != nil {
			return err
		}
	}
	return nil
}
